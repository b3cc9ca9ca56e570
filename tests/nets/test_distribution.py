"""Masked factored distributions against twins in plain floats, one head at a time."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lanista.nets.distribution import ILLEGAL, Heads

SIZES = st.sampled_from([(1,), (5,), (3, 2), (2, 2, 2), (11, 11, 2, 2, 3), (4, 1, 3, 3)])
SEEDS = st.integers(0, 2**31)
quick = settings(deadline=None, max_examples=40)
# A second thread costs more than it brings on tensors this small.
torch.set_num_threads(1)


def case(sizes: tuple[int, ...], seed: int, scale: float = 3.0) -> tuple[Heads, Tensor, Tensor]:
    """Draw logits `[6, choices]` and masks with at least one legal choice in each head."""
    heads = Heads(sizes)
    source = torch.Generator().manual_seed(seed)
    logits = torch.randn(6, heads.choices, generator=source, dtype=torch.float64) * scale
    mask = torch.rand(6, heads.choices, generator=source) < 0.5
    for start, size in zip(heads.offsets, sizes, strict=True):
        forced = start + torch.randint(size, (6,), generator=source)
        mask[torch.arange(6), forced] = True
    return heads, logits, mask


def slow_log_probs(logits: list[float], mask: list[bool]) -> list[float]:
    legal = [math.exp(x) for x, ok in zip(logits, mask, strict=True) if ok]
    return [x - math.log(sum(legal)) if ok else ILLEGAL for x, ok in zip(logits, mask, strict=True)]


def by_head(heads: Heads, row: Tensor) -> list[list[float]]:
    return [part.tolist() for part in row.split(heads.sizes)]


@quick
@given(SIZES, SEEDS)
def test_log_probs_are_the_softmax_over_legal_choices(sizes: tuple[int, ...], seed: int) -> None:
    heads, logits, mask = case(sizes, seed)
    found = heads.log_probs(logits, mask)
    for row in range(len(logits)):
        parts = zip(by_head(heads, logits[row]), by_head(heads, mask[row]), strict=True)
        expected = [x for logit, ok in parts for x in slow_log_probs(logit, ok)]
        torch.testing.assert_close(found[row], torch.tensor(expected, dtype=torch.float64))
    assert (found.exp()[~mask] == 0).all()


@quick
@given(SIZES, SEEDS)
def test_entropy_and_kl_are_their_sums(sizes: tuple[int, ...], seed: int) -> None:
    heads, logits, mask = case(sizes, seed)
    _, others, _ = case(sizes, seed + 1)
    log_p, log_q = heads.log_probs(logits, mask), heads.log_probs(others, mask)
    entropy, kl = heads.entropy(log_p, mask), heads.kl(log_p, log_q, mask)
    assert entropy.shape == kl.shape == (6, len(sizes))
    for row in range(6):
        parts = [by_head(heads, each[row]) for each in (log_p, log_q, mask)]
        for head, (p, q, ok) in enumerate(zip(*parts, strict=True)):
            pairs = [(a, b) for a, b, legal in zip(p, q, ok, strict=True) if legal]
            slow_entropy = -sum(math.exp(a) * a for a, _ in pairs)
            slow_kl = sum(math.exp(a) * (a - b) for a, b in pairs)
            assert entropy[row, head].item() == pytest.approx(slow_entropy, abs=1e-12)
            assert kl[row, head].item() == pytest.approx(slow_kl, abs=1e-12)
    assert (kl >= -1e-12).all()
    assert heads.kl(log_p, log_p, mask).abs().max() == 0


@quick
@given(SIZES, SEEDS)
def test_select_joint_sum_and_spread_agree_with_slices(sizes: tuple[int, ...], seed: int) -> None:
    heads, logits, mask = case(sizes, seed)
    log_probs = heads.log_probs(logits, mask)
    actions = heads.mode(log_probs, mask)
    chosen = heads.select(log_probs, actions)
    parts = log_probs.split(sizes, -1)
    for head, part in enumerate(parts):
        expected = part[torch.arange(6), actions[:, head]]
        assert torch.equal(chosen[:, head], expected)
        assert torch.equal(expected, part.max(-1).values)
        assert torch.equal(heads.sum(logits)[:, head], logits.split(sizes, -1)[head].sum(-1))
        spread = heads.spread(chosen).split(sizes, -1)[head]
        assert torch.equal(spread, chosen[:, head, None].expand(-1, sizes[head]))
    torch.testing.assert_close(heads.joint(log_probs, actions), chosen.sum(-1))


@quick
@given(SIZES, SEEDS)
def test_one_legal_choice_adds_nothing_and_has_no_gradient(
    sizes: tuple[int, ...], seed: int
) -> None:
    heads, logits, _ = case(sizes, seed)
    actions = torch.stack([torch.full((6,), size - 1) for size in sizes], -1)
    mask = torch.zeros(logits.shape, dtype=torch.bool)
    mask.scatter_(-1, actions + torch.tensor(heads.offsets), True)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        given_logits = (logits * 100).to(dtype).requires_grad_(True)
        log_probs = heads.log_probs(given_logits, mask)
        assert (log_probs[mask] == 0).all()
        assert (heads.joint(log_probs, actions) == 0).all()
        assert (heads.entropy(log_probs, mask) == 0).all()
        assert torch.equal(heads.sample(log_probs, torch.rand(6, len(sizes))), actions)
        uniform = heads.uniform_log_probs(mask, log_probs.dtype)
        total = heads.joint(log_probs, actions).sum() + heads.entropy(log_probs, mask).sum()
        (total + heads.kl(log_probs, uniform, mask).sum()).backward()
        assert (given_logits.grad == 0).all()


@quick
@given(SIZES, SEEDS, st.sampled_from([1.0, 1e3, 1e30]))
def test_every_mask_gives_finite_numbers_and_gradients(
    sizes: tuple[int, ...], seed: int, scale: float
) -> None:
    heads, logits, mask = case(sizes, seed, scale)
    mask[0] = False  # Padding may have no legal choice at all.
    logits = logits.float().requires_grad_(True)
    _, others, _ = case(sizes, seed + 1, min(scale, 1e3))
    log_p = heads.log_probs(logits, mask)
    log_q = heads.log_probs(others.float(), mask)
    terms = [heads.entropy(log_p, mask), heads.kl(log_p, log_q, mask), heads.kl(log_q, log_p, mask)]
    assert all(term.isfinite().all() for term in terms)
    assert all((term[0] == 0).all() for term in terms)
    torch.stack([term.sum() for term in terms]).sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert (logits.grad[~mask] == 0).all()


@quick
@given(SIZES, SEEDS, st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
def test_samples_are_legal_at_both_ends_of_the_unit_interval(
    sizes: tuple[int, ...], seed: int, dtype: torch.dtype
) -> None:
    heads, logits, mask = case(sizes, seed)
    log_probs = heads.log_probs(logits, mask).to(dtype)
    below_one = math.nextafter(1.0, 0.0)  # Rounds to 1 in float32 and bfloat16.
    for uniform in (0.0, 0.5, 0.999999, below_one):
        uniforms = torch.full((6, len(sizes)), uniform, dtype=torch.float64)
        actions = heads.sample(log_probs, uniforms)
        assert heads.select(mask, actions).all()


def test_a_sample_is_the_choice_whose_stretch_of_the_unit_interval_was_hit() -> None:
    heads = Heads((3, 2))
    probs = torch.tensor([0.25, 0.0, 0.75, 0.5, 0.5], dtype=torch.float64)
    mask = probs > 0
    log_probs = heads.log_probs(probs.log().masked_fill(~mask, 0.0), mask)
    for first, second, expected in [
        (0.0, 0.49, [0, 0]),
        (0.24, 0.51, [0, 1]),
        (0.26, 0.0, [2, 0]),
        (0.99, 0.99, [2, 1]),
    ]:
        assert heads.sample(log_probs, torch.tensor([first, second])).tolist() == expected


def test_sampled_frequencies_are_the_probabilities() -> None:
    heads = Heads((4,))
    mask = torch.tensor([True, False, True, True])
    log_probs = heads.log_probs(torch.tensor([0.3, 9.0, -1.0, 1.2]), mask)
    grid = (torch.arange(10_000) + 0.5)[:, None] / 10_000
    actions = heads.sample(log_probs.expand(10_000, 4), grid)
    shares = torch.bincount(actions[:, 0], minlength=4) / 10_000
    torch.testing.assert_close(shares, log_probs.exp(), rtol=0, atol=2e-4)


def test_a_low_temperature_comes_near_the_mode_and_a_high_one_near_uniform() -> None:
    heads, logits, mask = case((5,), 1)
    log_probs = heads.log_probs(logits, mask)
    cold = heads.log_probs(logits, mask, 1e-3)
    hot = heads.log_probs(logits, mask, torch.tensor(1e6))
    mode = heads.mode(log_probs, mask)
    torch.testing.assert_close(heads.joint(cold, mode), torch.zeros(6, dtype=torch.float64))
    torch.testing.assert_close(hot, heads.uniform_log_probs(mask, torch.float64), atol=1e-4, rtol=0)


def test_half_precision_is_widened_and_float64_kept() -> None:
    heads, logits, mask = case((3, 2), 2)
    assert heads.log_probs(logits.to(torch.bfloat16), mask).dtype is torch.float32
    assert heads.log_probs(logits, mask).dtype is torch.float64


def test_leading_axes_are_free() -> None:
    heads, logits, mask = case((3, 2), 4)
    flat = heads.log_probs(logits, mask)
    cube = heads.log_probs(logits.view(2, 3, 5), mask.view(2, 3, 5))
    assert torch.equal(cube.view(6, 5), flat)
    assert heads.entropy(cube, mask.view(2, 3, 5)).shape == (2, 3, 2)


def test_every_tensor_is_made_where_the_inputs_are() -> None:
    heads, logits, mask = case((3, 2, 2), 4)
    logits, mask = logits.to("meta"), mask.to("meta")
    log_probs = heads.log_probs(logits, mask)
    actions = heads.sample(log_probs, torch.zeros(6, 3, device="meta"))
    found = [heads.select(log_probs, actions), heads.mode(log_probs, mask), heads.spread(actions)]
    assert all(each.device.type == "meta" for each in [*found, heads.kl(log_probs, logits, mask)])


def test_nothing_is_sent_to_a_device_again(monkeypatch: pytest.MonkeyPatch) -> None:
    heads, logits, mask = case((3, 2, 2), 4)
    logits, mask = logits.to("meta"), mask.to("meta")
    uniforms = torch.zeros(6, 3, device="meta")

    def use() -> None:
        log_probs = heads.log_probs(logits, mask, 2.0)
        actions, _ = heads.choose(logits, mask, uniforms)
        heads.choose(logits, mask, None)
        heads.judge(logits, mask, actions)
        heads.kl(log_probs, heads.uniform_log_probs(mask), mask)
        heads.spread(heads.select(log_probs, actions))
        heads.spread(heads.legal(mask))

    use()
    monkeypatch.setattr(torch, "tensor", None)
    use()


def test_a_spread_sums_the_gradients_of_each_heads_choices() -> None:
    heads = Heads((3, 1, 2))
    values = torch.zeros(2, 3, requires_grad=True)
    heads.spread(values).backward(torch.arange(12.0).view(2, 6))
    assert values.grad is not None
    assert values.grad.tolist() == [[0 + 1 + 2, 3, 4 + 5], [6 + 7 + 8, 9, 10 + 11]]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Heads((3, 0))
    heads = Heads((3,))
    with pytest.raises(ValueError, match="3 choices"):
        heads.log_probs(torch.zeros(2, 4), torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match="bool"):
        heads.log_probs(torch.zeros(2, 3), torch.ones(2, 3))
    with pytest.raises(ValueError, match="heads"):
        heads.select(torch.zeros(2, 3), torch.zeros(2, 2, dtype=torch.long))
