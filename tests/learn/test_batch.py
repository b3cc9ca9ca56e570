"""Unrolls whose columns lie on a device: cut and learned from as on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_runs import kuhn_run, leduc_run
from torch import Tensor

from lanista.data.trajectory import HEAVY, LANES, ROWS, Unrolls
from lanista.learn.batch import Batch, _moved, kinds_of, to_device
from lanista.learn.settings import Learning
from lanista.nets.settings import Network

CPU = torch.device("cpu")


def there(unrolls: Unrolls) -> Unrolls:
    """Return unrolls as they are on a device that is not the host."""
    return _moved(unrolls, CPU)


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
    found, wanted = there(unrolls).take(lanes), unrolls.take(lanes)
    for name in (*ROWS, *LANES, "index"):
        column = getattr(wanted, name)
        if column is None:
            assert getattr(found, name) is None
        else:
            assert np.array_equal(np.asarray(getattr(found, name)), column), name


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
    here, moved = (run.play() for run in runs)
    logs = [runs[0].learner.update(here), runs[1].learner.update(there(moved))]
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
