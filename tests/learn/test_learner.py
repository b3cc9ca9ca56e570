"""The learner as a whole: which way it learns, what a step is made of, and that it resumes."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_runs import RECURRENT, SMALL, VALUE, FirstArm, Run, TwoArms, kuhn_run, leduc_run
from torch import Tensor

from lanista.data.equal_rows import equal_rows
from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.settings import Learning
from lanista.learn.update import batch as batch_module
from lanista.learn.update.minibatches import cut
from lanista.learn.update.step_metrics import Readings, read
from lanista.nets.settings import Network

LOSSES: dict[str, dict[str, Any]] = {
    "ppo": {"policy": "ppo"},
    "vtrace": {"policy": "vtrace"},
    "all_action": {"policy": "all_action", "critic_output": "q"},
    "neurd": {"policy": "neurd", "critic_output": "q"},
    "rnad": {"policy": "neurd", "eta": 0.2, "fixed_point": (10,)},
    "regularised ppo": {"policy": "ppo", "eta": 0.2, "fixed_point": (10,)},
}


def gradients(learner: Learner, unrolls: Unrolls) -> list[Tensor]:
    """Return the gradient of one step over `unrolls`, and leave the learner as it is."""
    twin = copy.deepcopy(learner)
    twin.settings = replace(learner.settings, max_grad_norm=0.0)
    twin._step(unrolls, dict(twin.settings.terms))
    return [
        torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for p in [*twin.policy.parameters(), *twin.critic.parameters()]
    ]


def assert_same(one: list[Tensor], other: list[Tensor], tolerance: float = 1e-6) -> None:
    assert any(bool(gradient.abs().max() > 1e-4) for gradient in one)
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=tolerance)


def weights_of(learner: Learner) -> list[Tensor]:
    return [p.detach().clone() for p in learner.parameters]


@pytest.mark.parametrize("game", [TwoArms, FirstArm])
@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_rewarded_becomes_likelier_for_both_seats(loss: str, game: type[TwoArms]) -> None:
    run = Run(game(slots=64), Learning(terms=VALUE, lr=5e-3, **LOSSES[loss]))
    run.train(25)
    policy = run.learner.policy
    chances = policy.heads.log_probs(policy(torch.eye(2)), torch.ones(2, 2).bool()).exp()
    assert chances[:, game.good].min() > 0.7


@pytest.mark.parametrize("limit", [0.01, 1e3])
def test_a_gradient_after_clipping_is_the_smaller_of_itself_and_the_limit(limit: float) -> None:
    run = leduc_run(Learning(terms=VALUE, critic_sees="seat", max_grad_norm=limit, lr=0.0))
    log = run.train(1)[0]
    for network in ("policy", "critic"):
        before, after = (log[f"gradient_norm{part}/{network}"] for part in ("", "_clipped"))
        assert before > 0.02
        assert after == pytest.approx(min(before, limit), rel=1e-3)


def test_an_error_of_the_critic_does_not_shorten_the_policys_step() -> None:
    settings = Learning(terms=VALUE, critic_sees="seat", max_grad_norm=0.5, policy="vtrace")
    calm, wild = leduc_run(settings), leduc_run(replace(settings, terms={**VALUE, "value": 1e3}))
    calm_log, wild_log = calm.train(1)[0], wild.train(1)[0]
    assert wild_log["gradient_norm/critic"] > 100 * calm_log["gradient_norm/critic"]
    for name in ("gradient_norm/policy", "gradient_norm_clipped/policy"):
        assert wild_log[name] == calm_log[name]


def test_no_limit_leaves_gradients_as_they_are() -> None:
    log = leduc_run(Learning(terms=VALUE, max_grad_norm=0.0)).train(1)[0]
    for network in ("policy", "critic"):
        assert log[f"gradient_norm_clipped/{network}"] == pytest.approx(
            log[f"gradient_norm/{network}"]
        )


@pytest.mark.parametrize("keep", [1.0, 0.4])
@pytest.mark.parametrize("loss", LOSSES)
def test_accumulated_pieces_give_the_gradient_of_one_batch(loss: str, keep: float) -> None:
    terms = {"policy": 1.0, "value": 0.5, "entropy": 0.1, "upgo": 0.3, "magnet": 0.2}
    settings = Learning(terms=terms, keep_advantages=keep, **LOSSES[loss])
    run = leduc_run(settings, unroll_length=3)
    run.train(2)
    unrolls = run.play(101)
    whole = gradients(run.learner, unrolls)
    run.learner.settings = replace(settings, accumulate=7)
    assert len(run.learner._pieces(unrolls)) == 7
    assert_same(whole, gradients(run.learner, unrolls))


@pytest.mark.parametrize("loss", ["ppo", "rnad"])
def test_minibatches_hold_every_decision_once(loss: str) -> None:
    run = leduc_run(Learning(terms=VALUE, minibatches=5, **LOSSES[loss]))
    unrolls = run.play(97)
    parts = list(cut(unrolls, run.learner._minibatches(unrolls)))
    assert len(parts) == 5
    sizes = [len(part) for part in parts]
    assert max(sizes) < 1.5 * min(sizes)

    def names(some: Unrolls) -> list[tuple[int, ...]]:
        return list(zip(some.match, some.seat, some.turn, strict=True))

    found = [name for part in parts for name in names(part)]
    assert sorted(found) == sorted(names(unrolls))
    if loss == "rnad":
        matches = [set(part.match.tolist()) for part in parts]
        assert sum(map(len, matches)) == len(set().union(*matches))
    again = list(cut(unrolls, run.learner._minibatches(unrolls)))
    assert names(again[0]) != names(parts[0])


def test_an_update_takes_epochs_times_minibatches_steps() -> None:
    run = kuhn_run(Learning(terms=VALUE, epochs=3, minibatches=4))
    run.train(1)
    steps = {int(state["step"]) for state in run.learner.optimiser.state.values()}
    assert steps == {12}


def test_a_policy_that_moved_too_far_ends_its_update() -> None:
    settings = Learning(terms=VALUE, epochs=50, lr=0.05, target_kl=0.02)
    run = kuhn_run(settings)
    step, kl = run.learner._step, []

    def watched(*given: Any, **more: Any) -> Readings:
        readings = step(*given, **more)
        kl.append(read([readings])[0]["policy/approx_kl"])
        return readings

    run.learner._step = watched  # type: ignore[method-assign]
    log = run.train(1)[0]
    assert 1 <= log["stopped_after_epoch"] == len(kl) < 50
    assert max(kl[:-1], default=0.0) <= 0.02 < kl[-1]  # The last step decides, not their mean.
    patient = kuhn_run(replace(settings, epochs=2, lr=1e-6)).train(1)[0]
    assert "stopped_after_epoch" not in patient


@pytest.mark.parametrize("network", [SMALL, RECURRENT])
@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_what_was_played_at_a_temperature_is_judged_at_it(
    network: Network, temperature: float
) -> None:
    terms = {**VALUE, "behaviour": 0.1}
    run = leduc_run(Learning(terms=terms, temperature=temperature), network)
    with torch.no_grad():
        for parameter in run.learner.policy.head.parameters():
            parameter.mul_(100)  # A fresh policy has no opinion that a temperature could change.
    run.collector.actor.temperature = temperature
    # Nothing has moved yet, so every ratio is 1 and nothing is clipped or pulled.
    log = run.learner.update(run.play())
    assert log["behaviour/loss"] == pytest.approx(0.0, abs=1e-6)
    assert log["policy/approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert log["policy/clip_fraction"] == 0.0
    run.collector.actor.temperature = 1.0
    assert run.learner.update(run.play())["policy/approx_kl"] > 1e-4


def test_averaged_weights_follow_their_formula() -> None:
    decay, share = 0.8, 0.5
    by_decay = kuhn_run(Learning(terms=VALUE, average=decay, lr=0.01))
    by_share = kuhn_run(Learning(terms=VALUE, average_share=share, lr=0.01))
    for run, decays in (
        # The first updates count alike, and nothing is left of the initial weights.
        (by_decay, [min(decay, 1 - 1 / n) for n in range(1, 9)]),
        (by_share, [1 - 1 / max(1.0, share * n) for n in (1, 2, 3, 4, 5)]),
    ):
        learner = run.learner
        slow = [p.detach().double() for p in learner.policy.parameters()]
        for each in decays:
            run.train(1)
            now = [p.detach().double() for p in learner.policy.parameters()]
            slow = [each * a + (1 - each) * b for a, b in zip(slow, now, strict=True)]
        assert learner.best is not learner.policy
        for mine, expected in zip(learner.best.parameters(), slow, strict=True):
            torch.testing.assert_close(mine.double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("updates", [1, 3, 80, 400])
def test_the_average_of_a_steady_drift_lags_as_its_formula_says(updates: int) -> None:
    settings, average = Learning(average=0.99), -1000.0
    for n in range(1, updates + 1):
        average += (1 - settings.average_decay(n)) * (n - average)
    # Weights that are n after n updates: their mean at first, an EMA with a window of 100 later.
    lag = 99 - 49.5 * 0.99 ** (updates - 100) if updates > 100 else (updates - 1) / 2
    assert average == pytest.approx(updates - lag)


def test_without_an_average_the_policy_itself_is_the_best() -> None:
    learner = kuhn_run(Learning(terms=VALUE)).learner
    assert learner.best is learner.policy


@pytest.mark.parametrize(
    ("column", "term"), [("reward", "policy"), ("log_prob", "policy"), ("log_probs", "behaviour")]
)
def test_a_number_that_is_none_stops_the_run_and_leaves_the_weights(column: str, term: str) -> None:
    run = kuhn_run(Learning(terms={**VALUE, "behaviour": 0.1}))
    unrolls = run.play()
    broken = getattr(unrolls, column).copy()
    broken.flat[0] = math.nan
    if column == "log_probs":
        broken[0] = math.nan
    before = weights_of(run.learner)
    with pytest.raises(BrokenLossError, match=f"term {term} is nan at update 0"):
        run.learner.update(replace(unrolls, **{column: broken}))
    assert all(map(torch.equal, before, weights_of(run.learner)))
    assert run.learner.update_count == 0


def test_terms_that_only_together_are_infinite_stop_the_run_too() -> None:
    run = kuhn_run(Learning(terms={"value": 1e39, "entropy": 1e39}))
    before = weights_of(run.learner)
    with pytest.raises(BrokenLossError, match="update 0 is"):
        run.train(1)
    assert all(map(torch.equal, before, weights_of(run.learner)))


def test_bf16_comes_close_to_fp32() -> None:
    settings = Learning(terms={**VALUE, "entropy": 0.01}, critic_sees="seat")
    run = leduc_run(settings)
    run.train(3)
    unrolls = run.play(256)
    exact = torch.cat([g.flatten() for g in gradients(run.learner, unrolls)])
    run.learner.settings = replace(settings, precision="bf16")
    rough = torch.cat([g.flatten() for g in gradients(run.learner, unrolls)])
    assert not torch.equal(exact, rough)
    assert torch.cosine_similarity(exact, rough, 0) > 0.99
    assert rough.norm() / exact.norm() == pytest.approx(1.0, abs=0.05)


def test_fp16_without_a_gpu_is_refused() -> None:
    with pytest.raises(LanistaError, match="fp16 needs a GPU"):
        kuhn_run(Learning(terms=VALUE, precision="fp16"))


EVERYTHING = Learning(
    terms={
        **VALUE,
        "reference": 0.1,
        "portfolio": 0.1,
        "behaviour": 0.1,
        "magnet": {"kind": "exponential", "start": 0.5, "end": 0.1},
    },
    lr={"kind": "on-plateau", "start": 0.01, "factor": 0.5, "patience": 1},
    policy="ppo",
    eta=0.2,
    fixed_point=(3,),
    target_average=0.1,
    epochs=2,
    minibatches=3,
    average=0.9,
    portfolio_every=2,
    portfolio_size=2,
    reference_every=3,
)


def test_a_learner_taken_up_again_goes_on_bit_for_bit() -> None:
    run = kuhn_run(EVERYTHING)
    for n in range(5):
        run.train(1)
        run.learner.evaluated(-float(n % 3))
    state = copy.deepcopy(run.learner.state())
    data = [run.play() for _ in range(4)]
    logs = [run.learner.update(unrolls) for unrolls in data]
    fresh = kuhn_run(EVERYTHING, seed=99).learner
    fresh.load_state(state)
    assert [fresh.update(unrolls) for unrolls in data] == logs
    assert all(map(torch.equal, weights_of(run.learner), weights_of(fresh)))
    for one, other in ((run.learner.best, fresh.best), (run.learner.critic, fresh.critic)):
        assert all(map(torch.equal, one.parameters(), other.parameters()))
    flat, other_flat = flatten(run.learner.state()), flatten(fresh.state())
    assert flat.keys() == other_flat.keys()
    assert all(bool(np.all(flat[key] == other_flat[key])) for key in flat)


@pytest.fixture(scope="module")
def gone_on() -> tuple[Any, list[Any], dict[str, Any]]:
    """Return the state of a learner, what it learned from afterwards, and its state then."""
    run = kuhn_run(EVERYTHING)
    for _ in range(5):
        run.train(1)
        run.learner.evaluated(-1.0)
    state = copy.deepcopy(run.learner.state())
    data = [run.play() for _ in range(3)]
    for unrolls in data:
        run.learner.update(unrolls)
    return state, data, flatten(copy.deepcopy(run.learner.state()))


@pytest.mark.parametrize("dropped", list(kuhn_run(EVERYTHING).learner.state()))
def test_dropping_any_part_of_the_state_makes_the_run_differ(gone_on: Any, dropped: str) -> None:
    state, (data, expected) = copy.deepcopy(gone_on[0]), gone_on[1:]
    fresh = kuhn_run(EVERYTHING, seed=99).learner
    if dropped == "scaler":
        assert not state["scaler"]  # Nothing scales without fp16.
        return
    state[dropped] = copy.deepcopy(fresh.state()[dropped])
    fresh.load_state(state)
    for unrolls in data:
        fresh.update(unrolls)
    found = flatten(fresh.state())
    assert found.keys() != expected.keys() or any(
        not bool(np.all(found[key] == expected[key])) for key in expected
    )


def flatten(value: Any, name: str = "") -> dict[str, Any]:
    """Return nested values by path."""
    if isinstance(value, dict):
        parts = [flatten(each, f"{name}/{key}") for key, each in value.items()]
    elif isinstance(value, list | tuple):
        parts = [flatten(each, f"{name}/{n}") for n, each in enumerate(value)]
    else:
        return {name: value.numpy() if isinstance(value, Tensor) else value}
    return {key: each for part in parts for key, each in part.items()}


def test_shares_of_the_gradient_sum_to_one_and_come_when_due() -> None:
    terms = {**VALUE, "entropy": 0.1, "magnet": 0.1}
    logs = kuhn_run(Learning(terms=terms, term_gradients_every=2)).train(3)
    shares = [[value for name, value in log.items() if "gradient_share" in name] for log in logs]
    assert [len(each) for each in shares] == [4, 0, 4]
    for each in (shares[0], shares[2]):
        assert sum(each) == pytest.approx(1.0)
    assert min(shares[2]) > 0


def test_an_update_logs_what_a_person_looks_at() -> None:
    settings = Learning(terms={**VALUE, "entropy": 0.01, "behaviour": 0.1}, epochs=2)
    log = kuhn_run(settings).train(2)[1]
    expected = {
        "policy/loss", "policy/clip_fraction", "policy/approx_kl", "policy/advantage",
        "value/loss", "value/explained_variance", "entropy/entropy/0", "behaviour/kl/0",
        "gradient_norm/policy", "gradient_norm_clipped/policy", "gradient_norm/critic",
        "gradient_norm_clipped/critic", "lag/mean", "lag/max", "lr", "policy/weight",
        "behaviour/weight",
    }  # fmt: skip
    assert expected <= log.keys()
    assert all(math.isfinite(value) for value in log.values())
    assert 0 < log["entropy/entropy/0"] <= math.log(2)
    assert log["lag/mean"] == log["lag/max"] == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_entropy_and_distance_from_behaviour_are_logged_whatever_the_loss(loss: str) -> None:
    run = kuhn_run(Learning(terms=VALUE, lr=0.05, **LOSSES[loss]))
    run.train(1)
    old = run.play(300)
    assert run.learner.update(old)["policy/behaviour_kl"] == pytest.approx(0.0, abs=1e-6)
    log = run.learner.update(old)  # The weights have moved since these were played.
    assert log["policy/behaviour_kl"] > 1e-5
    assert 0 < log["policy/entropy/0"] < math.log(2)


def test_policy_lag_is_how_many_updates_ago_the_weights_acted() -> None:
    run = kuhn_run(Learning(terms=VALUE))
    old = run.play()
    run.train(3)
    log = run.learner.update(old)
    assert log["lag/mean"] == log["lag/max"] == 3.0
    assert "staleness" not in log


@pytest.mark.parametrize("sees", ["features", "seat", "privileged"])
@pytest.mark.parametrize("loss", LOSSES)
def test_looking_once_at_equal_positions_changes_no_gradient(
    loss: str, sees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Learning(terms={**VALUE, "magnet": 0.1}, critic_sees=sees, **LOSSES[loss])  # type: ignore[arg-type]
    run = leduc_run(settings)
    run.train(2)
    unrolls = run.play(300)
    assert len(equal_rows(unrolls.observation)[0]) < 0.5 * unrolls.decisions
    merged = gradients(run.learner, unrolls)
    monkeypatch.setattr(batch_module, "kinds", lambda *_: None)
    assert_same(merged, gradients(run.learner, unrolls), 1e-5)


PADDED = Learning(terms={**VALUE, "upgo": 0.5, "entropy": 0.1, "behaviour": 0.1})


@pytest.mark.parametrize("loss", LOSSES)
def test_longer_padding_changes_no_gradient(loss: str) -> None:
    run = leduc_run(replace(PADDED, **LOSSES[loss]))
    run.train(2)
    unrolls = run.play()
    assert (unrolls.index < 0).any()
    assert not unrolls.goes_on.any()
    longer = np.vstack([unrolls.index, np.full((3, len(unrolls)), -1, np.int32)])
    expected = gradients(run.learner, unrolls)
    assert_same(expected, gradients(run.learner, replace(unrolls, index=longer)))


def test_nothing_comes_after_a_match_whatever_stands_there() -> None:
    run = leduc_run(PADDED, unroll_length=2)
    run.train(2)
    unrolls = run.play()
    expected = gradients(run.learner, unrolls)

    def changed(lanes: Any) -> list[Tensor]:
        other = {}
        for name in ("next_observation", "next_value"):
            other[name] = getattr(unrolls, name).copy()
            other[name][lanes] = 77
        return gradients(run.learner, replace(unrolls, **other))

    assert_same(expected, changed(~unrolls.goes_on))
    with pytest.raises(AssertionError):
        assert_same(expected, changed(unrolls.goes_on))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_last_decision_of_a_match_is_learned_from(loss: str) -> None:
    run = leduc_run(Learning(terms=VALUE, normalise_advantages=False, **LOSSES[loss]))
    unrolls = run.play(1)
    last = np.flatnonzero(unrolls.ended & (unrolls.reward != 0))[:1]
    other = unrolls.reward.copy()
    other[last] += 3.0
    one = gradients(run.learner, unrolls)
    two = gradients(run.learner, replace(unrolls, reward=other))
    assert not all(torch.allclose(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("unroll_length", [1, 2, 8])
def test_a_recurrent_policy_learns_from_the_chances_it_acted_with(unroll_length: int) -> None:
    settings = Learning(terms={**VALUE, "behaviour": 0.1}, lr=0.02)
    run = leduc_run(settings, RECURRENT, unroll_length=unroll_length)
    run.train(3)
    unrolls = run.play()
    assert unrolls.log_probs is not None
    known = run.learner._inputs(unrolls, dict(settings.terms))
    legal = torch.from_numpy(unrolls.mask)
    acted = torch.from_numpy(unrolls.log_probs)
    torch.testing.assert_close(known.log_probs[legal], acted[legal], rtol=0, atol=1e-5)
    # The memory matters: without it the same positions get other chances.
    forgetful = run.learner.policy(torch.from_numpy(unrolls.observation))
    alone = run.learner.policy.heads.log_probs(forgetful, legal)
    assert (alone[legal] - acted[legal]).abs().max() > 1e-3


def test_a_recurrent_learner_finds_the_good_arm() -> None:
    run = Run(TwoArms(slots=64), Learning(terms=VALUE, lr=5e-3), RECURRENT)
    run.train(25)
    policy = run.learner.policy
    chances = policy.heads.log_probs(policy(torch.eye(2)), torch.ones(2, 2).bool()).exp()
    assert chances[:, 1].min() > 0.7


def test_a_privileged_critic_learns_what_the_seats_cannot_see() -> None:
    # Seat 1 does not see seat 0's arm, on which half of its return depends.
    def explained(sees: Any) -> float:
        settings = Learning(terms={"value": 1.0}, critic_sees=sees, lr=0.02)
        run = Run(TwoArms(slots=256), settings)
        return run.train(60, 256)[-1]["value/explained_variance"]

    assert explained("privileged") > explained("seat") + 0.15


def test_a_privileged_critic_without_a_privileged_view_is_refused() -> None:
    class Open(TwoArms):
        privileged_fields = ()

    with pytest.raises(LanistaError, match="has no privileged view"):
        Run(Open(), Learning(critic_sees="privileged"))


def test_an_outcome_critic_learns_how_matches_end() -> None:
    class Won(TwoArms):
        """Seat 0 always wins."""

        def apply(self, state: list[int], moves: dict[int, Any], rng: Any) -> list[float] | None:
            state.extend(moves.values())
            return None if len(state) < 2 else [1.0, -1.0]

    run = Run(Won(slots=64), Learning(terms=VALUE, critic_output="outcome", lr=0.02))
    log = run.train(40)[-1]
    assert log["value/outcome_accuracy"] == 1.0
    out = run.learner.critic(run.learner.policy.torso(torch.eye(2)))
    assert out.softmax(-1).argmax(-1).tolist() == [0, 2]
    assert run.learner.critic.value_of(out)[0] > 0.8


def test_an_anchored_run_without_an_anchor_is_refused() -> None:
    with pytest.raises(LanistaError, match="supervised-checkpoint"):
        kuhn_run(Learning(terms={**VALUE, "anchor_forward": 0.1}))


def test_a_critic_has_the_network_that_it_is_given() -> None:
    other = Network(width=5, layers=2)
    settings = Learning(terms=VALUE, critic_sees="seat", critic_network=other)
    learner = kuhn_run(settings).learner
    assert learner.critic.torso is not None
    assert learner.critic.torso.width == 5
    assert learner.policy.torso.width == SMALL.width


def test_the_log_has_every_scheduled_number_as_it_was_at_the_update() -> None:
    settings = Learning(
        terms={
            "policy": 1.0,
            "value": 0.5,
            "entropy": {"kind": "linear", "start": 0.4, "end": 0.1},
        },
        lr={"kind": "linear", "start": 0.01, "end": 0.0},
        temperature={"kind": "linear", "start": 1.0, "end": 0.5},
    )
    logs = kuhn_run(settings, updates=4).train(3)
    for name, start, end in (
        ("temperature", 1.0, 0.5),
        ("lr", 0.01, 0.0),
        ("entropy/weight", 0.4, 0.1),
    ):
        wanted = [start + (end - start) * update / 4 for update in range(3)]
        assert [log[name] for log in logs] == pytest.approx(wanted), name
    assert all(log["value/weight"] == 0.5 for log in logs)


JOINT = {"critic_sees": "privileged", "critic_output": "q", "q_trace": "joint"}


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (
            {"zero_sum": False},
            "what one of two seats wins .* leave q_trace out",
        ),
        (
            {"simultaneous": True},
            "needs one seat to decide at a time, and the seats of kuhn",
        ),
    ],
)
def test_values_over_both_seats_are_refused_where_they_would_be_wrong(
    facts: dict[str, bool], sentence: str
) -> None:
    spec = registry.spec_of("kuhn")
    other = replace(spec, facts=replace(spec.facts, **facts))
    with pytest.raises(LanistaError, match=sentence):
        Learner(other, SMALL, Learning(**JOINT), updates=1)
