"""What an update says of its loss, and what is left of a learner that goes back."""

from __future__ import annotations

import copy

import pytest
import torch
from small_runs import VALUE, kuhn_run

from lanista.data.trajectory import Unrolls
from lanista.learn.settings import Learning
from lanista.learn.update.step_metrics import Readings, read


def test_the_loss_of_an_update_is_the_mean_over_its_steps() -> None:
    run = kuhn_run(Learning(terms=VALUE, epochs=2, minibatches=3))
    found: list[tuple[float, int]] = []
    step = run.learner._step

    def counted(part: Unrolls, weights: dict[str, float], *, measured: bool) -> Readings:
        readings = step(part, weights, measured=measured)
        log = read([readings])[0]
        parts = sum(weight * log[f"{name}/loss"] for name, weight in VALUE.items())
        found.append((parts, part.decisions))
        return readings

    run.learner._step = counted  # type: ignore[method-assign]
    log = run.train(1)[0]
    assert len(found) == 6
    mean = sum(loss * size for loss, size in found) / sum(size for _, size in found)
    assert log["loss"] == pytest.approx(mean, rel=1e-5)


def test_every_number_of_an_update_is_the_mean_over_the_steps_that_have_it() -> None:
    run = kuhn_run(Learning(policy="ppo", terms=VALUE, lr=0.05, epochs=2, minibatches=3))
    steps: list[tuple[dict[str, float], int]] = []
    step = run.learner._step

    def counted(part: Unrolls, weights: dict[str, float], *, measured: bool) -> Readings:
        readings = step(part, weights, measured=measured)
        steps.append((read([readings])[0], part.decisions))
        return readings

    run.learner._step = counted  # type: ignore[method-assign]
    log = run.train(1)[0]
    differing = 0
    for name in set().union(*(numbers for numbers, _ in steps)):
        having = [(numbers[name], rows) for numbers, rows in steps if name in numbers]
        mean = sum(value * rows for value, rows in having) / sum(rows for _, rows in having)
        assert log[name] == pytest.approx(mean, rel=1e-6, abs=1e-9), name
        differing += log[name] != pytest.approx(steps[-1][0][name], rel=1e-6, abs=1e-9)
    assert differing > 8  # The last step's numbers are others.


def test_numbers_for_the_log_alone_are_worked_out_at_an_epochs_last_step() -> None:
    run = kuhn_run(Learning(policy="ppo", epochs=2, minibatches=3))
    names: list[set[str]] = []
    step = run.learner._step

    def counted(part: Unrolls, weights: dict[str, float], *, measured: bool) -> Readings:
        readings = step(part, weights, measured=measured)
        names.append(set(read([readings])[0]))
        return readings

    run.learner._step = counted  # type: ignore[method-assign]
    log = run.train(1)[0]
    told = ["policy/approx_kl" in each for each in names]
    assert told == [False, False, True, False, False, True]
    assert {"policy/approx_kl", "gradient_norm_clipped/policy", "policy/entropy/0"} <= set(log)


def test_a_policy_that_returns_has_the_old_weights_and_an_optimiser_without_memory() -> None:
    run = kuhn_run(Learning(terms=VALUE, average=0.9))
    before = copy.deepcopy(run.learner.policy)
    run.train(2)
    run.learner.return_to(before)
    for network in (run.learner.policy, run.learner.best):
        pairs = zip(network.parameters(), before.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
    assert not run.learner.optimiser.state
    run.train(1)
