"""Action values over both seats' decisions: right on average in Kuhn, elsewhere their formula."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kuhn_table import DEALS, kuhn, payoff, place
from torch import Tensor
from unroll_cases import SEEDS

from lanista.learn.joint_returns import corrected, joint_retrace, rewards_to_come

ETA = 0.4
LINES = ("pp", "pbp", "pbb", "bp", "bb")
Histories = dict[tuple[tuple[int, int], str], list[tuple[int, int]]]


def histories() -> Histories:
    """Return, by deal and what was played so far, the steps (t, column) of the table there."""
    table, out = kuhn(), {}
    for column in range(30):
        for t in range(int(table.valid[:, column].sum())):
            seen = "".join("pb"[int(a)] for a in table.action[:t, column])
            out.setdefault((DEALS[column // 5], seen), []).append((t, column))
    return out


def own_rewards() -> Tensor:
    """Return `[3, 30]`: what a seat wins, at its own last decision of each line."""
    table, reward = kuhn(), torch.zeros(3, 30, dtype=torch.float64)
    for column in range(30):
        total = payoff(DEALS[column // 5], LINES[column % 5])
        for seat, sign in ((0, 1.0), (1, -1.0)):
            steps = [t for t in range(3) if table.valid[t, column] and t % 2 == seat]
            reward[steps[-1], column] = sign * total
    return reward


def exact_q(deal: tuple[int, int], seen: str, log_pi: Tensor, cost: Tensor) -> list[float]:
    """Return the actor's Q of both choices at a history by recursion, without their own costs."""
    sign = 1.0 if len(seen) % 2 == 0 else -1.0
    out = []
    for move in "pb":
        after = seen + move
        if after in LINES:
            out.append(sign * payoff(deal, after))
            continue
        at, q = place(deal, after), exact_q(deal, after, log_pi, cost)
        # Whose decision follows is the other seat's.
        value = sum(log_pi[at, a].exp().item() * (q[a] - cost[at, a].item()) for a in (0, 1))
        out.append(-value)
    return out


def policies(seed: int) -> tuple[Tensor, Tensor, Tensor, torch.Generator]:
    source = torch.Generator().manual_seed(seed)
    log_pi, log_mu, log_ref = (
        torch.randn(12, 2, generator=source, dtype=torch.float64).log_softmax(-1) for _ in "abc"
    )
    return log_pi, log_mu, ETA * (log_pi - log_ref), source


def table_targets(log_pi: Tensor, log_mu: Tensor, cost: Tensor, q: Tensor, lam: float) -> Tensor:
    table = kuhn()
    action = table.action[..., None]
    ratio = (log_pi - log_mu)[table.place].gather(-1, action).squeeze(-1)
    return joint_retrace(
        q,
        log_pi[table.place],
        ratio,
        cost[table.place],
        action,
        own_rewards(),
        table.actor,
        table.valid,
        lam=lam,
        c_clip=math.inf,
    ).target


@given(SEEDS)
def test_corrected_values_are_right_on_average_whoever_acted_and_whatever_the_critic_says(
    seed: int,
) -> None:
    log_pi, log_mu, cost, source = policies(seed)
    table, at = kuhn(), histories()
    critic = torch.zeros(3, 30, 2, dtype=torch.float64)
    for steps in at.values():
        critic[tuple(torch.tensor(steps).T)] = torch.randn(2, generator=source).double()
    target = table_targets(log_pi, log_mu, cost, critic, 1.0)
    behaviour = log_mu[table.place].gather(-1, table.action[..., None]).squeeze(-1)
    q = corrected(critic, table.action[..., None], target, behaviour, clip=math.inf)
    chances = table.chances(log_mu.exp())
    for (deal, seen), steps in at.items():
        weight = chances[[column for _, column in steps]]
        mean = ((weight / weight.sum())[:, None] * q[tuple(torch.tensor(steps).T)]).sum(0)
        assert mean.tolist() == pytest.approx(exact_q(deal, seen, log_pi, cost), abs=1e-9)


@given(SEEDS, st.sampled_from([0.0, 0.5, 1.0]))
def test_with_an_exact_critic_no_target_varies(seed: int, lam: float) -> None:
    log_pi, log_mu, cost, _ = policies(seed)
    table = kuhn()
    critic = torch.zeros(3, 30, 2, dtype=torch.float64)
    for (deal, seen), steps in histories().items():
        exact = torch.tensor(exact_q(deal, seen, log_pi, cost), dtype=torch.float64)
        critic[tuple(torch.tensor(steps).T)] = exact
    target = table_targets(log_pi, log_mu, cost, critic, lam)
    played = critic.gather(-1, table.action[..., None]).squeeze(-1)
    torch.testing.assert_close(target, torch.where(table.valid, played, 0.0))


