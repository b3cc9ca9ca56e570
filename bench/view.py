"""What the pages of `lanista view` cost: CPU, memory, the run's speed, and how long one waits.

Eight clients do what eight open pages of a run do: hold a stream, and fetch the sections that are
new. Windows with and without them take turns on one run, so that whatever else the machine does
falls on both.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from lanista.runs.database import RunDatabase
from lanista.runs.reader import look_at_run
from lanista.runs.schema import LineupRow, MatchRow, MetricRow, PlayerRow

Line = dict[str, Any]
PAGES = 8
WINDOW = 20.0
"""Seconds of a window; the run's numbers are written once a second."""
WINDOWS = 6
"""Of each kind."""
RUNS = 250
UPDATES, METRICS = 25_000, 40
EVALUATIONS, BOTS, DEALS = 100, 10, 50


def view() -> Iterator[Line]:
    """Yield what the server costs a run, and how long its pages take."""
    with tempfile.TemporaryDirectory(prefix="lanista-bench-") as name:
        folder = Path(name)
        with running(folder / "one") as run, served(folder / "one") as server:
            yield cost(folder / "one", run, server)
        yield from waiting(folder / "many", folder / "large")


def cost(folder: Path, run: subprocess.Popen[bytes], server: Server) -> Line:
    """Measure windows with and without eight pages, in turns."""
    database = folder / "bench.safetensors.run" / "run.db"
    speeds: dict[bool, list[float]] = {True: [], False: []}
    shares = []
    for number in range(2 * WINDOWS):
        # With, without, without, with: a machine that grows slower favours neither.
        opened = number % 4 in (0, 3)
        with pages(server) if opened else contextlib.nullcontext():
            before, began = totals(database), time.monotonic()
            spent = server.cpu_seconds()
            time.sleep(WINDOW)
            after = totals(database)
            if opened:
                shares.append((server.cpu_seconds() - spent) / (time.monotonic() - began))
        speeds[opened].append((after[0] - before[0]) / (after[1] - before[1]))
    assert run.poll() is None
    ratios = [
        with_pages / without
        for with_pages, without in zip(speeds[True], speeds[False], strict=True)
    ]
    mean, spread = statistics.mean(ratios), statistics.stdev(ratios) / len(ratios) ** 0.5
    return {
        "bench": "view cost", "pages": PAGES, "windows": WINDOWS, "seconds": WINDOW,
        "server_share_of_a_core": round(statistics.mean(shares), 4),
        "server_share_worst": round(max(shares), 4),
        "server_mib": round(server.peak_mib(), 1),
        "decisions_per_cpu_second_with": round(statistics.mean(speeds[True])),
        "decisions_per_cpu_second_without": round(statistics.mean(speeds[False])),
        "ratio": round(mean, 4), "ratio_standard_error": round(spread, 4),
    }  # fmt: skip


