"""KL terms: direction, portfolio reductions, estimators. Gradients and padding: test_losses."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from torch import Tensor
from unroll_cases import Choices, choices, choices_for

from lanista.learn import regularisers
from lanista.nets.distribution import Heads


def slow_kl(case: Choices, log_p: Tensor, log_q: Tensor) -> float:
    total = 0.0
    for t, b in case.valid.nonzero().tolist():
        for a in range(case.heads.choices):
            if case.mask[t, b, a]:
                p, q = log_p[t, b, a].item(), log_q[t, b, a].item()
                total += math.exp(p) * (p - q)
    return total / int(case.valid.sum())


@given(choices())
def test_the_direction_of_each_kl_is_the_one_in_its_name(case: Choices) -> None:
    pi, ref = case.log_probs, case.other_log_probs
    common = (case.heads, pi, ref, case.mask, case.valid)
    ahead, back = slow_kl(case, ref, pi), slow_kl(case, pi, ref)
    assert regularisers.forward_kl(*common).loss.item() == pytest.approx(ahead, abs=1e-9)
    assert regularisers.reverse_kl(*common).loss.item() == pytest.approx(back, abs=1e-9)
    assert regularisers.behaviour_kl(*common).loss.item() == pytest.approx(ahead, abs=1e-9)
    for forward, expected in ((False, back), (True, ahead)):
        term = regularisers.reference_kl(*common, forward=forward)
        assert term.loss.item() == pytest.approx(expected, abs=1e-9)
        logged = {name: number.sum().item() for name, number in term.statistics.items()}
        assert logged == pytest.approx(
            {"kl_from_reference": ahead, "kl_to_reference": back}, abs=1e-9
        )


@given(choices())
def test_the_magnet_is_uniform_over_legal_choices(case: Choices) -> None:
    uniform = torch.zeros_like(case.logits)
    for t, b in case.valid.nonzero().tolist():
        for start, size in zip(case.heads.offsets, case.heads.sizes, strict=True):
            part = slice(start, start + size)
            uniform[t, b, part] = -math.log(int(case.mask[t, b, part].sum()))
    found = regularisers.magnet(case.heads, case.log_probs, case.mask, case.valid).loss.item()
    assert found == pytest.approx(slow_kl(case, case.log_probs, uniform), abs=1e-9)


@given(choices())
def test_a_portfolio_takes_the_nearest_all_or_a_soft_choice(case: Choices) -> None:
    pi = case.log_probs
    logits = [case.others, case.logits * 0.9, case.numbers]
    references = torch.stack([case.heads.log_probs(each, case.mask) for each in logits])
    kl = [slow_kl(case, pi, ref) for ref in references]
    common = (case.heads, pi, references, case.mask, case.valid)
    nearest = regularisers.portfolio_kl(*common)
    assert nearest.loss.item() == pytest.approx(min(kl), abs=1e-9)
    assert kl[int(nearest.statistics["picked"])] == pytest.approx(min(kl), abs=1e-9)
    mean = regularisers.portfolio_kl(*common, pull="mean")
    assert mean.loss.item() == pytest.approx(sum(kl) / 3, abs=1e-9)
    soft = regularisers.portfolio_kl(*common, pull="softmin", temperature=0.5)
    weights = [math.exp(-(each - min(kl)) / 0.5) for each in kl]
    expected = sum(w * k for w, k in zip(weights, kl, strict=True)) / sum(weights)
    assert soft.loss.item() == pytest.approx(expected, abs=1e-9)
    assert soft.statistics["kl"].tolist() == pytest.approx(kl, abs=1e-9)
    assert soft.statistics["weight"].sum().item() == pytest.approx(1.0)
    ahead = regularisers.portfolio_kl(*common, forward=True, pull="mean").loss.item()
    slow = sum(slow_kl(case, ref, pi) for ref in references) / 3
    assert ahead == pytest.approx(slow, abs=1e-9)


def test_only_the_picked_reference_pulls() -> None:
    case = choices_for(torch.ones(2, 2, dtype=torch.bool), (4,), 3)
    near = case.heads.log_probs(case.logits + 0.1 * case.numbers, case.mask)
    references = torch.stack([case.other_log_probs, near])
    grads = []
    for reference in (references, near[None]):
        logits = case.logits.clone().requires_grad_(True)
        pi = case.heads.log_probs(logits, case.mask)
        term = regularisers.portfolio_kl(case.heads, pi, reference, case.mask, case.valid)
        term.loss.backward()
        grads.append(logits.grad)
    assert torch.equal(grads[0], grads[1])


def test_a_reference_gets_no_gradient() -> None:
    case = choices_for(torch.ones(2, 2, dtype=torch.bool), (4,), 3)
    others = case.others.clone().requires_grad_(True)
    logits = case.logits.clone().requires_grad_(True)
    pi, ref = (case.heads.log_probs(x, case.mask) for x in (logits, others))
    common = (case.heads, pi, ref, case.mask, case.valid)
    for loss in (regularisers.forward_kl, regularisers.reverse_kl, regularisers.reference_kl):
        loss(*common).loss.backward(retain_graph=True)
    assert others.grad is None


def test_the_sampled_behaviour_kl_is_right_on_average_with_its_gradient() -> None:
    heads = Heads((4,))
    mask = torch.ones(1, 4, 4, dtype=torch.bool)
    mu = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64).log()
    logits = torch.tensor([0.5, 0.1, -0.3, 0.2], dtype=torch.float64)
    grads, values = [], []
    for exact in (True, False):
        x = logits.clone().requires_grad_(True)
        pi = heads.log_probs(x.expand(1, 4, 4), mask)
        if exact:
            valid = torch.ones(1, 4)
            loss = regularisers.behaviour_kl(heads, pi, mu.expand(1, 4, 4), mask, valid).loss
        else:
            parts = [
                regularisers.behaviour_kl_sampled(pi[:, :1, a], mu[a].view(1, 1), torch.ones(1, 1))
                for a in range(4)
            ]
            loss = torch.stack([mu[a].exp() * parts[a].loss for a in range(4)]).sum()
        loss.backward()
        values.append(loss.item())
        grads.append(x.grad)
    assert values[0] == pytest.approx(values[1])
    torch.testing.assert_close(grads[0], grads[1])


def test_an_unknown_pull_and_a_flat_portfolio_are_refused() -> None:
    case = choices_for(torch.ones(2, 2, dtype=torch.bool), (4,), 3)
    pi = case.log_probs
    with pytest.raises(ValueError, match="softmin"):
        regularisers.portfolio_kl(case.heads, pi, pi[None], case.mask, case.valid, pull="max")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="K, T, B"):
        regularisers.portfolio_kl(case.heads, pi, pi, case.mask, case.valid)


def test_the_teachers_cross_entropy_counts_labelled_heads_alone() -> None:
    """By hand: two rows, heads of 2 and 3 choices; the second row has one label."""
    heads = Heads((2, 3))
    logits = torch.tensor([[0.0, 1.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0, 5.0]])
    mask = torch.tensor([[True] * 5, [True, True, True, True, False]])
    log_probs = heads.log_probs(logits, mask).requires_grad_()
    labels = torch.tensor([[1, 0], [-1, 1]])
    term = regularisers.teacher_cross_entropy(heads, log_probs, labels, mask, torch.ones(2))
    first = -math.log(math.e / (1 + math.e)) - math.log(math.e**2 / (math.e**2 + 1 + math.e))
    second = -math.log(1 / 2)
    assert float(term.loss.detach()) == pytest.approx((first + second) / 2, rel=1e-6)
    assert float(term.statistics["agreement"]) == pytest.approx(2 / 3)
    term.loss.backward()
    assert torch.isfinite(log_probs.grad).all()
    assert (log_probs.grad[1, :2] == 0).all()
