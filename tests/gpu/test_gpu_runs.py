"""Whole runs on a GPU, workers in threads: what they played lies there, also after a resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from lanista.learn.learner import Learner
from lanista.runs.settings import load_settings
from lanista.training.loop import train

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU")

RUN: dict[str, Any] = {
    "game": "beastybar",
    "iterations": 3,
    "network": {"width": 32, "layers": 2},
    "learning": {
        "terms": {"policy": 1.0, "value": 0.5, "behaviour": 0.1},
        "minibatches": 2,
        "critic_sees": "privileged",
        "critic_network": {"width": 32, "layers": 1},
    },
    "rollouts": {"matches": 64, "opponents": ["self", "random", "heuristic"]},
    "league": {"round": 1, "past_members": 3, "main": {"snapshot_decisions": 1}},
    "checkpoints": {"save_every": 1},
    "device": "cuda",
}


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("graphs", [False, True])
def test_a_league_learns_and_goes_on_on_a_gpu(
    lag: int, graphs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollouts = {**RUN["rollouts"], "workers": 2, "launcher": "threads", "lag": lag}
    settings = load_settings({**RUN, "rollouts": {**rollouts, "graphs": graphs}})
    learn, logs = Learner.update, []

    def watched(self: Learner, unrolls: Any, **how: Any) -> Any:
        assert lag or unrolls.index.is_cuda
        logs.append(learn(self, unrolls, **how))
        return logs[-1]

    monkeypatch.setattr(Learner, "update", watched)
    assert train(settings, tmp_path / "p.pt") == 0
    more = load_settings({**RUN, "iterations": 5, "rollouts": {**rollouts, "graphs": not graphs}})
    assert train(more, tmp_path / "p.pt", resume=True) == 0
    assert len(logs) == 5
    assert logs[-1]["lag/mean"] == lag
