"""The league's benchmark gives whole lines at the smallest sizes; nothing here is timed."""

from __future__ import annotations

import json

import pytest

from bench import league


@pytest.fixture(scope="module")
def spent() -> tuple[list[league.Spent], list[league.Spent]]:
    return league.measure(repeats=2, updates=1, slots=16)


def test_all_decisions_are_played_and_half_of_them_learned_from_against_others(
    spent: tuple[list[league.Spent], list[league.Spent]],
) -> None:
    alone, among = spent
    # A match of Beasty Bar is twelve cards of each of two seats.
    assert [one.played for one in (*alone, *among)] == [16 * 24] * 4
    assert [one.learned for one in alone] == [16 * 24] * 2
    assert [one.learned for one in among] == [16 * 12] * 2


def test_every_frozen_network_is_met_and_differs_from_the_others() -> None:
    trainer = league.Trainer(league.OPPONENTS, slots=400)
    trainer.spend(1)
    met = {number for count in trainer.collector.tally.counts() for number in count.seating}
    assert met == set(range(league.OPPONENTS + 1))
    assert len({player.digest for player in trainer.collector.opponents}) == league.OPPONENTS


def test_the_lines_have_rates_and_the_verdict(
    spent: tuple[list[league.Spent], list[league.Spent]],
) -> None:
    alone, among = spent
    line = json.loads(json.dumps(league.line("small", among)))
    assert 0 < line["low"] <= line["median"] <= line["high"]
    assert line["learned_from"] < line["median"]
    found = json.loads(json.dumps(league.ratio(alone, among)))
    assert found["met"] is (found["ratio"] >= league.TARGET)


def test_a_ratio_is_of_repeats_that_ran_side_by_side() -> None:
    alone = [league.Spent(100, 100, 1.0, 1.0), league.Spent(100, 100, 4.0, 4.0)]
    among = [league.Spent(100, 50, 2.0, 2.0), league.Spent(100, 50, 8.0, 8.0)]
    found = league.ratio(alone, among)
    assert (found["ratio"], found["learned_from"], found["met"]) == (0.5, 0.25, False)
