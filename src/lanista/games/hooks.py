"""What the hooks of a game in Python give, and whether it fits the game's description.

A hook is an author's code: what does not fit is refused with a sentence that names the game.
Knows nothing of slots or of how a match goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError, Spec


@dataclass(frozen=True)
class View:
    """What one seat sees, and what it may choose."""

    observation: Any
    """Numbers, as many as the game's observation has."""
    legal: Sequence[Any]
    """The legal moves; with several heads, a list of legal choices for each."""


@dataclass(frozen=True)
class Step:
    """What an `apply` with more to say than "over" returns."""

    rewards: Sequence[float] | None = None
    """What comes to each seat now."""
    out: Collection[int] = ()
    """Seats that have no more decisions in this match."""
    returns: Sequence[float] | None = None
    """Given: the match is over with these."""
    score: Sequence[float] | None = None
    """What a person reads off the board at the end; the returns, unless given."""
    cut_off: bool = False
    """The match was broken off and has no result."""


def read_step(spec: Spec, result: Any) -> Step:
    """Return what `apply` gave as a step whose numbers are one for each seat."""
    step = result if isinstance(result, Step) else Step(returns=result)
    for name in ("rewards", "returns", "score"):
        numbers = getattr(step, name)
        # A number too few would be spread over all seats without a word.
        if numbers is not None and np.shape(numbers) != (spec.seats,):
            raise GameError(
                f"{spec.name} gives {numbers!r} as {name}; give a number to each of "
                f"{spec.seats} seats."
            )
    return step


def write_observation(spec: Spec, view: View, row: NDArray[Any]) -> None:
    """Write what a seat sees, if the observation's dtype can hold it."""
    values = np.asarray(view.observation).reshape(-1)
    if values.size != row.size:
        raise GameError(f"{spec.name} shows {values.size} numbers instead of {row.size}.")
    row[:] = values
    if row.dtype.kind != "f" and (row != values).any():
        raise GameError(f"{spec.name} shows {values.tolist()}, which {row.dtype} changes.")


def write_mask(spec: Spec, view: View, mask: NDArray[np.bool_]) -> None:
    """Write the legal choices of all heads one after another."""
    legal = _by_head(spec, view)
    if len(legal) != len(spec.heads):
        raise GameError(f"{spec.name} offers choices for {len(legal)} of {len(spec.heads)} heads.")
    start = 0
    for head, choices in zip(spec.heads, legal, strict=True):
        if len(choices) == 0 or min(choices) < 0 or max(choices) >= head.size:
            raise GameError(
                f"{spec.name} offers {list(choices)} for head {head.name}; "
                f"it must offer at least one choice, each from 0 to {head.size - 1}."
            )
        mask[[start + choice for choice in choices]] = True
        start += head.size


def allows(spec: Spec, view: View, answer: Sequence[int]) -> bool:
    """Return whether an answer, a choice for each head, is legal."""
    legal = _by_head(spec, view)
    return all(choice in allowed for choice, allowed in zip(answer, legal, strict=True))


def _by_head(spec: Spec, view: View) -> Sequence[Any]:
    return [view.legal] if len(spec.heads) == 1 else view.legal
