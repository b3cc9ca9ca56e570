"""A small strategy game of our own that borrows names and prices from StarCraft II's Zerg.

It is not StarCraft: no terrain, creep everywhere, endless minerals, no queens, no air, and fights
by nearest target. It is made so that a strategy wins or loses for a reason. Knows nothing of the
protocol. A match is a pure function of its seed and the orders given.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt

from lanista.games.streams import Stream
from lanista.live.sc2_stand_in.fights import fight
from lanista.live.sc2_stand_in.kinds import KINDS, UPGRADES, Kind

SECOND = 22.4
"""Game loops in a second."""
TICK = 8
"""The world moves every so many loops; orders are taken at once."""
SIZE = 88
BASES = ((16.5, 16.5), (16.5, 45.5), (71.5, 71.5), (71.5, 42.5))
"""Side 0 begins at the first and side 1 at the third, or the other way round, by the seed."""
LONGEST = 900.0
"""Seconds after which the match is a draw."""
MINERAL_RATE, CROWDED_RATE, GAS_RATE = 0.95, 0.35, 0.9
"""What a drone brings in a second: the first sixteen of a base, those beyond, and gas."""
LARVA_SECONDS = 6.0

Place = tuple[float, float]


@dataclass(slots=True, eq=False)
class Thing:
    """A unit, a structure, a mineral field or a geyser."""

    tag: int
    kind: Kind
    side: int
    """0 or 1; -1: nobody's."""
    x: float
    y: float
    hp: float
    done: float = 1.0
    """How much of a structure stands."""
    verb: str = ""
    what: str = ""
    target: int | Place | None = None
    worked: float = 0.0
    """Seconds that went into what it makes."""

    def distance(self, place: Place) -> float:
        dx, dy = self.x - place[0], self.y - place[1]
        return sqrt(dx * dx + dy * dy)

    def orders(self, verb: str = "", what: str = "", target: int | Place | None = None) -> None:
        self.verb, self.what, self.target, self.worked = verb, what, target, 0.0


