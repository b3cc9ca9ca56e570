"""A bot that plays on and on with a live agent: `python -m lanista.live.demo_player`.

A process of its own, as a bot in the wild would be: it shares two folders with the learner, and
ends when the process that it was started for does. Rewards are the game's own hints, outcomes its
results. The game is the policy's, of two seats that act at the same time.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Game
from lanista.games.trusted_names import installed_name, refuse_settings
from lanista.live.agent.agent import Agent
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.policy_format import read_header
from lanista.text import without_controls


def main(arguments: list[str] | None = None) -> int:
    """Play until told to stop, or until the process that wants it is gone."""
    options = _parser().parse_args(arguments)
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: stopped.append(number))

    def over() -> bool:
        # A process whose parent ends gets another one.
        return bool(stopped) or (options.parent is not None and os.getppid() != options.parent)

    try:
        play_on(options, over)
    except LanistaError as error:
        print(without_controls(str(error)), file=sys.stderr)
        return error.exit_code
    return 0


def play_on(options: argparse.Namespace, over: Callable[[], bool]) -> None:
    """Play match after match until `over` says so."""
    folder = PolicyFolder(options.policy)
    header = read_header(folder.path_of(folder.pointer().stable))
    name = installed_name(header.game, "a policy")
    refuse_settings(name, header.settings)
    with closing(registry.make(name, slots=1, seed=options.seed, **dict(header.settings))) as game:
        bot = registry.make_bot(name, options.opponent, game.spec, options.seed)
        with Agent(options.policy, options.spool, spec=game.spec, seed=options.seed) as agent:
            for match in _matches():
                if over():
                    return
                play(agent, game, bot, match, options.hints, over)


def play(
    agent: Agent, game: Game, bot: Player, match: int, hints: float, stop: Callable[[], bool]
) -> None:
    """Play one match, in one seat or the other by turns; broken off if `stop` says so."""
    seat = match % 2
    game.start([0], [match])
    rows = np.arange(2)
    with agent.game(f"{_RUN}-{match}", opponent=bot.name) as live:
        while not stop():
            decisions = game.decisions()
            mine = int(np.flatnonzero(decisions.seat == seat)[0])
            actions: Any = np.empty((2, len(game.spec.heads)), np.int32)
            actions[mine] = live.act(decisions.observation[mine], decisions.mask[mine])
            actions[1 - mine] = bot.act(decisions, rows[1 - mine : 2 - mine])[0]
            over = game.act(rows, actions)
            if hints and (hint := float(game.shaping[0, seat])):
                live.reward(hints * hint)
            if len(over):
                live.end(float(game.returns[0, seat]))
                return


_RUN = secrets.token_hex(4)
"""Game ids must never come twice, however often this program is started."""


def _matches() -> Iterator[int]:
    """Give match ids, which name the deals: other ones in every process."""
    first = secrets.randbelow(1 << 40) * 2
    while True:
        yield first
        first += 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", required=True)
    parser.add_argument("--spool", required=True)
    parser.add_argument("--opponent", default="kiter")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hints", type=float, default=1.0)
    parser.add_argument("--parent", type=int, help="the process with which this one ends")
    return parser


if __name__ == "__main__":
    sys.exit(main())
