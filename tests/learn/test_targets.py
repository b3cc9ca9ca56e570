"""What updates aim at, by hand and against slow twins that walk through one match at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_runs import SMALL, VALUE, Run, TwoArms, leduc_run

from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.games import Facts, Head, View
from lanista.learn.loss_terms import LossInputs
from lanista.learn.settings import Learning
from lanista.learn.update.batch import Batch
from lanista.learn.update.forward import Forward
from lanista.learn.update.targets import loss_inputs, scaled
from lanista.nets.distribution import Heads
from lanista.nets.policy import Critic

CPU = torch.device("cpu")


def pass_bet_pass() -> Unrolls:
    """Kuhn: seat 0 passes, seat 1 bets, seat 0 passes and has lost its ante."""
    played = np.log(np.array([0.5, 0.4, 0.8], np.float32))
    return Unrolls(
        observation=np.zeros((3, 1), np.float32),
        mask=np.ones((3, 2), np.bool_),
        action=np.array([[0], [1], [0]], np.int32),
        log_prob=played,
        reward=np.array([0.0, 1.0, -1.0], np.float32),
        ended=np.array([False, True, True]),
        seat=np.array([0, 1, 0], np.int32),
        match=np.zeros(3, np.int64),
        turn=np.arange(3, dtype=np.int32),
        update=np.zeros(3, np.int32),
        index=np.array([[0, 1], [2, -1]], np.int32),
        goes_on=np.zeros(2, np.bool_),
    )


def aims(settings: Learning, unrolls: Unrolls, values: Any, **references: Any) -> LossInputs:
    """Return the targets where the policy is uniform and the critic says `values`."""
    heads = Heads((2,))
    log_probs = torch.full((unrolls.decisions, 2), math.log(0.5))
    forward = Forward(
        logits=log_probs,
        log_probs=log_probs,
        acting=log_probs,
        chosen=torch.from_numpy(unrolls.log_prob),
        entropy=torch.full((unrolls.decisions, 1), math.log(2)),
        critic=torch.tensor(values),
        value=torch.tensor(values),
        next_value=torch.zeros(len(unrolls)),
    )
    return loss_inputs(heads, settings, Batch(unrolls, CPU), forward, references, {})


def test_bent_rewards_of_a_kuhn_match_by_hand() -> None:
    # Chances under the reference: pass .25, bet .2, pass .2; η is ½. Each seat pays ½ log(μ/ref)
    # for its own actions, and receives what the other pays after its own first one.
    reference = torch.tensor([[0.25, 0.75], [0.8, 0.2], [0.2, 0.8]]).log()
    settings = Learning(policy="ppo", eta=0.5, lam=1.0, normalise_advantages=False)
    known = aims(settings, pass_bet_pass(), [0.0, 0.0, 0.0], rnad=reference)
    first, bet, last = math.log(0.5 / 0.25), math.log(0.4 / 0.2), math.log(0.8 / 0.2)
    expected = [
        -1 - 0.5 * first + 0.5 * bet - 0.5 * last,
        1 - 0.5 * bet + 0.5 * last,
        -1 - 0.5 * last,
    ]
    assert known.value_target is not None
    assert known.value_target.tolist() == pytest.approx(expected)


def test_advantages_of_a_kuhn_match_by_hand() -> None:
    # GAE with λ ½: δ of seat 0 are 0.1 − 0.3 and −1 − 0.1; seat 1 has one decision only.
    settings = Learning(policy="ppo", lam=0.5, normalise_advantages=False)
    known = aims(settings, pass_bet_pass(), [0.3, 0.2, 0.1])
    assert known.advantage is not None
    assert known.advantage.tolist() == pytest.approx([-0.2 + 0.5 * -1.1, 0.8, -1.1])


def matches_of(unrolls: Unrolls) -> list[list[int]]:
    """Return each match's rows in the order they were played."""
    return [
        sorted(np.flatnonzero(unrolls.match == match), key=lambda row: int(unrolls.turn[row]))
        for match in np.unique(unrolls.match)
    ]


def moved_on(settings: Learning, **others: Any) -> tuple[Unrolls, LossInputs]:
    """Return data of older weights, and what the learner makes of it now."""
    run = leduc_run(settings, **others)
    run.train(4)
    unrolls = run.play(40)
    with torch.no_grad():
        run.learner.policy.head.bias.add_(torch.tensor([0.2, -0.1, 0.3]))
    return unrolls, run.learner._inputs(unrolls, dict(settings.terms))


