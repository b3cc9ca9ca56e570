"""Composes legal teams at random, and writes them as a team pool.

The sets are those of the simulator's generator for random doubles, recombined by
generating.mjs; here the seeds are drawn and the files written. Knows nothing of who plays them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanista.files import filling, write_text
from lanista.games.contract import GameError
from lanista.games.showdown.formats import FORMATS, format_named
from lanista.games.showdown.sim.battles import simulator_seed
from lanista.games.showdown.sim.process import Worker, WorkerGoneError
from lanista.games.streams import Stream

_BATCH = 20
_DIGITS = 4


@dataclass(frozen=True)
class MadeSet:
    """One Pokémon of a team, as far as variety goes."""

    species: str
    item: str
    moves: tuple[str, ...]


@dataclass(frozen=True)
class MadeTeam:
    """A team that the simulator's validator has accepted."""

    text: str
    """The team as PokePaste text."""
    sets: tuple[MadeSet, ...]


def make_teams(
    format: str,
    number: int,
    seed: int,
    progress: Callable[[int], None] = lambda more: None,
    *,
    core_share: float = 0.0,
) -> list[MadeTeam]:
    """Make teams legal in `format`; the first ones are the same however many are wanted.

    A share `core_share` of them is built around Pokémon that go together.
    """
    refuse_teamless(format)
    if number < 1:
        raise GameError(f"{number} teams cannot be made; give 1 or more.")
    if not 0 <= core_share <= 1:
        raise GameError(f"core_share is {core_share}; give a share of the teams from 0 to 1.")
    seeds = [simulator_seed(Stream.keyed(seed, at, 0, "chance")) for at in range(number)]
    # Evenly: of n teams, the nearest whole number to n times the share.
    with_core = [round((at + 1) * core_share) > round(at * core_share) for at in range(number)]
    all_teams: list[MadeTeam] = []
    worker = Worker()
    try:
        for at in range(0, number, _BATCH):
            message = {
                "do": "generate",
                "format": format,
                "seeds": seeds[at : at + _BATCH],
                "withCore": with_core[at : at + _BATCH],
            }
            teams = [_read(entry) for entry in worker.ask(message)["teams"]]
            all_teams += teams
            progress(len(teams))
    except WorkerGoneError as error:
        raise GameError(f"The Showdown worker ended while it made teams: {error}") from error
    finally:
        worker.close()
    return all_teams


def refuse_teamless(format: str) -> None:
    """Refuse a format to which nobody brings a team, or that there is not."""
    if not format_named(format).brings_team:
        formats = ", ".join(name for name, candidate in FORMATS.items() if candidate.brings_team)
        raise GameError(f"Nobody brings a team to {format}; make teams for one of {formats}.")


def refuse_filled(folder: Path) -> None:
    """Refuse a folder with something in it: old teams and new ones would be one pool."""
    if folder.is_dir() and any(folder.iterdir()):
        raise GameError(f"{str(folder)!r} is not empty; name a new folder for the teams.")


def write_teams(folder: Path, teams: Sequence[MadeTeam]) -> None:
    """Write team-0001.txt and so on into a new or empty folder: all of them or none."""
    refuse_filled(folder)
    digits = max(_DIGITS, len(str(len(teams))))
    with filling(folder) as place:
        for number, team in enumerate(teams, start=1):
            write_text(place / f"team-{number:0{digits}}.txt", team.text)


def _read(entry: dict[str, Any]) -> MadeTeam:
    sets = (
        MadeSet(mon_set["species"], mon_set["item"], tuple(mon_set["moves"]))
        for mon_set in entry["sets"]
    )
    return MadeTeam(entry["text"], tuple(sets))
