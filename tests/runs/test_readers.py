"""Whoever only looks at a run leaves its folder as it was, whatever state the run is in."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from lanista.cli import main as cli
from lanista.evaluation.evaluator import FIRST_MATCH
from lanista.runs import sqlite_files
from lanista.runs.database import RunDatabase
from lanista.runs.reader import RunReader
from lanista.runs.schema import MetricRow
from lanista.runs.sqlite_files import opened_to_read

READERS = {
    "report": ["report", "k.pt.run", "--output-dir", "elsewhere"],
    "doctor": ["doctor", "k.pt.run"],
    "replay": ["replay", "k.pt.run", str(FIRST_MATCH)],
}
WRITER = """
import sys
from pathlib import Path
from lanista.runs.database import RunDatabase
database = RunDatabase(Path(sys.argv[1]))
database.add(1000, {"decisions": 7.0})
database.flush()
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    small = ["network.width=8", "network.layers=1", "rollouts.matches=8", "evaluation.every=1",
             "evaluation.bots=[random]", "evaluation.matches=4"]  # fmt: skip
    words = ["rl", "--config", "kuhn-ppo", "--iterations", "2", "--output", str(folder / "k.pt")]
    assert cli.main([*words, "--set", *small]) == 0
    return folder


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here" / "k.pt.run"


def writing(run):
    """Return a process that has written a number, and has the database open."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(run / "run.db")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "written\n"
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def contents(folder):
    """Return all that is in a folder, and when each file was written."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


STATES = {
    "complete": ["run.db"],
    "killed": ["run.db", "run.db-shm", "run.db-wal"],
    "killed and moved": ["run.db", "run.db-wal"],
    "read by earlier programs": ["run.db", "run.db-shm", "run.db-wal"],
}


def bring_to(run, state):
    if state.startswith("killed"):
        kill(writing(run))
    if state == "killed and moved":
        (run / "run.db-shm").unlink()
    if state == "read by earlier programs":
        with closing(sqlite3.connect(f"{(run / 'run.db').as_uri()}?mode=ro", uri=True)) as opened:
            opened.execute("SELECT 1 FROM metrics")
    assert sorted(path.name for path in run.glob("run.db*")) == STATES[state]


def numbers(run):
    with closing(RunReader(run / "run.db")) as reader:
        return {row.update: row.value for row in reader.metric("decisions")}


@pytest.mark.parametrize("state", STATES)
def test_a_reader_leaves_the_folder_as_it_was_and_sees_all_that_was_written(state, run):
    bring_to(run, state)
    before = contents(run)
    seen = numbers(run)
    assert contents(run) == before
    assert {1, 2} < seen.keys() if state.startswith("killed") else {1, 2} == seen.keys()
    assert seen.get(1000) == (7.0 if state.startswith("killed") else None)


@pytest.mark.parametrize("state", ["complete", "killed"])
@pytest.mark.parametrize("command", READERS)
def test_commands_that_read_a_run_leave_its_folder_as_it_was(command, state, run):
    bring_to(run, state)
    before = contents(run)
    assert cli.main(READERS[command]) in (0, 1)
    assert contents(run) == before


@pytest.mark.parametrize("state", STATES)
def test_a_folder_that_nobody_may_write_to_is_read(state, run):
    bring_to(run, state)
    before = contents(run)
    for path in (*run.glob("run.db*"), run):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert {1, 2} <= numbers(run).keys()
        assert contents(run) == before
    finally:
        run.chmod(0o755)


def test_a_run_that_goes_on_is_read_up_to_its_last_number_and_goes_on(run):
    process = writing(run)
    try:
        names = sorted(path.name for path in run.iterdir())
        assert numbers(run)[1000] == 7.0
        assert sorted(path.name for path in run.iterdir()) == names
    finally:
        process.communicate("")
    assert process.returncode == 0
    assert numbers(run)[1000] == 7.0
    assert not list(run.glob("run.db-*"))


def test_one_that_has_it_open_to_write_may_look_too_and_keeps_its_lock(run):
    with closing(RunDatabase(run / "run.db")) as database:
        database.add(5, {"decisions": 1.0})
        database.flush()
        assert numbers(run)[5] == 1.0
        database.add(6, {"decisions": 2.0})
        database.flush()
        assert numbers(run)[6] == 2.0


def test_what_is_written_while_it_is_looked_at_is_looked_at_again(run, monkeypatch):
    """A run that begins right after a reader has seen that nobody writes."""
    copy, begun = sqlite_files._in_memory, []

    def slow(address):
        connection = copy(address)
        if not begun:
            begun.append(RunDatabase(run / "run.db"))
            begun[0].add(9, {"decisions": 3.0})
            begun[0].flush()
        return connection

    monkeypatch.setattr(sqlite_files, "_in_memory", slow)
    assert numbers(run)[9] == 3.0
    begun[0].close()


def test_a_file_that_is_not_there_cannot_be_opened_and_is_not_made(tmp_path):
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        opened_to_read(tmp_path / "run.db")
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_a_log_is_read_in_place(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE metrics (update_number INTEGER, name TEXT, value REAL)")
        database.execute("INSERT INTO metrics VALUES (1, 'a', 0.5)")
    with closing(RunReader(path)) as reader:
        assert reader.metric("a") == [MetricRow(1, "a", 0.5)]
    assert [each.name for each in tmp_path.iterdir()] == ["other.db"]
