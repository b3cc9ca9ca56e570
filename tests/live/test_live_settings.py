"""Settings of a background learner that could not mean what they say are refused."""

from __future__ import annotations

from typing import Any

import pytest

from lanista.errors import LanistaError
from lanista.learn.settings import Learning
from lanista.live.settings import LiveSettings

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


@pytest.mark.parametrize("name", ["batch_games", "staleness", "keep_checkpoints", "keep_policies"])
def test_numbers_below_one_are_refused(name: str) -> None:
    with pytest.raises(LanistaError, match=f"^{name} is 0"):
        LiveSettings(**{name: 0})
