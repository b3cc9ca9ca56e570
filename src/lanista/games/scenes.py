"""What somebody who looks on is shown of a position: plain values that a page or a terminal draws.

Owns what a game may say of its board (`Board`), and what is shown of a game that says nothing.
What a seat hides is in a scene only where that seat is among the eyes. Knows no rules and nothing
of how a scene is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.bots import legal_choices
from lanista.games.contract import Field, Game, GameError, Head, Spec

Eyes = frozenset[int]
"""The seats whose private knowledge is shown; all seats: everything; none: what all see."""
Scene = dict[str, Any]
"""Plain values, fit for JSON; `kind` names what draws it."""
Facts = list[tuple[str, str]]
"""What a seat saw, in words: names and values."""
MOST_NUMBERS = 12
"""Numbers of a field that are written out."""


@dataclass(frozen=True)
class Board:
    """How a game shows itself; whatever it leaves out is shown as for any game."""

    scene: Callable[[Game, int, Eyes], Scene]
    """From a game, a slot and the eyes to the position there."""
    words: Callable[[Game, int, int, int, int], str] | None = None
    """From a game, slot, seat, head and choice to the choice in words; asked before the move."""
    targets: Callable[[Game, int, int, int], tuple[str, ...]] | None = None
    """From a game, slot, seat and choice of the first head to the parts of the scene that a person
    clicks for it."""
    seen: Callable[[Spec, NDArray[Any]], Facts] | None = None
    """From an observation to what the seat saw, in words."""
    open_moves: bool = False
    """Everybody sees a move once it is made, though something else is hidden."""
    live: bool = False
    """It goes on by the clock, so that a person plays it by holding keys."""


@dataclass(frozen=True)
class Choice:
    """One legal choice of one head, for a person."""

    choice: int
    words: str
    targets: tuple[str, ...] = ()


def everybody(spec: Spec) -> Eyes:
    """Return the eyes that see everything."""
    return frozenset(range(spec.seats))


def game_name(spec: Spec) -> str:
    """Return the name by which the registry knows a game that was made."""
    return spec.game_path or spec.name


def board_of(spec: Spec) -> Board:
    """Return how a game shows itself."""
    return registry.entry(game_name(spec)).board or Board(text_scene)


def text_scene(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return a game's drawing as text; of one that hides something only where all is shown."""
    spec = game.spec
    if spec.facts.hidden and eyes != everybody(spec):
        return {"kind": "text", "text": "", "hidden": True}
    try:
        return {"kind": "text", "text": game.draw(slot), "hidden": False}
    except GameError as problem:
        return {"kind": "text", "text": str(problem), "hidden": False}


def choice_words(board: Board, game: Game, slot: int, seat: int, head: int, choice: int) -> str:
    """Return a choice in words."""
    if board.words is not None:
        return board.words(game, slot, seat, head, choice)
    return label(game.spec.heads[head], choice)


def label(head: Head, choice: int) -> str:
    """Return what a head calls a choice: its label, or its number."""
    return head.labels[choice] if head.labels else str(choice)


def action_words(
    board: Board, game: Game, slot: int, seat: int, mask: NDArray[Any], action: Sequence[int]
) -> str:
    """Return an action in words, less the heads that had one choice alone."""
    heads, legal = game.spec.heads, legal_choices(game.spec, mask)
    if len(heads) == 1:
        return choice_words(board, game, slot, seat, 0, int(action[0]))
    open_heads = [at for at in heads_that_count(game.spec, action) if len(legal[at]) > 1]
    words = [choice_words(board, game, slot, seat, at, int(action[at])) for at in open_heads]
    if board.words is None:
        words = [f"{heads[at].name} {word}" for at, word in zip(open_heads, words, strict=True)]
    return ", ".join(words) or "no choice"


def heads_that_count(spec: Spec, action: Sequence[int]) -> list[int]:
    """Return the heads of an action that change something: no aim of a shot that is not fired."""
    idle = {head for head, other, choice in spec.conditions() if int(action[other]) != choice}
    return [head for head in range(len(spec.heads)) if head not in idle]


def legal_words(
    board: Board, game: Game, slot: int, seat: int, mask: NDArray[Any]
) -> list[list[Choice]]:
    """Return for each head its legal choices, for a person to choose from."""
    return [
        _head_choices(board, game, slot, seat, head, allowed)
        for head, allowed in enumerate(legal_choices(game.spec, mask))
    ]


def _head_choices(
    board: Board, game: Game, slot: int, seat: int, head: int, allowed: list[int]
) -> list[Choice]:
    if len(allowed) == 1 and len(game.spec.heads) > 1:
        return [Choice(allowed[0], "no choice")]  # A head that is not asked has no words here.
    aims = board.targets if head == 0 else None
    return [
        Choice(
            number,
            choice_words(board, game, slot, seat, head, number),
            aims(game, slot, seat, number) if aims else (),
        )
        for number in allowed
    ]


def seen_words(board: Board, spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return what a seat saw, in words."""
    if board.seen is not None:
        return board.seen(spec, observation)
    return field_words(spec, observation)


def field_words(spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return the fields of an observation with their numbers; long ones are summed up."""
    facts, start = [], 0
    for entry in spec.observation.fields:
        values = np.asarray(observation[start : start + entry.size])
        facts.append((entry.name, _field_value(entry, values)))
        start += entry.size
    return facts


def _field_value(entry: Field, values: NDArray[Any]) -> str:
    present = np.flatnonzero(values)
    if not len(present):
        return "none" if entry.size > 1 else "0"
    if entry.size <= MOST_NUMBERS:
        return ", ".join(f"{value:g}" for value in values.tolist())
    if set(np.unique(values).tolist()) <= {0, 1}:
        places = ", ".join(str(place) for place in present[:MOST_NUMBERS].tolist())
        more = "" if len(present) <= MOST_NUMBERS else f" and {len(present) - MOST_NUMBERS} more"
        return f"set: {places}{more}"
    return f"{len(present)} of {entry.size} numbers are not 0"
