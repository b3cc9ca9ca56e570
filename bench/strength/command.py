"""`python -m bench strength`: makes rows again, a JSON line for each look, or the page's table.

    python -m bench strength --rows leduc --seeds 0 1 2 --budget 120 > leduc.jsonl
    python -m bench strength --page leduc.jsonl
    python -m bench strength --rows beastybar --cores 2 > two-cores.jsonl
    python -m bench strength --gpu --budget 60 --jobs 3 > gpu.jsonl

Arms are processes in which torch has one thread; `--jobs` of them run side by side, each on cores
of its own. On one core the budget is CPU seconds, on several or with a GPU wall
seconds. Those of peers run in the environment that `make peers` made, or here where it has them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

from bench.peers_learning import PEERS, why_missing
from bench.strength.arm import Arm
from bench.strength.page import page, plot
from bench.strength.rows import ROWS, Row, row_of
from lanista.errors import LanistaError
from lanista.files import write_text

OURS, PPO, MASKABLE = "ours", "ppo", "maskable_ppo"
SMALL_ROWS, SMALL_BUDGET = ("kuhn",), 10.0
Line = dict[str, Any]


def strength() -> Iterator[Line]:
    """Make the small form for `make bench`: one row, one seed, some seconds."""
    yield from lines(arms([row_of(name) for name in SMALL_ROWS], [0], SMALL_BUDGET))


def main(words: Sequence[str]) -> None:
    """Do what the flags ask for."""
    parser = _parser()
    options = parser.parse_args(words)
    if options.plot and not options.page:
        parser.error("--plot draws what --page reads; give --page FILE too.")
    if options.page:
        looks = [line for file_lines in options.page for line in file_lines]
        print(page(looks))
        if options.plot:
            write_text(options.plot, plot(looks, options.rows or default_rows(gpu=False)))
        return
    rows = [row_of(name) for name in options.rows or default_rows(options.gpu)]
    for row in rows:
        if options.gpu and not row.on_gpu:
            parser.error(f"the row {row.name} is not run on a GPU; leave out --gpu or the row.")
    learners = [OURS] if options.ours else [PPO, MASKABLE] if options.peers else None
    place = Place(options.cores, options.gpu, tuple(options.set))
    wanted = arms(rows, options.seeds, options.budget, learners, place)
    for line in lines(wanted, options.jobs):
        print(json.dumps(line), flush=True)


def _file_lines(name: str) -> list[Line]:
    """Return the lines of a file that this command has printed."""
    try:
        return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{name} cannot be read as lines of `bench strength` ({error}); make it again."
        ) from error


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"it is {text}; give a number above 0.")
    return number


def _count(text: str) -> int:
    return int(_positive(str(int(text))))


def _parser() -> argparse.ArgumentParser:
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(prog="python -m bench strength")
    parser.add_argument("--rows", nargs="+", choices=names, metavar="ROW",
                        help=f"which rows, all unless given: {', '.join(names)}")  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--budget", type=_positive, help="seconds of a curve; each row has its own")
    parser.add_argument("--jobs", type=_count, default=1, help="curves made side by side")
    parser.add_argument("--cores", type=_count, default=1,
                        help="cores of a curve; the budget is wall seconds from 2 on")  # fmt: skip
    parser.add_argument("--gpu", action="store_true",
                        help="networks on the GPU, budget in wall seconds")  # fmt: skip
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE",
                        help="settings of ours, as in `lanista rl --set`")  # fmt: skip
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--ours", action="store_true", help="only ours")
    only.add_argument("--peers", action="store_true", help="only the peers")
    only.add_argument("--page", nargs="+", type=_file_lines, metavar="FILE",
                      help="print the table of such lines")  # fmt: skip
    parser.add_argument("--plot", type=Path, metavar="FILE.svg",
                        help="with --page: draw the curves of --rows")  # fmt: skip
    return parser


def default_rows(gpu: bool) -> list[str]:
    """Return the rows that are made where none is named."""
    return [row.name for row in ROWS if row.on_gpu or not gpu]


@dataclass(frozen=True)
class Place:
    """Where curves are made, and what ours is told besides."""

    cores: int = 1
    gpu: bool = False
    settings: tuple[str, ...] = ()


def arms(
    rows: Sequence[Row],
    seeds: Sequence[int],
    budget: float | None = None,
    learners: Sequence[str] | None = None,
    place: Place = Place(),  # noqa: B008 - it is frozen
) -> list[Arm]:
    """Return the curves to make, the longest first."""
    wanted = [
        Arm(
            row.name,
            learner,
            seed,
            budget or row.seconds,
            cores=place.cores,
            gpu=place.gpu,
            settings=place.settings if learner == OURS else (),
        )
        for row in rows
        for learner in (OURS, PPO, MASKABLE)
        for seed in seeds
        if (learners is None or learner in learners) and (learner != PPO or row.always_legal)
    ]
    return sorted(wanted, key=lambda arm: -arm.budget)


def lines(wanted: Sequence[Arm], jobs: int = 1) -> Iterator[Line]:
    """Make the curves, `jobs` at a time, and give their lines as they come."""
    answers: SimpleQueue[Line | None] = SimpleQueue()
    cores, lock = _cores(jobs, wanted), Lock()

    def make(arm: Arm) -> None:
        with lock:
            own = cores.pop()
        try:
            for line in _looks(arm, own):
                answers.put(line)
        finally:
            with lock:
                cores.append(own)
            answers.put(None)

    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(make, arm) for arm in wanted]
        for _ in running:
            while (line := answers.get()) is not None:
                yield line
        for one in running:
            one.result()


def _cores(jobs: int, wanted: Sequence[Arm]) -> list[set[int] | None]:
    """Return the cores of each job, or nobody's where there are not enough or a GPU is shared."""
    allowed = sorted(os.sched_getaffinity(0))
    each = max((arm.cores for arm in wanted), default=1)
    if jobs == 1 or jobs * each > len(allowed) or any(arm.gpu for arm in wanted):
        return [None] * jobs
    return [{*allowed[job * each : (job + 1) * each]} for job in range(jobs)]


