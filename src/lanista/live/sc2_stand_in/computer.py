"""The stand-in's own player: follows one of five strategies after another, by the clock.

It gives orders as anybody else would, once a second, and has no more than its share of the
income. It does know where the enemy's buildings stand.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.live.sc2_stand_in.kinds import KINDS, UPGRADES
from lanista.live.sc2_stand_in.world import BASES, LONGEST, SIZE, Place, Thing, World

BEAT = 22
"""Loops between two looks at the world."""
ARMY = ("ZERGLING", "ROACH")
CENTRE = (SIZE / 2, SIZE / 2)


@dataclass(frozen=True)
class Plan:
    """What a strategy wants to have, and when it goes out."""

    drones: int
    hatcheries: int = 1
    pool_at: int = 14
    """Drones before the spawning pool."""
    extractors: int = 0
    spines: int = 0
    roaches: bool = False
    army: int = 200
    """Fighters it stops at."""
    upgrades: tuple[str, ...] = ()
    attack_at: float = 1e9
    """Supply of the army at which it goes out."""
    all_in: bool = False


PLANS = {
    "economy": Plan(drones=36, hatcheries=3, pool_at=20, army=2),
    "aggressive": Plan(drones=14, pool_at=12, attack_at=4),
    "defensive": Plan(drones=22, hatcheries=2, pool_at=12, spines=5, army=8),
    "tech": Plan(
        drones=28,
        hatcheries=2,
        pool_at=16,
        extractors=2,
        roaches=True,
        army=60,
        upgrades=("ZERGMISSILEWEAPONSLEVEL1", "ZERGGROUNDARMORSLEVEL1"),
        attack_at=30,
    ),
    "all_in": Plan(drones=0, roaches=False, attack_at=1, all_in=True),
}

Schedule = tuple[tuple[float, str], ...]
BUILDS: dict[str, Schedule] = {
    "Rush": ((0, "aggressive"),),
    "Timing": ((0, "defensive"), (110, "all_in")),
    "Power": ((0, "defensive"), (120, "tech")),
    "Macro": ((0, "economy"), (200, "tech")),
    "Air": ((0, "tech"),),
}
"""By the names that a game's setup can ask for; there is nothing that flies."""


