"""What a learner's seats saw, did and got, a row for each decision, cut into unrolls.

A decision's reward is what came to its seat until its next decision or the end. What a match that
nobody won is worth there can be said in the game's place. Knows nothing of who plays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.games.contract import Decisions, Game, Spec
from lanista.rollout.inference.actor import Choice
from lanista.rollout.linking import link
from lanista.rollout.rows import copy_rows

_NOTHING: Mapping[str, NDArray[Any]] = {}
_AT_ONCE = 8
"""Columns that `copy_rows` takes."""
Empty = Callable[[tuple[int, ...], Any], NDArray[Any]]
"""Gives an array of a shape and type, with anything in it."""
Pick = Callable[[Mapping[str, NDArray[Any]], NDArray[np.int64]], dict[str, Any]]
"""Gives these rows of each column."""


def _batched(values: Iterable[Any], most: int) -> Iterator[list[Any]]:
    rest = list(values)
    for first in range(0, len(rest), most):
        yield rest[first : first + most]


def refuse_draw(draw: float | None, spec: Spec) -> None:
    """Refuse to say what a draw is worth where equal places need not mean that nobody won."""
    if draw is not None and not (spec.facts.zero_sum and spec.seats > 1):
        raise LanistaError(
            f"A draw is to be worth {draw:g}, and {spec.name} is not a zero-sum game of two or "
            "more seats, in which equal places mean that nobody won; leave rollouts.draw (--draw) "
            "out."
        )


class TrajectoryBuilder:
    """The learner's decisions so far, a row each, linked into unrolls."""

    def __init__(
        self,
        game: Game,
        length: int,
        shaping_scale: float,
        draw: float | None,
        log_probs: bool,
        privileged: bool,
    ) -> None:
        self.game, self.length, self.shaping_scale = game, length, shaping_scale
        self.draw = draw
        self.keep_log_probs, self.keep_privileged = log_probs, privileged
        self.seats = game.spec.seats
        self.last = np.full(game.slots * self.seats, -1, np.int64)
        """By slot and seat: the row of its last decision in this match."""
        self.empty: Empty = np.empty
        """Gives memory for columns: where they are sent to a device, such as is sent as it is."""
        self.pick: Pick = self._picked
        """Takes rows out of columns, here or where they are sent to."""
        self._usual = 1024
        """Rows for which there is room from the start: about as many as were there before."""
        self._clear()

    def _clear(self) -> None:
        self.rows = 0
        self.lanes = 0
        self.complete = 0
        self.columns: dict[str, NDArray[Any]] = {}
        self.broken: list[NDArray[np.int64]] = []
        self.lane_state: list[NDArray[np.float32]] = []

    def write(
        self,
        decisions: Decisions,
        mine: NDArray[Any],
        choice: Choice,
        privileged: NDArray[Any] | None,
        update: int,
        more: Mapping[str, NDArray[Any]] = _NOTHING,
    ) -> None:
        """Add decisions, and settle what came of each seat's decision before.

        `more` columns travel along: the same ones at every call.
        """
        beside = {**more} if privileged is None else {"privileged": privileged, **more}
        self._grow(len(mine), choice, beside)
        columns, first, lanes = self.columns, self.rows, self.lanes
        reward = self._reward(...)
        link_arguments = (self.last, columns, first, lanes, self.length, update)
        fresh, continued = link(decisions, mine, reward, *link_arguments)
        self.lanes += fresh
        self.complete += continued
        if choice.state is not None:
            here = slice(first, first + len(mine))
            self.lane_state.append(choice.state[columns["step"][here] % self.length == 0])
        shown = decisions.observation, decisions.mask
        copy_rows([(shown[0], columns["observation"]), (shown[1], columns["mask"])], mine, first)
        pairs = [(choice.action, columns["action"]), (choice.log_prob, columns["log_prob"])]
        if "log_probs" in columns:
            pairs.append((choice.log_probs, columns["log_probs"]))
        if choice.value is not None:
            pairs.append((choice.value, columns["value"]))
        pairs += [(column, columns[name]) for name, column in beside.items()]
        copy_rows(pairs, None, first)
        self.rows += len(mine)

    def close(self, over: NDArray[np.int32]) -> None:
        """Settle the last decisions of matches that ended."""
        slot = np.repeat(over, self.seats)
        seat = np.tile(np.arange(self.seats, dtype=np.int32), len(over))
        place = slot.astype(np.int64) * self.seats + seat
        before = self.last[place]
        self.last[place] = -1
        had = before >= 0
        if not had.any():
            return
        rows = before[had]
        self.columns["reward"][rows] = self._final_reward(slot[had], seat[had])
        self.columns["ended"][rows] = True
        # What was broken off has no result to learn from and no position to judge instead.
        broken = self.game.cut_off[slot[had], seat[had]]
        self.broken.append(self.columns["lane"][rows[broken]])
        self.complete += int((~broken).sum())

    def _reward(self, where: Any) -> NDArray[Any]:
        """Return what came to seats since their last decision, by slot and seat."""
        reward: NDArray[Any] = self.game.reward[where]
        if self.shaping_scale:
            reward = reward + self.shaping_scale * self.game.shaping[where]
        return reward

    def _final_reward(self, slot: NDArray[Any], seat: NDArray[Any]) -> NDArray[Any]:
        """Return what came to seats since their last decision, of matches that ended.

        Where nobody won it is made so that all rewards of a seat come to `draw`, not its return.
        """
        reward, game = self._reward((slot, seat)), self.game
        if self.draw is None:
            return reward
        place = game.place[slot]
        drawn = (place == place[:, :1]).all(1) & ~game.cut_off[slot].any(1)
        return np.where(drawn, reward + (np.float32(self.draw) - game.returns[slot, seat]), reward)

    def harvest(self) -> Unrolls:
        """Return the complete unrolls and keep the rest, renumbered."""
        # Somewhat more than there were: memory that is not written to costs nothing.
        rows, self._usual = slice(0, self.rows), max(self.rows + self.rows // 8, 1024)
        lane, step = self.columns["lane"][rows], self.columns["step"][rows] % self.length
        done = np.zeros(self.lanes, np.bool_)
        ended = self.columns["ended"][rows]
        full = (step == self.length - 1) & (self.columns["next"][rows] >= 0)
        done[lane[ended | full]] = True
        whole = done.copy()
        for lanes in self.broken:
            whole[lanes] = False
        unrolls = self._unrolls(whole, lane, step)
        self._keep(~done[lane], done)
        return unrolls

    def _unrolls(self, done: NDArray[np.bool_], lane: NDArray[Any], step: NDArray[Any]) -> Unrolls:
        take = np.flatnonzero(done[lane])
        rank = np.cumsum(done) - 1
        index = np.full((self.length, int(done.sum())), -1, np.int32)
        index[step[take], rank[lane[take]]] = np.arange(len(take), dtype=np.int32)
        longest = int((index >= 0).any(1).sum())
        index = index[:longest]
        columns = self.columns
        # Where nothing is kept, as between whole matches, the memory itself is handed over.
        everything = len(take) == self.rows
        chosen: dict[str, Any] = {
            name: column[: self.rows]
            for name, column in columns.items()
            if name not in ("next", "step", "lane")
        }
        if not everything:
            chosen = self.pick(chosen, take)
        # The row after an unroll's last one, where the match went on.
        last = np.zeros(index.shape[1], np.int64)
        last[rank[lane[take]]] = take  # Rows come in order, so the last one written stays.
        goes_on = ~columns["ended"][last]
        after = columns["next"][last]
        if goes_on.any():
            for name in ("observation", "mask", "privileged", "value"):
                if name in columns:
                    following = columns[name].take(after, 0)
                    following[~goes_on] = 0
                    chosen[f"next_{name}"] = following
        if self.lane_state:
            chosen["state"] = np.concatenate(self.lane_state)[np.flatnonzero(done)]
        return Unrolls(index=index, goes_on=goes_on, **chosen)

    def _picked(
        self, columns: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
    ) -> dict[str, Any]:
        """Return these rows of each column."""
        pairs = {
            name: (column, self.empty((len(rows), *column.shape[1:]), column.dtype))
            for name, column in columns.items()
        }
        for some in _batched(pairs.values(), _AT_ONCE):
            copy_rows(some, rows)
        return {name: target for name, (_, target) in pairs.items()}

    def _keep(self, rows: NDArray[np.bool_], done: NDArray[np.bool_]) -> None:
        """Keep only the rows of unfinished unrolls."""
        kept_rows = np.flatnonzero(rows)
        number = np.full(self.rows + 1, -1, np.int64)  # The last one is for -1, which stays.
        number[kept_rows] = np.arange(len(kept_rows))
        lane_number = np.cumsum(~done) - 1
        columns = {name: column.take(kept_rows, 0) for name, column in self.columns.items()}
        states = np.concatenate(self.lane_state)[~done] if self.lane_state else None
        self._clear()
        self.last = number[self.last]
        self.rows, self.lanes = len(kept_rows), int((~done).sum())
        if len(kept_rows):
            columns["next"] = number[columns["next"]]
            columns["lane"] = lane_number[columns["lane"]]
            self.columns = columns
        if states is not None:
            self.lane_state = [states]

    def _grow(
        self,
        count: int,
        choice: Choice,
        beside: Mapping[str, NDArray[Any]],
    ) -> None:
        needed = self.rows + count
        if self.columns and needed <= len(self.columns["lane"]):
            return
        size = max(needed, 2 * self.rows, self._usual)
        spec = self.game.spec
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "observation": ((spec.observation.length,), spec.observation.dtype),
            "mask": ((spec.choices,), np.bool_),
            "action": ((len(spec.heads),), np.int32),
            "log_prob": ((), np.float32),
            "reward": ((), np.float32),
            "ended": ((), np.bool_),
            "seat": ((), np.int32),
            "match": ((), np.int64),
            "turn": ((), np.int32),
            "update": ((), np.int32),
            "next": ((), np.int64),
            "step": ((), np.int64),
            "lane": ((), np.int64),
        }
        if self.keep_log_probs:
            shapes["log_probs"] = ((spec.choices,), np.float32)
        if choice.value is not None:
            shapes["value"] = ((), np.float32)
        for name, column in beside.items():
            shapes[name] = (column.shape[1:], column.dtype)
        for name, (shape, dtype) in shapes.items():
            grown = self.empty((size, *shape), dtype)
            if name in self.columns:
                grown[: self.rows] = self.columns[name][: self.rows]
            self.columns[name] = grown

    def save(self) -> dict[str, Any]:
        """Return the unfinished unrolls as arrays; called after a harvest."""
        state = {"state": np.concatenate(self.lane_state)} if self.lane_state else {}
        columns = {name: column[: self.rows].copy() for name, column in self.columns.items()}
        return {"last": self.last.copy(), "columns": columns, **state}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` gave."""
        self._clear()
        self.last = saved["last"].copy()
        self.columns = {name: column.copy() for name, column in saved["columns"].items()}
        if self.columns:
            self.rows = len(self.columns["lane"])
            self.lanes = int(self.columns["lane"].max()) + 1
        if "state" in saved:
            self.lane_state = [saved["state"].copy()]
