"""Plays a fixed schedule of matches in batches, every match to its end.

Slots are filled again as matches end, each player answers all its decisions of a step at once,
and the results lie in the order of the schedule whatever the slots or threads were. Knows
nothing of scores and intervals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event, Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.bots import Player
from lanista.games.contract import Decisions, Game, Ints
from lanista.rollout.player_hooks import PlayerHooks
from lanista.rollout.schedule import Schedule

Progress = Callable[[int], None]
"""Called with the number of matches that have ended since the last call, from one thread at a
time."""


class RolloutError(LanistaError):
    """Matches cannot be played as asked."""


class _StoppedError(Exception):
    """Another shard failed or the user interrupted: what this one plays is not wanted."""


@dataclass(frozen=True)
class Table:
    """A game and the players that can sit down at it; nothing in it is shared with another."""

    game: Game
    players: tuple[Player, ...]
    elsewhere: Elsewhere | None = None
    """Who plays in its place, in other processes; None: it is played at here."""


class Elsewhere(Protocol):
    """Plays schedules with players equal to a table's."""

    def play(
        self, schedule: Schedule, options: Mapping[str, int], record: bool, report: Progress
    ) -> list[Results]:
        """Return the results of a schedule's parts, in its order."""


@dataclass(frozen=True)
class Results:
    """What came of a schedule, a row a match, in the schedule's order."""

    schedule: Schedule
    returns: NDArray[np.float32]
    """`[matches, seats]`: what is optimised."""
    place: NDArray[np.int32]
    """`[matches, seats]`: 1 is best, equals share."""
    score: NDArray[np.float32]
    """`[matches, seats]`: what a person reads off the board."""
    decisions: NDArray[np.int32]
    """`[matches]`: how many decisions a match took."""
    cut_off: NDArray[np.bool_]
    """`[matches]`: broken off, without a result."""
    digests: tuple[str, ...]
    """The digest under which each player played all of it."""
    actions: NDArray[Any] | None = None
    """`[decisions, heads]` of all matches one after another, each by turn and then seat; in the
    smallest dtype that holds them. Only when asked for."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of the threads that played."""

    def __len__(self) -> int:
        return len(self.schedule)

    @property
    def total_decisions(self) -> int:
        return int(self.decisions.sum(dtype=np.int64))

    def actions_by_match(self) -> list[NDArray[np.int32]]:
        """Return the recorded actions of each match, `[decisions, heads]`."""
        if self.actions is None:
            raise RolloutError("These matches were played without recording their actions.")
        ends = np.cumsum(self.decisions, dtype=np.int64)[:-1]
        return [actions.astype(np.int32) for actions in np.split(self.actions, ends)]


