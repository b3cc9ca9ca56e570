"""`python -m bench.ablations FOLDER`: what turns a core's time into strength, one thing at a time.

Every arm of `ablation_arms` is trained for the same CPU seconds on one core, with several seeds,
and judged. Rows go to FOLDER/rows.jsonl as they come; `--table FOLDER` makes the table of them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lanista.evaluation.score import t_quantile

ROWS = "rows.jsonl"
_REHEARSED, _REHEARSED_SHARE = 10.0, 0.15
"""CPU seconds in which the iterations of a run are counted, and at most this share of it."""
_FEWEST_REHEARSED = 4
_AROUND = 14.0
"""CPU seconds of a job beside its training, about: start, rehearsal, judgement."""
_PATIENCE = 1.3
"""A run that takes so many times its seconds is stopped."""

Row = Mapping[str, Any]


def run_job(game: str, arm: str, seed: int, seconds: float) -> dict[str, Any]:
    """Train an arm for about `seconds` of CPU time, judge it, and return its row."""
    from bench.ablation_arms import ARMS, GAMES, judge, prepare
    from lanista.pipeline.defaults import default_settings
    from lanista.runs.settings import Evaluation, apply_overrides
    from lanista.training.loop import train

    prepare(arm)
    base = default_settings(GAMES[game], seed=seed, regrets=False)
    base = replace(base, device="cpu", seed=seed, evaluation=Evaluation(every=0))
    words = ARMS[game][arm](base)
    settings = apply_overrides(base, words)
    with tempfile.TemporaryDirectory(prefix="ablation-") as folder:
        endless = replace(settings, iterations=1_000_000)
        rehearsed = min(_REHEARSED, _REHEARSED_SHARE * seconds)
        pace = _iterations_a_second(endless, Path(folder), rehearsed)
        settings = replace(settings, iterations=max(1, round(seconds * pace)))
        began, counting = time.process_time(), _counting()
        train(
            settings,
            Path(folder) / "p.safetensors",
            stop=_after(_PATIENCE * seconds),
            observers=[counting],
        )
        spent = time.process_time() - began
        numbers = judge(game, Path(folder) / "p.safetensors")
    return {
        "game": game, "arm": arm, "seed": seed, "changes": words, "cpu_seconds": round(spent, 1),
        "updates": settings.updates, "decisions": counting.decisions, **numbers,
    }  # fmt: skip


def _counting() -> Any:
    """Return an observer that counts decisions learned from, and notes when updates end."""
    from lanista.training.observers import Observer

    class Counting(Observer):
        def __init__(self) -> None:
            self.times: list[float] = []
            self.decisions = 0

        def updated(self, update: int, values: Mapping[str, float]) -> None:
            self.times.append(time.process_time())
            self.decisions = int(values["decisions"])

    return Counting()


def _iterations_a_second(settings: Any, folder: Path, seconds: float) -> float:
    from lanista.training.loop import train

    counting, over = _counting(), _after(seconds)
    rehearsal = folder / "rehearsal.safetensors"
    train(
        settings,
        rehearsal,
        stop=lambda: len(counting.times) >= _FEWEST_REHEARSED and over(),
        observers=[counting],
    )
    times = counting.times[1:]  # The first one warms up.
    return float((len(times) - 1) / (times[-1] - times[0]))


def _after(seconds: float) -> Callable[[], bool]:
    limit = time.process_time() + seconds
    return lambda: time.process_time() > limit


def sweep(
    folder: Path,
    jobs: Sequence[tuple[str, str, int]],
    cores: Sequence[int],
    wall: float,
    seconds: float,
) -> None:
    """Do the jobs, each on one core, within `wall` seconds; train for `seconds`, 0: as fits."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = seconds or max(0.5, wall / math.ceil(len(jobs) / len(cores)) - _AROUND)
    waiting: queue.SimpleQueue[tuple[str, str, int]] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    began, lock = time.monotonic(), threading.Lock()
    print(f"{len(jobs)} jobs of {seconds:.1f} s on {len(cores)} cores", flush=True)

    def work(core: int) -> None:
        while time.monotonic() - began < wall:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            _do(folder, job, seconds, core, began + 1.03 * wall, lock)

    threads = [threading.Thread(target=work, args=(core,)) for core in cores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _do(
    folder: Path, job: tuple[str, str, int], seconds: float, core: int, until: float, lock: Any
) -> None:
    game, arm, seed = job
    place = [str(seed), str(seconds), str(core)]
    words = [sys.executable, "-m", "bench.ablations", "--job", game, arm, *place]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=True, env=environment,
            timeout=max(1.0, until - time.monotonic()),
        )  # fmt: skip
        line = done.stdout.strip().splitlines()[-1]
    except subprocess.CalledProcessError as error:
        line = json.dumps({"game": game, "arm": arm, "seed": seed, "error": error.stderr[-500:]})
    except subprocess.TimeoutExpired:
        line = json.dumps({"game": game, "arm": arm, "seed": seed, "error": "out of time"})
    with lock, (folder / ROWS).open("a") as file:
        file.write(line + "\n")
    print(line, flush=True)


