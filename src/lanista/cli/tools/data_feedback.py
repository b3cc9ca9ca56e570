"""How a check of live feedback looks in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanista.cli.common.table import table
from lanista.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from lanista.data.datasets import Broken, Summary
    from lanista.data.feedback import FeedbackSummary

_MOST_BROKEN = 100
_MOST_STREAMS = 50
_MOST_UNLINKED = 10


def show_feedback(console: Console, summary: FeedbackSummary, replays: Summary | None) -> None:
    """Print what streams and manifests hold, and what links them."""
    console.print()
    for sentence in summary.notices:
        console.print(sentence, soft_wrap=True)
    if summary.folder is not None:
        console.print(
            f"{printable(summary.folder, 300)}: {len(summary.streams)} sessions, "
            f"{summary.matches} matches, {summary.decisions} decisions",
            soft_wrap=True,
        )
        _show_streams(console, summary)
    _show_outcomes(console, summary)
    for sentence in _apart(summary, replays):
        console.print(sentence, soft_wrap=True)
    show_broken(console, summary.broken)


def show_broken(console: Console, broken: Sequence[Broken]) -> None:
    """Print files that were refused, each with its reason."""
    console.print(f"broken files: {len(broken)}")
    for one in broken[:_MOST_BROKEN]:
        line = f"  {printable(one.file)}: {printable(one.reason, 400)}"
        console.print(line, soft_wrap=True)
    if len(broken) > _MOST_BROKEN:
        console.print(f"  and {len(broken) - _MOST_BROKEN} more; --json lists them all")
    if broken:
        console.print("Broken files were left as they are and count for nothing above.")


def _show_streams(console: Console, summary: FeedbackSummary) -> None:
    columns = ("session", "game", "player", "seen by", "extras")
    counts = ("matches", "decisions", "with outcome")
    rows = [
        (
            printable(stream.session, 40),
            printable(stream.game, 40),
            printable(stream.player, 40),
            stream.source,
            printable(", ".join(stream.extras), 60),
            str(stream.matches),
            str(stream.decisions),
            f"{stream.linked} of {stream.trajectories}",
        )
        for stream in summary.streams[:_MOST_STREAMS]
    ]
    if rows:
        console.print(table(columns + counts, rows, left=5))
    if len(summary.streams) > _MOST_STREAMS:
        console.print(f"  and {len(summary.streams) - _MOST_STREAMS} more sessions")
    for stream in summary.streams:
        if stream.unknown:
            names = ", ".join(f"{name} ×{count:,}" for name, count in stream.unknown.items())
            console.print(
                f"  {printable(stream.file)}: the game has no place for {printable(names, 300)}",
                soft_wrap=True,
            )
        if stream.unfinished:
            console.print(
                f"  {printable(stream.file)}: its last line has no end and was left out",
                soft_wrap=True,
            )


def _show_outcomes(console: Console, summary: FeedbackSummary) -> None:
    if summary.reports is not None:
        console.print(
            f"{printable(summary.reports, 300)}: {summary.manifests} manifests, "
            f"{summary.outcomes} outcomes",
            soft_wrap=True,
        )
    for file in summary.unfinished_manifests:
        console.print(f"  {printable(file)}: its last line has no end and was left out")
    if summary.folder is None:
        console.print("No folder of feedback was given, so no outcome is linked to a match.")
        return
    console.print(f"linked: {summary.linked} outcomes; {len(summary.unlinked)} have no feedback")
    for sentence in summary.unlinked[:_MOST_UNLINKED]:
        console.print(f"  {sentence}", soft_wrap=True)
    if len(summary.unlinked) > _MOST_UNLINKED:
        console.print(f"  and {len(summary.unlinked) - _MOST_UNLINKED} more")


def _apart(summary: FeedbackSummary, replays: Summary | None) -> list[str]:
    """Say which games and settings cannot be trained on together."""
    kinds = {
        (stream.game, str(sorted(stream.settings.items()))): None for stream in summary.streams
    }
    if replays is not None:
        for tally in replays.games.values():
            kinds[tally.game, str(sorted(tally.settings.items()))] = None
    if len(kinds) < 2:
        return []
    return [
        f"These are of {len(kinds)} games or settings, and one policy learns from one of them "
        "only; keep them in folders apart."
    ]
