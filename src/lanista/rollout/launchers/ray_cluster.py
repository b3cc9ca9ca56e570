"""Workers of a fleet on the machines of a cluster: one actor of Ray hosts those of a machine.

The shards are those of the settings, whatever the number of machines, so a run has the numbers of
`serial`. A shard whose machine is lost is brought to where it was on another one and asked again
what it had not answered; an answer counts once, whoever else gives it later. Weights are put into
the object store once for each version. Knows nothing of chunks and of learning.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from lanista.cluster import session
from lanista.cluster.identity import identity
from lanista.errors import LanistaError
from lanista.rollout.chunks import Played, Sealed
from lanista.rollout.collect_worker import carried
from lanista.rollout.launchers.hangs import HangWatch
from lanista.rollout.launchers.placement import Machine, spread
from lanista.rollout.launchers.plan import PATIENCE, Launched, Plan
from lanista.rollout.launchers.processes import WorkerError
from lanista.rollout.launchers.ray_host import Answer, Chunk, Company, Question, hosted
from lanista.rollout.launchers.ray_weights import RayWeights
from lanista.rollout.launchers.ray_worker import RayWorker, Station
from lanista.rollout.launchers.restarts import Restarts

COUNTS = ("pieces", "bytes", "chunks", "again", "dropped", "moved", "lost")
"""What is counted for the run's log: pieces and bytes that came, chunks that came, chunks that were
ordered again, answers that belonged to nobody, shards that moved, actors that were lost."""
LOOK = 2.0
"""Seconds between two looks at which machines are there."""
FIRST_MACHINE = 120.0
"""Seconds that a machine may take to start its actor before the run begins without it."""
START = 600.0
"""Seconds after which an actor that has not started is taken for lost."""
SMOOTH = 0.5
"""How much of a machine's measured time the newest chunk makes up."""
FORGOTTEN = 0.99
"""What is left, at each look, of the time that a chunk took on a machine that has no shard now: one
that was busy for a while is tried again some minutes later."""


@dataclass(frozen=True)
class Piece:
    """Answers that came together from a machine."""

    answers: Sequence[Answer]
    notices: Sequence[str]
    size: int
    """Bytes of what was played."""


