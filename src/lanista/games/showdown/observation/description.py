"""What a seat sees and chooses in a format, as the contract describes it.

Puts the observation, the heads and the mask together. Knows nothing of matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Abilities, Facts, Head, Observation, Spec
from lanista.games.showdown.actions.orders import (
    PREVIEWS,
    SLOT_ORDERS,
    Orders,
    Singles,
    legal_previews,
    orders_of,
    preview_text,
    slot_text,
)
from lanista.games.showdown.actions.references import preview_references, turn_references
from lanista.games.showdown.formats import Format
from lanista.games.showdown.observation import token_fields
from lanista.games.showdown.observation.fields import layout
from lanista.games.showdown.observation.privileged import privileged_of
from lanista.games.showdown.sim.views import SEATS, Request

NAME = "showdown"
LONGEST = 4000
"""The simulator calls a tie in its turn 1,000; one of its turns may ask several times."""
OBSERVATIONS = (1, token_fields.VERSION)
"""The versions of the observation that a game can be made with."""
UNASKED = 0
"""The one choice of a head that is not asked."""


def previews_of(format: Format) -> int:
    """Return the size of the head `preview`; 0 where a format has no such choice."""
    return len(PREVIEWS) if format.brings_team else 0


def describe(
    format: Format, mode: str, team_pool_path: str, version: str, observation: int = 1
) -> Spec:
    """Return the game's spec; how many workers there are changes no match and is left out."""
    settings: dict[str, Any] = {
        "format": format.name,
        "team_pool_path": team_pool_path,
        "mode": mode,
    }
    if observation != 1:
        settings |= {"observation": observation}
    return Spec(
        name=NAME,
        facts=Facts(
            SEATS,
            LONGEST,
            observation_version=observation,
            hidden=True,
            chance=True,
            zero_sum=True,
            simultaneous=True,
            symmetric=True,
        ),
        observation=observation_of(format, observation),
        heads=_heads(format, observation),
        abilities=Abilities(simulator="pokemon-showdown", simulator_version=version),
        settings=settings,
        free_settings=("format", "team_pool_path", "mode"),
        privileged=privileged_of(format) if observation == token_fields.VERSION else None,
    )


def observation_of(format: Format, version: int = 1) -> Observation:
    """Return the layout of a format's observations."""
    places = 2 if format.doubles else 1
    if version == token_fields.VERSION:
        return token_fields.token_layout(places)
    return layout(places)


def _heads(format: Format, observation: int) -> tuple[Head, ...]:
    factors = (SLOT_ORDERS, SLOT_ORDERS) if format.doubles else ()
    points = observation == token_fields.VERSION
    turn = Head(
        "turn",
        orders_of(format).size,
        _order_labels(format.doubles),
        factors,
        references=turn_references(format.doubles) if points else (),
    )
    previews = previews_of(format)
    if not previews:
        return (turn,)
    labels = tuple(map(preview_text, range(previews)))
    references = preview_references() if points else ()
    return Head("preview", previews, labels, references=references), turn


@cache
def _order_labels(doubles: bool) -> tuple[str, ...]:
    """Return each turn order in the simulator's words; one that revives is called a move here."""
    if not doubles:
        singles = Singles()
        return tuple(singles.text({}, order) for order in range(singles.size))
    texts = [slot_text(order) for order in range(SLOT_ORDERS)]
    return tuple(f"{first}, {second}" for first in texts for second in texts)


def write_mask(request: Request, orders: Orders, previews: int, out: NDArray[np.bool_]) -> None:
    """Write what a request allows: `previews` choices of the team preview, then the orders.

    The head that is not asked has choice 0 alone.
    """
    out[:] = False
    if request.get("teamPreview"):
        out[:previews] = legal_previews(request)
        out[previews + UNASKED] = True
        return
    if previews:
        out[UNASKED] = True
    out[previews:] = orders.legal(request)


def whole_action(heads: Sequence[Head], request: Request, choice: int) -> list[int]:
    """Return an action whose asked head has `choice` and whose other head its only one."""
    asked_head = 0 if request.get("teamPreview") else len(heads) - 1
    return [choice if at == asked_head else UNASKED for at in range(len(heads))]


def wrong_head(heads: Sequence[Head], mask: NDArray[np.bool_], action: Sequence[int]) -> int:
    """Return the first head whose choice a mask does not allow, or -1."""
    first = 0
    for at, (head, choice) in enumerate(zip(heads, action, strict=True)):
        if not 0 <= choice < head.size or not mask[first + choice]:
            return at
        first += head.size
    return -1
