"""The policies a learner is held to: the anchor stays, the others move when they should."""

from __future__ import annotations

import copy
import hashlib
import math
from typing import Any

import pytest
import torch
from small_runs import RECURRENT, VALUE, kuhn_run, leduc_run
from torch import Tensor

from lanista.errors import LanistaError
from lanista.learn.references import CURRENT, PREVIOUS, TARGET
from lanista.learn.settings import Learning
from lanista.nets.policy import Policy


def digest(policy: Policy) -> str:
    """Return the SHA-256 of all weights."""
    weights = policy.state_dict()
    return hashlib.sha256(b"".join(w.numpy().tobytes() for w in weights.values())).hexdigest()


@pytest.mark.parametrize("term", ["anchor_reverse", "anchor_forward"])
def test_the_anchor_is_the_policy_the_run_began_from_and_stays(term: str) -> None:
    start = kuhn_run(Learning(), seed=9).learner.policy
    settings = Learning(terms={**VALUE, term: 0.1}, lr=0.02, average=0.5)
    run = kuhn_run(settings, start=start)
    began = digest(start)
    assert digest(run.learner.policy) == began
    for n in range(4):
        run.train(2)
        run.learner.evaluated(float(n))
        assert digest(run.learner.references.policies["anchor"]) == began
    assert digest(run.learner.policy) != began
    resumed = kuhn_run(settings, start=start).learner
    resumed.load_state(copy.deepcopy(run.learner.state()))
    assert digest(resumed.references.policies["anchor"]) == began


def test_changing_the_policy_given_as_anchor_afterwards_changes_nothing() -> None:
    start = kuhn_run(Learning(), seed=9).learner.policy
    run = kuhn_run(Learning(terms={**VALUE, "anchor_forward": 0.1}), start=start)
    before = digest(run.learner.references.policies["anchor"])
    with torch.no_grad():
        start.head.bias.add_(1.0)
    assert digest(run.learner.references.policies["anchor"]) == before


def test_the_reference_is_the_policy_of_its_last_renewal() -> None:
    run = kuhn_run(Learning(terms={**VALUE, "reference": 0.1}, reference_every=3, lr=0.02))
    digests = [digest(run.learner.policy)]
    for _ in range(8):
        run.train(1)
        digests.append(digest(run.learner.policy))
        done = run.learner.update_count - 1
        held = digest(run.learner.references.policies["reference"])
        assert held == digests[done - done % 3]
    assert len(set(digests)) == 9


@pytest.mark.parametrize("pull", ["min", "mean", "softmin"])
@pytest.mark.parametrize("keeps", ["recent", "best", "diverse"])
def test_every_portfolio_runs_past_its_size(keeps: Any, pull: Any) -> None:
    settings = Learning(
        terms={**VALUE, "portfolio": 0.2},
        portfolio_size=3,
        portfolio_every=2,
        portfolio_keeps=keeps,
        portfolio_pull=pull,
        lr=0.02,
    )
    run = leduc_run(settings)
    scores = [3.0, 9.0, 1.0, 7.0, 8.0, 2.0, 0.0]
    for score in scores:
        for log in run.train(2):
            kls = [value for name, value in log.items() if name.startswith("portfolio/")]
            assert kls
            assert all(math.isfinite(value) for value in kls)
            assert log["portfolio/loss"] >= -1e-6
        run.learner.evaluated(score)
    kept = [reference.step for reference in run.learner.references.portfolio.references]
    held = {name for name in run.learner.references.policies if name.startswith("update-")}
    assert held == {f"update-{step}" for step in kept}
    assert len(kept) == 3
    # The snapshot before update 2n was scored after update 2n: scores[n - 1] was known to it.
    expected = {"recent": [8, 10, 12], "best": [4, 8, 10], "diverse": None}[keeps]
    assert expected is None or kept == expected
    assert keeps != "diverse" or kept[-1] == 12


