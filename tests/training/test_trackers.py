"""TensorBoard and Weights & Biases, the packages themselves: what they hold is what the run wrote.

Weights & Biases is used offline; its files are read back with its own message types.
"""

import json
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from lanista.cli import main as cli
from lanista.training.observers import Observers
from lanista.training.trackers import Trackers

CLI = Path(__file__).parents[1] / "cli"
KUHN = ["--config", str(CLI / "small_kuhn.yaml")]
BLOCK, HEADER, FIRST = 32768, struct.Struct("<IHB"), 7
"""A file of Weights & Biases: 7 bytes, then records in blocks as LevelDB's log has them."""


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.delenv("WANDB_DIR", raising=False)


@pytest.fixture
def tensorboard():
    """Return a function from an event folder to its scalars: steps and values by name."""
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    def scalars(folder):
        # All of them: only a sample of a long run is kept otherwise.
        events = accumulators.EventAccumulator(str(folder), size_guidance={"scalars": 0})
        events.Reload()
        return {
            name: [(event.step, event.value) for event in events.Scalars(name)]
            for name in events.Tags()["scalars"]
        }

    return scalars


@pytest.fixture
def wandb():
    """Return a function from a folder to its offline runs: id, group, config, rows, exit code."""
    messages = pytest.importorskip("wandb.proto.wandb_internal_pb2")

    def read(file):
        run = {"rows": [], "exit": None}
        for data in records(file.read_bytes()):
            record = messages.Record()
            record.ParseFromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                config = {entry.key: json.loads(entry.value_json) for entry in
                          record.run.config.update}  # fmt: skip
                run |= {"id": record.run.run_id, "name": record.run.display_name,
                        "group": record.run.run_group, "config": config}  # fmt: skip
            elif kind == "history":
                items = {"/".join(item.nested_key) or item.key: json.loads(item.value_json)
                         for item in record.history.item}  # fmt: skip
                run["rows"].append(items)
            elif kind == "exit":
                run["exit"] = record.exit.exit_code
        return run

    def runs(folder):
        files = Path(folder).glob("wandb/offline-run-*/run-*.wandb")
        return [read(file) for file in sorted(files, key=lambda file: file.stat().st_mtime)]

    return runs


def records(data):
    at, parts = FIRST, []
    while at + HEADER.size <= len(data):
        left = BLOCK - at % BLOCK
        if left < HEADER.size:
            at += left
            continue
        _, size, kind = HEADER.unpack_from(data, at)
        if not kind:
            return
        parts.append(data[at + HEADER.size : at + HEADER.size + size])
        at += HEADER.size + size
        if kind in (1, 4):  # A whole record, or the last part of one.
            yield b"".join(parts)
            parts = []


def rows(output):
    with closing(sqlite3.connect(f"{output}.run/run.db")) as database:
        return database.execute("SELECT update_number, name, value FROM metrics").fetchall()


def as_rows(scalars):
    return sorted((step, name, value) for name, line in scalars.items() for step, value in line)


def test_tensorboard_has_what_the_database_has(tmp_path, tensorboard):
    output, events = tmp_path / "p.pt", tmp_path / "events"
    words = ["--output", str(output), "--tensorboard", str(events)]
    assert cli.main(["rl", *KUHN, "--iterations", "2", *words]) == 0
    assert cli.main(["rl", *words, "--resume", "--iterations", "4"]) == 0
    in_events, in_database = as_rows(tensorboard(events)), sorted(rows(output))
    assert [row[:2] for row in in_events] == [row[:2] for row in in_database]
    assert [row[2] for row in in_events] == pytest.approx([row[2] for row in in_database], rel=1e-6)


def test_weights_and_biases_has_what_the_database_has_and_goes_on_in_its_run(tmp_path, wandb):
    output = tmp_path / "p.pt"
    words = ["--output", str(output), "--wandb", "project"]
    assert cli.main(["rl", *KUHN, "--iterations", "2", *words]) == 0
    assert cli.main(["rl", *words, "--resume", "--iterations", "4"]) == 0
    first, second = wandb(tmp_path)
    assert first["id"] == second["id"]
    assert (first["name"], first["group"]) == ("p", "")
    assert (first["config"]["game"], first["config"]["iterations"]) == ("kuhn", 2)
    assert second["config"]["iterations"] == 4
    assert (first["exit"], second["exit"]) == (0, 0)
    logged = [*first["rows"], *second["rows"]]
    assert [row["_step"] for row in logged] == [row["update"] for row in logged]
    for update, name, value in rows(output):
        assert logged[update - 1][name] == pytest.approx(value, rel=1e-6)


