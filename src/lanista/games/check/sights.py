"""What a seat had seen by some decision, and what came to be seen after it, as yes-or-no columns.

A column says that one number of a view had one value (or lay in one range), in the view before a
redraw or in one after it. Plays nothing and judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.check.seen import Columns
from lanista.games.contract import Observation, Spec

Bits = NDArray[np.bool_]
MOST_VALUES = 12
"""A number with more values than this is cut into ranges."""
RANGES = 6
MOST_SIGHTS = 160
"""The most yes-or-no columns made of one view."""
MOST_PAIRS = 500
"""The most pairs of sights of one view that are looked at together."""


@dataclass(frozen=True)
class Sight:
    """One number of a view had a value, or lay in a range."""

    column: int
    low: float
    high: float
    """The same as `low` for a value."""

    def holds(self, rows: NDArray[Any]) -> Bits:
        """Return in which rows it is so."""
        numbers = rows[:, self.column]
        result: Bits = (numbers >= self.low) & (numbers <= self.high)
        return result


def sights_of(rows: NDArray[Any], random: np.random.Generator, most: int) -> list[Sight]:
    """Return sights that are sometimes so and sometimes not, as many as are wanted."""
    sights: list[Sight] = []
    for column in range(rows.shape[1]):
        values = np.unique(rows[:, column])
        if len(values) < 2:
            continue
        if len(values) <= MOST_VALUES:
            sights += [Sight(column, float(value), float(value)) for value in values]
            continue
        edges = np.quantile(values, np.linspace(0, 1, RANGES + 1))
        sights += [Sight(column, float(low), float(high)) for low, high in pairwise(edges)]
    if len(sights) > most:
        sights = [sights[i] for i in sorted(random.choice(len(sights), most, replace=False))]
    return sights


def said(layout: Observation, sight: Sight) -> str:
    """Return a sight in words, by the name of its field."""
    start = 0
    for field in layout.fields:
        if sight.column < start + field.size:
            where = f"{field.name}[{sight.column - start}]" if field.size > 1 else field.name
            if sight.low == sight.high:
                return f"{where} = {sight.low:g}"
            return f"{where} from {sight.low:g} to {sight.high:g}"
        start += field.size
    return f"number {sight.column}"


class Eyes:
    """Turns the rows of plays into columns: what was seen before a decision, and after it."""

    def __init__(self, spec: Spec, rows: Columns, seed: int) -> None:
        random = np.random.default_rng([seed, 5])
        self.spec = spec
        self.sights = sights_of(rows["observation"], random, MOST_SIGHTS)
        self.beyond = (
            sights_of(rows["privileged"], random, MOST_SIGHTS) if "privileged" in rows else []
        )
        self.choices = [
            (head, choice)
            for head, head_spec in enumerate(spec.heads)
            for choice in range(head_spec.size if head_spec.size <= MOST_SIGHTS else 0)
        ][:MOST_SIGHTS]
        self.pairs = self._pairs(random)

    def _pairs(self, random: np.random.Generator) -> list[tuple[int, int]]:
        """Return pairs of what a row shows: numbers of the view, and the choice made before it."""
        columns = [sight.column for sight in self.sights]
        columns += [-1 - head for head, _ in self.choices]
        count = len(columns)
        pairs = [
            (i, j) for i in range(count) for j in range(i + 1, count) if columns[i] != columns[j]
        ]
        if len(pairs) > MOST_PAIRS:
            pairs = [pairs[i] for i in sorted(random.choice(len(pairs), MOST_PAIRS, replace=False))]
        return pairs

    def names_before(self) -> list[str]:
        """Return in words what each column before a decision says."""
        shown = [said(self.spec.observation, sight) for sight in self.sights]
        shown += [f"{self.spec.heads[head].name} {choice} before" for head, choice in self.choices]
        once = [*shown, *(f"{shown[i]} and {shown[j]}" for i, j in self.pairs)]
        return [
            *(f"{name} at that decision" for name in once),
            *(f"{name} at the decision before" for name in shown),
            *(f"{name} at an earlier decision" for name in once),
        ]

    def names_after(self) -> list[str]:
        """Return in words what each column after a decision says."""
        names = []
        if self.spec.privileged is not None:
            shown = [said(self.spec.privileged, sight) for sight in self.beyond]
            names += [f"{name} in the privileged view" for name in shown]
        for away in range(self.spec.seats):
            whose = "the seat" if not away else f"the seat {away} after it"
            shown = [f"{said(self.spec.observation, s)} in what {whose} sees" for s in self.sights]
            names += [*(f"{name} next" for name in shown), *(f"{name} later" for name in shown)]
        return names

    def look(
        self, rows: Columns, targets: Mapping[int, tuple[int, int]]
    ) -> tuple[Bits, Bits, list[int]]:
        """Return what was so before and after each target `(turn, seat)`, and of which match."""
        sights_by_row = _all(self.sights, rows["observation"])
        shown = np.concatenate([sights_by_row, _all_choices(self.choices, _chosen_before(rows))], 1)
        both = [shown[:, i] & shown[:, j] for i, j in self.pairs]
        once = np.concatenate([shown, np.stack(both, 1)], 1) if both else shown
        beyond = _all(self.beyond, rows["privileged"]) if self.beyond else None
        firsts = np.searchsorted(rows["match"], list(targets), "left")
        ends = np.searchsorted(rows["match"], list(targets), "right")
        before, after, matches = [], [], []
        for match, first, end in zip(targets, firsts, ends, strict=True):
            turn, seat = targets[match]
            here = np.arange(first, end)
            own = here[(rows["seat"][here] == seat) & (rows["turn"][here] <= turn)]
            if not len(own) or rows["turn"][own[-1]] != turn:
                continue
            now, earlier = own[-1], own[:-1]
            before.append(_before(once, shown, now, earlier))
            after.append(self._after(rows, sights_by_row, beyond, here, now))
            matches.append(match)
        return np.array(before, np.bool_), np.array(after, np.bool_), matches

    def _after(
        self, rows: Columns, sights_by_row: Bits, beyond: Bits | None, here: NDArray[Any], now: int
    ) -> Bits:
        turn, seat = rows["turn"][now], rows["seat"][now]
        bits = [] if beyond is None else [beyond[now]]
        for away in range(self.spec.seats):
            whose = (seat + away) % self.spec.seats
            mine = here[rows["seat"][here] == whose]
            later = mine[rows["turn"][mine] >= (turn if away else turn + 1)]
            bits.append(
                sights_by_row[later[0]]
                if len(later)
                else np.zeros(sights_by_row.shape[1], np.bool_)
            )
            bits.append(sights_by_row[later].any(0))
        return np.concatenate(bits)


def _before(once: Bits, shown: Bits, now: int, earlier: NDArray[Any]) -> Bits:
    last = shown[earlier[-1]] if len(earlier) else np.zeros(shown.shape[1], np.bool_)
    return np.concatenate([once[now], last, once[earlier].any(0)])


def _chosen_before(rows: Columns) -> NDArray[Any]:
    """Return what each row's seat chose at its decision before, -1 where there was none."""
    order = np.lexsort((rows["turn"], rows["seat"], rows["match"]))
    actions = np.full_like(rows["action"], -1)
    same = (rows["match"][order][1:] == rows["match"][order][:-1]) & (
        rows["seat"][order][1:] == rows["seat"][order][:-1]
    )
    actions[order[1:][same]] = rows["action"][order[:-1][same]]
    return actions


def _all(sights: Sequence[Sight], rows: NDArray[Any]) -> Bits:
    if not sights:
        return np.zeros((len(rows), 0), np.bool_)
    return np.stack([sight.holds(rows) for sight in sights], 1)


def _all_choices(choices: Sequence[tuple[int, int]], actions: NDArray[Any]) -> Bits:
    if not choices:
        return np.zeros((len(actions), 0), np.bool_)
    return np.stack([actions[:, head] == choice for head, choice in choices], 1)
