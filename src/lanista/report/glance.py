"""Reads as much of a run as a page that follows it shows: the curves thinned, the newest rows.

What a report reads takes seconds for a run of 10⁶ numbers; this takes milliseconds, since only some
updates are looked up. Knows nothing of pages.
"""

from __future__ import annotations

from pathlib import Path

from lanista.report.reading import assembled, matches_of, members_of, settings_text
from lanista.report.run_record import RunRecord
from lanista.runs.reader import RunTables
from lanista.runs.schema import EventRow, MatchmakingRow, NoticeRow, TrainingGamesRow

MOST_UPDATES = 400
"""Of a curve, at even steps."""
MOST_MARKED = 200
"""Updates with evaluations or events, which are shown besides."""
MOST_ROWS = 5_000
"""Of matchmaking and of training games."""
MOST_EVENTS = 300


def glance(run: RunTables, folder: Path, *, matches: bool) -> RunRecord:
    """Return the record of a run; without `matches` nothing is said about strength."""
    played = matches_of(run) if matches else []
    return assembled(
        folder.name,
        settings_text(folder),
        members_of(run, played, folder),
        played,
        training=run.newest(TrainingGamesRow, MOST_ROWS),
        metrics=curves(run, shown_updates(run)),
        events=run.newest(EventRow, MOST_EVENTS),
        matchmaking=run.newest(MatchmakingRow, MOST_ROWS),
        notices=[(row.update, row.sentence) for row in run.newest(NoticeRow, MOST_EVENTS)],
    )


def shown_updates(run: RunTables) -> list[int]:
    """Return the updates whose numbers are shown: all of them, or some at even steps.

    Numbers that are written seldom stand at evaluations and events, so those are among them.
    """
    span = run.updates()
    if span is None:
        return []
    first, last = span
    if last - first < MOST_UPDATES + MOST_MARKED:
        return list(range(first, last + 1))
    # Steps are powers of two, so that runs of about the same length show the same updates.
    step = _step(last - first, MOST_UPDATES)
    marked = run.marked_updates()
    chosen = {*range(-(-first // step) * step, last, step)}
    chosen |= {*marked[:: _step(len(marked), MOST_MARKED)]}
    return sorted({*chosen, first, last, *marked[-1:]})


def _step(number: int, most: int) -> int:
    return 1 << max(0, (number - 1) // most).bit_length()


def curves(run: RunTables, updates: list[int]) -> dict[str, tuple[tuple[int, float], ...]]:
    """Return the numbers of some updates as series, by name."""
    points: dict[str, list[tuple[int, float]]] = {}
    for update, name, value in run.metrics_at(updates):
        points.setdefault(name, []).append((update, value))
    return {name: tuple(series) for name, series in sorted(points.items())}
