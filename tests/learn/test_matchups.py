"""Matchups by their formulas: weights by evenness, running scores, advantages scaled in groups."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from made_up_unrolls import OneHead, unrolls_for

from lanista.errors import LanistaError
from lanista.learn.learner import Learner
from lanista.learn.losses import upgo_loss
from lanista.learn.matchups import Matchups, evenness
from lanista.learn.returns import normalise, normalise_by_group, unpadded
from lanista.learn.settings import Learning
from lanista.nets.settings import Network

SPEC = OneHead().spec
SMALL = Network(width=8, layers=1)


@pytest.mark.parametrize(
    ("score", "floor", "weight"),
    [(0.5, 0.5, 1.0), (0.0, 0.5, 0.5), (1.0, 0.5, 0.5), (0.25, 0.5, 0.875), (0.9, 0.0, 0.36)],
)
def test_a_matchup_counts_fully_at_one_half_and_the_floor_where_all_is_won_or_lost(
    score: float, floor: float, weight: float
) -> None:
    assert evenness(score, floor) == pytest.approx(weight)


def test_a_running_score_is_the_mean_of_all_matches_and_two_drawn_ones() -> None:
    matchups = Matchups()
    assert matchups.score("bot") == 0.5
    matchups.add({"bot": (30.0, 40.0)})
    matchups.add({"bot": (0.0, 20.0), "other": (0.0, 0.0)})
    assert matchups.score("bot") == pytest.approx((1 + 30) / 62)
    assert matchups.score("other") == 0.5


def test_after_a_thousand_matches_old_ones_are_forgotten() -> None:
    matchups = Matchups()
    matchups.add({"bot": (0.0, 998.0)})
    assert matchups.score("bot") == pytest.approx(1 / 1000)
    matchups.add({"bot": (100.0, 100.0)})
    assert matchups.score("bot") == pytest.approx(0.9 * 1 / 1000 + 0.1)
    matchups.add({"bot": (5000.0, 5000.0)})
    assert matchups.score("bot") == 1.0


def test_a_row_has_the_weight_of_its_mean_score_and_the_learner_itself_is_even() -> None:
    matchups = Matchups()
    seated = np.array([[1, 2], [2, 1], [0, 0], [2, 0]], np.int32)
    rows = matchups.renumbered(seated, ["strong", "weak"])
    matchups.add({"strong": (0.0, 5000.0), "weak": (5000.0, 5000.0)})
    np.testing.assert_allclose(matchups.weights(rows, 0.5), [1.0, 1.0, 1.0, 0.875])
    groups = matchups.groups(rows)
    assert groups[0] == groups[1]
    assert len(set(groups.tolist())) == 3


def test_a_number_stays_whose_it_is_when_the_chairs_are_given_to_others() -> None:
    matchups = Matchups()
    first = matchups.renumbered(np.array([[1], [2]], np.int32), ["a", "b"])
    later = matchups.renumbered(np.array([[1], [2], [0]], np.int32), ["c", "a"])
    assert later[1, 0] == first[0, 0]
    assert later[0, 0] not in first
    assert later[2, 0] == 0
    copy = Matchups()
    copy.load_state(matchups.state())
    again = copy.renumbered(np.array([[1], [2]], np.int32), ["a", "b"])
    assert again.tolist() == first.tolist()
    tensors = matchups.renumbered(torch.tensor([[1], [2]]), ["a", "b"])
    assert tensors.tolist() == first.tolist()


@pytest.mark.parametrize("off_policy", [False, True])
def test_each_matchup_is_normalised_by_itself_and_small_ones_by_the_whole(off_policy: bool) -> None:
    torch.manual_seed(1)
    group = torch.tensor([7] * 40 + [-3] * 25 + [9] * 4)[torch.randperm(69)]
    size = torch.where(group == 7, 100.0, 0.1)
    advantage, ratio = torch.randn(69) * size + size, torch.rand(69) if off_policy else None
    scaled = normalise_by_group(advantage, group, 5, ratio_t=ratio)
    for number in (7, -3):
        here = group == number
        own = None if ratio is None else ratio[here]
        wanted = normalise(advantage[here], unpadded(advantage[here]), ratio_t=own)
        torch.testing.assert_close(scaled[here], wanted, rtol=1e-4, atol=1e-5)
    common = normalise(advantage, unpadded(advantage), ratio_t=ratio)
    torch.testing.assert_close(scaled[group == 9], common[group == 9])


def learner_of(**settings: object) -> Learner:
    return Learner(SPEC, SMALL, Learning(**settings), updates=4, seed=2)  # type: ignore[arg-type]


def gradient_of(learner: Learner, unrolls: object) -> torch.Tensor:
    """Return the gradient of the policy's own loss."""
    inputs = learner._inputs(unrolls, {"policy": 1.0})  # type: ignore[arg-type]
    loss = learner._terms(inputs, {"policy": 1.0})["policy"].loss
    grads = torch.autograd.grad(loss, list(learner.policy.parameters()))
    return torch.cat([gradient.flatten() for gradient in grads])


@pytest.mark.parametrize("policy", ["ppo", "vtrace"])
def test_the_policy_gradient_is_the_sum_of_rows_each_times_its_weight(policy: str) -> None:
    from dataclasses import replace

    unrolls = unrolls_for(SPEC, 3)
    plain = {"policy": policy, "normalise_advantages": False}
    learner = learner_of(**plain, matchup_floor=0.5)
    rows = unrolls.decisions
    ones = [np.eye(rows, dtype=np.float32)[row] for row in range(rows)]
    parts = [gradient_of(learner, replace(unrolls, weight=one)) for one in ones]
    weight = np.linspace(0.5, 1, rows, dtype=np.float32)
    whole = gradient_of(learner, replace(unrolls, weight=weight))
    summed = sum(float(w) * part for w, part in zip(weight, parts, strict=True))
    torch.testing.assert_close(whole, summed, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(
        sum(parts), gradient_of(learner_of(**plain), unrolls), rtol=1e-4, atol=1e-6
    )


def test_upgo_is_weighted_row_by_row() -> None:
    torch.manual_seed(0)
    log_prob, behaviour, value, upgo = torch.randn(4, 6).unbind()
    weight, valid = torch.rand(6), torch.ones(6, dtype=torch.bool)
    loss = upgo_loss(log_prob, behaviour, value, upgo, valid, weight_t=weight).loss
    ratio = (log_prob - behaviour).exp().clamp(max=1)
    torch.testing.assert_close(loss, -(weight * ratio * (upgo - value) * log_prob).mean())


@pytest.mark.parametrize("setting", ["matchup_floor", "matchup_advantages"])
def test_data_that_does_not_name_opponents_is_refused(setting: str) -> None:
    learner = learner_of(**{setting: {"matchup_floor": 0.5, "matchup_advantages": 4}[setting]})
    with pytest.raises(LanistaError, match=f"learning.{setting} needs to know who the opponents"):
        learner.update(unrolls_for(SPEC, 3))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"matchup_floor": 1.5}, "matchup_floor is 1.5; give a number from 0 to 1"),
        ({"matchup_advantages": 1}, "give at least 2 decisions"),
        (
            {"matchup_advantages": 8, "normalise_advantages": False},
            "normalise_advantages false; give at least 2 decisions with normalise_advantages on",
        ),
        (
            {"matchup_floor": 0.5, "policy": "neurd", "critic_output": "q"},
            "matchup_floor goes with ppo or vtrace",
        ),
    ],
)
def test_matchup_settings_that_make_no_sense_are_refused(
    settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(LanistaError, match=sentence):
        Learning(**settings)  # type: ignore[arg-type]