class Fleet:
    """The machines of a run, their actors, and which shard is where."""

    def __init__(self, plan: Plan, kind: str) -> None:
        self.ray = session.connect()
        self._plan, self._kind = plan, kind
        self.stations: dict[str, Station] = {}
        self.counts = dict.fromkeys(COUNTS, 0)
        self._refused: set[str] = set()
        self._accepted: dict[str, str] = {}
        """By machine: the stamp of what it runs, which was compared with what runs here."""
        self._restarts: dict[str, Restarts] = {}
        self._looked = 0.0
        self._events: SimpleQueue[tuple[Station, Piece | str]] = SimpleQueue()
        """What threads hear of machines: a piece, or how one ended."""
        self._company: tuple[Any, Company] | None = None
        self._answers: dict[int, deque[Answer]] = {n: deque() for n in range(plan.workers)}
        self._closed = False
        self._hangs = HangWatch(plan.hang_seconds, plan.workers)
        self.weights = RayWeights(self.ray, plan.actor, plan.lag, self.look)
        self.workers = [RayWorker(self, number) for number in range(plan.workers)]

    def start(self) -> None:
        """Start an actor on every machine and place the shards."""
        self._add_machines()
        self._wait_for_ready(FIRST_MACHINE)
        self._place()

    def send(self, worker: RayWorker, questions: Sequence[Question]) -> None:
        """Send questions to a shard's machine: with those of its other shards, in one call."""
        assert worker.station is not None
        worker.station.unsent.extend(questions)
        if worker is self.workers[-1]:  # Shards are asked in turn, and this was the last.
            self.send_all()

    def send_all(self) -> None:
        """Send what waits to be sent together with more."""
        for station in self.stations.values():  # What lost ones were asked is asked again.
            if station.unsent:
                questions, station.unsent = station.unsent, []
                self._send(station, questions)

    def _send(self, station: Station, questions: Sequence[Question]) -> None:
        """Send questions to a machine, and the weights that it has not."""
        wanted = {q.weights for q in questions if q.weights is not None} | {self.weights.newest}
        new = wanted - station.versions
        weights = {version: self.weights.sendable[version] for version in sorted(new)}
        station.versions |= new
        if questions or weights:
            station.actor.ask.remote(list(questions), weights)

    def next_answer(self, worker: RayWorker) -> Answer:
        """Wait for a shard's next answer; losses of machines meanwhile are dealt with."""
        answers = self._answers[worker.number]
        while not answers:
            self._recover()
            self.send_all()
            try:
                station, event = self._events.get(timeout=LOOK)
            except Empty:
                self._lose_hung()
                self.look(rebalance=False)
                continue
            if isinstance(event, str):
                self.lose(station, event)
            elif not station.dead:
                self._received(station, event)
        return answers.popleft()

    def _lose_hung(self) -> None:
        """Let go of machines with a shard that kept everybody waiting for too long."""
        owing = [w.number for w in self.workers if len(w.sent()) > len(self._answers[w.number])]
        for shard in self._hangs.waited(LOOK, owing):
            if (station := self.workers[shard].station) is not None:
                limit = self._hangs.limit
                self.lose(station, f"it answered nothing for {limit:.0f} s and is taken for hung")

    def sendable(self, method: str, argument: Any) -> Any:
        """Return what goes to a machine in place of `argument`: opponents go to each one once.

        What an actor hands on is sealed, or it would have to import torch.
        """
        if method == "build":
            return self._sealed(argument)
        if method != "meet":
            return argument
        if self._company is None or self._company[0] is not argument:
            makes, seating = argument
            references = [[self.ray.put(self._sealed(carried(make)))] for make in makes]
            self._company = argument, Company(references, self._sealed(seating))
        return self._company[1]

    def _sealed(self, value: Any) -> Sealed[Any]:
        return Sealed(self.ray.cloudpickle.dumps(value))

    def look(self, *, rebalance: bool = True) -> None:
        """Notice machines that came or went; at the border of an iteration shards may move."""
        if self._closed or time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        self._add_machines()
        self._check_ready()
        if rebalance and any(station.ready for station in self._living()):
            self._forget_slowness()
            placed = self._desired()
            for worker in self.workers:
                worker.go_to(self.stations[placed[worker.number]])

    def _forget_slowness(self) -> None:
        playing = [worker.station for worker in self.workers if worker.station]
        fastest = min((s.seconds for s in playing if s.seconds is not None), default=0.0)
        for station in self._living():
            if station not in playing and station.seconds is not None:
                # Nobody knows it to be faster than those that play.
                station.seconds = max(FORGOTTEN * station.seconds, min(fastest, station.seconds))

    def measured(self) -> dict[str, float]:
        """Return numbers for the run's log since the last call."""
        counts = {f"cluster/{name}": float(count) for name, count in self.counts.items()}
        self.counts = dict.fromkeys(self.counts, 0)
        ready = [station for station in self.stations.values() if station.ready]
        return counts | {"cluster/machines": float(len(ready))}

    def close(self, last: float) -> None:
        """End all actors by `last` on the clock; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        closing = [station.actor.close.remote() for station in self._living() if station.ready]
        if closing:
            self.ray.wait(closing, num_returns=len(closing), timeout=_left(last))
        for station in self.stations.values():
            self.ray.kill(station.actor)
        for station in self.stations.values():
            if station.thread is not None:
                station.thread.join(_left(last))

    def _living(self) -> list[Station]:
        return [station for station in self.stations.values() if not station.dead]

    def _add_machines(self) -> None:
        present = session.machines(self.ray)
        for machine, facts in present.items():
            if machine not in self.stations and machine not in self._refused:
                self._open(machine, facts["address"], facts["cpus"])
        for station in self._living():
            # Its actor may not be known to be dead yet, and a new one would never come up.
            if station.machine not in present:
                self.lose(station, "it is gone")

    def _open(self, machine: str, address: str, cpus: float) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor_class = self.ray.remote(
            num_cpus=0, max_restarts=0, concurrency_groups={"asked": 1, "pieces": 1}
        )(hosted(self.ray))
        options = actor_class.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(machine, soft=False)
        )
        plan = self._plan
        actor = options.remote(plan.lag, self._kind, session.own_environment(), plan.preload)
        reference = actor.identity.remote(self._accepted.get(machine, ""))
        self.stations[machine] = Station(machine, address, cpus, actor, reference, time.monotonic())

    def _wait_for_ready(self, seconds: float) -> None:
        """Wait until every machine is ready or refused; some must be ready."""
        last = time.monotonic() + seconds
        while pending := [s for s in self._living() if not s.ready]:
            self.ray.wait([s.identity_reference for s in pending], timeout=0.5)
            self._check_ready()
            if time.monotonic() > last and any(s.ready for s in self._living()):
                break
        if not any(station.ready for station in self._living()):
            raise WorkerError("No machine of the cluster can play; see the messages above.")

    def _check_ready(self) -> None:
        """Let machines in whose actors have started and that run what the driver runs."""
        pending = [s for s in self._living() if not s.ready]
        for station in pending:
            arrived, _ = self.ray.wait([station.identity_reference], timeout=0)
            if not arrived:
                if time.monotonic() - station.began > START:
                    self.lose(station, f"it did not start within {START:.0f} s")
                continue
            try:
                theirs, stamp, station.pid = self.ray.get(station.identity_reference)
            except Exception as error:
                self._failed_start(station, error)
                continue
            if theirs is not None and (refusal := identity().refusal(theirs, station.address)):
                self.refuse(station, refusal)
                continue
            self._accepted[station.machine] = stamp
            station.ready = True
            station.thread = threading.Thread(target=self._listen, args=(station,), daemon=True)
            station.thread.start()

    def _failed_start(self, station: Station, error: Exception) -> None:
        from ray.exceptions import RayError, RayTaskError

        raised = session.raised_at_start(error)
        went = isinstance(error, RayError) and not isinstance(error, RayTaskError)
        if went and raised is None:
            self.lose(station, type(error).__name__)
            return
        self.refuse(
            station,
            f"Machine {station.address} is refused: lanista does not start there "
            f"({_named(raised or error)}); install the same version of the package there.",
        )

    def refuse(self, station: Station, sentence: str) -> None:
        """Let go of a machine's actor for good; shards that are there go on elsewhere."""
        if self._closed or self.stations.get(station.machine) is not station:
            return
        station.dead = sentence
        self._refused.add(station.machine)
        del self.stations[station.machine]
        self.ray.kill(station.actor)
        self._plan.notify(sentence)
        if not session.machines(self.ray).keys() - self._refused:
            raise WorkerError(f"{sentence} No machine is left.")

    def _listen(self, station: Station) -> None:
        """Fetch a machine's pieces until it is gone; runs in a thread of its own."""
        try:
            for reference in station.actor.pieces.remote():
                answers, notices = self.ray.get(reference)
                size = sum(answer.size for answer in answers)
                self._events.put((station, Piece([_own(a) for a in answers], notices, size)))
            end = "it ended"
        except Exception as error:
            end = type(error).__name__
        self._events.put((station, end))

    def _received(self, station: Station, piece: Piece) -> None:
        self.counts["pieces"] += 1
        self.counts["bytes"] += piece.size
        for sentence in piece.notices:
            self._plan.notify(sentence)
        shards = sum(worker.station is station for worker in self.workers)
        for answer in piece.answers:
            if self.workers[answer.shard].station is not station:
                self.counts["dropped"] += 1
                continue
            self._hangs.answered(answer.shard)
            if isinstance(answer.value, Played):
                self._hangs.played(answer.seconds)
                self._timed(station, answer.seconds / max(1.0, shards / station.cpus))
            self._answers[answer.shard].append(answer)

    def _timed(self, station: Station, seconds: float) -> None:
        self.counts["chunks"] += 1
        self._restarts.setdefault(station.machine, Restarts()).delivered()
        before = seconds if station.seconds is None else station.seconds
        station.seconds = SMOOTH * seconds + (1 - SMOOTH) * before

    def lose(self, station: Station, end: str) -> None:
        """Let go of a machine's actor; its shards go on elsewhere when they are next waited for."""
        if self._closed or self.stations.get(station.machine) is not station:
            return
        station.dead = end
        del self.stations[station.machine]
        self.ray.kill(station.actor)  # It may live on where nobody can reach it.
        self.counts["lost"] += 1
        restarts = self._restarts.setdefault(station.machine, Restarts())
        restarts.ended(None)
        if restarts.hopeless:
            self._refused.add(station.machine)
            self._plan.notify(
                f"Machine {station.address} lost its actor {len(restarts.codes)} times without "
                "having played anything, and is given up for this run."
            )
        self._plan.notify(
            f"The actor of machine {station.address} is lost ({station.dead}); what its workers "
            "had not delivered is played again elsewhere."
        )

    def _recover(self) -> None:
        """Give every shard without a machine another one."""
        homeless = [w for w in self.workers if w.station is None or w.station.dead]
        if not homeless:
            return
        self._await_machine()
        placed = self._desired()
        for worker in homeless:
            self._answers[worker.number].clear()
            self._hangs.answered(worker.number)
            worker.restart_at(self.stations[placed[worker.number]])

    def _await_machine(self) -> None:
        """Wait until some machine is ready; one whose actor died gets another after a pause."""
        while not any(station.ready for station in self._living()):
            pauses = [restarts.pause for restarts in self._restarts.values()]
            time.sleep(min([*pauses, 1.0]))
            self._add_machines()
            if not self.stations:
                raise WorkerError(
                    "All machines of the cluster are lost or given up; what was saved is good, so "
                    "see to the machines, and resume the run."
                )
            self.ray.wait(
                [s.identity_reference for s in self._living() if not s.ready], timeout=1.0
            )
            self._check_ready()

    def _place(self) -> None:
        placed = self._desired()
        for worker in self.workers:
            worker.station = self.stations[placed[worker.number]]

    def _desired(self) -> dict[int, str]:
        ready = {s.machine: Machine(s.cpus, s.seconds) for s in self._living() if s.ready}
        present = {
            worker.number: worker.station.machine
            for worker in self.workers
            if worker.station is not None and not worker.station.dead
        }
        return spread(range(len(self.workers)), ready, present)


