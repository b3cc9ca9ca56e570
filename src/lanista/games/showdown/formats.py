"""The formats that can be played, and what sets one apart from another.

A format's rules are the simulator's. Here stands only what decides which numbers stand for which
choices and whether a team must be brought.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.errors import nearest
from lanista.games.contract import GameError


@dataclass(frozen=True)
class Format:
    """A format of the simulator, as far as choices go."""

    name: str
    doubles: bool
    """Two Pokémon a side stand on the field, otherwise one."""
    brings_team: bool
    """The players bring teams and choose four of six; otherwise the simulator makes the teams."""


FORMATS = {
    entry.name: entry
    for entry in (
        Format("gen9vgc2025regi", doubles=True, brings_team=True),
        Format("gen9vgc2024regg", doubles=True, brings_team=True),
        Format("gen9vgc2023regd", doubles=True, brings_team=True),
        Format("gen9vgc2023regc", doubles=True, brings_team=True),
        Format("gen9randomdoublesbattle", doubles=True, brings_team=False),
        Format("gen9randombattle", doubles=False, brings_team=False),
    )
}


def format_named(name: str) -> Format:
    """Return a format by its name in the simulator."""
    if name not in FORMATS:
        raise GameError(f"There is no Showdown format {name!r}; {nearest(name, FORMATS)}")
    return FORMATS[name]


BEST_OF_THREE = "bo3"
"""Ends the name of a format whose battles are those of another, in sets of up to three with open
team sheets."""


def format_of_log(name: str) -> Format | None:
    """Return the format that a battle log's name means here; None where it is not played.

    A battle of a best-of-three set is one of the format itself: the sheets are lines of its log.
    """
    return FORMATS.get(name) or FORMATS.get(name.removesuffix(BEST_OF_THREE))


def same_choices(one: Format, other: Format) -> bool:
    """Return whether a policy of one format sees and chooses in the other as in its own."""
    return (one.doubles, one.brings_team) == (other.doubles, other.brings_team)
