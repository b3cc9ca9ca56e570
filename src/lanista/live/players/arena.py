"""A bot that plays on and on with a live agent: `python -m lanista.live.players.arena`.

A process of its own, as a bot in the wild would be: it shares two folders with the learner, and
ends when the process that it was started for does. Rewards are the game's own hints, outcomes its
results. The game is the policy's, of two seats that act at the same time.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Game
from lanista.games.trusted_names import installed_name, refuse_settings
from lanista.live.agent.agent import Agent
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.players.process import Over, parser_of, play_until_over
from lanista.nets.files.policy_format import read_header


def main(arguments: list[str] | None = None) -> int:
    """Play until told to stop, or until the process that wants it is gone."""
    return play_until_over(_parser().parse_args(arguments), play_on)


def play_on(options: argparse.Namespace, over: Over) -> None:
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


def play(agent: Agent, game: Game, bot: Player, match: int, hints: float, stop: Over) -> None:
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
    parser = parser_of(__doc__.splitlines()[0])
    parser.add_argument("--opponent", default="kiter")
    parser.add_argument("--hints", type=float, default=1.0)
    return parser


if __name__ == "__main__":
    sys.exit(main())