def test_bent_rewards_agree_with_a_walk_through_each_match() -> None:
    eta = 0.3
    settings = Learning(terms=VALUE, policy="ppo", eta=eta, lam=1.0, fixed_point=(3,), lr=0.02)
    unrolls, known = moved_on(settings)
    assert known.value_target is not None
    reference = known.heads.joint(known.references["rnad"], known.action)
    paid = (known.behaviour - reference).tolist()
    for rows in matches_of(unrolls):
        for n, row in enumerate(rows):
            seat = unrolls.seat[row]
            total = 0.0
            for later in rows[n:]:
                own = unrolls.seat[later] == seat
                total += unrolls.reward[later] * own - eta * paid[later] * (1 if own else -1)
            assert float(known.value_target[row]) == pytest.approx(total, abs=1e-4)


def slow_rnad(
    unrolls: Unrolls, known: LossInputs, settings: Learning
) -> tuple[dict[int, float], dict[int, list[float]]]:
    """Return v̂ and q̂ of every decision, straight from the formulas, a match at a time."""
    eta, value_out, q_out = settings.eta, {}, {}
    assert known.value is not None
    pi = known.log_probs.detach().double().exp().numpy()
    gap = (
        (known.log_probs.detach() - known.references["rnad"])
        .double()
        .masked_fill(~known.mask, 0)
        .numpy()
    )
    mu = np.exp(unrolls.log_prob.astype(np.float64))
    act = unrolls.action[:, 0]
    value = known.value.double().numpy()
    for rows in matches_of(unrolls):
        for seat in (0, 1):
            r = u = next_value = next_target = 0.0
            product = 1.0
            for row in reversed(rows):
                rho = pi[row, act[row]] / mu[row]
                spent = eta * float((pi[row] * gap[row]).sum())
                if unrolls.seat[row] != seat:
                    r, u, product = spent + rho * r, u + spent, product * rho
                    continue
                reward, v = float(unrolls.reward[row]), value[row]
                ratio = rho * product
                target = v + min(settings.rho_clip, ratio) * (reward - spent + u + next_value - v)
                target += settings.lam * min(settings.c_clip, ratio) * (next_target - next_value)
                q = v - eta * gap[row]
                q[act[row]] += (reward + r + product * next_target - v) / mu[row]
                value_out[row], q_out[row] = target, q.tolist()
                r, u, product, next_value, next_target = 0.0, 0.0, 1.0, v, target
    return value_out, q_out


@pytest.mark.parametrize("unroll_length", [2, 8])
def test_rnads_targets_agree_with_a_walk_through_each_match(unroll_length: int) -> None:
    settings = Learning(
        terms=VALUE, policy="neurd", eta=0.3, lam=0.9, fixed_point=(3,), lr=0.02, c_clip=0.9
    )
    unrolls, known = moved_on(settings, unroll_length=unroll_length)
    value, q = slow_rnad(unrolls, known, settings)
    assert known.value_target is not None
    assert known.q_advantage is not None
    pi, mask = known.log_probs.detach().double().exp(), unrolls.mask
    for row in range(unrolls.decisions):
        assert float(known.value_target[row]) == pytest.approx(value[row], abs=1e-4)
        mean = float((pi[row] * torch.tensor(q[row]))[torch.from_numpy(mask[row])].sum())
        expected = [each - mean if ok else 0.0 for each, ok in zip(q[row], mask[row], strict=True)]
        assert known.q_advantage[row].tolist() == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("policy", ["ppo", "neurd"])
def test_regularised_games_refuse_matches_that_go_on(policy: Any) -> None:
    run = leduc_run(Learning(terms=VALUE, policy=policy, eta=0.2), unroll_length=1)
    unrolls = run.collector.unrolls(120)
    assert unrolls.goes_on.any()
    with pytest.raises(LanistaError, match="whole matches"):
        run.learner.update(unrolls)


def test_regularised_games_are_for_two_seats_with_opposite_aims() -> None:
    class Friendly(TwoArms):
        facts = Facts(seats=2, longest=2, zero_sum=False)

    with pytest.raises(LanistaError, match="set eta to 0"):
        Run(Friendly(), Learning(policy="ppo", eta=0.2))


class TwiceInARow(TwoArms):
    """Seat 0 moves, seat 1 moves twice and pays it 1 and then 2, seat 0 moves, and it is over."""

    facts = Facts(seats=2, longest=4, zero_sum=True)
    order = (0, 1, 1, 0)

    def view(self, state: list[int], seat: int) -> View | None:
        return View([seat, len(state)], (0, 1)) if self.order[len(state)] == seat else None

    def apply(self, state: list[int], moves: dict[int, Any], rng: Any) -> Any:
        from lanista.games import Step

        state.extend(moves.values())
        gain = (0.0, 1.0, 2.0, 4.0)[len(state) - 1]
        over = [7.0, -7.0] if len(state) == 4 else None
        return Step(rewards=[gain, -gain], returns=over)


