"""What moves, items and abilities do as numbers, what Pokémon weigh and what they usually bring.

Reads traits.json, which traits.mjs makes from the data of the locked simulator and which ships with
the package. Numbers of moves are in hundredths, of items and abilities in thousandths, so that a
chance fits in. Knows nothing of battles.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lanista.games.showdown.protocol.vocabulary import dex

TRAITS = Path(__file__).parents[1] / "traits.json"
MOVE_UNIT = 100
CERTAIN = 1000
COMMON = 24
"""How many of the commonest names stand for all where a species says nothing."""
Row = tuple[int, ...]


@dataclass(frozen=True)
class Usage:
    """How often the simulator's own sets of a species have what, as shares."""

    items: Mapping[str, float]
    abilities: Mapping[str, float]
    teras: Mapping[str, float]
    moves: Mapping[str, float]


@dataclass(frozen=True)
class Traits:
    """What one version of the simulator says."""

    move_names: tuple[str, ...]
    item_names: tuple[str, ...]
    ability_names: tuple[str, ...]
    moves: Mapping[str, Row]
    items: Mapping[str, Row]
    abilities: Mapping[str, Row]
    weights: Mapping[str, float]
    usage: Mapping[str, Usage]
    any_usage: Usage
    """Over all species, for those that no set is known of."""

    def move_trait(self, move: str, name: str) -> int:
        """Return one number of a move; 0 for one that nobody knows."""
        row = self.moves.get(move)
        return row[self.move_names.index(name)] if row else 0

    def usage_of(self, species: str, base: str) -> Usage:
        """Return what a species usually brings; its base species' where it has no sets itself."""
        usage = self.usage.get(species) or self.usage.get(base)
        if usage is not None:
            return usage
        dex_entry = dex().species_of(species)
        return Usage(
            self.any_usage.items,
            even(dex_entry.abilities),
            even(dex_entry.types),
            self.any_usage.moves,
        )


@cache
def traits() -> Traits:
    """Return the traits that ship with the package."""
    return read_traits(TRAITS.read_text(encoding="utf-8"))


def read_traits(text: str) -> Traits:
    """Read what traits.mjs wrote."""
    tables = json.loads(text)
    names = {kind: tuple(listed) for kind, listed in tables["names"].items()}
    usage = {species: _usage(row) for species, row in tables["usage"].items()}
    return Traits(
        names["moves"],
        names["items"],
        names["abilities"],
        {move: _row(row, names["moves"], MOVE_UNIT) for move, row in tables["moves"].items()},
        {item: _row(row, names["items"], CERTAIN) for item, row in tables["items"].items()},
        {name: _row(row, names["abilities"], CERTAIN) for name, row in tables["abilities"].items()},
        tables["weights"],
        usage,
        _mean(list(usage.values())),
    )


def _row(row: Mapping[str, float], names: Sequence[str], unit: int) -> Row:
    return tuple(round(unit * row.get(name, 0)) for name in names)


def _usage(row: Mapping[str, Any]) -> Usage:
    kinds = ("items", "abilities", "teras", "moves")
    return Usage(
        *({name: n / row["sets"] for name, n in row[kind].items() if name} for kind in kinds)
    )


def _mean(all_usage: Sequence[Usage]) -> Usage:
    kinds = ("items", "abilities", "teras", "moves")
    return Usage(*(_mean_of([getattr(usage, kind) for usage in all_usage]) for kind in kinds))


def _mean_of(shares: Sequence[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for one in shares:
        for name, share in one.items():
            total[name] = total.get(name, 0.0) + share / len(shares)
    commonest = sorted(total, key=lambda name: (-total[name], name))[:COMMON]
    factor = sum(total.values()) / sum(total[name] for name in commonest)
    return {name: min(1.0, factor * total[name]) for name in commonest}


def even(names: Iterable[str]) -> dict[str, float]:
    """Return the same share for each name."""
    listed = list(names)
    return {name: 1 / len(listed) for name in listed}
