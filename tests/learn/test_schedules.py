"""Schedules: their ends and middles, settings in and out, remembered state, coupling."""

from __future__ import annotations

import json
import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.learn.schedules import (
    Constant,
    Cosine,
    Coupled,
    Linear,
    OnPlateau,
    Power,
    WarmUp,
    initial_states,
    observe_all,
    parse_schedule,
    schedule_settings,
    values_at,
)

ALL = [
    0.25,
    {"kind": "constant", "value": 2},
    {"kind": "linear", "start": 1.0, "end": 0.1},
    {"kind": "cosine", "start": 1.0, "end": 0.2, "steps": 50},
    {"kind": "power", "start": 1.0, "exponent": 0.5, "scale": 10},
    {"kind": "exponential", "start": 1.0, "end": 0.01},
    {"kind": "warm-up", "steps": 10, "then": {"kind": "linear", "start": 1.0, "end": 0.0}},
    {"kind": "on-plateau", "start": 0.3, "patience": 2},
    {"kind": "coupled", "to": "lr", "factor": 0.5},
]


@pytest.mark.parametrize(
    ("settings", "points"),
    [
        (3, {0: 3.0, 70: 3.0}),
        ({"kind": "linear", "start": 1, "end": 0.2}, {0: 1.0, 50: 0.6, 100: 0.2, 200: 0.2}),
        ({"kind": "linear", "start": 1, "end": 0, "steps": 10}, {5: 0.5, 10: 0.0, 99: 0.0}),
        ({"kind": "cosine", "start": 2}, {0: 2.0, 25: 1 + math.sqrt(0.5), 50: 1.0, 100: 0.0}),
        ({"kind": "exponential", "start": 1, "end": 0.01}, {0: 1.0, 50: 0.1, 100: 0.01}),
        ({"kind": "power", "start": 4, "exponent": 0.5, "scale": 10}, {0: 4.0, 30: 2.0}),
        ({"kind": "power", "start": 4, "exponent": 2, "scale": 1, "end": 1}, {0: 4, 1: 1, 9: 1}),
        ({"kind": "warm-up", "steps": 4, "then": 2}, {0: 0.5, 1: 1.0, 3: 2.0, 50: 2.0}),
    ],
)
def test_a_schedule_goes_through_its_points(settings: object, points: dict[int, float]) -> None:
    schedule = parse_schedule(settings)
    found = {step: schedule(step, 100) for step in points}
    assert found == pytest.approx(points)


@pytest.mark.parametrize("kind", ["linear", "cosine", "exponential"])
def test_a_ramp_over_a_run_without_steps_stands_at_its_start(kind: str) -> None:
    schedule = parse_schedule({"kind": kind, "start": 2.0, "end": 0.5})
    assert schedule(0, 0) == pytest.approx(2.0)


@pytest.mark.parametrize("settings", ALL)
def test_settings_come_back_the_same_through_yaml(settings: object) -> None:
    schedule = parse_schedule(settings)
    again = parse_schedule(yaml.safe_load(yaml.safe_dump(schedule_settings(schedule))))
    assert again == schedule


def test_numbers_that_yaml_reads_as_text_are_numbers() -> None:
    assert parse_schedule(yaml.safe_load("3e-4")) == Constant(3e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "linaer", "start": 1, "end": 0}, "'linear'"),
        ({"kind": "linear", "star": 1, "end": 0}, "'start'"),
        ({"kind": "linear", "start": 1}, "'end'"),
        ({"start": 1, "end": 0}, "kind"),
        ({"kind": "linear", "start": "high", "end": 0}, "'high'"),
        ({"kind": "linear", "start": 1, "end": 0, "steps": 1.5}, "whole"),
        ({"kind": "linear", "start": 1, "end": 0, "steps": 0}, "steps"),
        ({"kind": "exponential", "start": 1, "end": 0}, "above 0"),
        ({"kind": "warm-up", "steps": 3, "then": {"kind": "cosin", "start": 1}}, "'cosine'"),
        ("fast", "'fast'"),
        (True, "True"),
        (None, "None"),
        (math.nan, "nan"),
    ],
)
def test_settings_that_do_not_fit_are_refused_by_name(settings: object, message: str) -> None:
    with pytest.raises(LanistaError, match=message):
        parse_schedule(settings)


def test_a_plateau_lowers_the_value_when_the_metric_stops_improving() -> None:
    schedule = OnPlateau(1.0, factor=0.5, patience=2, end=0.3)
    state, seen = schedule.initial(), []
    for metric in [-5.0, -4.0, -4.0, -4.0, -3.0, -3.5, -3.5, -9.0, -9.0]:
        state = schedule.observe(state, metric)
        seen.append(schedule(0, 100, state))
    assert seen == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.3, 0.3, 0.3]