def totals(database: Path) -> tuple[float, float]:
    """Return a run's decisions and CPU seconds so far."""
    rows = look_at_run(database, lambda run: run.metrics_at([run.newest_update()]))
    numbers = {name: value for _, name, value in rows}
    return numbers["decisions"], numbers["cpu_seconds"]


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `lanista rl` on Beasty Bar, evaluated now and then, until the block ends."""
    folder.mkdir(parents=True)
    command = [
        sys.executable, "-m", "lanista", "rl", "--game", "beastybar", "--iterations", "1000000",
        "--output", str(folder / "bench.safetensors"), "--cpu", "--set", "evaluation.every=50",
        "evaluation.bots=[random,heuristic]", "evaluation.matches=200",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        database = folder / "bench.safetensors.run" / "run.db"
        while not (database.is_file() and look_at_run(database, lambda r: r.newest_update()) > 5):
            if process.poll() is not None:
                raise RuntimeError((folder / "log.txt").read_text(encoding="utf-8"))
            time.sleep(0.5)
        yield process
    finally:
        process.kill()
        process.wait()


class Server:
    """A `lanista view` in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address

    def cpu_seconds(self) -> float:
        """Return what the process has used so far."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def peak_mib(self) -> float:
        """Return the most memory it ever had."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        (line,) = (line for line in text.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.address + path, timeout=120) as answer:
            return bytes(answer.read())


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    """Serve a folder while the block runs."""
    command = [sys.executable, "-m", "lanista", "view", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1].split("/?")[0]
        yield Server(process, address)
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def pages(server: Server) -> Iterator[None]:
    """Let eight pages of the run be open while the block runs."""
    over = threading.Event()
    clients = [threading.Thread(target=page, args=(server, over)) for _ in range(PAGES)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        over.set()
        for client in clients:
            client.join()


def page(server: Server, over: threading.Event) -> None:
    """Do what an open page of a run does: hear of changes, fetch what is new."""
    name = "bench.safetensors.run"
    seen = {"learning": None, "strength": None}
    server.get(f"/run?id={name}")
    with urllib.request.urlopen(f"{server.address}/events/run?id={name}", timeout=120) as stream:
        while not over.is_set():
            text = stream.readline()
            if not text.startswith(b"data: "):
                continue
            message = json.loads(text[6:])
            line = message["line"]
            now = {"learning": message["learning"], "strength": line["evaluations"]}
            for part in ("learning", "strength"):
                if now[part] != seen[part]:
                    server.get(f"/api/run?id={name}&part={part}")
            seen = now


def waiting(many: Path, large: Path) -> Iterator[Line]:
    """Yield how long pages take to answer: many runs, and one that is very large."""
    make_run(many / "run-000.run", 100, 20, 0)
    for number in range(1, RUNS):
        shutil.copytree(many / "run-000.run", many / f"run-{number:03d}.run")
    with served(many) as server:
        first, again = timed(server, "/"), timed(server, "/")
        yield {"bench": "view runs", "runs": RUNS, "seconds": first, "seconds_again": again}
    matches = make_run(large / "large.run", UPDATES, METRICS, EVALUATIONS)
    with served(large) as server:
        line = {
            "bench": "view large", "metric_rows": UPDATES * METRICS, "matches": matches,
            "runs_page": timed(server, "/"), "run_page": timed(server, "/run?id=large.run"),
            "curves": timed(server, "/api/run?id=large.run&part=learning"),
            "strength": timed(server, "/api/run?id=large.run&part=strength"),
        }  # fmt: skip
        yield {**line, "server_mib": round(server.peak_mib(), 1)}


def timed(server: Server, path: str) -> float:
    began = time.perf_counter()
    server.get(path)
    return round(time.perf_counter() - began, 3)


def make_run(folder: Path, updates: int, metrics: int, evaluations: int) -> int:
    """Make a run's folder by hand; return how many matches it has."""
    (folder / "checkpoints" / f"{updates:06d}").mkdir(parents=True)
    text = f"game: kuhn\niterations: {updates}\n"
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    names = ["decisions", "cpu_seconds", "wall_seconds", "policy/loss", "policy/entropy/0"]
    names += [f"term_{number}/loss" for number in range(metrics - len(names))]
    with closing(RunDatabase(folder / "run.db")) as database:
        database.add_rows([PlayerRow(0, "main", "", "learner", "self", "main")])
        for start in range(1, updates + 1, 1000):
            numbers = range(start, min(start + 1000, updates + 1))
            database.add_rows(MetricRow(u, name, float(u)) for u in numbers for name in names)
            database.flush()
        return _play(database, updates, evaluations)


def _play(database: RunDatabase, updates: int, evaluations: int) -> int:
    """Let a learner meet bots in both seats, every result the other way round from the last."""
    match = 0
    for number in range(evaluations):
        update = (number + 1) * updates // evaluations
        for bot in range(BOTS):
            names = ("main", f"bot-{bot}")
            digests = (f"{update:064x}", f"{1 << 40 | bot:064x}")
            for step in (1, -1):
                lineup = match
                row = (update, lineup, "evaluation", names[::step], digests[::step], 1, 1, 1)
                database.add_rows([LineupRow(*row)])
                for deal in range(DEALS):
                    won = (deal + bot) % 2
                    returns, places = ((1.0, -1.0), (1, 2)) if won else ((-1.0, 1.0), (2, 1))
                    database.add_rows(
                        [MatchRow(update, match, lineup, deal, returns, places, cut_off=False)]
                    )
                    match += 1
    return match
