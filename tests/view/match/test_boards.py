"""Boards in a browser that no recorded match of this machine can show: drawn from their scenes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from match_folders import HOSTILE

from lanista.games.microrts.layout import MOVE
from lanista.games.microrts.scene import scene, words

DRAW = """
async ({ scene, names }) => {
  const { boardFrame } = await import("/static/boards/board.js");
  const { onlooker } = await import("/static/boards/parts.js");
  const frame = boardFrame();
  document.getElementById("main").replaceChildren(frame.element);
  frame.update(scene, onlooker(names));
  return frame.element.innerText;
}
"""


def microrts() -> Any:
    """Return as much of a game as a scene reads: two bases, a worker that walks, a deposit."""
    units = np.zeros((1, 4, 65), np.int16)
    for cell, (hits, load, owner, kind) in {
        0: (1, 20, 0, 1), 9: (10, 0, 1, 2), 10: (1, 1, 1, 4), 54: (10, 0, 2, 2),
    }.items():  # fmt: skip
        units[0, :, cell] = hits, load, owner, kind
    order, until, aim = np.zeros((1, 65), np.int16), np.zeros((1, 65)), np.full((1, 65), -1)
    order[0, 10], until[0, 10], aim[0, 10] = MOVE + 1, 30, 11
    boards = SimpleNamespace(
        side=8, longest=2000, units_now=units, order=order, until=until, aim=aim,
        time=np.array([20]), stock=np.array([[5, 7]]),
    )  # fmt: skip
    return SimpleNamespace(boards=boards, spec=SimpleNamespace(settings={"side": 8}))


def test_microrts_has_units_loads_and_where_they_act() -> None:
    shown = scene(microrts(), 0, frozenset())
    assert [unit["unit"] for unit in shown["units"]] == ["resource", "base", "worker", "base"]
    assert [unit["owner"] for unit in shown["units"]] == [-1, 0, 0, 1]
    worker = shown["units"][2]
    assert (worker["order"], worker["aim"], worker["load"]) == ("move", 11, 1)
    assert shown["stock"] == [5, 7]
    assert words(microrts(), 0, 0, 10, MOVE + 1) == "3,2: move right"


def test_microrts_is_drawn(tmp_path: Path, visit: Callable[..., Any]) -> None:
    visitor = visit(tmp_path)
    page = visitor.go("/play")
    given = {"scene": scene(microrts(), 0, frozenset()), "names": [HOSTILE, "b"]}
    text = page.evaluate(DRAW, given)
    assert HOSTILE in text
    assert "tick 20 of 2000" in text
    assert page.locator(".rts g").count() == 4
    assert page.locator(".rts line").count() == 1
    label = page.locator("svg.rts").get_attribute("aria-label")
    assert "seat 0 has 2 units" in label
    assert visitor.complaints == []


def test_a_kind_that_nobody_draws_is_shown_as_text(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    page = visit(tmp_path).go("/play")
    given = {"scene": {"kind": "new", "text": HOSTILE, "hidden": False}, "names": []}
    assert HOSTILE in page.evaluate(DRAW, given)
    assert page.evaluate("window.attacked") is None
