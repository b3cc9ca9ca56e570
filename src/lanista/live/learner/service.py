"""Lets a background learner serve: waits for games, learns, tells, and leaves cores to the game.

Games are noticed by the system where it can tell of new files, and by looking every few seconds
where it cannot. Knows nothing of how is learned.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lanista.live.learner.background_learner import BackgroundLearner, Batch
from lanista.live.learner.full_disk import when_there_is_room
from lanista.live.learner.ledger import Totals

_TRIM_EVERY = 30.0
"""Seconds between two times that memory is given back to the system."""


@dataclass(frozen=True)
class Service:
    """How a learner serves."""

    once: bool = False
    """Learn from what is there, and end."""
    poll: float = 5.0
    """Seconds between two looks into the spool, for systems that do not tell of new files."""
    cpu_share: float = 1.0
    """Of one core, for learning; the rest of the time is slept."""
    report_every: int = 100
    """Games between two reports; 0: none but the last."""
    drain: bool = False
    """When stopped, learn from the games that wait before ending."""


@dataclass(frozen=True)
class Statistics:
    """What a learner has done so far, over all its starts."""

    totals: Totals
    errors: int
    """Files in `bad/`."""
    waiting: int
    """Files in `new/`."""
    published: int
    stable: str
    learning: bool = False
    """Whether the learner is at work, or has ended or waits."""
    playing: int = 0
    """Games that bots play at the moment."""

    def lines(self) -> list[str]:
        """Return it for people."""
        totals = self.totals
        loss = "none yet" if totals.loss is None else f"{totals.loss:.4f}"
        ratio = totals.trained / totals.samples if totals.samples else 0.0
        return [
            f"games {totals.games:,} (learned from {totals.learned:,}, too old "
            f"{totals.stale:,}, copies {totals.repeated:,}, refused {self.errors:,}, "
            f"waiting {self.waiting:,})",
            f"batches {totals.batches:,}, samples {totals.samples:,}, passes over each "
            f"{ratio:.2f}, average loss {loss}",
            f"time {totals.seconds:,.1f} s (CPU {totals.cpu_seconds:,.1f} s), published "
            f"{self.published}, stable {self.stable[:12]}",
            f"active workers {int(self.learning)}/1, games being played {self.playing:,}",
        ]


def statistics(learner: BackgroundLearner, learning: bool = False) -> Statistics:
    """Return what a learner has done so far."""
    return Statistics(
        totals=learner.ledger.totals(),
        errors=len(learner.spool.refused()),
        waiting=len(learner.spool.waiting()),
        published=len(learner.ledger.events("published")),
        stable=learner.gatekeeper.deployment.stable,
        learning=learning,
        playing=learner.spool.playing(),
    )


def left_over(learner: BackgroundLearner) -> list[str]:
    """Return a sentence on each thing that a learner which ends now leaves for its next start."""
    waiting, sentences = len(learner.spool.waiting()), []
    if waiting:
        sentences.append(
            f"{waiting:,} games wait in {learner.spool.new} for the next start; --drain learns "
            "from them before it ends."
        )
    test = learner.gatekeeper.deployment.test
    if test is not None:
        sentences.append(f"A {test.kind} of {test.games:,} games goes on at the next start.")
    return sentences


def serve(
    learner: BackgroundLearner,
    how: Service,
    stop: threading.Event,
    report: Callable[[Batch], None] = lambda batch: None,
) -> Statistics:
    """Learn until `stop` is set, or what is there is learned from; return the statistics."""
    serving = _Serving(learner, how, report)
    # Bots may go on playing: `once` ends after as many files as there were.
    most = len(learner.spool.waiting()) if how.once else math.inf
    for _ in _occasions(learner, how, stop):
        serving.work(stop, most)
    if how.drain and stop.is_set():
        last = _Serving(learner, replace(how, once=True), report)
        last.work(threading.Event(), len(learner.spool.waiting()))
    return statistics(learner)


class _Serving:
    """What is counted while a learner serves."""

    def __init__(
        self, learner: BackgroundLearner, how: Service, report: Callable[[Batch], None]
    ) -> None:
        self.learner, self.how, self.report = learner, how, report
        self.games = self.files = 0
        self.trimmed = time.monotonic()

    def work(self, stop: threading.Event, most: float) -> None:
        """Learn from what waits, `most` files since the beginning."""
        learner, how = self.learner, self.how
        while self.files < most and not stop.is_set():
            began = time.monotonic()
            batch = _step(learner, how, stop)
            if batch is None:
                break
            self.report(batch)
            self._count(batch)
            if time.monotonic() - self.trimmed > _TRIM_EVERY:
                give_memory_back()
                self.trimmed = time.monotonic()
            busy = time.monotonic() - began
            stop.wait(busy * (1 / how.cpu_share - 1))

    def _count(self, batch: Batch) -> None:
        every = self.how.report_every
        self.files += batch.games + batch.repeated + batch.refused
        before, self.games = self.games, self.games + batch.games
        if every and self.games // every > before // every:
            for line in statistics(self.learner, learning=True).lines():
                self.learner.say(line)


def begin(
    make: Callable[[], BackgroundLearner],
    say: Callable[[str], None],
    stop: threading.Event,
    poll: float,
) -> BackgroundLearner | None:
    """Begin a learner as soon as its disk has room; None if `stop` is set before."""
    return when_there_is_room(make, lambda: None, say, stop, poll)


def _step(learner: BackgroundLearner, how: Service, stop: threading.Event) -> Batch | None:
    least = 1 if how.once else learner.settings.least_games
    return when_there_is_room(
        lambda: learner.step(least), learner.go_back, learner.say, stop, how.poll
    )


def give_memory_back() -> bool:
    """Return to the system what was freed between things that stay; return whether it could be.

    Batches differ in size, so free memory lies in pieces, and glibc keeps all below the highest
    piece in use: over hours a learner would grow by what it has long let go of.
    """
    if not sys.platform.startswith("linux"):
        return False
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and bool(trim(0))


def _occasions(learner: BackgroundLearner, how: Service, stop: threading.Event) -> Iterator[object]:
    """Give a moment to look into the spool: now, at each new file, and every `poll` seconds."""
    yield None
    if how.once or stop.is_set():
        return
    from watchfiles import watch

    yield from watch(
        learner.spool.new,
        stop_event=stop,
        rust_timeout=max(1, int(how.poll * 1000)),
        yield_on_timeout=True,
        raise_interrupt=False,
        recursive=False,
    )


def step_back(nice: int, threads: int) -> None:
    """Leave the cores to the game: a lower priority, and few threads."""
    import torch

    torch.set_num_threads(threads)
    if nice and hasattr(os, "nice"):
        os.nice(nice)
