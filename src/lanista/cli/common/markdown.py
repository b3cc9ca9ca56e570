"""Results as Markdown, for pages. Knows nothing of how they were come by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanista.cli.common.table import UNKNOWN, cell, interval
from lanista.text import markdown_cell

if TYPE_CHECKING:
    from lanista.evaluation.gauntlet import Gauntlet
    from lanista.evaluation.roundrobin import CrossTable
    from lanista.exploiters.ceilings import Ceiling


def rows_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; names in it are text, whatever signs they hold."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(markdown_cell(cell) for cell in line)} |\n" for line in lines)


def bouts(gauntlet: Gauntlet, ceilings: Mapping[str, Ceiling]) -> str:
    """Return how a player did against each, beside what the best responses to each come to."""
    columns = ["against", "n", "wins", "draws", "losses", "wins/n", "score"]
    many = any(bout.standing.first_place for bout in gauntlet.bouts)
    columns += ["first place"] * many
    if ceilings:
        columns += ["best response", "what it is", "distance"]
    rows = []
    for bout in gauntlet.bouts:
        standing = bout.standing
        counts = [standing.matches, standing.wins, standing.draws, standing.losses]
        row = [bout.opponent, *(f"{count:,}" for count in counts)]
        row += [interval(standing.win_rate), interval(standing.score)]
        row += [interval(standing.first_place)] * many
        rows.append(row + (below(ceilings.get(bout.opponent), bout.standing) if ceilings else []))
    return rows_of(columns, rows)


def below(ceiling: Ceiling | None, standing: Any) -> list[str]:
    """Return the cells about a ceiling: its score, what it may be called, the distance to it."""
    from lanista.exploiters.ceilings import distance

    if ceiling is None:
        return [UNKNOWN] * 3
    far = None if standing.score is None else distance(ceiling.score, standing.score)
    called = f"{ceiling.called}, {ceiling.responses} × {ceiling.decisions:,}"
    return [interval(ceiling.score), called, interval(far, signed=True)]


def crossed(result: CrossTable) -> str:
    """Return a cross table: score of the row against the column, ± half of the 95 % interval."""
    columns = ["", "mean", *result.names]
    rows = []
    for i, name in enumerate(result.names):
        cells = [cell(estimate).replace("\n", " ") for estimate in result.against[i]]
        cells[i] = ""
        rows.append([name, cell(result.mean[i]).replace("\n", " "), *cells])
    return rows_of(columns, rows)


def curves(record: Mapping[str, Any]) -> str:
    """Return what responses to one player earned on their way, on the deals of the selection.

    Then what the chosen one came to on others.
    """
    from lanista.evaluation.score import Estimate

    rows = []
    for number, response in enumerate(record["responses"], 1):
        for point in response["curve"]:
            earned = Estimate(point["value"], point["low"], point["high"], 0)
            rows.append([str(number), f"{point['decisions']:,}", interval(earned)])
    table = rows_of(["response", "decisions", record["reading"]["unit"]], rows)
    counts = [record[name] for name in ("wins", "draws", "losses")]
    won, score = (Estimate(**record[name]) for name in ("win_rate", "score"))
    measured = [f"{count:,}" for count in (sum(counts), *counts)]
    measured += [interval(won), interval(score)]
    columns = ["n", "wins", "draws", "losses", "wins/n", "score"]
    return f"{table}\n{rows_of(columns, [measured])}"
