"""A bot's handle: what it is asked, what it writes, and how games end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import (
    CHOICES,
    agent_of,
    files_all,
    files_of,
    folder_of,
    only,
    spec_of,
    view,
)

from lanista.errors import LanistaError
from lanista.games.streams import uniforms
from lanista.live import Agent
from lanista.live.agent.agent import stream_of
from lanista.live.agent.inference import load
from lanista.live.files.game_file import GameFile
from lanista.live.files.policy_folder import PolicyFolder


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return folder_of(tmp_path / "policy")


# What is written.


def test_each_reward_lies_on_the_action_that_caused_it(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        game = agent.game("two steps")
        game.act(view(0))
        game.reward(1.0)
        game.act(view(1))
        game.reward(-2.0)
        game.reward(-0.5)
        game.end(-1)
    played = only(tmp_path)
    assert played.rewards.tolist() == [1.0, -2.5]
    assert played.outcome.tolist() == [-1.0]
    assert played.header.early_reward == 0.0


def test_a_reward_before_the_first_action_belongs_to_none(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        game = agent.game("early")
        game.reward(3.0)
        game.act(view(0))
        game.reward(1.0)
        game.end(1)
        without = agent.game("no action at all")
        without.reward(5.0)
        without.end(0)
    games = files_of(tmp_path / "spool")
    assert (games["early"].header.early_reward, games["early"].rewards.tolist()) == (3.0, [1.0])
    assert games["no action at all"].header.early_reward == 5.0
    assert games["no action at all"].outcome.tolist() == [0.0]


def test_the_opponent_a_bot_names_is_kept_with_the_game(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        for name, given in (("named", ("kiter",)), ("unnamed", ())):
            game = agent.game(name, *given)
            game.act(view(0))
            game.end(1)
        for wrong in ("a\nb", "x" * 201, None, 7):
            with pytest.raises(LanistaError, match="An opponent is"):
                agent.game("wrong", opponent=wrong)  # type: ignore[arg-type]
    games = files_of(tmp_path / "spool")
    assert {name: game.header.opponent for name, game in games.items()} == {
        "named": "kiter",
        "unnamed": "",
    }


def test_what_was_overruled_is_environment(tmp_path: Path, folder: PolicyFolder) -> None:
    with agent_of(tmp_path) as agent:
        game = agent.game("overruled")
        game.act(view(0))
        game.overrule((0, 1))  # nothing before it: what it brings belongs to no action
        game.reward(10.0)
        kept = game.act(view(1))
        game.reward(1.0)
        game.act(view(2))
        game.reward(2.0)  # before it is known that the rules play
        game.overrule()
        game.reward(4.0)
        game.act(view(3))
        game.overrule((2, 0))
        game.reward(8.0)
        game.act(view(4))
        game.reward(16.0)
        game.end(1)
        assert (agent.report().decisions, agent.report().overruled) == (5, 3)
    played = only(tmp_path)
    assert played.overruled.tolist() == [True, False, True, True, False]
    assert played.rewards.tolist() == [0.0, 15.0, 0.0, 0.0, 16.0]
    assert played.header.early_reward == 10.0
    assert played.actions[[0, 2, 3]].tolist() == [[0, 1], [-1, -1], [2, 0]]
    assert tuple(played.actions[1]) == kept
    assert (played.log_probs == 0).tolist() == [True, False, True, True, False]
    assert played.decisions.tolist() == [1, 4]


def test_what_was_seen_is_recorded_bit_for_bit_though_the_bot_reuses_its_arrays(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    seen, legal = np.zeros(6, np.float32), np.zeros(CHOICES, np.bool_)
    wanted: list[tuple[Any, Any]] = []
    drawn = np.random.default_rng(5)
    with agent_of(tmp_path) as agent:
        game = agent.game("reused")
        for step in range(50):
            seen[:] = view(step)
            legal[:] = drawn.random(CHOICES) < 0.5
            legal[[drawn.integers(3), 3 + drawn.integers(2)]] = True
            wanted.append((seen.copy(), legal.copy()))
            first, second = game.act(seen, legal)  # type: ignore[misc]
            assert legal[first]
            assert legal[3 + second]
            seen[:], legal[:] = -7, False
        game.end(None)
    played = only(tmp_path)
    assert (played.observations == [row for row, _ in wanted]).all()
    assert (played.legal == [row for _, row in wanted]).all()


def test_a_game_can_be_explained_from_its_file_and_its_policy(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path, seed=9) as agent:
        game = agent.game("explained")
        shown = [game.act(view(step)) for step in range(40)]
        game.end(1)
    played = only(tmp_path)
    assert [tuple(row) for row in played.actions.tolist()] == shown
    policy = load(folder.path_of(played.header.policy), played.header.policy)
    for step in range(40):
        drawn = uniforms(9, np.array([stream_of("explained")]), np.zeros(1), np.array([step]), 2)
        choice = policy.decide(
            played.observations[step][None], played.legal[step][None], policy.start, drawn[0]
        )
        assert choice.action.tolist() == played.actions[step].tolist()
        assert choice.log_prob == pytest.approx(float(played.log_probs[step]), abs=1e-6)


def test_several_games_at_once_do_not_touch_each_other(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    def play(game: Any, number: int, steps: int) -> list[Any]:
        shown = []
        for step in range(steps):
            shown.append(game.act(view(step, number)))
            game.reward(number + step / 64)
        return shown

    apart, together = tmp_path / "apart", tmp_path / "together"
    for spool, at_once in ((apart, False), (together, True)):
        with Agent(tmp_path / "policy", spool) as agent:
            games = [agent.game(f"game {number}") for number in range(6)]
            if at_once:
                for step in range(30):
                    for number, game in enumerate(games):
                        game.act(view(step, number))
                        game.reward(number + step / 64)
            else:
                for number, game in enumerate(games):
                    play(game, number, 30)
            for number, game in enumerate(games):
                game.end(number - 3)
    one, other = files_of(apart), files_of(together)
    assert len(one) == 6
    for name in one:
        for column in ("observations", "actions", "log_probs", "rewards", "outcome"):
            assert (getattr(one[name], column) == getattr(other[name], column)).all()
    assert len({game.actions.tobytes() for game in one.values()}) == 6


def test_games_in_threads_are_all_written(tmp_path: Path, folder: PolicyFolder) -> None:
    with agent_of(tmp_path) as agent:

        def play(thread: int) -> None:
            for number in range(10):
                with agent.game(f"{thread}/{number}") as game:
                    for step in range(20):
                        game.act(view(step, thread))
                        game.reward(1.0)
                    game.end(1.0 if number % 2 else -1.0)

        threads = [threading.Thread(target=play, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    report = agent.report()
    assert (report.started, report.running, report.decisions) == (80, 0, 1600)
    assert (report.games.written, report.games.dropped, report.games.waiting) == (80, 0, 0)
    games = files_of(tmp_path / "spool")
    assert len(games) == 80
    assert all(game.rewards.tolist() == [1.0] * 20 for game in games.values())


def test_one_head_answers_with_a_number(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy", spec=spec_of(heads=(CHOICES,)))
    with agent_of(tmp_path) as agent, agent.game("one head") as game:
        action = game.act(view(), [0, 0, 1, 0, 0])
        assert (type(action), action) == (int, 2)
        game.overrule(4)


# What ends how.


def test_a_game_without_result_is_cut_off_and_never_a_loss(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        for name, leave in (("said", True), ("left", False)):
            with agent.game(name) as game:
                game.act(view())
                game.reward(-1.0)
                if leave:
                    game.end(None)
        with pytest.raises(ZeroDivisionError), agent.game("raised"):
            1 / 0  # noqa: B018
        agent.game("never ended").act(view())
    games = files_of(tmp_path / "spool")
    assert set(games) == {"said", "left", "raised", "never ended"}
    assert all(game.header.cut_off and not len(game.outcome) for game in games.values())
    assert not any(game.header.crashed for game in games.values())


def test_calls_out_of_order_are_refused_and_change_nothing(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        game = agent.game("order")
        with pytest.raises(LanistaError, match="no action to overrule"):
            game.overrule()
        game.act(view(0))
        with pytest.raises(LanistaError, match="is being played"):
            agent.game("order")
        game.overrule((1, 1))
        with pytest.raises(LanistaError, match="no action to overrule"):
            game.overrule()
        game.act(view(1))
        with pytest.raises(LanistaError, match="heads do not have"):
            game.overrule((3, 0))
        with pytest.raises(LanistaError, match="one number for each head"):
            game.overrule(1)
        game.end(1)
        for call in (game.end, lambda: game.act(view()), lambda: game.reward(1), game.overrule):
            with pytest.raises(LanistaError, match="has ended"):
                call()
        agent.game("order").end(None)  # the id is free again
        for name in ("", "x" * 201, "line\nbreak", 7, None):
            with pytest.raises(LanistaError, match="game id"):
                agent.game(name)  # type: ignore[arg-type]
    with pytest.raises(LanistaError, match="is closed"):
        agent.game("after")
    assert only_named(tmp_path, "order", steps=2).overruled.tolist() == [True, False]


def only_named(tmp_path: Path, name: str, steps: int) -> GameFile:
    games = [game for game in files_all(tmp_path) if game.header.game_id == name]
    (found,) = [game for game in games if game.header.steps == steps]
    return found


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1e10, "1", True, None, [1, 2]])
def test_amounts_that_are_none_are_refused(
    tmp_path: Path, folder: PolicyFolder, wrong: Any
) -> None:
    with agent_of(tmp_path) as agent, agent.game("amounts") as game:
        game.act(view())
        with pytest.raises(LanistaError, match="A reward is"):
            game.reward(wrong)
        if wrong is not None:
            with pytest.raises(LanistaError, match="An outcome is"):
                game.end(wrong)
        game.reward(np.float32(0.5))
        game.end(np.int64(1))  # type: ignore[arg-type]
    assert only(tmp_path).rewards.tolist() == [0.5]


@pytest.mark.parametrize(
    ("observation", "said"),
    [
        (np.zeros(5), "needs 6 numbers"),
        (np.zeros((1, 6)), "needs 6 numbers"),
        (["a"] * 6, "needs 6 numbers"),
        ([0, 1, 2, float("nan"), 4, 5], "'numbers', entry 2"),
        ([0, 1, 2, 3, 4, float("inf")], "'numbers', entry 4"),
        ([0, 1e300, 2, 3, 4, 5], "'numbers', entry 0"),
        ([4, 0, 0, 0, 0, 0], "a category below 4"),
        ([-1, 0, 0, 0, 0, 0], "a category below 4"),
        ([0.5, 0, 0, 0, 0, 0], "a category below 4"),
    ],
)
def test_observations_that_the_policy_cannot_mean_are_refused(
    tmp_path: Path, folder: PolicyFolder, observation: Any, said: str
) -> None:
    with agent_of(tmp_path) as agent, agent.game("views") as game:
        with pytest.raises(LanistaError, match=said):
            game.act(observation)
        assert game.decisions == 0


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ([True] * 4, "needs 5 flags"),
        ([0.5] * 5, "needs 5 flags"),
        ([1, 1, 1, 0, 0], "'part1' without"),
        ([0, 0, 0, 1, 1], "'part0' without"),
    ],
)
def test_masks_without_a_choice_are_refused(
    tmp_path: Path, folder: PolicyFolder, mask: Any, said: str
) -> None:
    with (
        agent_of(tmp_path) as agent,
        agent.game("masks") as game,
        pytest.raises(LanistaError, match=said),
    ):
        game.act(view(), mask)
