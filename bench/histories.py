"""Every history of a small game with what each seat sees there, and exact values of a profile.

A history is a deal and what was played; where chance comes later, as Leduc's public card does, the
deal already has it. Owns the sums over histories that estimators are measured against. Knows
nothing of networks and estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.compiled import CompiledGame
from lanista.games.trees.from_slots import _deals


@dataclass(frozen=True)
class Level:
    """The histories after the same number of decisions, all of which wait for a decision."""

    seat: NDArray[np.int64]
    """Whose decision it is."""
    state: NDArray[np.int64]
    """The information state, a number over the whole game."""
    full: NDArray[np.int64]
    """The privileged view, a number over the whole game."""
    mask: NDArray[np.bool_]
    child: NDArray[np.int64]
    """`[histories, choices]`: where the next level has the history after a choice; -1: nowhere."""
    utility: NDArray[np.float64]
    """`[histories, choices]`: what seat 0 gets where a choice ends the match, else 0."""


@dataclass(frozen=True)
class Histories:
    """A whole game of two seats in which one wins what the other loses."""

    levels: tuple[Level, ...]
    rows: NDArray[Any]
    """`[states, length]`: what the seat to decide sees."""
    mask: NDArray[np.bool_]
    """`[states, choices]`."""
    full_rows: NDArray[Any]
    """`[full, length]`: what a privileged critic sees."""

    def reach(self, policy: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return each level's probabilities of its histories where all play `policy`."""
        count = len(self.levels[0].seat)
        out = [np.full(count, 1 / count)]
        for level in self.levels[:-1]:
            following = np.zeros(int(level.child.max()) + 1)
            on = level.child >= 0
            flow = out[-1][:, None] * policy[level.state]
            following[level.child[on]] = flow[on]
            out.append(following)
        return out

    def action_values(
        self, policy: NDArray[np.float64], cost: NDArray[np.float64] | None = None
    ) -> list[NDArray[np.float64]]:
        """Return each level's Q of every choice for its actor, by `policy` `[states, choices]`.

        `cost` `[states, choices]` is what a choice costs its actor and pays the other seat, as in
        R-NaD; the cost of the choice itself is not in its Q.
        """
        out: list[NDArray[np.float64]] = []
        after = np.zeros(0)
        for level in reversed(self.levels):
            sign = np.where(level.seat == 0, 1.0, -1.0)[:, None]
            on = level.child >= 0
            first = level.utility.copy()
            first[on] += after[level.child[on]]
            out.append(first * sign * level.mask)
            paid = 0.0 if cost is None else cost[level.state]
            after = sign[:, 0] * (policy[level.state] * (out[-1] - paid)).sum(1)
        return out[::-1]

    def by_state(
        self, values: list[NDArray[np.float64]], weight: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return `values` `[histories, choices]` as means over each information state."""
        return self._mean(values, weight, [level.state for level in self.levels], len(self.rows))

    def by_full(
        self, values: list[NDArray[np.float64]], weight: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return `values` as means over each privileged view."""
        return self._mean(
            values, weight, [level.full for level in self.levels], len(self.full_rows)
        )

    @staticmethod
    def _mean(
        values: list[NDArray[np.float64]],
        weight: list[NDArray[np.float64]],
        groups: list[NDArray[np.int64]],
        count: int,
    ) -> NDArray[np.float64]:
        group, every = np.concatenate(groups), np.concatenate(values)
        share = np.concatenate(weight)
        total = np.bincount(group, share, count)
        sums = [np.bincount(group, share * column, count) for column in every.T]
        return np.stack(sums, 1) / np.maximum(total, np.finfo(float).tiny)[:, None]

    @cached_property
    def state_of_row(self) -> dict[bytes, int]:
        """The number of an information state, by what is seen there."""
        return {row.tobytes(): number for number, row in enumerate(self.rows)}


class _Numbers:
    """Gives equal rows one number each."""

    def __init__(self) -> None:
        self.rows: list[NDArray[Any]] = []
        self.beside: list[NDArray[Any]] = []
        self.number_by_row: dict[bytes, int] = {}

    def of(self, rows: NDArray[Any], beside: NDArray[Any]) -> NDArray[np.int64]:
        for row, more in zip(rows, beside, strict=True):
            if self.number_by_row.setdefault(row.tobytes(), len(self.rows)) == len(self.rows):
                self.rows.append(row.copy())
                self.beside.append(more.copy())
        return np.array([self.number_by_row[row.tobytes()] for row in rows], np.int64)


def histories_of(name: str) -> Histories:
    """Walk a compiled game whose deals can be listed."""
    game = registry.make(name, slots=1)
    assert isinstance(game, CompiledGame)
    saved, states, full = _deals(game), _Numbers(), _Numbers()
    levels: list[Level] = []
    while len(saved["origin"]):
        before = _loaded(game, saved)
        decisions = before.decisions()
        rows, mask = decisions.observation.copy(), decisions.mask.copy()
        privileged = before.privileged()
        position, action = np.nonzero(mask)
        after = _loaded(game, before.save(position))
        after.decisions()
        ended = after.act(np.arange(len(position)), action[:, None])
        on = np.delete(np.arange(len(position)), ended)
        child = np.full(mask.shape, -1, np.int64)
        child[position[on], action[on]] = np.arange(len(on))
        utility = np.zeros(mask.shape)
        utility[position[ended], action[ended]] = after.returns[ended, 0]
        levels.append(
            Level(
                decisions.seat.astype(np.int64).copy(),
                states.of(rows, mask),
                full.of(privileged, mask),
                mask,
                child,
                utility,
            )
        )
        saved = after.save(on)
    return Histories(
        tuple(levels), np.array(states.rows), np.array(states.beside), np.array(full.rows)
    )


def _loaded(game: CompiledGame, saved: Any) -> CompiledGame:
    kind: Any = type(game)
    count = len(saved["origin"])
    table: CompiledGame = kind(count, game.seed, **dict(game.spec.settings))
    table.load(np.arange(count), saved)
    return table
