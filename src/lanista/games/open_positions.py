"""Positions of games in which everything is seen, played on move by move: what a search walks over.

For games of two seats that choose in turn and play for each other's loss, without chance. Knows
nothing of how moves are judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from lanista.games.contract import GameError, Spec
from lanista.games.hooks import View, read_step
from lanista.games.python_game import PythonGame
from lanista.games.streams import Stream


def reason_against_search(spec: Spec) -> str:
    """Return why the moves of a game cannot be searched, or nothing."""
    facts = spec.facts
    if facts.seats != 2 or not facts.zero_sum:
        return "its seats are not two that play for each other's loss"
    if facts.simultaneous:
        return "its seats choose at the same time"
    if facts.hidden:
        return "it hides something from its seats"
    if facts.chance:
        return "chance decides what follows a move"
    if len(spec.heads) != 1:
        return f"a choice has {len(spec.heads)} heads"
    return ""


def refuse_search(spec: Spec) -> None:
    """Refuse a game whose moves cannot be searched."""
    if reason := reason_against_search(spec):
        raise GameError(
            f"{spec.name} cannot be searched: {reason}; play the policy without search."
        )


@runtime_checkable
class PlaysOut(Protocol):
    """A game that plays random matches quicker than by its views."""

    def play_out(self, state: Any, stream: Stream) -> float:
        """Return what seat 0 gets when both play uniformly random moves; `state` stays."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class OpenPosition:
    """A position, and who is to move there; or an end."""

    game: PythonGame
    state: Any
    turn: int
    seat: int
    """Who is to move; at an end, who moved last."""
    view: View | None
    """What that seat sees and may choose; None: the match is over."""
    value: float = 0.0
    """What seat 0 got in a match that is over; seat 1 got as much less than nothing."""

    def after(self, move: int) -> OpenPosition:
        """Return the position after a legal move; this one stays as it is."""
        game = self.game
        state = game.copy(self.state)
        step = read_step(game.spec, game.apply(state, {self.seat: move}, _NO_CHANCE))
        if step.returns is not None:
            return OpenPosition(game, state, self.turn + 1, self.seat, None, float(step.returns[0]))
        if step.rewards is not None and any(step.rewards):
            raise GameError(
                f"{game.spec.name} cannot be searched: it pays before a match is over; play the "
                "policy without search."
            )
        if step.cut_off or self.turn + 1 >= game.spec.facts.longest:
            return OpenPosition(game, state, self.turn + 1, self.seat, None)
        return open_position(game, state, self.turn + 1)

    def play_out(self, stream: Stream) -> float:
        """Return what seat 0 gets when both play uniformly random moves from here to the end."""
        if isinstance(self.game, PlaysOut):
            return self.game.play_out(self.state, stream)
        position = self
        while position.view is not None:
            position = position.after(stream.choice(position.view.legal))
        return position.value


_NO_CHANCE = Stream(0)
"""For hooks that are given a stream and, in a game without chance, do not draw from it."""


def open_position(game: PythonGame, state: Any, turn: int) -> OpenPosition:
    """Return a position that goes on, with what whoever is to move sees there."""
    for seat in range(game.spec.seats):
        view = game.view(state, seat)
        if view is not None:
            return OpenPosition(game, state, turn, seat, view)
    raise GameError(
        f"{game.spec.name} waits for nobody at turn {turn} and is not over; `view` must give some "
        "seat a choice."
    )
