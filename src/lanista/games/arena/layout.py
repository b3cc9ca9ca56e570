"""The arena's description: settings, heads, and what each number of an observation means.

view.pxd writes the numbers in the order in which they are named here. Knows no rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanista.games.arena.symmetry import turns
from lanista.games.contract import Facts, Field, GameError, Head, Observation, Spec

TICKS_A_SECOND = 30
MOST_SEATS = 8
SEAT_SHOTS = 25
OBSERVATIONS = ("rich", "classic19")

HEADS = (
    *(Head(name, 11) for name in ("move_x", "move_y")),
    *(Head(name, 11, only_with=("fire", 1)) for name in ("aim_x", "aim_y")),
    Head("fire", 2, ("hold", "fire")),
    Head("ability", 3, ("none", "dash", "shield")),
    Head("interact", 2, ("leave", "pick up")),
)

CLASSIC = tuple(
    Field(name)
    for name in (
        "own x",
        "own y",
        "own vx",
        "own vy",
        "own hp",
        "own ammo",
        "zone x",
        "zone y",
        "zone radius",
        "inside zone",
        "enemy x",  # 0 when no enemy is in sight; then "enemy hp" is -1
        "enemy y",
        "enemy hp",
        "item x",  # 0 when no item is in sight; then "item distance" is -1
        "item y",
        "enemies in sight",
        "items in sight",
        "enemy distance",  # -1 when no enemy is in sight
        "item distance",
    )
)

RICH = (
    Field("position", 2),
    Field("velocity", 2),
    Field("hp"),
    Field("ammo"),
    Field("fire wait"),
    Field("dash wait"),
    Field("dashing"),
    Field("shield wait"),
    Field("shielded"),
    Field("zone radius"),
    Field("zone radius in 5 s"),
    Field("zone margin"),
    Field("zone damage"),
    Field("inside zone"),
    Field("time left"),
    Field("others alive"),
    # present, dx, dy, vx, vy, hp, shielded; all 0 when absent
    *(Field(f"enemy {i}", 7) for i in (1, 2, 3)),
    # present, dx, dy, vx, vy
    *(Field(f"incoming shot {i}", 5) for i in (1, 2, 3, 4)),
    # present, dx, dy, is health, is ammo
    *(Field(f"item {i}", 5) for i in (1, 2, 3)),
)

# cos and sin of k turns out of n. Written out, because libm differs between machines.
TURNS: dict[int, tuple[tuple[float, float], ...]] = {
    2: ((1.0, 0.0), (-1.0, 0.0)),
    3: ((1.0, 0.0), (-0.5, 0.8660254037844386), (-0.5, -0.8660254037844386)),
    4: ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)),
    5: (
        (1.0, 0.0),
        (0.30901699437494745, 0.9510565162951535),
        (-0.8090169943749475, 0.5877852522924731),
        (-0.8090169943749475, -0.5877852522924731),
        (0.30901699437494745, -0.9510565162951535),
    ),
    6: (
        (1.0, 0.0),
        (0.5, 0.8660254037844386),
        (-0.5, 0.8660254037844386),
        (-1.0, 0.0),
        (-0.5, -0.8660254037844386),
        (0.5, -0.8660254037844386),
    ),
    7: (
        (1.0, 0.0),
        (0.6234898018587336, 0.7818314824680298),
        (-0.22252093395631434, 0.9749279121818236),
        (-0.9009688679024191, 0.43388373911755823),
        (-0.9009688679024191, -0.43388373911755823),
        (-0.22252093395631434, -0.9749279121818236),
        (0.6234898018587336, -0.7818314824680298),
    ),
    8: (
        (1.0, 0.0),
        (0.7071067811865476, 0.7071067811865476),
        (0.0, 1.0),
        (-0.7071067811865476, 0.7071067811865476),
        (-1.0, 0.0),
        (-0.7071067811865476, -0.7071067811865476),
        (0.0, -1.0),
        (0.7071067811865476, -0.7071067811865476),
    ),
}


def describe(seats: int, duration: float, ticks_per_decision: int, observation: str) -> Spec:
    """Return the spec of an arena with these settings; refuse what cannot be played."""
    _check(seats, duration, ticks_per_decision, observation)
    fields = CLASSIC if observation == "classic19" else RICH
    return Spec(
        name="arena",
        facts=Facts(
            seats=seats,
            longest=-(-time_limit(duration) // ticks_per_decision),
            hidden=True,
            chance=True,
            zero_sum=True,
            simultaneous=True,
            symmetric=True,
        ),
        observation=Observation(fields, "float32"),
        heads=HEADS,
        settings={
            "seats": seats,
            "duration": float(duration),
            "ticks_per_decision": ticks_per_decision,
            "observation": observation,
        },
        privileged=Observation(_privileged(seats), "float32"),
        symmetry=turns(observation, sum(field.size for field in fields)),
    )


def time_limit(duration: float) -> int:
    """Return a duration in seconds as whole ticks."""
    return round(duration * TICKS_A_SECOND)


def match_dtype(seats: int) -> np.dtype[Any]:
    """Return the layout of one saved match, for tools and tests that read or build positions.

    `game.save(slots)["matches"].view(match_dtype(seats))` gives the fields of state.pxd.
    """
    place = [("x", "f8"), ("y", "f8")]
    moving = [*place, ("vx", "f8"), ("vy", "f8")]
    counts = ("ammo", "fire_wait", "dash_wait", "shield_wait", "alive", "died")
    body = [
        *moving,
        *((name, "f8") for name in ("hp", "dealt", "start_x", "start_y")),
        *((name, "i4") for name in counts),
    ]
    return np.dtype(
        [
            ("chance", "u8"),
            *((name, "i4") for name in ("tick", "shots", "alive", "unused")),
            ("item", [*place, ("kind", "i4"), ("unused", "i4")], 5),
            ("body", body, MOST_SEATS),
            ("shot", [*moving, ("owner", "i4"), ("life", "i4")], seats * SEAT_SHOTS),
        ]
    )


def _privileged(seats: int) -> tuple[Field, ...]:
    return (
        # alive, x, y, vx, vy, hp, ammo, fire wait, dash wait, dashing, shield wait, shielded
        *(Field(f"seat +{i}", 12) for i in range(seats)),
        *(Field(f"item {i}", 5) for i in range(1, 6)),
        *(Field(f"shot {i}", 5) for i in range(1, 9)),
        Field("zone radius"),
        Field("zone damage"),
        Field("time left"),
        Field("since last item"),
    )


def _check(seats: int, duration: float, ticks_per_decision: int, observation: str) -> None:
    if not 2 <= seats <= MOST_SEATS:
        raise GameError(f"arena setting seats is {seats}; give a number from 2 to {MOST_SEATS}.")
    if not 1.0 <= duration <= 600.0:
        raise GameError(f"arena setting duration is {duration}; give 1 to 600 seconds.")
    if not 1 <= ticks_per_decision <= TICKS_A_SECOND:
        raise GameError(
            f"arena setting ticks_per_decision is {ticks_per_decision}; "
            f"give a number from 1 to {TICKS_A_SECOND}."
        )
    if observation not in OBSERVATIONS:
        raise GameError(
            f"arena setting observation is {observation!r}; choose from {', '.join(OBSERVATIONS)}."
        )
