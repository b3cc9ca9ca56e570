"""Draws a match as text: who stands where, what flies, what lies about, and where it hurts."""

from __future__ import annotations

from typing import Any

from lanista.games.arena.frames import Fighter, Frame, frame_of

WIDTH, HEIGHT = 61, 25
_SMALLEST, _LARGEST = 12.0, 50.0
_ITEMS = {"health": "+", "ammo": "="}


def picture(match: Any, seats: int, ticks: int, shrink: int) -> str:
    """Return the picture of one saved match (see `layout.match_dtype`)."""
    frame = frame_of(match, seats, shrink)
    scale = _half_side(frame)
    cells = [
        [_ground(column, row, scale, frame.zone) for column in range(WIDTH)]
        for row in range(HEIGHT)
    ]
    for shot in frame.shots:
        _put(cells, shot.x, shot.y, scale, "*")
    for item in frame.items:
        _put(cells, item.x, item.y, scale, _ITEMS[item.kind])
    for seat, fighter in enumerate(frame.fighters):
        if fighter.alive:
            _put(cells, fighter.x, fighter.y, scale, str(seat))
    clock = f"{frame.seconds:5.1f} of {ticks / 30:g} s   zone {frame.zone:4.1f}"
    legend = "0-7 seats   * shot   + health   = ammo   : outside the zone"
    lines = [clock, *("".join(row) for row in cells), legend]
    return "\n".join(
        [*lines, *(_bar(seat, fighter) for seat, fighter in enumerate(frame.fighters))]
    )


def _half_side(frame: Frame) -> float:
    """Return how far the picture reaches, so that everybody who lives is in it."""
    far = max((max(abs(f.x), abs(f.y)) for f in frame.fighters if f.alive), default=0.0)
    return min(max(far + 2.0, _SMALLEST), _LARGEST)


def _ground(column: int, row: int, scale: float, radius: float) -> str:
    x = (2 * column / (WIDTH - 1) - 1) * scale
    y = (2 * row / (HEIGHT - 1) - 1) * scale
    return ":" if x * x + y * y > radius * radius else " "


def _put(cells: list[list[str]], x: float, y: float, scale: float, mark: str) -> None:
    """Mark a cell; up is towards larger y. What lies outside the picture is left out."""
    column = round((x / scale + 1) / 2 * (WIDTH - 1))
    row = round((1 - y / scale) / 2 * (HEIGHT - 1))
    if 0 <= column < WIDTH and 0 <= row < HEIGHT:
        cells[row][column] = mark


def _bar(seat: int, fighter: Fighter) -> str:
    if fighter.died is not None:
        return f"{seat} dead at {fighter.died:.1f} s"
    full = max(1, round(fighter.hp / 5))
    state = " shielded" if fighter.shielded else ""
    return f"{seat} {'#' * full:<20} {fighter.hp:5.1f} hp  {fighter.ammo:2d} ammo{state}"
