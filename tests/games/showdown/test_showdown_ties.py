"""`heuristic` tells equals apart by what they are, however they are numbered."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from showdown_matches import finish
from showdown_play import needs_simulator

from lanista.games.showdown.game import Showdown
from lanista.games.showdown.scripted.bots import best_of
from lanista.games.showdown.scripted.heuristic import Heuristic
from lanista.games.streams import Stream

pytestmark = needs_simulator


@pytest.fixture(scope="module")
def game() -> Iterator[Showdown]:
    made = Showdown(8, 3, team_pool_path="held-out")
    yield made
    made.close()


def test_bots_of_different_seeds_decide_alike(game: Showdown) -> None:
    one, other = Heuristic(game.spec, 1), Heuristic(game.spec, 2)
    compared = 0

    def look(decisions: object) -> None:
        nonlocal compared
        rows = np.arange(len(decisions))  # type: ignore[arg-type]
        answers = one.act(decisions, rows)  # type: ignore[arg-type]
        np.testing.assert_array_equal(answers, other.act(decisions, rows))  # type: ignore[arg-type]
        compared += len(rows)

    game.start(range(4), range(4))
    while len(decisions := game.decisions()):
        look(decisions)
        rows = np.arange(len(decisions))
        game.act(rows, one.act(decisions, rows))
    assert compared > 30


def test_equals_in_another_order_give_the_same_choice(game: Showdown) -> None:
    bot, tied = Heuristic(game.spec, 1), 0
    game.start(range(8), range(8))
    while len(decisions := game.decisions()):
        for row, tracker in enumerate(decisions.trackers):  # type: ignore[attr-defined]
            if tracker.own.kind == 1:
                continue
            values = bot.value_turn(tracker)
            equals = best_of(values, decisions.mask[row, -len(values) :])
            if len(equals) > 1:
                tied += 1
                shuffled = equals.copy()
                random.Random(row).shuffle(shuffled)
                stream = Stream.keyed(1, row, 0, "act")
                chosen = bot.choose(tracker, equals, stream)
                assert bot.choose(tracker, shuffled, stream) == chosen
        rows = np.arange(len(decisions))
        game.act(rows, bot.act(decisions, rows))
    assert tied > 5, "nothing was tied"
    finish(game, [bot, bot])
