"""Unrolls whose columns lie on a device: cut and learned from as on the host."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from made_up_unrolls import OneHead, unrolls_for
from small_runs import kuhn_run, leduc_run
from torch import Tensor

from lanista.data.trajectory import ALL, HEAVY, LANES, ROWS, Unrolls, join, moved, to_arrays
from lanista.learn.settings import Learning
from lanista.learn.update.batch import Batch, kinds_of, to_device
from lanista.learn.update.minibatches import cut, cut_there
from lanista.nets.settings import Network

CPU = torch.device("cpu")


def there(unrolls: Unrolls) -> Unrolls:
    """Return unrolls as they are on a device that is not the host."""
    return moved(unrolls, CPU, HEAVY)


def wholly_there(unrolls: Unrolls) -> Unrolls:
    """Return unrolls of which the host has no column."""
    return moved(unrolls, CPU)


def same(found: Unrolls, wanted: Unrolls) -> None:
    for name in ALL:
        column = getattr(wanted, name)
        if column is None:
            assert getattr(found, name) is None, name
        else:
            assert np.array_equal(np.asarray(getattr(found, name)), column), name


def test_on_the_cpu_unrolls_stay_as_they_are() -> None:
    unrolls = leduc_run(Learning()).play()
    assert to_device(unrolls, CPU) is unrolls


def test_heavy_columns_are_tensors_and_the_others_stay_with_the_host() -> None:
    unrolls = leduc_run(Learning()).play()
    moved = there(unrolls)
    for name in (*ROWS, *LANES, "index"):
        if getattr(unrolls, name) is not None:
            assert isinstance(getattr(moved, name), Tensor if name in HEAVY else np.ndarray), name


def test_taken_from_a_device_is_what_is_taken_on_the_host() -> None:
    unrolls = leduc_run(Learning()).play()
    lanes = np.random.default_rng(0).permutation(len(unrolls))[: len(unrolls) // 2]
    same(there(unrolls).take(lanes), unrolls.take(lanes))


def streamed() -> Unrolls:
    """Return unrolls of which some go on and are shorter than others, so that they are shifted."""
    lengths = (2, 1)
    runs = [leduc_run(Learning(), unroll_length=length) for length in lengths]
    unrolls = join([run.collector.unrolls(40) for run in runs])
    short = (unrolls.index >= 0).sum(0) < len(unrolls.index)
    assert (short & unrolls.goes_on).any()
    return unrolls


@pytest.mark.parametrize("made", [streamed, lambda: leduc_run(Learning()).play()])
def test_minibatches_cut_on_a_device_are_those_cut_on_the_host(made: Any) -> None:
    unrolls = made()
    parts = np.array_split(np.random.default_rng(0).permutation(len(unrolls)), 3)
    for found, wanted in zip(cut(wholly_there(unrolls), parts), cut(unrolls, parts), strict=True):
        same(found, wanted)
        rows = torch.arange(float(wanted.decisions)) + 1
        batches = [Batch(each, CPU).to_the_end for each in (found, wanted)]
        steps = [batch.steps(rows) for batch in batches]
        assert torch.equal(*steps)
        assert torch.equal(batches[0].rows(steps[0]), rows)


def test_parts_joined_on_a_device_are_those_joined_on_the_host() -> None:
    run = leduc_run(Learning(), unroll_length=2)
    parts = [run.play(), streamed(), run.collector.unrolls(10)]
    for number, part in enumerate(parts):
        parts[number] = replace(part, extras={"own": np.full(part.decisions, number)})
    found, wanted = join([wholly_there(part) for part in parts]), join(parts)
    same(found, wanted)
    assert np.array_equal(found.extras["own"], wanted.extras["own"])


def test_unrolls_on_a_device_are_kept_as_plain_arrays_and_know_their_age() -> None:
    unrolls = leduc_run(Learning()).play()
    unrolls.update[:3] = -4
    moved_there = wholly_there(unrolls)
    for name, array in to_arrays(moved_there).items():
        assert isinstance(array, np.ndarray)
        assert np.array_equal(array, getattr(unrolls, name))
    mean = (12 * unrolls.decisions) / unrolls.decisions + 3 * 4 / unrolls.decisions
    assert unrolls.age(12) == pytest.approx((mean, 16.0))
    assert moved_there.age(12) == pytest.approx((mean, 16.0))


def test_rows_and_steps_go_both_ways() -> None:
    batch = Batch(leduc_run(Learning()).play(), CPU)
    for each in (batch, batch.joint, batch.by_seat, batch.to_the_end):
        rows = torch.arange(float(batch.unrolls.decisions)) + 1
        steps = each.steps(rows)
        assert torch.equal(steps > 0, each.index >= 0)
        assert torch.equal(each.rows(steps), rows)


def test_equal_rows_are_found_on_the_host_only() -> None:
    seen, mask = np.zeros((20, 3), np.uint8), np.ones((20, 2), np.bool_)
    assert len(kinds_of(seen, CPU).view) == 1
    mask[7] = False
    kinds = kinds_of(seen, CPU, mask)
    assert kinds.first is not None
    assert kinds.first.tolist() == [0, 7]
    everything = kinds_of(torch.from_numpy(seen), CPU, torch.from_numpy(mask))
    assert everything.group is None
    assert len(everything.view) == 20


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "ppo", "minibatches": 3},
        {"policy": "vtrace", "accumulate": 2},
        {"policy": "ppo", "eta": 0.2},
        {"policy": "ppo", "critic_sees": "privileged"},
    ],
)
def test_learning_from_a_device_is_learning_from_the_host(settings: Any, kind: Any) -> None:
    runs = [leduc_run(Learning(**settings), Network(kind, width=16, layers=1)) for _ in range(2)]
    here, other = (run.play() for run in runs)
    away = wholly_there if cut_there(Learning(**settings), Network(kind)) else there
    logs = [runs[0].learner.update(here), runs[1].learner.update(away(other))]
    assert logs[0] == pytest.approx(logs[1], rel=1e-3, abs=1e-5)
    pair = (run.learner.policy.parameters() for run in runs)
    for one, other in zip(*pair, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_kuhn_has_many_equal_rows_and_learns_the_same_from_all_of_them() -> None:
    runs = [kuhn_run(Learning(policy="ppo")) for _ in range(2)]
    logs = [
        run.learner.update(change(run.play()))
        for run, change in zip(runs, (lambda same: same, there), strict=True)
    ]
    assert logs[0] == pytest.approx(logs[1], rel=1e-3, abs=1e-5)


def test_a_decision_that_is_there_twice_begins_a_lane_of_its_own() -> None:
    unrolls = unrolls_for(OneHead().spec, 3, matches=3)
    twice = join([unrolls, unrolls])
    lanes = [
        [int(row) for row in lane if row >= 0] for lane in Batch(twice, CPU).by_seat.unrolls.index.T
    ]
    assert sorted(row for lane in lanes for row in lane) == list(range(twice.decisions))
    for lane in lanes:
        places = [(int(twice.match[row]), int(twice.seat[row])) for row in lane]
        turns = [int(twice.turn[row]) for row in lane]
        assert len(set(places)) == 1
        assert all(before < after for before, after in pairwise(turns))
