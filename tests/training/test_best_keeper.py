"""A run that becomes weaker hands over its best policy, also when it was killed on the way."""

from contextlib import closing

import pytest
import torch
from pipeline_runs import SMALL, Listener, killed, same_run, settings_of

from lanista.nets.files.policy_file import load_policy, read_header
from lanista.runs.folder import folder_of
from lanista.runs.reader import RunReader
from lanista.runs.schema import EventRow, LineupRow
from lanista.runs.slim import needed
from lanista.training.loop import train

TURNED = {
    "game": "kuhn",
    "iterations": 40,
    "network": SMALL,
    "learning": {
        "lr": 0.02,
        "critic_sees": "privileged",
        "terms": {
            "policy": {"kind": "linear", "start": 1.0, "end": -1.0},
            "value": 0.5,
            "magnet": 0.1,
        },
    },
    "rollouts": {"matches": 64},
    "evaluation": {"every": 5},
    "checkpoints": {"save_every": 15},
}
"""Learns Kuhn poker in its first half and unlearns it in the second."""


def events(output, *kinds):
    with closing(RunReader(folder_of(output) / "run.db")) as tables:
        return [event for event in tables.rows(EventRow) if event.kind in kinds]


@pytest.fixture(scope="module")
def turned(tmp_path_factory):
    output, listener = tmp_path_factory.mktemp("turned") / "p.pt", Listener()
    assert train(settings_of(TURNED), output, observers=[listener]) == 0
    return output, listener


def test_the_best_policy_is_handed_over_and_the_run_says_so(turned):
    output, listener = turned
    best = events(output, "best")[-1]
    assert 0 < best.update < 40
    assert read_header(output).step == best.update
    kept = load_policy(folder_of(output) / "policies" / f"{best.body['digest']}.safetensors")
    weights, others = (p.policy.state_dict() for p in (load_policy(output), kept))
    assert all(torch.equal(weights[name], others[name]) for name in others)
    assert events(output, "output")[-1].body["digest"] == best.body["digest"]
    (words,) = (words for words in listener.sentences if "evaluation.keep_best" in words)
    assert "is weaker with NashConv" in words, "an exact value has no chance in it"


def test_killed_and_resumed_it_hands_over_the_same_file(turned, tmp_path):
    output, _ = turned
    killed(settings_of(TURNED), tmp_path / "p.pt", 39)
    assert train(settings_of(TURNED), tmp_path / "p.pt", resume=True) == 0
    assert same_run(output, tmp_path / "p.pt")
    assert events(output, "best", "output") == events(tmp_path / "p.pt", "best", "output")
    digest = events(output, "best")[-1].body["digest"]
    assert digest in {path.stem for path in needed(folder_of(output))}


def test_a_best_policy_that_was_deleted_is_said_and_not_waited_for(turned, tmp_path):
    listener, output = Listener(), tmp_path / "p.pt"
    settings = settings_of(TURNED, iterations=20)
    killed(settings, output, 18)
    for path in (folder_of(output) / "policies").iterdir():
        path.unlink()
    assert train(settings, output, resume=True, observers=[listener]) == 0
    assert any("not there any more" in words for words in listener.sentences)
    assert read_header(output).step == 20


def test_without_the_setting_the_last_policy_is_handed_over(turned, tmp_path):
    settings = settings_of(TURNED, evaluation={"every": 5, "keep_best": False})
    assert train(settings, tmp_path / "p.pt") == 0
    assert read_header(tmp_path / "p.pt").step == 40
    assert events(tmp_path / "p.pt", "best", "output") == []


def test_a_supervised_policy_that_training_ruins_is_itself_handed_over(turned, tmp_path):
    start, _ = turned
    settings = settings_of(
        TURNED,
        supervised_checkpoint=str(start),
        network={},
        iterations=10,
        learning={"lr": 0.1, "terms": {"policy": -1.0, "value": 0.5}},
        rollouts={"matches": 64, "opponents": ["random"]},
        evaluation={"every": 5, "exact": "never", "bots": ["random"], "matches": 200},
    )
    assert train(settings, tmp_path / "p.pt") == 0
    assert read_header(tmp_path / "p.pt").step == 0
    weights, others = (load_policy(p).policy.state_dict() for p in (tmp_path / "p.pt", start))
    assert all(torch.equal(weights[name], others[name]) for name in others)
    with closing(RunReader(folder_of(tmp_path / "p.pt") / "run.db")) as tables:
        assert {row.update for row in tables.rows(LineupRow)} == {0, 5, 10}
