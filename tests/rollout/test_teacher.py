"""A teacher labels the learner's own decisions; what it would do is kept beside what was done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lanista.errors import LanistaError
from lanista.games import make
from lanista.games.registry import make_bot
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.teacher import Teacher
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import RunSettings, apply_overrides

AIM_X, AIM_Y, FIRE = 2, 3, 4


class Noting:
    """A bot that keeps what it was asked and what it answered."""

    def __init__(self, bot: Any) -> None:
        self.bot, self.name, self.digest = bot, bot.name, bot.digest
        self.answers: dict[tuple[int, int, int], Any] = {}

    def act(self, decisions: Any, rows: Any) -> Any:
        actions = self.bot.act(decisions, rows)
        for row, action in zip(rows, actions, strict=True):
            place = (decisions.match[row], decisions.seat[row], decisions.turn[row])
            self.answers[tuple(map(int, place))] = action.copy()
        return actions


def actor_for(game: Any) -> Actor:
    torch.manual_seed(0)
    return Actor(Policy(game.spec, Network("mlp", width=8, layers=1)), 1)


def played(beta: float = 0.0) -> tuple[Noting, Any]:
    game = make("arena", slots=6, duration=8.0)
    teacher = Noting(make_bot("arena", "kiter", game.spec, 5))
    labelling = Teacher(teacher, game.spec, beta=beta)
    collector = Collector(game, actor_for(game), unroll_length=16, teacher=labelling)
    return teacher, collector.whole_matches(6)


def test_every_decision_has_what_the_teacher_would_do_in_its_place() -> None:
    teacher, unrolls = played()
    assert unrolls.decisions == len(teacher.answers) > 100
    for row in range(unrolls.decisions):
        place = (unrolls.match[row], unrolls.seat[row], unrolls.turn[row])
        expected = teacher.answers[tuple(map(int, place))].copy()
        if expected[FIRE] != 1:  # Where nobody fires, the aim changes nothing.
            expected[[AIM_X, AIM_Y]] = -1
        assert unrolls.teacher[row].tolist() == expected.tolist()
    assert (unrolls.teacher[:, AIM_X] == -1).any()
    assert (unrolls.teacher[:, AIM_X] >= 0).any()


def test_a_teacher_changes_nothing_of_what_is_played() -> None:
    _, unrolls = played()
    game = make("arena", slots=6, duration=8.0)
    alone = Collector(game, actor_for(game), unroll_length=16).whole_matches(6)
    assert alone.teacher is None
    for name in ("observation", "action", "log_prob", "reward", "match"):
        assert np.array_equal(getattr(alone, name), getattr(unrolls, name))


def test_labels_follow_their_decisions_when_unrolls_are_taken_out() -> None:
    _, unrolls = played()
    some = unrolls.take(np.array([3, 0]))
    rows = unrolls.index[:, [3, 0]].T
    assert np.array_equal(some.teacher, unrolls.teacher[rows[rows >= 0]])


def test_a_teacher_that_follows_its_own_matches_is_refused() -> None:
    class Follower:
        name, digest = "follower", "0" * 64

        def act(self, decisions: Any, rows: Any) -> Any: ...
        def match_started(self, slot: int, seat: int, match: int) -> None: ...
        def match_ended(self, slot: int, seat: int, match: int) -> None: ...

    with pytest.raises(LanistaError, match="follower follows or plans"):
        Teacher(Follower(), make("arena", slots=1).spec)


@pytest.mark.parametrize("weights", ["{policy: 1.0}", "{policy: 1.0, teacher: 0}"])
def test_a_teacher_without_a_weight_is_refused_by_the_settings(weights: str) -> None:
    with pytest.raises(SettingsError, match=r"rollouts\.teacher is kiter, and .* no weight"):
        apply_overrides(RunSettings(), ["rollouts.teacher=kiter", f"learning.terms={weights}"])


def test_a_weight_without_a_teacher_is_refused_by_the_settings() -> None:
    with pytest.raises(SettingsError, match=r"rollouts\.teacher names nobody"):
        apply_overrides(RunSettings(), ["learning.terms.teacher=1.0"])
    apply_overrides(RunSettings(), ["learning.terms.teacher=1.0", "rollouts.teacher=kiter"])
