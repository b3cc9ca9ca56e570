"""Chooses for workers in other processes: one inference for the rows of all who wait.

A thread beside the learner gathers requests until enough rows wait, until everybody who plays
waits, or until the oldest has waited long enough. Draws come from each decision's own stream, so
who was batched with whom changes a choice no more than the rounding of the network does. Knows
nothing of games and of learning.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.contract import Decisions
from lanista.rollout.inference.actor import Actor, Choice
from lanista.rollout.inference.client import (
    CHOOSE,
    COLUMNS,
    MEMORY,
    PRIVILEGED,
    REST,
    RESTORE,
    Note,
)
from lanista.rollout.inference.histogram import Histogram
from lanista.rollout.launchers.shared_memory import Arrays, Inbox, Outbox, refuse_elsewhere
from lanista.rollout.timing import BATCH, WAIT, Phases, add_up

FULL, EVERYBODY, DEADLINE = "full", "everybody", "deadline"
"""Why a batch was closed: enough rows, nobody left to wait for, or the oldest waited enough."""
Times = tuple[dict[str, float], dict[str, float]]
"""Wall-clock and CPU seconds by phase."""


@dataclass
class Measures:
    """What was seen since the last time somebody looked."""

    rows: Histogram = field(default_factory=lambda: Histogram(0, 16))
    """Rows of each inference."""
    latency: Histogram = field(default_factory=lambda: Histogram(-4, 16))
    """Milliseconds from a request to its answer, as the worker sees it."""
    closed: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((FULL, EVERYBODY, DEADLINE), 0)
    )

    def flat(self) -> dict[str, float]:
        """Return all of it under the names of metrics."""
        return {
            "inference/batches": float(sum(self.rows.counts)),
            **{f"inference/closed_by_{why}": float(n) for why, n in self.closed.items()},
            **self.rows.flat("inference/rows"),
            **self.latency.flat("inference/latency_ms"),
        }


class _Line:
    """A worker, as the central side sees it."""

    def __init__(self, number: int, pipe: Connection) -> None:
        self.number, self.pipe = number, pipe
        self.inbox, self.outbox = Inbox(pipe), Outbox(pipe, slots=1)
        self.playing = False
        """It asked since it last rested, so it is worth waiting for."""
        self.request: tuple[Note, dict[str, NDArray[Any]]] | None = None
        """The request that waits."""

    def close(self) -> None:
        self.pipe.close()
        self.inbox.close()
        self.outbox.close()


class InferenceServer:
    """Answers the `RemoteActor`s of some workers with one actor."""

    def __init__(
        self,
        actor: Actor,
        workers: int,
        *,
        batch: int,
        deadline: float,
        prepare: Callable[[int], None] | None = None,
    ) -> None:
        """Gather up to `batch` rows, or for `deadline` seconds (in whole milliseconds).

        `actor` is used by nobody else. `prepare` gives it the weights of a version; it is called
        before the first inference with another version than the last. None: as they are.
        """
        refuse_elsewhere()
        self.actor, self.workers, self.batch, self.deadline = actor, workers, batch, deadline
        self._prepare, self._version = prepare, -1
        self._lines: dict[int, _Line] = {}
        self._new_lines: SimpleQueue[_Line] = SimpleQueue()
        self._counting = threading.Lock()
        self._stopped = False
        self._measures = Measures()
        self._spent: Times = ({}, {})
        self._error: BaseException | None = None
        self._bell, self._ring = os.pipe()
        self._thread = threading.Thread(target=self._run, name="central", daemon=True)
        self._thread.start()

    def attach(self, number: int) -> Connection:
        """Return what the `RemoteActor` of worker `number` asks over, from its process.

        Close it here once the worker has it, or its death is not noticed. A worker that takes a
        dead one's place has its number, and begins without memory.
        """
        here, there = get_context("spawn").Pipe()
        with self._counting:
            self._refuse_failed()
            if self._stopped:
                raise ValueError("Central inference was closed.")
            self._new_lines.put(_Line(number, here))
            os.write(self._ring, b"!")
        return there

    def measured(self) -> dict[str, float]:
        """Return metrics of what was done since the last call."""
        self._refuse_failed()
        with self._counting:
            measures, self._measures = self._measures, Measures()
        return measures.flat()

    def taken(self) -> Times:
        """Return the thread's seconds by phase since the last call."""
        with self._counting:
            times, self._spent = self._spent, ({}, {})
        return times

    def close(self) -> None:
        """End the thread and all lines; whoever waits for an answer learns it. Twice is once."""
        with self._counting:
            self._stopped = True
            if self._bell < 0:
                return
            os.write(self._ring, b"!")
        self._thread.join()
        os.close(self._bell)
        os.close(self._ring)
        self._bell = -1

    def _refuse_failed(self) -> None:
        if self._error is not None:
            raise LanistaError(f"Central inference failed: {self._error}.") from self._error

    # Everything below runs in the thread.

    def _run(self) -> None:
        # They belong to the thread that counts.
        phases = self.actor.phases = Phases(self.actor.phases.settle)
        with DefaultSelector() as self._selector:
            self._selector.register(self._bell, EVENT_READ)
            error: BaseException | None = None
            try:
                # Left only here: leaving it drops the weights it converted, the learner's too.
                with torch.autocast("cpu", enabled=False, cache_enabled=False):
                    while not self._stopped:
                        self._turn(phases)
            except BaseException as raised:
                error = raised
            with self._counting:
                self._stopped, self._error = True, error
                while not self._new_lines.empty():
                    self._new_lines.get().close()
            for line in list(self._lines.values()):
                if error is not None:
                    with contextlib.suppress(OSError):
                        line.outbox.send({}, f"Central inference failed: {error}.")
                self._drop(line)

    def _turn(self, phases: Phases) -> None:
        with phases(WAIT):
            ready = self._selector.select(self._patience())
        for key, _ in ready:
            if key.data is None:
                self._connect()
            else:
                self._hear(key.data)
        if why := self._closing():
            self._serve(why)
        self._count(phases)

    def _count(self, phases: Phases) -> None:
        times = phases.taken()
        with self._counting:
            for mine, theirs in zip(self._spent, times, strict=True):
                add_up(mine, theirs)

    def _patience(self) -> float | None:
        """Return how many seconds may pass until a batch must be closed; None: any number.

        Below 0 where it is late already, which a selector takes as 0.
        """
        times = [line.request[0].sent_at for line in self._lines.values() if line.request]
        return min(times) + self.deadline - time.monotonic() if times else None

    def _closing(self) -> str:
        """Return why those who wait are to be answered now; empty: they are not."""
        waiting = [line.request for line in self._lines.values() if line.request]
        if not waiting:
            return ""
        if sum(len(arrays["slot"]) for _, arrays in waiting) >= self.batch:
            return FULL
        if len(waiting) == sum(line.playing for line in self._lines.values()):
            return EVERYBODY
        oldest = min(note.sent_at for note, _ in waiting)
        return DEADLINE if time.monotonic() >= oldest + self.deadline else ""

    def _hear(self, line: _Line) -> None:
        if self._lines.get(line.number) is not line:  # Dropped since it was found ready.
            return
        try:
            arrays, note = line.inbox.receive()
        except (EOFError, OSError):
            self._drop(line)
            return
        if note.latency is not None:
            with self._counting:
                self._measures.latency.add(1000 * note.latency)
        if note.kind == CHOOSE:
            line.playing, line.request = True, (note, arrays)
        elif note.kind == REST:
            line.playing = False
        elif note.kind == MEMORY:
            self._reply(line, part_of(self.actor.memory(), line.number, self.workers))
        elif note.kind == RESTORE:
            self._remember(line.number, arrays)
            self._reply(line, {})

    def _connect(self) -> None:
        os.read(self._bell, 1)
        if self._new_lines.empty():  # It rang for the end.
            return
        line = self._new_lines.get()
        if line.number in self._lines:
            self._drop(self._lines[line.number])
        self._lines[line.number] = line
        self._remember(line.number, {})
        self._selector.register(line.pipe, EVENT_READ, line)

    def _drop(self, line: _Line) -> None:
        self._selector.unregister(line.pipe)
        del self._lines[line.number]
        line.close()

    def _remember(self, number: int, memory: Mapping[str, NDArray[Any]]) -> None:
        """Let a worker's matches have these recurrent states, copied, and nobody else's change."""
        before = self.actor.memory()
        if before or memory:
            memories: list[Arrays] = [
                part_of(before, worker, self.workers) for worker in range(self.workers)
            ]
            memories[number] = memory
            self.actor.restore(joined(memories))

    def _serve(self, why: str) -> None:
        """Answer everybody who waits, with one inference for all who want the same weights."""
        with self._counting:
            self._measures.closed[why] += 1
        groups: dict[tuple[int, float, bool, bool], list[_Line]] = {}
        # In the order of their numbers, so that who came first rounds nothing otherwise.
        for line in sorted(self._lines.values(), key=lambda line: line.number):
            if line.request:
                note, arrays = line.request
                kind = note.version, note.temperature, note.log_probs, PRIVILEGED in arrays
                groups.setdefault(kind, []).append(line)
        for lines in groups.values():
            self._answer(lines)

    def _answer(self, lines: Sequence[_Line]) -> None:
        notes, requests = zip(*(line.request for line in lines if line.request), strict=True)
        try:
            self._take_up(notes[0])
            choice = self._choose([line.number for line in lines], requests)
            answers = _arrays(choice, notes[0].log_probs)
        except Exception as error:
            expected = isinstance(error, LanistaError)
            text = str(error) if expected else f"Central inference failed: {traceback.format_exc()}"
            for line in lines:
                self._reply(line, {}, text)
            return
        with self._counting:  # Before the answers, so that whoever has one finds it counted.
            self._measures.rows.add(len(answers["action"]))
        with self.actor.phases(BATCH):
            at = 0
            for line, arrays in zip(lines, requests, strict=True):
                end = at + len(arrays["slot"])
                self._reply(line, {name: array[at:end] for name, array in answers.items()})
                at = end

    def _take_up(self, note: Note) -> None:
        if self._prepare is not None and note.version != self._version:
            self._prepare(note.version)
            self._version = note.version
        self.actor.temperature = note.temperature

    def _choose(self, numbers: Sequence[int], requests: Sequence[Arrays]) -> Choice:
        with self.actor.phases(BATCH):
            columns = {
                name: np.concatenate([one[name] for one in requests]) for name in requests[0]
            }
            sizes = [len(one["slot"]) for one in requests]
            # Slots of different workers are different ones, for the actor's memory.
            number = np.repeat(np.array(numbers, np.int32), sizes)
            columns["slot"] = columns["slot"] * np.int32(self.workers) + number
        decisions = Decisions(**{name: columns[name] for name in COLUMNS})
        return self.actor.choose(decisions, np.arange(len(decisions)), columns.get(PRIVILEGED))

    def _reply(self, line: _Line, arrays: Arrays, failure: str | None = None) -> None:
        line.request = None
        try:
            line.outbox.send(arrays, failure)
        except OSError:
            self._drop(line)


