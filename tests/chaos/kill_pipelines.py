"""Kills a whole pipeline with SIGKILL again and again; a program for test_pipeline_kills.py.

Children are forked, so that torch is imported once. Kills come at random moments of the time that
an unbroken run takes; after the last of them the pipeline must end as the unbroken one did: the
same tables but for their clocks, the same weights, the same files. Prints one JSON line at the end.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import yaml
from kill_runs import arm, leftovers
from safetensors.torch import load_file

from lanista.games.streams import Stream
from lanista.pipeline.recipe import load_recipe
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import conduct

RECIPE = Path(__file__).with_name("small_pipeline.yaml")
CLOCKS = ("cpu_seconds", "wall_seconds")
MOVING = ("checkpoints", "aside")
"""Folders that are looked at by other tests."""
SHOWING_CLOCKS = ("report/report.html", "stages/report.json")
"""The page shows how long things took, and the record of its stage has its digest."""


def start(folder: Path, calls: int = 0) -> int:
    """Fork a process that does the pipeline, or goes on with it; return its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        if calls:
            arm(calls)
        code = conduct(settled(load_recipe(yaml.safe_load(RECIPE.read_text()))), folder)
    finally:
        sys.stderr.flush()
        os._exit(code)


def finish(folder: Path) -> None:
    _, status = os.waitpid(start(folder), 0)
    assert status == 0, f"the pipeline in {folder} did not end well"


def rows(database: Path) -> list[tuple]:
    """Return all rows of all tables, without the clocks."""
    found = []
    with closing(sqlite3.connect(database)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (name,) in sorted(names.fetchall()):
            found += [(name, *row) for row in connection.execute(f"SELECT * FROM {name}")]
    kept = [row for row in found if row[0] != "metrics" or not is_clock(row[2])]
    return sorted((tuple(map(unpacked, row)) for row in kept), key=repr)


def is_clock(name: str) -> bool:
    return any(clock in name for clock in CLOCKS)


def unpacked(value: object) -> object:
    """Return a text that is JSON without the clocks in it."""
    if isinstance(value, str) and value.startswith("{"):
        return repr(without_clocks(json.loads(value)))
    return value


def without_clocks(value: object) -> object:
    if isinstance(value, dict):
        return {k: without_clocks(each) for k, each in value.items() if not is_clock(str(k))}
    return [without_clocks(each) for each in value] if isinstance(value, list) else value


def contents(folder: Path) -> dict[str, object]:
    """Return what a pipeline came to."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file() or set(Path(name).parts) & {*MOVING} or name in SHOWING_CLOCKS:
            continue
        if path.name == "run.db":
            found[name] = rows(path)
        elif path.name == "critic.safetensors":
            # safetensors writes what is said about the tensors in any order.
            tensors = load_file(path)
            found[name] = {key: tensors[key].numpy().tobytes() for key in sorted(tensors)}
        elif path.suffix == ".json":
            found[name] = without_clocks(json.loads(path.read_text()))
        elif not path.name.startswith("run.db-"):
            found[name] = path.read_bytes()
    return found


def compare(folder: Path, whole: dict[str, object]) -> None:
    broken = contents(folder)
    assert broken.keys() == whole.keys(), set(broken) ^ set(whole)
    for name, value in whole.items():
        assert broken[name] == value, f"{folder / name} is not what it is without a kill"
    assert leftovers(folder) == [], leftovers(folder)
    assert not (folder / "aside").exists()


def stage_at_work(folder: Path) -> str:
    """Return the stage that a killed pipeline was at."""
    for path in sorted((folder / "stages").glob("*.json"), key=lambda path: path.stat().st_mtime):
        if "outputs" not in json.loads(path.read_text()):
            return path.stem
    return "between"


def kill_at_random(folder: Path, kills: int, seed: int) -> dict[str, object]:
    """Kill pipelines, each several times and then let it end, until there were enough kills."""
    stream = Stream.keyed(seed, 0, 0, "chance")
    # The parent does it once, so that no child spends its short life on imports.
    arranged = settled(load_recipe(yaml.safe_load(RECIPE.read_text())))
    conduct(arranged, folder / "first")
    began = time.monotonic()
    conduct(arranged, folder / "whole")
    longest, whole = time.monotonic() - began, contents(folder / "whole")
    done, number, seen = 0, 0, set()
    while done < kills:
        number += 1
        broken = folder / f"broken-{number}"
        while done < kills:
            child = start(broken)
            time.sleep(longest * stream.uniform())
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            if not os.WIFSIGNALED(status):
                assert status == 0
                break
            done += 1
            seen.add(stage_at_work(broken))
        finish(broken)
        compare(broken, whole)
    return {"kills": done, "pipelines": number, "stages": sorted(seen)}


def kill_at_calls(folder: Path, first: int, last: int, step: int) -> dict[str, object]:
    """Kill a pipeline at a certain write, for many writes; it must end as if never killed."""
    conduct(settled(load_recipe(yaml.safe_load(RECIPE.read_text()))), folder / "whole")
    whole, kills, seen = contents(folder / "whole"), 0, set()
    for calls in range(first, last, step):
        broken = folder / f"at-{calls}"
        _, status = os.waitpid(start(broken, calls), 0)
        kills += os.WIFSIGNALED(status)
        if os.WIFSIGNALED(status):
            seen.add(stage_at_work(broken))
        finish(broken)
        compare(broken, whole)
    return {"kills": kills, "stages": sorted(seen)}


if __name__ == "__main__":
    how, folder, *numbers = sys.argv[1:]
    work = {"random": kill_at_random, "calls": kill_at_calls}[how]
    print(json.dumps(work(Path(folder), *map(int, numbers))))
