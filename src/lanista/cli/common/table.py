"""How numbers and tables look in a terminal. Knows nothing of how they were come by."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from lanista import terminal
from lanista.text import without_controls

if TYPE_CHECKING:
    from rich.console import Console

    from lanista.evaluation.score import Estimate

UNKNOWN = "—"
_WIDEST = 160


def console() -> Console:
    """Return standard output; a line too long for the terminal wraps there, and loses nothing."""
    width = terminal.console().width if sys.stdout.isatty() else 0
    return terminal.console(width=max(width, _WIDEST), soft_wrap=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Table:
    """Return a table whose first `left` columns are words and whose others are numbers."""
    result = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for i, column in enumerate(columns):
        result.add_column(
            Text(without_controls(column)),
            justify="left" if i < left else "right",
            no_wrap=i >= left,
        )
    for row in rows:
        result.add_row(*(Text(without_controls(cell)) for cell in row))
    return result


def interval(
    estimate: Estimate | None, digits: int = 3, *, signed: bool = False, between: str = " "
) -> str:
    """Return `0.512 [0.498, 0.526]`, with dashes for what is unknown."""
    if estimate is None:
        return UNKNOWN
    shape = f"{'+' if signed else ''}.{digits}f"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:{shape}}{between}[{UNKNOWN}]"
    bounds = f"[{estimate.low:{shape}}, {estimate.high:{shape}}]"
    return f"{estimate.value:{shape}}{between}{bounds}"


def cell(estimate: Estimate | None) -> str:
    """Return an estimate in two short lines: its value, and half the interval's width."""
    if estimate is None:
        return UNKNOWN
    half = UNKNOWN if estimate.half is None else f"{estimate.half:.3f}"
    return f"{estimate.value:.3f}\n±{half}"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number, or a dash."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def rate(count: int, seconds: float) -> str:
    """Return how many there were a second, short."""
    if seconds <= 0:
        return UNKNOWN
    value = count / seconds
    for unit, size in (("million", 1e6), ("thousand", 1e3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value:.1f}"
