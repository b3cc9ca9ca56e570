"""The numbers of an update's steps, left on the device until they are all read at once.

Knows nothing of what the numbers mean.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lanista.nets.cuda_graphs import brought_home


class Readings:
    """The numbers of one step; those of its parts are added up by their shares."""

    def __init__(self, rows: int = 0) -> None:
        self.rows = rows
        """How many decisions the step learned from."""
        self._entries: list[tuple[str, float, Tensor]] = []

    def add(self, name: str, numbers: Mapping[str, Tensor], share: float = 1.0) -> None:
        """Add a share of `numbers` to those named `name/...`."""
        for key, value in numbers.items():
            self._entries.append((f"{name}/{key}" if name else key, share, value.detach()))

    def extend(self, more: Readings) -> None:
        """Add the numbers of another part of the step."""
        self._entries += more._entries

    def entries(self) -> list[tuple[str, float, Tensor]]:
        """Return the numbers as they were added: name, share, value."""
        return list(self._entries)

    @classmethod
    def of(cls, entries: Sequence[tuple[str, float, Tensor]]) -> Readings:
        """Return the readings of these entries."""
        readings = cls()
        readings._entries = list(entries)
        return readings

    def only(self, names: Collection[str]) -> Readings:
        """Return the numbers of these names alone."""
        readings = Readings(self.rows)
        readings._entries = [entry for entry in self._entries if entry[0] in names]
        return readings


@dataclass(frozen=True)
class Packed:
    """The numbers of several steps in one tensor, wherever that lies."""

    names: Sequence[Sequence[tuple[str, float]]]
    """By step: the name of each number, and the share that it counts with."""
    rows: Sequence[int]
    """By step: how many decisions it learned from."""
    numbers: Tensor
    """`[all names]`, float64 or narrower."""


def pack(steps: Sequence[Readings]) -> Packed:
    """Return the numbers of several steps as one tensor; one with several parts gets a name for
    each."""
    tensors = [value.reshape(-1) for step in steps for _, _, value in step._entries]
    names = [
        [
            (part_name, share)
            for name, share, value in step._entries
            for part_name in (
                [name] if value.dim() == 0 else [f"{name}/{i}" for i in range(len(value))]
            )
        ]
        for step in steps
    ]
    numbers = torch.cat(tensors) if tensors else torch.zeros(0)
    return Packed(names, [step.rows for step in steps], numbers)


def read(steps: Sequence[Readings]) -> list[dict[str, float]]:
    """Return the numbers of each step by name; one with several parts gets a name for each."""
    return read_packed([pack(steps)])


def read_packed(packs: Sequence[Packed]) -> list[dict[str, float]]:
    """Return the numbers of each step by name; all of them come from the device in one transfer."""
    every = torch.cat([packed.numbers for packed in packs]) if packs else torch.zeros(0)
    numbers = iter(brought_home(every).tolist())
    logs: list[dict[str, float]] = []
    for names in (names for packed in packs for names in packed.names):
        log: dict[str, float] = {}
        for name, share in names:
            log[name] = log.get(name, 0.0) + share * float(next(numbers))
        logs.append(log)
    return logs


def mean_of(logs: Sequence[Mapping[str, float]], rows: Sequence[int]) -> dict[str, float]:
    """Return the mean of each number over the steps that have it, by the decisions of each.

    What is unknown (NaN) at a step counts at the others alone.
    """
    entries: dict[str, list[tuple[float, int]]] = {}
    for log, weight in zip(logs, rows, strict=True):
        for name, value in log.items():
            entries.setdefault(name, []).append((value, weight))
    return {name: _mean(some) for name, some in entries.items()}


def _mean(entries: Sequence[tuple[float, int]]) -> float:
    numbers = [(value, rows) for value, rows in entries if not math.isnan(value)]
    entries = numbers or entries
    if len(entries) == 1:  # To the last bit.
        return entries[0][0]
    return sum(value * rows for value, rows in entries) / max(sum(rows for _, rows in entries), 1)
