"""Draws a match as text: who stands where, what flies, what lies about, and where it hurts."""

from __future__ import annotations

from typing import Any

WIDTH, HEIGHT = 61, 25
_SMALLEST, _LARGEST = 12.0, 50.0
_ITEMS = {1: "+", 2: "="}


def picture(match: Any, seats: int, ticks: int, shrink: int) -> str:
    """Return the picture of one saved match (see `layout.match_dtype`)."""
    bodies = match["body"][:seats]
    radius = 3.0 if match["tick"] >= shrink else 50.0 - 47.0 * int(match["tick"]) / shrink
    scale = _half_side(bodies)
    cells = [
        [_ground(column, row, scale, radius) for column in range(WIDTH)] for row in range(HEIGHT)
    ]
    for shot in match["shot"][: match["shots"]]:
        _put(cells, shot, scale, "*")
    for item in match["item"]:
        if item["kind"]:
            _put(cells, item, scale, _ITEMS[int(item["kind"])])
    for seat, body in enumerate(bodies):
        if body["alive"]:
            _put(cells, body, scale, str(seat))
    clock = f"{int(match['tick']) / 30:5.1f} of {ticks / 30:g} s   zone {radius:4.1f}"
    legend = "0-7 seats   * shot   + health   = ammo   : outside the zone"
    lines = [clock, *("".join(row) for row in cells), legend]
    return "\n".join([*lines, *(_bar(seat, body) for seat, body in enumerate(bodies))])


def _half_side(bodies: Any) -> float:
    """Return how far the picture reaches, so that everybody who lives is in it."""
    far = max((max(abs(b["x"]), abs(b["y"])) for b in bodies if b["alive"]), default=0.0)
    return min(max(float(far) + 2.0, _SMALLEST), _LARGEST)


def _ground(column: int, row: int, scale: float, radius: float) -> str:
    x = (2 * column / (WIDTH - 1) - 1) * scale
    y = (2 * row / (HEIGHT - 1) - 1) * scale
    return ":" if x * x + y * y > radius * radius else " "


def _put(cells: list[list[str]], thing: Any, scale: float, mark: str) -> None:
    """Mark a thing's cell; up is towards larger y. What lies outside the picture is left out."""
    column = round((float(thing["x"]) / scale + 1) / 2 * (WIDTH - 1))
    row = round((1 - float(thing["y"]) / scale) / 2 * (HEIGHT - 1))
    if 0 <= column < WIDTH and 0 <= row < HEIGHT:
        cells[row][column] = mark


def _bar(seat: int, body: Any) -> str:
    if not body["alive"]:
        return f"{seat} dead at {int(body['died']) / 30:.1f} s"
    full = max(1, round(float(body["hp"]) / 5))
    state = " shielded" if body["shield_wait"] > 135 else ""
    return (
        f"{seat} {'#' * full:<20} {float(body['hp']):5.1f} hp  {int(body['ammo']):2d} ammo{state}"
    )
