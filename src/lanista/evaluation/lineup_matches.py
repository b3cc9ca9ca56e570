"""Plays line-ups: a schedule, one player against many, everybody against everybody.

An interrupt ends play early; what is complete by then is returned, and was recorded. Knows nothing
of how progress and results look.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from lanista.evaluation.gauntlet import matches_of_deal, play_gauntlet
from lanista.evaluation.lineup import Lineup
from lanista.evaluation.roundrobin import Pair, meetings
from lanista.interrupt import finishing
from lanista.output_paths import refuse_unwritable_folder
from lanista.rollout.match_runner import Progress, Results, Table, play_blocks
from lanista.rollout.replay_recorder import Recorder, block_size
from lanista.rollout.schedule import Schedule
from lanista.rollout.task_tables import spread_out

SLOTS, GAUNTLET_SLOTS = 4096, 1024
"""Matches side by side where nobody says and the game has no number of its own."""


def play_schedule(
    lineup: Lineup,
    schedule: Schedule,
    *,
    slots: int | None = None,
    threads: int = 1,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> list[Results]:
    """Play a schedule block by block, and record it if there is a folder.

    Returns the blocks that were complete when all was played or the user interrupted.
    """
    block = block_size(lineup.spec)
    complete: list[Results] = []
    with (
        lineup.tables(threads, lineup.slots(slots, SLOTS), min(len(schedule), block)) as here,
        spread_out(here, lineup.table) as tables,
    ):
        recorder = None
        if folder:
            recorder = Recorder(folder, tables[0].game, tables[0].players, lineup.options)
            recorder.refuse_existing(schedule.blocks(block))
            refuse_unwritable_folder("--record", folder)
        with suppress(KeyboardInterrupt):
            for played in play_blocks(
                tables,
                schedule,
                block=block,
                options=lineup.options,
                record=recorder is not None,
                progress=progress,
            ):
                with finishing():
                    if recorder:
                        recorder.write(played)
                    complete.append(replace(played, actions=None))
    return complete


def play_against(
    mine: Lineup,
    others: Lineup,
    deals: int,
    *,
    slots: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> list[Results]:
    """Let one player meet all others on the same deals; return the parts that are complete."""
    matches = deals * matches_of_deal(mine.spec) * len(others.players)
    complete: list[Results] = []
    with others.tables(threads, others.slots(slots, GAUNTLET_SLOTS), matches) as tables:
        both = [replace(table, players=(*mine.seated(), *table.players)) for table in tables]
        make = partial(_together, mine, others)
        with spread_out(both, make) as both, suppress(KeyboardInterrupt):
            for results in play_gauntlet(both, deals, progress=progress):
                with finishing():
                    complete.append(results)
    return complete


@contextmanager
def _together(mine: Lineup, others: Lineup, slots: int) -> Iterator[Table]:
    """Give a table at which one player and all others can sit down."""
    with others.table(slots) as table:
        yield replace(table, players=(*mine.seated(), *table.players))


def play_pairs(
    lineup: Lineup,
    matches: int,
    *,
    slots: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> dict[Pair, Results]:
    """Let every two players meet in `matches` matches; return the pairs that are complete."""
    played: dict[Pair, Results] = {}
    with (
        lineup.tables(threads, lineup.slots(slots, SLOTS), matches) as here,
        spread_out(here, lineup.table) as tables,
        suppress(KeyboardInterrupt),
    ):
        for pair, results in meetings(tables, matches, options=lineup.options, progress=progress):
            played[pair] = results
    return played
