"""`python -m bench untuned`: runs every game of the list untuned, a JSON line each, or the table.

    python -m bench untuned --seeds 0 --budget 180 --jobs 12 > untuned.jsonl
    python -m bench untuned --page untuned.jsonl

A run has one core and one thread, and `--jobs` of them go on side by side.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

from bench.untuned.arm import Arm
from bench.untuned.page import page
from bench.untuned.rows import ROWS

Line = dict[str, Any]
SMALL_ROWS, SMALL_BUDGET = ("biased-rps",), 12.0
_LAST_WORDS = 400


def untuned() -> Iterator[Line]:
    """Make the small form for `make bench`: one game, some seconds."""
    yield from lines([Arm(name, 0, SMALL_BUDGET) for name in SMALL_ROWS])


def main(words: Sequence[str]) -> None:
    """Do what the flags ask for."""
    options = _parser().parse_args(words)
    if options.page:
        print(page([line for file_lines in options.page for line in file_lines]))
        return
    rows = options.rows or [row.name for row in ROWS]
    arms = [
        Arm(name, seed, options.budget, tuple(options.set), options.iterations)
        for seed in options.seeds
        for name in rows
    ]
    for line in lines(arms, options.jobs):
        print(json.dumps(line), flush=True)


def _parser() -> argparse.ArgumentParser:
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(prog="python -m bench untuned")
    parser.add_argument("--rows", nargs="+", choices=names, metavar="ROW",
                        help=f"which games, all unless given: {', '.join(names)}")  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--budget", type=float, default=180.0, help="seconds of a run")
    parser.add_argument("--iterations", type=int,
                        help="of a run, instead of seconds, where others compute too")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE",
                        help="what runs are told besides, as in `lanista rl --set`")  # fmt: skip
    parser.add_argument("--page", nargs="+", type=_file_lines, metavar="FILE",
                        help="print the table of such lines")  # fmt: skip
    return parser


def _file_lines(name: str) -> list[Line]:
    """Return the lines of a file that this command has printed."""
    try:
        return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{name} cannot be read as lines of `bench untuned` ({error}); make it again."
        ) from error


def lines(arms: Sequence[Arm], jobs: int = 1) -> Iterator[Line]:
    """Make the runs, `jobs` at a time, and give each line when its run has ended."""
    allowed = sorted(os.sched_getaffinity(0))
    cores: list[int | None] = [*allowed[:jobs]] if 1 < jobs <= len(allowed) else [None] * jobs
    lock = Lock()

    def make(arm: Arm) -> Line:
        with lock:
            core = cores.pop()
        try:
            return _line(arm, core)
        finally:
            with lock:
                cores.append(core)

    with ThreadPoolExecutor(jobs) as pool:
        for ended in as_completed([pool.submit(make, arm) for arm in arms]):
            yield ended.result()


def _line(arm: Arm, core: int | None) -> Line:
    """Run one arm; where its judge fails, the line says why."""
    command = [sys.executable, "-m", "bench.untuned.arm", json.dumps(asdict(arm))]
    prefix = [] if core is None else ["taskset", "--cpu-list", str(core)]
    own = [str(Path("src").resolve()), str(Path.cwd())]
    paths = os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        prefix + command, capture_output=True, text=True, check=False, env=environment
    )
    if ended.returncode:
        why = f"the judge failed: {ended.stderr.strip()[-_LAST_WORDS:]}"
        return {**asdict(arm), "exit": ended.returncode, "crashed": True, "why": why}
    line: Line = json.loads(ended.stdout)
    return line
