"""Unrolls as tensors, and the way between rows `[N]` and steps `[T, B]`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.data.equal_rows import kinds
from lanista.data.trajectory import ALL, HEAVY, Unrolls, moved, to_tensor

Column = NDArray[Any] | Tensor
"""A column of unrolls: on the host, or on the learner's device already."""


@dataclass(frozen=True)
class Padded(Unrolls):
    """Unrolls on a device, filled up to sizes that recorded work has once and for all.

    Rows that fill up are copies of others, in no unroll; lanes that do are empty.
    """

    valid: Tensor | None = None
    """`[N]`: the rows that are decisions."""
    matchups: int | None = None
    """Numbers in `matchup` are below this; None: any numbers."""
    advantage: Tensor | None = None
    """`[N]`: where it follows from the values at the time of acting, as does `value_target`."""
    value_target: Tensor | None = None


@dataclass(frozen=True)
class Batch:
    """Some unrolls on the learner's device."""

    unrolls: Unrolls
    device: torch.device

    def tensor(self, name: str) -> Tensor:
        """Return a column of the unrolls."""
        return to_tensor(getattr(self.unrolls, name), self.device)

    @property
    def valid(self) -> Tensor | None:
        """`[N]`: the rows that are decisions; None: all are."""
        return self.unrolls.valid if isinstance(self.unrolls, Padded) else None

    @cached_property
    def index(self) -> Tensor:
        return to_tensor(self.unrolls.index, self.device).long()

    @cached_property
    def joint(self) -> Batch:
        """The same rows in the joint view: a lane for each whole match, all seats in order."""
        unrolls = self.unrolls
        order = np.lexsort((unrolls.seat, unrolls.turn, unrolls.match))
        match = unrolls.match[order]
        return self._in_lanes(order, match[1:] != match[:-1])

    @cached_property
    def by_seat(self) -> Batch:
        """The same rows with a lane for all that is here of a seat's decisions in a match."""
        unrolls = self.unrolls
        order = np.lexsort((unrolls.turn, unrolls.seat, unrolls.match))
        match, seat, turn = unrolls.match[order], unrolls.seat[order], unrolls.turn[order]
        # A replay may hold a decision twice; the second one begins a lane of its own.
        again = (match[1:] != match[:-1]) | (seat[1:] != seat[:-1]) | (turn[1:] <= turn[:-1])
        return self._in_lanes(order, again)

    @cached_property
    def to_the_end(self) -> Batch:
        """The same unrolls with the padding before those that go on.

        Returns take what comes after an unroll for what comes after the last step T.
        """
        index = self.unrolls.index
        if isinstance(index, Tensor):
            return self._to_the_end_there(index)
        size = (index >= 0).sum(0)
        shift = np.where(self.unrolls.goes_on, len(index) - size, 0)
        if not shift.any():
            return self
        place = np.arange(len(index))[:, None] - shift
        shifted = np.where(place >= 0, np.take_along_axis(index, np.maximum(place, 0), 0), -1)
        return Batch(replace(self.unrolls, index=shifted), self.device)

    def _to_the_end_there(self, index: Tensor) -> Batch:
        """The same without asking the device whether any goes on."""
        if self.unrolls.next_observation is None:
            return self
        steps = torch.arange(len(index), device=index.device)[:, None]
        goes_on = self.tensor("goes_on")
        shift = torch.where(goes_on, len(index) - (index >= 0).sum(0), 0)
        place = steps - shift
        shifted = torch.where(place >= 0, index.gather(0, place.clamp(min=0)), -1)
        return Batch(replace(self.unrolls, index=shifted), self.device)  # type: ignore[arg-type]

    def following(self) -> tuple[Tensor, Tensor]:
        """Return each row's next view `[N, length]`, and `[N]` whether it has one here.

        That is the next row of its unroll, or what comes after one whose match goes on.
        """
        unrolls, index = self.unrolls, self.index
        views = self.tensor("observation")
        there = torch.cat([index[1:], torch.full_like(index[:1], -1)])
        if unrolls.next_observation is not None:
            lane = torch.arange(len(unrolls), device=self.device)
            last = (index >= 0) & (there < 0) & self.tensor("goes_on")
            there = torch.where(last, unrolls.decisions + lane, there)
            views = torch.cat([views, self.tensor("next_observation")])
        place = self.rows(there + 1) - 1  # Rows that are in no unroll have 0 there.
        return views.index_select(0, place.clamp(min=0)), place >= 0

    def _in_lanes(self, order: NDArray[np.int64], begins: NDArray[np.bool_]) -> Batch:
        """Arrange rows in `order`, a new lane where one `begins` after its predecessor."""
        begins = np.concatenate([[True], begins])
        first, lane = np.flatnonzero(begins), np.cumsum(begins) - 1
        step = np.arange(len(order)) - first[lane]
        index = np.full((int(step.max()) + 1, len(first)), -1, np.int32)
        index[step, lane] = order
        return Batch(replace(self.unrolls, index=index), self.device)

    def steps(self, rows: Tensor) -> Tensor:
        """Return row values `[N, ...]` as steps `[T, B, ...]`, zero where padded."""
        padded = torch.cat([rows, rows.new_zeros((1, *rows.shape[1:]))])
        return padded.index_select(0, self._sources).view(*self.index.shape, *rows.shape[1:])

    def rows(self, steps: Tensor) -> Tensor:
        """Return step values `[T, B, ...]` as rows `[N, ...]`."""
        if isinstance(self.unrolls.index, Tensor):
            # What is padded goes into one row too many.
            out = steps.new_zeros((self.unrolls.decisions + 1, *steps.shape[2:]))
            return out.index_copy_(0, self._sources, steps.flatten(0, 1))[:-1]
        return steps.flatten(0, 1).index_select(0, self._places)

    @cached_property
    def _sources(self) -> Tensor:
        """`[T·B]`: each step's row; where it is padded, the row of zeros after the last."""
        if isinstance(self.unrolls.index, Tensor):
            return torch.where(self.index >= 0, self.index, self.unrolls.decisions).flatten()
        index = self.unrolls.index.reshape(-1).astype(np.int64)
        return to_tensor(np.where(index >= 0, index, self.unrolls.decisions), self.device)

    @cached_property
    def _places(self) -> Tensor:
        """`[N]`: which of the T·B steps each row is; every row is one of them."""
        index = self.unrolls.index.reshape(-1)
        valid = np.flatnonzero(index >= 0)
        places = np.full(self.unrolls.decisions, -1, np.int64)
        places[index[valid]] = valid
        return to_tensor(places, self.device)


