"""Reads what a position is described by: cards of a deal, and moves by number or by name.

One reading for all games that can be started from a given position. Knows no rules.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanista.errors import nearest
from lanista.games.contract import GameError, Spec


def read_cards(label: str, cards: Any, names: Sequence[str], most: int) -> list[int]:
    """Return up to `most` different cards as numbers; each is given as a number or a name."""
    if isinstance(cards, str) or not isinstance(cards, Sequence):
        raise GameError(f"{label} are {cards!r}; give a list of cards.")
    numbers = [_number(label, card, names) for card in cards]
    if len(numbers) > most or len(set(numbers)) != len(numbers):
        raise GameError(f"{label} are {list(cards)}; give up to {most} different cards.")
    return numbers


def read_move(spec: Spec, move: Any) -> list[int]:
    """Return a move as a choice for each head; one head's choice may be given by its label."""
    if isinstance(move, str):
        labels = spec.heads[0].labels
        if len(spec.heads) != 1 or move not in labels:
            raise GameError(f"{spec.name} has no move {move!r}; {nearest(move, labels)}")
        return [labels.index(move)]
    try:
        choices = [operator.index(choice) for choice in np.atleast_1d(move)]
    except (TypeError, ValueError):
        choices = []
    if len(choices) != len(spec.heads):
        raise GameError(
            f"A move of {spec.name} is {move!r}; give a choice for each of {len(spec.heads)} heads."
        )
    return choices


def _number(label: str, card: Any, names: Sequence[str]) -> int:
    if isinstance(card, str):
        if card not in names:
            raise GameError(f"{label} name {card!r}; {nearest(card, names)}")
        return list(names).index(card)
    if type(card) is not int or not 0 <= card < len(names):
        raise GameError(f"{label} name {card!r}; give a number from 0 to {len(names) - 1}.")
    return card
