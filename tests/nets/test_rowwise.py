"""Row by row on the CPU against the formulas for tensors, in float64 and at the borders."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from lanista.games.contract import Field, Observation
from lanista.nets import encoders, fused_ops
from lanista.nets.distribution import ILLEGAL, Heads
from lanista.nets.encoders import FlatEncoder

SIZES = st.sampled_from([(1,), (5,), (33,), (3, 2), (2, 2, 2), (11, 11, 2, 2, 3), (4, 1, 3, 3)])
SEEDS = st.integers(0, 2**31)
SCALES = st.sampled_from([0.0, 1.0, 30.0, 1e4, 1e30])
JUST_BELOW_ONE = float(np.nextafter(np.float32(1), np.float32(0)))
ROWS = 7
quick = settings(deadline=None, max_examples=60)


def case(sizes: tuple[int, ...], seed: int, scale: float = 3.0) -> tuple[Heads, Tensor, Tensor]:
    """Draw logits and masks; the first row has no legal choice, the second one in each head."""
    heads, source = Heads(sizes), torch.Generator().manual_seed(seed)
    logits = torch.randn(ROWS, heads.choices, generator=source) * scale
    mask = torch.rand(ROWS, heads.choices, generator=source) < 0.5
    mask[:2] = False
    for start, size in zip(heads.offsets, sizes, strict=True):
        forced = start + torch.randint(size, (ROWS - 1,), generator=source)
        mask[torch.arange(1, ROWS), forced] = True
    return heads, logits, mask


def legal_actions(heads: Heads, mask: Tensor, seed: int) -> Tensor:
    """Draw actions that the mask allows; 0 where it allows none."""
    odds = torch.rand(mask.shape, generator=torch.Generator().manual_seed(seed + 1)) + 1
    parts = (odds * mask).split(heads.sizes, -1)
    return torch.stack([part.argmax(-1) for part in parts], -1)


def close(found: Tensor, wanted: Tensor) -> None:
    """Compare with numbers of float64, by the float32 that they are worth."""
    torch.testing.assert_close(found.double(), wanted, rtol=2e-5, atol=2e-6)


@quick
@given(SIZES, SEEDS, SCALES)
def test_log_probabilities_and_their_gradient_are_the_formulas(
    sizes: tuple[int, ...], seed: int, scale: float
) -> None:
    heads, logits, mask = case(sizes, seed, scale)
    force = torch.randn(logits.shape, generator=torch.Generator().manual_seed(seed))
    narrow, wide = logits.clone().requires_grad_(), logits.double().requires_grad_()
    assert fused_ops.by_row(narrow)
    assert not fused_ops.by_row(wide)
    found, wanted = heads.log_probs(narrow, mask), heads.log_probs(wide, mask)
    close(found, wanted)
    assert (found[~mask] == ILLEGAL).all()
    (found * force * mask).sum().backward()
    (wanted * force * mask).sum().backward()
    close(narrow.grad, wide.grad)
    assert (narrow.grad[~mask] == 0).all()


@quick
@given(SIZES, SEEDS, SCALES, st.sets(st.sampled_from(["log_probs", "chosen", "entropy"])))
def test_a_judgement_and_its_gradient_are_the_formulas(
    sizes: tuple[int, ...], seed: int, scale: float, parts: set[str]
) -> None:
    heads, logits, mask = case(sizes, seed, scale)
    actions = legal_actions(heads, mask, seed)
    narrow, wide = logits.clone().requires_grad_(), logits.double().requires_grad_()
    found, wanted = heads.judge(narrow, mask, actions), heads.judge(wide, mask, actions)
    totals = [torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)]
    for name in ("log_probs", "chosen", "entropy"):
        mine, theirs = getattr(found, name), getattr(wanted, name)
        close(mine, theirs)
        if name in parts:
            source = torch.Generator().manual_seed(seed + len(name))
            force = torch.randn(mine.shape, generator=source)
            # What no legal choice has an own part in is a constant.
            force = force * mask if name == "log_probs" else force
            totals = [totals[0] + (mine * force).sum(), totals[1] + (theirs * force).sum()]
    totals[0].backward()
    totals[1].backward()
    if parts:
        close(narrow.grad, wide.grad)
        assert (narrow.grad[:2] == 0).all()  # No choice, and one choice.


def test_an_illegal_action_is_as_unlikely_as_can_be_and_has_no_gradient() -> None:
    heads = Heads((3, 2))
    logits = torch.randn(1, 5, generator=torch.Generator().manual_seed(0)).requires_grad_()
    mask = torch.tensor([[True, False, True, True, True]])
    found = heads.judge(logits, mask, torch.tensor([[1, 0]]))
    assert found.chosen.item() == pytest.approx(ILLEGAL)
    found.chosen.sum().backward()
    assert (logits.grad[:, :3] == 0).all()
    assert (logits.grad[:, 3:] != 0).all()


@pytest.mark.parametrize("action", [-1, 3, 10**6])
def test_an_action_that_no_head_has_is_refused(action: int) -> None:
    heads, mask = Heads((3,)), torch.ones((1, 3), dtype=torch.bool)
    with pytest.raises(IndexError, match="choice"):
        heads.judge(torch.zeros(1, 3), mask, torch.tensor([[action]]))


@quick
@given(SIZES, SEEDS, SCALES, st.sampled_from([1.0, 0.5, 3.0]))
@example((11, 11, 2, 2, 3), 36154070, 1e4, 3.0)  # Two large logits that differ by little.
def test_choices_are_those_of_the_formula_from_the_same_uniforms(
    sizes: tuple[int, ...], seed: int, scale: float, temperature: float
) -> None:
    heads, logits, mask = case(sizes, seed, scale)
    source = torch.Generator().manual_seed(seed)
    uniforms = torch.rand((ROWS, len(sizes)), generator=source)
    uniforms[2], uniforms[3] = 0.0, JUST_BELOW_ONE
    actions, log_prob = heads.choose(logits, mask, uniforms, temperature)
    assert actions.dtype == torch.int32
    assert heads.select(mask, actions)[1:].all()
    assert (actions[0] == 0).all()
    said = heads.log_probs(logits.double(), mask, temperature)
    close(log_prob, heads.joint(said, actions))
    # The same but for draws on the very border between two choices.
    wanted = heads.sample(said, uniforms.double())
    for row, head in (actions != wanted).nonzero().tolist():
        offset, size = heads.offsets[head], sizes[head]
        running = said[row, offset : offset + size].exp().cumsum(0)
        assert (running - uniforms[row, head]).abs().min() < 1e-6


@quick
@given(SIZES, SEEDS, SCALES)
def test_the_likeliest_is_the_first_of_equals(
    sizes: tuple[int, ...], seed: int, scale: float
) -> None:
    heads, logits, mask = case(sizes, seed, scale)
    logits = logits.round()  # So that some are equal.
    actions, _ = heads.choose(logits, mask, None)
    assert torch.equal(actions.long(), heads.mode(logits, mask))


def test_a_choice_that_cannot_be_is_never_drawn() -> None:
    heads = Heads((4,))
    logits = torch.tensor([[-1e30, 0.0, -200.0, -1e30]]).expand(3, 4)
    mask = torch.ones((3, 4), dtype=torch.bool)
    actions, _ = heads.choose(logits, mask, torch.tensor([[0.0], [0.5], [JUST_BELOW_ONE]]))
    assert (actions == 1).all()


def test_a_logit_that_is_no_number_gives_a_log_probability_that_is_none() -> None:
    heads, mask = Heads((3,)), torch.tensor([[False, True, True]])
    logits = torch.tensor([[0.0, math.nan, 1.0]])
    actions, log_prob = heads.choose(logits, mask, torch.tensor([[0.5]]))
    assert mask[0, actions[0, 0]]
    assert log_prob.isnan().all()
    assert heads.judge(logits, mask, actions).entropy.isnan().all()


def test_a_row_does_not_depend_on_its_company() -> None:
    heads, logits, mask = case((11, 11, 2, 2, 3), 5)
    actions = legal_actions(heads, mask, 5)
    together = heads.judge(logits, mask, actions)
    for row in range(ROWS):
        one = slice(row, row + 1)
        alone = heads.judge(logits[one], mask[one], actions[one])
        assert all(torch.equal(a[one], b) for a, b in zip(together, alone, strict=True))


OBSERVATION = Observation(
    (
        Field("kind", 3, classes=4),
        Field("count", 2, scale=7.0),
        Field("mark", 2, classes=2),
        Field("plain", 1),
    )
)


def encoded(dtype: torch.dtype, seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return columns of the formula, row by row, and row by row under autocast."""
    encoder = FlatEncoder(OBSERVATION)
    found = encoder(seen.to(dtype))
    with torch.autocast("cpu", torch.bfloat16):
        half = encoder(seen.to(dtype))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "_BY_ROW", ())
        return encoder(seen.to(dtype)), found, half


