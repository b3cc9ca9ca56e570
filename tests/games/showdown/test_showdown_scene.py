"""Showdown's scene: a side as its own player knows it and as the opponent does; log lines."""

from __future__ import annotations

import numpy as np
import pytest

from lanista.games import registry
from lanista.games.scenes import action_words, board_of, everybody, legal_words
from lanista.games.showdown.log_words import line_words


@pytest.fixture
def game():
    made = registry.make("showdown", seed=2)
    yield made
    made.close()


def test_items_and_moves_are_shown_to_their_own_player_until_they_are_seen(game) -> None:
    board = board_of(game.spec)
    bot = registry.make_bot("showdown", "random", game.spec, 2)
    game.start([0], [2])
    for turn in range(4):
        decisions = game.decisions()
        own = board.scene(game, 0, frozenset({0}))
        hidden = [mon for mon in own["sides"][1]["mons"] if mon["item"] or mon["moves"]]
        everything = board.scene(game, 0, everybody(game.spec))
        assert all(mon["moves"] for mon in everything["sides"][1]["mons"])
        assert turn or not hidden
        seen, whole = (
            sum(len(mon["moves"]) for mon in shown["sides"][1]["mons"])
            for shown in (own, everything)
        )
        assert seen < whole
        for row in range(len(decisions)):
            seat, mask = int(decisions.seat[row]), decisions.mask[row]
            choices = legal_words(board, game, 0, seat, mask)
            assert all(choice.words for head in choices for choice in head)
            action = [head[0].choice for head in choices]
            assert action_words(board, game, 0, seat, mask, action) != "no choice"
        rows = np.arange(len(decisions))
        game.act(rows, bot.act(decisions, rows))
    assert board.scene(game, 0, frozenset({0}))["log"]
    assert board.scene(game, 0, frozenset())["log"] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("|move|p1a: Pika|Thunder|p2b: Bulba", "Pika (seat 0) uses Thunder on Bulba (seat 1)"),
        ("|move|p1a: Pika|Protect|p1a: Pika", "Pika (seat 0) uses Protect"),
        ("|-damage|p2a: Bulba|45/100 brn", "Bulba (seat 1) is at 45/100"),
        (
            "|-heal|p2a: Bulba|51/100|[from] item: Leftovers",
            "Bulba (seat 1) is back to 51/100, by Leftovers",
        ),
        ("|-sidestart|p1: Ann|move: Tailwind", "Tailwind begins for Ann (seat 0)"),
        ("|-status|p2a: Bulba|par", "Bulba (seat 1) was paralysed"),
        ("|-boost|p1a: Pika|atk|2", "Pika (seat 0)'s atk rises by 2"),
        ("|-weather|RainDance|[upkeep]", ""),
        ("|-weather|RainDance|[from] ability: Drizzle|[of] p1a: Pika", "Weather: RainDance"),
        ("|faint|p2a: Bulba", "Bulba (seat 1) fainted"),
        ("|turn|7", "Turn 7"),
        ("|", ""),
        ("", ""),
        ("|nonsense|{0.__class__}|{", ""),
        ("|-start|p1a: Pika|{0.__class__}", "Pika (seat 0): {0.__class__}"),
    ],
)
def test_lines_are_said_in_words(line: str, words: str) -> None:
    assert line_words(line) == words
