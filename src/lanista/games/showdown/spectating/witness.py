"""Reads off a battle log what each side ordered, as far as a spectator can tell.

Goes through a log once, line by line, with a tracker that is asked nothing. Where a line does not
prove an order (the Pokémon never came to act, its move was turned aside or overruled), the order
is unknown and never a guess.

A log is cut into segments where the server wrote down the time: each time everybody had chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lanista.games.showdown.actions.orders import CHOSEN_TARGETS
from lanista.games.showdown.formats import Format
from lanista.games.showdown.protocol.battle_state import Mon, Place, Side
from lanista.games.showdown.protocol.naming import FROM, OF, Fields, effect_of, place_of, tag
from lanista.games.showdown.protocol.requests import FORCED, PREVIEW, TURN
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.sim.views import SEATS
from lanista.games.showdown.spectating.logs import LogError
from lanista.games.showdown.spectating.spectator import (
    BRINGS,
    Bring,
    Decision,
    Move,
    Order,
    Pass,
    Revive,
    Stance,
    Switch,
    Told,
    Unknown,
    stands,
)

MARK = "|t:|"
PREVIEWED = "|teampreview|"
LOCKED = "lockedmove"
REDIRECTING = frozenset(("lightningrod", "stormdrain"))
LEAVES = frozenset(("ejectbutton", "ejectpack", "emergencyexit", "wimpout"))
REVIVAL = "move: Revival Blessing"
DISGUISED = frozenset(("zoroark", "zorua"))
MOST_DECISIONS = 10_000
"""Of both sides; a battle ends after 1,000 turns, and a turn asks each side for a few."""
BENDING = frozenset(("curse", "dragondarts", "expandingforce", "terastarstorm"))
"""Moves that may hit others than the one they were aimed at."""


@dataclass
class Actor:
    """A Pokémon that was to act in a turn."""

    seat: int
    slot: int
    stance: Stance
    decision: Decision
    foes: tuple[bool, ...]
    """Which of the opponent's places were filled when the turn began."""
    imprisoned: bool
    """It may have been offered moves that it could not use."""
    order: Order | None = None
    tera: bool = False
    overruled: str = ""
    instructed: int = 0
    """Moves to come that it was made to repeat."""


def segments_of(lines: Sequence[str]) -> list[list[str]]:
    """Cut a log where everybody had chosen.

    The empty line before the time goes with what comes, and so does whatever follows a turn's
    number: a berry that is eaten to act first is told of before the time is.
    """
    segments: list[list[str]] = [[]]
    for line in lines:
        if line.startswith(MARK) and segments[-1] and segments[-1][-1] in ("|", ""):
            segments[-1].pop()
            turns = [at for at, text in enumerate(segments[-1]) if text.startswith("|turn|")]
            end = turns[-1] + 1 if turns else len(segments[-1])
            segments.append([*segments[-1][end:], "|"])
            del segments[-2][end:]
        elif line and not line.startswith(MARK):
            segments[-1].append(line)
    if len(segments) < 2:
        raise LogError("does not say when choices were made")
    _tell_sizes(segments)
    return segments


def _tell_sizes(segments: list[list[str]]) -> None:
    """Tell how many were brought where an older server does not, once they have been chosen."""
    preview_lines = [line for line in segments[0] if line.startswith(PREVIEWED)]
    if preview_lines and not any(line.startswith("|teamsize|") for line in segments[1]):
        brought = preview_lines[0].split("|")[2] or str(BRINGS)
        segments[1][1:1] = [f"|teamsize|p{seat + 1}|{brought}" for seat in range(SEATS)]


def witness(format: Format, lines: Sequence[str]) -> Told:
    """Return what a log tells."""
    return _Witness(format).read(segments_of(lines))


@dataclass
class _Turn:
    """What has to be remembered until the turn is over."""

    actors: dict[Mon, Actor] = field(default_factory=dict)
    swapped: set[int] = field(default_factory=set)
    """Seats whose Pokémon changed places."""
    leaving: set[Mon] = field(default_factory=set)
    """Who leaves without having chosen to."""
    last: Actor | None = None
    """Who moved last by its own choice."""


