"""Exact answers, reached through our observations."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from lanista.games import GameError, make, make_bot
from lanista.games.trees.exact import exact_nash_conv, mixture_nash_conv


def uniform(observation: Any, mask: Any) -> Any:
    return mask / mask.sum(1, keepdims=True)


def kuhn_equilibrium(alpha: float) -> Any:
    """Kuhn's family of equilibria (1950): bets and calls by card, for alpha in [0, 1/3]."""
    first_bet = [alpha, 0, 3 * alpha]
    first_call = [0, alpha + 1 / 3, 1]
    bet_after_pass = [1 / 3, 0, 1]
    call_after_bet = [0, 1 / 3, 1]

    def policy(observation: Any, mask: Any) -> Any:
        bet = np.zeros(len(observation))
        for i, view in enumerate(observation):
            card, moves = int(view[2:5].argmax()), int(view[5:].sum())
            if moves == 0:
                bet[i] = first_bet[card]
            elif moves == 2:
                bet[i] = first_call[card]
            else:
                bet[i] = (call_after_bet if view[6] else bet_after_pass)[card]
        return np.stack([1 - bet, bet], 1)

    return policy


def folder(observation: Any, mask: Any) -> Any:
    """Folds whenever that is legal in Leduc, else calls."""
    fold = mask[:, 0]
    return np.stack([fold, ~fold, np.zeros(len(fold))], 1)


def test_uniform_kuhn_has_its_known_nash_conv() -> None:
    assert exact_nash_conv("kuhn", uniform) == pytest.approx(11 / 12)


def test_uniform_leduc_has_its_known_nash_conv() -> None:
    assert exact_nash_conv("leduc", uniform) == pytest.approx(4.747222, abs=1e-6)


def test_uniform_liars_dice_has_the_nash_conv_that_openspiel_gives_its_own_uniform() -> None:
    # pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game)), OpenSpiel 2.0.2.
    assert exact_nash_conv("liars_dice", uniform) == pytest.approx(1.5614886, abs=1e-6)


@pytest.mark.parametrize("alpha", [0, 0.2, 1 / 3])
def test_kuhn_equilibria_cannot_be_exploited(alpha: float) -> None:
    assert exact_nash_conv("kuhn", kuhn_equilibrium(alpha)) == pytest.approx(0, abs=1e-12)


def test_folding_always_in_leduc_loses_the_antes() -> None:
    # A best response raises at once and wins the ante from either seat; the folder against
    # itself never meets a raise, so it breaks even.
    assert exact_nash_conv("leduc", folder) == pytest.approx(2.0)


def test_every_observation_of_random_play_is_an_information_state_of_the_solver() -> None:
    seen: set[bytes] = set()

    def keep(observation: Any, mask: Any) -> Any:
        seen.update(row.tobytes() for row in observation)
        return uniform(observation, mask)

    exact_nash_conv("leduc", keep)
    assert len(seen) == 936
    game = make("leduc", slots=500, seed=1)
    bot = make_bot("leduc", "random", game.spec, 1)
    game.start(range(500), range(500))
    met = set()
    while len(decisions := game.decisions()):
        met.update(row.tobytes() for row in decisions.observation)
        rows = np.arange(len(decisions))
        game.act(rows, bot.act(decisions, rows))
    assert len(met) > 300
    assert met <= seen


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda observation, mask: mask.astype(float), "sum to 1"),
        (lambda observation, mask: np.full(mask.shape, np.nan), "sum to 1"),
        (lambda observation, mask: np.full(mask.shape, 1 / 3), "legal"),
        (lambda observation, mask: uniform(observation, mask)[:-1], "shape"),
    ],
)
def test_what_is_no_policy_is_refused(answer: Any, words: str) -> None:
    with pytest.raises(GameError, match=words):
        exact_nash_conv("leduc", answer)


def test_a_game_without_an_exact_answer_is_refused() -> None:
    with pytest.raises(GameError, match=r"arena has no exact NashConv.*lanista exploit"):
        exact_nash_conv("arena", uniform)


