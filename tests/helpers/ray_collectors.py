"""Collectors that machines of a cluster build, found there by their import path.

With LANISTA_TEST_SLOW in a machine's environment everything takes that many times as long, with
LANISTA_TEST_NO_ROOM nothing can be built there.
"""

from __future__ import annotations

import errno
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

from lanista.data.trajectory import to_arrays
from lanista.games import Spec, make
from lanista.games.random_bot import RandomBot
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.parallel_collector import ParallelCollector

GAME_FILE = "cards.py"
APART = 100_000
"""Match ids that each shard has for itself."""


def actor() -> Actor:
    torch.manual_seed(0)
    return Actor(Policy(make("kuhn", slots=1, seed=0).spec, Network(width=8, layers=1)), 0)


class Slowed(Collector):
    """Takes `times` as long as it would."""

    times = 1.0

    def _play_out(self, matches: int) -> None:
        began = time.monotonic()
        super()._play_out(matches)
        time.sleep((self.times - 1) * (time.monotonic() - began))


def kuhn(first: int, slots: int = 8, line: object = None) -> Collector:
    if "LANISTA_TEST_NO_ROOM" in os.environ:
        raise OSError(errno.ENOSPC, "No space left on device")
    collector = Slowed(make("kuhn", slots=slots, seed=0), actor(), unroll_length=4,
                       first_match=first)  # fmt: skip
    collector.times = float(os.environ.get("LANISTA_TEST_SLOW", "1"))
    return collector


def uniform(spec: Spec) -> RandomBot:
    """Make an opponent."""
    return RandomBot(spec, 0)


def seating(matches: np.ndarray) -> np.ndarray:
    return np.zeros((len(matches), 2), np.int32)


def fleet(
    launcher: str, shards: int, lag: int = 0, slots: int = 8, hang_seconds: float | None = None
) -> ParallelCollector:
    """Return `shards` collectors of Kuhn poker, launched so."""
    firsts = [APART * number for number in range(shards)]
    builds = [partial(kuhn, first, slots) for first in firsts]
    collector = ParallelCollector(
        builds, firsts, actor(), 2, launcher=launcher, lag=lag, hang_seconds=hang_seconds
    )
    collector.meet([], seating)
    return collector


def kuhn_of_file(first: int, folder: str, line: object = None) -> Collector:
    """Return a collector whose game is a file; machines of tests have it in other folders."""
    os.chdir(os.environ.get("LANISTA_TEST_FOLDER", folder))
    return Collector(make(GAME_FILE, slots=8, seed=0), actor(), unroll_length=4, first_match=first)


def fleet_of_file(launcher: str, shards: int, folder: Path) -> ParallelCollector:
    """Return collectors of the game in a file, which lies in `folder` unless a machine differs."""
    firsts = [APART * number for number in range(shards)]
    builds = [partial(kuhn_of_file, first, str(folder)) for first in firsts]
    collector = ParallelCollector(builds, firsts, actor(), 2, launcher=launcher)
    collector.meet([], seating)
    return collector


def change(collector: ParallelCollector, number: int) -> None:
    """Give the weights another value, as a learner does."""
    with torch.no_grad():
        for parameter in collector.actor.policy.parameters():
            parameter += 0.01 * np.sin(number)


def equal(ours: object, theirs: object) -> bool:
    one, other = to_arrays(ours), to_arrays(theirs)
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)
