"""R-NaD: transform, schedule and V-trace from their formulas; and play that converges in Kuhn."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kuhn_table import DEALS, kuhn, payoff, place
from torch import Tensor
from unroll_cases import SEEDS

from lanista.errors import LanistaError
from lanista.learn import losses, rnad
from lanista.nets.distribution import Heads

HEADS = Heads((2,))


def test_alpha_rises_over_half_an_iteration_and_references_move_at_its_start() -> None:
    schedule = rnad.FixedPoint((4, 8))
    found = [schedule.at(step) for step in range(21)]
    alphas = [0, 0.5, 1, 1, *2 * [0, 0.25, 0.5, 0.75, 1, 1, 1, 1], 0]
    assert [stage.alpha for stage in found] == alphas
    assert [step for step, stage in enumerate(found) if stage.update] == [4, 12, 20]
    assert [found[step].iteration for step in (0, 3, 4, 11, 12, 20)] == [0, 0, 1, 1, 2, 3]


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4))
def test_the_reference_does_not_jump_where_an_iteration_ends(sizes: list[int]) -> None:
    schedule, current, previous, last = rnad.FixedPoint(tuple(sizes)), 0.0, 0.0, 0.0
    for step in range(40):
        stage = schedule.at(step)
        if stage.update:
            previous, current = current, float(stage.iteration)
        mixed = stage.alpha * current + (1 - stage.alpha) * previous
        assert last <= mixed <= current
        assert mixed == last or not stage.update
        last = mixed


def test_an_empty_or_zero_iteration_is_refused() -> None:
    for sizes in ((), (3, 0)):
        with pytest.raises(LanistaError, match="at least one step"):
            rnad.FixedPoint(sizes)


def test_interpolation_is_between_the_logs_of_two_references() -> None:
    one, two = torch.tensor([0.25, 0.75]).log(), torch.tensor([0.5, 0.5]).log()
    assert torch.equal(rnad.interpolate(one, two, 1.0), one)
    assert torch.equal(rnad.interpolate(one, two, 0.0), two)
    mixed = rnad.interpolate(one, two, 0.5).exp()
    torch.testing.assert_close(mixed, torch.tensor([0.25 * 0.5, 0.75 * 0.5]).sqrt())


def test_the_actor_pays_what_the_other_seat_receives() -> None:
    reward = torch.tensor([[[0.0, 0.0]], [[1.0, -1.0]], [[0.0, 0.0]]])
    actor, valid = torch.tensor([[0], [1], [0]]), torch.tensor([[1.0], [1.0], [0.0]])
    ratio = torch.tensor([[0.5], [2.0], [9.0]])
    found = rnad.transform_rewards(reward, actor, ratio, valid, eta=0.2)
    expected = torch.tensor([[[-0.1, 0.1]], [[1.4, -1.4]], [[0.0, 0.0]]])
    torch.testing.assert_close(found, expected)


def test_own_decisions_fold_the_opponents_terms_when_it_moves_twice() -> None:
    # Order of play: 1, 0, 1, 1, 0, 1, then padding; log-ratios 1, 2, 4, 8, 16, 32.
    actor = torch.tensor([1, 0, 1, 1, 0, 1, 0])[:, None]
    valid = torch.tensor([1, 1, 1, 1, 1, 1, 0])[:, None]
    ratio = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])[:, None]
    for seat, sums in ((0, [0, 12, 0, 0, 32, 0, 0]), (1, [2, 0, 0, 16, 0, 0, 0])):
        found = rnad.between_own(ratio, actor, valid, seat=seat)
        assert found[:, 0].tolist() == sums
    # Seat 0 keeps its rewards of 5 and 7, pays 2 and 16, and receives 12 and 32, times η.
    own = torch.tensor([[2.0], [16.0]])
    folded = torch.tensor([[12.0], [32.0]])
    reward, both = torch.tensor([[5.0], [7.0]]), torch.ones(2, 1)
    found = rnad.transform_own_rewards(reward, own, folded, both, eta=0.5)
    assert found[:, 0].tolist() == [5.0 - 1.0 + 6.0, 7.0 - 8.0 + 16.0]


@given(SEEDS)
def test_joint_and_own_transforms_give_one_return(seed: int) -> None:
    source = torch.Generator().manual_seed(seed)
    steps, columns = 6, 4
    actor = torch.randint(2, (steps, columns), generator=source)
    actor[0] = 0  # So that everything follows an own decision of seat 0.
    lengths = torch.randint(1, steps + 1, (columns,), generator=source)
    valid = torch.arange(steps)[:, None] < lengths
    first = torch.randn(steps, columns, generator=source, dtype=torch.float64) * valid
    ratio = torch.randn(steps, columns, generator=source, dtype=torch.float64)
    reward = torch.stack([first, -first], -1)
    joint = rnad.transform_rewards(reward, actor, ratio, valid, eta=0.3)
    assert joint.sum(-1).abs().max() < 1e-12
    own = (actor == 0) & valid
    folded = first * own + rnad.between_own(first, actor, valid, seat=0)
    others = rnad.between_own(ratio, actor, valid, seat=0)
    found = rnad.transform_own_rewards(folded, ratio, others, own, eta=0.3)
    torch.testing.assert_close(found.sum(0), joint[..., 0].sum(0))


def random_matches(seed: int, choices: int = 3) -> dict[str, Tensor]:
    source = torch.Generator().manual_seed(seed)
    steps, columns = 7, 5

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    lengths = torch.randint(1, steps + 1, (columns,), generator=source)
    action = torch.randint(choices, (steps, columns, 1), generator=source)
    return {
        "log_prob_t": normal(steps, columns, choices).log_softmax(-1),
        "behaviour_log_prob_t": normal(steps, columns, choices)
        .log_softmax(-1)
        .gather(-1, action)
        .squeeze(-1),
        "log_ratio_t": normal(steps, columns, choices),
        "action_t": action,
        "value_t": normal(steps, columns),
        "reward_t": normal(steps, columns),
        "actor_t": torch.randint(2, (steps, columns), generator=source),
        "valid_t": torch.arange(steps)[:, None] < lengths,
    }


def slow_estimate(
    match: dict[str, Tensor], b: int, seat: int, eta: float, lam: float, clips: tuple[float, float]
) -> dict[int, tuple[float, list[float]]]:
    """One column by the docstring's formula: for each own step its v̂ and q̂."""
    steps = [t for t in range(7) if match["valid_t"][t, b]]
    value, reward = match["value_t"][:, b].tolist(), match["reward_t"][:, b].tolist()
    own = [t for t in steps if match["actor_t"][t, b] == seat]
    log_pi, ratios = match["log_prob_t"][:, b], match["log_ratio_t"][:, b].tolist()
    played = match["action_t"][:, b, 0].tolist()
    mu = match["behaviour_log_prob_t"][:, b].exp().tolist()
    rho = [math.exp(log_pi[t, played[t]]) / mu[t] for t in range(7)]
    spent = [eta * (log_pi[t].exp() * match["log_ratio_t"][t, b]).sum().item() for t in range(7)]
    out: dict[int, tuple[float, list[float]]] = {}
    for t in reversed(own):
        after = min((n for n in own if n > t), default=None)
        between = [k for k in steps if t < k and (after is None or k < after)]
        next_value = 0.0 if after is None else value[after]
        next_target = 0.0 if after is None else out[after][0]
        xi = math.prod(rho[k] for k in between)
        plain = reward[t] - spent[t] + sum(reward[k] + spent[k] for k in between)
        corrected = sum(
            math.prod(rho[j] for j in between if j < k) * (spent[k] + rho[k] * reward[k])
            for k in between
        )
        weight = rho[t] * xi
        target = value[t] + min(clips[0], weight) * (plain + next_value - value[t])
        target += lam * min(clips[1], weight) * (next_target - next_value)
        gain = reward[t] + corrected + xi * next_target - value[t]
        q = [value[t] - eta * ratios[t][a] for a in range(3)]
        q[played[t]] += gain / mu[t]
        out[t] = (target, q)
    return out


