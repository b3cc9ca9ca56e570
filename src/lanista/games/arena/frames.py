"""What a picture of an arena match shows at one moment, as plain values.

For whoever draws: the terminal, the animation, a page. Knows nothing of how it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanista.games.arena.layout import TICKS_A_SECOND

_SHIELD_OVER = 135
"""A shield has just been raised while its wait is above this (state.pxd)."""
_SHOT_LIFE = 150
_FIRST_ZONE, _LAST_ZONE = 50.0, 3.0


@dataclass(frozen=True)
class Fighter:
    """One seat."""

    x: float
    y: float
    hp: float
    ammo: int
    shielded: bool
    died: float | None
    """At which second; None while it lives."""

    @property
    def alive(self) -> bool:
        """Whether it still fights."""
        return self.died is None


@dataclass(frozen=True)
class Shot:
    """A shot in the air; it flies straight."""

    owner: int
    fired: int
    """The tick before it first flew; with the owner, this names a shot."""
    x: float
    y: float
    vx: float
    vy: float


@dataclass(frozen=True)
class Item:
    """What lies about."""

    x: float
    y: float
    kind: str
    """health or ammo"""


@dataclass(frozen=True)
class Frame:
    """One moment of a match."""

    tick: int
    zone: float
    """The zone's radius about the origin."""
    fighters: tuple[Fighter, ...]
    shots: tuple[Shot, ...]
    items: tuple[Item, ...]

    @property
    def seconds(self) -> float:
        """How long the match has lasted."""
        return self.tick / TICKS_A_SECOND


def frame_of(match: Any, seats: int, shrink: int) -> Frame:
    """Return a saved match (see `layout.match_dtype`) as a frame.

    `shrink` is how many ticks the zone takes to its last radius.
    """
    tick = int(match["tick"])
    return Frame(
        tick,
        zone_radius(tick, shrink),
        tuple(_fighter(body) for body in match["body"][:seats]),
        tuple(_shot(shot, tick) for shot in match["shot"][: match["shots"]]),
        tuple(
            Item(float(item["x"]), float(item["y"]), ("health", "ammo")[int(item["kind"]) - 1])
            for item in match["item"]
            if item["kind"]
        ),
    )


def zone_radius(tick: int, shrink: int) -> float:
    """Return the zone's radius at a tick; it falls evenly until `shrink`."""
    return _FIRST_ZONE + (_LAST_ZONE - _FIRST_ZONE) * min(1.0, tick / shrink)


def _fighter(body: Any) -> Fighter:
    return Fighter(
        float(body["x"]),
        float(body["y"]),
        max(0.0, float(body["hp"])),
        int(body["ammo"]),
        bool(body["shield_wait"] > _SHIELD_OVER),
        None if body["alive"] else int(body["died"]) / TICKS_A_SECOND,
    )


def _shot(shot: Any, tick: int) -> Shot:
    x, y, vx, vy = (float(shot[name]) for name in ("x", "y", "vx", "vy"))
    return Shot(int(shot["owner"]), tick - (_SHOT_LIFE - int(shot["life"])), x, y, vx, vy)
