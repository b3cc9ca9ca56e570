"""`lanista profile`: what it prints and writes, what it refuses, and its page."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from lanista import interrupt
from lanista.cli import main as cli
from lanista.league.population import Population
from lanista.pipeline.timed_run import CLOCKS
from lanista.profile import changes
from lanista.profile.advice import FORMAT
from lanista.profile.bottleneck import CENTRAL
from lanista.profile.measure import Rig
from lanista.profile.time_to_mark import MarkMeter
from lanista.rollout.timing import PHASES
from lanista.runs.settings import load_settings

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "profile.md"
SMALL = """
game: kuhn
network: {width: 8, layers: 1}
rollouts: {matches: 16, slots: 4}
evaluation: {every: 5, bots: [random], matches: 8, exact: never}
"""
QUICK = ["--seconds", "0.01"]


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.yaml"
    file.write_text(SMALL, encoding="utf-8")
    return str(file)


@pytest.fixture
def only_slots(monkeypatch):
    """Let a sweep go in one direction alone, which takes a second."""
    monkeypatch.setattr(changes, "order_of", lambda wall: ["slots"])


def run(*words):
    return cli.main(["profile", *words])


def test_the_wall_is_named_and_everything_is_in_the_json(recipe, tmp_path, capsys):
    file = tmp_path / "out" / "profile.json"
    assert run(recipe, *QUICK, "--repeats", "2", "--output", str(file)) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^Bottleneck: .+, \d+% of the time\.$", printed, re.MULTILINE)
    assert "decisions a second" in printed
    found = json.loads(file.read_text())
    assert found["format"] == FORMAT
    assert found["interrupted"] is False
    assert found["machine"]["cores"] >= 1
    assert load_settings(found["settings"]) == load_settings(recipe)
    profile = found["profile"]
    assert len(profile["decisions_a_second"]) == 2
    for shares in (profile["wall_shares"], profile["cpu_shares"]):
        assert sum(shares.values()) == pytest.approx(1)
    assert profile["wall"]["phase"].partition("/")[0] in PHASES
    assert found["sweep"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "small.yaml"]


@pytest.mark.usefixtures("only_slots")
def test_a_sweep_writes_settings_that_are_read_back_and_measured_again(recipe, tmp_path, capsys):
    file, numbers = tmp_path / "fast.yaml", tmp_path / "numbers.json"
    words = ["--sweep", "--write-config", str(file), "--output", str(numbers)]
    assert run(recipe, *QUICK, *words, "--set", "seed=7") == 0
    printed = capsys.readouterr().out
    found = json.loads(numbers.read_text())["sweep"]
    assert load_settings(file) == load_settings(found["settings"])
    assert load_settings(file).seed == 7
    assert {trial["set"][0] for trial in found["trials"]} <= {
        f"rollouts.slots={slots}" for slots in (1, 2, 8, 16)
    }
    verdict = "held" if found["again"]["held"] else "not held"
    assert re.search(rf"promised .+ to .+, measured .+: {verdict}\.", printed)
    comments = [line for line in file.read_text().splitlines() if line.startswith("#")]
    assert any("decisions a second" in line for line in comments)


@pytest.mark.parametrize(("laps", "profiled"), [(0, False), (1, True), (7, True)])
@pytest.mark.usefixtures("only_slots")
def test_an_interrupt_leaves_what_was_measured(
    recipe, tmp_path, monkeypatch, capsys, laps, profiled
):
    done, usual = [], Rig.lap

    def lap(self, seconds):
        if len(done) == laps:
            raise KeyboardInterrupt
        done.append(1)
        return usual(self, seconds)

    monkeypatch.setattr(Rig, "lap", lap)
    file, numbers = tmp_path / "fast.yaml", tmp_path / "numbers.json"
    words = ["--sweep", "--write-config", str(file), "--output", str(numbers)]
    assert run(recipe, *QUICK, *words) == 130
    found = json.loads(numbers.read_text())
    assert found["interrupted"] is True
    assert (found["profile"] is not None) == profiled
    assert (found["sweep"] is not None) == (laps > 5)
    assert not file.exists()
    said = capsys.readouterr()
    assert ("Bottleneck: " in said.out) == profiled
    assert "was not written" in said.err


def test_being_told_to_end_twice_leaves_what_was_measured_and_no_folder(
    recipe, tmp_path, monkeypatch
):
    done, usual, close = [], Rig.lap, Population.close

    def lap(self, seconds):
        if done:
            os.kill(os.getpid(), signal.SIGTERM)
        done.append(1)
        return usual(self, seconds)

    def closed(self):
        os.kill(os.getpid(), signal.SIGTERM)  # As `timeout` does.
        close(self)

    monkeypatch.setattr(Rig, "lap", lap)
    monkeypatch.setattr(Population, "close", closed)
    monkeypatch.setattr(interrupt, "ONE_INTERRUPT", 3600.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    numbers = tmp_path / "numbers.json"
    assert run(recipe, *QUICK, "--output", str(numbers)) == 130
    found = json.loads(numbers.read_text())
    assert found["interrupted"] is True
    assert len(found["profile"]["decisions_a_second"]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["numbers.json", "small.yaml"]
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--seconds", "0"], "--seconds is 0; give a number above 0, at most 3600."),
        (["--repeats", "0"], "--repeats is 0"),
        (["--sweep", "--repeats", "4"], "at least that"),
        (["--write-config", "x.yaml"], "give --sweep too"),
        (["--keep-learning"], "give --sweep too"),
        (["--stage", "rl"], "leave out --stage"),
        (["--set", "rollouts.slot=3"], "rollouts.slots"),
        (["--output", "."], "which is a folder"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(recipe, capsys, words, sentence):
    assert run(recipe, *words) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_an_unknown_recipe_is_refused_with_the_nearest(capsys):
    assert run("beastybar-pp") == 2
    assert "beastybar-ppo" in capsys.readouterr().err


def test_a_recipe_with_a_mark_is_swept_by_the_time_to_it(recipe, tmp_path, monkeypatch, capsys):
    """The way is made up: it takes as long as the matches of an iteration are many."""

    def way(meter, settings, seed, goal):
        meter.measured()
        seconds = float(settings.rollouts.matches)
        outcome = SimpleNamespace(seconds=seconds, cost=seconds, best=0.1)
        spent_by = dict.fromkeys(CLOCKS, seconds)
        return SimpleNamespace(outcome=outcome, updates=60, spent=seconds, spent_by=spent_by)

    monkeypatch.setattr(changes, "order_of", lambda wall: ["batch"])
    monkeypatch.setattr(MarkMeter, "_run", way)
    file = tmp_path / "numbers.json"
    mark = ["--set", "mark=nash_conv<=0.1", "device=cpu"]
    assert run(recipe, *QUICK, "--sweep", "--output", str(file), *mark) == 0
    assert "The recipe takes 16 CPU seconds to nash_conv<=0.1;" in capsys.readouterr().err
    (trial,) = json.loads(file.read_text())["sweep"]["trials"]
    assert trial["verdict"] == "not better"
    assert trial["timed"] == "CPU seconds to nash_conv<=0.1"
    assert trial["faster"]["value"] == pytest.approx(0.5)
    # Without what alters the learning there is nothing that a mark would judge.
    assert run(recipe, *QUICK, "--sweep", "--keep-learning", *mark) == 0
    assert "The recipe takes" not in capsys.readouterr().err


# The page.


def blocks(kind):
    fenced = PAGE.read_text(encoding="utf-8").split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


@pytest.mark.usefixtures("only_slots")
def test_every_command_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [line for text in blocks("sh") for line in text.splitlines() if line]
    assert len(lines) >= 4
    small = ["rollouts.matches=8", "evaluation.every=0"]
    for line in lines:
        program, verb, *given = shlex.split(line)
        assert (program, verb) == ("lanista", "profile")
        own = [] if "beastybar-quick" in given else ["network.width=8", "network.layers=1"]
        words = [*given, "--set", *small, *own, "--seconds", "0.01"]
        assert cli.main(["profile", *words]) == 0, line
    assert (tmp_path / "artifacts" / "profile.json").is_file()
    assert load_settings(tmp_path / "fast.yaml").game == "beastybar"


def test_the_page_names_every_phase_and_every_setting_that_is_tried():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in (*PHASES, CENTRAL) if f"`{name}" not in text] == []
    table = text.split("## The sweep")[1]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")]
    for key in changes.ALTERING:
        assert [row[3].strip() for row in rows if f"`{key}`" in row[2]] == ["yes"], key
    same = {key for row in rows if row[3].strip() == "no" for key in re.findall(r"`(.+?)`", row[2])}
    assert same == {
        "rollouts.slots", "rollouts.workers", "rollouts.launcher", "learning.shards", "threads",
        "learning.compile", "rollouts.inference", "rollouts.graphs", "rollouts.processes_on_gpu",
    }  # fmt: skip
