"""What learners read: the decisions of learning seats, as columns, with an index `[T, B]`.

An unroll is up to T consecutive decisions of one seat in one match. One that is shorter is padded
after its last decision, whether the match ended there or goes on. The columns `HEAVY`, or all of
them, may be tensors on a learner's device. Knows nothing of games and networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor, device

# Columns with one entry for each decision, and with one for each unroll.
ROWS = (
    "observation", "mask", "action", "log_prob", "log_probs", "value", "reward", "ended",
    "seat", "match", "turn", "update", "privileged", "teacher", "opponents", "weight", "matchup",
    "frozen",
)  # fmt: skip
NEXT = ("next_observation", "next_mask", "next_privileged", "next_value")
LANES = (*NEXT, "goes_on", "state")
HEAVY = (
    "observation", "mask", "action", "log_prob", "log_probs", "value", "reward", "privileged",
    "teacher", "next_observation", "next_mask", "next_privileged", "next_value", "state",
)  # fmt: skip
"""Columns that only networks and losses read; the others are read by the host too."""
ALL = (*ROWS, *LANES, "index")


@dataclass(frozen=True)
class Unrolls:
    """B unrolls of at most T decisions."""

    observation: NDArray[Any]
    """`[N, length]`: what the seat saw."""
    mask: NDArray[np.bool_]
    """`[N, choices]`: what it was allowed."""
    action: NDArray[np.int32]
    """`[N, heads]`: what it did."""
    log_prob: NDArray[np.float32]
    """`[N]`: of that, under the weights that acted."""
    reward: NDArray[np.float32]
    """`[N]`: what came to the seat from this action until its next decision or the end."""
    ended: NDArray[np.bool_]
    """`[N]`: the seat's last decision in its match."""
    seat: NDArray[np.int32]
    match: NDArray[np.int64]
    turn: NDArray[np.int32]
    update: NDArray[np.int32]
    """`[N]`: the learner's update that the acting weights came from."""
    index: NDArray[np.int32]
    """`[T, B]`: rows of each unroll in order, -1 where it is padded."""
    goes_on: NDArray[np.bool_]
    """`[B]`: the match went on; the `next_...` columns hold the seat's next decision."""
    value: NDArray[np.float32] | None = None
    """`[N]`: the critic's value when acting."""
    log_probs: NDArray[np.float32] | None = None
    """`[N, choices]`: of all choices, under the weights that acted."""
    privileged: NDArray[Any] | None = None
    teacher: NDArray[np.int32] | None = None
    """`[N, heads]`: what a teacher would have done; -1 where that says nothing."""
    opponents: NDArray[np.int32] | None = None
    """`[N, seats - 1]`: the numbers of those in the other seats, from the next seat on."""
    weight: NDArray[np.float32] | None = None
    """`[N]`: how much the policy is to learn from the row."""
    matchup: NDArray[np.int64] | None = None
    """`[N]`: equal where the opponents are the same."""
    frozen: NDArray[np.bool_] | None = None
    """`[N]`: decided by an opponent that does not learn."""
    next_observation: NDArray[Any] | None = None
    next_mask: NDArray[np.bool_] | None = None
    next_privileged: NDArray[Any] | None = None
    next_value: NDArray[np.float32] | None = None
    state: NDArray[np.float32] | None = None
    """`[B, state]`: a recurrent policy's state at the unroll's start."""
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """`[N, ...]` by name: measurements from outside that travel along; no trainer reads them."""

    def __len__(self) -> int:
        """How many unrolls."""
        return int(self.index.shape[1])

    @property
    def decisions(self) -> int:
        return len(self.action)

    def age(self, update: int) -> tuple[float, float]:
        """Return how many updates old the acting weights are at `update`: the mean, the most."""
        # Whole numbers up to the division: the mean to the last bit, in any order.
        total, oldest = int(self.update.sum()), int(self.update.min())
        return (update * self.decisions - total) / self.decisions, float(update - oldest)

    def take(self, lanes: NDArray[Any]) -> Unrolls:
        """Return only the unrolls `lanes`, in that order; `index` must be with the host."""
        index = self.index[:, lanes]
        valid = index.T >= 0
        rows = index.T[valid]
        new_index = np.full_like(index, -1)
        new_index.T[valid] = np.arange(len(rows), dtype=np.int32)
        chosen: dict[str, Any] = {"index": new_index}
        for names, places in ((ROWS, _Rows(rows)), (LANES, _Rows(lanes))):
            for name in names:
                column = getattr(self, name)
                chosen[name] = None if column is None else places.of(column)
        chosen["extras"] = {name: column.take(rows, 0) for name, column in self.extras.items()}
        return Unrolls(**chosen)


