"""Scenes: what a page is shown of a position, and that nothing hidden is in it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from lanista.games import registry
from lanista.games.contract import Game
from lanista.games.scenes import (
    action_words,
    board_of,
    choice_words,
    everybody,
    field_words,
    legal_words,
    seen_words,
)
from lanista.games.streams import Stream

HIDING = ("beastybar", "kuhn", "leduc", "liars_dice", "phantom_ttt", "card_rps", "arena")
OPEN = ("openspiel:tic_tac_toe", "openspiel:connect_four", "openspiel:breakthrough")
ALL = (*HIDING, *OPEN, "openspiel:leduc_poker", "openspiel:go(board_size=5)", "openspiel:chess")


def played(name: str, seed: int, turns: int) -> Game:
    """Return a game some random turns into a match that goes on."""
    game = registry.make(name, seed=seed)
    bot = registry.make_bot(name, "random", game.spec, seed)
    game.start([0], [seed])
    for _ in range(turns):
        saved = game.save([0])
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        if len(game.act(rows, bot.act(decisions, rows))):
            game.load([0], saved)
            break
    game.decisions()
    return game


def plain(scene: dict[str, Any]) -> str:
    return json.dumps(scene, allow_nan=False)


@pytest.mark.parametrize("name", HIDING)
def test_what_a_seat_cannot_see_changes_nothing_that_its_eyes_are_shown(name: str) -> None:
    changed = 0
    for seed in range(12):
        game = played(name, seed, 1 + seed % 4)
        board, seat = board_of(game.spec), int(game.decisions().seat[0])
        before = plain(board.scene(game, 0, frozenset({seat})))
        everything = plain(board.scene(game, 0, everybody(game.spec)))
        game.resample_hidden(0, seat, Stream(seed + 7))
        assert plain(board.scene(game, 0, frozenset({seat}))) == before
        changed += plain(board.scene(game, 0, everybody(game.spec))) != everything
    assert changed, "nothing was hidden, so the test showed nothing"


@pytest.mark.parametrize("name", HIDING)
def test_without_eyes_a_scene_shows_less_than_with_all_of_them(name: str) -> None:
    game = played(name, 3, 2)
    board = board_of(game.spec)
    assert plain(board.scene(game, 0, frozenset())) != plain(
        board.scene(game, 0, everybody(game.spec))
    )


@pytest.mark.parametrize("name", ALL)
def test_every_legal_choice_has_words_of_its_own(name: str) -> None:
    game = played(name, 1, 3)
    board, decisions = board_of(game.spec), game.decisions()
    for row in range(len(decisions)):
        seat, mask = int(decisions.seat[row]), decisions.mask[row]
        heads = legal_words(board, game, 0, seat, mask)
        assert len(heads) == len(game.spec.heads)
        for choices in heads:
            words = [choice.words for choice in choices]
            assert len(set(words)) == len(words)
            assert all(words)
        action = [choices[0].choice for choices in heads]
        assert action_words(board, game, 0, seat, mask, action)
        facts = seen_words(board, game.spec, decisions.observation[row])
        assert facts
        assert all(isinstance(text, str) for pair in facts for text in pair)


@pytest.mark.parametrize("name", [*OPEN, "phantom_ttt", "openspiel:go(board_size=5)"])
def test_each_move_on_a_grid_is_clicked_by_parts_of_its_own(name: str) -> None:
    game = played(name, 2, 4)
    board, decisions = board_of(game.spec), game.decisions()
    (choices,) = legal_words(board, game, 0, int(decisions.seat[0]), decisions.mask[0])
    clicked = [choice.targets for choice in choices if "pass" not in choice.words.lower()]
    assert len(set(clicked)) == len(clicked)
    scene = board.scene(game, 0, frozenset({int(decisions.seat[0])}))
    rows, columns = len(scene["rows"]), len(scene["rows"][0])
    for target in (part for parts in clicked for part in parts):
        kind, _, place = target.partition(":")
        numbers = [int(number) for number in place.split(",")]
        limits = (rows, columns) if kind == "cell" else (columns,)
        assert all(0 <= at < limit for at, limit in zip(numbers, limits, strict=True))


def test_a_parrot_is_said_with_whom_it_chases() -> None:
    game = registry.make("beastybar")
    decks = [["lion", "seal"], ["parrot", "hippo"]]
    game.load([0], game.position(decks=decks, moves=["lion"]))  # type: ignore[attr-defined]
    board = board_of(game.spec)
    labels = game.spec.heads[0].labels
    words = choice_words(board, game, 0, 1, 0, labels.index("parrot 0"))
    assert words == "parrot, chases the lion of seat 0"
    assert board.targets is not None
    assert board.targets(game, 0, 1, labels.index("parrot 0")) == ("card:1", "line:0")


def test_cards_are_shown_down_at_the_end_unless_somebody_passed() -> None:
    game = registry.make("kuhn")
    board = board_of(game.spec)
    for moves, shown in ((["bet", "bet"], True), (["bet", "pass"], False)):
        *first, last = moves
        game.load([0], game.position(cards=["J", "K"], moves=first))  # type: ignore[attr-defined]
        game.decisions()
        game.act([0], [[("pass", "bet").index(last)]])
        scene = board.scene(game, 0, frozenset({0}))
        assert scene["seats"][0]["cards"] == ["J"]
        assert scene["seats"][1]["cards"] == (["K"] if shown else None)


def test_a_text_drawing_of_a_game_that_hides_something_waits_for_all_eyes() -> None:
    game = played("openspiel:leduc_poker", 0, 1)
    board = board_of(game.spec)
    assert board.scene(game, 0, frozenset())["text"] == ""
    private = board.scene(game, 0, frozenset({0}))["text"]
    assert "[Observer: 0]" in private
    assert "player_1" in board.scene(game, 0, everybody(game.spec))["text"]


def test_long_fields_are_summed_up() -> None:
    game = played("openspiel:tic_tac_toe", 0, 2)
    facts = field_words(game.spec, game.decisions().observation[0])
    assert facts[0][1].startswith("set: ")


def test_the_aim_of_a_shot_that_is_not_fired_is_not_said() -> None:
    game = played("arena", 0, 0)
    board, mask = board_of(game.spec), game.decisions().mask[0]
    hold, fire = [5, 5, 9, 1, 0, 0, 0], [5, 5, 9, 1, 1, 0, 0]
    assert "aim" not in action_words(board, game, 0, 0, mask, hold)
    assert "aim x +0.8, aim y -0.8, fire" in action_words(board, game, 0, 0, mask, fire)


def test_the_points_beside_a_seat_are_those_of_its_own_cards_in_the_bar() -> None:
    different = 0
    for seed in range(20):
        game = played("beastybar", seed, 12 + seed % 10)
        seats = board_of(game.spec).scene(game, 0, frozenset())["seats"]
        for seat in seats:
            assert seat["points"] == sum(card["points"] for card in seat["bar"])
        different += seats[0]["points"] != seats[1]["points"]
    assert different, "both seats always had as many, so the test showed nothing"
