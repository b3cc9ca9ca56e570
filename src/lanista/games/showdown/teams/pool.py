"""Teams: folders of PokePaste files, judged by the simulator, drawn for each battle.

A pool is one folder, or several with weights, `made=9,two=1`: each battle's teams come from one of
them. Which sets are legal is the simulator's to say. Knows nothing of who plays them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lanista.games.contract import GameError
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.sim.battles import Battles
from lanista.games.streams import Stream

_SHOWDOWN = Path(__file__).parents[1]
EXAMPLES = _SHOWDOWN / "example_teams"
BUILT_IN = {
    "two": EXAMPLES,
    "held-out": _SHOWDOWN / "held_out_teams",
    "final": _SHOWDOWN / "final_teams",
}
"""Pools that come along: all legal in `gen9vgc2025regi`, the first two in `gen9vgc2024regg` too.

A player that was trained on `two` can be judged with teams that it never had on `held-out`. Whoever
chooses settings by `held-out` judges the outcome once, at the end, on `final`.
"""
MODES = ("mirror", "cross", "mixed")
PATTERN = "*.txt"
MOST_VERDICTS = 16
"""Pools whose verdicts a process keeps: a run makes its game several times."""
_VERDICTS: dict[str, list[tuple[str, list[str]]]] = {}


@dataclass(frozen=True)
class Team:
    """A legal team."""

    name: str
    """The file's name without its suffix."""
    packed: str
    """The team as the simulator takes it."""


@dataclass(frozen=True)
class Part:
    """The teams `start` to `stop` of a pool, drawn in `weight` of all parts' battles."""

    start: int
    stop: int
    weight: int


@dataclass(frozen=True)
class Pool:
    """The legal teams of a folder, by name, or of several, one after another."""

    format: str
    teams: tuple[Team, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Files that are no legal team, each with the first thing the simulator has against it."""
    parts: tuple[Part, ...] = ()
    """Where the teams come from several folders: whose are which, and how often they are drawn."""

    def draw(self, stream: Stream, mode: str = "cross") -> tuple[Team, Team]:
        """Draw each seat's team: one for both (`mirror`), one for each (`cross`), or either way
        (`mixed`), as often.

        Crossed teams differ wherever there are two to choose from.
        """
        if mode not in MODES:
            raise GameError(f"Teams can be drawn as {' or '.join(MODES)}, not {mode!r}.")
        if mode == "mixed":
            mode = ("mirror", "cross")[stream.below(2)]
        teams = self._part(stream) if self.parts else self.teams
        first = stream.below(len(teams))
        if mode == "mirror" or len(teams) == 1:
            return teams[first], teams[first]
        second = stream.below(len(teams) - 1)
        return teams[first], teams[second + (second >= first)]

    def _part(self, stream: Stream) -> tuple[Team, ...]:
        """Draw one of several folders by its weight; return its teams."""
        at = stream.below(sum(part.weight for part in self.parts))
        for part in self.parts:
            if at < part.weight:
                return self.teams[part.start : part.stop]
            at -= part.weight
        raise AssertionError("a weight was drawn that no part has")


def pool_folder(path: str) -> Path:
    """Return where the teams of a pool lie: a built-in pool's name, or a folder; empty: `two`."""
    if path in BUILT_IN:
        return BUILT_IN[path]
    if path and not Path(path).is_dir():
        pool_names = ", ".join(BUILT_IN)
        raise GameError(f"There is no team pool {path!r}; give a folder or one of {pool_names}.")
    return Path(path) if path else EXAMPLES


def load_pools(path: str, format: str, battles: Battles) -> Pool:
    """Read the teams of a folder or built-in pool, or of several: `FOLDER=WEIGHT,FOLDER=WEIGHT`."""
    if "=" not in path:
        return load_pool(pool_folder(path), format, battles)
    teams: list[Team] = []
    left_out: dict[str, str] = {}
    parts = []
    for folder, weight in _read_weights(path):
        pool = load_pool(pool_folder(folder), format, battles)
        parts.append(Part(len(teams), len(teams) + len(pool.teams), weight))
        teams += pool.teams
        left_out |= {f"{folder}/{name}": why for name, why in pool.left_out.items()}
    return Pool(format, tuple(teams), left_out, tuple(parts))


def _read_weights(path: str) -> list[tuple[str, int]]:
    weights = []
    for part in path.split(","):
        folder, _, weight = part.rpartition("=")
        if not folder or not weight.isdecimal() or not int(weight):
            raise GameError(
                f"The team pool {path!r} has a part {part!r}; write FOLDER=WEIGHT, the weight a "
                "whole number above 0, and a comma between two parts."
            )
        weights.append((folder, int(weight)))
    return weights


def _judged(format: str, texts: list[str], battles: Battles) -> list[tuple[str, list[str]]]:
    """Return each team as the simulator packs it and what is against it; asked once a process."""
    joined = "\0".join((battles.simulator_version, format, *texts))
    key = hashlib.sha256(joined.encode()).hexdigest()
    if key not in _VERDICTS:
        if len(_VERDICTS) >= MOST_VERDICTS:
            _VERDICTS.clear()
        _VERDICTS[key] = battles.validate(format, texts)
    return _VERDICTS[key]


def load_pool(folder: str | Path, format: str, battles: Battles) -> Pool:
    """Read every `.txt` file of a folder as a team and keep what `format` allows."""
    if not format_named(format).brings_team:
        raise GameError(f"Nobody brings a team to {format}; leave the team pool out.")
    paths = sorted(Path(folder).glob(PATTERN))
    if not paths:
        raise GameError(f"There is no team ({PATTERN}) in {folder}; put PokePaste files there.")
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    teams, left_out = [], {}
    for path, (packed, problems) in zip(paths, _judged(format, texts, battles), strict=True):
        if problems:
            left_out[path.name] = problems[0]
        else:
            teams.append(Team(path.stem, packed))
    if not teams:
        name, why = next(iter(left_out.items()))
        raise GameError(f"No team in {folder} is legal in {format}; {name}: {why}")
    return Pool(format, tuple(teams), left_out)
