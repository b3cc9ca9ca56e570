"""Every column that live games become, and what the critic says before them, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from practice import Bench, learner_of, numbered, policy_of, quick, settings_of, written
from toy import CHOICES

from lanista.live.files.game_file import GameFile
from lanista.live.learner.experience import TrainingGame, predictions, unrolls_of
from lanista.live.learner.weights import Weights
from lanista.nets.files.policy_file import load_policy
from lanista.nets.settings import Network

LSTM = Network("lstm", width=8, layers=1)
ACTIONS = [(0, 0), (1, 1), (2, 0), (0, 1), (1, 0), (2, 1)]


def masked(game: GameFile, seed: int) -> GameFile:
    """Return a game in which not all was legal, but what was done."""
    legal = np.random.default_rng(seed).random((len(game.actions), CHOICES)) < 0.5
    for step, (first, second) in enumerate(game.actions):
        legal[step, [max(first, 0), 3 + max(second, 0)]] = True
    return replace(game, masks=np.packbits(legal, axis=1))


def games() -> list[GameFile]:
    return [
        masked(written(ACTIONS, range(6), 1, overruled=[0, 3], log_prob=-0.7), 1),
        masked(written(ACTIONS[:4], range(4), None, seed=1), 2),
        masked(written(ACTIONS[:2], [5, 7], -2, seed=2, log_prob=-0.2), 3),
    ]


def test_every_column_is_taken_from_the_policys_own_decisions(tmp_path: Path) -> None:
    settings = settings_of(unroll_length=2, reward_weight=0.5, outcome_weight=3.0)
    learner = learner_of(tmp_path, settings)
    played = games()
    training_games = [
        TrainingGame.of(game, settings, update)
        for game, update in zip(played, (4, 9, 2), strict=True)
    ]
    found = unrolls_of(training_games, settings, learner)
    own = [(0, 1), (0, 2), (0, 4), (0, 5), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
    for name, source in (("observation", "observations"), ("mask", "legal"), ("action", "actions")):
        wanted = np.array([getattr(played[game], source)[step] for game, step in own])
        np.testing.assert_array_equal(getattr(found, name), wanted, name)
    assert found.log_prob.tolist() == pytest.approx([-0.7] * 4 + [-1.5] * 3 + [-0.2] * 2)
    assert found.match.tolist() == [game for game, _ in own]
    assert found.turn.tolist() == [step for _, step in own]
    assert found.update.tolist() == [4] * 4 + [9] * 3 + [2] * 2
    # Half of what the file says, and three times the outcome on the last.
    assert found.reward.tolist() == [0.5, 1.0, 2.0, 2.5 + 3.0, 0.0, 0.5, 1.0, 2.5, 3.5 - 6.0]
    after = [(0, 4), None, (1, 2), (1, 3), None]
    assert found.goes_on.tolist() == [place is not None for place in after]
    assert found.next_mask is not None
    for lane, place in enumerate(after):
        wanted = np.zeros(CHOICES) if place is None else played[place[0]].legal[place[1]]
        np.testing.assert_array_equal(found.next_mask[lane], wanted)
    assert not found.mask.all()


@pytest.mark.parametrize(
    ("network", "sees"),
    [
        (Network("mlp", width=8, layers=1), "seat"),
        (Network("mlp", width=8, layers=1), "features"),
        (LSTM, "features"),
    ],
)
def test_a_prediction_is_the_critics_at_the_first_own_decision(
    tmp_path: Path, network: Network, sees: Any
) -> None:
    settings = settings_of(learning={"critic_sees": sees})
    learner = learner_of(tmp_path, settings, network)
    played = [*games(), written(ACTIONS[:2], [0, 0], 1, overruled=[0, 1], seed=5)]
    found = predictions([TrainingGame.of(game, settings, 0) for game in played], learner)
    assert found[-1] is None
    for game, value, first in zip(played, found, (1, 0, 0), strict=False):
        seen = torch.from_numpy(game.observations.copy())
        with torch.no_grad():
            features, memory = learner.policy.torso(seen[first : first + 1]), None
            if network is LSTM:
                memory = torch.zeros(1, learner.policy.state_size)
                for step in range(first + 1):
                    features, memory = learner.policy.torso.step(seen[step : step + 1], memory)
            expected = learner.critic(seen[first : first + 1] if sees == "seat" else features)
        assert value == pytest.approx(float(expected), rel=1e-5)


def test_a_row_and_the_log_say_how_old_the_weights_were_and_what_was_expected(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, settings_of(staleness=50))
    first = bench.stable
    with bench.start() as learner:
        ages = []
        for number in range(4):
            game = numbered(number, first, 1.0, serial=1)
            training_game = TrainingGame.of(game, learner.settings, 0)
            (expected,) = predictions([training_game], learner.weights.learner)
            bench.spool.write(game)
            learner.step()
            row = learner.ledger.games()[-1]
            assert row.predicted == pytest.approx(expected)
            ages.append(row.staleness)
        assert ages == [0, 1, 2, 3]
        assert [age for _, age in learner.ledger.metrics("lag/mean")] == [0.0, 1.0, 2.0, 3.0]


def test_a_candidate_is_the_averaged_weights_and_says_where_it_came_from(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=4), {"average": 0.9, "lr": 0.05}))
    stable = bench.stable
    with bench.start() as learner:
        bench.play(1, -1)
        learner.step()
        assert bench.folder.pointer().candidate is None
        bench.play(1, -1)
        learner.step()
        candidate = bench.folder.pointer().candidate
        assert candidate is not None
        loaded = load_policy(bench.folder.path_of(candidate))
        mine = learner.weights.learner
        for held, policy in ((mine.best, True), (mine.policy, False)):
            theirs = loaded.policy.state_dict()
            same = all(
                torch.equal(value, theirs[name]) for name, value in held.state_dict().items()
            )
            assert same == policy
        assert list(loaded.header.parents) == [stable]
        assert loaded.header.step == 2


def test_weights_that_return_are_a_policys_in_every_copy_and_remember_no_step(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, settings_of(learning={"average": 0.9, "lr": 0.05}))
    other = bench.folder.add(policy_of(3))
    weights = Weights(bench.folder, bench.settings, bench.stable)
    training_games = [TrainingGame.of(game, bench.settings, 0) for game in games()]
    weights.learner.update(unrolls_of(training_games, bench.settings, weights.learner))
    critic = {name: value.clone() for name, value in weights.learner.critic.state_dict().items()}
    assert not weights.are(bench.stable)
    weights.return_to(other)
    assert weights.are(other)
    assert weights.base == other
    theirs = load_policy(bench.folder.path_of(other)).policy.state_dict()
    for policy in (weights.learner.policy, weights.learner.best):
        assert all(torch.equal(value, theirs[name]) for name, value in policy.state_dict().items())
    assert not weights.learner.optimiser.state
    kept = weights.learner.critic.state_dict()
    assert all(torch.equal(value, kept[name]) for name, value in critic.items())
