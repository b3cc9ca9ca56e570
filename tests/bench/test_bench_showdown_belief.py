"""Calibration of beliefs: what is counted in a bin, against sets whose truth is known."""

from __future__ import annotations

import pytest
from bench.showdown_belief import brier, calibration

from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.likely import USAGE_SURPRISE
from lanista.games.showdown.protocol.usage import count_usage, usage_table
from lanista.games.showdown.teams.sets import unpack

SHEET = "Pawmot||focussash|ironfist|icepunch,fakeout,revivalblessing,protect||||||50|,,,,,Fire"


def test_statistics_of_the_very_sets_are_right_about_as_often_as_they_say() -> None:
    sets = unpack(SHEET) * 3 + unpack(SHEET.replace("focussash", "leftovers"))
    told = Belief((), usage_table(count_usage(sets)))
    bins = calibration(sets, told)
    likely_item = bins["items"][-1]
    assert likely_item["n"] == 4
    assert likely_item["true"] == 0.75
    assert likely_item["stated"] == pytest.approx(0.75, abs=USAGE_SURPRISE)
    assert bins["moves"][-1]["true"] == 1.0
    # Knowing what is brought costs less than the prior that does not.
    assert brier(sets, told)["items"] < brier(sets, None)["items"]


def test_what_is_there_without_a_chance_counts_against_the_lowest_bin() -> None:
    strange = unpack(SHEET.replace("icepunch", "splash"))
    told = Belief((), usage_table(count_usage(unpack(SHEET))))
    lowest = calibration(strange, told)["moves"][0]
    assert lowest["stated"] < 0.1
    assert lowest["true"] > 0
