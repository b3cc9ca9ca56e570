"""The privileged view: a seat's own observation, and the other seat's team as that seat sees it.

For critics in training. The other side's tokens are its own party in full and the moves it may
choose from, written by the same writer from the other seat's tracker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError, Group, Observation, Spec
from lanista.games.showdown.formats import Format
from lanista.games.showdown.observation.token_encoding import token_writer_of
from lanista.games.showdown.observation.token_fields import (
    MOVE_GROUP,
    OWN_GROUP,
    token_layout,
)

if TYPE_CHECKING:
    from lanista.games.showdown.protocol.tracker import Tracker

OTHER = {OWN_GROUP: "other", MOVE_GROUP: "other_move"}
"""What the groups of the other seat's own tokens are called."""


def privileged_of(format: Format) -> Observation:
    """Return the layout of a format's privileged views."""
    return _layout(2 if format.doubles else 1)


@cache
def _layout(places: int) -> Observation:
    seen = token_layout(places)
    beside = [
        replace(
            field,
            name=f"{OTHER[field.group]}.{field.name.partition('.')[2]}",
            group=OTHER[field.group],
        )
        for field in seen.fields
        if field.group in OTHER
    ]
    kind = next(field for field in seen.fields if field.name == "request")
    beside.append(replace(kind, name="other_request"))
    groups = [
        Group(OTHER[group.name], group.places) for group in seen.groups if group.name in OTHER
    ]
    return Observation((*seen.fields, *beside), seen.dtype, (*seen.groups, *groups))


def privileged_views(
    spec: Spec, observations: NDArray[Any], rows: Sequence[tuple[int, int, Tracker]]
) -> NDArray[Any]:
    """Return the view of each row: its slot, its seat, and what the other seat knows.

    `observations` are what seats see, `[slots, seats, length]`.
    """
    if spec.privileged is None:
        raise GameError(f"{spec.name} has no privileged view with observation 1; set it to 2.")
    views = np.zeros((len(rows), spec.privileged.length), spec.privileged.dtype)
    seen = spec.observation.length
    for view, (slot, seat, other) in zip(views, rows, strict=True):
        view[:seen] = observations[slot, seat]
        _write_other_side(other, view[seen:])
    return views


def _write_other_side(tracker: Tracker, out_row: NDArray[Any]) -> None:
    """Write the other seat's own party, moves and request."""
    places = len(tracker.battle.sides[0].places)
    token_writer_of(places).write_own(tracker.battle, tracker.own, out_row[:-1])
    out_row[-1] = tracker.own.kind
