"""Feedback written by 0.1.0 is read by every command that read it then."""

import json
from pathlib import Path

import numpy as np

from lanista.cli.main import main
from lanista.data.demonstrations import DRAW, LOSS, UNKNOWN, WIN
from lanista.data.feedback import read_stream
from lanista.data.gathering import gather

KEPT = Path(__file__).parent / "feedback_of_version_1"


def test_a_kept_stream_has_its_steps_masks_and_extras():
    stream = read_stream(KEPT / "feedback" / "monday" / "feedback_stream.jsonl")
    assert (stream.header.session, stream.header.source, len(stream)) == ("monday", "player", 32)
    assert stream.matches == [f"m{number}" for number in range(12)]
    assert stream.observation.shape == (32, stream.spec.observation.length)
    assert (stream.time == 1000.0 + stream.step).all()
    assert stream.extras["fps"] == (30.0 + stream.step).tolist()
    assert stream.extras["banner"][0] == "step 0"
    assert np.take_along_axis(stream.mask, stream.action, 1).all()


def test_kept_manifests_give_outcomes_by_session_and_by_path():
    demonstrations, _ = gather(None, KEPT / "feedback", KEPT / "live")
    assert demonstrations.sources == ("player",)
    assert demonstrations.outcome.tolist() == [WIN, LOSS, *[UNKNOWN] * 10]


def test_kept_battle_logs_are_a_spectators():
    demonstrations, _ = gather(None, KEPT / "spectated", KEPT / "spectated")
    assert demonstrations.sources == ("spectator",)
    assert demonstrations.outcome.tolist() == [DRAW]


def test_data_finds_kept_feedback_sound(tmp_path, capsys):
    written = tmp_path / "data.json"
    command = ["data", "--feedback-dir", str(KEPT / "feedback"), "--reports-live-dir"]
    assert main([*command, str(KEPT / "live"), "--json", str(written)]) == 0
    feedback = json.loads(written.read_text())["feedback"]
    assert (feedback["decisions"], feedback["matches"], feedback["linked"]) == (32, 12, 2)
    assert (feedback["unlinked"], feedback["broken"]) == (0, [])
    capsys.readouterr()


def test_imitate_learns_from_kept_feedback(tmp_path, capsys):
    output = tmp_path / "pi.pt"
    assert main(
        ["imitate", "--feedback-dir", str(KEPT / "feedback"), "--reports-live-dir",
         str(KEPT / "live"), "--output", str(output), "--epochs", "1", "--batch-size", "8",
         "--size", "s", "--evaluation-matches", "2", "--threads", "1"]
    ) == 0  # fmt: skip
    numbers = json.loads((tmp_path / "pi.pt.json").read_text())["data"]
    assert numbers["learned_decisions"] + numbers["held_out_decisions"] == 32
    capsys.readouterr()