def test_a_diverse_portfolio_keeps_the_snapshots_farthest_apart() -> None:
    settings = Learning(
        terms={**VALUE, "portfolio": 0.0001},
        portfolio_size=2,
        portfolio_every=1,
        portfolio_keeps="diverse",
        lr=0.0,
    )
    run = kuhn_run(settings)
    for lean in (0.0, 3.0, 0.1, 0.2):
        with torch.no_grad():
            run.learner.policy.head.bias.copy_(torch.tensor([0.0, lean]))
        run.train(1)
    kept = [reference.step for reference in run.learner.references.portfolio.references]
    assert kept == [1, 3]


def test_a_best_portfolio_without_scores_is_refused_with_a_remedy() -> None:
    settings = Learning(
        terms={**VALUE, "portfolio": 0.1}, portfolio_every=2, portfolio_keeps="best"
    )
    with pytest.raises(LanistaError, match="choose 'recent'"):
        kuhn_run(settings).train(3)


def test_rnads_references_move_by_its_schedule() -> None:
    average, size = 0.25, 3
    run = kuhn_run(
        Learning(
            terms=VALUE,
            policy="neurd",
            eta=0.2,
            fixed_point=(size,),
            target_average=average,
            lr=0.02,
        )
    )
    policies = run.learner.references.policies

    def flat(policy: Policy) -> Tensor:
        return torch.cat([p.detach().flatten() for p in policy.parameters()]).double()

    target = current = previous = flat(run.learner.policy)
    for update in range(10):
        if update and update % size == 0:
            previous, current = current, target
        run.train(1)
        target = (1 - average) * target + average * flat(run.learner.policy)
        for name, expected in ((TARGET, target), (CURRENT, current), (PREVIOUS, previous)):
            torch.testing.assert_close(flat(policies[name]), expected, rtol=1e-5, atol=1e-6)


def test_a_moving_magnet_follows_the_weights_after_every_update() -> None:
    share = 0.2
    terms = {**VALUE, "policy": 1.0, "reference": 0.1}
    run = kuhn_run(Learning(terms=terms, reference_average=share, reference_every=2, lr=0.02))

    def flat(policy: Policy) -> Tensor:
        return torch.cat([p.detach().flatten() for p in policy.parameters()]).double()

    expected = flat(run.learner.policy)
    for _ in range(5):
        run.train(1)
        expected = (1 - share) * expected + share * flat(run.learner.policy)
        found = flat(run.learner.references.policies["reference"])
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("unroll_length", [2, 8])
def test_a_recurrent_reference_remembers_its_own_match_from_the_start(unroll_length: int) -> None:
    anchor = leduc_run(Learning(), RECURRENT, seed=9).learner.policy
    with torch.no_grad():
        anchor.head.weight.mul_(100.0)
    settings = Learning(terms={**VALUE, "anchor_forward": 0.1, "reference": 0.1}, lr=0.02)
    run = leduc_run(settings, RECURRENT, start=anchor, unroll_length=unroll_length)
    run.train(2)
    unrolls = run.play(30)
    known = run.learner._inputs(unrolls, dict(settings.terms))
    found = known.references["anchor"]
    rows = sorted(range(unrolls.decisions), key=lambda row: int(unrolls.turn[row]))
    memory: dict[tuple[int, int], Tensor] = {}
    for row in rows:
        place = int(unrolls.match[row]), int(unrolls.seat[row])
        state = memory.get(place, torch.zeros(1, anchor.state_size))
        seen, legal = torch.from_numpy(unrolls.observation[[row]]), unrolls.mask[[row]]
        with torch.no_grad():
            logits, _, memory[place] = anchor.step(seen, state)
        expected = anchor.heads.log_probs(logits, torch.from_numpy(legal))
        torch.testing.assert_close(found[[row]], expected, rtol=1e-4, atol=1e-5)


def test_references_learn_nothing_themselves() -> None:
    run = kuhn_run(
        Learning(terms={**VALUE, "reference": 0.1, "portfolio": 0.1}, eta=0.2, policy="ppo")
    )
    run.train(2)
    parameters = [
        p for policy in run.learner.references.policies.values() for p in policy.parameters()
    ]
    assert len(run.learner.references.policies) == 5
    assert not any(p.requires_grad for p in parameters)
