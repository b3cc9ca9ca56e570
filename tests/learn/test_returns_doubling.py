"""Returns by doubling, as a GPU computes them, beside the loop over steps."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from unroll_cases import Unroll, unrolls

from lanista.learn import returns

SIZES = st.tuples(st.integers(1, 70), st.integers(1, 5))


def recurrence(size: tuple[int, int], seed: int, zeros: float) -> tuple[Tensor, Tensor, Tensor]:
    """Draw what is added, what is kept of the next step (at most 1), and the last value."""
    source = torch.Generator().manual_seed(seed)
    add = torch.randn(size, generator=source)
    keep = torch.rand(size, generator=source) ** 0.2
    keep[torch.rand(size, generator=source) < zeros] = 0.0
    return add, keep, torch.randn(size[1:], generator=source)


@given(SIZES, st.integers(0, 2**31), st.sampled_from([0.0, 0.1, 0.7]))
def test_doubling_gives_what_the_loop_gives(size: tuple[int, int], seed: int, zeros: float) -> None:
    add, keep, last = recurrence(size, seed, zeros)
    exact = returns._backward(add.double(), keep.double(), last.double())
    # Both add T products; each rounds by half a unit of the sum of sizes at most.
    largest = returns._backward(add.double().abs(), keep.double(), last.double().abs())
    bound = (size[0] + 1) * 2 * torch.finfo(torch.float32).eps * largest
    found = returns._doubling(add, keep, last)
    assert found.shape == add.shape
    assert bool(((found.double() - exact).abs() <= bound).all())


@given(SIZES, st.integers(0, 2**31), st.sampled_from([math.inf, -math.inf, math.nan]), st.data())
def test_what_is_not_finite_reaches_the_same_steps_either_way(
    size: tuple[int, int], seed: int, broken: float, data: st.DataObject
) -> None:
    add, keep, last = recurrence(size, seed, 0.3)
    step = data.draw(st.integers(0, size[0]))
    lane = data.draw(st.integers(0, size[1] - 1))
    (last if step == size[0] else add[step])[lane] = broken
    finite = torch.isfinite(returns._doubling(add, keep, last))
    expected = torch.ones(size, dtype=torch.bool)
    expected[: step + 1, lane] = False
    assert torch.equal(finite, expected)
    assert torch.equal(torch.isfinite(returns._backward(add, keep, last)), expected)


@pytest.mark.parametrize("size", [3e38, -3e38])
def test_a_huge_number_beyond_a_matchs_end_changes_nothing_before_it(size: float) -> None:
    add, keep, last = recurrence((9, 2), 5, 0.0)
    keep[4, 0] = 0.0
    expected = returns._doubling(add, keep, last)
    add[5, 0] = size
    found = returns._doubling(add, keep, last)
    assert torch.equal(found[:5, 0], expected[:5, 0])
    assert torch.equal(found[:, 1], expected[:, 1])


def test_the_inputs_are_left_as_they_are() -> None:
    parts = recurrence((9, 2), 5, 0.2)
    before = [part.clone() for part in parts]
    returns._doubling(*parts)
    assert all(map(torch.equal, parts, before))


@given(unrolls(), st.sampled_from([0.0, 0.95, 1.0]))
def test_every_return_is_the_same_by_doubling(unroll: Unroll, lam: float) -> None:
    def all_of() -> list[Tensor]:
        value, reward, discount, last = unroll.parts
        return [
            returns.discounted_returns(reward, discount, last),
            returns.td_lambda(value, reward, discount, last, lam=lam),
            returns.upgo(value, reward, discount, last),
            *returns.gae(value, reward, discount, last, lam=lam),
            *returns.vtrace(unroll.log_ratio, value, reward, discount, last, lam=lam),
        ]

    expected = all_of()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(returns, "_BY_DOUBLING", ("cpu",))
        for one, other in zip(all_of(), expected, strict=True):
            torch.testing.assert_close(one, other)


@given(unrolls(), st.integers(0, 2**31))
def test_padding_changes_no_return_by_doubling(unroll: Unroll, seed: int) -> None:
    other = unroll.with_other_padding(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(returns, "_BY_DOUBLING", ("cpu",))
        one = returns.gae(*unroll.parts, lam=0.9).advantage
        two = returns.gae(*other.parts, lam=0.9).advantage
    torch.testing.assert_close(one[unroll.valid], two[unroll.valid])