def test_missing_openspiel_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(GameError, match=r"pip install '\.\[openspiel\]'"):
        exact_nash_conv("openspiel:a_game_whose_tree_nobody_has_walked", uniform)


def test_our_own_games_need_no_openspiel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    assert exact_nash_conv("kuhn", uniform) == pytest.approx(11 / 12)


def test_seats_that_move_at_once_are_measured_as_if_in_turn() -> None:
    game = "goofspiel(num_cards=3,imp_info=True)"
    in_turn = f"openspiel:turn_based_simultaneous_game(game={game})"
    assert exact_nash_conv(f"openspiel:{game}", uniform) == exact_nash_conv(in_turn, uniform) > 0.5


def test_what_a_seat_sees_there_is_what_the_game_shows_it() -> None:
    name = "openspiel:goofspiel(num_cards=3,imp_info=True)"
    game = make(name, slots=4)
    game.start(np.arange(4), np.arange(4))
    shown = {view.tobytes() for view in game.decisions().observation}
    views: list[Any] = []

    def note(observation: Any, mask: Any) -> Any:
        views.extend(observation)
        return uniform(observation, mask)

    exact_nash_conv(name, note)
    assert shown <= {view.tobytes() for view in views}


def test_a_game_with_more_histories_than_wanted_is_refused() -> None:
    with pytest.raises(GameError, match="more than 10 histories"):
        exact_nash_conv("openspiel:kuhn_poker", uniform, 10)


def habit(steps: int) -> Any:
    """In card_rps: throws so many steps on from the card, each to what beats the one before."""

    def policy(observation: Any, mask: Any) -> Any:
        throw = (observation[:, 2:5].argmax(1) + steps) % 3
        return np.eye(3)[throw]

    return policy


def test_uniform_card_rps_loses_a_third_a_round_to_throwing_ones_card() -> None:
    # A win with the card is worth 3; a loss costs 1, or 3 where the other holds that card, which
    # is as likely: (3 - 2)/3 in each of three rounds, for either seat.
    assert exact_nash_conv("card_rps", uniform) == pytest.approx(2.0)


@pytest.mark.parametrize(("steps", "first", "later"), [(0, 0.5, 2), (1, 1.5, 2), (2, 0.5, 1)])
def test_a_habit_in_card_rps_is_read_after_one_round(
    steps: int, first: float, later: float
) -> None:
    # The other's throw is one of two, as likely, and known after a round. Its best answer wins once
    # in two in the first round, and then always: by 3 where it is the own card, otherwise by 1.
    gained = first + 2 * later
    assert exact_nash_conv("card_rps", habit(steps)) == pytest.approx(2 * gained)


def test_a_mixture_of_one_is_that_one() -> None:
    for policy in (uniform, habit(1)):
        alone = exact_nash_conv("card_rps", policy)
        assert mixture_nash_conv("card_rps", [policy], [1.0]) == pytest.approx(alone)
        assert mixture_nash_conv("card_rps", [policy] * 2, [0.25, 0.75]) == pytest.approx(alone)


def test_mixing_plans_is_not_mixing_choices() -> None:
    """A seat that drew one habit goes on with it, which its first throw tells."""
    habits = [habit(0), habit(1), habit(2)]

    def mean(observation: Any, mask: Any) -> Any:
        return np.mean([one(observation, mask) for one in habits], axis=0)

    by_choice = exact_nash_conv("card_rps", mean)
    assert by_choice == pytest.approx(exact_nash_conv("card_rps", uniform))
    assert mixture_nash_conv("card_rps", habits, [1 / 3] * 3) > by_choice + 0.1


def test_a_mixture_of_kuhn_equilibria_is_one() -> None:
    ends = [kuhn_equilibrium(0), kuhn_equilibrium(1 / 3)]
    assert mixture_nash_conv("kuhn", ends, [0.3, 0.7]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.6], [1.5, -0.5]])
def test_shares_that_are_none_are_refused(shares: list[float]) -> None:
    with pytest.raises(GameError, match="give each a share"):
        mixture_nash_conv("kuhn", [uniform, uniform], shares)
