"""The bench of ranks gives a whole line at the smallest size; nothing here is timed."""

from __future__ import annotations

import pytest

from bench import ranks
from lanista.learn.update.ranks import Ranks


def test_a_rank_alone_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in {"UNROLLS": 8, "LENGTH": 4, "WARM": 0, "UPDATES": 2}.items():
        monkeypatch.setattr(ranks, name, number)
    line = ranks._lead(Ranks())
    assert line["decisions"] == 32
    assert 0 < line["low"] <= line["seconds"] <= line["high"]