@given(SEEDS, st.sampled_from([0, 1]), st.sampled_from([0.0, 0.4, 1.0]))
def test_two_player_vtrace_is_its_formula(seed: int, seat: int, lam: float) -> None:
    match = random_matches(seed)
    heads = Heads((3,))
    found = rnad.two_player_vtrace(
        heads, **match, seat=seat, eta=0.3, lam=lam, rho_clip=1.2, c_clip=0.9
    )
    value, q = torch.zeros(7, 5, dtype=torch.float64), torch.zeros(7, 5, 3, dtype=torch.float64)
    for b in range(5):
        for t, (target, row) in slow_estimate(match, b, seat, 0.3, lam, (1.2, 0.9)).items():
            value[t, b], q[t, b] = target, torch.tensor(row, dtype=torch.float64)
    torch.testing.assert_close(found.value, value)
    torch.testing.assert_close(found.q, q)
    assert torch.equal(found.own, (match["actor_t"] == seat) & match["valid_t"])


@given(SEEDS)
def test_padding_changes_no_estimate(seed: int) -> None:
    match = random_matches(seed)
    heads, pad = Heads((3,)), ~match["valid_t"]
    other = {
        name: torch.where(pad.view(*pad.shape, *([1] * (x.dim() - 2))), x.flip(1) * 0 + 1, x)
        if x.dtype is not torch.bool
        else x.double()
        for name, x in match.items()
    }
    for seat in (0, 1):
        one = rnad.two_player_vtrace(heads, **match, seat=seat, eta=0.2)
        two = rnad.two_player_vtrace(heads, **other, seat=seat, eta=0.2)
        assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_every_tensor_is_made_where_the_inputs_are() -> None:
    match = {name: each.to("meta") for name, each in random_matches(1).items()}
    found = rnad.two_player_vtrace(Heads((3,)), **match, seat=0, eta=0.2)
    assert all(each.device.type == "meta" for each in found)
    both = torch.stack([match["reward_t"]] * 2, -1)
    played = match["log_ratio_t"][..., 0]
    changed = rnad.transform_rewards(both, match["actor_t"], played, match["valid_t"], eta=0.1)
    assert changed.device.type == "meta"


