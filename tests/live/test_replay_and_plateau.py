"""What `learn` shares with `rl`: unrolls learned from again, and a rate that falls on a plateau."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from practice import NEVER, Bench, learner_of, settings_of, written

from lanista.data.replay_buffer import ReplayBuffer
from lanista.live.learner.experience import TrainingGame, unrolls_of, with_values
from lanista.runs.settings import Replay

PRIORITISED = Replay(size=4, batch=2, sampling="prioritised")


def test_a_learning_rate_falls_when_the_games_score_no_more_than_before(tmp_path: Path) -> None:
    plateau = {"kind": "on-plateau", "start": 0.01, "factor": 0.5, "patience": 2}
    gate = replace(NEVER, every=2)
    bench = Bench(tmp_path, settings_of(gate, {"lr": plateau}, batch_games=2, least_games=2))
    rates = []
    with bench.start() as learner:
        # Means of two games: ½, ½, ½ (two looks without a rise), then 1.
        for outcomes in ((1, -1), (0, 0), (-1, 1), (1, 1)):
            bench.play(*outcomes)
            bench.learn(learner)
            rates.append(learner.weights.learner.scheduled()["lr"])
    assert rates == pytest.approx([0.01, 0.01, 0.005, 0.005])
    with bench.start() as learner:  # The rate is part of the checkpoint.
        assert learner.weights.learner.scheduled()["lr"] == pytest.approx(0.005)


def test_scores_wait_until_there_are_enough_of_them_also_over_a_start(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(batch_games=2))
    with bench.start() as learner:
        bench.play(1, None, 0)
        while bench.spool.waiting():
            bench.learn(learner)
        assert sorted(learner.weights.scores) == [0.5, 1.0]  # A game cut off has no score.
    with bench.start() as learner:
        assert sorted(learner.weights.scores) == [0.5, 1.0]


def test_priorities_are_how_wrong_the_critic_was(tmp_path: Path) -> None:
    settings = settings_of(replay=PRIORITISED)
    learner = learner_of(tmp_path, settings)
    game = written([[0, 0], [1, 1], [2, 0]], [1.0, -2.0, 0.5], 1.0)
    unrolls = unrolls_of([TrainingGame.of(game, settings, 0)], settings, learner)
    valued = with_values(unrolls, learner)
    assert valued.value is not None
    value = valued.value.astype(np.float64)
    rewards, gamma = [1.0, -2.0, 1.5], settings.learning.gamma
    after = [*value[1:], 0.0]
    errors = [abs(r + gamma * v - u) for r, v, u in zip(rewards, after, value, strict=True)]
    buffer = ReplayBuffer(4, sampling="prioritised", gamma=gamma)
    buffer.add(valued)
    assert buffer.priority == pytest.approx([np.mean(errors)])


def test_an_update_learns_again_from_games_that_were_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(batch_games=2, replay=PRIORITISED))
    with bench.start() as learner:
        for _ in range(3):
            bench.play(1, -1)
            bench.learn(learner)
        replay = learner.weights.replay
        assert replay is not None
        assert len(replay) == 4  # Six games came, and four is the most.
        kept, uses = [lane.reward.tolist() for lane in replay.lanes], list(replay.uses)
        # Games of three decisions each: none in the first update, two games in the others.
        assert [n for _, n in learner.ledger.metrics("replayed")] == [0.0, 6.0, 6.0]
    with bench.start() as learner:  # It goes on with what it kept.
        replay = learner.weights.replay
        assert replay is not None
        assert ([lane.reward.tolist() for lane in replay.lanes], replay.uses) == (kept, uses)
