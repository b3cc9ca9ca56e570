"""How a run stands, from its lock, its last rows and its newest checkpoint."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from made_runs import made_run, numbers

from lanista.lock import holding
from lanista.runs.database import RunDatabase
from lanista.runs.reader import look_at_run
from lanista.runs.schema import MetricRow
from lanista.view.context import ViewContext
from lanista.view.runs.overview import Overview
from lanista.view.runs.standing import Numbers, numbers_of, state_of


def state(folder: Path) -> str:
    return state_of(folder, numbers_of(folder))


def test_a_run_that_did_all_its_updates_and_saved_them_is_finished(tmp_path: Path) -> None:
    assert state(made_run(tmp_path / "run")) == "finished"


def test_a_run_that_saved_its_last_row_was_stopped(tmp_path: Path) -> None:
    assert state(made_run(tmp_path / "run", updates=8)) == "stopped"


def test_rows_beyond_the_newest_checkpoint_are_of_a_run_that_crashed(tmp_path: Path) -> None:
    assert state(made_run(tmp_path / "run", updates=8, saved=7)) == "crashed"


def test_a_run_that_was_killed_just_after_it_saved_crashed_too(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", updates=7, saved=8)
    with closing(RunDatabase(folder / "run.db")) as database:
        database.add(8, numbers(8))
        database.flush()
        shutil.copytree(folder, tmp_path / "killed")  # As it lies there when nobody can close it.
    assert state(folder) == "stopped"
    assert state(tmp_path / "killed") == "crashed"


def test_a_run_that_ended_with_a_fault_crashed_though_it_saved(tmp_path: Path) -> None:
    notice = "The run ends with a fault; iteration 8 was saved first, and resuming goes on from it."
    assert state(made_run(tmp_path / "run", updates=8, notice=notice)) == "crashed"


def test_whoever_holds_the_folder_runs(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", updates=8, saved=2)
    with holding(folder, "run"):
        assert state(folder) == "running"
    assert state(folder) == "crashed"


def test_updates_of_an_iteration_count_together(tmp_path: Path) -> None:
    settings = {"learner_updates": 2}
    folder = made_run(tmp_path / "run", updates=40, iterations=20, saved=20, settings=settings)
    assert numbers_of(folder).total == 40
    assert state(folder) == "finished"


def test_speed_and_pace_are_those_of_late(tmp_path: Path) -> None:
    found = numbers_of(made_run(tmp_path / "run", updates=15))
    assert found.per_cpu_second == pytest.approx(200)  # 100 decisions in half a CPU second.
    assert found.seconds_per_update == pytest.approx(2.0)
    assert (found.update, found.total, found.decisions) == (15, 20, 1500)


def test_what_is_left_follows_from_the_pace_while_it_runs(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", updates=15)
    overview = Overview(ViewContext(tmp_path, ""))
    with holding(folder, "run"):
        (line,) = overview.lines()
    assert line["seconds_left"] == pytest.approx(10.0)  # Five updates of two seconds.
    assert line["progress"] == pytest.approx(0.75)
    (line,) = overview.lines()
    assert line["seconds_left"] is None


def test_the_score_is_the_lowest_of_the_newest_evaluation_with_its_interval(tmp_path: Path) -> None:
    scores = {"random": 0.9, "tough": 0.3, "middling": 0.5}
    score = numbers_of(made_run(tmp_path / "run", scores=scores)).score
    assert score is not None
    assert (score.value, score.against) == (0.3, "tough")
    assert (score.low, score.high) == pytest.approx((0.25, 0.35))


def test_a_run_without_numbers_yet_is_told_apart_from_a_damaged_one(tmp_path: Path) -> None:
    empty = made_run(tmp_path / "empty", updates=0)
    assert numbers_of(empty) == Numbers(game="kuhn", total=20)
    damaged = made_run(tmp_path / "damaged")
    data = bytearray((damaged / "run.db").read_bytes())
    data[100:4096] = b"\xff" * 3996
    (damaged / "run.db").write_bytes(data)
    assert state(damaged) == "unreadable"
    assert "is damaged" in numbers_of(damaged).error


@pytest.mark.parametrize("text", ["iterations: [", "- a list", "iterations: many"])
def test_settings_that_cannot_be_used_do_not_end_the_list(tmp_path: Path, text: str) -> None:
    made_run(tmp_path / "good")
    (made_run(tmp_path / "odd") / "config.yaml").write_text(text, encoding="utf-8")
    lines = Overview(ViewContext(tmp_path, "")).lines()
    assert [line["name"] for line in lines] == ["good", "odd"]
    assert lines[0]["state"] == "finished"


def test_a_database_that_is_no_runs_is_said_to_be_none(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run")
    for ending in ("", "-wal", "-shm"):
        (folder / f"run.db{ending}").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "run.db")) as other:
        other.execute("CREATE TABLE something (x)")
    assert "no run's database" in numbers_of(folder).error


def test_looking_leaves_no_trace_and_copies_nothing(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    Overview(ViewContext(tmp_path, "")).lines()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_run_is_read_again_only_when_its_files_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lanista.view.runs import overview as module

    folder = made_run(tmp_path / "run", updates=5)
    read = []
    real = module.numbers_of
    monkeypatch.setattr(module, "numbers_of", lambda path: read.append(path) or real(path))
    overview = Overview(ViewContext(tmp_path, ""))
    assert overview.lines()[0]["update"] == 5
    overview.lines()
    assert read == [folder]
    with closing(RunDatabase(folder / "run.db")) as database:
        database.add(6, numbers(6))
        database.flush()
        assert overview.lines()[0]["update"] == 6
    assert len(read) == 2


def test_a_database_that_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    """Nobody has it open, so nothing is copied; then a run begins to write."""
    folder = made_run(tmp_path / "run", updates=5)
    looks = []

    def look(run: object) -> int:
        looks.append(run)
        if len(looks) == 1:
            with closing(RunDatabase(folder / "run.db")) as database:
                database.add(6, numbers(6))
        return run.newest_update()  # type: ignore[attr-defined, no-any-return]

    assert look_at_run(folder / "run.db", look) == 6
    assert len(looks) == 2


def test_no_write_waits_for_one_who_looks(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", updates=5)
    with closing(RunDatabase(folder / "run.db")) as database:
        database.connection.execute("PRAGMA busy_timeout=0")  # To wait would be to fail.
        database.add(6, numbers(6))
        database.flush()
        reading, written = threading.Event(), threading.Event()
        rows = []

        def look(run: object) -> int:
            rows.append(run.size(MetricRow))  # type: ignore[attr-defined]
            reading.set()
            assert written.wait(60)
            rows.append(run.size(MetricRow))  # type: ignore[attr-defined]
            return 0

        looker = threading.Thread(target=look_at_run, args=(folder / "run.db", look))
        looker.start()
        assert reading.wait(60)
        database.add(7, numbers(7))
        database.flush()
        written.set()
        looker.join()
        assert rows[0] == rows[1] == 60  # All tables as they were at one moment.
        assert database.newest_update() == 7