@pytest.mark.parametrize("dtype", encoders._BY_ROW)
def test_columns_are_the_formulas_to_the_last_bit(dtype: torch.dtype) -> None:
    source = torch.Generator().manual_seed(1)
    seen = torch.randint(0, 6, (3, 9, 8), generator=source)  # Some values beyond their classes.
    wanted, found, half = encoded(dtype, seen)
    assert torch.equal(found, wanted)
    assert half.dtype == torch.bfloat16
    assert torch.equal(half, wanted.to(torch.bfloat16))


def test_columns_of_floats_ask_for_the_very_value() -> None:
    seen = torch.full((5, 8), 1.0)
    seen[0, 0], seen[1, 0], seen[2, 0], seen[3, 3] = 1.5, -1.0, math.nan, math.inf
    seen[4, 3] = math.nan
    wanted, found, half = encoded(torch.float32, seen)
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
    wanted = wanted.to(torch.bfloat16)
    torch.testing.assert_close(half, wanted, rtol=0, atol=0, equal_nan=True)


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=50))
def test_numbers_are_narrowed_as_torch_does(numbers: list[float]) -> None:
    encoder = FlatEncoder(Observation((Field("x", 1, scale=3.0),), "float32"))
    seen = torch.tensor(numbers)[:, None]
    with torch.autocast("cpu", torch.bfloat16):
        half = encoder(seen)
    assert torch.equal(half, encoder(seen).to(torch.bfloat16))
