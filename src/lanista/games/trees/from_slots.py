"""The tree of a compiled game: positions are saved, copied, and played on many at a time.

A game whose chance comes before the first decision lists its deals; one without chance has a single
one. Knows no game's rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.compiled import CompiledGame
from lanista.games.contract import Decisions, GameError, Saved
from lanista.games.trees.tree import ELSEWHERE, InformationTree, Report, TreeBuilder

_MOST_TOGETHER = 1 << 18
"""Positions that are played on at once."""


def tree_of_slots(game: CompiledGame, most: int, report: Report | None = None) -> InformationTree:
    """Walk a compiled game; refuse one whose deals cannot be listed, or that is too large."""
    spec = game.spec
    if spec.facts.simultaneous or len(spec.heads) != 1:
        raise GameError(
            f"{spec.name} has no exact NashConv: its seats choose at once, or several things in "
            f"one decision; {ELSEWHERE}"
        )
    builder = TreeBuilder(spec.name, spec.seats, spec.choices, most, report)
    _Walk(game, builder).run()
    return builder.tree()


class _Walk:
    """Positions that wait to be played on, as blocks of saved matches."""

    def __init__(self, game: CompiledGame, builder: TreeBuilder) -> None:
        self.game, self.builder = game, builder
        deals = _deals(game)
        count = len(deals["origin"])
        sequences = np.zeros((count, game.spec.seats), np.int32)
        self.waiting = [(deals, sequences, np.full(count, 1 / count))]
        builder.count(1 if count == 1 else 1 + count)

    def run(self) -> None:
        """Play on until nothing waits."""
        while self.waiting:
            saved, sequences, chance = self.waiting.pop()
            most = max(1, _MOST_TOGETHER // self.game.spec.choices)
            if len(chance) > most:
                rest = {name: array[most:] for name, array in saved.items()}
                self.waiting.append((rest, sequences[most:], chance[most:]))
                saved = {name: array[:most] for name, array in saved.items()}
            self._play_on(saved, sequences[:most], chance[:most])

    def _play_on(
        self, saved: Saved, sequences: NDArray[np.int32], chance: NDArray[np.float64]
    ) -> None:
        """Play every legal action of some positions, and keep what goes on."""
        before = self._loaded(saved)
        decisions = before.decisions()
        position, action = np.nonzero(decisions.mask)
        self.builder.count(len(position))
        sequences, chance = self._acted(decisions, sequences, position), chance[position]
        after = self._loaded(before.save(position))
        after.decisions()
        ended = after.act(np.arange(len(position)), action[:, None])
        self.builder.ends(sequences[ended], chance[ended], after.returns[ended])
        on = np.delete(np.arange(len(position)), ended)
        if len(on):
            self.waiting.append((after.save(on), sequences[on], chance[on]))

    def _first(self, decisions: Decisions, parent: int, number: int) -> int:
        """Return the first sequence of the information state of a decision."""
        seat, row = int(decisions.seat[number]), decisions.observation[number]
        actions = np.flatnonzero(decisions.mask[number]).tolist()
        key = (parent, row.tobytes())
        return self.builder.first_sequence(seat, key, parent, actions, row.copy())

    def _loaded(self, saved: Saved) -> CompiledGame:
        """Return a game with just these matches, one in each slot."""
        kind: Any = type(self.game)
        count = len(saved["origin"])
        table: CompiledGame = kind(count, self.game.seed, **dict(self.game.spec.settings))
        table.load(np.arange(count), saved)
        return table

    def _acted(
        self, decisions: Decisions, sequences: NDArray[np.int32], position: NDArray[np.intp]
    ) -> NDArray[np.int32]:
        """Return each seat's sequence after every legal action of every position."""
        seat = decisions.seat
        parent = sequences[np.arange(len(sequences)), seat]
        # A state has many histories; each is looked up once for all of them that are here.
        _, number, state = np.unique(
            _keys(seat, parent, decisions.observation), return_index=True, return_inverse=True
        )
        firsts = np.array([self._first(decisions, int(parent[i]), i) for i in number.tolist()])
        firsts = firsts[state]
        after = sequences[position]
        # Legal actions come in order, so that a position's first one has its first sequence.
        starts = np.searchsorted(position, np.arange(len(sequences)))
        within = np.arange(len(position)) - starts[position]
        after[np.arange(len(position)), decisions.seat[position]] = firsts[position] + within
        return after


def _keys(seat: NDArray[Any], parent: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Return bytes for each decision, the same for the same information state."""
    columns = [np.stack([seat, parent], 1).astype(np.int32).view(np.uint8), rows.view(np.uint8)]
    table = np.ascontiguousarray(np.concatenate(columns, 1))
    return table.view(np.dtype((np.void, table.shape[1]))).reshape(-1)


def _deals(game: CompiledGame) -> Saved:
    """Return a saved match for each deal."""
    if not game.spec.facts.chance:
        game.start([0], [0])
        return game.save([0])
    try:
        deals = game.deals()
    except GameError as error:
        raise GameError(
            f"{game.spec.name} has no exact NashConv: it does not list its deals; {ELSEWHERE}"
        ) from error
    saved = [game.position(**deal) for deal in deals]
    return {name: np.concatenate([match[name] for match in saved]) for name in saved[0]}
