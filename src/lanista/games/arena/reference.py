"""The arena's rules once more, in plain Python, slow and readable.

The tests' oracle: plain floats are the same IEEE doubles that the compiled game uses, so every
state must agree to the last bit. Nothing falls back on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

from lanista.games.arena.layout import TURNS, time_limit
from lanista.games.streams import Stream

TICK = 1.0 / 30.0
WALL = 50.0
SIGHT = 10.0
NO_ITEM, HEALTH_ITEM, AMMO_ITEM = 0, 1, 2
DASH, SHIELD = 1, 2


@dataclass
class Body:
    """One seat's fighter."""

    x: float
    y: float
    start_x: float
    start_y: float
    vx: float = 0.0
    vy: float = 0.0
    hp: float = 100.0
    dealt: float = 0.0
    ammo: int = 30
    fire_wait: int = 0
    dash_wait: int = 0
    shield_wait: int = 0
    alive: int = 1
    died: int = 0

    @property
    def dashing(self) -> bool:
        return self.dash_wait > 90 - 6

    @property
    def shielded(self) -> bool:
        return self.shield_wait > 150 - 15


@dataclass
class Shot:
    """A shot in the air."""

    x: float
    y: float
    vx: float
    vy: float
    owner: int
    life: int = 150


@dataclass
class Item:
    """A place for an item; kind 0 means that none lies there."""

    x: float = 0.0
    y: float = 0.0
    kind: int = NO_ITEM


@dataclass(frozen=True)
class Order:
    """What one seat does until its next decision."""

    move: tuple[float, float]
    aim: tuple[float, float] | None
    ability: int
    interact: int


@dataclass
class Outcome:
    """What an advance paid."""

    rewards: dict[int, float] = field(default_factory=dict)
    """The final return of each seat that died in it."""
    shaping: dict[int, float] = field(default_factory=dict)
    returns: list[float] | None = None
    """Given when the match is over."""


def square(x: float, y: float) -> float:
    return x * x + y * y


def point_in_disc(stream: Stream) -> tuple[float, float]:
    while True:
        x = 2.0 * stream.uniform() - 1.0
        y = 2.0 * stream.uniform() - 1.0
        if square(x, y) <= 1.0:
            return x, y


def read_order(action: list[int]) -> Order:
    """Turn the seven choices into an order."""
    x, y = ((choice - 5) / 5.0 for choice in action[:2])
    if square(x, y) > 1.0:
        length = sqrt(square(x, y))
        x, y = x / length, y / length
    aim = None
    aim_x, aim_y = ((choice - 5) / 5.0 for choice in action[2:4])
    if action[4] and (aim_x or aim_y):
        length = sqrt(square(aim_x, aim_y))
        aim = aim_x / length, aim_y / length
    return Order((x, y), aim, action[5], action[6])