def play(
    tables: Sequence[Table],
    schedule: Schedule,
    *,
    options: Mapping[str, int] | None = None,
    record: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Play all matches of `schedule` and return their results.

    Each table plays a shard of the schedule in a thread of its own; with one table no thread is
    started. Each game's `slots` matches are played side by side. `options` go to every match.
    """
    began = time.perf_counter()
    stop = Event()
    report = _one_at_a_time(progress)
    if (elsewhere := tables[0].elsewhere) is not None:
        _refuse_misfit(tables[0], schedule)
        results = elsewhere.play(schedule, options or {}, record, report)
        return join(results, schedule, wall_seconds=time.perf_counter() - began)
    shards = schedule.shards(len(tables))
    runs = [
        _Run(table, shard, options or {}, record, stop, report)
        for table, shard in zip(tables, shards, strict=True)
    ]
    results = [runs[0].finish()] if len(runs) == 1 else _in_threads(runs, stop)
    return join(results, schedule, wall_seconds=time.perf_counter() - began)


def play_blocks(
    tables: Sequence[Table],
    schedule: Schedule,
    *,
    block: int = 10_000,
    options: Mapping[str, int] | None = None,
    record: bool = False,
    progress: Progress | None = None,
) -> Iterator[Results]:
    """Play `schedule` in blocks of at most `block` matches, and give each when it is complete.

    Blocks are fixed beforehand, so whoever stops between two has whole units and no preference
    for short matches.
    """
    for block_schedule in schedule.blocks(block):
        yield play(tables, block_schedule, options=options, record=record, progress=progress)


def join(
    results: Sequence[Results],
    schedule: Schedule | None = None,
    *,
    wall_seconds: float | None = None,
) -> Results:
    """Return `results` one after another as one; they were played by the same players."""
    if len({result.digests for result in results}) != 1:
        raise RolloutError("Results of different players cannot be joined.")
    if schedule is None:
        schedule = Schedule(
            np.concatenate([result.schedule.match for result in results]),
            np.concatenate([result.schedule.deal for result in results]),
            np.concatenate([result.schedule.seating for result in results]),
        )
    recorded = [result.actions for result in results if result.actions is not None]
    walls = [result.wall_seconds for result in results]
    return Results(
        schedule=schedule,
        returns=np.concatenate([result.returns for result in results]),
        place=np.concatenate([result.place for result in results]),
        score=np.concatenate([result.score for result in results]),
        decisions=np.concatenate([result.decisions for result in results]),
        cut_off=np.concatenate([result.cut_off for result in results]),
        digests=results[0].digests,
        actions=np.concatenate(recorded) if len(recorded) == len(results) else None,
        wall_seconds=sum(walls) if wall_seconds is None else wall_seconds,
        cpu_seconds=sum(result.cpu_seconds for result in results),
    )


def _in_threads(runs: Sequence[_Run], stop: Event) -> list[Results]:
    with ThreadPoolExecutor(len(runs)) as pool:
        futures = [pool.submit(run.finish) for run in runs]
        try:
            results, failures = [], []
            for future in futures:
                try:
                    results.append(future.result())
                except _StoppedError:
                    pass
                except Exception as error:
                    failures.append(error)
            if failures:
                raise failures[0]
            return results
        except BaseException:
            stop.set()  # Before the pool's exit waits for threads that would play on.
            raise


def _one_at_a_time(progress: Progress | None) -> Progress:
    lock = Lock()

    def report(ended: int) -> None:
        if progress is not None:
            with lock:
                progress(ended)

    return report


class _Run:
    """One table playing one shard."""

    def __init__(
        self,
        table: Table,
        schedule: Schedule,
        options: Mapping[str, int],
        record: bool,
        stop: Event,
        report: Progress,
    ) -> None:
        _refuse_misfit(table, schedule)
        self.game, self.players = table.game, table.players
        self.schedule, self.options = schedule, options
        self.stop, self.report = stop, report
        self.digests = tuple(player.digest for player in self.players)
        self.heads = len(self.game.spec.heads)
        slots, shape = self.game.slots, schedule.seating.shape
        self.started = 0
        self.ended = 0
        # Per slot: the row of the schedule it plays, its players, its decisions so far.
        self.row = np.zeros(slots, np.int32)
        self.seats = shape[1]
        self.seated = np.zeros((slots, self.seats), np.int32)
        self.seated_by_row = _by_row(self.seated)
        self.decided = np.zeros(slots, np.int32)
        self.returns = np.zeros(shape, np.float32)
        self.place = np.zeros(shape, np.int32)
        self.score = np.zeros(shape, np.float32)
        self.decisions = np.zeros(len(schedule), np.int32)
        self.cut_off = np.zeros(len(schedule), np.bool_)
        self.tape = _Tape(self.game) if record else None
        self.hooks = PlayerHooks(self.game, self.players)

    def finish(self) -> Results:
        """Play every match of the shard to its end."""
        began = time.thread_time()
        try:
            self._start(np.arange(self.game.slots))
            while self.ended < len(self.schedule):
                if self.stop.is_set():
                    raise _StoppedError
                self._step()
        except BaseException:
            self.stop.set()
            raise
        finally:
            self.hooks.close()
        return Results(
            schedule=self.schedule,
            returns=self.returns,
            place=self.place,
            score=self.score,
            decisions=self.decisions,
            cut_off=self.cut_off,
            digests=self.digests,
            actions=self.tape.actions() if self.tape else None,
            cpu_seconds=time.thread_time() - began,
        )

    def _start(self, free: NDArray[Any]) -> None:
        """Begin the next matches of the schedule in as many of the `free` slots as are needed."""
        free = free[: len(self.schedule) - self.started]
        if not len(free):
            return
        rows = slice(self.started, self.started + len(free))
        self.started = rows.stop
        self.row[free] = np.arange(rows.start, rows.stop)
        self.seated_by_row[free] = _by_row(self.schedule.seating[rows].astype(np.int32, copy=False))
        self.decided[free] = 0
        self.game.start(
            free, self.schedule.match[rows], {**self.options, "deal": self.schedule.deal[rows]}
        )
        if self.hooks.stateful:
            self.hooks.started(free, self.seated[free], self.schedule.match[rows])

    def _step(self) -> None:
        decisions = self.game.decisions()
        if not len(decisions):
            raise RolloutError(
                f"{self.game.spec.name} waits for nobody while "
                f"{self.started - self.ended} matches are not over; check the game."
            )
        actions = self._answers(decisions)
        if self.tape:
            self.tape.keep(self.row[decisions.slot], actions)
        self.decided += np.bincount(decisions.slot, minlength=len(self.decided)).astype(np.int32)
        over = self.game.act(np.arange(len(decisions)), actions)
        if len(over):
            self._collect(over)
            self._start(over)

    def _answers(self, decisions: Decisions) -> Ints:
        who = self.seated.ravel().take(decisions.slot * self.seats + decisions.seat)
        if self.hooks.planning:
            self.hooks.asked(decisions, who)
        actions = np.empty((len(decisions), self.heads), np.int32)
        for number, player in enumerate(self.players):
            rows = (who == number).nonzero()[0]
            if len(rows):
                if player.digest != self.digests[number]:
                    raise RolloutError(
                        f"Player {player.name} changed in the middle of a match, from "
                        f"{self.digests[number][:12]} to {player.digest[:12]}; give the changed "
                        "one matches of its own."
                    )
                answer = self._checked(player, player.act(decisions, rows), len(rows))
                _by_row(actions)[rows] = _by_row(answer)
        return actions

    def _checked(self, player: Player, answer: Any, rows: int) -> NDArray[np.int32]:
        # Numpy would stretch a wrong shape and cut off fractions without a word.
        actions = np.asarray(answer)
        if actions.shape != (rows, self.heads) or actions.dtype.kind not in "iu":
            raise RolloutError(
                f"Player {player.name} answered {rows} decisions with {actions.dtype} "
                f"{list(actions.shape)}; whole numbers of shape [{rows}, {self.heads}] are needed."
            )
        cast = actions.astype(np.int32, copy=False)
        if cast is not actions and (cast != actions).any():
            raise RolloutError(
                f"Player {player.name} answered {actions.max()}, which is no choice."
            )
        return cast

    def _collect(self, over: Ints) -> None:
        rows = self.row[over]
        for result, now in (
            (self.returns, self.game.returns),
            (self.place, self.game.place),
            (self.score, self.game.score),
        ):
            _by_row(result)[rows] = _by_row(now.take(over, axis=0).astype(result.dtype, copy=False))
        if self.game.cut_off.any():
            self.cut_off[rows] = self.game.cut_off[over].any(axis=1)
        self.decisions[rows] = self.decided[over]
        if self.hooks.stateful:
            self.hooks.ended(over, self.seated[over], self.schedule.match[rows])
        self.ended += len(over)
        self.report(len(over))


def _by_row(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view in which each row is one item: numpy moves items ten times faster than rows."""
    whole = np.ascontiguousarray(array)
    return whole.view(f"V{whole.itemsize * whole.shape[1]}")[:, 0]


class _Tape:
    """Every action of a run, kept small: the match's row and the choices, step by step."""

    def __init__(self, game: Game) -> None:
        most = max(head.size for head in game.spec.heads)
        self.dtype = np.min_scalar_type(most - 1)
        self.heads = len(game.spec.heads)
        self.rows: list[NDArray[np.int32]] = []
        self.choices: list[NDArray[Any]] = []

    def keep(self, rows: NDArray[np.int32], actions: Ints) -> None:
        self.rows.append(rows)
        self.choices.append(actions.astype(self.dtype))

    def actions(self) -> NDArray[Any]:
        """Return all actions by match, turn and seat.

        A step holds one turn of each match with its seats in order, and steps follow turns, so a
        stable sort by match is all it takes.
        """
        if not self.rows:
            return np.empty((0, self.heads), self.dtype)
        order = np.argsort(np.concatenate(self.rows), kind="stable")
        choices: NDArray[Any] = np.concatenate(self.choices)[order]
        return choices


def _refuse_misfit(table: Table, schedule: Schedule) -> None:
    name, seats = table.game.spec.name, table.game.spec.seats
    if schedule.seats != seats:
        raise RolloutError(
            f"{name} has {seats} seats, and the schedule seats {schedule.seats} players."
        )
    numbers = schedule.seating
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(table.players)):
        raise RolloutError(
            f"The schedule of {name} seats player {numbers.max()}, and players 0 to "
            f"{len(table.players) - 1} are at the table."
        )
