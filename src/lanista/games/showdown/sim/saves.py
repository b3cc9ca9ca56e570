"""Matches put away as arrays: each is its deal and the answers given so far.

Says what a save holds and whether arrays can be one. Taking matches up is the game's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError, Saved, Spec
from lanista.games.saving import marked, refuse_foreign
from lanista.games.showdown.sim.match import Match
from lanista.games.showdown.sim.views import SEATS

ANSWER = 3
"""An answer in a history: turn, seat, choice."""


def put_away(spec: Spec, seed: int, matches: Sequence[Match], cut_off: NDArray[np.bool_]) -> Saved:
    """Return matches as arrays."""
    if any(match.redrawn for match in matches):
        raise GameError(f"A match of {spec.name} with redrawn teams cannot be saved.")
    open_answers = np.full((len(matches), SEATS), -1, np.int32)
    for row, match in enumerate(matches):
        for seat, choice in match.answers.items():
            open_answers[row, seat] = choice
    answers = [answer for match in matches for answer in match.history]
    return {
        "match_ids": np.array([match.id for match in matches], np.int64),
        "deals": np.array([match.deal for match in matches], np.int64),
        "turns": np.array([match.turn for match in matches], np.int64),
        "lengths": np.array([len(match.history) for match in matches], np.int64),
        "history": np.array(answers, np.int32).reshape(-1, ANSWER),
        "answers": open_answers,
        "cut_off": cut_off.copy(),
        "origin": marked(spec, seed, len(matches)),
    }


def histories(saved: Saved) -> list[NDArray[np.int32]]:
    """Return each match's answers, `[answers, 3]`."""
    return np.split(saved["history"], np.cumsum(saved["lengths"])[:-1])


def refuse_unfit(spec: Spec, seed: int, saved: Saved, matches: int) -> None:
    """Refuse arrays that are not so many matches of this very game."""
    layout: dict[str, tuple[tuple[int, ...], Any]] = {
        **dict.fromkeys(("match_ids", "deals", "turns", "lengths"), ((), np.int64)),
        "answers": ((SEATS,), np.int32),
        "cut_off": ((), np.bool_),
    }
    if set(saved) != {*layout, "history", "origin"}:
        raise foreign(spec)
    refuse_foreign(spec, seed, saved, layout, matches)
    history, lengths = saved["history"], saved["lengths"]
    fits = history.ndim == 2 and history.shape[1:] == (ANSWER,) and history.dtype == np.int32
    if not fits or (lengths < 0).any() or lengths.sum() != len(history):
        raise foreign(spec)
    low = (saved["match_ids"], saved["deals"], saved["turns"], history)
    if any((array < 0).any() for array in low) or (saved["turns"] > spec.facts.longest).any():
        raise foreign(spec)


def foreign(spec: Spec) -> GameError:
    """Return the error of arrays that are no saved matches of this game."""
    return GameError(f"These are not saved matches of {spec.name} for these slots.")
