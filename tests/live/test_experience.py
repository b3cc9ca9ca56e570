"""Live games as a learner reads them, against what is worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from practice import learner_of, settings_of, written
from toy import agent_of, files_all, view

from lanista.learn.learner import Learner
from lanista.live.files.game_file import GameFile
from lanista.live.learner.experience import TrainingGame, distances, predictions, unrolls_of
from lanista.live.learner.settings import LiveSettings
from lanista.nets.settings import Network

LSTM = Network("lstm", width=8, layers=1)
ACTIONS = [(0, 0), (1, 1), (2, 0), (0, 1), (1, 0), (2, 1)]
SETTINGS = settings_of()


def training_game(game: GameFile, settings: LiveSettings = SETTINGS) -> TrainingGame:
    return TrainingGame.of(game, settings, 0)


def known_of(learner: Learner, games: list[GameFile], settings: LiveSettings) -> Any:
    """Return the unrolls of games, and all that an update knows about them."""
    unrolls = unrolls_of([training_game(game, settings) for game in games], settings, learner)
    weights = {name: float(value) for name, value in settings.learning.terms.items()}
    return unrolls, learner._inputs(unrolls, weights)


def by_hand(learner: Learner, game: GameFile, settings: LiveSettings) -> tuple[Any, Any]:
    """Return V-trace advantages and TD(λ) targets of a game's own decisions, step by step.

    Espeholt et al. 2018: v_t = V_t + ρ_t (r_t + γ V_{t+1} − V_t) + γ c_t (v_{t+1} − V_{t+1}).
    """
    how = settings.learning
    own = [step for step in range(len(game.actions)) if not game.overruled[step]]
    with torch.no_grad():
        seen = torch.from_numpy(game.observations[own].copy())
        value = learner.critic(seen).double().tolist()
        logits = learner.policy.head(learner.policy.torso(seen))
        legal = torch.from_numpy(game.legal[own].copy())
        log_probs = learner.policy.heads.log_probs(logits, legal)
        actions = torch.from_numpy(game.actions[own].copy()).long()
        chosen = learner.policy.heads.joint(log_probs, actions).double().tolist()
    reward = [float(settings.reward_weight * game.rewards[step]) for step in own]
    if game.header.cut_off:
        last, own, reward = value[len(own) - 1], own[:-1], reward[:-1]
    else:
        last, reward[-1] = 0.0, reward[-1] + settings.outcome_weight * float(game.outcome[0])
    ratio = [math.exp(chosen[t] - float(game.log_probs[step])) for t, step in enumerate(own)]
    advantage, target = [0.0] * len(own), [0.0] * len(own)
    next_value, next_v, next_target = last, last, last
    for t in reversed(range(len(own))):
        gamma = how.gamma if t + 1 < len(own) or game.header.cut_off else 0.0
        advantage[t] = min(1, ratio[t]) * (reward[t] + gamma * next_v - value[t])
        delta = min(1, ratio[t]) * (reward[t] + gamma * next_value - value[t])
        c = how.lam * min(1, ratio[t])
        next_v = value[t] + delta + gamma * c * (next_v - next_value)
        mixed = (1 - how.lam) * next_value + how.lam * next_target
        next_target = target[t] = reward[t] + gamma * mixed
        next_value = value[t]
    return advantage, target


def test_each_reward_lies_on_the_action_that_caused_it(tmp_path: Path) -> None:
    learner_of(tmp_path, SETTINGS)
    with agent_of(tmp_path) as agent, agent.game("two steps") as game:
        game.reward(64)  # Before any action: it belongs to none.
        game.act(view(0))
        game.reward(1)
        game.act(view(1))
        game.reward(2)
        game.reward(4)
        game.act(view(2))
        game.end(0)
    (file,) = files_all(tmp_path)
    assert training_game(file).rewards.tolist() == [1, 6, 0]


def test_what_overruled_steps_bring_goes_to_the_policys_decision_before_them(
    tmp_path: Path,
) -> None:
    learner_of(tmp_path, SETTINGS)
    with agent_of(tmp_path) as agent, agent.game("defended") as game:
        for step, rules in enumerate([True, False, True, True, False, True]):
            game.act(view(step))
            if rules:
                game.overrule()
            game.reward(10**step)
        game.end(1)
    (file,) = files_all(tmp_path)
    found = training_game(file)
    assert found.own.tolist() == [1, 4]
    # What the rules brought before the policy did anything is nobody's.
    assert found.rewards.tolist() == [10 + 100 + 1000, 10**4 + 10**5 + 1]


def test_the_outcome_lies_at_the_last_own_decision_with_its_weight() -> None:
    settings = settings_of(outcome_weight=3.0, reward_weight=0.5)
    game = written(ACTIONS[:4], [2, 4, 0, 0], -1, overruled=[2, 3])
    assert training_game(game, settings).rewards.tolist() == [1, 2 - 3]
    assert training_game(game, settings).next is None


def test_a_game_cut_off_is_never_a_loss_and_goes_on_at_its_last_decision() -> None:
    found = training_game(written(ACTIONS[:4], [1, 2, 4, 8], None, overruled=[3]))
    assert found.own.tolist() == [0, 1]
    assert found.rewards.tolist() == [1, 2]
    assert found.next == 2
    assert found.came(1.0) is None


def test_the_return_that_came_is_discounted_from_the_first_decision() -> None:
    assert training_game(written(ACTIONS[:3], [1, 2, 4], -1)).came(0.5) == 1 + 0.5 * 2 + 0.25 * 3


def test_games_without_a_decision_of_the_policy_teach_nothing() -> None:
    assert len(training_game(written(ACTIONS[:2], [0, 0], 1, overruled=[0, 1])).own) == 0
    assert len(training_game(written(ACTIONS[:1], [5], None)).own) == 0
    assert len(training_game(written([], [], 1)).own) == 0


def test_lanes_are_cut_at_the_unroll_length_and_name_the_decision_after_them(
    tmp_path: Path,
) -> None:
    settings = settings_of(unroll_length=2)
    learner = learner_of(tmp_path, settings)
    # Own decisions 0, 2, 3, 4, 5; the second game goes on at its step 3.
    games = [
        written(ACTIONS, range(6), 1, overruled=[1]),
        written(ACTIONS[:4], range(4), None, seed=1),
    ]
    unrolls, _ = known_of(learner, games, settings)
    assert unrolls.index.T.tolist() == [[0, 1], [2, 3], [4, -1], [5, 6], [7, -1]]
    assert unrolls.turn.tolist() == [0, 2, 3, 4, 5, 0, 1, 2]
    assert unrolls.goes_on.tolist() == [True, True, False, True, True]
    assert unrolls.ended.tolist() == [False] * 4 + [True] + [False] * 3
    after = unrolls.next_observation
    for lane, (game, step) in enumerate([(0, 3), (0, 5), (0, None), (1, 2), (1, 3)]):
        wanted = np.zeros(6) if step is None else games[game].observations[step]
        assert np.array_equal(after[lane], wanted), lane


@pytest.mark.parametrize("length", [1, 2, 3, 512])
@pytest.mark.parametrize("lam", [0.9, 1.0])
def test_targets_of_games_are_those_worked_out_by_hand(
    tmp_path: Path, length: int, lam: float
) -> None:
    settings = settings_of(learning={"gamma": 0.8, "lam": lam}, unroll_length=512)
    learner = learner_of(tmp_path, settings)
    drawn = np.random.default_rng(3)
    games = [
        written(ACTIONS, drawn.normal(size=6), 1, overruled=[1, 4]),
        written(ACTIONS[:3], drawn.normal(size=3), None, seed=1, log_prob=-0.3),
        written(ACTIONS[:5], drawn.normal(size=5), None, seed=2, overruled=[0, 3], log_prob=-2.5),
        written(ACTIONS[:1], [0.5], -1, seed=3),
    ]
    _, known = known_of(learner, games, settings)
    found = [by_hand(learner, game, settings) for game in games]
    advantage, target = (np.concatenate([part[side] for part in found]) for side in (0, 1))
    if length == 512:
        np.testing.assert_allclose(known.advantage, advantage, atol=1e-5)
        np.testing.assert_allclose(known.value_target, target, atol=1e-5)
        return
    # A lane's end takes the value for what comes after it, so only last decisions are the same.
    _, cut = known_of(learner, games, replace(settings, unroll_length=length))
    ends = np.cumsum([len(part[0]) for part in found]) - 1
    np.testing.assert_allclose(cut.value_target[ends], target[ends], atol=1e-5)
    np.testing.assert_allclose(cut.advantage[ends], advantage[ends], atol=1e-5)


def test_a_shorter_lane_that_goes_on_takes_the_value_of_what_comes_after_it(
    tmp_path: Path,
) -> None:
    settings = settings_of(learning={"lam": 1.0}, unroll_length=512)
    learner = learner_of(tmp_path, settings)
    short, long = written(ACTIONS[:2], [3, 0], None), written(ACTIONS, [0] * 6, 1, seed=1)
    _, alone = known_of(learner, [short], settings)
    _, beside = known_of(learner, [short, long], settings)
    with torch.no_grad():
        value = float(learner.critic(torch.from_numpy(short.observations[1:2].copy())))
    assert float(alone.value_target[0]) == pytest.approx(3 + value, abs=1e-5)
    assert float(beside.value_target[0]) == pytest.approx(3 + value, abs=1e-5)


@pytest.mark.parametrize("network", [Network("mlp", width=8, layers=1), LSTM])
@pytest.mark.parametrize("length", [2, 512])
def test_with_unchanged_weights_the_ratio_is_one(
    tmp_path: Path, network: Network, length: int
) -> None:
    settings = settings_of(unroll_length=length)
    learner = learner_of(tmp_path, settings, network)
    with agent_of(tmp_path) as agent:
        for number, rules in enumerate([{1, 4}, {0, 2, 3}, set(), {7}]):
            game = agent.game(f"game {number}")
            for step in range(8):
                game.act(view(step, number))
                if step in rules:
                    game.overrule()
            game.end(None if number == 2 else 1)
    unrolls, known = known_of(learner, files_all(tmp_path), settings)
    assert unrolls.decisions == 6 + 5 + 7 + 7
    np.testing.assert_allclose(known.chosen.detach().numpy(), unrolls.log_prob, atol=1e-5)


def test_a_policy_that_remembers_judges_what_follows_with_its_memory(tmp_path: Path) -> None:
    settings = settings_of(learning={"critic_sees": "features"}, unroll_length=2)
    learner = learner_of(tmp_path, settings, LSTM)
    game = written(ACTIONS, [0] * 6, None, overruled=[1])
    unrolls, _ = known_of(learner, [game], settings)
    memory, values = torch.zeros(1, learner.policy.state_size), []
    with torch.no_grad():
        for row in game.observations:
            _, features, memory = learner.policy.step(torch.from_numpy(row[None].copy()), memory)
            values.append(float(learner.critic(features)))
    # Lanes: step 0; 2 and 3; 4. What follows them: steps 2, 4 and 5.
    assert unrolls.index.T.tolist() == [[0, -1], [1, 2], [3, -1]]
    np.testing.assert_allclose(unrolls.next_value, [values[2], values[4], values[5]], atol=1e-6)
    (expected,) = predictions([training_game(game, settings)], learner)
    assert expected == pytest.approx(values[0], abs=1e-6)


@pytest.mark.parametrize("network", [Network("mlp", width=8, layers=1), LSTM])
def test_what_was_overruled_and_what_is_padded_changes_no_loss(
    tmp_path: Path, network: Network
) -> None:
    learner = learner_of(tmp_path, SETTINGS, network)
    game = written(ACTIONS, [1, 0, 2, 0, 0, 1], 1, overruled=[1, 3])
    other = replace(game, actions=game.actions.copy(), masks=game.masks.copy())
    other.actions[game.overruled] = (2, 1)
    other.masks[game.overruled] = 0b10010000
    if not learner.policy.state_size:
        # A memory goes through what was overruled; one without does not even see it.
        other = replace(other, observations=game.observations.copy())
        other.observations[game.overruled] = view(9, 9)
    short = written(ACTIONS[:1], [4], 0, seed=2)
    log = [updated(tmp_path / str(i), network, [one, short]) for i, one in enumerate([game, other])]
    assert log[0] == log[1]
    # The rows of a lane say nothing about those of another: a longer one only pads the first.
    _, alone = known_of(learner, [short], SETTINGS)
    _, padded = known_of(learner, [short, game], SETTINGS)
    assert float(padded.advantage[0]) == pytest.approx(float(alone.advantage[0]), abs=1e-6)
    assert float(padded.value_target[0]) == pytest.approx(float(alone.value_target[0]), abs=1e-6)


def updated(path: Path, network: Network, games: list[GameFile]) -> dict[str, float]:
    learner = learner_of(path, SETTINGS, network)
    return learner.update(unrolls_of([training_game(game) for game in games], SETTINGS, learner))


def test_the_distance_of_a_policy_is_the_mean_estimate_of_the_divergence(tmp_path: Path) -> None:
    learner = learner_of(tmp_path, SETTINGS)
    games = [
        written(ACTIONS, [0] * 6, 1, overruled=[2], log_prob=-0.7),
        written(ACTIONS[:2], [0, 0], 1, seed=1),
    ]
    unrolls, known = known_of(learner, games, SETTINGS)
    gap = known.chosen.detach().double().numpy() - unrolls.log_prob
    each = np.exp(gap) - 1 - gap
    wanted = [each[:5].mean(), each[5:].mean()]
    apart = distances(unrolls, learner, np.array([0, 1]))
    np.testing.assert_allclose(apart, wanted, rtol=1e-5)
    assert min(wanted) > 0
    together = distances(unrolls, learner, np.array([0, 0]))
    np.testing.assert_allclose(together, [each.mean()], rtol=1e-5)


def test_the_last_decision_of_a_game_has_a_gradient(tmp_path: Path) -> None:
    settings = settings_of(learning={"terms": {"policy": 1.0}, "normalise_advantages": False})
    learner = learner_of(tmp_path, settings)
    unrolls, _ = known_of(learner, [written(ACTIONS[:1], [0], 1)], settings)
    log = learner.update(unrolls)
    assert log["gradient_norm/policy"] > 0
