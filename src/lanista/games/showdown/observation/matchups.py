"""Who can do what to whom: damage, knock-outs, threats and who acts first, for an observation.

Reckons with damage.py from what a seat knows, as our bots do, and remembers what it has worked out
by attacker, moves, target and ground. Knows nothing of fields or of where numbers go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lanista.games.showdown.protocol.battle_state import FOE, OWN, Known, Mon, Place
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.likely import Likely, likely
from lanista.games.showdown.protocol.requests import PREVIEW, Own
from lanista.games.showdown.protocol.speeds import SPEED as SPEED_STAGE
from lanista.games.showdown.protocol.speeds import ability_factor, bounds
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.damage import (
    MEAN_ROLL,
    Fighter,
    Ground,
    expected_share,
    hit_chance,
    stage_factor,
)
from lanista.games.showdown.scripted.fighters import (
    fighter_of_foe,
    fighter_of_party,
    ground_between,
    pace,
    threat,
)

LEAST_ROLL = 0.85
MOST_SHARE = 3000
"""Shares of HP are written in thousandths and stop here."""
LIKELY = 0.5
"""The chance above which a move that was not seen is reckoned with."""
Shares = tuple[float, ...]
_attack_memory = 1 << 15


@dataclass(frozen=True)
class Foe:
    """An opponent's Pokémon on the field."""

    mon: Mon
    place: Place
    fighter: Fighter
    moves: tuple[str, ...]
    """Those it showed."""
    likely_attacks: tuple[str, ...]
    """Attacks that it showed or more likely has than not."""
    pace: float
    """As an ordinary one of its species."""
    slowest: float
    fastest: float
    """Bounds of its speed now."""


class Matchups:
    """One decision's fighters and what they can do to each other."""

    def __init__(self, battle: Known, own: Own, belief: Belief | None = None) -> None:
        self.ground = ground_between(battle)
        self.trick_room = "trickroom" in battle.rooms
        self._tailwind = tuple("tailwind" in side.conditions for side in battle.sides)
        self.foes = [
            _standing(battle, place, self._tailwind[FOE], belief)
            for place in battle.sides[FOE].places
        ]
        self.party = [
            None if mon.fainted else fighter_of_party(battle, own, at)
            for at, mon in enumerate(own.party)
        ]
        self.plain_paces = [
            pace(fighter, tailwind=self._tailwind[OWN]) if fighter else 0.0
            for fighter in self.party
        ]
        """As our bots reckon, who leave out what an ability adds."""
        self.paces = list(self.plain_paces)
        for at, place in enumerate(battle.sides[OWN].places[: len(self.paces)]):
            self.paces[at] *= ability_factor(place)
        self.team = [
            (fighter_of_foe(battle, mon), tuple(mon.moves))
            for mon in battle.sides[FOE].mons
            if mon.hp > 0 and own.kind == PREVIEW
        ]

    def best(self, attacker: Fighter, moves: tuple[str, ...], target: Fighter) -> float:
        """Return the largest share of a target's HP that one of the moves is expected to take."""
        return max(attack_shares(attacker, moves, target, self.ground), default=0.0)

    def threat(self, foe: Foe, target: Fighter) -> float:
        """Return what an opponent can take from a Pokémon in one turn."""
        return threat_share(foe.moves, foe.fighter, target, self.ground)

    def likely_threat(self, foe: Foe, target: Fighter) -> float:
        """Return the same by the attacks that the opponent showed or likely has."""
        shares = attack_shares(foe.fighter, foe.likely_attacks, target, self.ground)
        return max(shares, default=0.0)

    def acts_before(self, own_pace: float, foe: Foe) -> float:
        """Return the chance that a Pokémon acts before an opponent, both with ordinary moves."""
        width = foe.fastest - foe.slowest
        if width <= 0:
            first = 0.5 if own_pace == foe.fastest else float(own_pace > foe.fastest)
        else:
            first = min(1.0, max(0.0, (own_pace - foe.slowest) / width))
        return 1 - first if self.trick_room else first

    def is_faster(self, at: int, foe: Foe) -> bool:
        """Return whether it acts before an ordinary Pokémon of that species, as bots reckon."""
        own_pace = self.plain_paces[at]
        return own_pace < foe.pace if self.trick_room else own_pace > foe.pace