class _Witness:
    def __init__(self, format: Format) -> None:
        self.format = format
        self.tracker = Tracker(format, 0)
        self.battle = self.tracker.battle
        self.decisions: list[Decision] = []
        self.turn = _Turn()
        self.segment = 0
        self.first = False
        """This segment is what came of a turn's orders."""
        self.forced: dict[int, Decision] = {}
        """By seat: the forced decision that this segment shows."""
        self.reviver: tuple[int, int] | None = None
        """Seat and slot of who is asked whom to revive, until somebody is or the turn is over."""
        self.leaders: list[list[Mon]] = [[], []]
        self.previewed = False
        self.born: dict[Mon, str] = {}
        self.replaced: set[int] = set()
        self.leaver: Mon | None = None
        self.leaver_alive = False

    def read(self, segments: list[list[str]]) -> Told:
        for number, lines in enumerate(segments):
            self.segment, self.forced = number, {}
            if self.reviver is not None:
                seat, slot = self.reviver
                self._force(seat).orders[slot] = Unknown("nobody was revived")
            for line in lines:
                fields = line.split("|")
                if len(fields) > 1:
                    look = LOOKS.get(fields[1])
                    if look is not None:
                        look(self, fields)
                self.tracker.hear((line,))
                if len(fields) > 1 and fields[1] in AFTER:
                    AFTER[fields[1]](self, fields)
            self.first = any(line.startswith("|turn|") for line in lines)
        self._settle()
        if self.previewed:
            self.decisions[:0] = [self._preview(seat) for seat in range(SEATS)]
        disguised = (self._disguised(0), self._disguised(1))
        return Told(segments, self.decisions, self.battle, self.born, disguised)

    # What a turn asks for.

    def teampreview(self, fields: Fields) -> None:
        self.previewed = True

    def new_turn(self, fields: Fields) -> None:
        self._settle()
        self.turn = _Turn()
        for seat in range(SEATS):
            side, foe = self.battle.sides[seat], self.battle.sides[1 - seat]
            decision = Decision(self.segment, seat, TURN, [])
            foes = tuple(stands(place) for place in foe.places)
            for slot, place in enumerate(side.places):
                decision.orders.append(self._open(decision, seat, slot, place, foes))
            self._add(decision)

    def _add(self, decision: Decision) -> None:
        if len(self.decisions) >= MOST_DECISIONS:
            raise LogError(f"has more than {MOST_DECISIONS:,} decisions")
        self.decisions.append(decision)

    def _open(
        self, decision: Decision, seat: int, slot: int, place: Place, foes: tuple[bool, ...]
    ) -> Order:
        mon = place.mon
        if mon is None or not stands(place) or "commanding" in place.volatiles:
            return Pass()
        against = self.battle.sides[1 - seat].places
        imprisoned = any("imprison" in foe_place.volatiles for foe_place in against)
        actor = Actor(seat, slot, Stance.of(place), decision, foes, imprisoned)
        if place.moves is not None:
            actor.overruled = "transformed"
        elif "mustrecharge" in place.volatiles:
            actor.order = Move("recharge", alone=True)
        self.turn.actors[mon] = actor
        return Unknown("did not act")

    def _settle(self) -> None:
        """Write down what the turn's lines proved."""
        for actor in self.turn.actors.values():
            order = actor.order
            if order is None:
                order = Unknown(actor.overruled or "did not act")
            elif actor.overruled and not (isinstance(order, Switch) or _alone(order)):
                order = Unknown(actor.overruled)
            actor.decision.orders[actor.slot] = order
        self.turn.actors = {}

    # What lines show.

    def move(self, fields: Fields) -> None:
        actor, place = self._actor(fields[2])
        failed = "[still]" in fields
        if to_id(fields[3]) == "revivalblessing" and place is not None and not failed:
            self.reviver = self._where(place)
        cause = tag(fields, FROM)
        if actor is None or cause not in ("", LOCKED):
            return
        if actor.instructed:
            actor.instructed -= 1
            return
        self.turn.last = actor
        if actor.order is None or isinstance(actor.order, Unknown):
            actor.order = self._move_order(actor, fields, cause == LOCKED)

    def _move_order(self, actor: Actor, fields: Fields, locked: bool) -> Order:
        move = to_id(fields[3])
        if move == "struggle" and actor.imprisoned:
            return Unknown("overruled")
        if locked or move == "struggle":
            return Unknown("overruled") if actor.tera else Move(move, alone=True)
        if not self._aims(actor, move):
            return Move(move, 0, actor.tera)
        target = self._target(actor, move, fields)
        return Move(move, target, actor.tera) if target else Unknown("aim not shown")

    def _aims(self, actor: Actor, move: str) -> bool:
        return self.format.doubles and actor.stance.aim(move) in CHOSEN_TARGETS

    def _target(self, actor: Actor, move: str, fields: Fields) -> int:
        """Return the place that was aimed at, or 0 where the line does not prove it."""
        target_ident = fields[4] if len(fields) > 4 else ""
        if not target_ident.startswith(self.battle.names) or target_ident[2:3] not in ("a", "b"):
            return 0
        seat, at = int(target_ident[1]) - 1, "ab".index(target_ident[2])
        if seat in self.turn.swapped:
            return 0
        if seat == actor.seat:
            target = -(at + 1)
            allowed = CHOSEN_TARGETS[actor.stance.aim(move)][actor.slot]
            return target if target in allowed else 0
        places = self.battle.sides[seat].places
        turned = any(tag.startswith("[spread]") for tag in fields) or move in BENDING
        fell = any(
            stood and not stands(place) for stood, place in zip(actor.foes, places, strict=True)
        )
        if turned or fell or "redirect" in places[at].single or not actor.foes[at]:
            return 0
        return at + 1

    def cant(self, fields: Fields) -> None:
        mover = fields[2]
        if fields[3].startswith("ability: "):
            mover = tag(fields, OF) or mover
        actor, place = self._actor(mover)
        if actor is None or actor.order is not None or place is None:
            return
        if {LOCKED, "prepare"} & place.volatiles.keys():
            actor.order = Unknown("kept from moving")
        elif len(fields) > 4 and fields[4] and not fields[4].startswith("["):
            move = to_id(fields[4])
            aims = self._aims(actor, move)
            actor.order = Unknown("aim not shown") if aims else Move(move, 0, actor.tera)
        else:
            actor.order = Unknown("kept from moving")

    def terastallize(self, fields: Fields) -> None:
        actor, _ = self._actor(fields[2])
        if actor is not None:
            actor.tera = True

    def start(self, fields: Fields) -> None:
        actor, _ = self._actor(fields[2])
        if actor is not None and effect_of(fields[3]) == "encore" and actor.order is None:
            actor.overruled = "overruled"

    def singleturn(self, fields: Fields) -> None:
        actor, _ = self._actor(fields[2])
        if actor is not None and effect_of(fields[3]) == "instruct":
            actor.instructed += 1

    def activate(self, fields: Fields) -> None:
        if not fields[2]:
            return
        effect = effect_of(fields[3])
        if effect in REDIRECTING and self.turn.last is not None:
            self.turn.last.overruled = "aim not shown"
        place = self._place(fields[2])
        if effect in LEAVES and place is not None and place.mon is not None:
            self.turn.leaving.add(place.mon)

    def enditem(self, fields: Fields) -> None:
        place = self._place(fields[2])
        if to_id(fields[3]) in LEAVES and place is not None and place.mon is not None:
            self.turn.leaving.add(place.mon)

    def swap(self, fields: Fields) -> None:
        self.turn.swapped.add(int(fields[2][1]) - 1)

    def replace(self, fields: Fields) -> None:
        self.replaced.add(int(fields[2][1]) - 1)

    def heal(self, fields: Fields) -> None:
        if tag(fields, FROM) != REVIVAL or self.reviver is None:
            return
        seat, slot = self.reviver
        side = self.battle.sides[seat]
        mon = side.named(fields[2].partition(": ")[2])
        if mon is not None and fields[2].startswith(self.battle.names[seat]):
            self._force(seat).orders[slot] = Revive(side.mons.index(mon))
        self.reviver = None

    def upkeep(self, fields: Fields) -> None:
        self.reviver = None

    # Who comes in.

    def before_switch(self, fields: Fields) -> None:
        place = self._place(fields[2])
        self.leaver = place.mon if place is not None else None
        self.leaver_alive = place is not None and stands(place)

    def after_switch(self, fields: Fields) -> None:
        place = self._place(fields[2])
        if place is None or place.mon is None:
            raise LogError("brings in somebody without a place")
        seat, slot = self._where(place)
        entrant, leaver = place.mon, self.leaver
        self.born.setdefault(entrant, entrant.species)
        if not self.decisions:
            self.leaders[seat].append(entrant)
        if fields[1] != "switch" or leaver is None or entrant is leaver:
            return
        order = Switch(self.battle.sides[seat].mons.index(entrant))
        actor = self.turn.actors.get(leaver)
        chosen = self.leaver_alive and not tag(fields, FROM) and leaver not in self.turn.leaving
        if self.first or (chosen and actor is not None and actor.order is None):
            if actor is not None:
                actor.order, actor.overruled = order, ""
            return
        self.turn.leaving.discard(leaver)
        self._force(seat).orders[slot] = order

    def _force(self, seat: int) -> Decision:
        """Return the forced decision of a seat that this segment shows."""
        if seat not in self.forced:
            places = len(self.battle.sides[seat].places)
            orders: list[Order] = [Pass() for _ in range(places)]
            self.forced[seat] = Decision(self.segment - 1, seat, FORCED, orders)
            self._add(self.forced[seat])
        return self.forced[seat]

    def _preview(self, seat: int) -> Decision:
        side = self.battle.sides[seat]
        leaders = tuple(sorted(side.mons.index(mon) for mon in self.leaders[seat]))
        shown = [at for at, mon in enumerate(side.mons) if mon.appeared and at not in leaders]
        order: Order = Bring(leaders, tuple(shown))
        if len(leaders) + len(shown) != BRINGS:
            order = Unknown("not all showed themselves")
        return Decision(0, seat, PREVIEW, [order])

    # Finding things.

    def _disguised(self, seat: int) -> bool:
        side: Side = self.battle.sides[seat]
        return seat in self.replaced or any(mon.base in DISGUISED for mon in side.mons)

    def _place(self, ident: str) -> Place | None:
        return place_of(self.battle, ident) if ident.startswith(self.battle.names) else None

    def _where(self, place: Place) -> tuple[int, int]:
        for seat, side in enumerate(self.battle.sides):
            if place in side.places:
                return seat, side.places.index(place)
        raise LogError("speaks of a place that is not there")

    def _actor(self, ident: str) -> tuple[Actor | None, Place | None]:
        place = self._place(ident)
        mon = place.mon if place is not None else None
        return (self.turn.actors.get(mon) if mon is not None else None), place


LOOKS = {
    "teampreview": _Witness.teampreview,
    "move": _Witness.move,
    "cant": _Witness.cant,
    "switch": _Witness.before_switch,
    "drag": _Witness.before_switch,
    "swap": _Witness.swap,
    "replace": _Witness.replace,
    "-terastallize": _Witness.terastallize,
    "-start": _Witness.start,
    "-singleturn": _Witness.singleturn,
    "-activate": _Witness.activate,
    "-enditem": _Witness.enditem,
    "-heal": _Witness.heal,
    "upkeep": _Witness.upkeep,
}
"""What is looked at before the tracker hears a line."""
AFTER = {
    "turn": _Witness.new_turn,
    "switch": _Witness.after_switch,
    "drag": _Witness.after_switch,
}
"""What is looked at after it."""


def _alone(order: Order) -> bool:
    return isinstance(order, Move) and order.alone
