"""The bench of bots elsewhere gives whole lines at the smallest sizes; nothing here is timed."""

from __future__ import annotations

import json

import pytest

from bench import live_serve


def test_every_bot_sends_all_of_its_games_and_an_agent_plays_with_a_server_and_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = {"BOTS": 4, "GAMES": 2, "STEPS": 3, "POLLS": 8, "ROUNDS": 1}
    for name, number in small.items():
        monkeypatch.setattr(live_serve, name, number)
    lines = [json.loads(json.dumps(line)) for line in live_serve.live_serve()]
    sent, meanwhile, polled, decision = lines
    assert (sent["bots"], sent["games"]) == (4, 8)
    assert sent["requests"] >= 8 + 4
    assert meanwhile["sent"] >= 4 * 8
    assert meanwhile["n"] >= 4 * 8 * 3
    assert meanwhile["n_without"] >= 4 * 8 * 3
    assert polled["requests"] == 8
    assert decision["sent"] == 4 * 8
    assert decision["n"] == 4 * 8 * 3
