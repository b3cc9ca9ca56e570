"""Observation version 2: the order of Pokémon and moves in a team's text has no meaning.

A battle is played from a team and again from the same team shuffled, with the same dice and the
same choices in their new numbers. The tokens come shuffled and otherwise equal, and a fresh network
that points gives every choice its probability under its new number.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from showdown_play import needs_simulator, setups

from lanista.games.contract import Spec
from lanista.games.showdown.actions.orders import (
    PASS,
    PREVIEWS,
    SLOT_ORDERS,
    SWITCH,
    TERA,
    orders_of,
    preview_text,
)
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe, previews_of, write_mask
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.battles import Battles, Setup
from lanista.games.showdown.sim.views import Request
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

pytestmark = needs_simulator
VGC = "gen9vgc2025regi"
FORMAT = format_named(VGC)
SPEC: Spec = describe(FORMAT, "mirror", "", "any", 2)
MOVES = 4  # The place of the moves in a packed set.
MOST_STATES = 8


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as worker:
        yield worker


@dataclass
class State:
    """What the first seat is asked, and what it sees."""

    request: Request
    row: NDArray[np.int16]
    mask: NDArray[np.bool_]

    @property
    def names(self) -> list[str]:
        return [mon["ident"] for mon in self.request["side"]["pokemon"]]

    def moves(self, place: int) -> list[str]:
        if "active" in self.request:
            return [move["id"] for move in self.request["active"][place]["moves"]]
        moves: list[str] = self.request["side"]["pokemon"][place]["moves"]
        return moves


class Played:
    """A battle whose first seat is told what to choose, and whose second takes the first choice."""

    def __init__(self, battles: Battles, setup: Setup) -> None:
        self.battles, self.setup = battles, setup
        self.tracker = Tracker(FORMAT, 0, None, 2)
        self.update = battles.start([setup])[0]
        self.state = self._look()

    def _look(self) -> State | None:
        view = self.update.views[0]
        self.tracker.hear(view.lines)
        if view.request is None:
            return None
        self.tracker.ask(view.request)
        row = np.zeros(SPEC.observation.length, np.int16)
        mask = np.zeros(SPEC.choices, np.bool_)
        if not view.waits:
            self.tracker.encode(row)
            write_mask(view.request, orders_of(FORMAT), previews_of(FORMAT), mask)
        return State(view.request, row, mask)

    def choose(self, choice: int | None) -> None:
        """Choose for the first seat by number; None where it waits."""
        choices = []
        for seat, view in enumerate(self.update.views):
            if view.waits or view.request is None:
                continue
            if seat == 0:
                assert choice is not None
                choices.append((self.setup.slot, 0, text_of(view.request, choice)))
            else:
                choices.append((self.setup.slot, 1, "default"))
        self.update = self.battles.choose(choices)[0]
        self.state = self._look()


def text_of(request: Request, choice: int) -> str:
    return (
        preview_text(choice)
        if request.get("teamPreview")
        else orders_of(FORMAT).text(request, choice)
    )


def shuffled(packed: str, seed: int) -> str:
    """Return a team with its Pokémon and the moves of each shuffled."""
    rng, sets = random.Random(seed), [one.split("|") for one in packed.split("]")]
    rng.shuffle(sets)
    for one in sets:
        moves = one[MOVES].split(",")
        rng.shuffle(moves)
        one[MOVES] = ",".join(moves)
    return "]".join("|".join(one) for one in sets)


def renumbered(one: State, other: State) -> NDArray[np.int64]:
    """Return for each choice of `one` asked now its number in `other`, both of the same battle."""
    at = {name: place for place, name in enumerate(other.names)}
    where = [at[name] for name in one.names]
    if one.request.get("teamPreview"):
        return np.array([_preview(where, chosen) for chosen in PREVIEWS])
    pairs = np.zeros((SLOT_ORDERS, SLOT_ORDERS), np.int64)
    orders = [[_order(one, other, where, place, o) for o in range(SLOT_ORDERS)] for place in (0, 1)]
    for first in range(SLOT_ORDERS):
        for second in range(SLOT_ORDERS):
            pair = [0, 0]
            pair[where[0]], pair[where[1]] = orders[0][first], orders[1][second]
            pairs[first, second] = SLOT_ORDERS * pair[0] + pair[1]
    return pairs.reshape(-1)


def _preview(where: list[int], chosen: tuple[int, ...]) -> int:
    places = [where[at - 1] + 1 for at in chosen]
    return PREVIEWS.index((*sorted(places[:2]), *sorted(places[2:])))


def _order(one: State, other: State, where: list[int], place: int, order: int) -> int:
    if order == PASS:
        return PASS
    if order >= SWITCH:
        at = order - SWITCH + 2
        return SWITCH + where[at] - 2 if at < len(where) else order
    tera, rest = divmod(order, TERA)
    move, target = rest // 5, rest % 5 - 2
    if target < 0:
        target = -1 - where[-target - 1]
    moves = one.moves(place)
    if move < len(moves):
        move = other.moves(where[place]).index(moves[move])
    return TERA * tera + 5 * move + target + 2


def shuffled_row(one: State, other: State) -> NDArray[np.int16]:
    """Return `one`'s observation with its tokens in `other`'s order."""
    at = {name: place for place, name in enumerate(one.names)}
    own = [at[name] for name in other.names]
    own += range(len(own), 6)
    moves = list(range(8))
    if not one.request.get("teamPreview"):
        for place in (0, 1):
            before = one.moves(own[place])
            for number, move in enumerate(other.moves(place)):
                moves[4 * place + number] = 4 * own[place] + before.index(move)
    orders = {"own": own, "foe": list(range(6)), "move": moves, "": [0]}
    parts, start = [], 0
    for field in SPEC.observation.fields:
        parts.append(one.row[start : start + field.size][orders[field.group]])
        start += field.size
    return np.concatenate(parts)


def probabilities(policy: Policy, state: State) -> NDArray[np.float64]:
    """Return the probabilities of the head that is asked."""
    with torch.no_grad():
        out = policy(torch.from_numpy(state.row)[None])
    logits = (out[0] if isinstance(out, tuple) else out)[0].double().numpy()
    previews = previews_of(FORMAT)
    asked = slice(0, previews) if state.request.get("teamPreview") else slice(previews, None)
    weights = np.where(state.mask[asked], np.exp(logits[asked] - logits[asked].max()), 0.0)
    return weights / weights.sum()


def lively(policy: Policy) -> Policy:
    """Return a network whose choices differ much, as a trained one's do."""
    with torch.no_grad():
        for name, weights in policy.named_parameters():
            if "head" in name:
                weights.mul_(3.0)
    return policy


