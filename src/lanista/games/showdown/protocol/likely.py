"""What an opponent's Pokémon probably has: shares of items, abilities, Tera types and moves.

The prior is what players bring where usage statistics tell it, otherwise what the simulator's own
sets of the species have; sets of a pool that agree with everything revealed count beside it.
Knows nothing of the truth: it sees what the tracker has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lanista.games.showdown.protocol.battle_state import Mon
from lanista.games.showdown.protocol.belief import Belief, Seen, seen_of
from lanista.games.showdown.protocol.traits import Usage, even, traits
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.teams.sets import Set

MOVES = 4
PRIOR_SETS = 8
"""How many sets of a pool the prior counts as much as."""
SURPRISE = {"items": 0.4, "abilities": 0.05, "teras": 0.5, "moves": 0.2}
"""How much of the prior is what any species brings: people build other sets than a generator."""
USAGE_SURPRISE = 0.05
"""The same where usage statistics say what players bring."""
Shares = Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Likely:
    """Shares by name, likeliest first; what is revealed is certain, and moves leave it out."""

    items: Shares
    abilities: Shares
    teras: Shares
    moves: Shares
    """Of moves that were not seen: the chance that the Pokémon has each."""


def likely(mon: Mon, belief: Belief | None) -> Likely:
    """Return what a Pokémon of the opponent's probably has."""
    key = (
        *(belief, mon.species, mon.base, mon.level, mon.item, mon.brought, mon.ability, mon.tera),
        *mon.moves,
    )
    if mon.guessed[0] != key:
        mon.guessed = key, _likely(seen_of(mon), belief)
    guess: Likely = mon.guessed[1]
    return guess


@lru_cache(maxsize=1 << 14)
def _likely(seen: Seen, belief: Belief | None) -> Likely:
    agreeing = belief.agreeing(seen) if belief is not None else ()
    mixed = _mixed(_prior(seen.species, seen.base, belief), agreeing)
    item, ability, tera = seen.item, seen.ability, seen.tera
    return Likely(
        {item: 1.0} if item else {} if item is not None else _sorted(mixed.items),
        {ability: 1.0} if ability else _sorted(_possible(seen.species, mixed.abilities)),
        {tera: 1.0} if tera else _sorted(mixed.teras),
        _unseen(mixed.moves, frozenset(seen.moves)),
    )


@lru_cache(maxsize=1 << 10)
def _prior(species: str, base: str, belief: Belief | None) -> Usage:
    """Return what a species brings, and with some chance what any does."""
    usage = belief.usage if belief is not None else {}
    usual, general = usage.get(species) or usage.get(base), traits().any_usage
    surprise = dict.fromkeys(SURPRISE, USAGE_SURPRISE)
    if usual is None:
        usual, surprise = traits().usage_of(species, base), SURPRISE
    return Usage(
        _blend(usual.items, general.items, surprise["items"]),
        _blend(usual.abilities, even(dex().species_of(species).abilities), surprise["abilities"]),
        _blend(usual.teras, general.teras, surprise["teras"]),
        _blend(usual.moves, general.moves, surprise["moves"]),
    )


def _blend(usual: Shares, general: Shares, surprise: float) -> Shares:
    blended = {name: (1 - surprise) * share for name, share in usual.items()}
    for name, share in general.items():
        blended[name] = blended.get(name, 0.0) + surprise * share
    return blended


def _mixed(prior: Usage, agreeing: Sequence[Set]) -> Usage:
    total = PRIOR_SETS + len(agreeing)
    return Usage(
        _counted(prior.items, [one.item for one in agreeing], total),
        _counted(prior.abilities, [one.ability for one in agreeing], total),
        _counted(prior.teras, [one.tera for one in agreeing], total),
        _counted(prior.moves, [move for one in agreeing for move in one.moves], total),
    )


def _counted(prior: Shares, brought: list[str], total: int) -> Shares:
    shares = {name: PRIOR_SETS * share / total for name, share in prior.items()}
    one = 1 / total
    for name in brought:
        if name:
            shares[name] = shares.get(name, 0.0) + one
    return shares


def _possible(species: str, shares: Shares) -> Shares:
    """Return the shares of what the species can have at all, summing to 1."""
    abilities = dex().species_of(species).abilities
    left = {name: shares.get(name, 0.0) for name in abilities}
    total = sum(left.values())
    if not total:
        return even(abilities)
    return {name: share / total for name, share in left.items()}


def _unseen(shares: Shares, seen: frozenset[str]) -> Shares:
    """Return the chances of moves that were not seen; they sum to the moves that are left."""
    left = {name: share for name, share in shares.items() if name not in seen}
    room, total = max(0, MOVES - len(seen)), sum(left.values())
    if not room or not total:
        return {}
    factor = min(1.0, room / total)
    return _sorted({name: min(1.0, share * factor) for name, share in left.items()})


def _sorted(shares: Shares) -> Shares:
    return dict(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0])))
