"""What a seat sees, once more in plain Python: the oracle of the compiled views."""

from __future__ import annotations

from math import sqrt

from lanista.games.arena.reference import Body, Item, ReferenceArena, Shot, square


def classic19(match: ReferenceArena, seat: int) -> list[float]:
    """Return the nineteen numbers."""
    body = match.bodies[seat]
    radius = match.zone_radius(match.tick)
    enemies, items = enemies_in_sight(match, seat), items_in_sight(match, seat)
    numbers = [body.x / 50, body.y / 50, body.vx / 15, body.vy / 15, body.hp / 100, body.ammo / 30]
    numbers += [0, 0, radius / 50, square(body.x, body.y) <= radius * radius]
    enemy, item = (enemies[0] if enemies else None), (items[0] if items else None)
    numbers += [enemy.x / 50, enemy.y / 50, enemy.hp / 100] if enemy else [0, 0, -1]
    numbers += [item.x / 50, item.y / 50] if item else [0, 0]
    numbers += [len(enemies) / 7, len(items) / 5]
    numbers += [distance(body, thing) / 10 if thing else -1 for thing in (enemy, item)]
    return numbers


def rich(match: ReferenceArena, seat: int) -> list[float]:
    """Return the rich observation."""
    body = match.bodies[seat]
    radius = match.zone_radius(match.tick)
    away = square(body.x, body.y)
    numbers = [body.x / 50, body.y / 50, body.vx / 15, body.vy / 15, body.hp / 100, body.ammo / 30]
    numbers += [body.fire_wait / 6, body.dash_wait / 90, body.dashing]
    numbers += [body.shield_wait / 150, body.shielded]
    numbers += [radius / 50, match.zone_radius(match.tick + 150) / 50, (radius - sqrt(away)) / 50]
    numbers += [match.zone_damage(match.tick) / 5, away <= radius * radius]
    numbers += [(match.ticks - match.tick) / match.ticks, (len(match.living()) - 1) / 7]
    enemies = [
        [1, *_towards(body, enemy), enemy.vx / 15, enemy.vy / 15, enemy.hp / 100, enemy.shielded]
        for enemy in enemies_in_sight(match, seat)
    ]
    shots = [
        [1, *_towards(body, shot), shot.vx / 20, shot.vy / 20]
        for shot in incoming_shots(match, seat)
    ]
    items = [
        [1, *_towards(body, item), item.kind == 1, item.kind == 2]
        for item in items_in_sight(match, seat)
    ]
    return numbers + _filled(3, 7, enemies) + _filled(4, 5, shots) + _filled(3, 5, items)


def distance(body: Body, thing: Body | Shot | Item) -> float:
    return sqrt(_gap(body, thing))


def enemies_in_sight(match: ReferenceArena, seat: int) -> list[Body]:
    """Return the living others within sight, nearest first."""
    body = match.bodies[seat]
    others = [match.bodies[(seat + step) % match.seats] for step in range(1, match.seats)]
    visible = [other for other in others if other.alive and _gap(body, other) <= 100.0]
    return sorted(visible, key=lambda other: _gap(body, other))


def items_in_sight(match: ReferenceArena, seat: int) -> list[Item]:
    body = match.bodies[seat]
    visible = [item for item in match.items if item.kind and _gap(body, item) <= 100.0]
    return sorted(visible, key=lambda item: _gap(body, item))


def incoming_shots(match: ReferenceArena, seat: int) -> list[Shot]:
    """Return the shots of others within sight that come nearer, nearest first."""
    body = match.bodies[seat]
    visible = [
        shot
        for shot in match.shots
        if shot.owner != seat
        and _gap(body, shot) <= 100.0
        and (shot.x - body.x) * shot.vx + (shot.y - body.y) * shot.vy < 0.0
    ]
    return sorted(visible, key=lambda shot: _gap(body, shot))


def _gap(body: Body, thing: Body | Shot | Item) -> float:
    return square(thing.x - body.x, thing.y - body.y)


def _towards(body: Body, thing: Body | Shot | Item) -> tuple[float, float]:
    return (thing.x - body.x) / 10, (thing.y - body.y) / 10


def _filled(most: int, size: int, rows: list[list[float]]) -> list[float]:
    """Return the first `most` rows in one list, with zeros for those that are not there."""
    numbers = [number for row in rows[:most] for number in row]
    return numbers + [0.0] * (most * size - len(numbers))
