"""Lets one player meet poke-env's own players on real servers, sides swapped.

Fixes the pairings beforehand, with team and side, plays that in lanes side by side, and
hands over what came of each battle. How strong that makes anybody is reckoned elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.player import MaxBasePowerPlayer, RandomPlayer, SimpleHeuristicsPlayer

from lanista.errors import LanistaError, nearest
from lanista.games.showdown.formats import Format
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.teams.pool import Team
from lanista.live.showdown.batching import Batcher
from lanista.live.showdown.connection import ServerError
from lanista.live.showdown.player import ServerPlayer
from lanista.live.showdown.players import Source
from lanista.live.showdown.table import Result

OPPONENTS = {
    "simple_heuristics": SimpleHeuristicsPlayer,
    "max_base_power": MaxBasePowerPlayer,
    "random": RandomPlayer,
}
STALLED = 300.0
"""Seconds after which a battle is given up: an opponent does not answer any more."""
ARRIVES = 120.0
"""Seconds that an opponent may take to log in."""
LINGERS = 20.0
"""Seconds that an opponent may take to notice that a battle is over."""
_NO_LOGIN = "https://localhost?"


@dataclass(frozen=True)
class Bout:
    """A battle as it was fixed beforehand."""

    number: int
    unit: int
    """Two battles of one number: the same opponent and teams, sides swapped."""
    opponent: str
    team: Team | None
    challenges: bool
    """The player challenges, which makes it p1; otherwise it is challenged."""
    their_team: Team | None = None
    """What the opponent brings, where that is not the same team."""


@dataclass(frozen=True)
class Played:
    """A bout and what came of it."""

    bout: Bout
    result: Result
    stalled: bool = False
    fielded: tuple[str, ...] = ()
    """The player's Pokémon that took the field."""


def fixed_bouts(
    opponents: Sequence[str], teams: Sequence[Team], units: int, *, different: bool = False
) -> list[Bout]:
    """Return `units` pairs of battles against each opponent, the teams in turn.

    Both bring the same team. With `different`, p1 and p2 bring two teams in both battles of a pair,
    so that each player has either once; all pairs of teams are met in turn.
    """
    for name in opponents:
        if name not in OPPONENTS:
            raise LanistaError(f"poke-env has no player {name!r}; {nearest(name, OPPONENTS)}")
    if different and len(teams) < 2:
        raise LanistaError(
            f"Different teams need a pool of two or more, and there are {len(teams)}; name a "
            "larger --team-pool, or leave --different-teams out."
        )
    bouts: list[Bout] = []
    for round in range(units):
        first = second = teams[round % len(teams)] if teams else None
        if different:
            second = _another(teams, round)
        for at, opponent in enumerate(opponents):
            unit, number = round * len(opponents) + at, len(bouts)
            theirs = (second, first) if different else (None, None)
            bouts.append(Bout(number, unit, opponent, first, True, theirs[0]))
            bouts.append(Bout(number + 1, unit, opponent, second, False, theirs[1]))
    return bouts


def _another(teams: Sequence[Team], round: int) -> Team:
    """Return a team that is not the one whose turn it is: every other one as often."""
    distance = 1 + round // len(teams) % (len(teams) - 1)
    return teams[(round + distance) % len(teams)]


def fielded(log: Sequence[str], seat: int) -> tuple[str, ...]:
    """Return which Pokémon of a seat took the field, by their names, in order."""
    names: dict[str, None] = {}
    for line in log:
        fields = line.split("|")
        if len(fields) > 3 and fields[1] in ("switch", "drag") and fields[2][:2] == f"p{seat + 1}":
            names[fields[3].split(",")[0]] = None
    return tuple(names)


@dataclass(frozen=True)
class Setting:
    """What all lanes share."""

    urls: Sequence[str]
    source: Source
    format: Format
    belief: Belief | None
    batcher: Batcher
    report: Callable[[Played], None]
    """Called once for each battle, as it ends."""
    troubles: list[str]
    """What poke-env's players complained of."""
    observation: int = 1
    """The version of the observation that ours reads."""


