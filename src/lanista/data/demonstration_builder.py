"""Builds demonstrations part by part; memory grows in place, so that only a part is held twice.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.demonstrations import DemonstrationError, Demonstrations, Extra, Indices
from lanista.data.records import PlayerInfo
from lanista.games.contract import Spec


class Gathering:
    """Demonstrations as they come in, part by part; memory grows in place."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        dtype = np.dtype(spec.observation.dtype)
        largest = max(head.size for head in spec.heads) - 1
        self._rows = {
            "observation": _Column(dtype, spec.observation.length),
            "mask_bits": _Column(np.dtype(np.uint8), -(-spec.choices // 8)),
            "action": _Column(np.min_scalar_type(largest), len(spec.heads)),
            "turn": _Column(np.dtype(np.int32)),
            "reward": _Column(np.dtype(np.float32)),
        }
        self._trajectories = {
            "first": _Column(np.dtype(np.int64)),
            "seat": _Column(np.dtype(np.int32)),
            "match": _Column(np.dtype(np.int64)),
            "outcome": _Column(np.dtype(np.int8)),
            "group": _Column(np.dtype(np.uint64)),
            "teacher": _Column(np.dtype(np.int32)),
        }
        self._teachers: dict[PlayerInfo, int] = {}
        self._seeds: set[int] = set()
        self._sources: set[str] = set()
        self._matches = 0
        self._extras: dict[str, _ExtraColumn] = {}
        self._extras_from: int | None = None

    @property
    def decisions(self) -> int:
        return self._rows["turn"].count

    def seed(self, seed: int) -> None:
        """Take note of a seed that deals came from."""
        self._seeds.add(seed)

    def source(self, source: str) -> None:
        """Take note of who saw what is added."""
        self._sources.add(source)

    def add(
        self,
        *,
        observation: NDArray[Any],
        mask: NDArray[np.bool_],
        action: NDArray[Any],
        turn: NDArray[Any],
        reward: NDArray[Any],
        match: Indices,
        seat: NDArray[Any],
        outcome: NDArray[Any],
        group: NDArray[np.uint64],
        teacher: Sequence[PlayerInfo],
    ) -> None:
        """Take decisions of whole matches; rows come by match, then seat, then turn.

        `match` `[N]` counts from 0; `outcome`, `group` and `teacher` are one for each trajectory.
        """
        if not len(match):
            return
        new = np.ones(len(match), np.bool_)
        new[1:] = (match[1:] != match[:-1]) | (seat[1:] != seat[:-1])
        start = np.flatnonzero(new)
        rows = {"observation": observation, "action": action, "turn": turn, "reward": reward}
        here = self.decisions
        for name, values in rows.items():
            self._rows[name].add(values)
        self._rows["mask_bits"].add(np.packbits(mask, axis=1))
        who = [self._teachers.setdefault(one, len(self._teachers)) for one in teacher]
        for name, values in (
            ("first", here + start),
            ("seat", seat[start]),
            ("match", self._matches + match[start]),
            ("outcome", outcome),
            ("group", group),
            ("teacher", np.array(who)),
        ):
            self._trajectories[name].add(values)
        self._matches += int(match.max()) + 1

    def extend(self, more: Demonstrations) -> None:
        """Take all of `more`, which has no extras."""
        if more.extras:
            raise DemonstrationError("What was measured beside decisions cannot be added so.")
        here = self.decisions
        for name, column in self._rows.items():
            column.add(getattr(more, name))
        who = [self._teachers.setdefault(one, len(self._teachers)) for one in more.teachers]
        changed: dict[str, NDArray[Any]] = {
            "first": here + more.first[:-1],
            "match": self._matches + more.match,
            "teacher": np.array(who, np.int32)[more.teacher],
        }
        for name, column in self._trajectories.items():
            column.add(changed.get(name, getattr(more, name)))
        self._matches += int(more.match.max()) + 1

    def add_extras(self, extras: Mapping[str, Sequence[float | str | None]], rows: int) -> None:
        """Take what was measured beside the last `rows` decisions."""
        if self._extras_from is None:
            self._extras_from = self.decisions - rows
        before = self.decisions - rows - self._extras_from
        for name, values in extras.items():
            column = self._extras.setdefault(name, _ExtraColumn())
            column.fill(before)
            column.add(name, values)
        for column in self._extras.values():
            column.fill(before + rows)

    def done(self) -> Demonstrations:
        """Return all that was gathered."""
        self._trajectories["first"].add(np.array([self.decisions]))
        return Demonstrations(
            spec=self.spec,
            **{name: column.done() for name, column in self._rows.items()},
            **{name: column.done() for name, column in self._trajectories.items()},
            teachers=tuple(self._teachers),
            sources=tuple(sorted(self._sources)),
            seeds=tuple(sorted(self._seeds)),
            extras={name: column.done() for name, column in self._extras.items()},
            extras_from=self._extras_from or 0,
        )


class _Column:
    """An array that grows where it lies, so that nothing is held twice."""

    def __init__(self, dtype: np.dtype[Any], width: int = 0) -> None:
        self.data: NDArray[Any] = np.empty((0, width) if width else (0,), dtype)
        self.count = 0

    def add(self, values: NDArray[Any]) -> None:
        count = self.count + len(values)
        if count > len(self.data):
            self._resize(max(count, len(self.data) * 3 // 2))
        self.data[self.count : count] = values
        self.count = count

    def done(self) -> NDArray[Any]:
        self._resize(self.count)
        return self.data

    def _resize(self, rows: int) -> None:
        self.data.resize((rows, *self.data.shape[1:]), refcheck=False)


class _ExtraColumn:
    """One measurement of many decisions: numbers or texts, never both."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.texts: dict[str, int] | None = None
        self.has_kind = False

    def fill(self, count: int) -> None:
        """Say of all entries up to `count` that nothing was measured."""
        missing = np.nan if self.texts is None else -1
        self.values.extend([missing] * (count - len(self.values)))

    def add(self, name: str, values: Sequence[float | str | None]) -> None:
        kinds = {type(value) is str for value in values if value is not None}
        if kinds and not self.has_kind:
            self.has_kind = True
            if kinds == {True}:
                self.texts = {}
                self.values = [-1] * len(self.values)
        if kinds and kinds != {self.texts is not None}:
            raise DemonstrationError(f"extra {name!r} is a number in one place, a text in another.")
        for value in values:
            if value is None:
                self.values.append(np.nan if self.texts is None else -1)
            elif isinstance(value, str):
                assert self.texts is not None
                self.values.append(self.texts.setdefault(value, len(self.texts)))
            else:
                self.values.append(value)

    def done(self) -> Extra:
        if self.texts is None:
            return Extra(np.array(self.values, np.float64))
        return Extra(np.array(self.values, np.int32), tuple(self.texts))
