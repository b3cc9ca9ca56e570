"""`python -m bench.showdown_belief`: whether chances of hidden sets are as often true as they say.

Before anything is shown, every Pokémon of the judged teams is asked for: moves, items and Tera
types with their chances, in bins, beside how often they are really there. Three sources: the prior
alone, a pool, and usage statistics counted from that pool.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lanista.games.showdown.formats import format_named
from lanista.games.showdown.game import DEFAULT_FORMAT
from lanista.games.showdown.protocol.battle_state import Mon
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.likely import likely
from lanista.games.showdown.protocol.usage import count_usage, usage_table
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.teams.pool import load_pool, pool_folder
from lanista.games.showdown.teams.sets import Set, unpack

BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 1.0001)
_KINDS = ("moves", "items", "teras")


def sets_of(pool: str, share: slice = slice(None)) -> list[Set]:
    """Return the sets of a pool's teams."""
    with Battles(1) as battles:
        teams = load_pool(pool_folder(pool), format_named(DEFAULT_FORMAT).name, battles).teams
    return [mon_set for team in teams[share] for mon_set in unpack(team.packed)]


def calibration(sets: Sequence[Set], belief: Belief | None) -> dict[str, list[dict[str, float]]]:
    """Return, by kind and bin, how many chances there were, their mean, and how many were true."""
    chances: dict[str, list[tuple[float, bool]]] = {kind: [] for kind in _KINDS}
    for mon_set in sets:
        expected = likely(Mon("", mon_set.species, 50, ""), belief)
        brought = {"moves": set(mon_set.moves), "items": {mon_set.item}, "teras": {mon_set.tera}}
        for kind in _KINDS:
            shares: Mapping[str, float] = getattr(expected, kind)
            chances[kind] += [(share, name in brought[kind]) for name, share in shares.items()]
            # What has no chance at all and is there nevertheless counts in the lowest bin.
            chances[kind] += [(0.0, True) for name in brought[kind] if name not in shares]
    return {kind: list(_bins(chances[kind])) for kind in _KINDS}


def _bins(chances: Sequence[tuple[float, bool]]) -> Iterator[dict[str, float]]:
    stated = np.array([chance for chance, _ in chances])
    present = np.array([there for _, there in chances])
    for low, high in pairwise(BINS):
        inside = (stated >= low) & (stated < high)
        if inside.any():
            yield {
                "n": int(inside.sum()), "stated": round(float(stated[inside].mean()), 3),
                "true": round(float(present[inside].mean()), 3),
            }  # fmt: skip


def brier(sets: Sequence[Set], belief: Belief | None) -> dict[str, float]:
    """Return the mean squared error of all chances by kind, a Pokémon's names summed."""
    errors: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    for mon_set in sets:
        expected = likely(Mon("", mon_set.species, 50, ""), belief)
        brought = {"moves": set(mon_set.moves), "items": {mon_set.item}, "teras": {mon_set.tera}}
        for kind in _KINDS:
            shares: Mapping[str, float] = getattr(expected, kind)
            names = set(shares) | brought[kind]
            errors[kind].append(
                sum((shares.get(name, 0.0) - (name in brought[kind])) ** 2 for name in names)
            )
    return {kind: round(float(np.mean(errors[kind])), 3) for kind in _KINDS}


def main() -> None:
    """Print a line for every source and what is judged by it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", help="a folder of teams: half of it is counted, half is judged")
    words = parser.parse_args()
    counted = sets_of(words.pool, slice(0, None, 2))
    judged: dict[str, list[Set]] = {
        "the other half": sets_of(words.pool, slice(1, None, 2)),
        "held-out": sets_of("held-out"),
    }
    sources: dict[str, Belief | None] = {
        "prior": None,
        "pool": Belief(counted),
        "usage": Belief((), usage_table(count_usage(counted))),
    }
    for name, sets in judged.items():
        for source, belief in sources.items():
            row: dict[str, Any] = {"judged": name, "source": source, "sets": len(sets)}
            row |= {"brier": brier(sets, belief), "bins": calibration(sets, belief)}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