def launch(plan: Plan) -> Launched:
    """Return workers in processes of the cluster's machines."""
    return _launched(plan, "processes")


def launch_threads(plan: Plan) -> Launched:
    """Return workers in threads of one process for each of the cluster's machines."""
    return _launched(plan, "threads")


def _launched(plan: Plan, kind: str) -> Launched:
    if plan.desk is not None:
        raise LanistaError(
            "rollouts.inference is central, which needs the learner's own machine; set it to "
            "worker, or rollouts.launcher to processes."
        )
    fleet = Fleet(plan, kind)
    launched = Launched(fleet.weights, list(fleet.workers), measured=fleet.measured)
    try:
        fleet.start()
    except BaseException:
        launched.close(PATIENCE)
        raise
    return launched


def _own(answer: Answer) -> Answer:
    """Return an answer whose chunk is no longer the object store's."""
    if not isinstance(answer.value, Chunk):
        return answer
    value = answer.value.played()
    return Answer(answer.shard, answer.ticket, answer.fine, value, answer.seconds)


def _named(error: BaseException) -> str:
    """Return an error's kind and the first line of what it says, if it says anything."""
    return ": ".join([type(error).__name__, *str(error).splitlines()[:1]])


def _left(last: float) -> float:
    return max(0.0, last - time.monotonic())
