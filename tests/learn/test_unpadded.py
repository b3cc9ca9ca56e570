"""A mask that is known to have no padding, against the same mask of ones that has to be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from lanista.learn import losses, regularisers, returns
from lanista.learn.losses import Term
from lanista.nets.distribution import Heads

HEADS, ROWS = Heads((3, 2)), 57


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


NUMBERS, OTHERS = drawn(ROWS), drawn(ROWS, 2)[:, 0].contiguous()
ACTIONS = torch.stack([torch.arange(ROWS) % 3, torch.arange(ROWS) % 2], 1)
LEGAL = torch.ones(ROWS, 5, dtype=torch.bool)

LOSSES: dict[str, Callable[[Tensor, Tensor, Tensor], Term]] = {
    "policy_gradient": lambda lp, one, ok: losses.policy_gradient(one, NUMBERS, ok),
    "ppo_clip": lambda lp, one, ok: losses.ppo_clip(one, OTHERS, NUMBERS, ok),
    "upgo": lambda lp, one, ok: losses.upgo_loss(one, OTHERS, NUMBERS, OTHERS, ok),
    "value": lambda lp, one, ok: losses.value_loss(one, NUMBERS, ok, old_value_t=OTHERS, clip=0.1),
    "q": lambda lp, one, ok: losses.q_loss(HEADS, lp, ACTIONS, NUMBERS, ok),
    "outcome": lambda lp, one, ok: losses.outcome_loss(lp[:, :3], ACTIONS[:, 0], ok),
    "imitation": lambda lp, one, ok: losses.imitation(HEADS, lp, ACTIONS, LEGAL, ok),
    "entropy": lambda lp, one, ok: losses.entropy_bonus(HEADS.entropy(lp, LEGAL), ok),
    "all_action": lambda lp, one, ok: losses.all_action(HEADS, lp, drawn(ROWS, 5), LEGAL, ok),
    "neurd": lambda lp, one, ok: losses.neurd(HEADS, lp, drawn(ROWS, 5), LEGAL, ok),
    "magnet": lambda lp, one, ok: regularisers.magnet(HEADS, lp, LEGAL, ok),
    "behaviour": lambda lp, one, ok: regularisers.behaviour_kl_sampled(one, OTHERS, ok),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_its_gradient_and_its_statistics_are_those_of_a_mask_of_ones(name: str) -> None:
    found = []
    for valid in (returns.unpadded(NUMBERS), torch.ones(ROWS, dtype=torch.bool)):
        logits = drawn(ROWS, 5).requires_grad_()
        log_probs = HEADS.log_probs(logits, LEGAL)
        term = LOSSES[name](log_probs, HEADS.joint(log_probs, ACTIONS), valid)
        term.loss.backward()
        assert logits.grad is not None
        found.append({"loss": term.loss, "gradient": logits.grad, **term.statistics})
    known, read = found
    assert known.keys() == read.keys()
    for key in known:
        assert torch.equal(known[key], read[key]), key


def test_normalised_and_kept_advantages_are_those_of_a_mask_of_ones() -> None:
    known, read = returns.unpadded(NUMBERS), torch.ones(ROWS, dtype=torch.bool)
    assert torch.equal(returns.normalise(NUMBERS, known), returns.normalise(NUMBERS, read))
    kept = [returns.keep_largest(NUMBERS, valid, 0.3) for valid in (known, read)]
    assert torch.equal(*kept)
    assert not returns.is_unpadded(kept[0])


def test_only_what_was_made_so_is_known_to_have_no_padding() -> None:
    mask = returns.unpadded(torch.zeros(4, 3))
    assert mask.shape == (4, 3)
    assert bool(mask.all())
    assert all(returns.is_unpadded(part) for part in (mask, mask[1:], *torch.split(mask, [1, 3])))
    for read in (torch.ones(4, 3, dtype=torch.bool), torch.zeros(0, dtype=torch.bool), ~mask):
        assert not returns.is_unpadded(read)


def test_a_mask_without_padding_cannot_be_written_over() -> None:
    mask = returns.unpadded(NUMBERS)
    with pytest.raises(RuntimeError):
        mask &= NUMBERS > 0
    assert bool(returns.unpadded(NUMBERS).all())


def test_the_mean_over_no_rows_is_0_also_where_none_is_padded() -> None:
    nothing = torch.zeros(0)
    assert returns.mean_over(nothing, returns.unpadded(nothing)).item() == 0.0


@pytest.mark.parametrize("name", LOSSES)
def test_only_the_policy_gets_a_gradient_and_no_statistic_carries_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Returns, advantages, old values and the policy that acted are what they are."""
    told = {each: globals()[each].clone().requires_grad_() for each in ("NUMBERS", "OTHERS")}
    for each, tensor in told.items():
        monkeypatch.setitem(globals(), each, tensor)
    logits = drawn(ROWS, 5).requires_grad_()
    log_probs = HEADS.log_probs(logits, LEGAL)
    valid = torch.ones(ROWS, dtype=torch.bool)
    term = LOSSES[name](log_probs, HEADS.joint(log_probs, ACTIONS), valid)
    term.loss.backward()
    assert [each for each, tensor in told.items() if tensor.grad is not None] == []
    assert [key for key, value in term.statistics.items() if value.requires_grad] == []
    assert logits.grad is not None
