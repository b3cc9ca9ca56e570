"""What a learner does with games that wait when it is stopped, and what it says of them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from practice import Bench, quick, settings_of
from toy import game_of

from lanista.cli.main import main
from lanista.live.agent.journal import Journal
from lanista.live.learner.service import Service, left_over, serve
from lanista.live.sc2 import first_policy


@pytest.mark.parametrize(("drain", "left"), [(False, 5), (True, 0)])
def test_with_drain_a_stopped_learner_finishes_what_waits(
    tmp_path: Path, drain: bool, left: int
) -> None:
    bench = Bench(tmp_path, settings_of(batch_games=2, least_games=2))
    bench.play(1, -1, 1, -1, 1, -1, 1)
    stop = threading.Event()
    with bench.start() as learner:
        how = Service(report_every=0, drain=drain)
        after = serve(learner, how, stop, lambda batch: stop.set())
        sentences = left_over(learner)
    # The last game is fewer than an update otherwise waits for.
    assert (after.waiting, after.totals.games) == (left, 7 - left)
    assert bool(sentences) is not drain
    assert all(f"{left} games wait in {bench.spool.new}" in line for line in sentences)
    assert after.lines()[-1] == "active workers 0/1, games being played 0"


def test_a_trial_that_goes_on_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick()))
    with bench.start() as learner:
        bench.play(1)
        bench.learn(learner)
        bench.duel(2, 1, -1)
        bench.learn(learner)
        assert left_over(learner) == ["A trial of 2 games goes on at the next start."]


def test_reports_in_between_count_the_learner_as_a_worker_and_games_as_played(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.play(1)
    journal = Journal(bench.spool.open, "somebody", game_of().header)
    with bench.start() as learner:
        serve(learner, Service(once=True, report_every=1), threading.Event())
    journal.leave()
    assert "active workers 1/1, games being played 1" in bench.said


def test_what_is_usual_depends_on_what_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first_policy(tmp_path / "sc2")
    bench = Bench(tmp_path / "toy")
    for folder, every in ((tmp_path / "sc2", 5), (bench.folder.folder, 100)):
        words = ["--spool", str(tmp_path / "spool"), "--policy", str(folder), "--show-settings"]
        assert main(["learn", *words]) == 0
        assert f"report_every: {every}\n" in capsys.readouterr().out
        assert main(["learn", *words, "--report-every", "7"]) == 0
        assert "report_every: 7\n" in capsys.readouterr().out
