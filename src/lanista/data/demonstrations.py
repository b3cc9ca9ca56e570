"""Decisions to learn from, as columns: what was seen, allowed and done, and how it ended.

Rows lie by trajectory (one seat of one match), in order of turns, in the smallest types that hold
them. Knows nothing of files, and nothing of how a policy learns from it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.records import PlayerInfo
from lanista.data.tallies import label
from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError, nearest
from lanista.games.contract import Spec

WIN, DRAW, LOSS, UNKNOWN = 0, 1, 2, -1
OUTCOMES = ("win", "draw", "loss")
FULL_VIEW, SPECTATOR = SOURCES = ("player", "spectator")
"""Who saw what an observation shows: the player itself, or somebody who looked on."""

Indices = NDArray[np.int64]
_ROW_COLUMNS = ("observation", "mask_bits", "action", "turn", "reward")
_TRAJECTORY_COLUMNS = ("first", "seat", "match", "outcome", "group", "teacher")


class DemonstrationError(LanistaError):
    """What was recorded cannot be learned from as asked."""


@dataclass(frozen=True)
class Extra:
    """A measurement from outside: numbers, or texts by their number in `texts`."""

    values: NDArray[Any]
    texts: tuple[str, ...] | None = None

    def at(self, rows: Indices) -> NDArray[Any]:
        """Return the values of `rows`; NaN or an empty text where nothing was measured."""
        inside = (rows >= 0) & (rows < len(self.values))
        if self.texts is None:
            numbers = np.full(len(rows), np.nan)
            numbers[inside] = self.values[rows[inside]]
            return numbers
        codes = np.full(len(rows), -1, np.int64)
        codes[inside] = self.values[rows[inside]]
        # The last entry is what code -1 finds.
        return np.array([*self.texts, ""])[codes]


@dataclass(frozen=True)
class Demonstrations:
    """N decisions of S trajectories."""

    spec: Spec
    observation: NDArray[Any]
    """`[N, length]`, in the observation's own dtype."""
    mask_bits: NDArray[np.uint8]
    """`[N, bytes]`: the legal mask, eight choices a byte."""
    action: NDArray[Any]
    """`[N, heads]`."""
    turn: NDArray[np.int32]
    """`[N]`: the match's turn, or the step that a live client counted."""
    reward: NDArray[np.float32]
    """`[N]`: what came to the seat from the action on, until its next decision or the end."""
    first: Indices
    """`[S + 1]`: where each trajectory begins; the last entry is N."""
    seat: NDArray[np.int32]
    match: Indices
    """`[S]`: a number for each match."""
    outcome: NDArray[np.int8]
    """`[S]`: 0 win, 1 draw, 2 loss; -1 where it is not known."""
    group: NDArray[np.uint64]
    """`[S]`: equal for matches on one deal, which must not be torn apart by a hold-out."""
    teacher: NDArray[np.int32]
    """`[S]`: the index of whoever decided, among `teachers`."""
    teachers: tuple[PlayerInfo, ...]
    sources: tuple[str, ...] = ()
    """Those of `SOURCES` who saw what the observations show."""
    seeds: tuple[int, ...] = ()
    """The seeds from which the deals of these matches came."""
    extras: Mapping[str, Extra] = field(default_factory=dict)
    extras_from: int = 0
    """The row that the extras' first entry belongs to; earlier rows have none."""
    _returns: dict[float, NDArray[np.float32]] = field(default_factory=dict, init=False)
    """By discount: what `returns` gives."""

    def __len__(self) -> int:
        return len(self.action)

    @property
    def trajectories(self) -> int:
        return len(self.seat)

    @property
    def matches(self) -> int:
        return len(np.unique(self.match))

    def mask(self, rows: Indices) -> NDArray[np.bool_]:
        """Return the legal masks of `rows`, `[rows, choices]`."""
        bits = np.unpackbits(self.mask_bits[rows], axis=1, count=self.spec.choices)
        return bits.view(np.bool_)

    def rows(self, trajectories: Indices) -> Indices:
        """Return the rows of some trajectories, one trajectory after another."""
        lengths = np.diff(self.first)[trajectories]
        ends = np.cumsum(lengths)
        within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        rows: Indices = within + np.repeat(self.first[trajectories], lengths)
        return rows

    def per_row(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return what belongs to trajectories, `[S]`, for each of their rows, `[N]`."""
        return np.repeat(values, np.diff(self.first))

    def split(self, share: float, seed: int = 0) -> tuple[Indices, Indices]:
        """Return the trajectories to learn from and those held out, whole deals on either side.

        Which deals are held out follows from the deals themselves, not from their order.
        """
        if not 0 < share < 1:
            raise DemonstrationError(f"The held-out share is {share}; give one between 0 and 1.")
        groups, member = np.unique(self.group, return_inverse=True)
        if len(groups) < 2:
            raise DemonstrationError(
                f"There are matches of {len(groups)} deals only, and none can be held out; "
                "record at least two."
            )
        drawn = [_number(f"hold out|{seed}|{group}") for group in groups.tolist()]
        count = min(max(1, round(share * len(groups))), len(groups) - 1)
        held_out = np.zeros(len(groups), np.bool_)
        held_out[np.argsort(np.array(drawn, np.uint64), kind="stable")[:count]] = True
        return np.flatnonzero(~held_out[member]), np.flatnonzero(held_out[member])

    def index(self, trajectories: Indices) -> NDArray[np.int32]:
        """Return `[T, B]`: each trajectory's places among `rows(trajectories)`, -1 as padding."""
        lengths = np.diff(self.first)[trajectories]
        step = np.arange(int(lengths.max(initial=0)))[:, None]
        start = np.concatenate([[0], np.cumsum(lengths)])[:-1]
        return np.where(step < lengths, start + step, -1).astype(np.int32)

    def unrolls(self, trajectories: Indices) -> Unrolls:
        """Return whole trajectories with their extras as a learner reads them.

        How likely the actions were to whoever chose them is not known, so `log_prob` is NaN; so
        is the last reward of a trajectory without an outcome.
        """
        rows, index = self.rows(trajectories), self.index(trajectories)
        last = np.cumsum(np.diff(self.first)[trajectories]) - 1
        reward = self.reward[rows]
        reward[last[self.outcome[trajectories] == UNKNOWN]] = np.nan
        ended = np.zeros(len(rows), np.bool_)
        ended[last] = True
        lengths = np.diff(self.first)[trajectories]
        return Unrolls(
            observation=self.observation[rows],
            mask=self.mask(rows),
            action=self.action[rows].astype(np.int32),
            log_prob=np.full(len(rows), np.nan, np.float32),
            reward=reward,
            ended=ended,
            seat=np.repeat(self.seat[trajectories], lengths),
            match=np.repeat(self.match[trajectories], lengths),
            turn=self.turn[rows],
            update=np.zeros(len(rows), np.int32),
            index=index,
            goes_on=np.zeros(len(trajectories), np.bool_),
            extras={name: extra.at(rows - self.extras_from) for name, extra in self.extras.items()},
        )

    def leave_out(self, condition: str) -> int:
        """Take a head out where it did not matter; return in how many decisions.

        `condition` is `HEAD:OTHER=CHOICE`: where the head OTHER took CHOICE, whatever HEAD took
        says nothing about the player. Its mask is narrowed to the choice it took, so that it adds
        nothing to any loss.
        """
        head, other, choice = self._condition(condition)
        return self._leave_out(head, np.flatnonzero(self.action[:, other] == choice))

    def leave_out_idle(self) -> None:
        """Take heads out where, as the game says, they changed nothing (`Head.only_with`)."""
        for head, other, choice in self.spec.conditions():
            self._leave_out(head, np.flatnonzero(self.action[:, other] != choice))

    def _leave_out(self, head: int, chosen: Indices) -> int:
        start = sum(one.size for one in self.spec.heads[:head])
        for rows in np.array_split(chosen, len(chosen) // (1 << 16) + 1):
            mask = self.mask(rows)
            mask[:, start : start + self.spec.heads[head].size] = False
            mask[np.arange(len(rows)), start + self.action[rows, head].astype(np.int64)] = True
            self.mask_bits[rows] = np.packbits(mask, axis=1)
        return len(chosen)

    def returns(self, gamma: float) -> NDArray[np.float32]:
        """Return the discounted rewards from each decision on, `[N]`; NaN without an outcome."""
        if gamma not in self._returns:
            self._returns[gamma] = self._discounted(gamma)
        return self._returns[gamma]

    def _discounted(self, gamma: float) -> NDArray[np.float32]:
        total = self.reward.astype(np.float64)
        total[self.first[1:][self.outcome == UNKNOWN] - 1] = np.nan
        lengths = np.diff(self.first)
        for step in range(2, int(lengths.max(initial=0)) + 1):
            row = self.first[1:][lengths >= step] - step
            total[row] += gamma * total[row + 1]
        return total.astype(np.float32)

    def _condition(self, condition: str) -> tuple[int, int, int]:
        words = re.fullmatch(r"([^:=]+):([^:=]+)=([^:=]+)", condition)
        if not words:
            raise DemonstrationError(
                f"{condition!r} cannot be read; write it as HEAD:OTHER=CHOICE."
            )
        names = [head.name for head in self.spec.heads]
        for name in words.groups()[:2]:
            if name not in names:
                raise DemonstrationError(
                    f"{self.spec.name} has no head {name!r}; {nearest(name, names)}"
                )
        other = self.spec.heads[names.index(words[2])]
        choices = [label(other, choice) for choice in range(other.size)]
        if words[3] not in choices:
            raise DemonstrationError(
                f"Head {other.name} has no choice {words[3]!r}; {nearest(words[3], choices)}"
            )
        return names.index(words[1]), names.index(words[2]), choices.index(words[3])

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return all columns by name, fit for a file; extras have no place there."""
        return {name: getattr(self, name) for name in (*_ROW_COLUMNS, *_TRAJECTORY_COLUMNS)}

    def digest(self) -> str:
        """Return a hash of all that a learner sees of it."""
        total = hashlib.sha256()
        for column in (self.observation, self.mask_bits, self.action, self.first, self.outcome):
            total.update(np.ascontiguousarray(column).view(np.uint8).data)
        total.update(np.ascontiguousarray(self.group).view(np.uint8).data)
        return total.hexdigest()


def joined(before: Demonstrations, more: Demonstrations) -> Demonstrations:
    """Return the decisions of both; extras are those of `before`."""
    teachers = tuple(dict.fromkeys((*before.teachers, *more.teachers)))
    number = np.array([teachers.index(one) for one in more.teachers], np.int32)
    later = {
        "first": more.first + len(before),
        "match": more.match + int(before.match.max(initial=-1)) + 1,
        "teacher": number[more.teacher],
    }
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(before, name), later.get(name, getattr(more, name))])
        for name in (*_ROW_COLUMNS, *_TRAJECTORY_COLUMNS)
        if name != "first"
    }
    return replace(
        before,
        **columns,
        first=np.concatenate([before.first[:-1], later["first"]]),
        teachers=teachers,
        sources=tuple(sorted({*before.sources, *more.sources})),
        seeds=tuple(sorted({*before.seeds, *more.seeds})),
    )


def group_of(*keys: object) -> int:
    """Return the number of a group: equal for equal keys, whichever file they came from."""
    return _number("|".join(str(key) for key in keys))


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
