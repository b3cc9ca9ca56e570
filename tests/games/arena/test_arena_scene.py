"""The arena's scene: how far a seat sees, and held keys as an action."""

from __future__ import annotations

import numpy as np
import pytest

from lanista.games import registry
from lanista.games.arena.action_codec import decode_action
from lanista.games.arena.scene import SIGHT, held_action, scene
from lanista.games.contract import GameError
from lanista.games.scenes import everybody


def test_a_fighter_is_seen_within_sight_and_not_beyond() -> None:
    seen = {True: 0, False: 0}
    for match in range(5):
        game = registry.make("arena", seed=match, seats=8)
        game.start([0], [match])
        own, *others = scene(game, 0, everybody(game.spec))["fighters"]
        shown = scene(game, 0, frozenset({0}))["fighters"][1:]
        for fighter, other in zip(others, shown, strict=True):
            apart = np.hypot(own["x"] - fighter["x"], own["y"] - fighter["y"])
            assert ("x" in other) == (apart <= SIGHT)
            assert "ammo" not in other
            seen["x" in other] += 1
    assert min(seen.values()) > 0


def test_held_keys_become_a_direction_an_aim_and_switches() -> None:
    mask = np.ones(sum((11, 11, 11, 11, 2, 3, 2)), np.bool_)
    keys = {"move": [1, -1], "aim": [3.0, 4.0], "fire": True, "ability": "dash", "interact": True}
    action = decode_action(held_action(keys, mask, (3.0, 1.0)))
    assert (action.move_x, action.move_y) == (1.0, -1.0)
    assert (action.aim_x, action.aim_y) == (0.0, 1.0)
    assert (action.fire, action.ability, action.interact) == (True, "dash", True)


def test_what_is_barred_now_is_left_out() -> None:
    game = registry.make("arena")
    game.start([0], [0])
    mask = game.decisions().mask[0].copy()
    mask[44 + 1] = False  # Fire is not ready.
    action = held_action({"fire": True, "aim": [5, 5], "interact": True}, mask, (0.0, 0.0))
    assert action[4] == 0
    assert action[2:4] == [5, 5]
    assert action[6] == 0


@pytest.mark.parametrize("aim", ["up", [1], [float("nan"), 0], {"x": 1}])
def test_keys_of_another_shape_are_refused(aim: object) -> None:
    with pytest.raises(GameError, match="give two numbers"):
        held_action({"aim": aim}, np.ones(51, np.bool_), (0.0, 0.0))