def test_a_run_that_was_killed_goes_on_in_its_mirrors(tmp_path, tensorboard, wandb):
    output, events = tmp_path / "p.pt", tmp_path / "events"
    words = ["--output", str(output), "--tensorboard", str(events), "--wandb", "project"]
    many = ["--iterations", "100000", "--set", "checkpoints.save_every=20", "evaluation.every=0"]
    command = [sys.executable, "-m", "lanista", "rl", *KUHN, *many, *words]
    # Its own helper process, not the one of this process, which would outlive it.
    alone = {name: value for name, value in os.environ.items() if name != "WANDB_SERVICE"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=alone, **quiet)
    deadline = time.monotonic() + 300
    try:
        while len(list(Path(f"{output}.run/checkpoints").glob("0*"))) < 3:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    before = tensorboard(events)["decisions"][-1][0]
    assert cli.main(["rl", *words, "--resume", "--iterations", str(before + 20)]) == 0
    updates = {update for update, _, _ in rows(output)}
    assert [step for step, _ in tensorboard(events)["decisions"]] == sorted(updates)
    first, second = wandb(tmp_path)
    assert first["id"] == second["id"]
    # The package may lose what it had not yet written when it was killed, and no more.
    again = [row["update"] for row in second["rows"]]
    assert again == list(range(again[0], max(updates) + 1))
    before = [row["update"] for row in first["rows"]]
    assert before == list(range(1, len(before) + 1))


def test_a_run_that_fails_is_marked_as_failed_and_closed(tmp_path, tensorboard, wandb):
    output, events = tmp_path / "p.pt", tmp_path / "events"
    words = ["--output", str(output), "--tensorboard", str(events), "--wandb", "project"]
    huge = ["--set", "learning.lr=1e30", "learning.max_grad_norm=1e30"]
    assert cli.main(["rl", *KUHN, "--iterations", "50", *huge, *words]) != 0
    (run,) = wandb(tmp_path)
    assert run["exit"] == 1
    assert len(tensorboard(events)["decisions"]) == len(run["rows"])


def test_a_pipeline_is_mirrored_by_stage(tmp_path, monkeypatch, tensorboard, wandb):
    monkeypatch.chdir(tmp_path)
    words = ["--output-dir", "deep/out", "--tensorboard", "events", "--wandb", "project"]
    assert cli.main(["run", str(CLI / "small_pipeline.yaml"), *words]) == 0
    assert [step for step, _ in tensorboard("events/imitate")["held_out_nll"]] == [1, 2, 3]
    assert [step for step, _ in tensorboard("events/rl")["decisions"]] == [1, 2, 3, 4, 5, 6]
    imitation, rl = wandb("deep")
    assert [(run["name"], run["group"]) for run in (imitation, rl)] == [
        ("out/imitate", "out"), ("out/rl", "out"),
    ]  # fmt: skip
    assert imitation["config"]["imitation"]["epochs"] == 3
    # Files of others do not keep a pipeline from going on.
    more = ["--set", "stages.rl.iterations=8"]
    assert cli.main(["run", "deep/out", *more, "--wandb", "project"]) == 0
    assert wandb("deep")[-1]["id"] == rl["id"]
    assert [row["update"] for row in wandb("deep")[-1]["rows"]] == [7, 8]


def test_a_league_and_an_imitation_are_mirrored(tmp_path, tensorboard):
    league = ["--set", "league.main_exploiters=0", "evaluation.every=0"]
    words = ["--output-dir", str(tmp_path / "league"), "--tensorboard", str(tmp_path / "events")]
    rounds = ["--rounds", "2", "--rl-iterations-per-round", "1"]
    assert cli.main(["league", *KUHN, *league, *rounds, *words]) == 0
    assert [step for step, _ in tensorboard(tmp_path / "events")["decisions"]] == [1, 2]
    replays, events = str(tmp_path / "replays"), tmp_path / "more"
    play = ["--seats", "random,random", "--matches", "40", "--record", replays]
    assert cli.main(["play", "kuhn", *play]) == 0
    small = ["--epochs", "2", "--network.width", "8", "--evaluation-matches", "0"]
    words = ["--output", str(tmp_path / "clone.safetensors"), "--tensorboard", str(events)]
    assert cli.main(["imitate", "--data-dir", replays, *small, *words]) == 0
    assert [step for step, _ in tensorboard(events)["learned_nll"]] == [1, 2]


def test_a_tracker_that_fails_on_the_way_is_left_out_with_a_sentence(tmp_path):
    pytest.importorskip("tensorboard")
    sentences = []
    trackers = Trackers(tmp_path / "events").of(tmp_path / "p.run", sentences.append)
    observers = Observers(trackers)
    observers.updated(1, {"policy/loss": 1.0})  # Before the run was started.
    assert observers.observers == []
    assert sentences == []
