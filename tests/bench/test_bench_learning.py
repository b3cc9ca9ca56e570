"""The learning benchmark gives whole lines at the smallest sizes; nothing here is timed."""

from __future__ import annotations

import json

import pytest

from bench import learning


@pytest.fixture
def spent() -> list[learning.Spent]:
    return learning.measure("fp32", repeats=2, updates=1, slots=4)


def test_a_line_has_rates_shares_and_the_verdict(spent: list[learning.Spent]) -> None:
    line = json.loads(json.dumps(learning.line("small", spent, target=10**9)))
    assert line["bench"] == "small"
    assert line["met"] is False
    assert 0 < line["low"] <= line["median"] <= line["high"]
    assert 0 < line["median"] <= min(line["collect"], line["learn"])
    assert 0 < line["simulator_share"] < 1
    assert line["kernels_alone"] > 0


def test_every_decision_of_both_seats_is_counted_once(spent: list[learning.Spent]) -> None:
    # A match of Beasty Bar is twelve cards of each of two seats.
    assert [one.decisions for one in spent] == [4 * 24] * 2


def test_time_in_the_game_is_part_of_collecting(spent: list[learning.Spent]) -> None:
    assert all(0 < one.simulating < one.collecting for one in spent)
