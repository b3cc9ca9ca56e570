"""The benchmark of the pages gives whole lines at the smallest sizes; nothing here is timed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import view


@pytest.mark.skipif(sys.platform != "linux", reason="counts through /proc")
def test_eight_pages_are_held_against_none_on_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "WINDOW", 2.0)
    monkeypatch.setattr(view, "WINDOWS", 2)
    folder = tmp_path / "one"
    with view.running(folder) as run, view.served(folder) as server:
        line = view.cost(folder, run, server)
    assert line["pages"] == 8
    assert line["decisions_per_cpu_second_with"] > 0
    assert line["decisions_per_cpu_second_without"] > 0
    assert 0 < line["server_share_of_a_core"] <= line["server_share_worst"]
    assert line["server_mib"] > 10


def test_every_page_of_a_large_run_and_of_many_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "RUNS": 3,
        "UPDATES": 30,
        "METRICS": 8,
        "EVALUATIONS": 2,
        "DEALS": 2,
    }.items():
        monkeypatch.setattr(view, name, value)
    many, large = view.waiting(tmp_path / "many", tmp_path / "large")
    assert (many["runs"], large["metric_rows"]) == (3, 30 * 8)
    assert large["matches"] == 2 * 10 * 2 * 2
    for name in ("runs_page", "run_page", "curves", "strength"):
        assert large[name] > 0