@pytest.mark.parametrize("policy", ["ppo", "vtrace"])
def test_rewards_while_the_opponent_moves_twice_are_folded(policy: Any) -> None:
    settings = Learning(
        terms=VALUE, policy=policy, lam=1.0, gamma=0.5, normalise_advantages=False, lr=0.0
    )
    run = Run(TwiceInARow(slots=1), settings)
    unrolls = run.play(1)
    known = run.learner._inputs(unrolls, VALUE)
    assert known.value_target is not None
    assert known.advantage is not None
    # Seat 0 gets 3 between its two decisions and 4 after the last; seat 1 loses 1 after its
    # first and 6 after its second. The critic starts at 0, and the discount is ½.
    expected = {(0, 0): 3 + 0.5 * 4, (0, 3): 4.0, (1, 1): -1 - 0.5 * 6, (1, 2): -6.0}
    for row in range(4):
        key = int(unrolls.seat[row]), int(unrolls.turn[row])
        assert float(known.value_target[row]) == pytest.approx(expected[key])
        assert float(known.advantage[row]) == pytest.approx(expected[key])


def test_an_outcome_is_the_sign_of_what_a_seat_got() -> None:
    settings = Learning(policy="ppo", critic_output="outcome", normalise_advantages=False)
    known = aims(settings, pass_bet_pass(), [0.0, 0.0, 0.0])
    assert known.outcome is not None
    assert known.outcome.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1]]


def test_a_q_critic_of_several_heads_values_a_position_once() -> None:
    class Heads3(TwoArms):
        moves = (Head("a", 2), Head("b", 3), Head("c", 2))

    critic = Critic(Heads3().spec, SMALL, "q")
    # Whatever is chosen, the return is 5: so is the value.
    probabilities = torch.tensor([[0.3, 0.7, 0.2, 0.5, 0.3, 1.0, 0.0]])
    value = critic.value_of(torch.full((1, 7), 5.0), probabilities)
    assert value.tolist() == pytest.approx([5.0])


def test_advantages_are_scaled_over_all_pieces_of_a_step() -> None:
    settings = Learning(policy="ppo", keep_advantages=0.5)
    whole = aims(settings, pass_bet_pass(), [0.0, 0.0, 0.0])
    one = replace(whole, advantage=torch.tensor([1.0, -4.0, 3.0]))
    other = replace(whole, advantage=torch.tensor([10.0, 1.5, 0.5]))
    first, second = scaled(settings, [one, other])
    every = np.array([1.0, -4.0, 3.0, 10.0, 1.5, 0.5])
    expected = (every - every.mean()) / every.std()
    assert first.advantage is not None
    assert second.advantage is not None
    found = [*first.advantage.tolist(), *second.advantage.tolist()]
    assert found == pytest.approx(expected.tolist(), rel=1e-5)
    assert first.valid.tolist() == [False, True, True]
    assert second.valid.tolist() == [True, False, False]
    assert (first.kept_share, second.kept_share) == (pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_where_all_is_lost_alike_v_trace_pushes_nowhere() -> None:
    """Every gain is −1 and the critic expects 0: no choice was better than another."""
    settings = Learning(policy="vtrace", pg_rho_clip=2.0)
    whole = aims(settings, pass_bet_pass(), [0.0, 0.0, 0.0])
    ratio = (whole.chosen - whole.behaviour).exp().clamp(max=2.0)
    lost = [replace(whole, advantage=-ratio), replace(whole, advantage=-ratio)]
    for piece in scaled(settings, lost):
        assert piece.advantage is not None
        assert piece.advantage.abs().max() < 0.1  # Rounding, over the least size.


def test_rows_that_look_alike_to_their_seat_have_one_advantage_their_mean() -> None:
    settings = Learning(
        policy="neurd",
        terms={"policy": 1.0, "value": 1.0},
        critic_sees="privileged",
        critic_output="q",
        q_trace="joint",
        lr=0.02,
    )
    unrolls, inputs = moved_on(settings)
    assert inputs.q_advantage is not None
    target = inputs.value_target
    assert target is not None
    # By hand: Q of the played choice moved by its weight, then means over equal views.
    run_q = inputs.critic.detach().masked_fill(~inputs.mask, 0.0)  # type: ignore[union-attr]
    played = inputs.action[:, 0]
    rows = torch.arange(len(played))
    weight = (-inputs.behaviour).exp().clamp(1, 10)
    q = run_q.clone()
    q[rows, played] += weight * (target - run_q[rows, played])
    groups: dict[bytes, list[int]] = {}
    for row, view in enumerate(unrolls.observation):
        groups.setdefault(view.tobytes(), []).append(row)
    assert max(len(members) for members in groups.values()) > 1
    for members in groups.values():
        mean = q[members].mean(0)
        pi = inputs.log_probs[members[0]].detach().exp()
        expected = (mean - (pi * mean).sum()) * inputs.mask[members[0]]
        for row in members:
            torch.testing.assert_close(inputs.q_advantage[row], expected, rtol=1e-4, atol=1e-5)