class World:
    """One match between two sides."""

    def __init__(self, seed: int, rates: tuple[float, float] = (1.0, 1.0)) -> None:
        self.loop = 0
        self.rates = rates
        """How much of a full income each side gets."""
        self.things: dict[int, Thing] = {}
        self.stock = [[50.0, 0.0], [50.0, 0.0]]
        self.upgrades: tuple[set[str], set[str]] = (set(), set())
        self.dead: list[int] = []
        """Tags of what died, until somebody takes them."""
        self.winner: int | None = None
        self.over = False
        self.luck = Stream.keyed(seed, 0, 0, "chance")
        self._next_tag = 1 << 32
        swapped = self.luck.below(2)
        self.starts = (BASES[2 * swapped], BASES[2 - 2 * swapped])
        for base in BASES:
            self._resources(base)
        for side in (0, 1):
            self._begin(side)

    @property
    def seconds(self) -> float:
        return self.loop / SECOND

    def own(self, side: int, *names: str) -> list[Thing]:
        """Return what a side has, of the named kinds or of all."""
        mine = [t for t in self.things.values() if t.side == side]
        return [t for t in mine if t.kind.name in names] if names else mine

    def ready(self, side: int, name: str) -> bool:
        return any(t.done >= 1 for t in self.own(side, name))

    def supply(self, side: int) -> tuple[float, float]:
        """Return what is used and what there is room for."""
        used, room = 0.0, 0.0
        for thing in self.own(side):
            used += thing.kind.supply
            if thing.kind.name == "EGG":
                made = KINDS[thing.what]
                used += made.supply * made.litter
            if thing.done >= 1:
                room += thing.kind.gives
        return used, min(200.0, room)

    # Orders

    def order(
        self, side: int, tag: int, verb: str, what: str = "", target: int | Place | None = None
    ) -> str:
        """Give an order; return the name of the answer, "Success" if it was taken."""
        thing = self.things.get(tag)
        if thing is None or thing.side != side or thing.done < 1:
            return "Error"
        if isinstance(target, int) and target not in self.things:
            return "Error"
        if verb in ("train", "build", "research"):
            return self._make(thing, verb, what, target)
        if verb == "gather" and thing.kind.name != "DRONE":
            return "NotSupported"
        if not thing.kind.speed and verb != "stop":
            return "NotSupported"
        thing.orders("" if verb == "stop" else verb, "", target)
        return "Success"

    def _make(self, thing: Thing, verb: str, what: str, target: int | Place | None) -> str:
        maker = {"train": "LARVA", "build": "DRONE"}.get(verb) or UPGRADES[what].maker
        if thing.kind.name != maker or (verb == "research" and thing.verb):
            return "NotSupported"
        answer = self.affordable(thing.side, what)
        if answer != "Success":
            return answer
        if verb == "build":
            place = self.place_of(target)
            if place is None or not self.free(what, place, thing.side):
                return "CantFindPlacementLocation"
            thing.orders(verb, what, target)
            return "Success"
        if verb == "research" and self._known(thing.side, what):
            return "NotSupported"
        self._pay(thing.side, what)
        if verb == "train":
            thing.kind = KINDS["EGG"]
        thing.orders(verb, what)
        return "Success"

    def _known(self, side: int, upgrade: str) -> bool:
        at_work = any(t.verb == "research" and t.what == upgrade for t in self.own(side))
        return at_work or upgrade in self.upgrades[side]

    def affordable(self, side: int, what: str) -> str:
        """Return "Success", or the name of what is missing for a unit, structure or upgrade."""
        price = KINDS.get(what) or UPGRADES[what]
        minerals, gas = self.stock[side]
        if price.needs and not self.ready(side, price.needs):
            return "TechRequirementsNotMet"
        if minerals < price.minerals:
            return "NotEnoughMinerals"
        if gas < price.gas:
            return "NotEnoughVespene"
        if isinstance(price, Kind) and price.supply and not price.structure:
            used, room = self.supply(side)
            if used + price.supply * price.litter > room:
                return "NotEnoughFood"
        return "Success"

    def _pay(self, side: int, what: str) -> None:
        price = KINDS.get(what) or UPGRADES[what]
        self.stock[side][0] -= price.minerals
        self.stock[side][1] -= price.gas

    def place_of(self, target: int | Place | None) -> Place | None:
        if isinstance(target, int):
            thing = self.things.get(target)
            return None if thing is None else (thing.x, thing.y)
        return target

    def free(self, what: str, place: Place, side: int) -> bool:
        """Return whether a structure fits at a place; an extractor fits on a geyser only."""
        radius = KINDS[what].radius
        if not all(radius <= at <= SIZE - radius for at in place):
            return False
        solid = [t for t in self.things.values() if t.kind.structure or t.side == -1]
        near = [t for t in solid if t.distance(place) < radius + t.kind.radius]
        if what == "EXTRACTOR":
            return [t.kind.name for t in near if t.distance(place) < 1] == ["VESPENEGEYSER"]
        return not near

    # Time

    def advance(self, loops: int) -> None:
        """Let time go by."""
        end = self.loop + loops
        while self.loop < end and not self.over:
            self.loop = min(end, self.loop - self.loop % TICK + TICK)
            if self.loop % TICK == 0:
                self._tick(TICK / SECOND)

    def _tick(self, dt: float) -> None:
        for side in (0, 1):
            self._income(side, dt)
        for thing in list(self.things.values()):
            if thing.side >= 0:
                self._grow(thing, dt)
                self._work(thing, dt)
        fight(self, dt)
        standing = [any(t.kind.structure for t in self.own(side)) for side in (0, 1)]
        if not all(standing) or self.seconds >= LONGEST:
            self.over = True
            self.winner = standing.index(True) if any(standing) and not all(standing) else None

    def _income(self, side: int, dt: float) -> None:
        fields, gas = 0, Counter[int]()
        for drone in self.own(side, "DRONE"):
            target = drone.target if drone.verb == "gather" else None
            source = self.things.get(target) if isinstance(target, int) else None
            if source is None or drone.distance((source.x, source.y)) > 3:
                continue
            if source.kind.name == "EXTRACTOR":
                gas[source.tag] += 1
            else:
                fields += 1
        room = 16 * sum(t.done >= 1 for t in self.own(side, "HATCHERY"))
        rate = MINERAL_RATE * min(fields, room) + CROWDED_RATE * max(0, fields - room)
        gas_rate = GAS_RATE * sum(min(3, inside) for inside in gas.values())
        self.stock[side][0] += rate * dt * self.rates[side]
        self.stock[side][1] += gas_rate * dt * self.rates[side]

    def _grow(self, thing: Thing, dt: float) -> None:
        kind = thing.kind
        if thing.done < 1:
            thing.done = min(1.0, thing.done + dt / kind.seconds)
            thing.hp = min(kind.hp, thing.hp + 0.9 * kind.hp * dt / kind.seconds)
        elif kind.name == "HATCHERY":
            thing.worked += dt
            if thing.worked >= LARVA_SECONDS:
                thing.worked = 0.0
                brood = [t for t in self.own(thing.side, "LARVA") if t.target == thing.tag]
                if len(brood) < 3:
                    larva = self._add("LARVA", thing.side, (thing.x + len(brood) - 1, thing.y - 3))
                    larva.target = thing.tag
        elif thing.verb in ("train", "research"):
            thing.worked += dt
            made = KINDS.get(thing.what) or UPGRADES[thing.what]
            if thing.worked >= made.seconds:
                self._finish(thing)

    def _finish(self, thing: Thing) -> None:
        if thing.verb == "research":
            self.upgrades[thing.side].add(thing.what)
            thing.orders()
            return
        del self.things[thing.tag]
        for _ in range(KINDS[thing.what].litter):
            born = self._add(thing.what, thing.side, (thing.x, thing.y))
            if born.kind.name == "DRONE":
                self._send_mining(born)

    def _send_mining(self, drone: Thing) -> None:
        fields = [t for t in self.things.values() if t.kind.name == "MINERALFIELD"]
        nearest = min(fields, key=lambda t: (t.distance((drone.x, drone.y)), t.tag))
        drone.orders("gather", "", nearest.tag)

    def _work(self, thing: Thing, dt: float) -> None:
        """Move a unit that was told to go somewhere, and build where it has come to."""
        if thing.verb not in ("move", "gather", "build"):
            return
        place = self.place_of(thing.target)
        if place is None:
            thing.orders()
            return
        near = 2.5 if thing.verb == "gather" else 0.5
        if thing.distance(place) > near:
            self.go(thing, place, dt)
        elif thing.verb == "build":
            self._found(thing, place)
        elif thing.verb == "move":
            thing.orders()

    def _found(self, drone: Thing, place: Place) -> None:
        what, side = drone.what, drone.side
        drone.orders()
        if self.affordable(side, what) != "Success" or not self.free(what, place, side):
            self._send_mining(drone)
            return
        self._pay(side, what)
        del self.things[drone.tag]
        site = self._add(what, side, place)
        site.done, site.hp = 0.0, 0.1 * site.kind.hp

    def go(self, thing: Thing, place: Place, dt: float) -> None:
        """Move a unit towards a place for `dt` seconds."""
        distance = thing.distance(place)
        stride = thing.kind.speed * dt
        if thing.kind.name == "ZERGLING" and "ZERGLINGMOVEMENTSPEED" in self.upgrades[thing.side]:
            stride *= 1.5
        share = min(1.0, stride / max(distance, 1e-9))
        thing.x += (place[0] - thing.x) * share
        thing.y += (place[1] - thing.y) * share

    # The beginning

    def _add(self, name: str, side: int, place: Place) -> Thing:
        kind = KINDS[name]
        thing = Thing(self._next_tag, kind, side, place[0], place[1], kind.hp)
        self.things[thing.tag] = thing
        self._next_tag += 1
        return thing

    def _resources(self, base: Place) -> None:
        # Behind the base, seen from the middle of the map.
        away = -1.0 if base[0] < SIZE / 2 else 1.0
        for number, dx in enumerate((6, 7, 7, 7, 7, 7, 7, 6)):
            self._add("MINERALFIELD", -1, (base[0] + away * dx, base[1] + number - 3.5))
        for dy in (-7.0, 7.0):
            self._add("VESPENEGEYSER", -1, (base[0] + away * 2, base[1] + dy))

    def _begin(self, side: int) -> None:
        x, y = self.starts[side]
        hatchery = self._add("HATCHERY", side, (x, y))
        self._add("OVERLORD", side, (x, y))
        for number in range(3):
            self._add("LARVA", side, (x + number - 1, y - 3)).target = hatchery.tag
        for number in range(12):
            drone = self._add("DRONE", side, (x + number % 4 - 1.5, y + 3))
            self._send_mining(drone)
