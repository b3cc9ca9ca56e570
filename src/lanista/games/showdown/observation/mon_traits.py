"""The parts of a Pokémon's token that follow from names: what its item, ability and moves do.

For the own Pokémon they are certain; for the opponent's they are chances, from what was revealed
and what the species usually brings. Knows nothing of places and turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from lanista.games.showdown.observation.token_fields import (
    HAS,
    LIKELY_ITEMS,
    LIKELY_MOVES,
    LIKELY_TERAS,
)
from lanista.games.showdown.protocol.effects import TERRAINS
from lanista.games.showdown.protocol.likely import Likely
from lanista.games.showdown.protocol.traits import CERTAIN, traits
from lanista.games.showdown.protocol.vocabulary import NONE, dex, number_of

Written = NDArray[np.int16]
STATUS_CATEGORY = 3
SPREADS = frozenset(("allAdjacentFoes", "allAdjacent"))


@lru_cache(maxsize=1 << 10)
def abilities_of_move(move: str) -> frozenset[str]:
    """Return what of `HAS` a move does."""
    facts, dex_move = traits(), dex().move_of(move)
    if move not in facts.moves:
        return frozenset()
    row = dict(zip(facts.move_names, facts.moves[move], strict=True))
    attacks = dex_move.category != STATUS_CATEGORY
    raised = max(row["raise_atk"], row["raise_spa"])
    does = {
        **{name: row[name] > 0 for name in ("guard", "first_turn", "tailwind", "trickroom")},
        **{name: row[name] > 0 for name in ("redirect", "taunt", "encore", "helpinghand")},
        **{name: row[name] > 0 for name in ("healing", "pivot", "side_guard", "screen")},
        "priority": attacks and dex_move.priority > 0,
        "spread": attacks and dex().targets.get(move) in SPREADS,
        "sleep": row["slp"] >= 50 or row["yawn"] > 0,
        "hinder": not attacks and max(row["brn"], row["par"], row["psn"]) > 0,
        "set_up": not attacks and raised > 0,
        "slows": row["change_spe"] <= -50,
        "weather": any(row[name] for name in ("rain", "sun", "sand", "snow")),
        "terrain": any(row[name] for name in TERRAINS),
        "phazes": row["forces_switch"] > 0,
        "physical": dex_move.category == 1,
        "special": dex_move.category == 2,
    }
    return frozenset(name for name, done in does.items() if done)


@lru_cache(maxsize=1 << 14)
def own_traits(item: str, ability: str, moves: tuple[str, ...]) -> Written:
    """Return the numbers of an own Pokémon's item, ability and moves."""
    return _all_traits({item: 1.0}, {ability: 1.0}, {}, moves)


@lru_cache(maxsize=1 << 14)
def foe_traits(likely: Likely, moves: tuple[str, ...]) -> Written:
    """Return the same of an opponent's, as chances."""
    return _all_traits(likely.items, likely.abilities, likely.moves, moves)


def _all_traits(
    items: Mapping[str, float],
    abilities: Mapping[str, float],
    unseen: Mapping[str, float],
    moves: Iterable[str],
) -> Written:
    facts = traits()
    return np.concatenate(
        [
            _mean(items, _marks("items"), len(facts.item_names)),
            _mean(abilities, _marks("abilities"), len(facts.ability_names)),
            _has(unseen, moves),
        ]
    )


Marks = tuple[tuple[int, int], ...]
"""Where a row is not 0, and what it is there: few of many."""


def _mean(shares: Mapping[str, float], marks: Mapping[str, Marks], length: int) -> Written:
    total = [0.0] * length
    for name, share in shares.items():
        for at, value in marks.get(name, ()):
            total[at] += share * value
    return np.rint(total).astype(np.int16)


@cache
def _marks(kind: str) -> dict[str, Marks]:
    """Return the marks of all items or abilities."""
    rows: Mapping[str, tuple[int, ...]] = getattr(traits(), kind)
    return {
        name: tuple((at, value) for at, value in enumerate(row) if value)
        for name, row in rows.items()
    }


def _has(unseen: Mapping[str, float], moves: Iterable[str]) -> Written:
    certain = frozenset[str]().union(*(abilities_of_move(move) for move in moves))
    chances = dict.fromkeys(HAS, 0.0)
    for move, chance in unseen.items():
        for name in abilities_of_move(move):
            chances[name] += chance
    numbers = [
        CERTAIN if name in certain else round(CERTAIN * min(1.0, chance))
        for name, chance in chances.items()
    ]
    return np.array(numbers, np.int16)


@lru_cache(maxsize=1 << 14)
def likely_numbers(likely: Likely) -> list[int]:
    """Return the likeliest unseen moves, items and Tera types as numbers, then their chances."""
    tables = dex()
    move_numbers = {
        move: tables.move_of(move).number for move in _first(likely.moves, LIKELY_MOVES)
    }
    item_numbers = {
        item: number_of(tables.items, item) for item in _first(likely.items, LIKELY_ITEMS)
    }
    type_numbers = {
        tera: number_of(tables.types, tera) for tera in _first(likely.teras, LIKELY_TERAS)
    }
    ranked = (
        (move_numbers, likely.moves, LIKELY_MOVES),
        (item_numbers, likely.items, LIKELY_ITEMS),
        (type_numbers, likely.teras, LIKELY_TERAS),
    )
    numbers: list[int] = []
    chances: list[int] = []
    for named, shares, count in ranked:
        rest = [NONE] * (count - len(named))
        numbers += [*named.values(), *rest]
        chances += [*(round(CERTAIN * shares[name]) for name in named), *rest]
    return numbers + chances


def _first(shares: Mapping[str, float], count: int) -> list[str]:
    return list(shares)[:count]
