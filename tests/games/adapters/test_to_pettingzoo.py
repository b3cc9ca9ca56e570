"""Our games as PettingZoo environments, by PettingZoo's own tests and by the way back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanista.games import GameError, Stream, make, make_bot
from lanista.games.adapters.from_pettingzoo import FromPettingZoo
from lanista.games.contract import Decisions, Game

pytest.importorskip("pettingzoo")
from pettingzoo.test import api_test, parallel_api_test, seed_test

from lanista.games.adapters.to_pettingzoo import aec_env, parallel_env

TURNS: list[tuple[str, dict[str, Any]]] = [
    ("kuhn", {}),
    ("leduc", {}),
    ("liars_dice", {}),
    ("phantom_ttt", {}),
    ("beastybar", {}),
    ("beastybar", {"seats": 4}),
    ("arena", {"duration": 10.0}),
    ("arena", {"seats": 3, "duration": 10.0}),
]
TOGETHER: list[tuple[str, dict[str, Any]]] = [
    ("arena", {"duration": 10.0}),
    ("arena", {"seats": 4, "duration": 10.0}),
]

LATE = """
from lanista.games import Facts, PythonGame, Step, View

class Late(PythonGame):
    \"\"\"Seat 2 is out after the first turn and is paid at the end.\"\"\"

    facts = Facts(seats=3, longest=3, simultaneous=True)
    observation = 1
    moves = 2

    def deal(self, rng):
        return {"turn": 0}

    def apply(self, state, moves, rng):
        state["turn"] += 1
        if state["turn"] == 3:
            return Step(returns=[1, -3, 2])
        return Step(rewards=[0.5, 0, 0], out=[2])

    def view(self, state, seat):
        return View([state["turn"]], [0, 1])
