"""Matches from given decks and positions: for puzzles, conformance tests and analysis."""

import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from lanista.games import make
from lanista.games.beastybar.animals import SPECIES
from lanista.games.contract import GameError
from lanista.games.random_bot import RandomBot


def placed(game, **description):
    """Return a game with the described match in its last slot."""
    game.load([game.slots - 1], game.position(**description))
    return game


@pytest.mark.parametrize("cards", [*permutations(range(3), 2)])
def test_kuhn_is_dealt_and_played_on_as_given(cards):
    game = placed(make("kuhn", slots=3, seed=4), cards=cards, moves=["pass", "bet"], match_id=9)
    assert game.state(2) == {"cards": [*cards], "moves": [0, 1]}
    decisions = game.decisions()
    assert (decisions.slot.tolist(), decisions.seat.tolist()) == ([2], [0])
    assert (decisions.match.tolist(), decisions.turn.tolist()) == ([9], [2])
    assert game.act([0], [[1]]).tolist() == [2]
    winner = int(cards[1] > cards[0])
    assert game.returns[2].tolist() == ([2, -2] if winner == 0 else [-2, 2])


@pytest.mark.parametrize("public", ["Js", "Qh", "Ks", "Kh"])
def test_in_leduc_the_open_card_is_the_one_given(public):
    names = ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
    deal = {"cards": ["Qs", "Jh"], "public": public}
    game = placed(make("leduc", seed=4), **deal, moves=["call"])
    assert game.state(0)["public"] is None
    game.decisions()
    game.act([0], [[1]])
    state = game.state(0)
    assert (state["cards"], state["public"]) == ([2, 1], names.index(public))
    later = placed(make("leduc", seed=4), **deal, moves=["call", "call", "raise"])
    assert later.state(0)["public"] == names.index(public)
    assert later.state(0)["moves"] == [[1, 1], [2]]


def test_without_an_open_card_given_leduc_draws_it():
    game = make("leduc", slots=1, seed=4)
    moves = ["call", "call"]
    drawn = {
        placed(game, cards=[0, 1], moves=moves, match_id=match).state(0)["public"]
        for match in range(40)
    }
    assert drawn == {2, 3, 4, 5}


def decks_of(game, slot):
    """Return the decks of a match that has just begun, the hand in any order first."""
    state = game.state(slot)
    pairs = zip(state["hands"], state["piles"], strict=True)
    return [[SPECIES[card] for card in (*hand, *pile)] for hand, pile in pairs]


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_beastybar_with_the_decks_of_a_match_is_that_match(seats):
    game = make("beastybar", slots=2, seed=4, seats=seats)
    bot = RandomBot(game.spec, 1)
    first = seats - 1
    game.start([0], [7], {"first": first})
    game.load([1], game.position(decks=decks_of(game, 0), first=first, match_id=7))
    moves, decks = [], decks_of(game, 0)
    while len(decisions := game.decisions()):
        assert len(decisions) == 2
        assert (decisions.observation[0] == decisions.observation[1]).all()
        assert (game.privileged()[0] == game.privileged()[1]).all()
        actions = bot.act(decisions, np.arange(2))
        moves.append(int(actions[0, 0]))
        game.act([0, 1], actions)
    assert game.score[0].tolist() == game.score[1].tolist()
    half = placed(game, decks=decks, first=first, moves=moves[:10])
    labels = [game.spec.heads[0].labels[move] for move in moves[:10]]
    named = game.position(decks=decks, first=first, moves=labels)
    assert (half.save([1])["matches"] == named["matches"]).all()


def test_animals_left_out_follow_in_order_of_strength():
    game = placed(make("beastybar", seed=4), decks=[["lion", "skunk"], [10]], first=1)
    state = game.state(0)
    assert state["hands"] == [[0, 1, 2, 11], [0, 1, 2, 10]]
    assert state["piles"][0] == [3, 4, 5, 6, 7, 8, 9, 10]
    assert state["to_move"] == 1


def test_a_given_position_can_be_saved_copied_and_redrawn():
    game = placed(make("beastybar", slots=2, seed=4), decks=[["lion"], ["hippo"]], moves=["lion"])
    game.load([0], game.save([1]))
    assert game.state(0) == game.state(1)


@pytest.mark.parametrize(("name", "description", "sentence"), [
    ("kuhn", {"cards": [0, 0]}, r"are \[0, 0\]; give up to 2 different cards"),
    ("kuhn", {"cards": [0]}, r"are \[0\]; give one to each of two seats"),
    ("kuhn", {"cards": [0, 3]}, "name 3; give a number from 0 to 2"),
    ("kuhn", {"cards": 5}, "are 5; give a list of cards"),
    ("kuhn", {"hands": [0, 1]}, r"kuhn is not dealt by \['hands'\]"),
    ("kuhn", {}, "kuhn is not dealt by"),
    ("kuhn", {"cards": "JQ"}, "are 'JQ'; give a list of cards"),
    ("kuhn", {"cards": [0, 1], "moves": ["bett"]}, "no move 'bett'; did you mean 'bet'"),
    ("kuhn", {"cards": [0, 1], "moves": [0, 0, 0]}, r"Move 2 \(0\) cannot be made: the match is"),
    ("kuhn", {"cards": [0, 1], "moves": [[0, 1]]}, "give a choice for each of 1 heads"),
    ("kuhn", {"cards": [0, 1], "moves": [0.5]}, "is 0.5; give a choice for each of 1 heads"),
    ("leduc", {"cards": [0, 1], "moves": ["fold"]}, r"Action \[0\] is not legal"),
    ("leduc", {"cards": [0, 1], "public": 1}, r"are \[0, 1, 1\]; give up to 3 different cards"),
    ("leduc", {"cards": [0, 1], "public": "Qx"}, "name 'Qx'; known: Jh, Js"),
    ("beastybar", {"decks": [["lion"]]}, "1 decks were given"),
    ("beastybar", {"decks": [[], []], "first": 2}, "seat 2 is to start; beastybar has 2 seats"),
    ("beastybar", {"decks": [["lino"], []]}, "seat 0 name 'lino'; did you mean 'lion'"),
    ("beastybar", {"decks": [["lion", 11], []]}, "give up to 12 different cards"),
    ("phantom_ttt", {"moves": [0]}, "phantom_ttt cannot be started from a given deal"),
    ("liars_dice", {"dice": [1, 2, 3]}, "dice"),
    ("card_rps", {"cards": ["rock", "rock"]}, "give each seat another one of rock, paper"),
    ("card_rps", {"cards": ["rock", "lizard"]}, r"\['rock', 'lizard'\]"),
])  # fmt: skip
def test_a_position_that_cannot_be_is_refused_in_a_sentence(name, description, sentence):
    with pytest.raises(GameError, match=sentence):
        make(name, seed=4).position(**description)


def test_the_lines_on_the_page_do_what_it_says():
    page = (Path(__file__).parents[2] / "docs" / "guides" / "add-a-game.md").read_text()
    _, section = page.split("## Given positions\n")
    (code,) = re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    names = {}
    exec(code, names)
    assert names["game"].state(2)["public"] == 3
    assert names["bar"].state(0)["hands"][1] == [0, 1, 2, 10]
