"""A rank whose learner is on a GPU exchanges by NCCL; more than one GPU was never tried."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def test_one_rank_on_a_gpu_learns_by_nccl_what_a_learner_alone_learns() -> None:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port = str(line.getsockname()[1])
    words = [sys.executable, str(Path(__file__).with_name("one_rank.py")), port]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["exact"]
    assert "nccl" in outcome["backend"]
    assert outcome["moved"] > 1e-3
    assert outcome["with_exchange"] <= max(4 * outcome["alone_twice"], 1e-6)
