"""A run that was killed and resumed equals the unbroken one, to the last bit."""

import pytest
from pipeline_runs import (
    ARENA,
    BEASTYBAR,
    KUHN,
    LSTM,
    REGRET,
    killed,
    last_state,
    metrics,
    same,
    same_run,
    settings_of,
    untrained,
)

from lanista.training.loop import train

KINDS = {
    "kuhn ppo": KUHN,
    "beastybar ppo": BEASTYBAR,
    "arena v-trace with replay": ARENA,
    "arena lstm": LSTM,
    "leduc by external sampling": REGRET,
    "beastybar by rollouts": {
        **REGRET,
        "game": "beastybar",
        "iterations": 4,
        "learning": {"policy": "regret", "regret": {"sampling": "rollout", "steps": 3}},
        "rollouts": {"matches": 4},
        "evaluation": {},
        "checkpoints": {"save_every": 2},
    },
    "kuhn by single outcomes": {
        **REGRET,
        "game": "kuhn",
        "learning": {"policy": "regret", "regret": {"sampling": "outcome", "steps": 3}},
    },
    "kuhn in bf16": {**KUHN, "learning": {"precision": "bf16", "minibatches": 2}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_killed_between_checkpoints_and_resumed_equals_the_unbroken_run(kind, tmp_path):
    settings = settings_of(KINDS[kind])
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    # Past the checkpoint, so that rows newer than it are there to be forgotten.
    killed(settings, tmp_path / "b" / "p.pt", settings.updates - settings.learner_updates)
    assert last_state(tmp_path / "b" / "p.pt")["iteration"] == settings.iterations // 2
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")
    assert {row[0] for row in metrics(tmp_path / "a" / "p.pt")} == {*range(1, settings.updates + 1)}


def test_an_opponent_that_remembers_its_matches_goes_on_with_them(tmp_path):
    values = {
        **LSTM, "game": "kuhn", "game_settings": {}, "iterations": 4, "learner_updates": 1,
        "replay": {}, "checkpoints": {"save_every": 2},
    }  # fmt: skip
    other = untrained({**values, "rollouts": {}}, tmp_path / "other.pt")
    values["rollouts"] = {"mode": "stream", "unrolls": 12, "unroll_length": 2, "slots": 7,
                          "opponents": ["self", str(other)]}  # fmt: skip
    settings = settings_of(values)
    train(settings, tmp_path / "a" / "p.pt")
    killed(settings, tmp_path / "b" / "p.pt", 3)
    assert len(last_state(tmp_path / "b" / "p.pt")["collector"]["memory"]) == 2
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")


def test_stopped_in_the_middle_saves_there_and_goes_on_exactly(tmp_path):
    settings = settings_of(KUHN)
    train(settings, tmp_path / "a" / "p.pt")
    calls = iter([False, False, True])
    assert train(settings, tmp_path / "b" / "p.pt", stop=lambda: next(calls)) == 130
    assert last_state(tmp_path / "b" / "p.pt")["iteration"] == 3
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")


def test_a_run_from_an_earlier_checkpoint_comes_to_the_same_end(tmp_path):
    settings = settings_of(KUHN, checkpoints={"save_every": 2, "keep_last": 9})
    output = tmp_path / "p.pt"
    train(settings, output)
    before, end = metrics(output), last_state(output)
    third = tmp_path / "p.pt.run" / "checkpoints" / "000004"
    assert train(settings, output, checkpoint=third) == 0
    assert metrics(output) == before
    assert same(last_state(output), end)
    assert (third.parent / "000006.aside").is_dir()


def test_another_seed_is_another_run(tmp_path):
    train(settings_of(KUHN), tmp_path / "a" / "p.pt")
    train(settings_of(KUHN, seed=1), tmp_path / "b" / "p.pt")
    assert not same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")
    assert metrics(tmp_path / "a" / "p.pt") != metrics(tmp_path / "b" / "p.pt")
