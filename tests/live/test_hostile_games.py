"""Files made to hurt their reader cost it next to nothing."""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from archives import entries_of, kept, npy, packed
from toy import HERE, LENGTH, game_of

from lanista.live.files import game_file
from lanista.live.files.game_file import ARRAYS, encode
from lanista.live.files.game_header import header_bytes

MEASURE = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from toy import header_of
from lanista.live.files.game_file import GameFileError, read
def peak():
    # Not ru_maxrss, which begins with that of the process that started this one.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
before, cpu = peak(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
try:
    read(sys.argv[1], header_of())
    print("read", end=" ")
except GameFileError as error:
    print("refused", end=" ")
print(peak() - before, resource.getrusage(resource.RUSAGE_SELF).ru_utime - cpu)
"""


def cost_of(path: Path) -> tuple[str, float, float]:
    """Return whether a file is read in a process of its own, MiB more at its peak, CPU seconds."""
    code = MEASURE.format(here=str(HERE))
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True, text=True, check=True, timeout=900,
    )  # fmt: skip
    verdict, memory, seconds = done.stdout.split()
    return verdict, float(memory), float(seconds)


def bomb(path: Path, name: str, size: int) -> Path:
    """Write a good game in which one array unpacks to `size` zeros."""
    entries = entries_of(game_of())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, data in entries.items():
            if key != name:
                archive.writestr(key, data)
        with archive.open(name, "w", force_zip64=False) as out:
            for _ in range(size >> 20):
                out.write(bytes(1 << 20))
    return path


def huge_claim(path: Path, steps: int) -> Path:
    """Write a game whose header and arrays agree on being far too large."""
    told = header_bytes(replace(game_of().header, steps=steps))
    start = npy(np.zeros((0, LENGTH), "<f4"))[:128].replace(b"(0, 6)", b"(%d, 6)" % steps)
    entries = entries_of(game_of()) | {
        "header.npy": npy(np.frombuffer(told, np.uint8)),
        "observations.npy": start,
    }
    return kept(path, packed(entries))


ENTRIES = 400_000
DIRECTORY = ENTRIES * (
    struct.pack("<4s6H3L5H2L", b"PK\x01\x02", *[20, 20, 0, 0, 0, 33], *[0] * 3, 1, *[0] * 6) + b"x"
)


def many_entries(path: Path) -> Path:
    """Write an archive whose directory is far longer than the eight entries it counts."""
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 8, 8, len(DIRECTORY), 0, 0)
    return kept(path, DIRECTORY + end)


def zip64(path: Path) -> Path:
    """Write an archive whose short end is contradicted by a longer one before it."""
    count, size = ENTRIES, len(DIRECTORY)
    big = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, size, 1)
    return kept(path, DIRECTORY + big + locator + encode(game_of())[-22:])


def whole_bomb(path: Path) -> Path:
    """Write a game in which header and arrays agree, and which unpacks to 176 MB."""
    steps = 1 << 22
    game = game_of(1)
    told = header_bytes(replace(game.header, steps=steps))
    entries = {"header.npy": npy(np.frombuffer(told, np.uint8)), "outcome.npy": npy(game.outcome)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
        for name in ARRAYS[:-1]:
            array = getattr(game, name)
            archive.writestr(f"{name}.npy", npy(np.zeros((steps, *array.shape[1:]), array.dtype)))
    return path


def largest(path: Path) -> Path:
    """Write a game of nearly the most bytes, with a NaN at its end."""
    steps = (game_file.MOST_BYTES - (1 << 20)) // 50
    game = game_of(2)
    columns = {
        name: np.resize(getattr(game, name)[:1], (steps, *getattr(game, name).shape[1:]))
        for name in ARRAYS
        if name != "outcome"
    }
    columns["observations"][-1, -1] = np.nan
    told = header_bytes(replace(game.header, steps=steps))
    entries = {"header.npy": npy(np.frombuffer(told, np.uint8)), "outcome.npy": npy(game.outcome)}
    entries |= {f"{name}.npy": npy(column) for name, column in columns.items()}
    return kept(path, packed(entries))


def sparse(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(1 << 36)
    return path


HOSTILE = {
    "bomb in an array": lambda path: bomb(path, "observations.npy", 1 << 28),
    "bomb in the header": lambda path: bomb(path, "header.npy", 1 << 28),
    "many entries": many_entries,
    "two ends": zip64,
    "a bomb that agrees with itself": whole_bomb,
    "a claim": lambda path: huge_claim(path, 1 << 22),
    "a claim beyond numbers": lambda path: huge_claim(path, 1 << 62),
    "sparse": sparse,
    "the largest": largest,
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is asked of /proc")
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_cost_little(tmp_path: Path, kind: str) -> None:
    verdict, memory, seconds = cost_of(HOSTILE[kind](tmp_path / "hostile.npz"))
    assert verdict == "refused"
    assert memory < 100
    # CPU of this process alone, so it does not depend on who else is running.
    assert seconds < 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is asked of /proc")
def test_the_measure_itself_sees_memory(tmp_path: Path) -> None:
    assert cost_of(largest(tmp_path / "large.npz"))[1] > 20
