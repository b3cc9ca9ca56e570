"""How fast equilibria and exact best responses are computed, beside OpenSpiel in the same run.

CFR+ is the same everywhere, and has the same NashConv after each iteration (tests/solving holds
that), so that a ratio of iterations is one of the time to any NashConv, setting up aside.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from bench.timing import REPEATS
from lanista.evaluation.evaluator import probabilities
from lanista.games import registry
from lanista.games.trees.boards.games import board_game
from lanista.games.trees.boards.measure import BoardMeasure, cores
from lanista.games.trees.exact import checked
from lanista.games.trees.from_slots import tree_of_slots
from lanista.games.trees.tree import InformationTree
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.solving.tabular import TabularSolver

CASES = {
    # OpenSpiel's name, a NashConv to reach, and how many iterations each repeat does: ours,
    # OpenSpiel in C++, OpenSpiel in Python.
    "kuhn": ("kuhn_poker", 0.01, 10_000, 500, 100),
    "leduc": ("leduc_poker", 0.1, 1_000, 20, 2),
    "liars_dice": ("liars_dice", 0.1, 100, 2, 1),
}
AIMS = {"C++": 5, "Python": 50}
BOARDS = (
    "phantom_ttt",
    "openspiel:phantom_ttt(gameversion=abrupt)",
    "openspiel:dark_hex(board_size=3)",
    "openspiel:dark_hex(board_size=3,gameversion=adh)",
)
AIM_SECONDS, AIM_GIGABYTES = 60, 8


def solve() -> Iterator[dict[str, Any]]:
    """Measure CFR+: CPU milliseconds of an iteration, and from nothing to a NashConv."""
    import pyspiel
    from open_spiel.python.algorithms.cfr import CFRPlusSolver

    for name, (theirs, target, *counts) in CASES.items():
        game = pyspiel.load_game(theirs)
        make_ours = lambda name=name: TabularSolver(_tree(name), "cfr+")  # noqa: E731
        solvers: dict[str, tuple[Callable[[], Any], Callable[[Any, int], None]]] = {
            "lanista": (make_ours, lambda solver, count: solver.iterate(count)),
            "C++": (lambda game=game: pyspiel.CFRPlusSolver(game), _openspiel),  # type: ignore[misc]
            "Python": (lambda game=game: CFRPlusSolver(game), _openspiel),  # type: ignore[misc]
        }
        needed = iterations_to(name, target)
        medians = {}
        for (label, (make, work)), count in zip(solvers.items(), counts, strict=True):
            solver = make()
            work(solver, 1)
            run = lambda s=solver, n=count, w=work: w(s, n)  # noqa: E731
            times = [_cpu(run) / count for _ in range(_repeats(label))]
            medians[label] = statistics.median(times)
            row = {"bench": f"{name} cfr+, {label}", "unit": "CPU ms per iteration",
                   "median": _round(1000 * medians[label]), "low": _round(1000 * min(times)),
                   "high": _round(1000 * max(times)), "n": len(times)}  # fmt: skip
            yield row | _from_nothing(label, make, work, target, needed, medians[label])
        for label, aim in AIMS.items():
            ratio = medians[label] / medians["lanista"]
            yield {"bench": f"{name} cfr+, lanista over OpenSpiel in {label}",
                   "ratio": round(ratio, 1), "target": aim, "met": ratio >= aim}  # fmt: skip


def boards() -> Iterator[dict[str, Any]]:
    """Measure exact NashConv of a fresh network on boards with hidden marks, on all cores."""
    torch.set_num_threads(cores())
    for name in BOARDS:
        game = board_game(name)
        assert game is not None
        torch.manual_seed(0)
        ask = probabilities(Policy(registry.spec_of(name), Network(size="s")))
        began, cpu = time.perf_counter(), time.process_time()
        measure = BoardMeasure(game)
        grown = time.perf_counter() - began
        value = measure.nash_conv(lambda rows, mask, ask=ask: checked(ask(rows, mask), mask))  # type: ignore[misc]
        wall = time.perf_counter() - began
        gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        reached = wall <= AIM_SECONDS and gigabytes <= AIM_GIGABYTES
        yield {
            "bench": f"exact NashConv, {name}",
            "nash_conv": round(value, 6),
            "histories": sum(game.rules.histories()),
            "information_states": sum(tree.states for tree in measure.trees),
            "cores": cores(),
            "load": round(os.getloadavg()[0], 1),
            "wall_seconds": round(wall, 1),
            "cpu_seconds": round(time.process_time() - cpu, 1),
            "of_which_growing_trees": round(grown, 1),
            "peak_gigabytes": round(gigabytes, 2),
            "target": f"{AIM_SECONDS} s on 16 cores, {AIM_GIGABYTES} GB",
            # Fewer cores can show that it is met, and not that it is missed.
            "met": True if reached else False if cores() >= 16 else None,
        }


def iterations_to(name: str, target: float) -> int:
    """Return after how many iterations CFR+ has a NashConv."""
    solver = TabularSolver(_tree(name), "cfr+")
    while solver.iterations == 0 or solver.nash_conv() > target:
        solver.iterate(1)
    return solver.iterations


def _from_nothing(
    label: str, make: Any, work: Any, target: float, needed: int, iteration: float
) -> dict[str, Any]:
    """Return the CPU seconds from nothing to a NashConv; where that takes long, worked out."""
    about = {"to_nash_conv": target, "iterations": needed}
    if label != "Python":
        times = [_cpu(lambda: work(make(), needed)) for _ in range(_repeats(label))]
        return about | {"cpu_seconds": _round(statistics.median(times))}
    making = _cpu(make)
    return about | {"cpu_seconds_worked_out": _round(making + needed * iteration)}


def _repeats(label: str) -> int:
    return REPEATS if label != "Python" else 3


def _tree(name: str) -> InformationTree:
    game: Any = registry.make(name)
    return tree_of_slots(game, 1_000_000)


def _openspiel(solver: Any, count: int) -> None:
    for _ in range(count):
        solver.evaluate_and_update_policy()


def _cpu(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _round(number: float) -> float:
    """Return a number with three digits that count."""
    return float(np.format_float_positional(number, 3, fractional=False))
