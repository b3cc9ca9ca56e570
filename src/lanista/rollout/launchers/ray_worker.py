"""A shard of the play as the parallel collector sees it, wherever its machine is.

It remembers what was asked and not answered, moves from machine to machine, and is brought to where
it was after a loss. An answer counts once: questions that are asked again have new tickets. Knows
nothing of which machine is best.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lanista.errors import UnfitMachineError
from lanista.rollout.chunks import MachineError
from lanista.rollout.launchers.plan import Message
from lanista.rollout.launchers.ray_host import Answer, Question
from lanista.rollout.launchers.ray_shard import ShardState


@dataclass
class Station:
    """A machine's actor, as the driver sees it."""

    machine: str
    address: str
    cpus: float
    actor: Any
    identity_reference: Any
    began: float
    ready: bool = False
    pid: int = 0
    dead: str = ""
    """How it ended; empty: it has not."""
    seconds: float | None = None
    """What a chunk takes there on a core of its own."""
    versions: set[int] = field(default_factory=set)
    """Weights it was given."""
    unsent: list[Question] = field(default_factory=list)
    """What goes with the next call."""
    thread: threading.Thread | None = None


class Machines(Protocol):
    """What a shard asks of whoever knows the machines."""

    counts: dict[str, int]

    def sendable(self, method: str, argument: Any) -> Any:
        """Return what goes to a machine in place of `argument`."""

    def send(self, worker: RayWorker, questions: Sequence[Question]) -> None:
        """Send questions to a shard's machine."""

    def send_all(self) -> None:
        """Send what waits to be sent together with more."""

    def next_answer(self, worker: RayWorker) -> Answer:
        """Wait for a shard's next answer."""

    def lose(self, station: Station, end: str) -> None:
        """Let go of a machine's actor."""

    def refuse(self, station: Station, sentence: str) -> None:
        """Let go of a machine's actor for good: the machine has not what the run needs."""

    def close(self, last: float) -> None:
        """End all actors by `last` on the clock."""


class RayWorker:
    """A shard, as the parallel collector sees it; it may move from machine to machine."""

    def __init__(self, fleet: Machines, number: int) -> None:
        self._fleet, self.number = fleet, number
        self.station: Station | None = None
        self._going: Station | None = None
        """Where it goes when nothing is under way."""
        self._tickets = itertools.count()
        self._open: deque[tuple[Question, bool]] = deque()
        """Questions that were not answered, the oldest first, and whether anybody waits for it."""
        self._held: list[Question] = []
        """Those of them that were not sent, since the shard is about to move."""
        self._state = ShardState()

    def ask(self, method: str, argument: Any) -> None:
        question = self._question(method, self._fleet.sendable(method, argument))
        if self._going is not None and not self._open:
            self._move()
        self._open.append((question, True))
        if self._going is not None:
            self._held.append(question)
        else:
            self._fleet.send(self, [question])

    def answer(self) -> Any:
        while True:
            answer = self._fleet.next_answer(self)
            question, wanted = self._open[0]
            # What could not be handed on is answered before what the shard still plays.
            ours = any(answer.ticket == unanswered.ticket for unanswered, _ in self._open)
            if ours and self._machine_failed(answer):
                continue
            if answer.ticket != question.ticket:
                self._fleet.counts["dropped"] += 1  # Of a life that is over: it was asked again.
                continue
            self._open.popleft()
            value = self._value(question, answer)
            self._state.answered(question.method, question.argument, value)
            if self._going is not None and len(self._open) == len(self._held):
                self._move()
                self._fleet.send_all()  # Nobody may be asked for a while.
            if wanted:
                return value

    def _machine_failed(self, answer: Answer) -> bool:
        """Return whether the machine answered that it cannot play; if so, let go of it."""
        kind, reason = (None, "") if answer.fine else answer.value
        assert self.station is not None
        if kind is MachineError:
            self._fleet.lose(self.station, reason.strip().splitlines()[-1])
        elif kind is UnfitMachineError:
            self._fleet.refuse(self.station, reason)
        return kind in (MachineError, UnfitMachineError)

    def let_go(self) -> None:
        self._open.clear()

    def end(self, last: float) -> None:
        self._fleet.close(last)

    def sent(self) -> list[Question]:
        """Return what is under way, for whoever takes over."""
        held = {question.ticket for question in self._held}
        return [question for question, _ in self._open if question.ticket not in held]

    def go_to(self, station: Station) -> None:
        """Move there as soon as nothing is under way."""
        self._going = None if station is self.station else station
        if self._going is None and self._held:  # It was about to move elsewhere.
            held, self._held = self._held, []
            self._fleet.send(self, held)

    def restart_at(self, station: Station) -> None:
        """Go on at `station` from what is known here, after the loss of the machine before."""
        self.station, self._going = station, None
        wanted = [(question, flag) for question, flag in self._open if flag]
        building = bool(wanted) and wanted[0][0].method == "build"
        first = [] if building else self._state.messages()
        again = [(self._question(*message), False) for message in first]
        # New tickets: what the lost machine may still send belongs to nobody.
        renewed = [(self._question(old.method, old.argument), True) for old, _ in wanted]
        self._fleet.counts["again"] += sum(old.method == "collect" for old, _ in wanted)
        self._open, self._held = deque([*again, *renewed]), []
        self._fleet.send(self, [question for question, _ in self._open])

    def _move(self) -> None:
        """Take the shard's matches along to the machine it goes to."""
        station, self._going = self._going, None
        assert station is not None
        held, self._held = self._held, []
        waiting, self._open = list(self._open), deque()
        messages: list[Message] = []
        # Whoever waits for an answer deals with a loss of the machine where it is.
        if self.station is not None and not self.station.dead and not station.dead:
            self.ask("save", None)
            saved = self.answer()
            if not station.dead:  # It may have been lost meanwhile: then the shard stays.
                messages = self._state.messages(saved=saved)
                if not self.station.dead:
                    self._fleet.send(self, [self._question("leave", None)])
                self.station = station
                self._fleet.counts["moved"] += 1
        first = [self._question(*message) for message in messages]
        self._open = deque([*((question, False) for question in first), *waiting])
        self._fleet.send(self, [*first, *held])

    def _question(self, method: str, argument: Any) -> Question:
        version = argument.version if method == "collect" else None
        return Question(self.number, next(self._tickets), method, argument, version)

    def _value(self, question: Question, answer: Answer) -> Any:
        if not answer.fine:
            kind, message = answer.value
            raise kind(message)
        return answer.value
