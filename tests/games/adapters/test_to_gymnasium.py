"""One seat of our games as a Gymnasium environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanista.games import GameError, make, make_bot

pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env

from lanista.games.adapters.to_gymnasium import SeatEnv

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("kuhn", {}),
    ("leduc", {}),
    ("liars_dice", {}),
    ("phantom_ttt", {}),
    ("beastybar", {}),
    ("beastybar", {"seats": 4}),
    ("arena", {}),
    ("arena", {"seats": 3}),
]

ENDLESS = """
from lanista.games import Facts, PythonGame, Step, View

class Endless(PythonGame):
    facts = Facts(seats=2, longest=5)
    observation = 1
    moves = 1

    def deal(self, rng):
        return [0]

    def apply(self, state, moves, rng):
        state[0] += 1
        return Step(rewards=[0.25, 0])

    def view(self, state, seat):
        return View([state[0]], [0]) if state[0] % 2 == seat else None
"""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seat", [0, 1, None])
@pytest.mark.parametrize(("name", "settings"), GAMES)
def test_gymnasiums_check_passes(name: str, settings: dict[str, Any], seat: int | None) -> None:
    check_env(SeatEnv(name, seat=seat, **settings))


def legal_action(env: SeatEnv, info: dict[str, Any]) -> Any:
    """The first legal choice of each head."""
    ends = np.cumsum([head.size for head in env.game.spec.heads])[:-1]
    first = [int(part.argmax()) for part in np.split(info["action_mask"], ends)]
    return first[0] if len(first) == 1 else np.array(first)


@pytest.mark.parametrize("seat", [0, 1])
def test_an_episode_is_the_match_that_the_game_plays_with_the_bot(seat: int) -> None:
    env = SeatEnv("beastybar", opponent="heuristic", seat=seat, seed=6)
    game = make("beastybar", seed=6)
    bot = make_bot("beastybar", "heuristic", game.spec, 6)
    for match in range(3):
        seen, info = env.reset()
        total, over = 0.0, False
        game.start([0], [match])
        while not over:
            decisions = game.decisions()
            while decisions.seat[0] != seat:
                game.act([0], bot.act(decisions, np.zeros(1, np.int64)))
                decisions = game.decisions()
            np.testing.assert_array_equal(seen, decisions.observation[0])
            np.testing.assert_array_equal(info["action_mask"], decisions.mask[0])
            np.testing.assert_array_equal(env.action_masks(), decisions.mask[0])
            action = legal_action(env, info)
            game.act([0], [action])
            seen, reward, over, cut, info = env.step(action)
            total += reward
            assert not cut
        while len(decisions := game.decisions()):
            game.act([0], bot.act(decisions, np.zeros(1, np.int64)))
        assert total == game.returns[0, seat] == info["returns"]
        assert info["place"] == game.place[0, seat]
        assert not env.action_masks().any()


def test_a_seat_that_is_out_has_its_whole_return_at_the_end() -> None:
    env = SeatEnv("arena", opponent="kiter", seat=0, seats=3, seed=1)
    standing_still = np.array([5, 5, 5, 5, 0, 0, 0])
    out_early = 0
    for _ in range(3):
        env.reset()
        total, over = 0.0, False
        while not over:
            _, reward, over, _, info = env.step(standing_still)
            total += reward
        assert env.game.done.all()
        assert env.illegal_choices == 0
        assert total == pytest.approx(info["returns"])
        out_early += info["place"] == 3
    assert out_early > 0


def test_seats_are_taken_in_turn_on_the_same_deal() -> None:
    env = SeatEnv("kuhn", seat=None, seed=4)
    card = env.game.spec.observation.slice_of("card")
    for _ in range(40):
        first, info = env.reset()
        second, other_info = env.reset()
        assert (info["seat"], other_info["seat"]) == (0, 1)
        # One deal gives two different cards; two deals would give the same one in three.
        assert first[card].argmax() != second[card].argmax()


def test_an_illegal_choice_is_replaced_counted_and_told() -> None:
    env = SeatEnv("leduc", seat=0, seed=2)
    _, info = env.reset()
    assert info["action_mask"].tolist() == [0, 1, 1]
    _, _, over, _, info = env.step(0)
    assert info["illegal"]
    assert env.illegal_choices == 1
    assert not over  # A fold would have ended the match.
    _, _, _, _, info = env.step(1)
    assert not info["illegal"]
    assert env.illegal_choices == 1


def test_illegal_choices_are_replaced_evenly() -> None:
    env = SeatEnv("leduc", seat=0, seed=2)
    raised = 0
    for _ in range(200):
        env.reset()
        env.step(0)
        moves = env.game.draw(0).rsplit("   ", 1)[1]
        assert moves[0] in "cr"
        raised += moves[0] == "r"
    assert 60 < raised < 140


def test_illegal_choices_are_refused_where_that_was_chosen() -> None:
    env = SeatEnv("leduc", seat=0, seed=2, illegal="refuse")
    seen, _ = env.reset()
    with pytest.raises(GameError, match="not legal"):
        env.step(0)
    assert env.game.decisions().observation[0].tolist() == seen.tolist()
    env.step(1)
    with pytest.raises(GameError, match="choose from random, refuse"):
        SeatEnv("leduc", illegal="lose")


def test_a_match_at_its_turn_limit_is_truncated(tmp_path: Path) -> None:
    file = tmp_path / "endless.py"
    file.write_text(ENDLESS)
    env = SeatEnv(str(file), seat=0)
    seen, _ = env.reset()
    assert seen.tolist() == [0]
    assert env.step(0)[1:4] == (0.5, False, False)
    assert env.step(0)[1:4] == (0.5, False, False)
    assert env.step(0)[1:4] == (0.25, False, True)
    with pytest.raises(GameError, match="is over; reset"):
        env.step(0)


def test_an_opponent_can_be_any_player() -> None:
    bot = make_bot("beastybar", "skunk", make("beastybar").spec, 0)
    by_player, by_name = SeatEnv("beastybar", bot, 1), SeatEnv("beastybar", "skunk", 1)
    for _ in range(5):
        np.testing.assert_array_equal(by_player.reset()[0], by_name.reset()[0])


def test_a_seat_or_a_bot_that_is_not_there_is_refused() -> None:
    with pytest.raises(GameError, match="seat is 2; kuhn has seats 0 to 1"):
        SeatEnv("kuhn", seat=2)
    with pytest.raises(GameError, match="no bot 'nobody'"):
        SeatEnv("kuhn", opponent="nobody")


def test_a_seeded_reset_starts_the_same_series_of_matches() -> None:
    env = SeatEnv("beastybar", seat=1)
    series = []
    for _ in range(2):
        seen = [env.reset(seed=8)[0].tobytes()]
        seen += [env.reset()[0].tobytes() for _ in range(4)]
        series.append(seen)
    assert series[0] == series[1]
    assert len(set(series[0])) == 5
