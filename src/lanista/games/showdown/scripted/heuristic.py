"""`heuristic`: a bot that thinks of what comes back.

Beside damage it looks at who is faster and what its own Pokémon stand to lose: it guards when it
would fall, leaves when nothing it can do there is worth a turn, makes flinch, slows, puts to sleep
and sets up where that is worth more. Written by us in the spirit of the simple heuristics that
others use.
"""

from __future__ import annotations

from collections.abc import Mapping

from lanista.games.contract import Ints
from lanista.games.showdown.actions.options import MOVE, SWITCH, Option, options_of
from lanista.games.showdown.protocol.battle_state import FOE, OWN, Place
from lanista.games.showdown.protocol.requests import FORCED
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.bot_view import Standing, air_of, foes, own_sheet
from lanista.games.showdown.scripted.bots import Damage, Values
from lanista.games.showdown.scripted.fighters import pace
from lanista.games.showdown.scripted.reckoning import Sheet, arsenal, threat
from lanista.games.showdown.scripted.ties import preferred
from lanista.games.streams import Stream

GUARDS = frozenset(
    ("protect", "detect", "spikyshield", "kingsshield", "banefulbunker", "silktrap", "obstruct")
) | {"burningbulwark"}
FIRST_TURN = frozenset(("fakeout", "firstimpression"))
HEALS = frozenset(
    ("recover", "roost", "softboiled", "slackoff", "synthesis", "moonlight", "morningsun")
) | {"strengthsap", "milkdrink", "shoreup"}
SLEEPS = frozenset(("spore", "sleeppowder", "hypnosis", "lovelykiss", "sing", "yawn"))
HINDERS = frozenset(("willowisp", "thunderwave", "nuzzle", "glare", "taunt", "encore", "toxic"))
DRAWS_FIRE = frozenset(("followme", "ragepowder"))
SELF_BOOSTS: Mapping[str, int] = {
    **dict.fromkeys(("swordsdance", "dragondance", "bulkup", "shiftgear", "bellydrum"), 0),
    **dict.fromkeys(("nastyplot", "calmmind", "quiverdance", "tailglow", "geomancy"), 2),
}
"""Moves that raise the user's own attack, and the stage they raise."""
LATE = 0.55
"""How likely it is to get to act for one that is slower than somebody who could kill it."""


class Heuristic(Damage):
    """Weighs damage against what its Pokémon stand to lose."""

    name = "heuristic"
    version = 2
    tera_cost = 0.05
    """What turning is worth later: it is done for more than that, and not in passing."""
    tera_shield = 0.5
    """What the HP is worth that turning saves in this turn."""

    def choose(self, tracker: Tracker, equals: Ints, stream: Stream) -> int:
        """Return the one of equal value that ties.py prefers: the same again, however written."""
        return preferred(tracker, equals.tolist())

    def value_slot(self, tracker: Tracker, slot: int, worth: Values, harm: Values) -> None:
        """Correct what damage alone would say."""
        super().value_slot(tracker, slot, worth, harm)
        standing = [foe for foe in foes(tracker) if foe]
        around = _Around(tracker, slot, standing)
        for option in options_of(tracker, slot):
            if option.kind == SWITCH:
                worth[option.order] = self._switch(tracker, option, around)
            elif option.kind == MOVE:
                if around.is_late(option.move):
                    harm[option.order] *= LATE
                worth[option.order] += _aside(option, around)
                if option.tera:
                    worth[option.order] += self.tera_shield * around.shielded_by(option.tera)

    def _switch(self, tracker: Tracker, option: Option, around: _Around) -> float:
        """Return what bringing one in is worth: little by choice, for it costs the turn."""
        against = [foe.sheet for foe in around.standing]
        prowess = self._prowess(tracker, option.party, against, around.air)
        if tracker.own.kind == FORCED:
            return prowess
        comes = own_sheet(tracker, option.party)
        risk = min(1.0, around.threat(comes) / max(comes.fighter.hp, 0.01))
        return 0.4 * prowess - 0.3 * risk + (0.25 if around.doomed else 0.0) + 0.1


