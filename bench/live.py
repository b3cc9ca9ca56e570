"""What a live agent costs the game it plays: one decision, and what recording adds to it.

Waiting for a core that another program uses is taken off, since it says nothing of the agent;
waiting for a disk, a lock or the interpreter is not.
"""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games import make
from lanista.live import Agent
from lanista.live.agent.inference import Decider, load
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.files.policy_format import PolicyHeader, encode
from lanista.nets.portable.runtime import Flat
from lanista.nets.settings import Network

NETWORK = Network("mlp", width=64, layers=2)
GAMES = 8
STEPS = 200
ROUNDS = 10
TARGET = 1000.0
"""Microseconds."""
SLOW = 0.3
"""Seconds that a slow disk takes for what others do at once."""


def live(rounds: int = ROUNDS, steps: int = STEPS) -> Iterator[dict[str, Any]]:
    """Yield a line for the decision alone, and one for what is added to it on each kind of disk."""
    logging.getLogger("lanista.live").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as name:
        folder = _published(Path(name) / "policy")
        digest = folder.pointer().stable
        decider = load(folder.path_of(digest), digest)
        yield _line("live decision", "mlp 64x64", _decisions(decider, rounds * steps))
        for disk, fsync in _DISKS.items():
            bare, added, ends, report = _played(folder, Path(name) / disk, fsync, rounds, steps)
            yield _line("live added", f"{disk} disk, {GAMES} games at once", added) | {
                "decision_p99": _quantile(bare, 0.99),
                "end": _quantiles(ends),
                "written": report.written,
                "dropped": report.dropped,
            }


def _published(path: Path) -> PolicyFolder:
    """Return a folder in which an MLP of 64 × 64 plays the arena."""
    spec = make("arena", slots=1).spec
    drawn, inputs = np.random.default_rng(0), Flat(spec.observation).width
    shapes: dict[str, tuple[int, ...]] = {
        "torso.layers.0.weight": (64, inputs),
        "torso.layers.0.bias": (64,),
        "torso.layers.1.weight": (64, 64),
        "torso.layers.1.bias": (64,),
        "head.weight": (spec.choices, 64),
        "head.bias": (spec.choices,),
    }
    arrays = {name: drawn.normal(0, 0.1, shape).astype("f4") for name, shape in shapes.items()}
    folder = PolicyFolder(path)
    folder.publish(folder.add(encode(PolicyHeader.of(spec, NETWORK), arrays)))
    return folder


def _views(decider: Decider) -> NDArray[Any]:
    """Return observations from play of the arena."""
    game = make("arena", slots=64)
    game.start(np.arange(64), np.arange(64))
    observations = game.decisions().observation.copy()
    assert observations.shape[1] == decider.layout.length
    return observations


def _decisions(decider: Decider, count: int) -> NDArray[np.float64]:
    views, took = _views(decider), np.empty(count)
    legal, drawn = decider.all_legal[None], np.full(len(decider.layout.heads), 0.5, np.float32)
    for number in range(count):
        view = views[number % len(views)]
        with _stopwatch() as watch:
            decider.decide(decider.seen(view)[None], legal, decider.start, drawn)
        took[number] = watch()
    return took


def _played(
    folder: PolicyFolder, spool: Path, fsync: Callable[[int], None], rounds: int, steps: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Any]:
    """Return microseconds of bare decisions, of what the agent adds to each, and of ends."""
    bare, added, ends = [], [], []
    agent = Agent(folder.folder, spool)
    with _fsync(fsync):
        for number in range(rounds):
            games = [agent.game(f"{number}/{seat}") for seat in range(GAMES)]
            views = _views(games[0]._decider)
            for step in range(steps):
                for game in games:
                    view = views[step % len(views)]
                    alone = _bare(game._decider, view)
                    with _stopwatch() as watch:
                        game.act(view)
                        game.reward(1.0)
                    bare.append(alone)
                    added.append(watch() - alone)
            for game in games:
                with _stopwatch() as watch:
                    game.end(1.0)
                ends.append(watch())
    # The disk is well again: what waited is written now, and what was dropped stays dropped.
    report = agent.close(600.0).games
    return np.array(bare), np.array(added), np.array(ends), report


def _bare(decider: Decider, view: NDArray[Any]) -> float:
    legal, drawn = decider.all_legal[None], np.full(len(decider.layout.heads), 0.5, np.float32)
    with _stopwatch() as watch:
        decider.decide(view[None], legal, decider.start, drawn)
    return watch()


@contextmanager
def _stopwatch() -> Iterator[Callable[[], float]]:
    """Give what returns, after the block, its microseconds less those spent waiting for a core."""
    microseconds = [0.0]
    waited, began = _waited(), time.perf_counter_ns()
    yield lambda: microseconds[0]
    microseconds[0] = (time.perf_counter_ns() - began - (_waited() - waited)) / 1000


def _waited() -> int:
    """Return nanoseconds that this thread was ready and had no core; 0 where nobody counts."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1])
    except OSError:
        return 0


@contextmanager
def _fsync(instead: Callable[[int], None]) -> Iterator[None]:
    real = os.fsync
    os.fsync = instead  # type: ignore[assignment]
    try:
        yield
    finally:
        os.fsync = real


def _slow(handle: int) -> None:
    time.sleep(SLOW)


def _full(handle: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


_DISKS: dict[str, Callable[[int], None]] = {"real": os.fsync, "slow": _slow, "full": _full}


def _line(bench: str, about: str, took: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "bench": bench, "about": about, "unit": "us", "n": len(took), **_quantiles(took),
        "target_p99": TARGET, "met": bool(_quantile(took, 0.99) <= TARGET),
    }  # fmt: skip


def _quantiles(took: NDArray[np.float64]) -> dict[str, float]:
    names = {"median": 0.5, "p99": 0.99, "p999": 0.999}
    return {name: _quantile(took, share) for name, share in names.items()}


def _quantile(took: NDArray[np.float64], share: float) -> float:
    return round(float(np.quantile(took, share)), 1)
