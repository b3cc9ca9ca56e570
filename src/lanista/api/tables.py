"""Results as tables: rows for programs, aligned text for people. Knows no result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lanista.evaluation.score import Estimate

Row = dict[str, Any]
"""One line of a table: `pandas.DataFrame(result.rows())` takes a list of them."""


class Table:
    """A result that is a table: `rows()` for programs, its `repr` for people."""

    def headline(self) -> str:
        """Return what the table is about."""
        raise NotImplementedError

    def rows(self) -> list[Row]:
        """Return the lines of the table, each a dict of plain values."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join([self.headline(), *aligned(self.rows())])


def estimate_columns(name: str, estimate: Estimate | None) -> Row:
    """Return an estimate as three columns."""
    if estimate is None:
        return {name: None, "low": None, "high": None}
    return {name: estimate.value, "low": estimate.low, "high": estimate.high}


def aligned(rows: Sequence[Row]) -> Iterable[str]:
    """Give the lines of a table in plain text."""
    if not rows:
        return
    names = list(rows[0])
    cells = [names, *([_shown(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(names))]
    for line in cells:
        first, *rest = (cell for cell in line)
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *numbers])


def _shown(value: Any) -> str:
    if value is None:
        return "—"
    return f"{value:.3f}" if isinstance(value, float) else f"{value}"