class _Around:
    """What one own Pokémon has around it."""

    def __init__(self, tracker: Tracker, slot: int, standing: list[Standing]) -> None:
        self.tracker, self.slot, self.standing = tracker, slot, standing
        self.air = air_of(tracker)
        self.ground = self.air.ground
        self.sheet = own_sheet(tracker, slot)
        self.fighter = self.sheet.fighter
        self.place = tracker.battle.sides[OWN].places[slot]
        self.danger = self.threat(self.sheet)
        """The share of its HP that the opponents can take in this turn."""
        self.slower = [foe for foe in standing if self._is_slower_than(foe)]
        self.doomed = self.danger >= max(self.fighter.hp, 0.01)
        self.late = self.doomed and bool(self.slower)

    def threat(self, target: Sheet) -> float:
        """Return what the opponents on the field can take from a Pokémon, all together."""
        return sum(
            threat(arsenal(tuple(foe.place.mon.moves)), foe.sheet, target, self.air)
            for foe in self.standing
            if foe.place.mon is not None
        )

    def shielded_by(self, tera: str) -> float:
        """Return the share of its HP that a Pokémon keeps in this turn by turning."""
        left = self.fighter.hp
        turned = Sheet(self.fighter.turned(tera))
        return min(self.danger, left) - min(self.threat(turned), left)

    def is_late(self, move: str) -> bool:
        """Return whether a move may never come about."""
        return self.late and dex().move_of(move).priority <= 0

    def ally(self) -> Sheet | None:
        """Return the Pokémon beside it."""
        at = 1 - self.slot
        alone = self.ground.doubles is False or self.tracker.own.party[at].fainted
        return None if alone else own_sheet(self.tracker, at)

    def _is_slower_than(self, foe: Standing) -> bool:
        battle = self.tracker.battle
        mine = pace(self.fighter, tailwind="tailwind" in battle.sides[OWN].conditions)
        theirs = pace(foe.fighter, tailwind="tailwind" in battle.sides[FOE].conditions)
        return mine > theirs if "trickroom" in battle.rooms else mine < theirs


def _aside(option: Option, around: _Around) -> float:
    """Return what a move is worth beside its damage."""
    move, place = option.move, around.place
    if move in GUARDS:
        return _guard(place, around)
    if move in FIRST_TURN:
        fresh = not place.last_move
        return (0.9 if move == "fakeout" else 0.0) if fresh else -3.0
    if move in HEALS:
        return 0.9 * (1 - around.fighter.hp) if not around.doomed else 0.0
    if move in SELF_BOOSTS:
        room = 2 - around.fighter.boosts[SELF_BOOSTS[move]]
        return 0.3 * room * around.fighter.hp if around.danger < 0.5 and room > 0 else -0.1
    if move in SLEEPS or move in HINDERS:
        return _hinder(option, around)
    if move in ("tailwind", "trickroom"):
        return _speed_control(move, around)
    if move in DRAWS_FIRE:
        ally = around.ally()
        if ally is None or around.doomed:
            return 0.0
        return 0.3 if around.threat(ally) >= ally.fighter.hp else 0.0
    if move == "helpinghand":
        return 0.15 if around.ally() else -0.2
    return 0.0


def _guard(place: Place, around: _Around) -> float:
    if place.protects and place.protected >= around.tracker.battle.turn - 1:
        return -1.0
    return 0.45 if around.doomed else 0.05


def _hinder(option: Option, around: _Around) -> float:
    there = {foe.place.index - 2: foe for foe in around.standing}
    if not around.ground.doubles:
        there = dict(enumerate(around.standing))
    target = next((there[at] for at in option.foes if at in there), None)
    if target is None or target.fighter.status or option.ally:
        return -0.3
    if option.move in ("spore", "sleeppowder") and "grass" in target.fighter.types:
        return -0.3
    if option.move == "thunderwave" and "ground" in target.fighter.types:
        return -0.3
    return 0.7 if option.move in SLEEPS else 0.25


def _speed_control(move: str, around: _Around) -> float:
    battle = around.tracker.battle
    behind = len(around.slower) - (len(around.standing) - len(around.slower))
    if move == "tailwind":
        return -0.5 if "tailwind" in battle.sides[OWN].conditions else 0.35 + 0.1 * behind
    # Trick Room turns itself off again.
    return 0.3 + 0.2 * behind if "trickroom" not in battle.rooms else -0.5
