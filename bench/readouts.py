"""What it costs a transformer to read choices from their tokens and not by number.

In a layout of the shape of doubles: Showdown's observation and eight tokens for moves, 90 previews
and pairs of 45 orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bench.timing import per_cpu_second
from lanista.games.contract import Facts, Field, Group, Head, Observation, References, Role, Spec
from lanista.games.showdown.actions.orders import PASS, PREVIEWS, SLOT_ORDERS, SWITCH, TERA
from lanista.games.showdown.observation.fields import MOVES, PARTY, layout
from lanista.nets.policy import Policy, parameter_count
from lanista.nets.settings import Network, Size

SIZES: tuple[Size, ...] = ("s", "m")
READOUTS: tuple[Literal["pointer"] | None, ...] = (None, "pointer")
_CLASSES = (900, 20, 5, 0, 0, 0, 0, 0, 0)
"""Of a move token's fields: which move, its type and category, and numbers."""
_OWN, _FOES = (1, 0), (2, 3)
"""The tokens of group `place` that the simulator's targets -2, -1 and 1, 2 name."""


def readouts() -> Iterator[dict[str, Any]]:
    """Yield, by readout, decisions per CPU second played and learned from."""
    torch.set_num_threads(1)
    spec = doubles()
    for size in SIZES:
        for rows in (1, 1024):
            for readout in READOUTS:
                torch.manual_seed(0)
                policy = Policy(spec, Network("transformer", size, readout=readout))
                observation, mask = _positions(spec, rows)
                playing = _repeated(lambda p=policy, o=observation, m=mask: _played(p, o, m), rows)
                learning = _repeated(lambda p=policy, o=observation, m=mask: _step(p, o, m), rows)
                yield {
                    "measure": "readouts", "network": f"transformer {size}", "rows": rows,
                    "readout": readout or "by number", "parameters": parameter_count(policy),
                    "played": per_cpu_second(playing).fields(),
                    "learned": per_cpu_second(learning).fields(),
                }  # fmt: skip


def doubles() -> Spec:
    """Return a game of that shape."""
    moves = tuple(
        Field(f"move.{at}", 2 * MOVES, classes, 1.0, "move") for at, classes in enumerate(_CLASSES)
    )
    groups = (
        Group("mon", (0,) * PARTY + (1,) * PARTY),
        Group("move", (0,) * MOVES + (1,) * MOVES),
    )
    observation = Observation((*layout(2).fields, *moves), "int16", groups)
    brought = [tuple(preview[at] - 1 for preview in PREVIEWS) for at in range(4)]
    names = ("lead", "lead", "back", "back")
    roles = tuple(Role(name, "mon", at) for name, at in zip(names, brought, strict=True))
    preview = References(roles, ("preview",) * len(PREVIEWS))
    heads = (
        Head("preview", len(PREVIEWS), references=(preview,)),
        Head(
            "turn", SLOT_ORDERS**2, parts=(SLOT_ORDERS, SLOT_ORDERS),
            references=(_orders(0), _orders(1)),
        ),
    )  # fmt: skip
    return Spec("doubles", Facts(2, 100), observation, heads)


def _orders(slot: int) -> References:
    """Return what a slot's orders are about, as actions/orders.py numbers them."""
    places = (*_OWN, -1, *_FOES)
    orders = range(SLOT_ORDERS)
    kinds = [
        "pass" if at == PASS else "switch" if at >= SWITCH else "tera" if at >= TERA else "move"
        for at in orders
    ]
    return References(
        (
            Role("actor", "place", (slot,) * SLOT_ORDERS),
            Role("move", "move", tuple(
                MOVES * slot + at % TERA // 5 if at < SWITCH else -1 for at in orders
            )),
            Role("target", "place", tuple(
                places[at % 5] if at < SWITCH else -1 for at in orders
            )),
            Role("switch", "mon", tuple(
                at - SWITCH + 2 if SWITCH <= at < PASS else -1 for at in orders
            )),
        ),
        tuple(kinds),
    )  # fmt: skip


def _positions(spec: Spec, rows: int) -> tuple[Tensor, Tensor]:
    """Return made-up views, and masks that allow about a hundred choices."""
    drawn = np.random.default_rng(1)
    columns = [
        drawn.integers(0, field.classes or 3, (rows, field.size))
        for field in spec.observation.fields
    ]
    mask = drawn.random((rows, spec.choices)) < 0.05
    mask[:, [0, spec.heads[0].size]] = True
    return torch.from_numpy(np.concatenate(columns, 1).astype(np.int16)), torch.from_numpy(mask)


def _repeated(work: Callable[[], None], rows: int) -> Callable[[], int]:
    """Return work of about a second, warm; it returns how many decisions it did."""
    times = max(3, 600 // rows)
    work()

    def whole() -> int:
        for _ in range(times):
            work()
        return times * rows

    return whole


@torch.no_grad()
def _played(policy: Policy, observation: Tensor, mask: Tensor) -> None:
    policy.heads.log_probs(policy(observation), mask)


def _step(policy: Policy, observation: Tensor, mask: Tensor) -> None:
    policy.zero_grad()
    policy.heads.log_probs(policy(observation), mask)[mask].mean().backward()