def _looks(arm: Arm, cores: set[int] | None) -> Iterator[Line]:
    """Run one arm; where it cannot be run, or ends badly, the last line says why."""
    python = sys.executable if arm.learner == OURS else peer_python()
    if python is None:
        yield {**arm.described, "why": f"not measured: {why_missing(PEERS[0])}"}
        return
    module = "bench.strength.ours"
    if arm.learner != OURS:
        try:
            module, arm = "bench.strength.sb3", replace(arm, peer=conditions(arm.row))
        except LanistaError as error:
            yield {**arm.described, "why": f"failed: {error}"}
            return
    yield from _run([python, "-m", module, json.dumps(asdict(arm))], arm, cores)


def _run(command: list[str], arm: Arm, cores: set[int] | None) -> Iterator[Line]:
    """Give the lines of a process, and a last one if it fails."""
    # A file, since a pipe that nobody reads would stop it.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as error_log:
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=error_log,
            text=True,
            env=_environment(),
        ) as process:
            if cores is not None:
                os.sched_setaffinity(process.pid, cores)
            assert process.stdout is not None
            for text in process.stdout:
                yield json.loads(text)
        if process.returncode:
            error_log.seek(0)
            errors = error_log.read().strip().splitlines()
            why = errors[-1] if errors else f"it ended with {process.returncode}"
            yield {**arm.described, "why": f"failed: {why}"}


@cache
def conditions(row: str) -> Line:
    """Return the opponent mix of our learner in a row and its shaping: a peer has the same."""
    from bench.strength.ours import settings_for

    rollouts = settings_for(row_of(row), 0).rollouts
    opponents = [(one.player, one.weight) for one in rollouts.opponents]
    return {"opponents": opponents, "shaping": rollouts.shaping_scale}


def peer_python() -> str | None:
    """Return the interpreter that has the peers, or None."""
    peer = PEERS[0]
    if why_missing(peer) is None:
        return str(peer.folder / "bin" / "python")
    return sys.executable if importlib.util.find_spec("sb3_contrib") else None


def _environment() -> dict[str, str]:
    own = [str(Path("src").resolve()), str(Path.cwd())]
    paths = os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