class ReferenceArena:
    """One match."""

    def __init__(self, key: int, seats: int, duration: float, ticks_per_decision: int) -> None:
        self.seats, self.ticks_per_decision = seats, ticks_per_decision
        self.ticks = time_limit(duration)
        self.shrink = self.ticks * 2 // 3
        self.tick = 0
        self.chance = Stream(key)
        self.shots: list[Shot] = []
        self.items = [Item() for _ in range(5)]
        self.bodies = self._start()

    def _start(self) -> list[Body]:
        x, y = point_in_disc(self.chance)
        while square(x, y) < 0.01:
            x, y = point_in_disc(self.chance)
        length = sqrt(square(x, y))
        radius = 6.0 + 0.5 * self.seats + 2.0 * self.chance.uniform()
        x, y = x / length * radius, y / length * radius
        places = [(x * c - y * s, x * s + y * c) for c, s in TURNS[self.seats]]
        return [Body(px, py, px, py) for px, py in places]

    # The rules.

    def zone_radius(self, tick: int) -> float:
        return 3.0 if tick >= self.shrink else 50.0 - (50.0 - 3.0) * tick / self.shrink

    def zone_damage(self, tick: int) -> float:
        """Hp a second outside."""
        return 1.0 + (5.0 - 1.0) * tick / self.ticks

    def living(self) -> list[int]:
        return [seat for seat, body in enumerate(self.bodies) if body.alive]

    def advance(self, actions: dict[int, list[int]]) -> Outcome:
        """Play one decision of every living seat."""
        orders = {seat: read_order(action) for seat, action in actions.items()}
        before = [body.hp for body in self.bodies]
        rivals = {seat: self.nearest_rival(seat) for seat in orders}
        outcome = Outcome()
        for _ in range(self.ticks_per_decision):
            living = self.living()
            self.step(orders)
            died = [seat for seat in living if not self.bodies[seat].alive]
            for seat in died:
                score = (self.seats - len(living)) - len(self.living())
                outcome.rewards[seat] = score / (self.seats - 1)
            if len(self.living()) <= 1 or self.tick >= self.ticks:
                outcome.returns = self.returns()
                break
        lost = [body.hp - hp for body, hp in zip(self.bodies, before, strict=True)]
        outcome.shaping = {seat: (lost[seat] - lost[rivals[seat]]) / 100.0 for seat in orders}
        return outcome

    def nearest_rival(self, seat: int) -> int:
        others = [(seat + step) % self.seats for step in range(1, self.seats)]
        return min((s for s in others if self.bodies[s].alive), key=lambda s: self.gap(seat, s))

    def gap(self, seat: int, other: int) -> float:
        a, b = self.bodies[seat], self.bodies[other]
        return square(b.x - a.x, b.y - a.y)

    def returns(self) -> list[float]:
        standing = [b.died if not b.alive else self.ticks + 1 for b in self.bodies]
        return [
            sum((mine > other) - (mine < other) for other in standing) / (self.seats - 1)
            for mine in standing
        ]

    def step(self, orders: dict[int, Order]) -> None:
        """Play one tick."""
        acting = {seat: order for seat, order in orders.items() if self.bodies[seat].alive}
        for seat, order in acting.items():
            self._use_ability(self.bodies[seat], order.ability)
        self._pick_up([seat for seat, order in acting.items() if order.interact])
        for seat, order in acting.items():
            self._walk(self.bodies[seat], order.move)
        for seat, order in sorted(acting.items()):
            if order.aim is not None:
                self._shoot(seat, order.aim)
        self._settle(self._fly())
        self.tick += 1
        if self.tick % 150 == 0:
            self._drop_item()

    def _use_ability(self, body: Body, ability: int) -> None:
        if ability == DASH and body.dash_wait == 0:
            body.dash_wait = 90
        if ability == SHIELD and body.shield_wait == 0:
            body.shield_wait = 150

    def item_in_reach(self, seat: int) -> int | None:
        body = self.bodies[seat]
        gaps = [
            (square(item.x - body.x, item.y - body.y), i)
            for i, item in enumerate(self.items)
            if item.kind
        ]
        near = [(gap, i) for gap, i in gaps if gap <= 4.0]
        return min(near)[1] if near else None

    def _pick_up(self, seats: list[int]) -> None:
        item_by_seat = {seat: self.item_in_reach(seat) for seat in seats}
        items_picked = {i for i in item_by_seat.values() if i is not None}
        for i in items_picked:
            item = self.items[i]
            gaps = {
                seat: square(item.x - self.bodies[seat].x, item.y - self.bodies[seat].y)
                for seat, want in item_by_seat.items()
                if want == i
            }
            for seat, gap in gaps.items():
                if gap == min(gaps.values()):
                    self._use_item(self.bodies[seat], item.kind)
        for i in items_picked:
            self.items[i].kind = NO_ITEM

    def _use_item(self, body: Body, kind: int) -> None:
        if kind == HEALTH_ITEM:
            body.hp = min(body.hp + 25.0, 100.0)
        else:
            body.ammo = min(body.ammo + 15, 30)

    def _walk(self, body: Body, move: tuple[float, float]) -> None:
        speed = 15.0 if body.dashing else 5.0
        body.vx, body.vy = move[0] * speed, move[1] * speed
        body.x = max(-WALL, min(WALL, body.x + body.vx * TICK))
        body.y = max(-WALL, min(WALL, body.y + body.vy * TICK))

    def _shoot(self, seat: int, aim: tuple[float, float]) -> None:
        body = self.bodies[seat]
        if body.fire_wait == 0 and body.ammo > 0:
            body.ammo -= 1
            body.fire_wait = 6
            self.shots.append(Shot(body.x, body.y, aim[0] * 20.0, aim[1] * 20.0, seat))

    def _fly(self) -> list[int]:
        """Move all shots; return how many struck each seat."""
        hits = [0] * self.seats
        flying = []
        for shot in self.shots:
            shot.x += shot.vx * TICK
            shot.y += shot.vy * TICK
            shot.life -= 1
            gaps = {
                seat: square(self.bodies[seat].x - shot.x, self.bodies[seat].y - shot.y)
                for seat in self.living()
                if seat != shot.owner
            }
            nearest = min(gaps.values(), default=2.0)
            if nearest <= 1.0:
                for seat, gap in gaps.items():
                    if gap == nearest and not self.bodies[seat].shielded:
                        hits[seat] += 1
                        self.bodies[shot.owner].dealt += 10.0
            elif shot.life > 0 and abs(shot.x) <= WALL and abs(shot.y) <= WALL:
                flying.append(shot)
        self.shots = flying
        return hits

    def _settle(self, hits: list[int]) -> None:
        radius = self.zone_radius(self.tick)
        for seat in self.living():
            body = self.bodies[seat]
            hurt = 10.0 * hits[seat]
            if square(body.x, body.y) > radius * radius:
                hurt += self.zone_damage(self.tick) * TICK
            body.hp -= hurt
            body.fire_wait = max(0, body.fire_wait - 1)
            body.dash_wait = max(0, body.dash_wait - 1)
            body.shield_wait = max(0, body.shield_wait - 1)
            if body.hp <= 0.0:
                body.hp = body.vx = body.vy = 0.0
                body.alive = 0
                body.died = self.tick + 1

    def _drop_item(self) -> None:
        free = [item for item in self.items if not item.kind]
        if free:
            spread = min(15.0, self.zone_radius(self.tick))
            x, y = point_in_disc(self.chance)
            free[0].x, free[0].y = x * spread, y * spread
            free[0].kind = HEALTH_ITEM + self.chance.below(2)

    # What a seat may choose.

    def legal(self, seat: int) -> list[list[int]]:
        """Return the choices of each head."""
        body = self.bodies[seat]
        every = list(range(11))
        ready = body.ammo > 0 and body.fire_wait == 0
        abilities = [0] + [DASH] * (body.dash_wait == 0) + [SHIELD] * (body.shield_wait == 0)
        return [
            every,
            every,
            every if ready else [5],
            every if ready else [5],
            [0, 1] if ready else [0],
            abilities,
            [0] if self.item_in_reach(seat) is None else [0, 1],
        ]
