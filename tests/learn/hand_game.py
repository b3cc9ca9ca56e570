"""Two seats with a hand each lay one card at the same time: the stronger species wins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.demonstration_builder import Gathering
from lanista.data.demonstrations import Demonstrations
from lanista.data.records import PlayerInfo
from lanista.games import Facts, Field, Group, Head, PythonGame, References, Role, View
from lanista.nets.settings import Network

CARDS, SPECIES = 4, 12
ORDER = np.random.default_rng(5).permutation(SPECIES)
"""The strength of each species, which nothing in an observation says."""
POINTING = Network("transformer", width=16, layers=1, readout="pointer")
BY_NUMBER = Network("transformer", width=16, layers=1)
TEACHER = PlayerInfo("teacher", "t" * 64)


class HandGame(PythonGame):
    """Entries of the hand are interchangeable, and each choice is about one of them."""

    name = "hand"
    facts = Facts(seats=2, longest=1, zero_sum=True, simultaneous=True, hidden=True, chance=True)
    observation = (Field("species", CARDS, classes=SPECIES, group="hand"),)
    groups = (Group("hand", (0,) * CARDS),)
    moves = (
        Head("lay", CARDS, references=(References((Role("card", "hand", (0, 1, 2, 3)),)),)),
    )  # fmt: skip
    dtype = "uint8"

    def deal(self, rng: Any) -> list[list[int]]:
        return [[rng.below(SPECIES) for _ in range(CARDS)] for _ in range(2)]

    def view(self, state: list[list[int]], seat: int) -> View | None:
        return View(state[seat], tuple(range(CARDS)))

    def apply(self, state: Any, moves: dict[int, Any], rng: Any) -> list[float]:
        mine, theirs = (ORDER[state[seat][moves[seat]]] for seat in range(2))
        gain = float(np.sign(mine - theirs))
        return [gain, -gain]

    def resample(self, state: list[list[int]], seat: int, rng: Any) -> None:
        state[1 - seat] = [rng.below(SPECIES) for _ in range(CARDS)]


def hands(rows: int, best_at: tuple[int, ...], seed: int) -> NDArray[np.uint8]:
    """Return hands of different species whose strongest lies at one of `best_at`."""
    drawn = np.random.default_rng(seed)
    cards = np.stack([drawn.permutation(SPECIES)[:CARDS] for _ in range(rows)])
    best = ORDER[cards].argmax(1)
    wanted = drawn.choice(best_at, rows)
    at = np.arange(rows)
    cards[at, best], cards[at, wanted] = cards[at, wanted], cards[at, best]
    return cards.astype(np.uint8)


def demonstrated(cards: NDArray[np.uint8]) -> Demonstrations:
    """Return what a teacher who lays the strongest does with such hands, a match each."""
    rows = len(cards)
    gathering = Gathering(HandGame().spec)
    gathering.add(
        observation=cards,
        mask=np.ones((rows, CARDS), np.bool_),
        action=ORDER[cards].argmax(1)[:, None],
        turn=np.zeros(rows, np.int64),
        reward=np.ones(rows),
        match=np.arange(rows),
        seat=np.zeros(rows, np.int32),
        outcome=np.full(rows, 2),
        group=np.arange(rows, dtype=np.uint64),
        teacher=[TEACHER] * rows,
    )
    return gathering.done()
