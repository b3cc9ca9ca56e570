"""Networks that torch.compile translated: the same weights under the same names."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small_runs import SMALL, kuhn_run, leduc_run

from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.policy import Policy

TERMS = {"policy": 1.0, "value": 0.5, "entropy": 0.1, "reference": 0.1}


def names(learner: Learner) -> list[str]:
    return [*learner.policy.state_dict(), *learner.critic.state_dict()]


def test_compiling_renames_no_weights_and_is_left_out_of_copies() -> None:
    plain = kuhn_run(Learning(terms=TERMS)).learner
    compiled = kuhn_run(Learning(terms=TERMS, compile=True)).learner
    assert names(compiled) == names(plain)
    assert compiled.policy.torso._compiled_call_impl is not None
    assert compiled.references.policies["reference"].torso._compiled_call_impl is None
    fresh = Policy(compiled.spec, SMALL)
    fresh.load_state_dict(compiled.policy.state_dict())


@pytest.mark.slow
@pytest.mark.parametrize("told", [{}, {"precision": "bf16", "critic_sees": "seat"}, {"shards": 2}])
def test_a_compiled_learner_learns_what_a_plain_one_does(told: dict[str, Any]) -> None:
    torch._dynamo.reset()
    plain = leduc_run(Learning(terms=TERMS, reference_every=2, lr=0.01, **told))
    compiled = leduc_run(Learning(terms=TERMS, reference_every=2, lr=0.01, compile=True, **told))
    compiled.learner.threads.count = told.get("shards", 1)
    begun = [parameter.detach().clone() for parameter in plain.learner.parameters]
    for matches in (40, 50, 64):
        unrolls = plain.play(matches)
        for run in (plain, compiled):
            run.learner.update(unrolls)
    tolerance = 2e-3 if "precision" in told else 1e-5
    for one, other in zip(plain.learner.parameters, compiled.learner.parameters, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=tolerance)
    moved = [(a - b).abs().max() for a, b in zip(begun, plain.learner.parameters, strict=True)]
    assert max(moved) > 5e-3
    compiled.train(1)
    compiled.learner.close()
