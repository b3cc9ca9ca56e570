"""Numbers kept as tensors, and read together."""

from __future__ import annotations

import math

import pytest
import torch

from lanista.learn.update.step_metrics import Readings, mean_of, read


def test_numbers_of_parts_are_added_by_their_shares() -> None:
    step = Readings(10)
    step.add("value", {"loss": torch.tensor(2.0), "by_head": torch.tensor([1.0, 3.0])}, 0.25)
    step.add("value", {"loss": torch.tensor(4.0)}, 0.75)
    step.add("", {"loss": torch.tensor(7.0)})
    assert read([step])[0] == {
        "value/loss": 3.5,
        "value/by_head/0": 0.25,
        "value/by_head/1": 0.75,
        "loss": 7.0,
    }


def test_steps_are_read_apart_and_kinds_of_numbers_together() -> None:
    one, other = Readings(1), Readings(2)
    one.add("a", {"count": torch.tensor(3), "mean": torch.tensor(0.5)})
    other.add("a", {"mean": torch.tensor(1.5, dtype=torch.float64)})
    other.add("a", {"none": torch.zeros(0)})
    assert read([one, other]) == [{"a/count": 3.0, "a/mean": 0.5}, {"a/mean": 1.5}]
    assert read([]) == []
    assert read([Readings()]) == [{}]


def test_a_mean_is_over_the_steps_that_have_a_number_by_their_decisions() -> None:
    unknown = float("nan")
    logs = [{"a": 1.0, "b": 4.0, "c": unknown}, {"a": 4.0, "c": 0.3}, {"a": 4.0, "d": unknown}]
    mean = mean_of(logs, [2, 1, 3])
    assert math.isnan(mean.pop("d"))
    assert mean == {"a": 3.0, "b": 4.0, "c": 0.3}
    assert mean_of([{"a": 0.1}], [3]) == {"a": 0.1}
    assert mean_of([{"a": 0.1}, {"a": 0.2}], [0, 0]) == {"a": 0.0}
    assert mean_of([], []) == {}


def test_only_some_names_are_kept() -> None:
    step = Readings(4)
    for name in ("loss", "norm", "other"):
        step.add("", {name: torch.tensor(1.0)})
    few = step.only({"loss", "norm"})
    assert read([few, step]) == [
        {"loss": 1.0, "norm": 1.0},
        {"loss": 1.0, "norm": 1.0, "other": 1.0},
    ]
    assert few.rows == 4


def test_a_part_brings_its_numbers_along() -> None:
    step, part = Readings(), Readings()
    step.add("", {"x": torch.tensor(1.0)})
    part.add("", {"x": torch.tensor(2.0)}, 0.5)
    step.extend(part)
    assert read([step]) == [{"x": 2.0}]


def test_nothing_that_is_kept_holds_a_graph() -> None:
    step, weight = Readings(), torch.ones((), requires_grad=True)
    step.add("", {"loss": weight * 2})
    assert not any(value.requires_grad for _, _, value in step._entries)
    assert read([step])[0]["loss"] == pytest.approx(2.0)