class Computer:
    """Plays one side of a world."""

    def __init__(self, world: World, side: int, schedule: Schedule) -> None:
        self.world = world
        self.side = side
        self.schedule = schedule
        self._out = False

    def play(self) -> None:
        """Give the orders of this moment; called every `BEAT` loops."""
        strategy = [name for start, name in self.schedule if self.world.seconds >= start][-1]
        plan = PLANS[strategy]
        self._command(plan)
        for what in self._wishes(plan):
            if not self._get(what):
                break

    def _count(self, name: str) -> int:
        """Return how many there are, on their way included."""
        things = self.world.own(self.side)
        coming = [t for t in things if t.what == name and t.verb in ("train", "build")]
        return len([t for t in things if t.kind.name == name]) + len(coming) * KINDS[name].litter

    def _wishes(self, plan: Plan) -> list[str]:
        """Return what to spend on, first things first."""
        used, room = self.world.supply(self.side)
        coming = sum(t.what == "OVERLORD" for t in self.world.own(self.side, "EGG"))
        hatcheries = len(self.world.own(self.side, "HATCHERY"))
        wishes = []
        if room < 200 and used + 1 + 3 * hatcheries > room + 8 * coming:
            wishes.append("OVERLORD")
        drones = self._count("DRONE")
        if drones < min(plan.drones, plan.pool_at):
            return [*wishes, "DRONE"]
        wishes += self._buildings(plan, drones)
        army = sum(self._count(name) for name in ARMY)
        roaches = plan.roaches or self.world.ready(self.side, "ROACHWARREN")
        fighter = "ROACH" if roaches and self.world.stock[self.side][1] >= 25 else "ZERGLING"
        if drones < plan.drones and (army >= plan.army or drones < 3 * army + plan.pool_at):
            wishes.append("DRONE")
        elif army < plan.army:
            wishes += [fighter] * 4
        return wishes

    def _buildings(self, plan: Plan, drones: int) -> list[str]:
        wishes = []
        if self._count("SPAWNINGPOOL") < 1:
            wishes.append("SPAWNINGPOOL")
        if not self.world.ready(self.side, "SPAWNINGPOOL"):
            return wishes
        if self._count("SPINECRAWLER") < plan.spines:
            wishes.append("SPINECRAWLER")
        if self._count("EXTRACTOR") < plan.extractors:
            wishes.append("EXTRACTOR")
        if plan.roaches and self._count("ROACHWARREN") < 1:
            wishes.append("ROACHWARREN")
        if plan.upgrades and self.world.ready(self.side, "ROACHWARREN"):
            if self._count("EVOLUTIONCHAMBER") < 1:
                wishes.append("EVOLUTIONCHAMBER")
            wishes += self._research(plan)
        if self._count("HATCHERY") < plan.hatcheries and drones >= 16:
            wishes.append("HATCHERY")
        return wishes

    def _research(self, plan: Plan) -> list[str]:
        busy = any(t.verb == "research" for t in self.world.own(self.side, "EVOLUTIONCHAMBER"))
        have = self.world.upgrades[self.side]
        left = [name for name in plan.upgrades if name not in have]
        if busy or not left or not self.world.ready(self.side, "EVOLUTIONCHAMBER"):
            return []
        # Only once it can be paid: waiting for gas must not stop all else.
        return left[:1] if self.world.stock[self.side][1] >= UPGRADES[left[0]].gas else []

    def _get(self, what: str) -> bool:
        """Order one; False where the money is to be saved for it."""
        world, side = self.world, self.side
        if world.affordable(side, what) != "Success":
            return world.affordable(side, what) == "NotEnoughFood"
        if what in UPGRADES:
            makers = world.own(side, UPGRADES[what].maker)
            return world.order(side, makers[0].tag, "research", what) == "Success"
        if not KINDS[what].structure:
            larvae = world.own(side, "LARVA")
            if larvae:
                world.order(side, larvae[0].tag, "train", what)
            return bool(larvae)
        target = self._site(what)
        drones = [t for t in world.own(side, "DRONE") if t.verb == "gather"]
        if target is not None and drones:
            place = world.place_of(target)
            builder = min(drones, key=lambda t: (t.distance(place), t.tag))  # type: ignore[arg-type]
            world.order(side, builder.tag, "build", what, target)
        return True

    def _site(self, what: str) -> int | Place | None:
        world, home = self.world, self.world.starts[self.side]
        if what == "EXTRACTOR":
            geysers = [t for t in world.things.values() if t.kind.name == "VESPENEGEYSER"]
            geysers = [t for t in geysers if world.free(what, (t.x, t.y), self.side)]
            return min(geysers, key=lambda t: t.distance(home)).tag if geysers else None
        if what == "HATCHERY":
            left = [base for base in BASES if world.free(what, base, self.side)]
            apart = {base: abs(base[0] - home[0]) + abs(base[1] - home[1]) for base in left}
            return min(left, key=apart.__getitem__, default=None)
        forward = 1 if home[0] < CENTRE[0] else -1
        for out in range(4, 16):
            for aside in (0, 3, -3, 6, -6):
                place = (home[0] + forward * out, home[1] + aside)
                if world.free(what, place, self.side):
                    return place
        return None

    def _command(self, plan: Plan) -> None:
        world, side = self.world, self.side
        army = world.own(side, *ARMY)
        supply = sum(t.kind.supply for t in army)
        # Once out it stays out until half of what it takes is left.
        self._out = supply >= (plan.attack_at / 2 if self._out else plan.attack_at)
        self._gas(plan)
        threat = self._threat()
        if plan.all_in:
            army = army + world.own(side, "DRONE")
        for fighter in army:
            target = threat or (self._prey(fighter) if self._out else None)
            if target is not None and fighter.target != target:
                world.order(side, fighter.tag, "attack", "", target)
        if not self._out and threat is None:
            self._go_home(army)

    def _gas(self, plan: Plan) -> None:
        """Keep three drones in every extractor."""
        world, side = self.world, self.side
        for extractor in world.own(side, "EXTRACTOR"):
            drones = [t for t in world.own(side, "DRONE") if t.verb == "gather"]
            outside = [t for t in drones if t.target != extractor.tag]
            full = len(drones) - len(outside) >= 3
            if extractor.done >= 1 and outside and not full and not plan.all_in:
                world.order(side, outside[0].tag, "gather", "", extractor.tag)

    def _threat(self) -> Place | None:
        mine = [t for t in self.world.own(self.side) if t.kind.structure]
        armed = [t for t in self.world.own(1 - self.side) if t.kind.dps and not t.kind.structure]
        for enemy in armed:
            if any(enemy.distance((t.x, t.y)) < 12 for t in mine):
                return (enemy.x, enemy.y)
        return None

    def _prey(self, fighter: Thing) -> Place | None:
        here = (fighter.x, fighter.y)
        standing = [t for t in self.world.own(1 - self.side) if t.kind.structure]
        nearest = min(standing, key=lambda t: (t.distance(here), t.tag), default=None)
        return None if nearest is None else (nearest.x, nearest.y)

    def _go_home(self, army: list[Thing]) -> None:
        home = self.world.starts[self.side]
        forward = 5.0 if home[0] < CENTRE[0] else -5.0
        place = (home[0] + forward, home[1])
        for fighter in army:
            if fighter.kind.name != "DRONE" and fighter.distance(place) > 6:
                self.world.order(self.side, fighter.tag, "move", "", place)


def play_out(seed: int, schedules: tuple[Schedule, Schedule], seconds: float = LONGEST) -> World:
    """Return the world after a match, or a part of one, between two of the stand-in's players."""
    world = World(seed)
    players = [Computer(world, side, schedule) for side, schedule in enumerate(schedules)]
    while not world.over and world.seconds < seconds:
        for player in players:
            player.play()
        world.advance(BEAT)
    return world
