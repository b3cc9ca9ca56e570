"""Updates as recorded work: filled-up minibatches change no number, and few sizes are met."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_runs import RECURRENT, SMALL, VALUE, Run, leduc_run

from lanista.data.trajectory import Unrolls, join, moved
from lanista.errors import LanistaError
from lanista.games import make
from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.settings import Learning
from lanista.learn.update.batch import Padded
from lanista.learn.update.minibatches import cut_there, recordable
from lanista.learn.update.recorded import RecordedUpdate, Scalars, Table, fitting
from lanista.learn.update.step_metrics import Readings
from lanista.nets.settings import Network

TERMS = {**VALUE, "entropy": 0.05, "upgo": 0.1, "magnet": 0.1, "behaviour": 0.1}
PLAIN = Learning(terms=TERMS, epochs=2, minibatches=3, lr=0.01)
TEMPERED = {"kind": "linear", "start": 1.0, "end": 0.5}
CASES: dict[str, dict[str, Any]] = {
    "ppo": {},
    "one minibatch": {"minibatches": 1},
    "schedules": {
        "temperature": TEMPERED,
        "lr": {"kind": "linear", "start": 0.01, "end": 0.001},
        "terms": {**TERMS, "entropy": {"kind": "exponential", "start": 0.1, "end": 0.01}},
    },
    "some advantages": {"keep_advantages": 0.5, "value_clip": 0.2},
    "as they are": {"normalise_advantages": False, "max_grad_norm": 0.0},
    "vtrace": {"policy": "vtrace", "terms": {**TERMS, "policy": 0.5}},
    "outcome": {"critic_output": "outcome"},
    "neurd": {"policy": "neurd", "critic_output": "q", "terms": {**VALUE, "magnet": 0.2}},
    "all actions": {"policy": "all_action", "critic_output": "q", "terms": VALUE},
    "own critic": {"critic_sees": "privileged", "critic_network": Network(width=8, layers=1)},
    "scaled values": {"value_scale": "running"},
    "reference": {"terms": {**VALUE, "reference": 0.3}, "reference_every": 2},
    "portfolio": {"terms": {**VALUE, "portfolio": 0.3}, "portfolio_every": 2},
    "stops early": {"target_kl": 1e-4, "epochs": 5},
    "averages": {"average": 0.9},
    "forecast": {"terms": {**TERMS, "forecast": 0.4}, "forecast": ("bets", "card")},
    "shares now and then": {"term_gradients_every": 2},
}


def recording(learner: Learner) -> Learner:
    """Return a copy that takes the steps of recorded work, one by one, as the CPU must."""
    twin = copy.deepcopy(learner)
    twin.recorded = twin._recorder()
    return twin


def unrolls_of(run: Run, times: int = 3) -> list[Unrolls]:
    """Return unrolls of various sizes."""
    return [run.collector.whole_matches(matches) for matches in (40, 43, 25, 120)[:times]]


def assert_alike(one: Learner, other: Learner) -> None:
    for mine, theirs in zip(one.parameters, other.parameters, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=2e-4, atol=2e-6)


def assert_logged_alike(log: dict[str, float], other: dict[str, float]) -> None:
    assert log.keys() == other.keys()
    for name, value in log.items():
        assert value == pytest.approx(other[name], rel=2e-3, abs=2e-5, nan_ok=True), name


@pytest.mark.parametrize("case", CASES)
def test_recorded_updates_are_those_that_are_taken_as_they_come(case: str) -> None:
    run = leduc_run(replace(PLAIN, **CASES[case]))
    plain, recorded = run.learner, recording(run.learner)
    for unrolls in unrolls_of(run):
        log, other = plain.update(unrolls), recorded.update(unrolls)
        assert_logged_alike(log, other)
        assert_alike(plain, recorded)
    assert recorded.update_count == 3


def test_unrolls_that_go_on_are_learned_from_alike() -> None:
    run = leduc_run(replace(PLAIN, policy="vtrace"), unroll_length=2)
    plain, recorded = run.learner, recording(run.learner)
    streamed = [run.collector.unrolls(count) for count in (40, 150, 90)]
    assert not streamed[0].goes_on.any()
    assert streamed[1].goes_on.any()
    for unrolls in streamed:
        assert_logged_alike(plain.update(unrolls), recorded.update(unrolls))
        assert_alike(plain, recorded)


def test_what_comes_after_an_unroll_is_predicted_alike() -> None:
    """PPO works its targets out at once, and still reads the views that come next."""
    terms = {**VALUE, "forecast": 0.5}
    run = leduc_run(replace(PLAIN, terms=terms, forecast=("bets",)), unroll_length=2)
    plain, recorded = run.learner, recording(run.learner)
    for count in (40, 150, 90):
        unrolls = run.collector.unrolls(count)
        assert_logged_alike(plain.update(unrolls), recorded.update(unrolls))
        assert_alike(plain, recorded)
    assert unrolls.goes_on.any()


def test_a_recurrent_policy_without_references_is_recorded_too() -> None:
    settings = replace(PLAIN, terms={**VALUE, "entropy": 0.05})
    run = leduc_run(settings, RECURRENT)
    assert recordable(settings, RECURRENT)
    plain, recorded = run.learner, recording(run.learner)
    for unrolls in unrolls_of(run):
        assert unrolls.state is not None
        assert_logged_alike(plain.update(unrolls), recorded.update(unrolls))
        assert_alike(plain, recorded)


def test_weights_and_groups_of_matchups_are_recorded_too() -> None:
    settings = replace(PLAIN, terms=VALUE, matchup_floor=0.5, matchup_advantages=5)
    run = leduc_run(settings)
    plain, recorded = run.learner, recording(run.learner)
    drawn = np.random.Generator(np.random.PCG64(1))
    for unrolls in unrolls_of(run):
        weight = drawn.random(unrolls.decisions, np.float32)
        matchup = drawn.integers(7, size=unrolls.decisions) * 1_000_003
        matched = replace(unrolls, weight=weight, matchup=matchup)
        assert_logged_alike(plain.update(matched), recorded.update(matched))
        assert_alike(plain, recorded)


def test_while_the_critic_learns_alone_recorded_steps_leave_the_policy() -> None:
    run = leduc_run(PLAIN)
    recorded = recording(run.learner)
    (unrolls,) = unrolls_of(run, 1)
    before = [parameter.detach().clone() for parameter in recorded.policy.parameters()]
    recorded.update(unrolls, critic_alone=True)
    assert all(map(torch.equal, before, recorded.policy.parameters()))
    recorded.update(unrolls)
    assert not torch.equal(before[0], next(recorded.policy.parameters()))


def test_a_broken_number_in_a_decision_is_refused_and_one_that_fills_up_cannot_be() -> None:
    run = leduc_run(PLAIN)
    recorded = recording(run.learner)
    recorded.descent.late = True
    (unrolls,) = unrolls_of(run, 1)
    before = [parameter.detach().clone() for parameter in recorded.parameters]
    reward = unrolls.reward.copy()
    reward[3] = math.nan
    with pytest.raises(BrokenLossError, match="weights were left"):
        recorded.update(replace(unrolls, reward=reward))
    assert all(map(torch.equal, before, recorded.parameters))
    log = recorded.update(unrolls)
    assert math.isfinite(log["loss"])
    assert not torch.equal(before[0], recorded.parameters[0])


def test_steps_that_are_tried_out_change_nothing() -> None:
    run = leduc_run(PLAIN)
    learner = run.learner
    learner.descent.late = True
    (unrolls,) = unrolls_of(run, 1)
    learner.update(unrolls)
    before = copy.deepcopy(learner.state())
    with learner.descent.skipping():
        learner._step(unrolls, dict(PLAIN.terms))
    for name in ("policy", "critic"):
        for key, value in before[name].items():
            assert torch.equal(value, learner.state()[name][key])
    for mine, theirs in zip(
        before["optimiser"]["state"].values(),
        learner.state()["optimiser"]["state"].values(),
        strict=True,
    ):
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)
    learner.update(unrolls)
    assert not torch.equal(next(iter(before["policy"].values())), learner.parameters[0])


def minibatches_of(unrolls: Unrolls, count: int) -> tuple[list[Any], list[Padded]]:
    """Return the lanes of each minibatch, and the minibatches that a recorder cuts of them."""
    seen: list[Padded] = []

    def step(part: Padded, weights: dict[str, Any], measured: bool) -> Readings:
        assert list(weights) == ["policy"]
        seen.append(part)
        return Readings(0)

    cpu = torch.device("cpu")
    recorder = RecordedUpdate(step, ["policy", "value"], cpu, leduc_run(PLAIN).learner.descent)
    recorder.load(moved(unrolls, cpu))
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(unrolls))
    lanes = np.array_split(order, count)
    packed = recorder.epoch(lanes, terms=("policy",))
    assert packed.rows == [unrolls.take(some).decisions for some in lanes]
    return lanes, seen


def test_a_cut_minibatch_holds_what_its_unrolls_do_and_is_filled_up() -> None:
    run = leduc_run(PLAIN)
    unrolls = join(unrolls_of(run, 2))
    lanes, parts = minibatches_of(unrolls, 3)
    for some, part in zip(lanes, parts, strict=True):
        own = moved(unrolls.take(some), torch.device("cpu"))
        valid, index = part.valid, torch.as_tensor(part.index)
        assert valid is not None
        assert int(valid.sum()) == own.decisions < len(valid)
        assert valid[: own.decisions].all()
        for name in ("observation", "mask", "action", "log_prob", "reward", "ended", "value"):
            assert torch.equal(getattr(part, name)[: own.decisions], getattr(own, name)), name
        assert torch.equal(index[: len(own.index), : len(own)], torch.as_tensor(own.index).long())
        assert (index[len(own.index) :] == -1).all()
        assert (index[:, len(own) :] == -1).all()
        assert not torch.as_tensor(part.goes_on)[len(own) :].any()


def test_sizes_leave_room_and_stay_where_they_fit() -> None:
    for size in (1, 7, 16, 100, 8_000, 8_192, 1_000_000):
        room = fitting(size)
        assert size <= room <= 1.1 * size + 32
        assert fitting(room, room) == room
        assert fitting(size, room) == room
        assert fitting(2 * room, room) >= 2 * room
        assert fitting(1, 10_000) < 100
    assert len({fitting(size) for size in range(8_000, 16_000)}) <= 17


def test_updates_of_about_one_size_share_a_table() -> None:
    run = leduc_run(PLAIN)
    recorded = recording(run.learner)
    tables = set()
    for matches in (400, 402, 397, 405, 399):
        recorded.update(run.collector.whole_matches(matches))
        assert recorded.recorded is not None
        tables.add(recorded.recorded._table)
    assert len(tables) == 1
    recorded.update(run.collector.whole_matches(4000))
    assert recorded.recorded._table not in tables


def test_a_table_goes_on_where_no_match_does() -> None:
    run = leduc_run(PLAIN, unroll_length=2)
    cpu = torch.device("cpu")
    going = moved(run.collector.whole_matches(50), cpu)
    assert going.next_observation is not None
    table = Table(going, cpu)
    ended = replace(going, next_observation=None, next_mask=None, next_value=None)
    assert table.fits(ended)
    table.load(ended)
    assert not table.columns["next_value"].any()
    assert not Table(ended, cpu).fits(going)
    assert not table.fits(replace(going, observation=going.observation.float()))  # type: ignore[attr-defined]


def test_new_weights_are_learned_from_after_a_return_and_a_load() -> None:
    run = leduc_run(PLAIN)
    plain, recorded = run.learner, recording(run.learner)
    start, state = copy.deepcopy(plain.policy), copy.deepcopy(plain.state())
    for unrolls in unrolls_of(run, 2):
        for learner in (plain, recorded):
            learner.update(unrolls)
            learner.return_to(start)
            learner.update(unrolls)
        assert_alike(plain, recorded)
        plain.load_state(copy.deepcopy(state))
        recorded.load_state(copy.deepcopy(state))


def test_numbers_are_set_where_they_lie() -> None:
    scalars = Scalars(("a", "b"), torch.device("cpu"))
    a = scalars["a"]
    scalars.set({"a": 0.5, "b": 2.0})
    assert (float(a), float(scalars.of(["b"])["b"])) == (0.5, 2.0)
    assert scalars["a"] is a


def test_what_cannot_be_recorded_is_told_apart() -> None:
    learning, network = Learning(), SMALL
    assert recordable(learning, network)
    for more in ({"eta": 0.1}, {"shards": 2}, {"accumulate": 2}, {"minibatches_by_noise": 4}):
        assert not recordable(replace(learning, **more), network)
    assert not recordable(replace(learning, precision="fp16"), network)
    assert not recordable(learning, replace(network, dropout=0.1))
    pulled = replace(learning, terms={**VALUE, "reference": 0.1})
    assert recordable(pulled, network)
    assert not cut_there(pulled, RECURRENT)
    assert not recordable(pulled, RECURRENT)


def test_recording_without_a_gpu_is_refused_where_it_is_asked_for() -> None:
    game = make("leduc", slots=1)
    with pytest.raises(LanistaError, match=r"learning\.graphs is true, and these updates cannot"):
        Learner(game.spec, SMALL, replace(PLAIN, graphs=True), updates=1)
    for graphs in (None, False):
        learner = Learner(game.spec, SMALL, replace(PLAIN, graphs=graphs), updates=1)
        assert learner.recorded is None