"""

quiet = pytest.mark.filterwarnings("ignore::UserWarning")


@quiet
@pytest.mark.parametrize(("name", "settings"), TURNS)
def test_pettingzoos_api_test_passes(name: str, settings: dict[str, Any]) -> None:
    api_test(aec_env(name, **settings), num_cycles=100)


@quiet
@pytest.mark.parametrize(("name", "settings"), TURNS)
def test_pettingzoos_seed_test_passes(name: str, settings: dict[str, Any]) -> None:
    seed_test(lambda: aec_env(name, **settings), num_cycles=50)


@quiet
@pytest.mark.parametrize(("name", "settings"), TOGETHER)
def test_pettingzoos_parallel_api_test_passes(name: str, settings: dict[str, Any]) -> None:
    parallel_api_test(parallel_env(name, **settings), num_cycles=120)


def direct(name: str, settings: dict[str, Any], match: int, outer_seed: int) -> Game:
    """Return the game that stands behind match `match` of the game made from our environment."""
    chance = Stream.keyed(outer_seed, match, 0, "chance")
    game = make(name, seed=chance.below(2**31 - 1), **settings)
    game.start([0], [0])
    return game


def assert_same(mine: Decisions, row: int, other: Decisions, at: int, games: list[Game]) -> None:
    assert mine.seat[row] == other.seat[at]
    assert mine.observation.dtype == other.observation.dtype
    np.testing.assert_array_equal(mine.observation[row], other.observation[at])
    np.testing.assert_array_equal(mine.mask[row], other.mask[at])
    seat = mine.seat[row]
    assert games[0].reward[0, seat] == pytest.approx(games[1].reward[0, seat])


@pytest.mark.parametrize(("name", "settings"), TURNS)
def test_there_and_back_gives_the_same_decisions_and_returns(
    name: str, settings: dict[str, Any]
) -> None:
    back = FromPettingZoo(lambda: aec_env(name, **settings), seed=11)
    bot = make_bot(name, "random", make(name, **settings).spec, 4)
    for match in range(5):
        there = direct(name, settings, match, 11)
        back.start([0], [match])
        ended: list[int] = []
        while not ended:
            mine, other = back.decisions(), there.decisions()
            assert len(mine) == 1
            assert_same(mine, 0, other, 0, [back, there])
            action = bot.act(other, np.zeros(1, np.int64))
            ended = back.act([0], action).tolist()
            assert there.act([0], action).tolist() == ended
        np.testing.assert_allclose(back.returns, there.returns, rtol=1e-6)
        np.testing.assert_array_equal(back.place, there.place)
        np.testing.assert_array_equal(back.cut_off, there.cut_off)


@pytest.mark.parametrize(("name", "settings"), TOGETHER)
def test_there_and_back_together_gives_the_same_decisions_and_returns(
    name: str, settings: dict[str, Any]
) -> None:
    settings = {**settings, "duration": 60.0}
    back = FromPettingZoo(lambda: parallel_env(name, **settings), seed=2)
    bot = make_bot(name, "rusher", make(name, **settings).spec, 4)
    out_early = 0
    for match in range(3):
        there = direct(name, settings, match, 2)
        back.start([0], [match])
        ended: list[int] = []
        while not ended:
            mine, other = back.decisions(), there.decisions()
            rows = np.arange(len(other))
            assert len(mine) == len(other)
            for row in rows:
                assert_same(mine, row, other, row, [back, there])
            actions = bot.act(other, rows)
            ended = back.act(rows, actions).tolist()
            assert there.act(rows, actions).tolist() == ended
            np.testing.assert_array_equal(back.done, there.done)
            out_early += not ended and bool(there.done.any())
        np.testing.assert_allclose(back.returns, there.returns, rtol=1e-6)
    assert out_early > 0 or settings.get("seats", 2) == 2


def test_a_seat_that_is_paid_after_it_is_out_gets_it_in_turns(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text(LATE)
    env = aec_env(str(file))
    env.reset()
    earned = dict.fromkeys(env.possible_agents, 0.0)
    asked = []
    for agent in env.agent_iter():
        _, reward, ended, cut, _ = env.last()
        earned[agent] += reward
        assert not cut
        asked.append(int(agent[-1]))
        env.step(None if ended else 0)
    assert asked == [0, 1, 2, 0, 1, 0, 1, 0, 1, 2]  # Three turns, and everybody's leave.
    assert earned == {"seat_0": 1, "seat_1": -3, "seat_2": 2}


def test_a_seat_that_is_paid_after_it_is_out_is_refused_together(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text(LATE)
    env = parallel_env(str(file))
    env.reset()
    _, rewards, ended, _, _ = env.step(dict.fromkeys(env.agents, 0))
    assert rewards == {"seat_0": 0.5, "seat_1": 0, "seat_2": 0}
    assert ended == {"seat_0": False, "seat_1": False, "seat_2": True}
    assert env.agents == ["seat_0", "seat_1"]
    env.step(dict.fromkeys(env.agents, 0))
    with pytest.raises(GameError, match="pays seat_2 2"):
        env.step(dict.fromkeys(env.agents, 0))


def test_an_illegal_action_is_refused_and_changes_nothing() -> None:
    env = aec_env("leduc")
    env.reset()
    before = env.last()[0]
    assert before["action_mask"].tolist() == [0, 1, 1]
    with pytest.raises(GameError, match="not legal"):
        env.step(0)
    after = env.last()[0]
    np.testing.assert_array_equal(before["observation"], after["observation"])
    assert env.agent_selection == "seat_0"
    with pytest.raises(GameError, match="not over"):
        env.step(None)


def test_several_heads_are_multidiscrete_with_a_mask_for_each() -> None:
    env = aec_env("arena")
    env.reset(seed=3)
    sizes = [head.size for head in make("arena").spec.heads]
    assert env.action_space("seat_0").nvec.tolist() == sizes
    mask = env.last()[0]["action_mask"]
    assert [len(part) for part in mask] == sizes
    assert [part.tolist() for part in env.infos["seat_0"]["action_mask"]] == [
        part.tolist() for part in mask
    ]


def test_resets_play_the_next_match_or_the_one_asked_for() -> None:
    env = aec_env("beastybar", seed=9)
    game = make("beastybar", seed=9)
    for options, match in ((None, 0), (None, 1), ({"match": 40}, 40), (None, 41)):
        env.reset(options=options)
        game.start([0], [match])
        np.testing.assert_array_equal(env.last()[0]["observation"], game.decisions().observation[0])


def test_games_played_in_turns_are_not_offered_together() -> None:
    with pytest.raises(GameError, match="kuhn is played in turns; use aec_env"):
        parallel_env("kuhn")


def test_a_missing_action_and_a_step_after_the_end_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "once.py"
    file.write_text(LATE.replace('state["turn"] == 3', 'state["turn"] == 1'))
    env = parallel_env(str(file))
    env.reset()
    with pytest.raises(GameError, match="waits for seat_1"):
        env.step({"seat_0": 0, "seat_2": 0})
    _, rewards, ended, _, _ = env.step(dict.fromkeys(env.agents, 0))
    assert rewards == {"seat_0": 1, "seat_1": -3, "seat_2": 2}
    assert all(ended.values())
    with pytest.raises(GameError, match="is over; reset"):
        env.step({})


def test_observations_that_were_given_stay_as_they_were() -> None:
    env = aec_env("beastybar")
    env.reset()
    kept = []
    for _ in range(10):
        seen = env.last()[0]
        kept.append((seen["observation"], seen["observation"].copy()))
        env.step(int(np.flatnonzero(seen["action_mask"])[0]))
    for given, then in kept:
        np.testing.assert_array_equal(given, then)
    assert len({then.tobytes() for _, then in kept}) == 10


def test_a_match_can_be_drawn() -> None:
    env = aec_env("kuhn", render_mode="ansi")
    env.reset()
    assert env.render() == env.table.game.draw(0) != ""
    assert aec_env("kuhn").render() is None
    env.close()
