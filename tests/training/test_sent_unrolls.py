"""Workers that put what they played on the learner's device: the same run, killed and resumed too.

Here that device is the CPU, whose tensors stand for a GPU's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from pipeline_runs import ARENA, BEASTYBAR, SMALL, killed, last_state, settings_of, train

from lanista.learn.learner import Learner
from lanista.training import learner_loop

AHEAD = {"launcher": "threads", "workers": 2, "lag": 1}
EVERY = {"checkpoints": {"save_every": 1, "keep_last": 9}, "iterations": 5}
STREAM = {key: value for key, value in ARENA.items() if key not in ("replay", "learner_updates")}
LEAGUE: dict[str, Any] = {
    "game": "kuhn",
    "network": SMALL,
    "rollouts": {"matches": 32, "slots": 10, "opponents": ["self", "random"]},
    "league": {"round": 1, "past_members": 2, "main": {"snapshot_decisions": 1}},
}


@pytest.mark.parametrize("values", [BEASTYBAR, STREAM, LEAGUE], ids=["matches", "stream", "league"])
def test_a_run_whose_workers_send_is_the_run_whose_workers_do_not(
    values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of({**values, **EVERY, "rollouts": {**values["rollouts"], **AHEAD}})
    assert train(settings, tmp_path / "kept" / "p.pt") == 0
    monkeypatch.setattr(learner_loop, "sends", lambda settings: True)
    learn, there = Learner.update, []

    def watched(self: Learner, unrolls: Any, **how: Any) -> Any:
        there.append(isinstance(unrolls.index, torch.Tensor))
        return learn(self, unrolls, **how)

    monkeypatch.setattr(Learner, "update", watched)
    assert train(settings, tmp_path / "sent" / "p.pt") == 0
    assert all(there)
    killed(settings, tmp_path / "killed" / "p.pt", 3)
    assert train(settings, tmp_path / "killed" / "p.pt", resume=True) == 0
    assert not all(there)  # What was saved ahead comes back to the host.
    states = [last_state(tmp_path / name / "p.pt") for name in ("kept", "sent", "killed")]
    for other in states[1:]:
        assert other["matches"] == states[0]["matches"]
        for name, weight in states[0]["learner"]["policy"].items():
            found = other["learner"]["policy"][name]
            torch.testing.assert_close(found, weight, rtol=1e-4, atol=1e-6)
