"""Remembers rows with numbers for their choices: weighted means, one for all rows that are equal.

A squared error or a cross-entropy over many samples of one row has the gradient of that row's mean
with their summed weight, so nothing is lost by adding them up. What does not fit is left out by
reservoir sampling (Vitter, 1985) over different rows. Knows nothing of what the numbers mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.equal_rows import equal_rows
from lanista.data.traversals import ChoiceRows

_FIRST = 1024
"""Rows that there is room for at first."""
_ARRAYS = ("observation", "mask", "weight", "total")


class RowMemory:
    """Different rows, each with its summed weight and the weighted sum of its values."""

    def __init__(self, length: int, choices: int, dtype: str, capacity: int) -> None:
        self.capacity, self.size = capacity, 0
        self.different = 0
        """Rows that were new when they came, those included that were left out."""
        room = min(_FIRST, capacity)
        self.observation = np.zeros((room, length), dtype)
        self.mask = np.zeros((room, choices), np.bool_)
        self.weight = np.zeros(room)
        self.total = np.zeros((room, choices))
        self._index: dict[bytes, int] = {}

    def __len__(self) -> int:
        return self.size

    def add(self, rows: ChoiceRows, weight: float, rng: np.random.Generator) -> None:
        """Take in rows that count `weight` each; `rng` says which stay where all do not fit."""
        if not len(rows):
            return
        first, kind = equal_rows(rows.observation, rows.mask)
        counts = np.bincount(kind, minlength=len(first)) * weight
        totals = np.zeros((len(first), rows.values.shape[1]))
        np.add.at(totals, kind, rows.values * weight)
        observation, mask = rows.observation[first], rows.mask[first]
        places = self._places(observation, mask, rng)
        kept = np.flatnonzero(places >= 0)
        self.weight[places[kept]] += counts[kept]
        self.total[places[kept]] += totals[kept]

    def _places(
        self, observation: NDArray[Any], mask: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return where each of some different rows is kept, cleared if it is new; -1: nowhere."""
        places = np.full(len(observation), -1, np.int64)
        number_at: dict[int, int] = {}
        for number, key in enumerate(_keys(observation, mask)):
            place = self._index.get(key, -1)
            if place < 0:
                place = self._room(rng)
                if place < 0:
                    continue
                if place in number_at:  # A row that came just now has to leave for this one.
                    places[number_at[place]] = -1
                self._put(place, key, observation[number], mask[number])
            number_at[place] = number
            places[number] = place
        return places

    def _room(self, rng: np.random.Generator) -> int:
        """Return the place of a row that is new; -1: it is left out."""
        self.different += 1
        if self.size < self.capacity:
            if self.size == len(self.weight):
                self._grow()
            self.size += 1
            return self.size - 1
        place = int(rng.integers(self.different))
        if place >= self.capacity:
            return -1
        del self._index[_key(self.observation[place], self.mask[place])]
        return place

    def _put(self, place: int, key: bytes, observation: Any, mask: Any) -> None:
        self._index[key] = place
        self.observation[place], self.mask[place] = observation, mask
        self.weight[place] = 0.0
        self.total[place] = 0.0

    def _grow(self) -> None:
        room = min(2 * len(self.weight), self.capacity)
        for name in _ARRAYS:
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[: self.size] = old[: self.size]
            setattr(self, name, new)

    def recalled(
        self, observation: NDArray[Any], mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights and the weighted sums of rows as they are kept; 0 of those that are
        not."""
        keys = _keys(observation, mask)
        places = np.array([self._index.get(key, -1) for key in keys], np.int64)
        kept = places >= 0
        return (
            np.where(kept, self.weight[places], 0.0),
            np.where(kept[:, None], self.total[places], 0.0),
        )

    def means(self) -> NDArray[np.float64]:
        """Return the weighted mean of every row, `[rows, choices]`."""
        return self.total[: self.size] / self.weight[: self.size, None]

    def state(self) -> dict[str, Any]:
        """Return all of it as arrays and plain values."""
        arrays = {name: getattr(self, name)[: self.size].copy() for name in _ARRAYS}
        return {**arrays, "different": self.different}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` gave."""
        self.size, self.different = len(state["weight"]), int(state["different"])
        for name in _ARRAYS:
            old = getattr(self, name)
            room = max(self.size, min(_FIRST, self.capacity))
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[: self.size] = state[name]
            setattr(self, name, new)
        keys = _keys(self.observation[: self.size], self.mask[: self.size])
        self._index = {key: place for place, key in enumerate(keys)}


def _keys(observation: NDArray[Any], mask: NDArray[np.bool_]) -> list[bytes]:
    """Return bytes for each row, the same for the same row."""
    columns = [_bytes(observation), _bytes(mask)]
    table = np.ascontiguousarray(np.concatenate(columns, 1))
    data, width = table.tobytes(), table.shape[1]
    return [data[at : at + width] for at in range(0, len(data), width)]


def _key(observation: NDArray[Any], mask: NDArray[np.bool_]) -> bytes:
    return observation.tobytes() + mask.tobytes()


def _bytes(rows: NDArray[Any]) -> NDArray[np.uint8]:
    flat = np.ascontiguousarray(rows)
    return flat.reshape(-1).view(np.uint8).reshape(len(flat), flat.shape[1] * flat.itemsize)