async def play_bouts(setting: Setting, bouts: Sequence[Bout], lanes: int) -> None:
    """Play all bouts, as many side by side as there are lanes."""
    asyncio.get_running_loop().set_exception_handler(_heard_already)
    waiting = iter(bouts)
    tasks = [
        asyncio.create_task(_Lane(setting, number).run(waiting))
        for number in range(min(lanes, len(bouts)))
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Lane:
    """One account of ours and one of each opponent, in one battle at a time."""

    def __init__(self, setting: Setting, number: int) -> None:
        self.setting, self.number = setting, number
        self.url = setting.urls[number % len(setting.urls)]
        self.opponents: dict[str, Any] = {}
        self.hired = 0

    async def run(self, bouts: Iterator[Bout]) -> None:
        setting = self.setting
        ours = ServerPlayer(
            setting.source,
            setting.format,
            self.url,
            f"lanista {self.number}",
            belief=setting.belief,
            observation=setting.observation,
            batcher=setting.batcher,
        )
        try:
            await ours.connect()
            for bout in bouts:
                theirs = await self._opponent(bout.opponent)
                setting.report(await self._play(bout, ours, theirs))
        finally:
            for theirs in self.opponents.values():
                await self._dismiss(theirs)
            await ours.close()

    async def _opponent(self, name: str) -> Any:
        if name not in self.opponents:
            self.hired += 1
            opponent = OPPONENTS[name](
                AccountConfiguration(_account(name, self.number, self.hired), None),
                battle_format=self.setting.format.name,
                server_configuration=ServerConfiguration(self.url, _NO_LOGIN),
                loop=asyncio.get_running_loop(),
            )
            opponent.logger.handlers[:] = [_Listener(self.setting.troubles)]
            opponent.logger.propagate = False
            opponent.logger.setLevel(logging.ERROR)
            self.opponents[name] = opponent
            try:
                await asyncio.wait_for(opponent.ps_client.logged_in.wait(), ARRIVES)
            except TimeoutError as error:
                raise ServerError(
                    f"poke-env's {name} did not log in at {self.url} within {ARRIVES:g} seconds."
                ) from error
        return self.opponents[name]

    async def _play(self, bout: Bout, ours: ServerPlayer, theirs: Any) -> Played:
        packed = bout.team.packed if bout.team is not None else None
        their_team = bout.their_team or bout.team
        if their_team is not None:
            theirs.update_team(their_team.packed)
        if bout.challenges:
            other = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
            mine = ours.challenge(theirs.username, packed, bout.number)
        else:
            other = asyncio.create_task(theirs.send_challenges(ours.username, 1))
            mine = ours.accept(packed, theirs.username, bout.number)
        battle = asyncio.create_task(mine)
        try:
            done, _ = await asyncio.wait({battle}, timeout=STALLED)
            if not done:
                ours.give_up()
                await asyncio.wait({battle}, timeout=LINGERS)
            if not battle.done():
                raise ServerError(
                    f"A battle against {bout.opponent} on {self.url} neither began nor ended "
                    f"within {STALLED:g} seconds."
                )
            result = await battle
            await asyncio.wait({other}, timeout=LINGERS)
            await self._tidy(bout.opponent, sound=other.done() and not other.exception())
        finally:
            battle.cancel()
            other.cancel()
        # Thousands of battles are kept; their lines are not needed.
        seen = fielded(result.log, result.seat)
        return Played(bout, replace(result, log=()), stalled=not done, fielded=seen)

    async def _tidy(self, name: str, sound: bool) -> None:
        """Have an opponent forget its battle; one that hangs in it is replaced."""
        if sound:
            # Without it poke-env's players get slower and slower.
            self.opponents[name].reset_battles()
        else:
            await self._dismiss(self.opponents.pop(name))

    async def _dismiss(self, theirs: Any) -> None:
        theirs.logger.setLevel(logging.CRITICAL + 1)
        await theirs.ps_client._stop_listening()
        tasks = list(theirs.ps_client._active_tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _heard_already(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Leave out what poke-env's clients said in their logs before their tasks died of it."""
    if context.get("message") != "Task exception was never retrieved":
        loop.default_exception_handler(context)


def _account(name: str, lane: int, hired: int) -> str:
    """Return a name of at most 18 letters that a server leaves as it is."""
    return f"{name.replace('_', '')[:10]} {lane} {hired}"


class _Listener(logging.Handler):
    """Keeps what a player of poke-env complains of."""

    def __init__(self, troubles: list[str]) -> None:
        super().__init__(logging.ERROR)
        self.troubles = troubles

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.troubles.append(repr(error) if error is not None else record.getMessage())
