"""What a learner is told where nobody says otherwise, and which numbers are refused."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from lanista.errors import LanistaError
from lanista.learn.settings import Learning

DEFAULTS = {
    "policy": "ppo",
    "terms": {"policy": 1.0, "value": 0.5, "entropy": 0.01},
    "forecast": None,
    "lr": 3e-4,
    "temperature": 1.0,
    "adam_betas": (0.9, 0.999),
    "epochs": 1,
    "minibatches": 1,
    "accumulate": 1,
    "shards": 1,
    "max_grad_norm": 1.0,
    "gamma": 1.0,
    "lam": 0.95,
    "clip": 0.2,
    "value_clip": 0.0,
    "target_kl": 0.0,
    "rho_clip": 1.0,
    "pg_rho_clip": 1.0,
    "c_clip": 1.0,
    "normalise_advantages": True,
    "keep_advantages": 1.0,
    "critic_sees": "features",
    "critic_output": "value",
    "q_trace": None,
    "importance_clip": None,
    "critic_lr": None,
    "critic_network": None,
    "critic_warm_up": None,
    "portfolio_size": 4,
    "portfolio_every": 100,
    "portfolio_keeps": "recent",
    "portfolio_pull": "min",
    "value_scale": None,
    "matchup_floor": None,
    "least_deviation": None,
    "regret": None,
    "matchup_advantages": None,
    "minibatches_by_noise": None,
    "entropy_heads": None,
    "reference_every": 100,
    "reference_average": None,
    "eta": 0.0,
    "fixed_point": (200,),
    "target_average": 0.001,
    "neurd_threshold": 2.0,
    "neurd_clip": 1e4,
    "neurd_step": None,
    "fit_steps": None,
    "critic_steps": None,
    "average": 0.0,
    "average_share": 0.0,
    "precision": "fp32",
    "graphs": None,
    "compile": False,
    "term_gradients_every": 0,
}
LEAST = {
    1: ("epochs", "minibatches", "accumulate", "shards", "portfolio_size", "portfolio_every",
        "reference_every"),
    0: ("max_grad_norm", "value_clip", "target_kl", "eta", "term_gradients_every",
        "importance_clip"),
}  # fmt: skip
SHARES = (
    "gamma", "lam", "keep_advantages", "target_average", "average", "average_share",
    "reference_average",
)  # fmt: skip
JOINT = {"q_trace": "joint", "critic_output": "q", "critic_sees": "privileged"}
CLIPS = ("clip", "rho_clip", "pg_rho_clip", "c_clip", "neurd_threshold", "neurd_clip")


def test_the_defaults_of_learning_are_those_that_are_documented() -> None:
    assert asdict(Learning()) == DEFAULTS


def test_terms_that_nobody_named_are_nobody_elses() -> None:
    assert Learning().terms == Learning().terms
    assert Learning().terms is not Learning().terms


@pytest.mark.parametrize(
    ("name", "most", "remedy"),
    [
        *((name, 1, "at least 1") for name in LEAST[1]),
        *((name, 0, "0 or more") for name in LEAST[0]),
        *((name, 0, "a number from 0 to 1") for name in SHARES),
        *((name, None, "a number above 0") for name in CLIPS),
    ],
)
def test_a_number_below_its_least_is_refused_and_the_least_is_taken(
    name: str, most: int | None, remedy: str
) -> None:
    below = 0 if most is None else most - 1
    with pytest.raises(LanistaError, match=f"^{name} is {below}; give {remedy}.$"):
        Learning(**{name: below})
    least = 1e-9 if most is None else most
    assert getattr(Learning(**{name: least}), name) == least


@pytest.mark.parametrize("name", SHARES)
def test_a_share_above_1_is_refused_and_all_of_it_is_taken(name: str) -> None:
    with pytest.raises(LanistaError, match=f"^{name} is 1.01; give a number from 0 to 1.$"):
        Learning(**{name: 1.01})
    assert getattr(Learning(**{name: 1.0}), name) == 1.0


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"policy": "all_action"}, "policy all_action needs critic_output q"),
        ({"policy": "ppo", "critic_output": "q"}, "goes with all_action or neurd, not ppo"),
        ({"policy": "vtrace", "critic_output": "q"}, "goes with all_action or neurd, not vtrace"),
        ({"policy": "vtrace", "eta": 0.1}, "for ppo or neurd, not vtrace"),
        ({"policy": "neurd", "eta": 0.1, "critic_output": "q"}, "needs q_trace joint"),
        ({**JOINT, "critic_output": "value"}, "needs critic_output q and .*, not value"),
        ({**JOINT, "critic_sees": "seat"}, "critic_sees privileged, not q and seat"),
        ({**JOINT, "policy": "all_action"}, "goes with ppo or neurd, not all_action"),
        ({**JOINT, "gamma": 0.9}, "gamma is 0.9; set it to 1"),
        ({**JOINT, "matchup_floor": 0.5}, "one advantage a decision, not q_trace joint"),
        ({"terms": {"polici": 1.0}}, "did you mean 'policy'"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(LanistaError, match=sentence):
        Learning(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"policy": "all_action", "critic_output": "q"},
        {"policy": "neurd", "critic_output": "q"},
        {"policy": "neurd", "eta": 0.1},
        {"policy": "ppo", "eta": 0.1},
        {"policy": "vtrace", "critic_output": "outcome"},
        JOINT,
        {**JOINT, "policy": "neurd", "eta": 0.1},
    ],
)
def test_settings_that_go_together_are_taken(values: dict[str, Any]) -> None:
    assert Learning(**values).rnad is ("eta" in values)


def test_a_term_is_used_where_it_has_a_weight() -> None:
    settings = Learning(terms={"policy": 1.0, "value": 0, "magnet": {"kind": "linear"}})
    used = [name for name in ("policy", "value", "magnet", "upgo") if settings.uses(name)]
    assert used == ["policy", "magnet"]
