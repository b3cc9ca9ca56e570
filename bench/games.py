"""How fast matches are played: our games, beside OpenSpiel driven from Python."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.timing import REPEATS, idle_cores, per_cpu_second
from lanista import games
from lanista.rollout.match_runner import Table, play
from lanista.rollout.schedule import rotations

SLOTS = 4096

CASES = {
    "beastybar random": ("beastybar", {}, "random", 200_000, 5_000_000),
    "beastybar heuristic": ("beastybar", {}, "heuristic", 40_000, 1_000_000),
    "beastybar outcome": ("beastybar", {}, "outcome", 2_000, None),
    "arena random classic19": ("arena", {"observation": "classic19"}, "random", 4_000, 2_000_000),
    "arena random rich": ("arena", {}, "random", 4_000, None),
    "arena rusher classic19": ("arena", {"observation": "classic19"}, "rusher", 4_000, None),
    "kuhn random": ("kuhn", {}, "random", 2_000_000, None),
    "leduc random": ("leduc", {}, "random", 1_000_000, 10_000_000),
    "liars_dice random": ("liars_dice", {}, "random", 500_000, None),
    "phantom_ttt random": ("phantom_ttt", {}, "random", 200_000, None),
}


def table(name: str, settings: dict[str, Any], bot: str, slots: int = SLOTS) -> Table:
    """Return a table where `bot` plays itself."""
    game = games.make(name, slots=slots, seed=1, **settings)
    return Table(game, (games.make_bot(name, bot, game.spec, 1),) * 2)


def rates() -> Iterator[dict[str, Any]]:
    """Measure each case: decisions per CPU second, one core, observation and mask written.

    The rate is that of game and bot alone, which is what OpenSpiel is measured by too; "scheduled"
    is the rate of `rollout.play`, which also seats players and keeps every match's result.
    """
    for label, (name, settings, bot, matches, target) in CASES.items():
        at = table(name, settings, bot)
        schedule = rotations(2, matches)
        alone = per_cpu_second(lambda at=at, n=matches: drive(at, n))  # type: ignore[misc]
        whole = per_cpu_second(lambda at=at, plan=schedule: play([at], plan).total_decisions)  # type: ignore[misc]
        yield {
            "bench": label,
            "unit": "decisions per CPU second",
            **alone.fields(),
            "scheduled": round(whole.median),
            "target": target,
            "met": None if target is None else alone.median >= target,
        }


def drive(at: Table, matches: int) -> int:
    """Play matches to their end with the first player in every seat; return the decisions."""
    game, bot = at.game, at.players[0]
    slots = np.arange(min(game.slots, matches))
    game.start(slots, slots)
    started, decided, total = len(slots), 0, np.zeros(game.spec.seats)
    while len(decisions := game.decisions()):
        rows = np.arange(len(decisions))
        over = game.act(rows, bot.act(decisions, rows))
        decided += len(rows)
        total += game.returns[over].sum(0)
        over = over[: matches - started]
        game.start(over, np.arange(started, started + len(over)))
        started += len(over)
    return decided


def openspiel() -> Iterator[dict[str, Any]]:
    """Measure Leduc driven from Python through OpenSpiel, with the same things written."""
    import pyspiel

    rate = per_cpu_second(lambda: _openspiel_decisions(pyspiel.load_game("leduc_poker"), 5_000))
    at = table("leduc", {}, "random")
    ours = per_cpu_second(lambda: drive(at, 1_000_000))
    yield {"bench": "leduc random, OpenSpiel", "unit": "decisions per CPU second", **rate.fields()}
    ratio = ours.median / rate.median
    yield {"bench": "leduc, ours over OpenSpiel", "ratio": round(ratio, 1), "target": 10.0,
           "met": ratio >= 10}  # fmt: skip


def _openspiel_decisions(game: Any, matches: int) -> int:
    rng, decisions = random.Random(1), 0
    for _ in range(matches):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, weights)[0])
                continue
            state.information_state_tensor()
            state.legal_actions_mask()
            state.apply_action(rng.choice(state.legal_actions()))
            decisions += 1
        state.returns()
    return decisions


def threads() -> Iterator[dict[str, Any]]:
    """Measure two threads over two shards against one, in wall time, turn about."""
    if (idle := idle_cores()) < 1.9:
        yield {
            "bench": "two threads over one",
            "ratio": None,
            "why": f"not measurable: {idle:.2f} cores were idle, 1.9 are needed",
        }
        return
    yield _two_over_one("two threads over one, slots each", SLOTS)
    yield _two_over_one("two threads over one, slots shared", SLOTS // 2)


def _two_over_one(label: str, slots: int) -> dict[str, Any]:
    one = [table("beastybar", {}, "random")]
    two = [table("beastybar", {}, "random", slots) for _ in range(2)]
    schedule = rotations(2, 400_000)
    walls: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(REPEATS):
        for tables in (one, two):
            began = time.perf_counter()
            play(tables, schedule)
            walls[len(tables)].append(time.perf_counter() - began)
    ratio = statistics.median(walls[1]) / statistics.median(walls[2])
    return {"bench": label, "ratio": round(ratio, 2), "target": 1.8, "met": ratio >= 1.8}


MEMORY = """
import numpy as np
from lanista import games
n = 100_000
game = games.make("beastybar", slots=n, seed=1)
bot = games.make_bot("beastybar", "random", game.spec, 1)
game.start(np.arange(n), np.arange(n))
for _ in range(24):
    decisions = game.decisions()
    rows = np.arange(len(decisions))
    game.act(rows, bot.act(decisions, rows))
# Not getrusage: its peak counts the parent that this process was forked from.
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmHWM")))
"""


def memory() -> Iterator[dict[str, Any]]:
    """Measure a whole process that plays 100,000 matches of Beasty Bar side by side."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    peak = int(done.stdout)
    yield {"bench": "100,000 matches of beastybar at once", "unit": "MB of the process, at most",
           "peak": peak, "target": 200, "met": peak < 200}  # fmt: skip
