"""What a StarCraft II policy's numbers and choices mean: files on disks depend on each of them."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lanista.live.sc2 import (
    INTERVAL,
    SCALES,
    SPEC,
    TOWNHALLS,
    WORKERS,
    MacroError,
    Situation,
    Strategy,
    army_hp,
    features,
    outcome_of,
    share_in_sight,
)


def test_a_choice_is_known_by_its_number() -> None:
    assert {one.name: one.value for one in Strategy} == {
        "ECONOMY": 0, "AGGRESSIVE": 1, "DEFENSIVE": 2, "TECH": 3, "ALL_IN": 4,
    }  # fmt: skip
    (head,) = SPEC.heads
    assert (head.name, head.size) == ("strategy", 5)
    assert INTERVAL == 5.0


def test_the_game_is_one_of_two_seats_with_hidden_information_and_chance() -> None:
    facts = SPEC.facts
    assert (facts.seats, facts.longest) == (2, 65536)
    assert (facts.hidden, facts.chance, facts.zero_sum) == (True, True, True)
    assert [field.name for field in SPEC.observation.fields] == list(SCALES)
    assert all(field.scale == 1 and field.size == 1 for field in SPEC.observation.fields)


def test_each_number_is_divided_by_its_scale_in_the_order_of_a_situation() -> None:
    scales = [2000, 1000, 200, 200, 100, 100, 100, 10, 1000, 5, 10, 20, 1, 5000, 5000, 3]
    assert list(SCALES.values()) == scales
    assert list(SCALES) == [field.name for field in fields(Situation)]
    seen = features(Situation(*(number * scale for number, scale in enumerate(scales))))
    assert seen.tolist() == list(range(16))
    with pytest.raises(MacroError, match="not finite"):
        features(Situation(*[0.0] * 15, float("nan")))


def unit(name: str, health: float, shield: float, can_attack: bool = True) -> Any:
    kind = SimpleNamespace(name=name)
    return SimpleNamespace(type_id=kind, health=health, shield=shield, can_attack=can_attack)


def test_an_army_is_what_can_attack_and_is_no_worker() -> None:
    army = [unit("ZEALOT", 100, 50), unit("MARINE", 45, 0), unit("OBSERVER", 40, 20, False)]
    workers = [unit(name, 40, 1) for name in sorted(WORKERS)]
    assert len(workers) == 4
    assert army_hp([*army, *workers]) == 195
    assert army_hp([]) == 0
    assert len(TOWNHALLS) == 9


def test_the_share_in_sight_is_that_of_the_playable_area() -> None:
    """A map marks what is in sight with 2, what was seen once with 1."""
    sight = np.zeros((6, 8), int)
    sight[2, 3:5] = 2
    sight[3, 3] = 1
    sight[0, 0] = 2
    area = SimpleNamespace(x=3, y=2, width=4, height=2)
    assert share_in_sight(sight, area) == 2 / 8
    assert share_in_sight(sight, SimpleNamespace(x=3, y=2, width=0, height=2)) == 0


@pytest.mark.parametrize(
    ("result", "outcome"), [("Victory", 1.0), ("Tie", 0.0), ("Defeat", -1.0), ("Undecided", None)]
)
def test_a_result_counts_where_the_game_itself_gave_one(result: str, outcome: float | None) -> None:
    told = SimpleNamespace(name=result)
    bot = SimpleNamespace(client=SimpleNamespace(_game_result={1: told}))
    assert outcome_of(bot, told) == outcome
    bot.client._game_result = None
    assert outcome_of(bot, told) is None
