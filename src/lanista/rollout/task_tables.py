"""Tables whose matches are played in tasks: other processes, or other machines.

A match comes out the same in any company, so a schedule may be cut anywhere. Knows nothing of who
plays and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from lanista.cluster.tasks import Tasks, tasks, wanted
from lanista.rollout.inference.row_blocks import one_thread
from lanista.rollout.match_runner import Progress, Results, Table, play
from lanista.rollout.schedule import Schedule

PARTS = 4
"""Tasks for each core: the last ones to end keep few waiting."""
MakeTable = Callable[[int], AbstractContextManager[Table]]
"""Makes a table with so many slots in another process; it must be importable there."""


@dataclass(frozen=True)
class TaskPlay:
    """Plays schedules in tasks."""

    make: MakeTable
    slots: int
    doer: Tasks

    def play(
        self, schedule: Schedule, options: Mapping[str, int], record: bool, report: Progress
    ) -> list[Results]:
        """Return the results of the schedule's parts, in its order."""
        parts = schedule.shards(min(len(schedule), PARTS * self.doer.at_once))
        arguments = [(self.make, self.slots, part, dict(options), record) for part in parts]
        results: dict[int, Results] = {}
        for number, part_results in self.doer.each(play_part, arguments):
            results[number] = part_results
            report(len(parts[number]))
        return [results[number] for number in range(len(parts))]


def play_part(
    make: MakeTable, slots: int, schedule: Schedule, options: Mapping[str, int], record: bool
) -> Results:
    """Play a part of a schedule at a table of this process."""
    with make(min(slots, len(schedule))) as table, one_thread():
        return play([table], schedule, options=options, record=record)


@contextmanager
def spread_out(tables: Sequence[Table], make: MakeTable) -> Iterator[list[Table]]:
    """Give one table whose matches are played in tasks, if `--cluster` wants it; else `tables`."""
    if not wanted():
        yield list(tables)
        return
    with tasks() as doer:
        play_elsewhere: Any = TaskPlay(make, tables[0].game.slots, doer)
        yield [replace(tables[0], elsewhere=play_elsewhere)]
