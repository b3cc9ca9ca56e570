"""A save comes from a file, and a file can hold anything: it is refused, or it can be played."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanista.games import GameError, Stream, make, make_bot

GAMES = {
    "kuhn": {},
    "leduc": {},
    "liars_dice": {},
    "phantom_ttt": {},
    "card_rps": {},
    "beastybar": {"seats": 4, "kangaroo_may_stay": True, "parrot_may_decline": True},
    "arena": {"seats": 3, "duration": 4.0},
}
BOOKS = ("matches", "playing", "waiting", "answered", "answers")
"""The arrays that decide where the game goes on in memory."""


def played(name: str, turns: int) -> Any:
    game = make(name, slots=4, seed=1, **GAMES[name])
    game.start(range(4), range(4))
    bot = make_bot(name, "random", game.spec, 1)
    for _ in range(turns):
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        game.act(rows, bot.act(decisions, rows))
    return game


def play_on(game: Any) -> None:
    bot = make_bot(game.spec.name, "random", game.spec, 1)
    for turn in range(2 * game.spec.facts.longest):
        decisions = game.decisions()
        if not len(decisions):
            return
        for slot, seat in zip(decisions.slot.tolist(), decisions.seat.tolist(), strict=True):
            game.resample_hidden(slot, seat, Stream(turn))
        decisions = game.decisions()
        game.privileged()
        rows = np.arange(len(decisions))
        game.act(rows, bot.act(decisions, rows))


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_save_is_refused_or_can_be_played(name: str, data: st.DataObject) -> None:
    game = played(name, data.draw(st.integers(0, 3)))
    saved = game.save(range(4))
    array = saved[data.draw(st.sampled_from(BOOKS))]
    flat = array.reshape(-1).view(np.uint8)
    for _ in range(data.draw(st.integers(1, 3))):
        flat[data.draw(st.integers(0, len(flat) - 1))] = data.draw(st.integers(0, 255))
    try:
        game.load(range(4), saved)
    except GameError:
        return
    play_on(game)


@pytest.mark.parametrize("name", GAMES)
def test_every_save_that_play_makes_is_taken(name: str) -> None:
    game = played(name, 0)
    bot = make_bot(name, "random", game.spec, 1)
    steps = 0
    while len(decisions := game.decisions()):
        rows = np.arange(len(decisions))[:: 1 + steps % 2]  # Half of them at every second step.
        game.act(rows, bot.act(decisions, rows))
        game.load(range(4), game.save(range(4)))
        steps += 1
    assert steps > 0


@pytest.mark.parametrize("name", GAMES)
def test_random_bytes_are_no_match(name: str) -> None:
    game = played(name, 0)
    saved = game.save(range(4))
    stream = Stream(3)
    for _ in range(50):
        words = np.array([stream.below(256) for _ in range(saved["matches"].size)], np.uint8)
        with pytest.raises(GameError, match="damaged"):
            game.load(range(4), {**saved, "matches": words.reshape(saved["matches"].shape)})


def half_answered() -> Any:
    """Return an arena of two matches in which one seat of three has answered, and its save."""
    game = make("arena", slots=2, seats=3)
    game.start([0, 1], [0, 1])
    game.decisions()
    game.act([4], np.zeros((1, len(game.spec.heads)), np.int32))
    return game, game.save([0, 1])


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("playing", 1, 2),
        ("waiting", 1, 0b1111),
        ("answered", 0, 0b1000),
        ("answered", 1, 0b111),
        ("waiting", 0, 0),
        ("answers", (1, 1, 0), -1),
        ("answers", (1, 1, 0), 99),
        ("answers", (1, 0, 1), 99),
    ],
)
def test_book_keeping_that_no_play_leaves_is_refused(name: str, place: Any, value: int) -> None:
    game, saved = half_answered()
    before = {key: array.tobytes() for key, array in game.save([0, 1]).items()}
    damaged = {key: array.copy() for key, array in saved.items()}
    damaged[name][place] = value
    match = place if isinstance(place, int) else place[0]
    with pytest.raises(GameError, match=f"Saved match {match} of arena is damaged"):
        game.load([0, 1], damaged)
    assert {key: array.tobytes() for key, array in game.save([0, 1]).items()} == before
    game.load([0, 1], saved)


def test_two_seats_at_once_are_refused_where_seats_move_in_turn() -> None:
    game = make("leduc", slots=2)
    game.start([0, 1], [0, 1])
    saved = game.save([0, 1])
    saved["waiting"][1] = 0b11
    with pytest.raises(GameError, match="Saved match 1 of leduc is damaged"):
        game.load([0, 1], saved)
