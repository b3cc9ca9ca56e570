"""Redrawing what a seat cannot see: its view stays, the rest is drawn evenly from what fits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from openspiel_mirror import GAMES, MOVES, pyspiel, rebuilt

from lanista.games import GameError, make, make_bot
from lanista.games.streams import Stream

PHANTOM_POSITIONS = {
    "x has found one mark": [4, 0, 8, 1, 0],
    "x has found two, at known times": [0, 4, 4, 1, 5, 5, 8, 7],
    "o has run into x twice": [0, 0, 4, 2, 2, 5, 5],
    "o to move, in the middle of its attempts": [4, 0, 1, 4, 1],
    "late and crowded": [0, 1, 4, 4, 8, 8, 2, 5, 5, 7],
}


def play(game: Any, moves: list[int], match: int = 0) -> None:
    game.start([0], [match])
    for move in moves:
        assert len(game.decisions()) == 1
        game.act([0], [move])


def positions_of_random_play(name: str, matches: int) -> Any:
    """Yield the game at every decision of a few random matches, one slot at a time."""
    game = make(name, slots=1, seed=5)
    bot = make_bot(name, "random", game.spec, 5)
    for match in range(matches):
        game.start([0], [match])
        while len(decisions := game.decisions()):
            action = bot.act(decisions, np.arange(1))
            yield game, match, int(decisions.seat[0])
            assert len(game.decisions()) == 1
            game.act([0], action)


@pytest.mark.parametrize("name", GAMES)
def test_the_view_stays_and_the_redrawn_match_could_have_been_played(name: str) -> None:
    for game, match, mover in positions_of_random_play(name, matches=60):
        saved, before = game.save([0]), rebuilt(name, game.state(0))
        decision = game.decisions()
        view, mask = decision.observation.copy(), decision.mask.copy()
        for seat in (0, 1):
            game.resample_hidden(0, seat, Stream.keyed(1, match, seat, "resample"))
            after = rebuilt(name, game.state(0))
            assert after.information_state_string(seat) == before.information_state_string(seat)
            assert after.current_player() == mover
            if seat == mover:
                again = game.decisions()
                np.testing.assert_array_equal(again.observation, view)
                np.testing.assert_array_equal(again.mask, mask)
            game.load([0], saved)


@pytest.mark.parametrize("name", GAMES)
def test_a_redrawn_match_can_be_played_to_its_end(name: str) -> None:
    game = make(name, slots=64, seed=2)
    bot = make_bot(name, "random", game.spec, 2)
    stream = Stream.keyed(2, 0, 0, "resample")
    game.start(range(64), range(64))
    while len(decisions := game.decisions()):
        for row in range(len(decisions)):
            game.resample_hidden(int(decisions.slot[row]), int(decisions.seat[row]), stream)
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        for slot in game.act(rows, bot.act(decisions, rows)):
            assert rebuilt(name, game.state(slot)).returns() == game.returns[slot].tolist()
    assert game.done.all()
    assert (game.returns.sum(1) == 0).all()


@pytest.mark.parametrize("name", GAMES)
def test_the_same_stream_redraws_the_same(name: str) -> None:
    for game, match, seat in positions_of_random_play(name, matches=10):
        saved = game.save([0])
        redrawn = []
        for _ in range(2):
            game.load([0], saved)
            game.resample_hidden(0, seat, Stream.keyed(3, match, seat, "resample"))
            redrawn.append(game.save([0])["matches"].tobytes())
        assert redrawn[0] == redrawn[1]
        game.load([0], saved)


def redrawn_counts(game: Any, seat: int, draws: int, part: Any) -> Counter[Any]:
    stream = Stream.keyed(4, 0, seat, "resample")
    counts: Counter[Any] = Counter()
    for _ in range(draws):
        game.resample_hidden(0, seat, stream)
        counts[part(game.state(0))] += 1
    return counts


def assert_even(counts: Counter[Any], expected: set[Any]) -> None:
    assert set(counts) == expected
    mean = counts.total() / len(expected)
    # Five standard deviations: chance alone would break it once in a million counts.
    assert max(abs(count - mean) for count in counts.values()) < 5 * mean**0.5


def test_kuhn_redraws_the_other_card_evenly() -> None:
    game = make("kuhn", seed=1)
    play(game, [0])
    own = game.state(0)["cards"][1]
    counts = redrawn_counts(game, 1, 2000, lambda state: state["cards"][0])
    assert_even(counts, {0, 1, 2} - {own})


def test_leduc_redraws_the_other_card_evenly_before_and_after_the_public_card() -> None:
    game = make("leduc", seed=1)
    play(game, [1])
    own = game.state(0)["cards"][1]
    counts = redrawn_counts(game, 1, 4000, lambda state: state["cards"][0])
    assert_even(counts, set(range(6)) - {own})
    play(game, [1, 1, 2])
    own, public = game.state(0)["cards"][1], game.state(0)["public"]
    counts = redrawn_counts(game, 1, 4000, lambda state: state["cards"][0])
    assert_even(counts, set(range(6)) - {own, public})


def test_leduc_redraws_the_public_card_to_come() -> None:
    game = make("leduc", seed=1)
    play(game, [1])
    saved, stream = game.save([0]), Stream.keyed(5, 0, 0, "resample")
    own = game.state(0)["cards"][1]
    counts: Counter[int] = Counter()
    for _ in range(4000):
        game.load([0], saved)
        game.resample_hidden(0, 1, stream)
        game.decisions()
        game.act([0], [1])
        assert game.state(0)["public"] not in game.state(0)["cards"]
        counts[game.state(0)["public"]] += 1
    assert_even(counts, set(range(6)) - {own})


def test_liars_dice_redraws_the_other_die_evenly() -> None:
    game = make("liars_dice", seed=1)
    play(game, [3])
    counts = redrawn_counts(game, 1, 4000, lambda state: state["dice"][0])
    assert_even(counts, set(range(6)))


def histories_that_fit(moves: list[int], seat: int) -> set[tuple[int, ...]]:
    """List, by search in OpenSpiel, each history `seat` cannot tell from `moves`.

    A decision carries its turn, so a seat can tell histories with other movers apart.
    """
    game = pyspiel.load_game("phantom_ttt")
    true_state = game.new_initial_state()
    movers = []
    for move in moves:
        movers.append(true_state.current_player())
        true_state.apply_action(move)
    found = set()
    open_states = [game.new_initial_state()]
    while open_states:
        state = open_states.pop()
        turn = len(state.history())
        if turn == len(moves):
            if (
                not state.is_terminal()
                and state.current_player() == true_state.current_player()
                and state.information_state_string(seat)
                == true_state.information_state_string(seat)
            ):
                found.add(tuple(state.history()))
        elif not state.is_terminal() and state.current_player() == movers[turn]:
            own = movers[turn] == seat
            legal = state.legal_actions()
            open_states += [state.child(cell) for cell in legal if not own or cell == moves[turn]]
    return found


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("moves", PHANTOM_POSITIONS.values(), ids=PHANTOM_POSITIONS.keys())
def test_phantom_redraws_every_history_that_fits_and_no_other_evenly(
    moves: list[int], seat: int
) -> None:
    game = make("phantom_ttt")
    play(game, moves)
    fitting = histories_that_fit(moves, seat)
    assert tuple(moves) in fitting
    draws = 60 * len(fitting) + 100
    counts = redrawn_counts(game, seat, draws, lambda state: tuple(MOVES["phantom_ttt"](state)))
    assert_even(counts, fitting)


def test_a_seat_that_is_not_there_is_refused() -> None:
    game = make("leduc")
    game.start([0], [0])
    with pytest.raises(GameError, match=r"seat is 2.*leduc"):
        game.resample_hidden(0, 2, Stream.keyed(0, 0, 0, "resample"))


@pytest.mark.parametrize("name", GAMES)
def test_the_privileged_view_is_the_view_and_the_other_seats_hidden_part(name: str) -> None:
    for game, _, seat in positions_of_random_play(name, matches=30):
        decisions, state = game.decisions(), game.state(0)
        privileged = game.privileged()[0]
        length = game.spec.observation.length
        np.testing.assert_array_equal(privileged[:length], decisions.observation[0])
        if name == "phantom_ttt":
            expected = rebuilt(name, state).information_state_tensor(1 - seat)
        else:
            hidden = state["dice" if name == "liars_dice" else "cards"][1 - seat]
            expected = np.arange(len(privileged) - length) == hidden
        np.testing.assert_array_equal(privileged[length:], expected)
