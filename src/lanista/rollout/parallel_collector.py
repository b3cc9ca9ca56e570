"""Plays for a learner with several workers, wherever their launcher lets them run.

Every worker has a collector of its own, with its own game, opponents, networks and match ids. An
order goes to all of them with the same weights, each plays its share, and what they made is joined
in a fixed order: as many workers give the same numbers, whoever launched them. With a lag of L,
chunks are ordered L ahead of the learner: while it learns, the workers play, always with exactly
the weights of L orders before. Knows nothing of learning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanista.data.trajectory import Unrolls, from_arrays, join, to_arrays
from lanista.errors import LanistaError
from lanista.rollout.chunks import Build, Make, Order, Played
from lanista.rollout.collector import LEARNER, Seating
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.server import InferenceServer
from lanista.rollout.launchers.hangs import HANG_SECONDS
from lanista.rollout.launchers.plan import PATIENCE, Desk, Launched, Message, Plan, Worker
from lanista.rollout.launchers.table import LAUNCHERS
from lanista.rollout.opponent_sampler import OpponentSampler
from lanista.rollout.outcome_counts import Tally
from lanista.rollout.timing import BATCH, WAIT, add_up

if TYPE_CHECKING:
    from lanista.rollout.experience_source import Opponent


class ParallelCollector:
    """Several workers with the calls of one `Collector`."""

    def __init__(
        self,
        builds: Sequence[Build],
        first_matches: Sequence[int],
        actor: Actor,
        seats: int,
        *,
        launcher: str = "serial",
        lag: int = 0,
        desk: Desk | None = None,
        sends: bool = False,
        hang_seconds: float | None = None,
    ) -> None:
        """Have a worker for each of `builds`, with match ids from `first_matches` on.

        `actor` has the weights they play with. They are started when they are first needed. With a
        `desk` processes have no networks and ask there. `sends`: what they played is put on the
        actor's device, where the parts are joined. `hang_seconds`: how long
        a machine of a cluster may owe an answer.
        """
        self.actor, self.builds, self.launcher, self.lag = actor, tuple(builds), launcher, lag
        self.update = 0
        self.tally = Tally(seats)
        self.phases = actor.phases
        """Where the time of the thread goes that asks; `elsewhere` has the workers'."""
        self.elsewhere: list[tuple[dict[str, float], dict[str, float]]] = [({}, {}) for _ in builds]
        """By worker: wall-clock and CPU seconds by phase."""
        self.cpu_seconds = 0.0
        """What processes have spent, those of their games not counted."""
        self.notices: list[str] = []
        """What the user should know; whoever tells it takes it out."""
        self._desk, self._sends = desk, sends
        self._hang_seconds = HANG_SECONDS if hang_seconds is None else hang_seconds
        self._central: InferenceServer | None = None
        self._next = list(first_matches)
        self._workers: list[Worker] = []
        self._launched: Launched | None = None
        self._waiting: list[deque[Played]] = [deque() for _ in builds]
        """By worker: chunks that were played and not asked for yet."""
        self._under_way = 0
        """Chunks under way with every worker."""
        self._measured: dict[str, float] = {}
        """What the workers measured, summed, since it was last asked for."""
        self._version = 0
        self._streaming = False
        self.shaping_scale = 0.0
        self.seating: Seating = OpponentSampler((LEARNER,), (1.0,), seats, 0)
        """Who sits where; until there are opponents, the learner in every seat."""
        self._company: tuple[list[Make], Seating] | None = None

    @property
    def streaming(self) -> bool:
        """Matches, or chunks whose players are known by number, are in flight between calls."""
        return self._streaming or self.lag > 0

    def meet(self, opponents: Sequence[Make], seating: Seating) -> None:
        """Let `seating` decide from the next order on; every worker makes its own opponents."""
        self._land()  # A worker that takes a dead one's place must have its opponents.
        self.seating = seating
        self._company = (list(opponents), seating)
        if self._workers:
            self._all("meet", self._company)

    plays_here = False

    def seat(self, opponents: Sequence[Opponent], seating: Seating) -> None:
        """Let every worker make these opponents for itself."""
        self.meet([opponent.make for opponent in opponents], seating)

    def in_flight(self) -> set[int]:
        """Return the numbers of those who sit in matches in flight, or in chunks played ahead."""
        self._land()
        chunks = [played for waiting in self._waiting for played in waiting]
        ahead = [set(played.ended["seated"].ravel().tolist()) for played in chunks]
        return set().union(*ahead, *(self._all("seated") if self._workers else ()))

    def whole_matches(self, matches: int) -> Unrolls:
        """Play at least `matches` fresh matches to their end; return all unrolls of the learner."""
        return self._collect("whole_matches", matches)

    def unrolls(self, count: int) -> Unrolls:
        """Play on until at least `count` unrolls are complete, and return those."""
        self._streaming = True
        return self._collect("unrolls", count)

    @property
    def next_match(self) -> list[int]:
        """The id of each worker's next match."""
        self._land()
        return list(self._next)

    @next_match.setter
    def next_match(self, numbers: Sequence[int]) -> None:
        self._land()
        self._next = list(numbers)
        if self._workers:
            self._each("go_on_from", self._next)

    def save(self) -> dict[str, Any]:
        """Return what every worker needs to go on exactly so, and the chunks played ahead."""
        if not self._workers:
            return self.rested()
        self._land()
        ahead = [[_to_state(played) for played in waiting] for waiting in self._waiting]
        return {"workers": self._all("save"), "ahead": ahead}

    def rested(self) -> dict[str, Any]:
        """Return what `load` takes to go on behind the last chunks that came in, asking nobody.

        For a fleet with a worker that is given up. What is in flight or played ahead is left out.
        """
        return {"workers": [{"next_match": number} for number in self._next], "ahead": []}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` gave."""
        # One worker has the state of a collector in the learner's thread.
        worker_states = saved.get("workers", [saved])
        if len(worker_states) != len(self.builds):
            raise LanistaError(
                f"The run was saved with {len(worker_states)} rollouts.workers and is resumed with "
                f"{len(self.builds)}; set rollouts.workers to what it was."
            )
        self._next = [int(state["next_match"]) for state in worker_states]
        self._start()
        self._streaming = any(self._each("load", worker_states))
        if ahead := saved.get("ahead"):
            self._waiting = [deque(_from_state(chunk) for chunk in chunks) for chunks in ahead]

    def close(self) -> None:
        """End the workers; a second call does nothing."""
        launched, self._launched, self._central = self._launched, None, None
        self._workers = []
        self._under_way, self._waiting = 0, [deque() for _ in self.builds]
        if launched is not None:
            launched.close(PATIENCE)

    def server_times(self) -> tuple[dict[str, float], dict[str, float]] | None:
        """Return the seconds by phase of central inference since the last call, without waiting.

        None where there is none.
        """
        if self._central is None:
            return None
        wall, cpu = self._central.taken()
        for seconds in (wall, cpu):
            seconds.pop(WAIT, None)
        return wall, cpu

    def worker_times(self) -> list[tuple[dict[str, float], dict[str, float]]]:
        """Return each worker's seconds by phase; whoever reads them clears them."""
        return self.elsewhere

    def take_notices(self) -> list[str]:
        """Return what the user should know of the workers, each sentence once."""
        sentences, self.notices[:] = list(self.notices), []
        return sentences

    def measured(self) -> dict[str, float]:
        """Return metrics of central inference, and of the workers, since the last call."""
        measured, self._measured = self._measured, {}
        if self._launched is not None and self._launched.measured is not None:
            measured |= self._launched.measured()
        return measured if self._central is None else measured | self._central.measured()

    def _start(self) -> None:
        if self._workers:
            return
        try:
            self._launch()
            self._each("build", self.builds)
            self._each("go_on_from", self._next)
            if self._company is not None:
                self._all("meet", self._company)
        except BaseException:
            self.close()
            raise

    def _launch(self) -> None:
        plan = Plan(
            len(self.builds),
            self.actor,
            self._restart_messages,
            self.notices.append,
            lag=self.lag,
            desk=self._desk,
            sends=self._sends,
            preload=_modules_of(self.builds),
            hang_seconds=self._hang_seconds,
        )
        launched = self._launched = LAUNCHERS.named(self.launcher).load()(plan)
        self._workers, self._central = launched.workers, launched.server

    def _restart_messages(self, number: int) -> list[Message]:
        """Return all that a worker must be asked first that takes a dead one's place."""
        messages = [("build", self.builds[number]), ("go_on_from", self._next[number])]
        return messages if self._company is None else [*messages, ("meet", self._company)]

    def _collect(self, how: str, count: int) -> Unrolls:
        self._start()
        share = -(-count // len(self._workers))
        self._version += 1
        assert self._launched is not None
        self._launched.weights.publish(self._version)
        scheduled = self.actor.temperature, self.shaping_scale
        order = Order(how, share, self.update, *scheduled, self._version)
        while self._under_way + len(self._waiting[0]) <= self.lag:
            for worker in self._workers:
                worker.ask("collect", order)
            self._under_way += 1
        if not self._waiting[0]:
            self._land(1)
        with self.phases(BATCH):
            return self._joined([waiting.popleft() for waiting in self._waiting])

    def _joined(self, chunks: Sequence[Played]) -> Unrolls:
        for number, played in enumerate(chunks):
            self.tally.extend(played.ended)
            self.cpu_seconds += played.cpu_seconds
            for name, value in (played.measured or {}).items():
                self._measured[name] = self._measured.get(name, 0.0) + value
            for mine, theirs in zip(self.elsewhere[number], (played.wall, played.cpu), strict=True):
                add_up(mine, theirs)
        return join([played.unrolls for played in chunks])

    def _land(self, most: int | None = None) -> None:
        """Wait for chunks under way: all, or so many of every worker."""
        with self.phases(WAIT):
            for _ in range(self._under_way if most is None else most):
                self._under_way -= 1
                for number, played in enumerate(self._answers()):
                    self._waiting[number].append(played)
                    self._next[number] = played.next_match

    def _all(self, method: str, argument: Any = None) -> list[Any]:
        return self._each(method, [argument] * len(self._workers))

    def _each(self, method: str, arguments: Sequence[Any]) -> list[Any]:
        for worker, argument in zip(self._workers, arguments, strict=True):
            worker.ask(method, argument)
        with self.phases(WAIT):
            return self._answers()

    def _answers(self) -> list[Any]:
        """Return everybody's oldest answer; a failure is raised when all were fetched.

        Otherwise the next call would read what belongs to this one.
        """
        answers, failed = [], None
        for worker in self._workers:
            try:
                answers.append(worker.answer())
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return answers


def _modules_of(builds: Sequence[Build]) -> tuple[str, ...]:
    """Return the modules that the functions or classes behind `builds` lie in."""
    names = {str(getattr(build, "func", build).__module__) for build in builds}
    return tuple(sorted(names - {"__main__"}))


def _to_state(played: Played) -> dict[str, Any]:
    """Return a chunk as arrays and numbers; its times are not part of a run's state."""
    return {
        "unrolls": to_arrays(played.unrolls),
        "ended": dict(played.ended),
        "next_match": played.next_match,
        **({"measured": dict(played.measured)} if played.measured else {}),
    }


def _from_state(state: Mapping[str, Any]) -> Played:
    measured = {name: float(value) for name, value in state.get("measured", {}).items()}
    unrolls, following = from_arrays(state["unrolls"]), int(state["next_match"])
    return Played(unrolls, state["ended"], following, {}, {}, measured=measured)