@dataclass(frozen=True)
class Kinds:
    """Rows of which many are equal: each kind once, and every row's kind."""

    view: Tensor
    """`[K, length]`."""
    group: Tensor | None = None
    """`[N]`: every row's kind; None where all rows are kept as they are."""
    first: Tensor | None = None
    """`[K]`: the first row of each kind."""

    def spread(self, values: Tensor) -> Tensor:
        """Return what was computed for each kind, for every row."""
        return values if self.group is None else values.index_select(0, self.group)


def kinds_of(view: Column, device: torch.device, beside: Column | None = None) -> Kinds:
    """Find rows of which `view`, and what is `beside` it, are equal; keep all where few are.

    What lies on a device already is not looked through: there it costs more than it saves.
    """
    if not isinstance(view, np.ndarray) or isinstance(beside, Tensor):
        return Kinds(to_tensor(view, device))
    distinct = kinds(view, beside)
    if distinct is None:
        return Kinds(to_tensor(view, device))
    first, group = distinct
    distinct_rows = to_tensor(view.take(first, 0), device)
    return Kinds(distinct_rows, to_tensor(group, device), to_tensor(first, device))


def to_device(unrolls: Unrolls, device: torch.device, *, whole: bool = False) -> Unrolls:
    """Return unrolls whose heavy columns lie on `device`; `whole`: all of them.

    Minibatches are then cut there. On the CPU all stays as it is.
    """
    return unrolls if device.type == "cpu" else moved(unrolls, device, ALL if whole else HEAVY)
