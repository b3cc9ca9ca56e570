"""Reads what a caller hands to a game: sizes, slots, match ids, options, rows, actions.

One reading for all games, so that what one refuses no other takes. Knows no rules and no slots'
contents.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError, Ints, Option, Options, Spec

Numbers = NDArray[np.int64]

MOST_SLOTS = 1 << 24
DEAL = Option("deal", -1, 0, 2**63 - 1)
"""The option of every game; the match id unless given."""


def read_size(slots: Any, seed: Any) -> tuple[int, int]:
    """Return the number of slots and the seed of a new game as plain numbers."""
    try:
        slots, seed = operator.index(slots), operator.index(seed)
    except TypeError as error:
        raise GameError(f"slots is {slots!r} and seed {seed!r}; give whole numbers.") from error
    if not 0 < slots <= MOST_SLOTS:
        raise GameError(f"slots is {slots}; give a number from 1 to {MOST_SLOTS}.")
    return slots, read_seed(seed)


def read_seed(seed: Any) -> int:
    """Return a seed as a plain number."""
    try:
        number = operator.index(seed)
    except TypeError as error:
        raise GameError(f"seed is {seed!r}; give a whole number.") from error
    if not 0 <= number < 2**63:
        raise GameError(f"seed is {number}; give a number from 0 to 2**63 - 1.")
    return number


def whole_numbers(name: str, values: Any) -> Numbers:
    """Return `values` as a flat int64 array; refuse fractions and flags."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise GameError(f"{name} are {array.dtype}; give whole numbers below 2**63.")
    # Unsigned numbers from 2**63 on turn negative here, which every caller refuses.
    return np.ascontiguousarray(array, dtype=np.int64).reshape(-1)


def read_slots(slots: Any, count: int) -> Numbers:
    """Return slots, each of which a game of `count` slots has."""
    chosen = whole_numbers("slots", slots)
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= count):
        wrong = chosen[(chosen < 0) | (chosen >= count)][0]
        raise GameError(f"Slot {wrong} is not in 0 to {count - 1}.")
    return chosen


def read_match_ids(match_ids: Any, slots: int) -> Numbers:
    """Return one match id for each of so many slots."""
    ids = whole_numbers("match ids", match_ids)
    if len(ids) != slots or (len(ids) and ids.min() < 0):
        raise GameError(
            f"{slots} slots were started with {len(ids)} match ids; "
            "give one id of at least 0 to each slot."
        )
    return ids


def read_options(spec: Spec, ids: Numbers, options: Options | None) -> Numbers:
    """Return the options of the matches `ids`, `[matches, 1 + options]`, `deal` first."""
    declared, values = (DEAL, *spec.options), options or {}
    unknown = set(values) - {option.name for option in declared}
    if unknown:
        raise GameError(f"{spec.name} has no match option {min(unknown)!r}.")
    table = np.empty((len(ids), len(declared)), np.int64)
    for column, option in enumerate(declared):
        table[:, column] = _option_values(option, ids, values)
    return table


def _option_values(option: Option, ids: Numbers, given_values: Mapping[str, Any]) -> Numbers | int:
    if given_values.get(option.name) is None:
        return ids if option is DEAL else option.default
    values = whole_numbers(f"match option {option.name}", given_values[option.name])
    if len(values) not in (1, len(ids)):
        raise GameError(
            f"Match option {option.name} has {len(values)} values for {len(ids)} matches; "
            "give one, or one for each."
        )
    if len(values) and not option.low <= values.min() <= values.max() <= option.high:
        raise GameError(f"Match option {option.name} must lie in {option.low} to {option.high}.")
    return values


def read_actions(actions: Any, rows: int, heads: int) -> Ints:
    """Return the answers to so many rows, `[rows, heads]`."""
    answers = np.asarray(actions)
    if (answers.dtype.kind not in "iu" and answers.size) or answers.size != rows * heads:
        raise GameError(
            f"{rows} decisions with {heads} heads were answered with {answers.dtype} "
            f"{list(answers.shape)}; give whole numbers, one per decision and head."
        )
    if answers.dtype != np.int32:
        # Numbers too large for int32 must stay illegal, not wrap round to a legal choice.
        answers = np.clip(answers, -1, 2**31 - 1)
    return np.ascontiguousarray(answers.reshape(rows, heads), dtype=np.int32)
