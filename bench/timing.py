"""How a rate is measured here: per CPU second, the median of repeats.

The machines are shared and noisy, so wall time is used only where two cores are the subject, and
then only while nobody else uses them.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

REPEATS = 5


@dataclass(frozen=True)
class Rate:
    """A median with the lowest and highest of the repeats."""

    median: float
    low: float
    high: float

    def fields(self) -> dict[str, float]:
        """Return the numbers, rounded, for a JSON line."""
        return {"median": round(self.median), "low": round(self.low), "high": round(self.high)}


def per_cpu_second(work: Callable[[], int], repeats: int = REPEATS) -> Rate:
    """Return how many units `work` does in a CPU second; it returns how many it did."""
    rates = []
    for _ in range(repeats):
        began = time.process_time()
        done = work()
        rates.append(done / (time.process_time() - began))
    return Rate(statistics.median(rates), min(rates), max(rates))


def idle_cores(seconds: float = 1.0) -> float:
    """Return how many cores nobody used during `seconds`, from the kernel's own counts."""
    before, began = _busy_ticks(), time.perf_counter()
    time.sleep(seconds)
    busy = (_busy_ticks() - before) / os.sysconf("SC_CLK_TCK")
    return (os.cpu_count() or 1) - busy / (time.perf_counter() - began)


def _busy_ticks() -> int:
    with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return user + nice + system + irq + softirq + steal
