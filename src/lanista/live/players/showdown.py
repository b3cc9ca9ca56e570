"""A policy folder's bot that battles another bot on and on, on one server:
`python -m lanista.live.players.showdown`.

Both accounts belong to this process; they challenge each other by turns, so that the sides change,
and bring the teams of a pool in turn. What the folder names when a battle begins plays it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from lanista.errors import LanistaError
from lanista.games.showdown.observation.description import NAME
from lanista.live.players.process import Over, cancelled_when, parser_of, play_until_over
from lanista.live.showdown.casting import Teams, Who, load_player, read_teams, who_is
from lanista.live.showdown.players import Folder, Hand, Source

_LONGEST_NAME = 14
"""Of an account, without its number."""


def main(arguments: list[str] | None = None) -> int:
    """Play until told to stop, or until the process that wants it is gone."""
    return play_until_over(_parser().parse_args(arguments), play_on)


def opponent_of(word: str, who: Who) -> Who:
    """Return the opponent: a bot of Showdown, a Python file or a policy, in the same format."""
    opponent = who_is(word, who.format.name)
    if opponent.kind == "folder":
        raise LanistaError(f"--opponent is {word!r}, a policy folder; name a bot or a policy file.")
    return opponent


def play_on(options: argparse.Namespace, over: Over) -> None:
    """Play battle after battle until `over` says so."""
    import torch

    torch.set_num_threads(1)
    who = who_is(options.policy)
    pool = options.team_pool or who.belief_pool(None)
    teams = read_teams(
        who.format,
        pool=pool if who.format.brings_team else None,
        belief_pool=who.belief_pool(None),
    )
    asyncio.run(cancelled_when(over, _battles(options, who, teams)))


class _NamedFolder(Folder):
    """A folder whose games keep the opponent's own name, not that of its account."""

    opponent = ""

    async def begin(self, tag: str, opponent: str, match: int | None) -> Hand:
        """Return the policy that plays now."""
        return await super().begin(tag, self.opponent or opponent, match)


async def _battles(options: argparse.Namespace, who: Who, teams: Teams) -> None:
    from lanista.live.showdown.player import ServerPlayer
    from lanista.live.showdown.players import Fixed

    spec = who.spec(teams.version)
    opponent = opponent_of(options.opponent, who)
    # A policy sees the observation that it learnt with, which may be another than ours.
    reader = who if opponent.kind == "bot" else opponent
    bot = load_player(opponent, reader.spec(teams.version), options.seed)
    source = _NamedFolder(options.policy, options.spool, spec, options.seed)
    source.opponent = options.opponent

    def account(name: str, source: Source, observation: int) -> ServerPlayer:
        about: dict[str, Any] = {"belief": teams.belief, "observation": observation}
        name = f"{name} {options.number}"
        return ServerPlayer(source, who.format, options.server, name, **about)

    ours = account("live", source, who.observation)
    theirs = account(_plain(options.opponent), Fixed(bot), reader.observation)
    try:
        await asyncio.gather(ours.connect(), theirs.connect())
        number = 0
        while True:
            team = teams.brought[number // 2 % len(teams.brought)].packed if teams.brought else None
            first, second = (ours, theirs) if number % 2 == 0 else (theirs, ours)
            await asyncio.gather(
                first.challenge(second.username, team), second.accept(team, first.username)
            )
            number += 1
    finally:
        await asyncio.gather(ours.close(), theirs.close(), return_exceptions=True)
        source.close()


def _plain(word: str) -> str:
    """Return letters of a word that a server leaves as they are in an account's name."""
    letters = "".join(letter for letter in word if letter.isascii() and letter.isalnum())
    return letters[:_LONGEST_NAME] or NAME


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__.splitlines()[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--opponent", default="heuristic")
    parser.add_argument("--team-pool")
    parser.add_argument("--number", type=int, default=0, help="tells several players apart")
    return parser


if __name__ == "__main__":
    sys.exit(main())
