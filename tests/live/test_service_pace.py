"""How a learner serves: how long it sleeps, when it reports, and when `once` is over."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanista.live.learner import service
from lanista.live.learner.background_learner import Batch
from lanista.live.learner.ledger import Totals
from lanista.live.learner.service import Service, Statistics, give_memory_back, serve


class Pretended:
    """A learner whose every step takes two seconds, and a stop that sleeps no time at all."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, batches: list[Batch | None], files: int
    ) -> None:
        self.batches, self.now = list(batches), 100.0
        self.asked: list[int] = []
        self.slept: list[float] = []
        self.reports: list[int] = []
        self.spool = SimpleNamespace(waiting=lambda: [None] * files, new="")
        self.settings = SimpleNamespace(least_games=4)
        self.games = 0
        monkeypatch.setattr(service.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(service, "statistics", self.statistics)

    def statistics(self, learner: Any, learning: bool = False) -> Any:
        return SimpleNamespace(lines=lambda: ["report"])

    def say(self, line: str) -> None:
        self.reports.append(self.games)

    def step(self, least: int) -> Batch | None:
        self.asked.append(least)
        self.now += 2.0
        batch = self.batches.pop(0) if self.batches else None
        self.games += batch.games if batch else 0
        return batch

    def go_back(self) -> None:
        """Nothing was learned that could be undone."""

    def is_set(self) -> bool:
        return False

    def wait(self, seconds: float) -> None:
        self.slept.append(seconds)


def served(learner: Pretended, how: Service) -> None:
    anyone: Any = learner
    serve(anyone, how, anyone)


@pytest.mark.parametrize(("share", "sleep"), [(1.0, 0.0), (0.5, 2.0), (0.25, 6.0)])
def test_a_learner_sleeps_so_long_that_it_has_its_share_of_a_core(
    monkeypatch: pytest.MonkeyPatch, share: float, sleep: float
) -> None:
    learner = Pretended(monkeypatch, [Batch(games=3)] * 2, files=6)
    served(learner, Service(once=True, cpu_share=share))
    assert learner.slept == pytest.approx([sleep, sleep])


def test_a_report_comes_whenever_so_many_games_more_have_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = [3, 3, 3, 3, 11, 1]
    learner = Pretended(monkeypatch, [Batch(games=size) for size in sizes], files=24)
    served(learner, Service(once=True, report_every=5))
    # After 6, 12 and 23 games a multiple of 5 was passed since the look before.
    assert learner.reports == [6, 12, 23]


def test_no_report_is_wanted_where_none_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Pretended(monkeypatch, [Batch(games=50)], files=50)
    served(learner, Service(once=True, report_every=0))
    assert learner.reports == []


def test_once_ends_after_as_many_files_as_there_were_copies_and_refused_ones_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endless: list[Batch | None] = [Batch(games=1, repeated=1, refused=1)] * 50
    learner = Pretended(monkeypatch, endless, files=7)
    served(learner, Service(once=True))
    assert learner.asked == [1, 1, 1]


@pytest.mark.parametrize(("poll", "timeout"), [(5.0, 5000), (0.25, 250), (0.0001, 1)])
def test_new_files_are_watched_for_and_looked_for_every_so_often(
    monkeypatch: pytest.MonkeyPatch, poll: float, timeout: int
) -> None:
    """A timeout of 0 would mean none to the watcher."""
    import watchfiles

    asked: list[Any] = []

    def watch(*paths: Any, **how: Any) -> Any:
        asked.append((paths, how))
        return iter([set(), set()])

    monkeypatch.setattr(watchfiles, "watch", watch)
    learner = Pretended(monkeypatch, [Batch(games=9), None, Batch(games=9)], files=0)
    served(learner, Service(poll=poll))
    stop: Any = learner
    assert asked == [
        (("",), {"stop_event": stop, "rust_timeout": timeout, "yield_on_timeout": True,
                 "raise_interrupt": False, "recursive": False}),
    ]  # fmt: skip
    # Now, and twice when the watcher says so; each time until there is no batch.
    assert learner.asked == [4, 4, 4, 4, 4]


def test_memory_is_given_back_every_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Pretended(monkeypatch, [Batch(games=1)] * 40, files=40)
    trimmed: list[float] = []
    monkeypatch.setattr(service, "give_memory_back", lambda: trimmed.append(learner.now))
    served(learner, Service(once=True))
    # Steps of two seconds from 100 on: the first later than 30 seconds after the last time.
    assert trimmed == [132.0, 164.0]


def test_a_learner_is_told_nothing_and_polls_every_five_seconds_on_one_core() -> None:
    assert asdict(Service()) == {
        "once": False,
        "poll": 5.0,
        "cpu_share": 1.0,
        "report_every": 100,
        "drain": False,
    }


def test_statistics_are_four_lines_for_people() -> None:
    totals = Totals(
        games=1200, learned=1000, stale=150, batches=12, samples=3000, trained=7500,
        loss=0.12346, repeated=7, seconds=1234.56, cpu_seconds=61.24,
    )  # fmt: skip
    given = Statistics(
        totals, errors=3, waiting=4, published=2, stable="ab" * 32, learning=True, playing=3
    )
    assert given.lines() == [
        "games 1,200 (learned from 1,000, too old 150, copies 7, refused 3, waiting 4)",
        "batches 12, samples 3,000, passes over each 2.50, average loss 0.1235",
        "time 1,234.6 s (CPU 61.2 s), published 2, stable abababababab",
        "active workers 1/1, games being played 3",
    ]
    fresh = replace(given, totals=replace(totals, samples=0, loss=None))
    assert "passes over each 0.00, average loss none yet" in fresh.lines()[1]


def resident() -> int:
    """Return how much of the process lies in memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(
    not (sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim")),
    reason="only glibc keeps such memory, and gives it back when asked",
)
def test_memory_that_was_freed_below_what_stays_goes_back_to_the_system() -> None:
    libc, size, count = ctypes.CDLL(None), 64 << 10, 1600
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    pieces = [libc.malloc(size) for _ in range(count)]
    for piece in pieces:
        ctypes.memset(piece, 1, size)
    stays = pieces[::16]
    for piece in pieces:
        if piece not in stays:
            libc.free(piece)
    before = resident()
    assert give_memory_back() is True
    given_back = before - resident()
    for piece in stays:
        libc.free(piece)
    assert given_back > size * count / 2
