"""What the machine does meanwhile: CPU time, memory, the load of others, a GPU where there is one.

Counts this process and all that it started. Where the system does not tell, the answer is None,
never 0. Knows nothing of training.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lanista.cluster.tasks import cores

_PROC = Path("/proc")
_TICKS = ("utime", "stime", "cutime", "cstime")
"""In /proc/PID/stat: its own time, and that of its children that have ended."""


@dataclass(frozen=True)
class Reading:
    """Clocks at one moment."""

    wall: float
    cpu: float
    """Seconds of this process and of all that it started."""
    busy: float | None
    """Seconds that all cores were busy, whoever used them."""


@dataclass(frozen=True)
class Use:
    """What was used between two readings."""

    wall: float
    cpu: float
    others: float | None
    """Cores that others kept busy, on average."""


def reading() -> Reading:
    """Return the clocks now."""
    return Reading(time.perf_counter(), _cpu(), _busy())


def used(before: Reading, after: Reading) -> Use:
    """Return what was used between two readings."""
    wall, cpu = after.wall - before.wall, after.cpu - before.cpu
    if before.busy is None or after.busy is None:
        return Use(wall, cpu, None)
    return Use(wall, cpu, max(0.0, after.busy - before.busy - cpu) / wall)


def idle(others: float | None) -> float | None:
    """Return how many cores `others` leave to us."""
    return None if others is None else max(0.0, (os.cpu_count() or 1) - others)


def peak_memory() -> int | None:
    """Return the bytes that all our processes held at their peaks; shared pages count in each."""
    if not _PROC.is_dir():
        return _own_peak()
    peak_bytes = 0
    for process in [os.getpid(), *_started()]:
        try:
            lines = (_PROC / str(process) / "status").read_text("ascii", "replace").splitlines()
        except OSError:
            continue  # It has ended.
        peak_bytes += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return peak_bytes


def machine() -> dict[str, Any]:
    """Return what the numbers were measured on."""
    return {
        "cores": cores(),
        "cpu": _model(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def has_bf16(device: str) -> bool:
    """Return whether products of bf16 numbers are made by the hardware."""
    if device != "cpu":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    words = _cpu_words("flags")
    return bool({"avx512_bf16", "amx_bf16", "bf16"} & set(words.split()))


def gpu_use() -> tuple[float | None, str]:
    """Return the share of the last moments in which a GPU worked, or why that is not known."""
    if not torch.cuda.is_available():
        return None, "there is no GPU"
    try:
        return torch.cuda.utilization() / 100, ""
    except (ModuleNotFoundError, RuntimeError) as error:
        return None, f"not known: {' '.join(str(error).split())[:120]}"


def _cpu() -> float:
    ended = os.times()
    own = time.process_time() + ended.children_user + ended.children_system
    return own + sum(_spent(process) for process in _started())


def _started() -> list[int]:
    """Return all processes that this one started, and those they started."""
    if not _PROC.is_dir():
        return []
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    processes, due = [], [os.getpid()]
    while due:
        more = children.get(due.pop(), [])
        processes += more
        due += more
    return processes


def _spent(process: int) -> float:
    fields = _stat(process)
    ticks = sum(int(tick) for tick in fields[11 : 11 + len(_TICKS)]) if fields else 0
    return ticks / float(os.sysconf("SC_CLK_TCK"))


def _stat(process: int) -> list[str]:
    """Return the fields after the name, which may hold anything; none if it has ended."""
    try:
        text = (_PROC / str(process) / "stat").read_text("utf-8", "replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _busy() -> float | None:
    try:
        first = (_PROC / "stat").read_text("ascii").partition("\n")[0].split()[1:9]
    except OSError:
        return None
    user, nice, system, _, _, irq, softirq, steal = map(int, first)
    return (user + nice + system + irq + softirq + steal) / float(os.sysconf("SC_CLK_TCK"))


def _own_peak() -> int | None:
    try:
        import resource
    except ImportError:  # There is none on Windows.
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _model() -> str:
    return _cpu_words("model name") or platform.processor() or platform.machine()


def _cpu_words(key: str) -> str:
    try:
        lines = (_PROC / "cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    # On ARM the flags are called Features.
    names = {key, "Features"} if key == "flags" else {key}
    return next((line.partition(":")[2].strip() for line in lines
                 if line.partition(":")[0].strip() in names), "")  # fmt: skip
