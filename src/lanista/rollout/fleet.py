"""Collectors in processes of their own, used as one: for games that keep a whole core busy.

Every process has its own game, its own copy of the learner's networks and of its opponents, and
its own match ids. An iteration sends all of them the same weights, lets each play its share, and
joins what they made in a fixed order: as many processes give the same numbers every time, and one
gives those of a collector in this process. Knows nothing of learning.
"""

from __future__ import annotations

import contextlib
import io
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from typing import Any

import torch

from lanista.data.trajectory import Unrolls, from_arrays, join, to_arrays
from lanista.errors import LanistaError
from lanista.games.bots import Player
from lanista.games.contract import Spec
from lanista.rollout.actor import Actor
from lanista.rollout.collect import Collector, Seating
from lanista.rollout.tally import Tally

Build = Callable[[], Collector]
"""Makes a process's collector; sent to the process, so it must be a picklable function."""
Make = Callable[[Spec], Player]
"""Makes an opponent, in a process of its own; equal ones make the same opponent."""
PATIENCE = 10.0
"""How many seconds the processes have to end by themselves when their work is over."""
_NOT_THEIRS = (signal.SIGINT, signal.SIGTERM)
"""Sent to all processes of a run at once; only the parent knows what must be saved first."""


class Fleet:
    """Several processes with the calls of one `Collector`."""

    def __init__(
        self, builds: Sequence[Build], first_matches: Sequence[int], actor: Actor, seats: int
    ) -> None:
        """Have a process for each of `builds`, with match ids from `first_matches` on.

        `actor` has the weights they play with. They are started when they are first needed.
        """
        self.actor, self.builds = actor, tuple(builds)
        self.update = 0
        self.streaming = False
        self.tally = Tally(seats)
        self.cpu_seconds = 0.0
        """What the processes have spent, those of their games not counted."""
        self._next = list(first_matches)
        self._members: list[_Member] = []
        self._company: bytes | None = None

    def meet(self, opponents: Sequence[Make], seating: Seating) -> None:
        """Let `seating` decide from now on; every process makes the opponents for itself."""
        self.seating = seating
        self._company = packed((list(opponents), seating))
        if self._members:
            self._all("meet", self._company)

    def whole_matches(self, matches: int) -> Unrolls:
        """Play at least `matches` fresh matches to their end; return all unrolls of the learner."""
        return self._collect("whole_matches", matches)

    def unrolls(self, count: int) -> Unrolls:
        """Play on until at least `count` unrolls are complete, and return those."""
        self.streaming = True
        return self._collect("unrolls", count)

    @property
    def next_match(self) -> list[int]:
        """The id of each process's next match."""
        return list(self._next)

    @next_match.setter
    def next_match(self, numbers: Sequence[int]) -> None:
        self._next = list(numbers)
        if self._members:
            self._each("go_on_from", self._next)

    def save(self) -> dict[str, Any]:
        """Return what every process needs to go on exactly so."""
        if not self._members:
            return {"processes": [{"next_match": number} for number in self._next]}
        return {"processes": self._all("save")}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take up what `save` put away."""
        parts = saved.get("processes", ())
        if len(parts) != len(self.builds):
            raise LanistaError(
                f"The run was saved with {len(parts) or 'no'} processes that play and is resumed "
                f"with {len(self.builds)}; set rollouts.processes to what it was."
            )
        self._next = [int(part["next_match"]) for part in parts]
        self._start()
        self.streaming = any(self._each("load", parts))

    def close(self) -> None:
        """End the processes; a second call does nothing."""
        for member in self._members:
            member.let_go()
        last = time.monotonic() + PATIENCE
        for member in self._members:
            member.end(last)
        self._members = []

    def _start(self) -> None:
        if self._members:
            return
        try:
            for _ in self.builds:
                self._members.append(_Member())
            self._each("build", self.builds)
            self._each("go_on_from", self._next)
            if self._company is not None:
                self._all("meet", self._company)
        except BaseException:
            self.close()
            raise

    def _collect(self, how: str, count: int) -> Unrolls:
        self._start()
        share = -(-count // len(self._members))
        weights = packed(_weights(self.actor))
        told = (how, share, self.update, self.actor.temperature, weights)
        parts = []
        for arrays, ended, following, spent in self._all("collect", told):
            parts.append(from_arrays(arrays))
            self.tally.extend(ended)
            self.cpu_seconds += spent
            self._next[len(parts) - 1] = following
        return join(parts)

    def _all(self, what: str, told: Any = None) -> list[Any]:
        return self._each(what, [told] * len(self._members))

    def _each(self, what: str, told: Sequence[Any]) -> list[Any]:
        for member, each in zip(self._members, told, strict=True):
            member.ask(what, each)
        return [member.answer() for member in self._members]


class _Member:
    """One process, as its parent sees it."""

    def __init__(self) -> None:
        # A fresh interpreter: nothing of this one's threads and devices comes along. What it is to
        # build it is told later: a long message would wait here for it to come up.
        context = get_context("spawn")
        self.pipe, its = context.Pipe()
        self.process = context.Process(target=_work, args=(its,), daemon=True)
        with _held_back():
            self.process.start()
        its.close()
        # At its exit Python waits for processes; one that heeds no SIGTERM must see the pipe close.
        Finalize(self, self.pipe.close, exitpriority=0)

    def ask(self, what: str, told: Any) -> None:
        try:
            self.pipe.send((what, told))
        except OSError as error:
            raise self._gone() from error

    def answer(self) -> Any:
        try:
            fine, value = self.pipe.recv()
        except (EOFError, OSError) as error:
            raise self._gone() from error
        if fine:
            return value
        raise LanistaError(value)

    def let_go(self) -> None:
        self.pipe.close()

    def end(self, last: float) -> None:
        """Wait until `last` on the clock, then end what still plays."""
        self.process.join(max(0.0, last - time.monotonic()))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def _gone(self) -> LanistaError:
        self.process.join(PATIENCE)
        return LanistaError(
            f"A process that plays matches ended with code {self.process.exitcode}; what was saved "
            "is good, so start the same command again to go on (with --resume for rl and league)."
        )


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Hold signals back here and in processes started meanwhile, until those can ignore them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # It would let them through when it is first started.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _NOT_THEIRS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection) -> None:
    """Answer until nobody asks any more: also when the parent was killed."""
    for number in _NOT_THEIRS:  # The parent is told, and ends this process.
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _NOT_THEIRS)  # Held back since its start.
    torch.set_num_threads(1)
    crew = _Crew()
    with contextlib.suppress(EOFError, OSError):
        while True:
            what, told = pipe.recv()
            try:
                answer = (True, getattr(crew, what)(told))
            except LanistaError as error:
                answer = (False, str(error))
            except Exception:
                answer = (False, f"A process that plays matches failed: {traceback.format_exc()}")
            pipe.send(answer)
    crew.close()


class _Crew:
    """What a process can be asked."""

    collector: Collector

    def __init__(self) -> None:
        self.players: dict[Make, Player] = {}

    def build(self, build: Build) -> None:
        self.collector = build()

    def close(self) -> None:
        if hasattr(self, "collector"):
            self.collector.close()

    def meet(self, message: bytes) -> None:
        makes, seating = unpacked(message)
        spec = self.collector.game.spec
        # Somebody who sits there already goes on with the matches in flight.
        self.players = {make: self.players.get(make) or make(spec) for make in makes}
        self.collector.meet([self.players[make] for make in makes], seating)

    def collect(self, told: tuple[str, int, int, float, bytes]) -> Any:
        how, count, update, temperature, weights = told
        collector, began = self.collector, time.process_time()
        for module, held in zip(_modules(collector.actor), unpacked(weights), strict=True):
            module.load_state_dict(held)
        collector.update, collector.actor.temperature = update, temperature
        collector.tally.clear()
        unrolls = getattr(collector, how)(count)
        spent = time.process_time() - began
        return to_arrays(unrolls), collector.tally.rows(), collector.next_match, spent

    def go_on_from(self, number: int) -> None:
        self.collector.next_match = number

    def save(self, _: None) -> dict[str, Any]:
        return self.collector.save()

    def load(self, saved: Mapping[str, Any]) -> bool:
        self.collector.load(saved)
        return self.collector.streaming


def _modules(actor: Actor) -> list[torch.nn.Module]:
    return [actor.policy] if actor.critic is None else [actor.policy, actor.critic]


def _weights(actor: Actor) -> list[dict[str, Any]]:
    return [module.state_dict() for module in _modules(actor)]


def packed(value: Any) -> bytes:
    """Return a message for another process; what lies on a device can be read without it."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def unpacked(message: bytes) -> Any:
    # From a process of our own, never from a file.
    return torch.load(io.BytesIO(message), map_location="cpu", weights_only=False)
