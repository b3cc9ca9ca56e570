"""A learning rate that follows KL: the rule, its bounds, and what a learner lets it see."""

from __future__ import annotations

import pytest
from test_learner import kuhn_run

from lanista.errors import LanistaError
from lanista.learn.schedules import (
    initial_states,
    moved_all,
    parse_schedule,
    schedule_settings,
    values_at,
)
from lanista.learn.settings import Learning
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import RunSettings, apply_overrides

RULE = {"kind": "follow-kl", "start": 0.004, "target": 0.01, "factor": 2.0}


@pytest.mark.parametrize(
    ("kl", "factor"),
    [(0.0, 2.0), (0.0049, 2.0), (0.005, 1.0), (0.01, 1.0), (0.02, 1.0), (0.0201, 0.5), (9.0, 0.5)],
)
def test_the_rate_is_raised_below_half_of_the_target_and_lowered_above_twice(
    kl: float, factor: float
) -> None:
    rule = parse_schedule(RULE)
    assert rule.moved(rule.initial(), kl, 0, 10)["value"] == pytest.approx(0.004 * factor)


def test_the_rate_stays_within_its_bounds() -> None:
    rule = parse_schedule({**RULE, "lowest": 0.003, "highest": 0.005})
    up, down = rule.initial(), rule.initial()
    for step in range(3):
        up, down = rule.moved(up, 0.0, step, 10), rule.moved(down, 1.0, step, 10)
    assert (up["value"], down["value"]) == (0.005, 0.003)


def test_a_target_may_be_a_schedule_of_its_own() -> None:
    rule = parse_schedule({**RULE, "target": {"kind": "linear", "start": 0.1, "end": 0.0}})
    assert rule.moved(rule.initial(), 0.03, 0, 10)["value"] == pytest.approx(0.008)
    assert rule.moved(rule.initial(), 0.03, 9, 10)["value"] == pytest.approx(0.002)
    assert parse_schedule(schedule_settings(rule)) == rule


def test_a_delayed_rate_follows_the_updates_that_were_taken_with_it() -> None:
    schedules = {"lr": parse_schedule({"kind": "delay", "steps": 2, "before": 1.0, "then": RULE})}
    states, rates = initial_states(schedules), []
    for step in range(4):
        rates.append(values_at(schedules, step, 10, states)["lr"])
        states = moved_all(schedules, states, 0.0, step, 10)
    assert rates == pytest.approx([1.0, 1.0, 0.004, 0.008])
    assert schedules["lr"].follows_kl()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"factor": 1.0}, "factor above 1"),
        ({"lowest": 0.01}, "lowest ≤ start"),
        ({"highest": 0.001}, "start ≤ highest"),
        ({"lowest": 0.0}, "0 < lowest"),
    ],
)
def test_rules_that_could_not_work_are_refused(change: dict[str, float], sentence: str) -> None:
    with pytest.raises(LanistaError, match=sentence):
        parse_schedule({**RULE, **change})


@pytest.mark.parametrize(("target", "factor"), [(1e-9, 0.5), (1e9, 2.0)])
def test_a_learner_changes_its_rate_by_how_far_its_last_update_moved(
    target: float, factor: float
) -> None:
    rule = {**RULE, "target": target}
    run = kuhn_run(Learning(terms={"policy": 1.0, "value": 0.5}, lr=rule, minibatches=4))
    assert [log["lr"] for log in run.train(3)] == pytest.approx(
        [0.004 * factor**n if 0.004 * factor**n < 0.01 else 0.01 for n in range(3)]
    )


def test_an_update_of_the_critic_alone_changes_no_rate() -> None:
    run = kuhn_run(Learning(terms={"policy": 1.0, "value": 0.5}, lr=RULE, minibatches=4))
    run.learner.update(run.play(), only=["value"])
    assert run.learner.scheduled()["lr"] == 0.004


def test_an_update_of_one_step_has_no_kl_to_follow() -> None:
    words = ["learning.lr={kind: follow-kl, start: 0.001, target: 0.01}"]
    with pytest.raises(SettingsError, match="several steps"):
        apply_overrides(RunSettings(), words)
    apply_overrides(RunSettings(), [*words, "learning.minibatches=2"])


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (-1, "comes to -1"),
        (0, "comes to 0"),
        ({"kind": "linear", "start": 0.01, "end": -0.01}, "comes to -0.01"),
        ({"kind": "linear", "start": 0.01, "end": 0, "steps": 10}, "comes to 0"),
        ({"kind": "delay", "share": 0.5, "then": 0.01}, "comes to 0"),
        ({"kind": "coupled", "to": "temperature"}, "is coupled"),
        ({"kind": "on-plateau", "start": 0.01}, "is on-plateau"),
    ],
)
def test_a_target_that_no_kl_can_be_held_to_is_refused(target: object, sentence: str) -> None:
    with pytest.raises(LanistaError, match=f"target of a follow-kl schedule {sentence}"):
        parse_schedule({**RULE, "target": target})


def test_a_target_may_fall_to_a_number_above_zero() -> None:
    parse_schedule({**RULE, "target": {"kind": "linear", "start": 0.01, "end": 0.001}})
