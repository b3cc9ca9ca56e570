"""The table of docs/results/strength.md#untuned-games, from the lines of the command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from bench.untuned.rows import ROWS, Row
from bench.untuned.verdict import flags_of

Line = dict[str, Any]


def page(lines: Sequence[Line]) -> str:
    """Return a line for each game and, under it, how many were learned."""
    by_row: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_row[line["row"]].append(line)
    made = [(row, sorted(by_row[row.name], key=_seed)) for row in ROWS if row.name in by_row]
    learned = sum(not flags_of(line) for line in lines)
    return "\n".join([
        "| game | kind | what came out | on the way | decisions | CPU s | what went wrong |",
        "|---|---|---|---|---|---|---|",
        *[_row_line(row, row_lines) for row, row_lines in made],
        "",
        f"{learned} of {len(lines)} runs of {len(made)} games without a fault.",
    ])  # fmt: skip


def _seed(line: Line) -> int:
    return int(line["seed"])


def _row_line(row: Row, lines: Sequence[Line]) -> str:
    cells = [
        f"{row.name} (Python)" if row.game.endswith(".py") else row.name,
        row.kind,
        "; ".join(_outcome(row, line) for line in lines),
        "; ".join(_course(line) for line in lines),
        "; ".join(f"{line.get('decisions', 0):,}" for line in lines),
        "; ".join(f"{line['cpu_seconds']:.0f}" if "cpu_seconds" in line else "—" for line in lines),
        "; ".join(", ".join(flags_of(line)) or "—" for line in lines),
    ]
    return "| " + " | ".join(cells) + " |"


def _outcome(row: Row, line: Line) -> str:
    """Return what the policy was measured at, the deciding number first."""
    if line["exit"]:
        return "a sentence" if row.refused and not line.get("crashed") else "nothing"
    measured, words = line["measured"], []
    if "nash_conv" in measured:
        words.append(
            f"NashConv {measured['nash_conv']:.3f} of uniform's {measured['uniform_nash_conv']:.3f}"
        )
    if "together" in measured:
        words.append(
            f"paid {_number(measured['together'])}, random {_number(measured['random_together'])}"
        )
    if "gain" in measured and row.measure == "gain":
        words.append(f"gains {_number(measured['gain'])}")
    words += [
        f"{name} {_number(measured[name])}"
        for name in measured
        if name == "random" or name.startswith("mcts")
    ]
    return ", ".join(words)


def _number(estimate: Mapping[str, float | None] | None) -> str:
    if estimate is None:
        return "—"
    if estimate["low"] is None or estimate["high"] is None:
        return f"{estimate['value']:.3g}"
    return f"{estimate['value']:.3g} [{estimate['low']:.3g}, {estimate['high']:.3g}]"


def _course(line: Line) -> str:
    """Return four looks of the run's own evaluations, evenly over it."""
    curves = line.get("curve", {})
    values = [value for _, value in curves.get("nash_conv") or curves.get("random") or ()]
    if not values:
        return "—"
    last = len(values) - 1
    return " ".join(f"{values[round(last * at / 3)]:.2f}" for at in range(4))
