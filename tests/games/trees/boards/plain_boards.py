"""Board games with hidden marks the slow way: one history after another, in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanista.games.trees.tree import InformationTree, TreeBuilder


class PlainBoard:
    """Rules as sets of cells; what a seat knows is the list of what it tried and found."""

    def __init__(self, cells: int, wins: Any, *, abrupt: bool, draws: bool, show: Any) -> None:
        self.cells, self.wins, self.abrupt, self.draws, self.show = (
            cells, wins, abrupt, draws, show
        )  # fmt: skip

        self.rows: dict[Any, Any] = {}

    def tree(self, policies: Any = None, most: int = 10**6) -> InformationTree:
        """Walk all histories; with `policies` only what the seats may play."""
        self.builder = TreeBuilder("plain", 2, self.cells, most)
        self.policies = policies or (None, None)
        self._walk((frozenset(), frozenset()), ((), ()), 0, (0, 0))
        return self.builder.tree()

    def row(self, seat: int, tries: Any) -> Any:
        key = (seat, *tries)
        if key not in self.rows:
            self.rows[key] = self._row(seat, tries)
        return self.rows[key]

    def _row(self, seat: int, tries: Any) -> Any:
        own = sum(1 << cell for cell, free in tries if free)
        found = sum(1 << cell for cell, free in tries if not free)
        order = np.full((1, self.cells), -1, np.int8)
        order[0, : len(tries)] = [cell for cell, _ in tries]
        marks = np.array([own], np.uint16)
        return self.show(seat, marks, np.array([found], np.uint16), order)[0]

    def _walk(self, marks: Any, tries: Any, seat: int, sequences: Any) -> None:
        self.builder.count()
        tried = {cell for cell, _ in tries[seat]}
        legal = [cell for cell in range(self.cells) if cell not in tried]
        row = self.row(seat, tries[seat])
        first = self.builder.first_sequence(seat, tries[seat], sequences[seat], legal, row)
        playable = self._playable(seat, row, legal)
        for number, cell in enumerate(legal):
            if cell not in playable:
                continue
            after = [*sequences]
            after[seat] = first + number
            self._try(marks, tries, seat, cell, after)

    def _playable(self, seat: int, row: Any, legal: list[int]) -> list[int]:
        policy = self.policies[seat]
        if policy is None:
            return legal
        mask = np.zeros((1, self.cells), bool)
        mask[0, legal] = True
        return [cell for cell in legal if policy(row[None], mask)[0][cell] > 0]

    def _try(self, marks: Any, tries: Any, seat: int, cell: int, sequences: Any) -> None:
        free = cell not in marks[1 - seat]
        tries, marks = [*tries], [*marks]
        tries[seat] = (*tries[seat], (cell, free))
        if not free:
            then = 1 - seat if self.abrupt else seat
            self._walk(tuple(marks), tuple(tries), then, tuple(sequences))
            return
        marks[seat] = marks[seat] | {cell}
        won = self.wins(seat, sum(1 << cell for cell in marks[seat]))
        if won or (self.draws and len(marks[0] | marks[1]) == self.cells):
            self.builder.count()
            value = float(won) * (1 if seat == 0 else -1)
            self.builder.end(sequences, 1.0, [value, -value])
            return
        self._walk(tuple(marks), tuple(tries), 1 - seat, tuple(sequences))
