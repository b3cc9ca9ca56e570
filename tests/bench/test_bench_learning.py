"""The learning benchmark gives whole lines at the smallest sizes; nothing here is timed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import learning


@pytest.fixture
def spent() -> list[learning.Spent]:
    return learning.measure("fp32", repeats=2, updates=1, slots=4)


def test_a_line_has_rates_shares_and_the_verdict(spent: list[learning.Spent]) -> None:
    line = json.loads(json.dumps(learning.line("small", spent, target=10**9)))
    assert line["bench"] == "small"
    assert line["met"] is False
    assert 0 < line["low"] <= line["median"] <= line["high"]
    assert 0 < line["median"] <= min(line["collect"], line["learn"])
    assert 0 < line["simulator_share"] < 1
    assert line["kernels_alone"] > 0


def test_every_decision_of_both_seats_is_counted_once(spent: list[learning.Spent]) -> None:
    # A match of Beasty Bar is twelve cards of each of two seats.
    assert [one.decisions for one in spent] == [4 * 24] * 2


def test_time_in_the_game_is_part_of_collecting(spent: list[learning.Spent]) -> None:
    assert all(0 < one.simulating < one.collecting for one in spent)


def test_a_peer_that_is_not_there_is_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(learning, "PEER", tmp_path / "python")
    (line,) = learning.peer({"fp32": 1.0})
    assert "make peers" in line["why"]


def test_a_peer_is_compared_with_each_precision(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub = tmp_path / "python"
    stub.write_text('#!/bin/sh\necho \'{"sizes": "any", "median": 10}\'\n', encoding="ascii")
    stub.chmod(0o755)
    monkeypatch.setattr(learning, "PEER", stub)
    first, fp32, bf16 = learning.peer({"fp32": 40.0, "bf16": 60.0})
    assert first["median"] == 10
    assert (fp32["ratio"], fp32["met"]) == (4.0, False)
    assert (bf16["ratio"], bf16["met"]) == (6.0, True)


def test_a_peer_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub = tmp_path / "python"
    stub.write_text("#!/bin/sh\necho broken wheel >&2\nexit 3\n", encoding="ascii")
    stub.chmod(0o755)
    monkeypatch.setattr(learning, "PEER", stub)
    (line,) = learning.peer({"fp32": 1.0})
    assert line["why"] == "failed: broken wheel"
