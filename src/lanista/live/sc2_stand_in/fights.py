"""How the stand-in's units fight: each goes for the enemy it prefers among those near by.

All blows of a moment fall together, so neither side is first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lanista.live.sc2_stand_in.world import Thing, World

NOTICE = 8.0
"""How far a fighter looks for enemies that it was not sent to."""


def fight(world: World, dt: float) -> None:
    """Let both sides fight, or march to where they were sent, for `dt` seconds."""
    damage: dict[int, float] = {}
    for side in (0, 1):
        luck = 0.75 + 0.5 * world.luck.uniform()
        fighters = [thing for thing in world.own(side) if _fights(thing)]
        enemies = [thing for thing in world.own(1 - side) if thing.kind.hit_by_ground]
        for fighter, enemy, far in _pairs(fighters, enemies):
            if enemy is None:
                _march(world, fighter, dt)
            elif far <= fighter.kind.reach + fighter.kind.radius:
                blow = fighter.kind.dps * dt * luck * _strength(world, fighter, enemy)
                damage[enemy.tag] = damage.get(enemy.tag, 0.0) + blow
            elif fighter.kind.speed:
                world.go(fighter, (enemy.x, enemy.y), dt)
    for tag, lost in damage.items():
        world.things[tag].hp -= lost
        if world.things[tag].hp <= 0:
            del world.things[tag]
            world.dead.append(tag)


def _fights(thing: Thing) -> bool:
    """Drones fight only when they are told to."""
    ready = thing.kind.dps > 0 and thing.done >= 1
    return ready and (thing.verb == "attack" or (not thing.verb and thing.kind.name != "DRONE"))


def _pairs(fighters: list[Thing], enemies: list[Thing]) -> list[tuple[Thing, Thing | None, float]]:
    """Return every fighter with the enemy it goes for, if any, and how far that is."""
    if not fighters or not enemies:
        return [(fighter, None, 0.0) for fighter in fighters]
    here = np.array([(t.x, t.y) for t in fighters])
    there = np.array([(t.x, t.y) for t in enemies])
    far = np.sqrt(((here[:, None] - there[None]) ** 2).sum(-1))
    far -= np.array([t.kind.radius for t in enemies])
    # The armed are dealt with first, then drones, then buildings.
    taken_for = far + np.array([t.kind.dullness for t in enemies])
    best = np.where(far <= NOTICE, taken_for, np.inf).argmin(1)
    column_of = {enemy.tag: column for column, enemy in enumerate(enemies)}
    pairs: list[tuple[Thing, Thing | None, float]] = []
    for row, fighter in enumerate(fighters):
        named = column_of.get(fighter.target) if isinstance(fighter.target, int) else None
        column = int(best[row]) if named is None else named
        near = named is not None or far[row, column] <= NOTICE
        pairs.append((fighter, enemies[column] if near else None, float(far[row, column])))
    return pairs


def _march(world: World, fighter: Thing, dt: float) -> None:
    if fighter.verb != "attack":
        return
    place = world.place_of(fighter.target)
    if place is None or fighter.distance(place) < 1:
        fighter.orders()
    else:
        world.go(fighter, place, dt)


def _strength(world: World, fighter: Thing, enemy: Thing) -> float:
    weapons = "ZERGMISSILEWEAPONSLEVEL1" if fighter.kind.reach > 1 else "ZERGMELEEWEAPONSLEVEL1"
    factor = 1.25 if weapons in world.upgrades[fighter.side] else 1.0
    armour = "ZERGGROUNDARMORSLEVEL1" in world.upgrades[enemy.side] and not enemy.kind.structure
    return factor * (0.8 if armour else 1.0)