def test_a_clipped_weight_moves_q_only_part_of_the_way_and_never_beyond() -> None:
    q = torch.tensor([[1.0, -2.0, 0.5]])
    action, target = torch.tensor([[1]]), torch.tensor([2.0])
    rare = torch.tensor([0.01]).log()
    assert corrected(q, action, target, rare, clip=0.0) is q
    assert corrected(q, action, target, rare, clip=10.0).tolist() == [[1.0, -2.0 + 10 * 4.0, 0.5]]
    free = corrected(q, action, target, rare, clip=1e9)
    torch.testing.assert_close(free, torch.tensor([[1.0, -2.0 + 100 * 4.0, 0.5]]))
    # From below: a probability that rounding put above 1 does not make the weight less than 1.
    above = corrected(q, action, target, torch.tensor([0.1]), clip=10.0)
    torch.testing.assert_close(above, torch.tensor([[1.0, 2.0, 0.5]]))


def random_matches(seed: int) -> dict[str, Tensor]:
    source = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    lengths = torch.randint(1, 8, (5,), generator=source)
    return {
        "q_t": normal(7, 5, 3),
        "log_prob_t": normal(7, 5, 3).log_softmax(-1),
        "log_ratio_t": normal(7, 5),
        "cost_t": normal(7, 5, 3),
        "action_t": torch.randint(3, (7, 5, 1), generator=source),
        "reward_t": normal(7, 5),
        "actor_t": torch.randint(2, (7, 5), generator=source),
        "valid_t": torch.arange(7)[:, None] < lengths,
    }


def slow_targets(match: dict[str, Tensor], b: int, lam: float, clip: float) -> list[float]:
    """One column by the docstring's formula, seats in any order; rewards from what is to come."""
    steps = int(match["valid_t"][:, b].sum())
    actor, reward = match["actor_t"][:, b].tolist(), match["reward_t"][:, b].tolist()
    to_come = [
        (1 if actor[t] == 0 else -1)
        * sum(reward[k] for k in range(t, steps) if actor[k] == actor[t])
        for t in range(steps)
    ]
    out = [0.0] * 7
    for t in reversed(range(steps)):
        first = to_come[t] - (to_come[t + 1] if t + 1 < steps else 0.0)
        if t + 1 < steps:
            sign = 1 if actor[t + 1] == 0 else -1
            pi, q = match["log_prob_t"][t + 1, b].exp(), match["q_t"][t + 1, b]
            value = sign * (pi * (q - match["cost_t"][t + 1, b])).sum().item()
            trace = lam * min(clip, math.exp(match["log_ratio_t"][t + 1, b]))
            played = q[match["action_t"][t + 1, b, 0]].item()
            first += value + trace * sign * (out[t + 1] - played)
        out[t] = first if actor[t] == 0 else -first
    return out


@given(SEEDS, st.sampled_from([0.0, 0.6, 1.0]), st.sampled_from([0.7, math.inf]))
def test_targets_are_their_formula_whoever_moves_how_often(
    seed: int, lam: float, clip: float
) -> None:
    match = random_matches(seed)
    target = joint_retrace(**match, lam=lam, c_clip=clip).target
    slow = torch.tensor([slow_targets(match, b, lam, clip) for b in range(5)]).T.double()
    torch.testing.assert_close(target, slow, atol=1e-6, rtol=1e-6)


@given(SEEDS)
def test_padding_changes_no_target(seed: int) -> None:
    match = random_matches(seed)
    pad = ~match["valid_t"]
    other = {
        name: torch.where(pad.view(7, 5, *([1] * (x.dim() - 2))), torch.ones_like(x), x)
        if name != "valid_t"
        else x.double()
        for name, x in match.items()
    }
    one, two = joint_retrace(**match, lam=0.8), joint_retrace(**other, lam=0.8)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_rewards_to_come_are_seat_zeros_whoever_acts() -> None:
    # Seat 0 gets 5 after its first decision and 1 at the end; seat 1 loses 2 and then that 1.
    actor = torch.tensor([0, 1, 0, 1])[:, None]
    reward = torch.tensor([5.0, -2.0, 1.0, -1.0])[:, None]
    valid = torch.ones(4, 1, dtype=torch.bool)
    assert rewards_to_come(reward, actor, valid)[:, 0].tolist() == [6.0, 3.0, 1.0, 1.0]
