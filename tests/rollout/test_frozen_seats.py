"""Decisions of opponents that do not learn: kept with their probabilities, corrected by V-trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lanista.games import make, make_bot
from lanista.learn import returns
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import LEARNER, Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.policy_players import policy_player
from lanista.rollout.opponent_sampler import seating_of
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import load_settings
from lanista.training.learner_loop import lone_learner

SMALL = Network(width=8, layers=1)
SPEC = make("leduc").spec


def eager(seed: int) -> Policy:
    torch.manual_seed(seed)
    policy = Policy(SPEC, SMALL)
    torch.nn.init.orthogonal_(policy.head.weight, 2.0)
    return policy


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """Return what makes a collector whose learner meets a policy, a greedy one and the bots."""
    save_policy(tmp_path / "past", eager(1), SPEC)
    players = [
        policy_player(tmp_path / "past", SPEC, 5, block=0),
        policy_player(tmp_path / "past", SPEC, 5, block=0, greedy=True),
        make_bot("leduc", "random", SPEC, 5),
    ]

    def made(numbers: list[int], **options: Any) -> Collector:
        seating = seating_of(numbers, [1.0] * len(numbers), 2, 3)
        actor = Actor(eager(2), 4)
        game = make("leduc", slots=16, seed=6)
        return Collector(game, actor, players, seating, unroll_length=8, **options)

    made.past = load_policy(tmp_path / "past").policy  # type: ignore[attr-defined]
    return made


def test_every_decision_of_a_past_policy_is_kept_with_its_own_log_probability(table: Any) -> None:
    unrolls = table([1], keep_frozen=True).whole_matches(40)
    frozen = unrolls.frozen
    assert 0.3 < frozen.mean() < 0.7
    mask, action = torch.from_numpy(unrolls.mask), torch.from_numpy(unrolls.action).long()
    for policy, here in ((table.past, frozen), (eager(2), ~frozen)):
        with torch.no_grad():
            logits = policy(torch.from_numpy(unrolls.observation[here]))
        log_probs = policy.heads.log_probs(logits, mask[torch.from_numpy(here)])
        chosen = policy.heads.joint(log_probs, action[torch.from_numpy(here)])
        np.testing.assert_allclose(unrolls.log_prob[here], chosen.numpy(), atol=1e-5)
    # Leduc is zero-sum: what the seats of a match got comes to nothing.
    _, match = np.unique(unrolls.match, return_inverse=True)
    np.testing.assert_allclose(np.bincount(match, unrolls.reward), 0.0, atol=1e-6)


def test_the_learners_own_rows_are_what_they_are_without_the_opponents(table: Any) -> None:
    both = table([1], keep_frozen=True).whole_matches(40)
    own = table([1]).whole_matches(40)
    rows = np.flatnonzero(~both.frozen)
    for name in ("observation", "mask", "action", "log_prob", "reward", "ended", "match", "turn"):
        assert np.array_equal(getattr(both, name)[rows], getattr(own, name)), name


def test_a_bot_that_plays_evenly_has_the_probability_of_one_among_the_legal(table: Any) -> None:
    unrolls = table([3], keep_frozen=True).whole_matches(20)
    here = unrolls.frozen
    assert here.any()
    legal = unrolls.mask[here].sum(1)
    np.testing.assert_allclose(unrolls.log_prob[here], -np.log(legal), rtol=1e-6)


def test_who_has_no_known_probabilities_is_left_out_and_counted(table: Any) -> None:
    collector = table([2], keep_frozen=True)
    unrolls = collector.whole_matches(40)
    assert not unrolls.frozen.any()
    left_out = collector.measured()["frozen/left_out"]
    past = table([1], keep_frozen=True)
    assert left_out > 40
    assert past.whole_matches(40).frozen.any()
    assert past.measured() == {"frozen/left_out": 0.0}
    assert collector.measured() == {"frozen/left_out": 0.0}
    assert table([1]).measured() == {}


def test_rows_name_the_matchup_from_both_sides(table: Any) -> None:
    unrolls = table([LEARNER, 1, 3], keep_frozen=True, keep_opponents=True).whole_matches(60)
    assert unrolls.opponents.shape == (unrolls.decisions, 1)
    assert set(unrolls.opponents[:, 0].tolist()) == {0, 1, 3}
    for match in np.unique(unrolls.match):
        here = unrolls.match == match
        assert len(set(unrolls.opponents[here, 0].tolist())) == 1
        # In matches of the learner with itself nobody is frozen.
        assert unrolls.frozen[here].any() <= (unrolls.opponents[here, 0] > 0).all()


def test_an_opponents_decisions_teach_the_critic_v_trace_targets_and_the_policy_its_ratio(
    table: Any,
) -> None:
    unrolls = table([1], keep_frozen=True).whole_matches(30)
    settings = Learning(policy="vtrace", lam=0.9, normalise_advantages=False)
    learner = Learner(SPEC, SMALL, settings, updates=3, start=eager(2))
    inputs = learner._inputs(unrolls, {"policy": 1.0, "value": 0.5})
    plain = learner._inputs(replace(unrolls, frozen=None), {"policy": 1.0, "value": 0.5})
    frozen = torch.from_numpy(unrolls.frozen)
    assert torch.equal(inputs.advantage, plain.advantage)  # type: ignore[arg-type]
    assert torch.equal(inputs.value_target[~frozen], plain.value_target[~frozen])  # type: ignore[index]
    ratio = (inputs.chosen - inputs.behaviour).exp()
    assert not torch.allclose(ratio[frozen], torch.ones(()))
    # One lane of the opponent, by the formula of V-trace, with a critic that says 0 throughout.
    lane = next(at for at in range(len(unrolls)) if unrolls.frozen[unrolls.index[0, at]])
    rows = [row for row in unrolls.index[:, lane].tolist() if row >= 0]
    reward, log_ratio = torch.from_numpy(unrolls.reward[rows]), ratio[rows].log()[:, None]
    discount = torch.ones(len(rows), 1)
    discount[-1] = 0
    value = torch.zeros(len(rows), 1)
    wanted = returns.vtrace(log_ratio, value, reward[:, None], discount, torch.zeros(1), lam=0.9)
    torch.testing.assert_close(inputs.value_target[rows], wanted.target[:, 0])  # type: ignore[index]


def test_a_run_reports_the_decisions_of_frozen_seats_and_their_mean_ratio() -> None:
    settings = load_settings(
        {
            "game": "leduc", "iterations": 2, "device": "cpu",
            "network": {"width": 8, "layers": 1},
            "learning": {"policy": "vtrace"},
            "rollouts": {"matches": 40, "opponents": ["self", "random"], "learn_from_frozen": True},
        }
    )  # fmt: skip
    learner = lone_learner(settings, Path())
    (_, log), *_ = learner.iterate()
    assert 0 < log["frozen/decisions"] < log["decisions"]
    assert log["frozen/left_out"] == 0
    assert 0 < log["policy/frozen_ratio"] <= 1
    # Before its only step the learner is who acted, whatever others did.
    assert log["policy/behaviour_kl"] == pytest.approx(0.0, abs=1e-6)
    learner.close()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"learning": {"policy": "ppo"}}, "needs a loss that corrects for what others decided"),
        ({"network": {"kind": "lstm"}}, "network.kind is lstm"),
        ({"replay": {"size": 4, "sampling": "prioritised"}}, "replay.sampling is prioritised"),
        (
            {"learning": {"policy": "vtrace", "critic_output": "outcome"}},
            "learning.critic_output is outcome",
        ),
        (
            {"learning": {"policy": "vtrace", "terms": {"policy": 1.0, "behaviour": 0.1}}},
            "learning.terms.behaviour is 0.1",
        ),
    ],
)
def test_frozen_seats_are_refused_where_nothing_corrects_for_them(
    changes: dict[str, Any], sentence: str
) -> None:
    settings = {"game": "leduc", "learning": {"policy": "vtrace"}}
    with pytest.raises(SettingsError, match=sentence):
        load_settings({**settings, "rollouts": {"learn_from_frozen": True}, **changes})
