"""Rock, paper, scissors with a card in hand: its circle of habits, and what is hidden."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from lanista.games import make, make_bot
from lanista.games.check import check_game
from lanista.games.streams import Stream
from lanista.games.trees.exact import information_tree
from lanista.solving.tabular import TabularSolver

DEALS = [(a, b) for a in range(3) for b in range(3) if a != b]


def placed(cards: tuple[int, int], throws: list[int]) -> Any:
    """Return a game with these cards after some throws."""
    game = make("card_rps")
    game.load([0], game.position(cards=list(cards)))
    for throw in throws:
        game.decisions()
        game.act([0], [throw])
    return game


def earned(first: str, second: str) -> float:
    """Return what a bot earns per match from another, over every deal."""
    total = 0.0
    for cards in DEALS:
        game = placed(cards, [])
        players = [make_bot("card_rps", name, game.spec, 0) for name in (first, second)]
        while len(decisions := game.decisions()):
            game.act([0], players[int(decisions.seat[0])].act(decisions, np.arange(1)))
        total += float(game.returns[0, 0])
    return total / len(DEALS)


@pytest.mark.parametrize(
    ("winner", "loser", "worth"),
    [("trap", "own", 0.5), ("guard", "trap", 0.5), ("own", "guard", 1.5)],
)
def test_habits_beat_each_other_in_a_circle(winner: str, loser: str, worth: float) -> None:
    assert earned(winner, loser) == pytest.approx(3 * worth)
    assert earned(loser, winner) == pytest.approx(-3 * worth)


def test_the_reader_wins_every_round_but_the_first_against_a_habit() -> None:
    # Against own it throws its card first, which is even; then what beats the other's card: 1 or 3.
    assert earned("reader", "own") == pytest.approx(0 + 2 + 2)


def test_seats_are_worth_the_same_in_equilibrium() -> None:
    solver = TabularSolver(information_tree("card_rps"), "cfr+")
    solver.iterate(300)
    assert solver.nash_conv() < 0.02
    assert solver.value() == pytest.approx(0, abs=0.01)


def test_the_tree_is_small() -> None:
    # A start, 6 deals, and for each of them every line of up to 6 throws.
    tree = information_tree("card_rps")
    assert tree.histories == 1 + 6 * sum(3**length for length in range(7))
    # Three cards, and both throws of none, one or two rounds.
    assert [len(seat.rows) for seat in tree.seats] == [3 * (1 + 9 + 81)] * 2


def test_it_obeys_the_contract() -> None:
    check_game("card_rps")


def test_the_second_seat_does_not_see_the_first_throw_of_a_round() -> None:
    views = []
    for throw in range(3):
        decisions = placed((0, 1), [2, 2, throw]).decisions()
        assert decisions.seat[0] == 1
        views.append(decisions.observation[0].tolist())
    assert views[0] == views[1] == views[2]


def test_a_view_has_the_seat_the_card_and_the_throws_own_first() -> None:
    view = placed((0, 1), [2, 1, 0]).decisions().observation[0].tolist()
    assert view == [0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, *[0] * 6]


def test_what_a_seat_cannot_see_is_redrawn_evenly() -> None:
    game = placed((0, 1), [2, 2, 1])
    stream, drawn = Stream.keyed(4, 0, 1, "resample"), Counter[tuple[int, int]]()
    for _ in range(6000):
        game.resample_hidden(0, 1, stream)
        state = game.state(0)
        assert state["cards"][1] == 1
        assert state["throws"][:2] == [2, 2]
        drawn[state["cards"][0], state["throws"][2]] += 1
    assert set(drawn) == {(card, throw) for card in (0, 2) for throw in range(3)}
    # Five standard deviations of a count about 1,000.
    assert max(abs(count - 1000) for count in drawn.values()) < 5 * 1000**0.5


def test_the_first_seats_own_throw_stays_when_the_rest_is_redrawn() -> None:
    game = placed((0, 1), [2, 2, 1])
    for number in range(50):
        game.resample_hidden(0, 0, Stream(number))
        assert game.state(0)["throws"] == [2, 2, 1]
        assert game.state(0)["cards"][0] == 0


def test_the_privileged_view_adds_the_others_card_and_hidden_throw() -> None:
    game = placed((2, 1), [1])
    game.decisions()
    assert game.privileged()[0, -6:].tolist() == [0, 0, 1, 0, 1, 0]
    game = placed((2, 1), [1, 0])
    game.decisions()
    assert game.privileged()[0, -6:].tolist() == [0, 1, 0, 0, 0, 0]