def part_of(memory: Arrays, number: int, workers: int) -> dict[str, NDArray[Any]]:
    """Return a worker's part of an actor's memory, as that worker alone would have it.

    Slot s of worker w is slot s * workers + w of the actor.
    """
    if not memory:
        return {}
    own = {name: array[number::workers] for name, array in memory.items()}
    slots, seats = np.nonzero(own["match"] >= 0)
    if not len(slots):
        return {}
    return {name: array[: slots.max() + 1, : seats.max() + 1] for name, array in own.items()}


def joined(memories: Sequence[Arrays]) -> dict[str, NDArray[Any]]:
    """Return the memory of an actor of which `part_of` gives `memories`."""
    some = [memory for memory in memories if memory]
    if not some:
        return {}
    slots, seats = np.max([memory["match"].shape for memory in some], axis=0)
    whole = {}
    for name, array in some[0].items():
        shape = (slots * len(memories), seats, *array.shape[2:])
        whole[name] = np.full(shape, -1 if name == "match" else 0, array.dtype)
        for number, memory in enumerate(memories):
            if memory:
                own = memory[name]
                whole[name][number :: len(memories)][: own.shape[0], : own.shape[1]] = own
    return whole


def _arrays(choice: Choice, log_probs: bool) -> dict[str, NDArray[Any]]:
    named = ["action", "log_prob", "value", "state", *(["log_probs"] if log_probs else [])]
    return {name: getattr(choice, name) for name in named if getattr(choice, name) is not None}