def test_more_than_one_head_and_more_than_two_seats_are_refused() -> None:
    match = random_matches(1)
    with pytest.raises(LanistaError, match="one head"):
        rnad.two_player_vtrace(Heads((2, 1)), **match, seat=0, eta=0.2)
    flat = torch.zeros(3, 2)
    with pytest.raises(ValueError, match="two seats"):
        rnad.transform_rewards(torch.zeros(3, 2, 3), flat.long(), flat, flat, eta=0.1)


def table_estimates(log_pi: Tensor, log_mu: Tensor, log_ratio: Tensor, value: Tensor, eta: float):
    """Both seats' estimates over all lines of Kuhn, merged: each step has one actor."""
    table = kuhn()
    action = table.action[..., None]
    found = [
        rnad.two_player_vtrace(
            HEADS,
            log_pi[table.place],
            log_mu[table.place].gather(-1, action).squeeze(-1),
            log_ratio[table.place],
            action,
            value,
            table.reward * (1.0 if seat == 0 else -1.0),
            table.actor,
            table.valid,
            seat=seat,
            eta=eta,
            rho_clip=math.inf,
            c_clip=math.inf,
        )
        for seat in (0, 1)
    ]
    return found[0].value + found[1].value, found[0].q + found[1].q


def exact_values(deal, seen: str, log_pi: Tensor, log_ratio: Tensor, eta: float):
    """Return the actor's Q of both choices and seat 0's value at a history, by recursion."""
    if seen in ("pp", "pbp", "pbb", "bp", "bb"):
        return None, payoff(deal, seen)
    sign = 1.0 if len(seen) % 2 == 0 else -1.0
    at = place(deal, seen)
    after = [exact_values(deal, seen + move, log_pi, log_ratio, eta)[1] for move in "pb"]
    q = [sign * after[a] - eta * log_ratio[at, a].item() for a in (0, 1)]
    return q, sign * sum(log_pi[at, a].exp().item() * q[a] for a in (0, 1))