def compared(
    values: Mapping[str, Sequence[float]], others: Mapping[str, str] | None = None
) -> dict[str, tuple[float, float, float, float]]:
    """Return each arm's mean, its 95 % half-width, its difference to `base`, and that one's.

    `others` names another arm in place of `base`, where that was done. With a few seeds an arm's
    own deviation is hardly known, so all arms of a game share one.
    """
    others = {arm: other for arm, other in (others or {}).items() if other in values}
    means = {arm: sum(some) / len(some) for arm, some in values.items()}
    squares = sum((v - means[arm]) ** 2 for arm, some in values.items() for v in some)
    freedom = sum(len(some) - 1 for some in values.values())
    # One seed says nothing of how far seeds lie apart.
    spread = t_quantile(freedom) * math.sqrt(squares / freedom) if freedom else math.nan
    rows = {}
    for arm, some in values.items():
        base = others.get(arm, "base")
        width = spread * math.sqrt(1 / len(some) + 1 / len(values[base]))
        difference = means[arm] - means[base]
        own = spread / math.sqrt(len(some))
        rows[arm] = means[arm], own, difference, 0.0 if arm == "base" else width
    return rows


def table(rows: Iterable[Row]) -> list[str]:
    """Return the rows of all games as lines of Markdown, a table for each."""
    from bench.ablation_arms import COMPARED_WITH, JUDGED_BY

    lines: list[str] = []
    by_game: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if "strength" in row:
            by_game.setdefault(row["game"], {}).setdefault(row["arm"], []).append(row)
    for game, arms in by_game.items():
        lines += [
            f"### {game}",
            "",
            f"Judged by: {JUDGED_BY[game]}.",
            "",
            "| arm | strength | difference to base | updates | decisions | CPU s |",
        ]
        lines += ["|---|---|---|---|---|---|"]
        values = {arm: [row["strength"] for row in some] for arm, some in arms.items()}
        numbers = compared(values, COMPARED_WITH)
        for arm, (mean, half, difference, width) in numbers.items():
            updates = sum(row["updates"] for row in arms[arm]) / len(arms[arm])
            cpu = sum(row["cpu_seconds"] for row in arms[arm]) / len(arms[arm])
            learned = sum(row.get("decisions", 0) for row in arms[arm]) / len(arms[arm])
            decisions = f"{learned / 1e6:.2f} M" if learned else "—"
            apart = "" if arm == "base" else f"{difference:+.3f} ± {width:.3f}"
            if (other := COMPARED_WITH.get(arm)) in arms:
                apart += f" to “{other}”"
            lines.append(
                f"| {arm} | {mean:.3f} ± {half:.3f} | {apart} | {updates:.0f} | {decisions} "
                f"| {cpu:.0f} |"
            )
        lines.append("")
    return lines


def main() -> None:
    """Do a sweep, one job of it, or the table of what came of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--wall", type=float, default=520.0, help="seconds that all may take")
    parser.add_argument("--seconds", type=float, default=0.0, help="of training; 0: what fits")
    parser.add_argument(
        "--jobs", "--cores", dest="cores", type=int, default=0,
        help="so many at once, each on a core of its own; 0: as many as there are cores",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--games", nargs="*", default=[])
    parser.add_argument("--arms", nargs="*", default=[])
    parser.add_argument("--table", type=Path)
    parser.add_argument("--job", nargs=5, metavar=("GAME", "ARM", "SEED", "SECONDS", "CORE"))
    words = parser.parse_args()
    if words.job:
        game, arm, seed, seconds, core = words.job
        os.sched_setaffinity(0, {int(core)})
        print(json.dumps(run_job(game, arm, int(seed), float(seconds))))
        return
    if words.table:
        print("\n".join(table(map(json.loads, (words.table / ROWS).read_text().splitlines()))))
        return
    from bench.ablation_arms import ARMS, COMPARED_WITH

    wanted = {*words.arms, *(COMPARED_WITH.get(arm, "base") for arm in words.arms), "base"}
    jobs = [
        (game, arm, seed)
        for seed in range(words.first_seed, words.first_seed + words.seeds)
        for game in words.games or ARMS
        for arm in ARMS[game]
        if not words.arms or arm in wanted
    ]
    cores = sorted(os.sched_getaffinity(0))
    sweep(words.folder, jobs, cores[: words.cores or len(cores)], words.wall, words.seconds)


if __name__ == "__main__":
    main()
