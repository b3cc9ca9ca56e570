"""The real peers learn a little and end, where `make peers` has installed them."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.peers_learning import PEERS, Peer, process, why_missing

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("peer", PEERS, ids=[peer.module for peer in PEERS])
def test_a_peer_learns_from_what_it_is_asked_to_and_leaves_no_process(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    missing = why_missing(peer)
    if missing:
        pytest.skip(f"{peer.title}: {missing}")
    with process(peer, peer.learning) as running:
        learned = running.learn(2000)
    assert learned.decisions >= 2000
    assert learned.seconds > 0.1
    # A match has twelve decisions of the peer, and some matches are still being played.
    assert 0 < learned.matches <= learned.decisions / 12 + 100
    assert running.processes() == []