def test_a_plateau_can_watch_a_loss() -> None:
    schedule = OnPlateau(1.0, patience=1, threshold=0.5, higher_is_better=False)
    state = schedule.observe(schedule.initial(), 3.0)
    assert schedule.observe(state, 2.0)["value"] == 1.0
    assert schedule.observe(state, 2.8)["value"] == 0.5


@given(st.lists(st.floats(-5, 5), max_size=20), st.integers(0, 20))
def test_a_plateau_goes_on_from_its_saved_state(metrics: list[float], cut: int) -> None:
    schedules = {"lr": WarmUp(3, OnPlateau(1.0, patience=2))}
    whole = states = initial_states(schedules)
    for index, metric in enumerate(metrics):
        whole = observe_all(schedules, whole, metric)
        if index == cut:
            states = json.loads(json.dumps(states))
        states = observe_all(schedules, states, metric)
    assert states == whole
    assert values_at(schedules, 9, 10, states) == values_at(schedules, 9, 10, whole)


def test_coupled_schedules_follow_the_named_one_in_any_order() -> None:
    schedules = {
        "twice": Coupled("half", 4.0),
        "half": WarmUp(1, Coupled("lr", 0.5)),
        "lr": Linear(1.0, 0.0),
    }
    found = values_at(schedules, 50, 100)
    assert list(found) == list(schedules)
    assert found == pytest.approx({"twice": 1.0, "half": 0.25, "lr": 0.5})


def test_coupling_to_nothing_and_in_a_circle_is_refused() -> None:
    with pytest.raises(LanistaError, match="'lr'"):
        values_at({"clip": Coupled("lrs"), "lr": Constant(1.0)}, 0, 10)
    with pytest.raises(LanistaError, match="circle"):
        values_at({"a": Coupled("b"), "b": Coupled("a")}, 0, 10)


def test_a_plateau_waits_anew_after_each_fall_and_stops_at_its_end() -> None:
    schedule = OnPlateau(start=8.0, factor=0.5, patience=2, end=1.5)
    state, values = schedule.initial(), []
    for _ in range(10):
        state = schedule.observe(state, 1.0)
        values.append(schedule(0, 1, state))
    # The first look is the best one; every second look after it is one too many.
    assert values == [8.0, 8.0, 4.0, 4.0, 2.0, 2.0, 1.5, 1.5, 1.5, 1.5]


def test_schedules_that_are_told_nothing_end_at_0_and_halve_after_ten_looks() -> None:
    assert Cosine(1.0)(100, 100) == pytest.approx(0.0)
    assert Power(1.0, 1.0, 1.0)(10**9, 10) == pytest.approx(0.0, abs=1e-6)
    assert Coupled("lr")(0, 1, None, {"lr": 0.3}) == 0.3
    schedule, values = OnPlateau(1.0), []
    state = schedule.initial()
    for metric in [0.0, 1e-9, *[0.0] * 10, 0.5, *[0.4] * 200]:
        state = schedule.observe(state, metric)
        values.append(schedule(0, 1, state))
    assert values[:13] == [1.0] * 11 + [0.5] * 2
    assert values[22:24] == [0.25, 0.25]
    assert values[-1] == 0.5**21


def test_a_delay_gives_one_number_first_and_then_a_schedule_that_begins_there() -> None:
    schedule = parse_schedule(
        {
            "kind": "delay",
            "steps": 3,
            "before": 7.0,
            "then": {"kind": "linear", "start": 4.0, "end": 0.0},
        }
    )
    expected = parse_schedule({"kind": "linear", "start": 4.0, "end": 0.0})
    assert [schedule(step, 8) for step in range(3)] == [7.0, 7.0, 7.0]
    assert [schedule(step, 8) for step in range(3, 8)] == [expected(step, 5) for step in range(5)]
    for wrong in ({"steps": 0}, {}, {"steps": 2, "share": 0.5}, {"share": 1.0}):
        with pytest.raises(LanistaError, match="A delay schedule needs"):
            parse_schedule({"kind": "delay", "then": 1.0, **wrong})


def test_a_delay_can_be_a_share_of_the_run() -> None:
    schedule = parse_schedule({"kind": "delay", "share": 0.3, "then": 5.0})
    assert [schedule(step, 10) for step in range(10)] == [0.0] * 3 + [5.0] * 7
    assert [schedule(step, 1) for step in range(2)] == [0.0, 5.0]
