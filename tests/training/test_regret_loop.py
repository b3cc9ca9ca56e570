"""Runs of regret learning: what they come to, what their policy file can do, what is refused."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from pipeline_runs import KUHN, REGRET, last_state, metrics, same_run, settings_of

import lanista
from lanista.errors import LanistaError
from lanista.games.trees.exact import exact_nash_conv
from lanista.runs.settings import fingerprint, to_yaml
from lanista.training.loop import train

SOLVES = {
    "game": "kuhn",
    "iterations": 60,
    "network": {"width": 32, "layers": 2},
    "learning": {"policy": "regret", "lr": 0.003, "regret": {"steps": 20, "average_steps": 20}},
    "rollouts": {"matches": 60},
    "evaluation": {"every": 60, "bots": ["random"], "matches": 200},
}


def exact(output):
    return {update: value for update, name, value in metrics(output) if name == "exact/nash_conv"}


def test_kuhn_is_nearly_solved_in_seconds(tmp_path):
    assert train(settings_of(SOLVES), tmp_path / "p.pt") == 0
    assert exact(tmp_path / "p.pt")[60] < 0.06


def test_its_policy_file_plays_and_is_measured_as_any_other(tmp_path):
    train(settings_of(SOLVES, iterations=20), tmp_path / "p.pt")
    policy = lanista.load_policy(tmp_path / "p.pt")
    game = lanista.make("kuhn", slots=4)
    game.start(np.arange(4), np.arange(4))
    decisions = game.decisions()
    for observation, mask in zip(decisions.observation, decisions.mask, strict=True):
        (chances,) = policy.probabilities(observation, mask)
        assert chances.sum() == pytest.approx(1)
    measured = exact_nash_conv("kuhn", lambda rows, masks: np.array([
        policy.probabilities(row, mask)[0] for row, mask in zip(rows, masks, strict=True)
    ]))  # fmt: skip
    assert measured == pytest.approx(exact(tmp_path / "p.pt")[20], abs=1e-5)
    assert lanista.evaluate(tmp_path / "p.pt", ["random"], games=40).score.n


def test_its_log_says_what_was_learned_and_spent(tmp_path):
    train(settings_of(REGRET), tmp_path / "p.pt")
    names = {name for update, name, _ in metrics(tmp_path / "p.pt") if update == 6}
    assert {"regret/loss", "average/loss", "regret/rows", "decisions", "matches", "lr"} <= names
    state = last_state(tmp_path / "p.pt")
    assert state["matches"] == 2 * 20 * 6
    assert len(state["learner"]["memories"]["regrets"]["weight"]) == 200


def test_a_run_that_is_killed_for_good_goes_on_to_the_same_bits(tmp_path):
    settings = settings_of(REGRET, iterations=40, evaluation={}, checkpoints={"save_every": 2})
    train(settings, tmp_path / "a" / "p.pt")
    (tmp_path / "run.yaml").write_text(to_yaml(settings))
    output = tmp_path / "b" / "p.pt"
    output.parent.mkdir()
    command = [sys.executable, "-m", "lanista", "rl", "--output", str(output)]
    process = subprocess.Popen(
        [*command, "--config", str(tmp_path / "run.yaml")], stdout=subprocess.DEVNULL
    )
    checkpoints = output.parent / "p.pt.run" / "checkpoints"
    while not (checkpoints / "000004").is_dir() and process.poll() is None:
        os.sched_yield()
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert train(settings, output, resume=True) == 0
    assert same_run(tmp_path / "a" / "p.pt", output)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rollouts": {"opponents": ["self", "random"]}}, "rollouts.opponents is self, random"),
        ({"rollouts": {"workers": 2}}, "rollouts.workers is 2"),
        ({"rollouts": {"mode": "stream"}}, "rollouts.mode is stream"),
        ({"rollouts": {"draw": -0.5}}, "rollouts.draw is -0.5"),
        ({"replay": {"size": 9}}, "replay.size is 9"),
        ({"supervised_checkpoint": "p.pt"}, "supervised_checkpoint is p.pt"),
        ({"league": {}}, "league is given"),
    ],
)
def test_what_regret_learning_has_no_use_for_is_refused(changes, sentence):
    with pytest.raises(LanistaError, match=f"{sentence}.*learning.policy regret"):
        settings_of(REGRET, **changes)


def test_a_game_of_three_is_refused_before_a_run_begins(tmp_path):
    values = {**REGRET, "game": "arena", "game_settings": {"seats": 3}}
    with pytest.raises(LanistaError, match=r"learning.policy is regret.*choose ppo"):
        train(settings_of(values), tmp_path / "p.pt")
    assert not (tmp_path / "p.pt.run").exists()


def test_settings_of_other_learners_have_the_digest_they_had():
    digest = "575da7399303deaa630b55db4b737a2e75505f137bfbd4627cddbf450321ade7"
    assert fingerprint(settings_of(KUHN)) == digest