@given(SEEDS)
def test_estimates_are_right_on_average_whoever_acted_and_whatever_the_critic_says(
    seed: int,
) -> None:
    source = torch.Generator().manual_seed(seed)
    log_pi, log_mu, log_ref = (
        torch.randn(12, 2, generator=source, dtype=torch.float64).log_softmax(-1) for _ in "abc"
    )
    table = kuhn()
    critic = torch.randn(3, 30, generator=source, dtype=torch.float64)
    # A critic knows a history at most, so lines that share one share its value.
    starts = {}
    for t in range(3):
        for column in range(30):
            deal = DEALS[column // 5]
            seen = "".join("pb"[int(a)] for a in table.action[:t, column])
            if table.valid[t, column]:
                starts.setdefault((deal, seen), []).append((t, column))
    for steps in starts.values():
        critic[tuple(torch.tensor(steps).T)] = critic[steps[0]].item()
    values, q = table_estimates(log_pi, log_mu, log_pi - log_ref, critic, 0.4)
    chances = table.chances(log_mu.exp())
    for (deal, seen), steps in starts.items():
        weight = chances[[column for _, column in steps]]
        weight = weight / weight.sum()
        exact_q, exact_first = exact_values(deal, seen, log_pi, log_pi - log_ref, 0.4)
        sign = 1.0 if len(seen) % 2 == 0 else -1.0
        index = tuple(torch.tensor(steps).T)
        mean_q, mean_value = (weight[:, None] * q[index]).sum(0), (weight * values[index]).sum()
        assert mean_q.tolist() == pytest.approx(exact_q, abs=1e-9)
        assert mean_value.item() == pytest.approx(sign * exact_first, abs=1e-9)


def kuhn_dynamics(eta: float, size: int, iterations: int, lr: float) -> list[float]:
    """Play R-NaD with exact expectations; return NashConv at the start and after each iteration."""
    table = kuhn()
    mask = torch.ones(3, 30, 2, dtype=torch.bool)
    logits = torch.tensor([[1.0, -1.0]] * 6 + [[-0.5, 0.5]] * 6, dtype=torch.float64)
    logits.requires_grad_(True)
    schedule = rnad.FixedPoint((size,))
    current = previous = logits.detach().log_softmax(-1)
    found = [table.nash_conv(current.exp())]
    for step in range(size * iterations + 1):
        log_pi = logits.detach().log_softmax(-1)
        stage = schedule.at(step)
        if stage.update:
            current, previous = log_pi, current
            found.append(table.nash_conv(log_pi.exp()))
        reference = rnad.interpolate(current, previous, stage.alpha)
        ratio = rnad.log_policy_ratio(log_pi, reference, mask[0, :12])
        _, q = table_estimates(log_pi, log_pi, ratio, torch.zeros(3, 30).double(), eta)
        advantage = losses.advantages(HEADS, log_pi[table.place], q, mask)
        # Each information state counts the same: its lines are weighed by their share of it.
        chance = table.chances(log_pi.exp()).expand(3, 30) * table.valid
        reach = torch.zeros(12).double().index_put_((table.place,), chance, accumulate=True)
        weight = chance / reach[table.place] * table.valid.sum()
        logits.grad = None
        losses.neurd(
            HEADS,
            logits[table.place],
            advantage * weight[..., None],
            mask,
            table.valid,
            threshold=8.0,
        ).loss.backward()
        with torch.no_grad():
            logits -= lr * logits.grad
    return found


def test_play_in_kuhn_converges_as_the_fixed_points_advance() -> None:
    found = kuhn_dynamics(eta=0.5, size=60, iterations=20, lr=0.2)
    assert found[0] > 1.0
    assert found[10] < 0.05
    assert found[-1] < 0.003


def test_play_in_kuhn_does_not_converge_without_the_transform_or_with_one_reference() -> None:
    assert min(kuhn_dynamics(eta=0.0, size=60, iterations=20, lr=0.2)) > 0.1
    assert kuhn_dynamics(eta=0.5, size=600, iterations=1, lr=0.2)[-1] > 0.3


@given(SEEDS, st.integers(1, 5))
def test_nothing_behind_padding_reaches_what_lies_before_it(seed: int, hole: int) -> None:
    match = random_matches(seed)
    match["valid_t"] = torch.ones_like(match["valid_t"])
    match["valid_t"][hole] = False
    before = {name: each[:hole] for name, each in match.items()}
    for seat in (0, 1):
        whole = rnad.two_player_vtrace(Heads((3,)), **match, seat=seat, eta=0.3)
        alone = rnad.two_player_vtrace(Heads((3,)), **before, seat=seat, eta=0.3)
        for one, other in zip(whole, alone, strict=True):
            torch.testing.assert_close(one[:hole], other)


def test_two_player_vtrace_that_is_told_nothing_clips_at_1_and_decays_nothing() -> None:
    match = random_matches(3)
    usual = rnad.two_player_vtrace(Heads((3,)), **match, seat=0, eta=0.3)
    told = rnad.two_player_vtrace(
        Heads((3,)), **match, seat=0, eta=0.3, lam=1.0, rho_clip=1.0, c_clip=1.0
    )
    assert all(map(torch.equal, usual, told))
    for name in ("lam", "rho_clip", "c_clip"):
        other = rnad.two_player_vtrace(Heads((3,)), **match, seat=0, eta=0.3, **{name: 0.3})
        assert not torch.equal(usual.value, other.value)
