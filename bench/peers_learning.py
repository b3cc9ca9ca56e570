"""Other people's PPO beside ours: rates on the same game and network, taking turns with ours.

Says which peers there are, at which sizes they run, and what their rates come to. Each runs in the
environment that `make peers` made for it; one that is not there, or fails, is a line that says so.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers_process import Learned, PeerFailed, PeerProcess
from bench.timing import REPEATS, Rate

ENVIRONMENTS = Path(".venv-peers")
LEAST = 12_288
"""Decisions of one repeat, at least; a match has twelve of the peer's."""
SHORT_TRAINING = 400_000
"""Decisions after which a peer must play better than it began."""
UNIT = "decisions per CPU second"
Line = dict[str, Any]
Ours = Mapping[str, Callable[[], float]]
"""By precision: what measures one repeat of ours."""


@dataclass(frozen=True)
class Peer:
    """One peer and the sizes that it is measured at."""

    module: str
    """Its module in `bench.peers`, and its folder's name."""
    title: str
    usual: Line
    """Sizes of the order that its own documentation uses."""
    fastest: Line
    """The fastest of those tried."""
    learning: Line
    """Sizes at which it is shown to learn: more updates for the same decisions."""
    times: float
    """How many times as fast ours is to be."""

    @property
    def folder(self) -> Path:
        return ENVIRONMENTS / self.module

    def command(self, sizes: Line) -> list[str]:
        python = str(self.folder / "bin" / "python")
        return [python, "-m", f"bench.peers.{self.module}", json.dumps(sizes)]


def _sizes(environments: int, steps: int, batch: int) -> Line:
    return {"environments": environments, "steps": steps, "batch": batch}


def _sample_factory(workers: int, environments: int, steps: int, batch: int) -> Line:
    return {
        "num_workers": workers,
        "num_envs_per_worker": environments,
        "rollout": steps,
        "batch_size": batch,
        "async_rl": True,
    }


_SERIAL = {"serial_mode": True, "async_rl": False, "worker_num_splits": 1}
_BATCHED = {"batched_sampling": True}

PEERS = (
    Peer(
        "sb3", "Stable-Baselines3", times=5.0,
        usual=_sizes(8, 256, 256), fastest=_sizes(512, 24, 12_288), learning=_sizes(32, 24, 256),
    ),
    Peer(
        "sample_factory", "Sample Factory", times=1.0,
        usual=_sample_factory(2, 8, 64, 1024),
        fastest=_sample_factory(1, 512, 24, 12_288) | _BATCHED,
        learning=_sample_factory(1, 16, 16, 256) | _SERIAL,
    ),
    Peer(
        "rllib", "RLlib", times=1.0,
        usual=_sizes(8, 256, 256), fastest=_sizes(512, 24, 3072), learning=_sizes(32, 24, 256),
    ),
    Peer(
        "tianshou", "Tianshou", times=1.0,
        usual=_sizes(8, 256, 256), fastest=_sizes(1024, 24, 3072), learning=_sizes(32, 24, 256),
    ),
)  # fmt: skip
"""The first promise, five times, was made of Stable-Baselines3; of the others, to be ahead."""


def peers(ours: Ours, chosen: tuple[Peer, ...] = PEERS) -> Iterator[Line]:
    """Measure every peer that is installed, and compare."""
    for peer in chosen:
        label = title(peer)
        missing = why_missing(peer)
        if missing:
            yield {"bench": label, "why": f"not measured: {missing}"}
            continue
        try:
            yield from compare(peer, ours)
        except PeerFailed as failed:
            yield {"bench": label, "why": f"failed: {failed}"}


def title(peer: Peer) -> str:
    return f"beastybar PPO, 256x256, {peer.title}"


def why_missing(peer: Peer) -> str | None:
    """Return why a peer cannot be run, or None."""
    if (peer.folder / "ready").exists():
        return None
    log = peer.folder / "install.log"
    log_lines = log.read_text(encoding="utf-8").strip().splitlines() if log.exists() else []
    errors = [line for line in log_lines if line.startswith("ERROR")]
    return f"did not install: {errors[-1]}" if errors else "`make peers` adds it"


def compare(peer: Peer, ours: Ours) -> Iterator[Line]:
    """Give the peer's lines at both sizes, each followed by ours over it."""
    learns = learning(peer)
    for label, sizes in (("usual sizes", peer.usual), ("its fastest sizes", peer.fastest)):
        rounds = []
        with process(peer, sizes) as running:
            running.learn(LEAST)
            for _ in range(REPEATS):
                own = {precision: measure() for precision, measure in ours.items()}
                rounds.append((running.learn(LEAST), own))
            about = running.about
        yield {**line(peer, label, [learned for learned, _ in rounds]), **sizes, **about, **learns}
        yield from ratios(peer, label, rounds)


def process(peer: Peer, sizes: Line) -> PeerProcess:
    # Only Sample Factory has processes that go on when nothing is asked of it.
    return PeerProcess(peer.command(sizes), halted=sizes.get("async_rl", False))


def learning(peer: Peer, decisions: int = SHORT_TRAINING) -> Line:
    """Return its score against the random bot before and after a short training."""
    with process(peer, peer.learning) as running:
        first = running.learn(LEAST)
        last = running.learn(decisions)
    assert first.score is not None
    assert last.score is not None
    return {
        "score_first": round(first.score, 3),
        "score_last": round(last.score, 3),
        "score_matches": [first.matches, last.matches],
        "learns": last.score - first.score > noise(first.matches, last.matches),
    }


def noise(*matches: int) -> float:
    """Return a difference of two scores that chance alone makes in one of forty cases at most.

    The deviation of one match's score is at most a half.
    """
    return 1.96 * 0.5 * sum(1 / count for count in matches) ** 0.5


def line(peer: Peer, label: str, learned: list[Learned]) -> Line:
    """Return the JSON line of one peer at one size: the median over the repeats."""
    rates = [one.rate for one in learned]
    rate = Rate(statistics.median(rates), min(rates), max(rates))
    return {"bench": title(peer), "sizes": label, "unit": UNIT, **rate.fields()}


def ratios(
    peer: Peer, label: str, rounds: list[tuple[Learned, dict[str, float]]]
) -> Iterator[Line]:
    """Give ours over the peer's in each precision: the median of neighbouring repeats."""
    for precision in rounds[0][1]:
        quotients = [own[precision] / learned.rate for learned, own in rounds]
        ratio = statistics.median(quotients)
        yield {
            "bench": f"beastybar PPO, ours in {precision} over {peer.title}",
            "sizes": label,
            "ratio": round(ratio, 1),
            "low": round(min(quotients), 1),
            "high": round(max(quotients), 1),
            "ours": round(statistics.median(own[precision] for _, own in rounds)),
            "target": peer.times,
            "met": ratio >= peer.times,
        }
