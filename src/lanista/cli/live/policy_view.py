"""What `lanista policy list` prints: who plays, what each policy scored, and how it came about."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lanista.cli.common.table import UNKNOWN, interval, table
from lanista.live.promotion.folder_view import FolderView, PolicyLine
from lanista.text import printable

if TYPE_CHECKING:
    from rich.console import Console

_SHORT = 12
_LAST_CHANGES = 30


def show(out: Console, view: FolderView) -> None:
    """Print who plays, the policies, and the last changes."""
    out.print(f"{printable(view.folder, 300)}: {_who(view)} (change {view.serial})")
    out.print(
        table(
            ["policy", "", "step", "KiB", "games", "wins", "draws", "losses", "cut off", "score"],
            [_row(policy) for policy in view.policies],
            left=2,
        )
    )
    if any(policy.games is None for policy in view.policies):
        out.print("No learner has run here, so games and scores are not known.")
    shown = view.history[-_LAST_CHANGES:]
    rows = [
        [
            str(one.serial),
            _when(one.at),
            one.stable[:_SHORT],
            " ".join(map(_short, (one.candidate, *one.others))),
            printable(one.reason, 200),
            f"{one.share:g}" if one.candidate else UNKNOWN,
        ]
        for one in shown
    ]
    columns = ["change", "time", "stable", "candidate", "reason", "share"]
    out.print(table(columns, rows, left=5))
    if len(shown) < len(view.history):
        out.print(f"and {len(view.history) - len(shown)} changes before; --json has them all")


def _who(view: FolderView) -> str:
    stable, candidate = view.stable[:_SHORT], _short(view.candidate)
    if view.candidate is None:
        return f"{stable} plays alone"
    if view.watched:
        return (
            f"{stable} is new and watched; {candidate}, which was stable before, plays "
            f"{view.share:.0%} of the games to compare it with"
        )
    if view.others:
        names = ", ".join(map(_short, (view.candidate, *view.others)))
        own = view.share / (1 + len(view.others))
        return f"{stable} plays, and the candidates {names} in {own:.0%} of the games each"
    return f"{stable} plays, and the candidate {candidate} in {view.share:.0%} of the games"


def _row(policy: PolicyLine) -> list[str]:
    has_counts = policy.games is not None
    counts = (policy.wins, policy.draws, policy.losses, policy.cut_off)
    return [
        policy.digest[:_SHORT],
        ", ".join(word for word in (policy.role, policy.trouble) if word),
        UNKNOWN if policy.step is None else str(policy.step),
        UNKNOWN if policy.size is None else f"{policy.size / 1024:,.0f}",
        f"{policy.games:,}" if has_counts else UNKNOWN,
        *(f"{count:,}" if has_counts else UNKNOWN for count in counts),
        interval(policy.score),
    ]


def _short(digest: str | None) -> str:
    return UNKNOWN if digest is None else digest[:_SHORT]


def _when(at: float | None) -> str:
    return UNKNOWN if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
