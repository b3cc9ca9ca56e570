"""Returns against twins written straight from their formulas, one column and step at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from unroll_cases import Unroll, unrolls

from lanista.learn import returns

LAMBDAS = st.sampled_from([0.0, 0.3, 0.95, 1.0])
CLIPS = st.sampled_from([0.5, 1.0, 2.0, math.inf])


def columns(twin: Callable[..., list[float]], unroll: Unroll, **options: float) -> Tensor:
    out = []
    for b in range(unroll.reward.shape[1]):
        value = [*unroll.value[:, b].tolist(), unroll.last_value[b].item()]
        ratio = unroll.log_ratio[:, b].exp().tolist()
        reward, discount = unroll.reward[:, b].tolist(), unroll.discount[:, b].tolist()
        out.append(twin(value, reward, discount, ratio, **options))
    return torch.tensor(out, dtype=torch.float64).T


def slow_returns(value, reward, discount, ratio):
    steps = range(len(reward))
    return [
        sum(math.prod(discount[t:n]) * reward[n] for n in range(t, len(reward)))
        + math.prod(discount[t:]) * value[-1]
        for t in steps
    ]


def slow_gae(value, reward, discount, ratio, *, lam):
    delta = [reward[t] + discount[t] * value[t + 1] - value[t] for t in range(len(reward))]
    return [
        sum(math.prod(lam * g for g in discount[t:n]) * delta[n] for n in range(t, len(delta)))
        for t in range(len(delta))
    ]


def slow_td_lambda(value, reward, discount, ratio, *, lam):
    """The λ-mixture of n-step returns (Sutton and Barto, 12.1)."""

    def n_step(t, n):
        rewards = sum(math.prod(discount[t:k]) * reward[k] for k in range(t, t + n))
        return rewards + math.prod(discount[t : t + n]) * value[t + n]

    out = []
    for t in range(len(reward)):
        longest = len(reward) - t
        mixed = sum((1 - lam) * lam ** (n - 1) * n_step(t, n) for n in range(1, longest))
        out.append(mixed + lam ** (longest - 1) * n_step(t, longest))
    return out


def slow_vtrace(value, reward, discount, ratio, *, lam, rho_clip, c_clip):
    """The sum of equation 1 in IMPALA."""
    out = []
    for s in range(len(reward)):
        target = value[s]
        for t in range(s, len(reward)):
            trace = math.prod(discount[i] * lam * min(c_clip, ratio[i]) for i in range(s, t))
            delta = reward[t] + discount[t] * value[t + 1] - value[t]
            target += trace * min(rho_clip, ratio[t]) * delta
        out.append(target)
    return out


def slow_upgo(value, reward, discount, ratio):
    def upgoing(t):
        if t == len(reward):
            return value[t]
        if t + 1 < len(reward):
            q = reward[t + 1] + discount[t + 1] * value[t + 2]
            follow = q >= value[t + 1]
        else:
            follow = True
        return reward[t] + discount[t] * (upgoing(t + 1) if follow else value[t + 1])

    return [upgoing(t) for t in range(len(reward))]


@given(unrolls())
def test_discounted_returns_are_the_discounted_sum(unroll: Unroll) -> None:
    found = returns.discounted_returns(unroll.reward, unroll.discount, unroll.last_value)
    torch.testing.assert_close(found, columns(slow_returns, unroll))


@given(unrolls(), LAMBDAS)
def test_gae_is_the_sum_of_decayed_surprises(unroll: Unroll, lam: float) -> None:
    target, advantage = returns.gae(*unroll.parts, lam=lam)
    expected = columns(slow_gae, unroll, lam=lam)
    torch.testing.assert_close(advantage, expected)
    torch.testing.assert_close(target, expected + unroll.value)


@given(unrolls(), LAMBDAS)
def test_td_lambda_mixes_n_step_returns(unroll: Unroll, lam: float) -> None:
    found = returns.td_lambda(*unroll.parts, lam=lam)
    torch.testing.assert_close(found, columns(slow_td_lambda, unroll, lam=lam))


@given(unrolls(), LAMBDAS, CLIPS, CLIPS, CLIPS)
def test_vtrace_is_the_published_sum(
    unroll: Unroll, lam: float, rho: float, pg_rho: float, c: float
) -> None:
    found = returns.vtrace(
        unroll.log_ratio, *unroll.parts, lam=lam, rho_clip=rho, pg_rho_clip=pg_rho, c_clip=c
    )
    target = columns(slow_vtrace, unroll, lam=lam, rho_clip=rho, c_clip=c)
    torch.testing.assert_close(found.target, target)
    after = torch.cat([target[1:], unroll.last_value[None]])
    ratio = unroll.log_ratio.exp().clamp(max=pg_rho)
    advantage = ratio * (unroll.reward + unroll.discount * after - unroll.value)
    torch.testing.assert_close(found.advantage, advantage)


@given(unrolls())
def test_upgo_follows_play_no_worse_than_expected(unroll: Unroll) -> None:
    torch.testing.assert_close(returns.upgo(*unroll.parts), columns(slow_upgo, unroll))


@given(unrolls())
def test_on_policy_vtrace_is_the_return_when_nothing_is_clipped(unroll: Unroll) -> None:
    found = returns.vtrace(torch.zeros_like(unroll.value), *unroll.parts)
    expected = returns.discounted_returns(unroll.reward, unroll.discount, unroll.last_value)
    torch.testing.assert_close(found.target, expected)


@given(unrolls(), st.integers(0, 1000))
def test_padding_changes_no_target_of_a_valid_step(unroll: Unroll, seed: int) -> None:
    other = unroll.with_other_padding(seed)
    for one, two in zip(every_return(unroll), every_return(other), strict=True):
        assert torch.equal(one[unroll.valid], two[unroll.valid])


def every_return(unroll: Unroll) -> list[Tensor]:
    return [
        returns.discounted_returns(unroll.reward, unroll.discount, unroll.last_value),
        returns.td_lambda(*unroll.parts, lam=0.9),
        *returns.gae(*unroll.parts, lam=0.9),
        *returns.vtrace(unroll.log_ratio, *unroll.parts, lam=0.9),
        returns.upgo(*unroll.parts),
    ]


@given(unrolls())
def test_a_match_that_ended_inside_an_unroll_does_not_see_the_next_one(unroll: Unroll) -> None:
    if len(unroll.reward) < 2:
        return
    discount = unroll.discount.clone()
    discount[0] = 0.0
    parts = (unroll.value, unroll.reward, discount, unroll.last_value)
    torch.testing.assert_close(returns.td_lambda(*parts, lam=0.9)[0], unroll.reward[0])
    torch.testing.assert_close(returns.upgo(*parts)[0], unroll.reward[0])
    gap = unroll.reward[0] - unroll.value[0]
    torch.testing.assert_close(returns.gae(*parts, lam=0.9).advantage[0], gap)


def test_two_opponent_moves_in_a_row_are_folded_into_one_own_step() -> None:
    # Seat 0 moves (+0.25), seat 1 moves twice (+1, then −0.5 to seat 0), seat 0 moves and wins 2.
    # So seat 0 has two own decisions with rewards 0.75 and 2. With γ = 1/2, V = (1/2, 1) and
    # π/μ = (2, 1/2), by hand: v_1 = 1 + ½(2 − 1) = 1.5; δ_0 = 0.75 + ½ − ½ = 0.75;
    # v_0 = ½ + 0.75 + ½·(1.5 − 1) = 1.5; advantages 0.75 + ½·1.5 − ½ = 1 and ½·(2 − 1) = ½.
    def column(*numbers: float) -> Tensor:
        return torch.tensor(numbers, dtype=torch.float64)[:, None]

    found = returns.vtrace(
        column(2.0, 0.5).log(),
        column(0.5, 1.0),
        column(0.25 + 1.0 - 0.5, 2.0),
        column(0.5, 0.0),
        torch.zeros(1, dtype=torch.float64),
    )
    torch.testing.assert_close(found.target, column(1.5, 1.5))
    torch.testing.assert_close(found.advantage, column(1.0, 0.5))
    total = returns.discounted_returns(column(0.75, 2.0), column(0.5, 0.0), found.target[0] * 0)
    torch.testing.assert_close(total, column(1.75, 2.0))


@given(unrolls())
def test_targets_carry_no_gradient_and_leave_their_inputs_alone(unroll: Unroll) -> None:
    before = [part.clone() for part in unroll.parts]
    unroll.value.requires_grad_(True)
    assert not any(found.requires_grad for found in every_return(unroll))
    unroll.value.requires_grad_(False)
    assert all(torch.equal(a, b) for a, b in zip(before, unroll.parts, strict=True))


@given(unrolls())
def test_float32_stays_float32(unroll: Unroll) -> None:
    single = Unroll(*(getattr(unroll, n).float() for n in unroll.__dataclass_fields__))
    for wide, narrow in zip(every_return(unroll), every_return(single), strict=True):
        assert narrow.dtype is torch.float32
        if torch.equal(returns.as_flags(single.valid), unroll.valid):
            torch.testing.assert_close(narrow.double(), wide, rtol=1e-3, atol=1e-3)


def test_upgo_goes_on_where_play_was_exactly_as_expected() -> None:
    zeros, reward = torch.zeros(4, 1), torch.tensor([[0.0], [0.0], [0.0], [1.0]])
    discount = torch.tensor([[1.0], [1.0], [1.0], [0.0]])
    found = returns.upgo(zeros, reward, discount, torch.zeros(1))
    assert found[:, 0].tolist() == [1.0, 1.0, 1.0, 1.0]


@given(unrolls())
def test_explained_variance_is_one_for_the_target_and_zero_for_its_mean(unroll: Unroll) -> None:
    target, valid = unroll.reward + unroll.value, unroll.valid
    mean = torch.full_like(target, target[valid].mean().item())
    if target[valid].var(unbiased=False) > 1e-9:
        for value, expected in ((target, 1.0), (mean, 0.0)):
            found = returns.explained_variance(value, target, valid)
            torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_explained_variance_of_constant_targets_is_zero() -> None:
    ones = torch.ones(3, 2)
    assert returns.explained_variance(torch.randn(3, 2), ones, ones).item() == 0.0
    assert returns.explained_variance(ones, ones, torch.zeros(3, 2)).item() == 0.0


@given(unrolls(), st.integers(0, 1000))
def test_normalised_advantages_have_mean_zero_and_deviation_one(unroll: Unroll, seed: int) -> None:
    found = returns.normalise(unroll.value, unroll.valid)
    kept = found[unroll.valid]
    torch.testing.assert_close(kept.mean(), torch.zeros_like(kept.mean()))
    if len(kept) > 1:
        torch.testing.assert_close(kept.std(unbiased=False), torch.ones_like(kept.mean()))
    assert (found[~unroll.valid] == 0).all()
    other = unroll.with_other_padding(seed)
    assert torch.equal(returns.normalise(other.value, unroll.valid), found)


def test_normalising_equal_advantages_gives_zeros() -> None:
    found = returns.normalise(torch.full((4, 3), 0.1), torch.ones(4, 3))
    assert found.abs().max() < 0.1


def test_small_advantages_stay_small_beside_the_least_deviation() -> None:
    """A cost of a thousandth in an update that no match paid in must not become a whole one."""
    cost = torch.tensor([[0.001, -0.001], [0.001, -0.001]])
    valid = torch.ones(2, 2)
    torch.testing.assert_close(returns.normalise(cost, valid), cost / 0.001)
    torch.testing.assert_close(returns.normalise(cost, valid, least=0.05), cost / 0.05)
    torch.testing.assert_close(
        returns.normalise(100 * cost, valid, least=0.05), returns.normalise(cost, valid)
    )


@given(unrolls(), st.floats(0.01, 1.0))
def test_keep_largest_keeps_the_share_with_the_largest_advantage(
    unroll: Unroll, share: float
) -> None:
    kept = returns.keep_largest(unroll.value, unroll.valid, share)
    count = int(unroll.valid.sum())
    assert not (kept & ~unroll.valid).any()
    assert int(kept.sum()) == max(1, round(count * share))
    left = unroll.valid & ~kept
    if left.any():
        assert unroll.value[kept].abs().min() >= unroll.value[left].abs().max()
    padded = unroll.with_other_padding(3)
    assert torch.equal(returns.keep_largest(padded.value, unroll.valid, share), kept)


@given(unrolls())
def test_every_tensor_is_made_where_the_inputs_are(unroll: Unroll) -> None:
    moved = Unroll(*(getattr(unroll, n).to("meta") for n in unroll.__dataclass_fields__))
    others = [
        returns.normalise(moved.value, moved.valid),
        returns.keep_largest(moved.value, moved.valid, 0.5),
        returns.explained_variance(moved.value, moved.reward, moved.valid),
    ]
    assert all(found.device.type == "meta" for found in every_return(moved) + others)


def test_shapes_that_do_not_fit_are_refused() -> None:
    one, two = torch.zeros(3, 2), torch.zeros(2, 3)
    with pytest.raises(ValueError, match=r"\[3, 2\]"):
        returns.gae(two, one, one, torch.zeros(2), lam=1.0)
    with pytest.raises(ValueError, match="last_value"):
        returns.upgo(one, one, one, torch.zeros(3))
    with pytest.raises(ValueError, match="share"):
        returns.keep_largest(one, one, 0.0)


def test_a_mask_without_padding_is_one_of_trues() -> None:
    like = torch.zeros(3, 2)
    mask = returns.unpadded(like)
    assert (mask.shape, mask.dtype) == (like.shape, torch.bool)
    assert mask.all()
    assert returns.is_unpadded(mask)
    assert returns.is_unpadded(mask[1:])
    assert not returns.is_unpadded(torch.ones(3, 2, dtype=torch.bool))


def test_vtrace_that_is_told_nothing_clips_at_1_and_decays_nothing() -> None:
    generator = torch.Generator().manual_seed(1)
    log_ratio, value, reward = torch.randn(3, 5, 2, generator=generator).unbind()
    arguments = (log_ratio, value, reward, torch.ones(5, 2), torch.zeros(2))
    usual = returns.vtrace(*arguments)
    told = returns.vtrace(*arguments, lam=1.0, rho_clip=1.0, pg_rho_clip=1.0, c_clip=1.0)
    assert all(map(torch.equal, usual, told))
    for other in ("lam", "rho_clip", "pg_rho_clip", "c_clip"):
        changed = returns.vtrace(*arguments, **{other: 0.5})
        assert not all(map(torch.equal, usual, changed))


def test_advantages_that_hardly_differ_are_not_blown_up() -> None:
    """Deviations below a millionth count as a millionth."""
    tiny = torch.tensor([[1e-8, -1e-8]], dtype=torch.float64)
    valid = torch.ones(1, 2, dtype=torch.bool)
    torch.testing.assert_close(returns.normalise(tiny, valid), tiny / 1e-6)


@pytest.mark.parametrize(
    "made",
    [
        lambda wrong, last: returns.discounted_returns(torch.zeros(3, 2), wrong, last),
        lambda wrong, last: returns.td_lambda(wrong, *[torch.zeros(3, 2)] * 2, last, lam=1.0),
        lambda wrong, last: returns.gae(wrong, *[torch.zeros(3, 2)] * 2, last, lam=1.0),
        lambda wrong, last: returns.vtrace(wrong, *[torch.zeros(3, 2)] * 3, last),
        lambda wrong, last: returns.upgo(wrong, *[torch.zeros(3, 2)] * 2, last),
    ],
)
def test_no_return_spreads_one_row_over_all_steps(made: Any) -> None:
    """What could be broadcast is still not of an unroll's shape."""
    made(torch.zeros(3, 2), torch.zeros(2))
    with pytest.raises(ValueError, match=r"must be \[3, 2\], got \[1, 2\]"):
        made(torch.zeros(1, 2), torch.zeros(2))
    with pytest.raises(ValueError, match=r"`last_value` must be \[2\], got \[1\]"):
        made(torch.zeros(3, 2), torch.zeros(1))


