"""Scenes as text for a terminal: what a page draws, in lines. Knows no rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanista.games.scenes import Scene


def scene_text(scene: Scene) -> str:
    """Return the lines of a scene; a kind without a drawing of its own has none."""
    draw = _DRAWINGS.get(scene["kind"])
    return draw(scene) if draw else ""


def _beastybar(scene: Scene) -> str:
    line = [f"{animal['name']}:{animal['owner']}" for animal in scene["line"]]
    line += ["·"] * (5 - len(line))
    rows = [f"gate ▸ {'  '.join(line)} ◂ THAT'S IT"]
    for seat, side in enumerate(scene["seats"]):
        hand = f"{side['cards']} cards" if side["hand"] is None else _animals(side["hand"])
        rows += [
            f"seat {seat}  hand       {hand} (+{side['pile']} to draw)",
            f"        bar        {_animals(side['bar'])} = {side['points']} points",
            f"        THAT'S IT  {_animals(side['out'])}",
        ]
    return "\n".join(rows)


def _animals(animals: list[dict[str, Any]]) -> str:
    return ", ".join(animal["name"] for animal in animals) or "—"


def _grid(scene: Scene) -> str:
    names = scene.get("names") or [""] * len(scene["rows"])
    width = max(map(len, names))
    shift = " " if scene["look"] == "hex" else ""
    rows = [
        f"{name:>{width}} {shift * at}{' '.join(row)}"
        for at, (name, row) in enumerate(zip(names, scene["rows"], strict=True))
    ]
    columns = range(len(scene["rows"][0]))
    if scene["look"] == "discs":
        rows.append(f"{'':>{width}} {' '.join(str(at + 1) for at in columns)}")
    elif any(names):
        rows.append(f"{'':>{width}} {' '.join(chr(97 + at) for at in columns)}")
    return "\n".join(rows)


def _cards(scene: Scene) -> str:
    rows = []
    for seat, side in enumerate(scene["seats"]):
        held = side.get("cards", side.get("dice"))
        shown = "hidden" if held is None else " ".join(str(one) for one in held)
        stake = f"   stake {side['stake']}" if "stake" in side else ""
        rows.append(f"seat {seat}  {shown}{stake}")
    if scene["public"]:
        rows.append(f"open    {' '.join(scene['public'])}")
    log = ", ".join(f"{move['seat']} {move['words']}" for move in scene["log"])
    return "\n".join([*rows, f"so far  {log or 'nothing'}"])


def _showdown(scene: Scene) -> str:
    rows = [f"{scene['format']}, turn {scene['turn']}  {', '.join(scene['field'])}".rstrip(" ,")]
    for seat, side in enumerate(scene["sides"]):
        rows.append(f"seat {seat}  {', '.join(side['conditions'])}".rstrip(" ,"))
        for mon in side["mons"]:
            sign = "*" if mon["active"] else " "
            rows.append(f"  {sign} {mon['name']:<24} {mon['points']:>9}  {mon['status']}".rstrip())
    return "\n".join([*rows, *(f"  {line}" for line in scene["log"])])


def _text(scene: Scene) -> str:
    return str(scene["text"]).rstrip("\n")


_DRAWINGS: dict[str, Callable[[Scene], str]] = {
    "beastybar": _beastybar,
    "grid": _grid,
    "cards": _cards,
    "showdown": _showdown,
    "text": _text,
}
