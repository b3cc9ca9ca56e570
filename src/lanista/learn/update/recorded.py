"""An update's epochs as work that is recorded once and then repeated: one launch for many steps.

Unrolls are copied to memory that stays where it is, and cut into minibatches there, each filled up
to one of a few sizes; what fills up counts in no loss. On a GPU that is a CUDA graph of an epoch;
on the CPU the same work runs as it is written. Knows nothing of losses and networks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.data.trajectory import LANES, ROWS, Unrolls
from lanista.learn.returns import counted
from lanista.learn.update.batch import Padded
from lanista.learn.update.minibatches import Minibatch
from lanista.learn.update.optimiser_step import Descent
from lanista.learn.update.step_metrics import Packed, Readings, pack
from lanista.nets.cuda_graphs import Recording, brought_home, graph_memory

GIVEN = ("advantage", "value_target")
"""Columns of rows that are worked out once for all epochs, where they can be."""
_UNREAD = ("seat", "match", "turn", "update", "opponents")
"""Columns of rows that no step reads."""
_MOST_KEPT = 4
"""Recordings that are kept: sizes come back, and what an update leaves out changes now and then."""
_GROUP = 16
"""Numbers of matchups are counted in steps of this."""

_NOTHING: Mapping[str, Tensor] = {}

Step = Callable[[Padded, dict[str, Tensor], bool], Readings]
"""Takes an optimiser step with these weights of terms, measured or not."""


def fitting(size: int, now: int = 0) -> int:
    """Return the size that `size` is filled up to: as `now` where that fits without much waste.

    Sizes are spaced by a sixteenth, with some room above, so that few of them are ever met.
    """
    if size <= now <= max(1.25 * size, size + 64):
        return now
    room = size + size // 64
    step = max(16, 1 << max(0, room.bit_length() - 5))
    return -(-room // step) * step


@dataclass(frozen=True)
class Sizes:
    """How large one minibatch is, filled up."""

    minibatches: int
    rows: int
    lanes: int
    matchups: int | None = None
    """Numbers of matchups are below this, where there are any."""


class Table:
    """Unrolls in memory that stays where it is, with room for a few more."""

    def __init__(
        self, unrolls: Unrolls, device: torch.device, given: Mapping[str, Tensor] = _NOTHING
    ) -> None:
        # Room costs memory and no time.
        self.rows, self.lanes = _ample(unrolls.decisions), _ample(len(unrolls))
        self.steps = len(unrolls.index)
        self.kind = kind_of(unrolls, given)
        self.columns: dict[str, Tensor] = {}
        for names, room in ((ROWS, self.rows), (LANES, self.lanes + 1)):
            for name in names:
                column: Any = getattr(unrolls, name)
                if column is not None and name not in _UNREAD:
                    shape = room, *column.shape[1:]
                    self.columns[name] = column.new_zeros(shape, device=device)
        for name, column in given.items():
            self.columns[name] = column.new_zeros(self.rows)
        # One lane too many: it is empty, and fills minibatches up.
        self.index = torch.full((self.steps, self.lanes + 1), -1, dtype=torch.int32, device=device)

    def fits(self, unrolls: Unrolls, given: Mapping[str, Tensor] = _NOTHING) -> bool:
        """Whether there is room for these unrolls, and not far too much of it."""
        sizes = (unrolls.decisions, self.rows), (len(unrolls), self.lanes)
        fit = all(size <= room <= 4 * _ample(size) for size, room in sizes)
        kind = kind_of(unrolls, given)
        # Where no match goes on there is nothing that comes next.
        missing = {name for name in self.kind if name not in kind}
        same = missing <= set(LANES) and all(self.kind.get(name) == kind[name] for name in kind)
        return fit and same and len(unrolls.index) <= self.steps

    def load(self, unrolls: Unrolls, given: Mapping[str, Tensor] = _NOTHING) -> None:
        """Take unrolls in, all of whose columns are tensors."""
        for name, column in self.columns.items():
            source: Any = given[name] if name in GIVEN else getattr(unrolls, name)
            if source is None:
                column.zero_()
            else:
                column[: len(source)].copy_(source, non_blocking=True)
        index: Any = unrolls.index
        steps, lanes = index.shape
        self.index.fill_(-1)
        self.index[:steps, :lanes].copy_(index, non_blocking=True)


def _ample(size: int) -> int:
    return fitting(size + size // 4)


def kind_of(unrolls: Unrolls, given: Mapping[str, Tensor] = _NOTHING) -> dict[str, Hashable]:
    """Return what unrolls must have in common to lie in the same table."""
    columns = {name: getattr(unrolls, name) for name in (*ROWS, *LANES) if name not in _UNREAD}
    columns |= given
    return {
        name: (tuple(column.shape[1:]), column.dtype)
        for name, column in columns.items()
        if column is not None
    }


class RecordedUpdate:
    """The epochs of updates, each minibatch a `step`."""

    def __init__(
        self, step: Step, numbers: Iterable[str], device: torch.device, descent: Descent
    ) -> None:
        """`numbers` are the names of what may change from update to update, terms among them.

        `descent` can be told to skip steps: so they are tried before they are recorded.
        """
        self._step, self.device, self._descent = step, device, descent
        self.numbers = Scalars(numbers, device)
        self._terms: tuple[str, ...] = ()
        """Terms that count in the epoch under way."""
        self._records = device.type == "cuda"
        self.forget()

    def forget(self) -> None:
        """Let go of all that was recorded: tensors that it reads are no longer in use."""
        self._table: Table | None = None
        self._sizes = Sizes(0, 0, 0)
        self._order = torch.zeros(0, device=self.device)
        self._lengths = np.zeros(0, np.int64)
        self._drop_recordings()

    def _drop_recordings(self) -> None:
        self._recordings: OrderedDict[Hashable, Recording[Packed]] = OrderedDict()
        self._memory = graph_memory() if self._records else None

    def __deepcopy__(self, memo: dict[int, Any]) -> RecordedUpdate:
        # What is recorded belongs to the tensors that it reads.
        step, descent = deepcopy(self._step, memo), deepcopy(self._descent, memo)
        return RecordedUpdate(step, self.numbers.names, self.device, descent)

    @property
    def recordings(self) -> int:
        """How many recordings there are now."""
        return len(self._recordings)

    def load(self, unrolls: Unrolls, given: Mapping[str, Tensor] = _NOTHING) -> None:
        """Begin an update with these unrolls, all of whose columns are tensors on the device.

        `given` are those of `GIVEN` that were worked out for them.
        """
        matchups = None
        if unrolls.matchup is not None:
            matchups, unrolls = _renumbered(unrolls)
        if self._table is None or not self._table.fits(unrolls, given):
            self.forget()
            self._table = Table(unrolls, self.device, given)
        self._table.load(unrolls, given)
        self._sizes = replace(self._sizes, matchups=matchups)
        index: Any = unrolls.index
        self._lengths = brought_home((index >= 0).sum(0)).numpy()

    def epoch(
        self, minibatches: Sequence[Minibatch], *, terms: tuple[str, ...], key: Hashable = None
    ) -> Packed:
        """Take a step for each minibatch, over these `terms`.

        `key` is all else that recorded work cannot see change.
        """
        assert self._table is not None
        self._terms = terms
        every = np.arange(len(self._lengths))
        parts = [every if lanes is None else lanes for lanes in minibatches]
        rows = [int(self._lengths[lanes].sum()) for lanes in parts]
        self._fit(len(parts), max(rows), max(map(len, parts)))
        self._arrange(parts)
        packed = self._repeated(key) if self._records else self._work()
        return replace(packed, rows=rows, numbers=packed.numbers.clone())

    def _fit(self, minibatches: int, rows: int, lanes: int) -> None:
        before = self._sizes if self._sizes.minibatches == minibatches else Sizes(0, 0, 0)
        sizes = replace(
            self._sizes,
            minibatches=minibatches,
            rows=fitting(rows, before.rows),
            lanes=fitting(lanes, before.lanes),
        )
        if (minibatches, sizes.lanes) != (before.minibatches, before.lanes):
            shape = minibatches, sizes.lanes
            self._order = torch.zeros(shape, dtype=torch.int64, device=self.device)
            self._drop_recordings()
        self._sizes = sizes

    def _arrange(self, parts: Sequence[NDArray[np.int64]]) -> None:
        """Say which lanes each minibatch has."""
        assert self._table is not None
        order = np.full(self._order.shape, self._table.lanes, np.int64)
        for number, lanes in enumerate(parts):
            order[number, : len(lanes)] = lanes
        there = torch.from_numpy(order)
        self._order.copy_(there.pin_memory() if self._records else there, non_blocking=True)

    def _repeated(self, key: Hashable) -> Packed:
        key = key, self._terms, self._sizes
        recording = self._recordings.get(key)
        if recording is None:
            while len(self._recordings) >= _MOST_KEPT:
                self._recordings.popitem(last=False)
            recording = self._recordings[key] = self._recorded()
        self._recordings.move_to_end(key)
        return recording.repeat()

    def _recorded(self) -> Recording[Packed]:
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream), self._descent.skipping():
            for _ in range(2):
                cut, weights = self._cut(), self.numbers.of(self._terms)
                pack([self._step(cut[0], weights, False), self._step(cut[-1], weights, True)])
        torch.cuda.current_stream(self.device).wait_stream(stream)
        return Recording(self._work, self.device, memory=self._memory, own_stream=True)

    def _work(self) -> Packed:
        minibatches, weights = self._cut(), self.numbers.of(self._terms)
        last = len(minibatches) - 1
        return pack([self._step(part, weights, at == last) for at, part in enumerate(minibatches)])

    def _cut(self) -> list[Padded]:
        """Return the minibatches of an epoch: its rows are gathered at once, lane by lane."""
        table, sizes = self._table, self._sizes
        assert table is not None
        parts, many = sizes.minibatches, sizes.rows
        lanes = self._order.flatten()
        index = table.index.index_select(1, lanes).view(table.steps, parts, sizes.lanes)
        there = index.permute(1, 2, 0).reshape(parts, -1).long()
        valid = there >= 0
        number = valid.cumsum(1) - 1
        # Rows are renumbered in each part; what is padded goes into a place that is cut off.
        rows = there.new_zeros((parts, many + 1))
        rows = rows.scatter_(1, torch.where(valid, number, many), there)[:, :many].flatten()
        count = valid.sum(1, keepdim=True)
        at_least_1 = count.clamp(min=1).float()
        columns: dict[str, Any] = {
            "index": torch.where(valid, number, -1).view(parts, sizes.lanes, -1).mT,
            "valid": torch.arange(many, device=self.device) < count,
        }
        for name, column in table.columns.items():
            places = lanes if name in LANES else rows
            gathered = column.index_select(0, places)
            columns[name] = gathered.view(parts, -1, *column.shape[1:])
        empty: dict[str, Any] = dict.fromkeys(_UNREAD, rows[:0])
        minibatches = [
            Padded(**empty, **_at(columns, part), matchups=sizes.matchups) for part in range(parts)
        ]
        for part, minibatch in enumerate(minibatches):
            assert minibatch.valid is not None
            counted(minibatch.valid, at_least_1[part, 0])
        return minibatches


class Scalars:
    """Numbers that recorded work reads where they lie."""

    def __init__(self, names: Iterable[str], device: torch.device) -> None:
        self._tensors = {name: torch.zeros((), device=device) for name in names}
        self.names = tuple(self._tensors)
        self._values = dict.fromkeys(self._tensors, 0.0)

    def set(self, values: Mapping[str, float]) -> None:
        """Change those that are not so already."""
        for name, value in values.items():
            if value != self._values[name]:
                self._tensors[name].fill_(value)
                self._values[name] = value

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def of(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Return the numbers of these names."""
        return {name: self._tensors[name] for name in names}


def _at(columns: Mapping[str, Tensor], part: int) -> dict[str, Any]:
    return {name: column[part] for name, column in columns.items()}


def _renumbered(unrolls: Unrolls) -> tuple[int, Unrolls]:
    """Return a bound of the numbers of matchups, and unrolls whose numbers are below it."""
    matchup: Any = unrolls.matchup
    groups, numbers = torch.unique(matchup, return_inverse=True)
    bound = -(-len(groups) // _GROUP) * _GROUP
    return bound, replace(unrolls, matchup=numbers)
