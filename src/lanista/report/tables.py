"""An experiment's one table, as cells and as Markdown. Knows nothing of where numbers come from."""

from __future__ import annotations

from collections.abc import Sequence

from lanista.report.curves import Summary
from lanista.report.plot import short
from lanista.text import markdown_cell

UNKNOWN = "—"
X_LABELS = {
    "decisions": "decisions",
    "main_decisions": "of the main",
    "cpu_seconds": "CPU seconds",
    "wall_seconds": "seconds",
}


def summary_columns(x: Sequence[str]) -> list[str]:
    """Return the heads of the columns; `x` are the names of what is spent."""
    spent = [X_LABELS.get(name, name) for name in x]
    return ["arm", "seeds", "median", "interval", "worst", "last third", "rising", *spent]


def summary_row(summary: Summary, x: Sequence[str]) -> list[str]:
    """Return an arm's cells."""
    one = summary.seeds == 1
    interval = (
        UNKNOWN if one else f"{summary.low:.3f} to {summary.high:.3f} ({summary.coverage:.0%})"
    )
    spent = [_amount(summary.spent[name]) if name in summary.spent else UNKNOWN for name in x]
    return [
        summary.arm,
        str(summary.seeds),
        f"{summary.median:.3f}",
        interval,
        f"{summary.worst:.3f}",
        f"{summary.change:+.3f}",
        "yes" if summary.rising else "no",
        *spent,
    ]


def empty_row(arm: str, x: Sequence[str]) -> list[str]:
    """Return the cells of an arm of which nothing is known yet."""
    return [arm, "0", *[UNKNOWN] * (5 + len(x))]


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, its first column words and the others numbers."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    cells = [" | ".join(markdown_cell(cell) for cell in line) for line in lines]
    return "".join(f"| {line} |\n" for line in cells)


def _amount(value: float) -> str:
    return f"{value:.1f}" if value < 100 else short(round(value))