def compare(policy: Policy, one: State, other: State) -> float:
    """Hold two states of one battle against each other; return how unlike its choices are."""
    np.testing.assert_array_equal(shuffled_row(one, other), other.row)
    asked = slice(0, 90) if one.request.get("teamPreview") else slice(90, None)
    numbers = renumbered(one, other)
    legal = one.mask[asked]
    np.testing.assert_array_equal(legal[legal], other.mask[asked][numbers[legal]])
    assert legal.sum() == other.mask[asked].sum()
    mine, theirs = probabilities(policy, one), probabilities(policy, other)
    np.testing.assert_allclose(theirs[numbers[legal]], mine[legal], atol=1e-4)
    return float(mine[legal].max() - mine[legal].min())


def drawn(one: State, other: State, rng: random.Random, *, crossed: bool) -> int:
    """Draw a legal choice; at the preview one whose leaders change places, or do not."""
    if not one.request.get("teamPreview"):
        return int(rng.choice(np.flatnonzero(one.mask[90:]).tolist()))
    where = [other.names.index(name) for name in one.names]
    fitting = [
        number
        for number, (first, second, *_) in enumerate(PREVIEWS)
        if (where[first - 1] > where[second - 1]) == crossed
    ]
    return rng.choice(fitting)


@pytest.mark.parametrize(("seed", "crossed"), [(1, True), (2, False), (3, False)])
def test_shuffling_a_team_shuffles_the_probabilities_and_nothing_else(
    battles: Battles, seed: int, crossed: bool
) -> None:
    torch.manual_seed(seed)
    network = Network("transformer", width=32, layers=2, readout="pointer")
    policy = lively(Policy(SPEC, network)).eval()
    setup = setups(battles, VGC, 4, seed=seed)[seed]
    assert setup.teams is not None
    other_team = shuffled(setup.teams[0], seed)
    one = Played(battles, setup)
    other = Played(battles, replace(setup, slot=100, teams=(other_team, setup.teams[1])))
    rng, spread = random.Random(seed), []
    # Dice fall by place: once leaders have changed places, a turn may end in another way.
    most = 2 if crossed else MOST_STATES
    while len(spread) < most and one.state is not None and other.state is not None:
        if one.update.views[0].waits:
            one.choose(None)
            other.choose(None)
            continue
        spread.append(compare(policy, one.state, other.state))
        choice = drawn(one.state, other.state, rng, crossed=crossed)
        number = int(renumbered(one.state, other.state)[choice])
        one.choose(choice)
        other.choose(number)
    assert len(spread) == most
    assert max(spread) > 0.01, "a network to which all choices are alike shows nothing"