class _Rows:
    """Rows to be taken out of columns, wherever those lie."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self.rows = rows
        self._there: Any = None

    def of(self, column: Any) -> Any:
        if isinstance(column, np.ndarray):
            # `take` copies whole rows, which an index in brackets does a few bytes at a time.
            return column.take(self.rows, 0)
        if self._there is None:
            import torch  # Most readers of unrolls do without.

            index = torch.from_numpy(self.rows.astype(np.int64))
            pinned = index.pin_memory() if column.is_cuda else index
            self._there = pinned.to(column.device, non_blocking=True)
        return column.index_select(0, self._there)


def to_tensor(column: NDArray[Any] | Tensor, device: device) -> Tensor:
    """Return a column as a tensor on a device; on the CPU without a copy where it can be."""
    import torch  # Most readers of unrolls do without.

    if isinstance(column, torch.Tensor):
        return column.to(device, non_blocking=True)
    array = np.ascontiguousarray(column)
    tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
    # From memory that is not pinned, a copy would wait for all that the device has to do.
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def moved(unrolls: Unrolls, device: device, names: Sequence[str] = ALL) -> Unrolls:
    """Return unrolls of which these columns are tensors on a device; nothing waits for them."""
    columns = {name: getattr(unrolls, name) for name in names}
    tensors: dict[str, Any] = {
        name: to_tensor(column, device) for name, column in columns.items() if column is not None
    }
    return replace(unrolls, **tensors)


def join(pieces: Sequence[Unrolls]) -> Unrolls:
    """Return several sets of unrolls as one; T is the longest of theirs.

    All of them lie with the host, or all columns of all of them on one device.
    """
    if len(pieces) == 1:
        return pieces[0]
    if not isinstance(pieces[0].index, np.ndarray):
        return _join_there(pieces)
    longest = max(piece.index.shape[0] for piece in pieces)
    indices, rows = [], 0
    for piece in pieces:
        index = np.full((longest, len(piece)), -1, np.int32)
        index[: len(piece.index)] = np.where(piece.index >= 0, piece.index + rows, -1)
        indices.append(index)
        rows += piece.decisions
    joined: dict[str, Any] = {"index": np.concatenate(indices, 1)}
    for name in ROWS:
        columns = [getattr(piece, name) for piece in pieces]
        joined[name] = None if columns[0] is None else np.concatenate(columns)
    for name in LANES:
        joined[name] = _join_lanes(pieces, name)
    return Unrolls(**joined, extras=_join_extras(pieces))


def _join_there(pieces: Sequence[Unrolls]) -> Unrolls:
    import torch

    longest, rows, indices = max(len(piece.index) for piece in pieces), 0, []
    for piece in pieces:
        there: Any = piece.index
        more = (0, 0, 0, longest - len(there))
        index = torch.nn.functional.pad(torch.where(there >= 0, there + rows, -1), more, value=-1)
        indices.append(index)
        rows += piece.decisions
    joined: dict[str, Any] = {"index": torch.cat(indices, 1)}
    for name in ROWS:
        columns: list[Any] = [getattr(piece, name) for piece in pieces]
        joined[name] = None if columns[0] is None else torch.cat(columns)
    for name in LANES:
        columns = [getattr(piece, name) for piece in pieces]
        joined[name] = None
        if (like := next((column for column in columns if column is not None), None)) is not None:
            shapes = [(len(piece), *like.shape[1:]) for piece in pieces]
            pairs = zip(columns, shapes, strict=True)
            joined[name] = torch.cat(
                [like.new_zeros(shape) if column is None else column for column, shape in pairs]
            )
    return Unrolls(**joined, extras=_join_extras(pieces))


def _join_extras(pieces: Sequence[Unrolls]) -> dict[str, NDArray[Any]]:
    return {
        name: np.concatenate([piece.extras[name] for piece in pieces]) for name in pieces[0].extras
    }


def _join_lanes(pieces: Sequence[Unrolls], name: str) -> NDArray[Any] | None:
    """Return a column of all unrolls; zeros where a part has none because no match went on."""
    columns = [getattr(piece, name) for piece in pieces]
    present = [column for column in columns if column is not None]
    if not present:
        return None
    like = present[0]
    return np.concatenate(
        [
            np.zeros((len(piece), *like.shape[1:]), like.dtype) if column is None else column
            for piece, column in zip(pieces, columns, strict=True)
        ]
    )


def to_arrays(unrolls: Unrolls) -> dict[str, NDArray[Any]]:
    """Return plain arrays, fit for an npz file without objects."""
    arrays = {
        entry.name: _at_home(getattr(unrolls, entry.name))
        for entry in fields(unrolls)
        if entry.name != "extras" and getattr(unrolls, entry.name) is not None
    }
    return arrays | {f"extra:{name}": column for name, column in unrolls.extras.items()}


def _at_home(column: Any) -> NDArray[Any]:
    return column if isinstance(column, np.ndarray) else np.asarray(column.cpu().numpy())


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Unrolls:
    """Return the unrolls that `to_arrays` put away."""
    extras = {k.removeprefix("extra:"): v for k, v in arrays.items() if k.startswith("extra:")}
    rest = {k: v for k, v in arrays.items() if not k.startswith("extra:")}
    return Unrolls(**rest, extras=extras)
