"""What there is in the stand-in's world: units, structures and upgrades, with what they cost.

Names and prices are StarCraft II's, speeds and strengths nearly so. Research and spine crawlers are
quicker, and drones fight worse.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of unit, structure or resource."""

    name: str
    minerals: int = 0
    gas: int = 0
    supply: float = 0.0
    gives: float = 0.0
    """Supply it makes room for."""
    seconds: float = 0.0
    """To make one."""
    hp: float = 1.0
    dps: float = 0.0
    reach: float = 0.1
    speed: float = 0.0
    radius: float = 0.4
    sight: float = 8.0
    needs: str = ""
    """The structure that must stand first."""
    structure: bool = False
    litter: int = 1
    """How many come out of one egg; the price is that of the egg."""

    @property
    def hit_by_ground(self) -> bool:
        return self.name not in ("LARVA", "EGG", "OVERLORD")

    @property
    def dullness(self) -> float:
        """How much farther than it is a fighter takes it to be."""
        if self.structure:
            return 0.0 if self.dps else 8.0
        return 4.0 if self.name == "DRONE" else 0.0


@dataclass(frozen=True)
class Upgrade:
    """Something that is researched once for a whole side."""

    name: str
    minerals: int
    gas: int
    seconds: float
    maker: str
    needs: str = ""


def _building(name: str, minerals: int, seconds: float, hp: float, **rest: object) -> Kind:
    values = {"radius": 1.5, "sight": 10.0, "structure": True} | rest
    return Kind(name, minerals, seconds=seconds, hp=hp, **values)  # type: ignore[arg-type]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("MINERALFIELD", radius=0.9),
        Kind("VESPENEGEYSER", radius=1.5),
        Kind("LARVA", hp=25, sight=4),
        Kind("EGG", hp=200, sight=4),
        Kind("DRONE", 50, supply=1, seconds=12, hp=40, dps=2.5, speed=3.9),
        Kind("OVERLORD", 100, gives=8, seconds=18, hp=200, speed=0.9, sight=11),
        Kind(
            "ZERGLING",
            50,
            supply=0.5,
            seconds=17,
            hp=35,
            dps=10,
            speed=4.1,
            needs="SPAWNINGPOOL",
            litter=2,
        ),
        Kind(
            "ROACH",
            75,
            25,
            supply=2,
            seconds=19,
            hp=145,
            dps=16,
            reach=4,
            speed=3.2,
            needs="ROACHWARREN",
        ),
        _building("HATCHERY", 300, 71, 1500, gives=6, radius=2.5),
        _building("SPAWNINGPOOL", 200, 46, 1000, needs="HATCHERY"),
        _building("EXTRACTOR", 25, 21, 500),
        _building("EVOLUTIONCHAMBER", 75, 25, 750, needs="HATCHERY"),
        _building("ROACHWARREN", 150, 39, 850, needs="SPAWNINGPOOL"),
        _building(
            "SPINECRAWLER", 100, 25, 300, dps=19, reach=7.0, radius=1.0, needs="SPAWNINGPOOL"
        ),
    )
}

UPGRADES = {
    upgrade.name: upgrade
    for upgrade in (
        Upgrade("ZERGLINGMOVEMENTSPEED", 100, 100, 60, "SPAWNINGPOOL"),
        Upgrade("ZERGMELEEWEAPONSLEVEL1", 100, 100, 60, "EVOLUTIONCHAMBER"),
        Upgrade("ZERGMISSILEWEAPONSLEVEL1", 100, 100, 60, "EVOLUTIONCHAMBER"),
        Upgrade("ZERGGROUNDARMORSLEVEL1", 150, 150, 60, "EVOLUTIONCHAMBER"),
    )
}
