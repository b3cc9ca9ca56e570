"""Teams: a folder of PokePaste files, judged by the simulator, drawn for each battle.

Which sets are legal is the simulator's to say. Knows nothing of who plays them.
"""

from __future__ import annotations

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
MODES = ("mirror", "cross")
PATTERN = "*.txt"


@dataclass(frozen=True)
class Team:
    """A legal team."""

    name: str
    """The file's name without its suffix."""
    packed: str
    """The team as the simulator takes it."""


@dataclass(frozen=True)
class Pool:
    """The legal teams of a folder, by name."""

    format: str
    teams: tuple[Team, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Files that are no legal team, each with the first thing the simulator has against it."""

    def draw(self, stream: Stream, mode: str = "cross") -> tuple[Team, Team]:
        """Draw each seat's team: one for both (`mirror`), or one for each (`cross`).

        Crossed teams differ wherever there are two to choose from.
        """
        if mode not in MODES:
            raise GameError(f"Teams can be drawn as {' or '.join(MODES)}, not {mode!r}.")
        first = stream.below(len(self.teams))
        if mode == "mirror" or len(self.teams) == 1:
            return self.teams[first], self.teams[first]
        second = stream.below(len(self.teams) - 1)
        return self.teams[first], self.teams[second + (second >= first)]


def pool_folder(path: str) -> Path:
    """Return where the teams of a pool lie: a built-in pool's name, or a folder; empty: `two`."""
    if path in BUILT_IN:
        return BUILT_IN[path]
    if path and not Path(path).is_dir():
        pool_names = ", ".join(BUILT_IN)
        raise GameError(f"There is no team pool {path!r}; give a folder or one of {pool_names}.")
    return Path(path) if path else EXAMPLES


def load_pool(folder: str | Path, format: str, battles: Battles) -> Pool:
    """Read every `.txt` file of a folder as a team and keep what `format` allows."""
    if not format_named(format).brings_team:
        raise GameError(f"Nobody brings a team to {format}; leave the team pool out.")
    paths = sorted(Path(folder).glob(PATTERN))
    if not paths:
        raise GameError(f"There is no team ({PATTERN}) in {folder}; put PokePaste files there.")
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    teams, left_out = [], {}
    for path, (packed, problems) in zip(paths, battles.validate(format, texts), strict=True):
        if problems:
            left_out[path.name] = problems[0]
        else:
            teams.append(Team(path.stem, packed))
    if not teams:
        name, why = next(iter(left_out.items()))
        raise GameError(f"No team in {folder} is legal in {format}; {name}: {why}")
    return Pool(format, tuple(teams), left_out)
