"""The tree of a game in plain Python: its hooks are called for every move and outcome of chance.

Chance is listed where a game draws whole numbers, items or shuffles from the stream it is given.
Knows no game's rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lanista.games.contract import GameError
from lanista.games.hooks import Step, View, read_step, write_observation
from lanista.games.python_game import PythonGame
from lanista.games.trees.chance import ListedStream, UnlistedChanceError, outcomes
from lanista.games.trees.tree import ELSEWHERE, InformationTree, Report, TreeBuilder


def tree_of_hooks(game: PythonGame, most: int, report: Report | None = None) -> InformationTree:
    """Walk a game in Python; refuse one whose chance cannot be listed, or that is too large."""
    spec = game.spec
    if len(spec.heads) != 1:
        raise GameError(
            f"{spec.name} has no exact NashConv: its seats choose several things in one "
            f"decision; {ELSEWHERE}"
        )
    builder = TreeBuilder(spec.name, spec.seats, spec.choices, most, report)
    walk = _Walk(game, builder)
    try:
        for chance, state in outcomes(lambda stream: game.deal(_as_stream(stream))):
            walk.run(_Position(state, chance, (0,) * spec.seats))
    except UnlistedChanceError as error:
        raise GameError(
            f"{spec.name} has no exact NashConv: {error}, whose outcomes cannot be listed; draw "
            f"with below(), choice() or shuffle(). Elsewhere {ELSEWHERE}"
        ) from error
    return builder.tree()


def _as_stream(stream: ListedStream) -> Any:
    """Return a listed stream as hooks take it: for the type checker alone."""
    return stream


class _Position:
    """A position on the way: the rules' state, and how it was reached."""

    def __init__(self, state: Any, chance: float, sequences: tuple[int, ...]) -> None:
        self.state, self.chance, self.sequences = state, chance, sequences
        self.out: frozenset[int] = frozenset()
        self.turn = 0


class _Walk:
    def __init__(self, game: PythonGame, builder: TreeBuilder) -> None:
        self.game, self.builder = game, builder

    def run(self, root: _Position) -> None:
        """Walk everything from a position on, depth first; matches may be long."""
        stack: list[Iterator[_Position]] = [iter((root,))]
        while stack:
            position = next(stack[-1], None)
            if position is None:
                stack.pop()
            else:
                stack.append(self._after(position))

    def _after(self, position: _Position) -> Iterator[_Position]:
        """Yield what follows a position at which somebody has to choose; ends are added."""
        self.builder.count()
        seats = [seat for seat in range(self.game.spec.seats) if seat not in position.out]
        views = {seat: self.game.view(position.state, seat) for seat in seats}
        waiting = [(seat, view) for seat, view in views.items() if view is not None]
        if not waiting:
            raise GameError(
                f"{self.game.spec.name} waits for nobody at turn {position.turn} and is not over; "
                "`view` must give some seat a choice."
            )
        for moves, sequences in self._choices(position, waiting, {}, list(position.sequences)):
            yield from self._played(position, moves, sequences)

    def _choices(
        self,
        position: _Position,
        waiting: list[tuple[int, View]],
        moves: dict[int, int],
        sequences: list[int],
    ) -> Iterator[tuple[dict[int, int], tuple[int, ...]]]:
        """Yield what the seats that wait may choose, in turn, none seeing the others' choices."""
        if len(moves) == len(waiting):
            yield dict(moves), tuple(sequences)
            return
        seat, view = waiting[len(moves)]
        if moves:
            self.builder.count()
        row = np.zeros(self.game.spec.observation.length, self.game.dtype)
        write_observation(self.game.spec, view, row)
        parent, actions = position.sequences[seat], sorted(view.legal)
        key = (parent, row.tobytes())
        first = self.builder.first_sequence(seat, key, parent, actions, row)
        for number, action in enumerate(actions):
            moves[seat], sequences[seat] = action, first + number
            yield from self._choices(position, waiting, moves, sequences)
        del moves[seat]

    def _played(
        self, position: _Position, moves: dict[int, int], sequences: tuple[int, ...]
    ) -> Iterator[_Position]:
        """Play moves with every outcome of chance; add the ends, and yield where it goes on."""

        def play(stream: ListedStream) -> tuple[Any, Any]:
            state = self.game.copy(position.state)
            return state, self.game.apply(state, dict(moves), _as_stream(stream))

        for probability, (state, result) in outcomes(play):
            step = read_step(self.game.spec, result)
            after = _Position(state, position.chance * probability, sequences)
            after.out, after.turn = position.out | {*step.out}, position.turn + 1
            self._refuse_cut_off(step, after.turn)
            if step.returns is None:
                yield after
                continue
            self.builder.count()
            self.builder.end(sequences, after.chance, [float(value) for value in step.returns])

    def _refuse_cut_off(self, step: Step, turn: int) -> None:
        if step.cut_off or (step.returns is None and turn >= self.game.spec.facts.longest):
            raise GameError(
                f"{self.game.spec.name} has no exact NashConv: matches can be broken off without a "
                f"result; {ELSEWHERE}"
            )
