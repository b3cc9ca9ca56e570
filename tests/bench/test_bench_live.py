"""The live benchmark gives whole lines at the smallest sizes; nothing here is timed."""

from __future__ import annotations

import json

from bench import live


def test_every_disk_has_a_line_with_its_verdict_and_loses_no_game() -> None:
    decision, *added = [json.loads(json.dumps(line)) for line in live.live(rounds=1, steps=3)]
    assert decision["bench"] == "live decision"
    assert decision["n"] == 3
    assert [line["about"].split()[0] for line in added] == ["real", "slow", "full"]
    for line in added:
        assert line["n"] == 3 * live.GAMES
        assert (line["written"], line["dropped"]) == (live.GAMES, 0)
        assert line["met"] is (line["p99"] <= live.TARGET)
        assert line["median"] <= line["p99"] <= line["p999"]
