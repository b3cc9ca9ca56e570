"""OpenSpiel's tree search as a bot: what it sees at once, whom it beats, where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanista.games import GameError, make, make_bot, registry
from lanista.games.planning import Planner
from lanista.rollout.match_runner import Table, play
from lanista.rollout.schedule import Schedule

pytest.importorskip("pyspiel")

GAME = "openspiel:connect_four"
TO_WIN = [3, 0, 3, 0, 3, 0]
"""After these columns the first player wins by a fourth disc in column 3."""


def placed(columns: list[int]) -> Any:
    game = make(GAME)
    game.start([0], [0])
    for column in columns:
        game.decisions()
        game.act([0], [[column]])
    return game


def searched(game: Any, seed: int = 0) -> int:
    bot = make_bot(GAME, "mcts-100", game.spec, seed)
    planner, decisions = Planner(game), game.decisions()
    bot.plan_with(planner)
    planner.ask(decisions.slot, decisions.seat)
    return int(bot.act(decisions, np.array([0]))[0, 0])


@pytest.mark.parametrize("seed", range(5))
def test_a_search_wins_in_one_and_blocks_a_win_in_one(seed: int) -> None:
    assert searched(placed(TO_WIN), seed) == 3
    assert searched(placed(TO_WIN[:5]), seed) == 3


def test_a_search_leaves_the_match_as_it_was_and_answers_alike_for_the_same_seed() -> None:
    game = placed([3, 2, 4])
    before = game.draw(0)
    answers = [searched(game, seed) for seed in (1, 1, 2, 3, 4, 5)]
    assert answers[0] == answers[1]
    assert game.draw(0) == before


def test_a_search_beats_a_random_player_from_both_seats() -> None:
    game = make(GAME, slots=10)
    players = (make_bot(GAME, "mcts-100", game.spec, 0), make_bot(GAME, "random", game.spec, 0))
    ids = np.arange(10, dtype=np.int64)
    seating = np.array([[0, 1], [1, 0]] * 5, np.int32)
    results = play([Table(game, players)], Schedule(ids, ids, seating))
    won = results.returns[np.arange(10), seating.argmin(1)]
    assert won.tolist() == [1.0] * 10


@pytest.mark.parametrize("name", ["kuhn_poker", "matrix_rps", "backgammon", "no_such_game"])
def test_games_that_hide_something_or_throw_dice_have_no_search(name: str) -> None:
    assert registry.bot_names(registry.entry(f"openspiel:{name}")) == ["random"]
    with pytest.raises(GameError, match="has no bot 'mcts-100'"):
        make_bot(f"openspiel:{name}", "mcts-100", placed([]).spec)


def test_a_search_without_positions_to_search_is_refused() -> None:
    game = placed([])
    with pytest.raises(GameError, match="gives no copies"):
        make_bot(GAME, "mcts-100", game.spec).act(game.decisions(), np.array([0]))
