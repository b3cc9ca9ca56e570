"""Who can do what to whom: damage, knock-outs, threats and who acts first, for an observation.

Reckons with reckoning.pyx from what a seat knows, as our bots do. Knows nothing of fields or of
where numbers go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lanista.games.showdown.observation.place_tokens import remembered
from lanista.games.showdown.protocol.battle_state import FOE, OWN, Known, Place
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.likely import Likely, likely
from lanista.games.showdown.protocol.requests import PREVIEW, Own
from lanista.games.showdown.protocol.speeds import SPEED as SPEED_STAGE
from lanista.games.showdown.protocol.speeds import ability_factor, bounds
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.damage import MOST_SHARE, Fighter, Ground, stage_factor
from lanista.games.showdown.scripted.fighters import (
    ground_between,
    pace,
    sheet_of_foe,
    sheet_of_party,
)
from lanista.games.showdown.scripted.reckoning import Arsenal, Sheet, air, arsenal

LIKELY = 0.5
"""The chance above which a move that was not seen is reckoned with."""


@dataclass(slots=True)
class Foe:
    """An opponent's Pokémon on the field."""

    sheet: Sheet
    shown: Arsenal
    """The moves that it showed."""
    likely: Arsenal
    """Attacks that it showed or more likely has than not."""
    pace: float
    """As an ordinary one of its species."""
    slowest: float
    fastest: float
    """Bounds of its speed now."""


class Matchups:
    """One decision's fighters and what they can do to each other."""

    def __init__(self, battle: Known, own: Own, belief: Belief | None = None) -> None:
        self.lately = remembered(battle)
        self.ground = ground_between(battle)
        self.air = air(self.ground)
        self.trick_room = "trickroom" in battle.rooms
        self._tailwind = tuple("tailwind" in side.conditions for side in battle.sides)
        self.foes = [
            _standing(battle, place, self._tailwind[FOE], belief)
            for place in battle.sides[FOE].places
        ]
        self.sheets = [
            None if mon.fainted else sheet_of_party(battle, own, at)
            for at, mon in enumerate(own.party)
        ]
        self.plain_paces = [
            pace(sheet.fighter, tailwind=self._tailwind[OWN]) if sheet else 0.0
            for sheet in self.sheets
        ]
        """As our bots reckon, who leave out what an ability adds."""
        self.paces = list(self.plain_paces)
        for at, place in enumerate(battle.sides[OWN].places[: len(self.paces)]):
            self.paces[at] *= ability_factor(place)
        self.team = [
            (sheet_of_foe(battle, mon), arsenal(tuple(mon.moves)))
            for mon in battle.sides[FOE].mons
            if mon.hp > 0 and own.kind == PREVIEW
        ]

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
    sheet = sheet_of_foe(battle, mon, place)
    fighter = sheet.fighter
    factor = stage_factor(place.boosts[SPEED_STAGE]) * (2 if tailwind else 1)
    if mon.status == "par":
        factor /= 2
    factor *= ability_factor(place)
    low, high = bounds(mon)
    # What it was seen to be fast as is of itself, and not of what it has turned into.
    if place.forme:
        low = high = round(fighter.stats[SPEED_STAGE])
    moves = tuple(mon.moves)
    return Foe(
        sheet,
        arsenal(moves),
        likely_attacks(likely(mon, belief), moves),
        pace(fighter, tailwind=tailwind),
        low * factor,
        high * factor,
    )


@lru_cache(maxsize=1 << 14)
def likely_attacks(chances: Likely, shown: tuple[str, ...]) -> Arsenal:
    """Return attacks that were shown, and those that are likelier than not."""
    names = [*shown, *(move for move, chance in chances.moves.items() if chance > LIKELY)]
    return arsenal(tuple(name for name in names if dex().move_of(name).category in (1, 2)))


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