def _standing(battle: Known, place: Place, tailwind: bool, belief: Belief | None) -> Foe | None:
    mon = place.mon
    if mon is None or mon.hp <= 0:
        return None
    fighter = fighter_of_foe(battle, mon, place)
    factor = stage_factor(place.boosts[SPEED_STAGE]) * (2 if tailwind else 1)
    if mon.status == "par":
        factor /= 2
    factor *= ability_factor(place)
    low, high = bounds(mon)
    # What it was seen to be fast as is of itself, and not of what it has turned into.
    if place.forme:
        low = high = round(fighter.stats[SPEED_STAGE])
    return Foe(
        mon,
        place,
        fighter,
        tuple(mon.moves),
        likely_attacks(likely(mon, belief), tuple(mon.moves)),
        pace(fighter, tailwind=tailwind),
        low * factor,
        high * factor,
    )


@lru_cache(maxsize=1 << 12)
def likely_attacks(chances: Likely, shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return attacks that were shown, and those that are likelier than not."""
    names = [*shown, *(move for move, chance in chances.moves.items() if chance > LIKELY)]
    return tuple(name for name in names if dex().move_of(name).category in (1, 2))


@lru_cache(maxsize=_attack_memory)
def attack_shares(
    attacker: Fighter, moves: tuple[str, ...], target: Fighter, ground: Ground
) -> Shares:
    """Return the share of the target's whole HP that each move is expected to take if it hits."""
    return tuple(expected_share(attacker, move, target, ground) for move in moves)


@lru_cache(maxsize=_attack_memory)
def threat_share(
    moves: tuple[str, ...], attacker: Fighter, target: Fighter, ground: Ground
) -> float:
    """Return what an attacker with these moves, and with those its types suggest, can take."""
    return threat(moves, attacker, target, ground)


@lru_cache(maxsize=_attack_memory)
def hit_chances(
    attacker: Fighter, moves: tuple[str, ...], target: Fighter, ground: Ground
) -> Shares:
    """Return the chance that each move hits."""
    return tuple(hit_chance(attacker, move, target, ground) for move in moves)


def knock_out(share: float, target: Fighter) -> float:
    """Return the chance that a hit of this expected share takes all that the target has left."""
    if share <= 0:
        return 0.0
    if target.hp >= 1 and (target.item == "focussash" or target.ability == "sturdy"):
        return 0.0
    needed = target.hp * MEAN_ROLL / share
    return min(1.0, max(0.0, (1 - needed) / (1 - LEAST_ROLL)))


def thousandths(share: float) -> int:
    """Return a share of HP as it is written."""
    return min(MOST_SHARE, round(1000 * share))


def priority_of(attacker: Fighter, move: str, ground: Ground) -> int:
    """Return a move's priority with what the user's ability and the terrain make of it."""
    dex_move = dex().move_of(move)
    priority, ability = dex_move.priority, attacker.ability
    if ability == "prankster":
        priority += dex_move.category == 3
    elif ability == "galewings":
        priority += dex_move.type == "flying" and attacker.hp >= 1
    elif ability == "triage":
        priority += 3 * (move in DRAINS)
    if move == "grassyglide" and ground.terrain == "grassyterrain":
        priority += 1
    return priority


DRAINS = frozenset(
    ("drainingkiss", "gigadrain", "drainpunch", "hornleech", "leechlife", "paraboliccharge")
) | {"bitterblade", "matchagotcha", "oblivionwing", "absorb", "megadrain"}
