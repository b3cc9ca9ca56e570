"""Settings of a background learner that could not mean what they say are refused."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from lanista.errors import LanistaError
from lanista.learn.settings import Learning
from lanista.live.learner.settings import WARM_UP, Gate, LiveSettings
from lanista.live.promotion.sequential_test import Rule

LINE = {"kind": "linear", "start": 1e-3, "end": 0.0}
TERMS = {"policy": 1.0, "value": 0.5}


def settings(**learning: Any) -> LiveSettings:
    return LiveSettings(learning=Learning(policy="vtrace", critic_sees="seat", **learning))


@pytest.mark.parametrize(
    ("name", "learning"),
    [
        ("learning.lr", {"lr": LINE}),
        ("learning.temperature", {"temperature": {**LINE, "end": 0.5}}),
        ("learning.lr", {"lr": {"kind": "warm-up", "steps": 10, "then": LINE}}),
        ("learning.terms.policy", {"terms": TERMS | {"policy": LINE}}),
    ],
)
def test_a_schedule_over_a_whole_run_is_refused_since_a_live_run_has_no_end(
    name: str, learning: dict[str, Any]
) -> None:
    with pytest.raises(LanistaError, match=rf"^{name} .*steps"):
        settings(**learning)


def test_a_schedule_that_says_how_long_it_takes_is_taken() -> None:
    coupled = {"kind": "coupled", "to": "lr", "factor": 2.0}
    assert settings(lr=LINE | {"steps": 500}, terms=TERMS | {"entropy": coupled})


def test_a_warm_up_in_which_nothing_could_be_learned_is_refused() -> None:
    with pytest.raises(LanistaError, match=r"^warm_up is 10.*value.*upgo"):
        settings(terms={"policy": 1.0, "entropy": 0.01})
    alone = Learning(policy="vtrace", critic_sees="seat", terms={"policy": 1.0})
    assert LiveSettings(learning=alone, warm_up=0)


@pytest.mark.parametrize(
    "name",
    ["batch_games", "least_games", "unroll_length", "staleness", "keep_checkpoints",
     "keep_policies"],
)  # fmt: skip
def test_numbers_below_one_are_refused(name: str) -> None:
    with pytest.raises(LanistaError, match=f"^{name} is 0"):
        LiveSettings(**{name: 0})
    assert getattr(LiveSettings(**{name: 1}), name) == 1


def test_what_a_learner_does_that_is_told_nothing() -> None:
    assert asdict(LiveSettings()) | {"learning": None, "gate": None, "replay": None} == {
        "learning": None, "gate": None, "replay": None, "report_every": 100,
        "batch_games": 10, "least_games": 1, "warm_up": 10,
        "unroll_length": 512, "staleness": 2000, "distance": 0.5, "outcome_weight": 1.0,
        "reward_weight": 1.0, "keep_checkpoints": 3, "keep_policies": 100, "seed": 0,
    }  # fmt: skip
    assert LiveSettings().replay.size == 0
    learning = LiveSettings().learning
    assert learning == Learning(policy="vtrace", critic_sees="seat", epochs=2)
    assert WARM_UP == ("value", "upgo")


def test_what_a_gate_does_that_is_told_nothing() -> None:
    assert asdict(Gate()) | {"rule": None, "watch": None} == {
        "kind": "live", "every": 200, "share": 0.5, "candidates": 1, "rule": None, "refresh": 200,
        "patience": 1000, "watch_share": 0.2, "watch": None, "opponents": (), "options": (),
    }  # fmt: skip
    assert Gate().rule == Rule(futile=0)
    assert Gate().watch == Rule(limit=1000)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [("every", 1, 0), ("patience", 0, -1), ("refresh", 0, -1), ("share", 1e-9, 0.0),
     ("share", 1 - 1e-9, 1.0), ("watch_share", 0.0, -1e-9), ("watch_share", 1 - 1e-9, 1.0)],
)  # fmt: skip
def test_a_gate_takes_the_last_number_that_means_something(
    name: str, right: float, wrong: float
) -> None:
    given: dict[str, Any] = {name: right}
    assert getattr(Gate(**given), name) == right
    with pytest.raises(LanistaError, match=rf"^gate\.{name} is {wrong}; give"):
        Gate(**(given | {name: wrong}))


def test_a_learner_takes_the_last_number_that_means_something() -> None:
    assert LiveSettings(warm_up=0, distance=1e-9, batch_games=3, least_games=3)
    assert settings(lr=0.0)
    for wrong in ({"warm_up": -1}, {"distance": 0.0}, {"batch_games": 3, "least_games": 4}):
        with pytest.raises(LanistaError, match=f"^{list(wrong)[-1]} is"):
            LiveSettings(**wrong)
    for lr in (-1e-9, float("inf"), float("nan")):
        with pytest.raises(LanistaError, match="lr"):
            settings(lr=lr)


def test_a_learner_learns_by_vtrace_and_sees_what_the_bot_sees() -> None:
    with pytest.raises(LanistaError, match=r"learning\.policy is ppo"):
        LiveSettings(learning=Learning(policy="ppo", critic_sees="seat"))
    with pytest.raises(LanistaError, match="no privileged view"):
        LiveSettings(learning=Learning(policy="vtrace", critic_sees="privileged"))
    shared = Learning(policy="vtrace", critic_sees="features", terms={"policy": 1.0})
    assert LiveSettings(learning=shared).warm_up == 10  # Of a critic without a network: ignored.