class Made(TorchDispatchMode):
    """Watches where tensors are counted up."""

    def __init__(self) -> None:
        super().__init__()
        self.devices: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if "arange" in str(func):
            self.devices.append(out.device.type)
        return out


def test_ranks_are_counted_where_the_advantages_are() -> None:
    values, valid = torch.zeros(3, 2, device="meta"), torch.ones(3, 2, device="meta")
    with Made() as made:
        returns.keep_largest(values, valid, 0.5)
    assert made.devices == ["meta"]


def test_advantages_that_carry_a_ratio_are_centred_by_it() -> None:
    gain, ratio = torch.tensor([[1.0, 3.0, 9.0]]), torch.tensor([[0.5, 1.0, 7.0]])
    valid = torch.tensor([[1.0, 1.0, 0.0]])
    centred = returns.normalise(ratio * gain, valid, ratio_t=ratio)
    middle = (0.5 * 1 + 1 * 3) / 1.5
    expected = torch.tensor([[0.5 * (1 - middle), 3 - middle, 0.0]])
    size = math.sqrt(float(expected.square().sum()) / 2)
    torch.testing.assert_close(centred, expected / size)
    assert (returns.normalise(ratio * 2, valid, ratio_t=ratio) == 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_off_policy_the_centred_gradient_of_v_trace_points_where_the_exact_one_does(
    seed: int,
) -> None:
    """A bandit whose arms were pulled by another policy: every arm as often as that one would.

    The exact gradient of E_π[r] is Σ π(a) (r(a) − V) ∇ log π(a), whatever V is. Centred over the
    batch without their ratios, the same advantages have another direction.
    """
    rng = torch.Generator().manual_seed(seed)
    logits = torch.randn(4, generator=rng, dtype=torch.float64, requires_grad=True)
    pulls = torch.tensor([40, 10, 30, 20])
    reward = torch.randn(4, generator=rng, dtype=torch.float64)
    log_pi = logits.log_softmax(0)
    (exact,) = torch.autograd.grad((log_pi.exp() * reward).sum(), logits, retain_graph=True)
    arm = torch.repeat_interleave(torch.arange(4), pulls)
    log_mu = (pulls / pulls.sum()).double().log()
    value = (log_pi.exp() * reward).sum().detach() + 1.0  # A critic that is off.
    estimate = returns.vtrace(
        (log_pi.detach() - log_mu)[arm][None],
        value.expand(1, len(arm)),
        reward[arm][None],
        torch.zeros(1, len(arm), dtype=torch.float64),
        torch.zeros(len(arm), dtype=torch.float64),
        pg_rho_clip=1e6,
    )
    valid = torch.ones_like(estimate.advantage)

    ratio = (log_pi.detach() - log_mu)[arm][None].exp()

    def direction(advantage: Tensor) -> float:
        (gradient,) = torch.autograd.grad(
            (advantage[0] * log_pi[arm]).mean(), logits, retain_graph=True
        )
        return float(torch.cosine_similarity(gradient, exact, dim=0))

    centred = returns.normalise(estimate.advantage, valid, ratio_t=ratio)
    assert direction(centred) == pytest.approx(1.0, abs=1e-9)
    assert direction(returns.normalise(estimate.advantage, valid)) < 0.99
