"""`python -m bench strength`: makes rows again, a JSON line for each look, or the page's table.

    python -m bench strength --rows leduc --seeds 0 1 2 --budget 120 > leduc.jsonl
    python -m bench strength --page leduc.jsonl

Arms are processes with one thread each; `--jobs` of them run side by side, each on a core of its
own. Those of peers run in the environment that `make peers` made, or here where it has them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

from bench.peers_learning import PEERS, why_missing
from bench.strength.arm import Arm
from bench.strength.page import page
from bench.strength.rows import ROWS, Row, row_of

OURS, PPO, MASKABLE = "ours", "ppo", "maskable_ppo"
SMALL_ROWS, SMALL_BUDGET = ("kuhn",), 10.0
Line = dict[str, Any]


def strength() -> Iterator[Line]:
    """Make the small form for `make bench`: one row, one seed, some seconds."""
    yield from lines(arms([row_of(name) for name in SMALL_ROWS], [0], SMALL_BUDGET))


def main(words: Sequence[str]) -> None:
    """Do what the flags ask for."""
    options = _parser().parse_args(words)
    if options.page:
        looks = [json.loads(line) for file in options.page for line in _text(file).splitlines()]
        print(page(looks))
        return
    rows = [row_of(name) for name in options.rows]
    learners = [OURS] if options.ours else [PPO, MASKABLE] if options.peers else None
    for line in lines(arms(rows, options.seeds, options.budget, learners), options.jobs):
        print(json.dumps(line), flush=True)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(prog="python -m bench strength")
    parser.add_argument("--rows", nargs="+", choices=names, default=names, metavar="ROW",
                        help=f"which rows, all unless given: {', '.join(names)}")  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--budget", type=float, help="CPU seconds of a curve; each row has its own")
    parser.add_argument("--jobs", type=int, default=1, help="curves made side by side")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--ours", action="store_true", help="only ours")
    only.add_argument("--peers", action="store_true", help="only the peers")
    only.add_argument("--page", nargs="+", type=Path, metavar="FILE",
                      help="print the table of such lines")  # fmt: skip
    return parser


def arms(
    rows: Sequence[Row],
    seeds: Sequence[int],
    budget: float | None = None,
    learners: Sequence[str] | None = None,
) -> list[Arm]:
    """Return the curves to make, the longest first."""
    wanted = [
        Arm(row.name, learner, seed, budget or row.seconds)
        for row in rows
        for learner in (OURS, PPO, MASKABLE)
        for seed in seeds
        if (learners is None or learner in learners) and (learner != PPO or row.always_legal)
    ]
    return sorted(wanted, key=lambda arm: -arm.budget)


def lines(wanted: Sequence[Arm], jobs: int = 1) -> Iterator[Line]:
    """Make the curves, `jobs` at a time, and give their lines as they come."""
    answers: SimpleQueue[Line | None] = SimpleQueue()
    cores, lock = _cores(jobs), Lock()

    def make(arm: Arm) -> None:
        with lock:
            core = cores.pop()
        try:
            for line in _looks(arm, core):
                answers.put(line)
        finally:
            with lock:
                cores.append(core)
            answers.put(None)

    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(make, arm) for arm in wanted]
        for _ in running:
            while (line := answers.get()) is not None:
                yield line
        for one in running:
            one.result()


def _cores(jobs: int) -> list[int | None]:
    """Return a core for each job, or nobody's where there are not enough."""
    allowed = sorted(os.sched_getaffinity(0))
    return [*allowed[:jobs]] if 1 < jobs <= len(allowed) else [None] * jobs


def _looks(arm: Arm, core: int | None) -> Iterator[Line]:
    """Run one arm; where it cannot be run, or ends badly, the last line says why."""
    python = sys.executable if arm.learner == OURS else peer_python()
    if python is None:
        why = why_missing(PEERS[0])
        yield {**asdict(arm), "why": f"not measured: {why}"}
        return
    module = "bench.strength.ours"
    if arm.learner != OURS:
        module, arm = "bench.strength.sb3", replace(arm, peer=conditions(arm.row))
    command = [python, "-m", module, json.dumps(asdict(arm))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment()
    ) as process:
        if core is not None:
            os.sched_setaffinity(process.pid, {core})
        assert process.stdout is not None
        assert process.stderr is not None
        for text in process.stdout:
            yield json.loads(text)
        errors = process.stderr.read().strip().splitlines()
    if process.returncode:
        why = errors[-1] if errors else f"it ended with {process.returncode}"
        yield {**asdict(arm), "why": f"failed: {why}"}


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
