"""Unrolls drawn at random, with every column that a learner may read, for a game with rules to fit.

Nothing in them agrees by chance: the values and chances of the weights that acted are not those of
any network, rewards come after every decision, seats move twice in a row, rows lie in no order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.trajectory import Unrolls
from lanista.games import Facts, Field, Head, PythonGame
from lanista.games.contract import Spec

KINDS = 9
"""How many different positions there are, so that learners look at equal ones once."""


class OneHead(PythonGame):
    """A description only: nobody plays it."""

    name = "made-up"
    facts = Facts(seats=2, longest=9, zero_sum=True)
    observation = 4
    moves = 4
    privileged_fields = (Field("all", 6),)


class TwoHeads(OneHead):
    """The same with actions of two parts."""

    name = "made-up-pairs"
    moves = (Head("what", 3), Head("where", 2))


def unrolls_for(
    spec: Spec,
    seed: int,
    *,
    matches: int = 14,
    length: int = 3,
    whole: bool = False,
    privileged: bool = False,
    state: int = 0,
    update: int = 0,
) -> Unrolls:
    """Return unrolls of at most `length`; unless `whole`, some matches go on after them."""
    rng = np.random.Generator(np.random.PCG64(seed))
    assert spec.privileged is not None
    rows, lanes = _played(rng, matches, length, whole)
    count = len(rows)
    place = rng.permutation(count)
    views = _positions(rng, spec, count)
    after = _positions(rng, spec, len(lanes))
    behaviour = _log_probs(spec, rng.normal(size=(count, spec.choices)), views["mask"])
    action = _actions(rng, spec, views["mask"])
    index = np.full((max(map(len, lanes)), len(lanes)), -1, np.int32)
    for lane, steps in enumerate(lanes):
        index[: len(steps), lane] = place[steps]
    order = np.argsort(place)
    last = [rows[steps[-1]] for steps in lanes]
    columns = [np.array([row[n] for row in rows])[order] for n in range(4)]
    return Unrolls(
        observation=views["observation"],
        mask=views["mask"],
        action=action,
        log_prob=_joint(spec, behaviour, action),
        log_probs=behaviour.astype(np.float32),
        reward=rng.normal(size=count).astype(np.float32),
        match=columns[0].astype(np.int64),
        seat=columns[1].astype(np.int32),
        turn=columns[2].astype(np.int32),
        ended=columns[3].astype(np.bool_),
        update=(update - rng.integers(0, 3, count)).astype(np.int32),
        index=index,
        goes_on=np.array([not row[3] for row in last]),
        value=rng.normal(size=count).astype(np.float32),
        privileged=views["privileged"] if privileged else None,
        next_observation=after["observation"],
        next_mask=after["mask"],
        next_privileged=after["privileged"] if privileged else None,
        next_value=rng.normal(size=len(lanes)).astype(np.float32),
        state=rng.normal(size=(len(lanes), state)).astype(np.float32) if state else None,
    )


def _played(
    rng: np.random.Generator, matches: int, length: int, whole: bool
) -> tuple[list[tuple[int, int, int, bool]], list[list[int]]]:
    """Return rows of (match, seat, turn, ended), and which of them each unroll has."""
    rows: list[tuple[int, int, int, bool]] = []
    lanes: list[list[int]] = []
    for match in range(matches):
        seats = [0, 1, *rng.integers(0, 2, rng.integers(1, 6)).tolist()]
        over = whole or match % 3 > 0
        for seat in (0, 1):
            own = [turn for turn, mover in enumerate(seats) if mover == seat]
            first = len(rows)
            rows += [(40 + match, seat, turn, over and turn == own[-1]) for turn in own]
            numbers = list(range(first, len(rows)))
            lanes += [numbers[at : at + length] for at in range(0, len(numbers), length)]
    return rows, lanes


def _positions(rng: np.random.Generator, spec: Spec, count: int) -> dict[str, NDArray[Any]]:
    assert spec.privileged is not None
    seen = rng.normal(size=(KINDS, spec.observation.length)).astype(np.float32)
    allowed = rng.random((KINDS, spec.choices)) < 0.6
    start = 0
    for head in spec.heads:
        allowed[np.arange(KINDS), start + rng.integers(0, head.size, KINDS)] = True
        start += head.size
    kind = rng.integers(0, KINDS, count)
    hidden = rng.normal(size=(KINDS, spec.privileged.length)).astype(np.float32)
    return {
        "observation": seen[kind],
        "mask": allowed[kind],
        "privileged": hidden[rng.integers(0, KINDS, count)],
    }


def _log_probs(spec: Spec, logits: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    weights = np.where(mask, np.exp(logits), 0.0)
    out, start = np.full(logits.shape, -1e9), 0
    for head in spec.heads:
        part = slice(start, start + head.size)
        share = weights[:, part] / weights[:, part].sum(1, keepdims=True)
        out[:, part] = np.where(mask[:, part], np.log(np.maximum(share, 1e-300)), -1e9)
        start += head.size
    return out


def _actions(rng: np.random.Generator, spec: Spec, mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    action, start = np.zeros((len(mask), len(spec.heads)), np.int32), 0
    for number, head in enumerate(spec.heads):
        part = mask[:, start : start + head.size]
        action[:, number] = np.where(part, rng.random(part.shape), -1.0).argmax(1)
        start += head.size
    return action


def _joint(
    spec: Spec, log_probs: NDArray[np.float64], action: NDArray[np.int32]
) -> NDArray[np.float32]:
    total, start = np.zeros(len(action)), 0
    for number, head in enumerate(spec.heads):
        total += log_probs[np.arange(len(action)), start + action[:, number]]
        start += head.size
    return total.astype(np.float32)
