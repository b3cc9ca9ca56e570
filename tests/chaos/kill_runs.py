"""Starts a training run again and again and kills it with SIGKILL; a program for test_kills.py.

Children are forked, so that torch is imported once. After every kill the folder is looked at as
the next start would find it. Prints one JSON line at the end. With `slim-` before the way of
killing, checkpoints are slim and their files are cut into many parts.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from pathlib import Path

from lanista.games.streams import Stream
from lanista.nets.files.policy_file import load_policy
from lanista.runs import checkpoints
from lanista.runs.checkpoints import Checkpoints, read_state
from lanista.runs.folder import Run, folder_of
from lanista.runs.settings import RunSettings, load_settings
from lanista.training.loop import train
from lanista.training.observers import Observer

SAVE_EVERY = 2
STREAM = {"mode": "stream", "unrolls": 8, "unroll_length": 2, "slots": 5}
more: dict[str, dict[str, object]] = {"rollouts": {}, "checkpoints": {}}
"""What settings have besides."""


def settings_for(iterations: int) -> RunSettings:
    return load_settings(
        {
            "game": "kuhn",
            "iterations": iterations,
            "network": {"width": 8, "layers": 1},
            "learning": {"lr": 0.01, "minibatches": 2},
            "rollouts": {"matches": 8, **more["rollouts"]},
            "checkpoints": {"save_every": SAVE_EVERY, "keep_last": 2, **more["checkpoints"]},
        }
    )


class Teller(Observer):
    """Tells the parent, by a pipe, of every update."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def started(self, settings: RunSettings, update: int) -> None:
        os.write(self.pipe, struct.pack("q", update))

    def updated(self, update: int, values: object) -> None:
        os.write(self.pipe, struct.pack("q", update))


def arm(calls: int) -> None:
    """Let this process kill itself at its `calls`-th call that changes what is on the disk."""
    left = [calls]

    def fatal(function):
        def wrapped(*arguments, **named):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return wrapped

    os.fsync = fatal(os.fsync)
    Path.replace = fatal(Path.replace)
    Path.mkdir = fatal(Path.mkdir)
    os.rmdir = fatal(os.rmdir)


def start(output: Path, settings: RunSettings, calls: int = 0) -> tuple[int, int]:
    """Fork a process that trains; return its id and the end of its pipe."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    code = 1
    try:
        resume = folder_of(output).exists()
        if calls:
            arm(calls)
        code = train(settings, output, resume=resume, observers=[Teller(writer)])
    finally:
        os._exit(code)


def told(reader: int) -> int:
    """Return the last update that a dead child told of; -1: none."""
    with open(reader, "rb") as pipe:
        data = pipe.read()
    return struct.unpack("q", data[-8:])[0] if data else -1


def leftovers(folder: Path) -> list[str]:
    return [str(p) for p in folder.rglob("*") if ".part" in p.name or p.name.startswith(".")]


def look(output: Path, update: int, folder: Path) -> int:
    """Check what a kill left; return the iteration the run would go on from."""
    if not folder_of(output).exists():
        assert update == -1, f"update {update} was made, and there is no run"
        return 0
    kept = Checkpoints(folder_of(output) / "checkpoints")
    for number in kept.numbers():
        read_state(kept.path(number))
    with Run(output) as run:  # What the next start does first.
        assert leftovers(folder) == [], leftovers(folder)
        newest = run.state(None)[0]
    assert newest >= update - SAVE_EVERY, f"update {update} was made, and {newest} is the newest"
    if output.exists():
        load_policy(output)
    return newest


def kill_at_random(folder: Path, kills: int, seed: int, longest: float) -> dict[str, int]:
    """Kill a run `kills` times, then let it end; return how far each stretch came."""
    output, stream = folder / "p.pt", Stream.keyed(seed, 0, 0, "chance")
    # The parent trains once, so that no child spends its short life on imports.
    train(settings_for(1), folder.parent / f"{folder.name}-first" / "p.pt")
    settings, moments = settings_for(1_000_000), set()
    for _ in range(kills):
        child, reader = start(output, settings)
        time.sleep(longest * stream.uniform())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        moments.add(look(output, told(reader), folder))
    return {"kills": kills, "moments": len(moments), "reached": max(moments)}


def kill_at_calls(folder: Path, first: int, last: int, step: int) -> dict[str, int]:
    """Kill a short run at a certain write, for many writes; it must end as if never killed."""
    settings, kills, whole = settings_for(5), 0, folder / "whole" / "p.pt"
    train(settings, whole)
    for calls in range(first, last, step):
        output = folder / f"at-{calls}" / "p.pt"
        for attempt in (calls, 0):
            child, reader = start(output, settings, attempt)
            _, status = os.waitpid(child, 0)
            update = told(reader)
            if attempt:
                kills += os.WIFSIGNALED(status)
                look(output, update, output.parent)
        assert status == 0
        assert leftovers(output.parent) == []
        assert output.read_bytes() == whole.read_bytes()
    return {"kills": kills}


if __name__ == "__main__":
    how, folder, *numbers = sys.argv[1:]
    if how.startswith("slim-"):
        how, checkpoints.LARGEST = how.removeprefix("slim-"), 2000
        more["checkpoints"] = {"slim": True}
        # Only whole matches end as if never killed.
        more["rollouts"] = STREAM if how == "random" else {}
    work = {"random": kill_at_random, "calls": kill_at_calls}[how]
    kinds = (int, int, float) if how == "random" else (int, int, int)
    arguments = [kind(number) for kind, number in zip(kinds, numbers, strict=True)]
    print(json.dumps(work(Path(folder), *arguments)))
