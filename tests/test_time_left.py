"""How long work goes on is told by its pace."""

import pytest

from lanista.time_left import duration, time_left


def test_the_rest_takes_as_long_as_its_share():
    assert time_left(20.0, 0.25) == "about 60 s left"
    assert time_left(600.0, 0.5) == "about 10 min left"
    assert time_left(3600.0, 0.1) == "about 9.0 h left"


@pytest.mark.parametrize(("seconds", "share"), [(1.0, 0.5), (60.0, 0.0), (60.0, 1.0)])
def test_nothing_is_told_where_nothing_is_known(seconds, share):
    assert time_left(seconds, share) == ""


def test_a_time_has_the_unit_that_suits_it():
    assert [duration(s) for s in (0.2, 59.6, 89.0, 100.0, 7200.0)] == [
        "1 s", "60 s", "89 s", "2 min", "2.0 h",
    ]  # fmt: skip
