"""Shows an observation in words: which tokens there are and what each field of them says.

For people who want to know what a policy sees. Reads any version's layout by its field names. Knows
nothing of how a row was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from numpy.typing import NDArray

from lanista.games.contract import Field, Observation
from lanista.games.showdown.observation.fields import STATUSES
from lanista.games.showdown.protocol.effects import TERRAINS, WEATHERS
from lanista.games.showdown.protocol.vocabulary import CATEGORIES, NONE, OTHER, UNKNOWN, dex

FATE_WORDS = ("absent", "bench", "field", "field 2", "fainted", "not shown", "left at home")
KIND_WORDS = ("nothing", "moved", "switched", "dragged", "kept from moving", "end of turn")
AIM_WORDS = ("nobody", "itself", "its ally", "the other side")
REQUEST_WORDS = ("not asked", "preview", "turn", "forced switch")
_BY_NAME: Mapping[str, tuple[str, ...]] = {
    "fate": FATE_WORDS,
    "status": ("healthy", *STATUSES),
    "kind": KIND_WORDS,
    "aim": AIM_WORDS,
    "request": REQUEST_WORDS,
    "weather": ("none", *WEATHERS),
    "terrain": ("none", *TERRAINS),
    "category": ("none", *CATEGORIES),
}
"""By the last word of a field's name."""
_SPECIAL = {NONE: "none", UNKNOWN: "unknown", OTHER: "other"}


@dataclass(frozen=True)
class TokenWords:
    """One token, or the fields without a group."""

    name: str
    """The group and the number of the entry, from 1."""
    values: tuple[tuple[str, str], ...]
    """Field and value in words, those that are zero left out."""


def observation_words(layout: Observation, row: NDArray[Any]) -> list[TokenWords]:
    """Return every token of an observation that says something."""
    tokens: dict[str, list[tuple[str, str]]] = {}
    start = 0
    for field in layout.fields:
        for entry, value in enumerate(row[start : start + field.size].tolist()):
            if value:
                name = f"{field.group} {entry + 1}" if field.group else "the field and the sides"
                short = field.name.partition(".")[2] or field.name
                tokens.setdefault(name, []).append((short, value_words(field, value)))
        start += field.size
    return [TokenWords(name, tuple(tokens[name])) for name in _ordered(layout, tokens)]


def value_words(field: Field, value: int) -> str:
    """Return one entry in words: a name for a category, otherwise the number that is meant."""
    if not field.classes:
        return f"{value / field.scale:.4g}"
    if field.table:
        return _names(field.table).get(value) or _SPECIAL.get(value, str(value))
    words = _BY_NAME.get(field.name.rpartition(".")[2].rpartition("_")[2], ())
    return words[value] if value < len(words) else str(value)


def _ordered(layout: Observation, tokens: Mapping[str, Any]) -> Iterator[str]:
    for group, size in layout.group_sizes.items():
        yield from (name for at in range(1, size + 1) if (name := f"{group} {at}") in tokens)
    yield from (name for name in tokens if not name[-1].isdigit())


@cache
def _names(table: str) -> dict[int, str]:
    tables = dex()
    numbers: Mapping[str, int] = {
        "species": {name: entry.number for name, entry in tables.species.items()},
        "move": {name: entry.number for name, entry in tables.moves.items()},
        "item": tables.items,
        "ability": tables.abilities,
        "type": tables.types,
    }[table]
    # Cosmetic formes share a number with what they look like, which comes first.
    return {number: name for name, number in reversed(list(numbers.items()))}
