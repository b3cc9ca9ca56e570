"""Says whether saved matches can be loaded: by this game, and without harm.

A save is plain arrays that may come from any file. Knows nothing of what a match's own bytes mean.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError, Saved, Spec

Layout = Mapping[str, tuple[tuple[int, ...], Any]]
"""The shape of one match's part in each array, and the array's dtype."""


def origin_of(spec: Spec, seed: int) -> int:
    """Return a number that names the game, its settings, its rules and its seed."""
    words = [spec.name, spec.facts.rules_version, sorted(spec.settings.items()), seed]
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:8], "little")


def marked(spec: Spec, seed: int, matches: int) -> NDArray[np.uint64]:
    """Return the array `origin` of a save."""
    return np.full(matches, origin_of(spec, seed), np.uint64)


def refuse_foreign(spec: Spec, seed: int, saved: Saved, layout: Layout, matches: int) -> None:
    """Refuse arrays that are not so many saved matches of this very game."""
    for name, (shape, dtype) in {**layout, "origin": ((), np.uint64)}.items():
        array = saved.get(name)
        if array is None or array.shape != (matches, *shape) or array.dtype != dtype:
            raise GameError(
                f"Saved matches of {spec.name} lack a fitting {name!r}; "
                "they come from another game, other settings or another version."
            )
    if (saved["origin"] != origin_of(spec, seed)).any():
        raise GameError(
            f"Saved matches are not of {spec.name} with these settings, rules version "
            f"and seed {seed}; load them into the game that saved them."
        )


def refuse_damaged(spec: Spec, saved: Saved) -> None:
    """Refuse book-keeping of compiled matches that no play can have left."""
    playing, waiting, answered = saved["playing"], saved["waiting"], saved["answered"]
    waiting_bits = waiting.astype(np.int64)
    open_now = waiting_bits & ~answered.astype(np.int64)
    wrong = (playing > 1) | (waiting_bits >> spec.seats != 0) | (answered & ~waiting != 0)
    wrong |= (playing == 1) & (open_now == 0)
    if not spec.facts.simultaneous:
        wrong |= (waiting_bits & (waiting_bits - 1)) != 0
    sizes = np.array([head.size for head in spec.heads])
    wrong |= ((saved["answers"] < 0) | (saved["answers"] >= sizes)).any((1, 2))
    if wrong.any():
        raise damaged(spec, int(np.flatnonzero(wrong)[0]))


def damaged(spec: Spec, number: int) -> GameError:
    """Return the error of a saved match that cannot be one."""
    return GameError(
        f"Saved match {number} of {spec.name} is damaged: it is in no state that play leads to; "
        "use an earlier save."
    )
