"""Usage statistics: how often players bring what, as monthly statistics of Showdown tell it.

Reads and writes the JSON that Smogon calls "chaos": by species, weights of moves, items, abilities
and Tera types. Reads without trust: a file may come from anybody. Knows nothing of battles.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.games.showdown.protocol.traits import Usage
from lanista.games.showdown.protocol.vocabulary import dex, to_id
from lanista.games.showdown.teams.sets import Set

LARGEST = 256 << 20
"""Bytes of a file; a month of a large format takes about 30 million."""
KINDS = {"items": "Items", "abilities": "Abilities", "teras": "Tera Types", "moves": "Moves"}
LEAST_SHARE = 0.001
"""Shares below this are left out: slips, and what one player in thousands brought."""
_LARGEST_WEIGHT = 1e15
"""Beyond lies no number of sets, and a sum may have no float."""

UsageTable = Mapping[str, Usage]
"""By the id of a species: what is brought, as shares of its sets."""


def read_usage(path: Path) -> UsageTable:
    """Return the usage in a file; species and names that the dex does not have are left out."""
    try:
        if path.exists() and not path.is_file():
            raise _refused(path, "is no file")
        if path.stat().st_size > LARGEST:
            raise _refused(path, f"is larger than {LARGEST >> 20} MiB")
        statistics = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refused(path, f"cannot be read: {(error.strerror or '').lower()}") from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, "is no JSON") from error
    if not isinstance(statistics, dict) or not isinstance(statistics.get("data"), dict):
        raise _refused(path, "has no table 'data' of species")
    table = usage_table(statistics)
    if not table:
        raise _refused(path, "tells of no species that is played here")
    return table


def usage_table(statistics: Mapping[str, Any]) -> UsageTable:
    """Return the usage in statistics of that form."""
    table = {
        to_id(str(name)): _usage(row)
        for name, row in statistics["data"].items()
        if to_id(str(name)) in dex().species and isinstance(row, dict)
    }
    return {species: usage for species, usage in table.items() if usage is not None}


def _refused(path: Path, why: str) -> LanistaError:
    return LanistaError(
        f"The usage file {str(path)!r:.200} {why}; give a chaos JSON file, or what `lanista "
        "showdown usage` wrote."
    )


def _usage(row: Mapping[str, Any]) -> Usage | None:
    """Return a species' shares; None where its row does not say how many sets there are."""
    weights = {kind: _weights(row.get(key)) for kind, key in KINDS.items()}
    # Every set has one ability, so that their weights add up to the sets'.
    sets = sum(weights["abilities"].values())
    if not sets:
        return None
    names = {
        "items": dex().items.keys(),
        "abilities": dex().abilities.keys(),
        "teras": dex().types.keys(),
        "moves": dex().moves.keys(),
    }
    shares = {
        kind: {
            name: min(1.0, weight / sets)
            for name, weight in weights[kind].items()
            if name in names[kind] and weight / sets >= LEAST_SHARE
        }
        for kind in KINDS
    }
    return Usage(**shares)


def _weights(row: Any) -> dict[str, float]:
    if not isinstance(row, dict):
        return {}
    return {
        to_id(str(name)): float(weight)
        for name, weight in row.items()
        if isinstance(weight, int | float) and 0 < weight < _LARGEST_WEIGHT
    }


def count_usage(sets: Iterable[Set]) -> dict[str, Any]:
    """Return how often sets have what, in the same form."""
    rows: dict[str, dict[str, Counter[str]]] = {}
    number = 0
    for mon_set in sets:
        number += 1
        row = rows.setdefault(mon_set.species, {key: Counter() for key in KINDS.values()})
        row["Items"][mon_set.item or "nothing"] += 1
        row["Abilities"][mon_set.ability] += 1
        row["Tera Types"][mon_set.tera] += 1
        row["Moves"].update(mon_set.moves)
    data = {
        species: {"Raw count": sum(row["Abilities"].values())}
        | {key: dict(row[key].most_common()) for key in KINDS.values()}
        for species, row in sorted(rows.items())
    }
    return {"info": {"number of sets": number}, "data": data}
