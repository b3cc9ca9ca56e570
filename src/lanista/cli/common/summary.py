"""How results look: tables printed for people, JSON for programs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanista.cli.common import outputs
from lanista.cli.common.table import cell, console, interval, number, rate, table

if TYPE_CHECKING:
    from lanista.evaluation import CrossTable, Differences, Estimate, Standing, Summary
    from lanista.evaluation.lineup import Lineup


def say(lineup: Lineup, summary: Summary) -> None:
    """Print who won how often and what that can and cannot show."""
    out = console()
    seats = len(lineup.players)
    unit = "pairs of seats swapped" if seats == 2 else f"rotations of {seats} seats"
    out.print(
        f"{lineup.game}: {summary.matches:,} matches, {summary.units:,} {unit} on the same deal, "
        f"seed {lineup.seed}\n[95 % intervals]: score and margin over these units, wins/n Wilson's"
    )
    columns = ["player", "wins", "draws", "losses", "score", "wins/n", "margin"]
    if seats > 2:
        columns += ["first place", "place"]
    rows = [_row(standing, seats) for standing in summary.standings]
    out.print(table(columns, rows))
    if summary.versus:
        pairs = [(v.name, v.other, interval(v.score)) for v in summary.versus]
        out.print(table(("player", "against", "score"), pairs, left=2))
    if summary.left_out:
        out.print(f"left out: {summary.left_out:,} matches of deals with one broken off")
    out.print(first_seat(summary.first_seat))
    smallest = [s.smallest_difference for s in summary.standings if s.smallest_difference]
    out.print(
        f"smallest difference this could show: {number(max(smallest, default=None))} of score "
        "(two-sided 95 %, power 80 %)"
    )
    out.print(speed(summary.decisions, summary.wall_seconds, summary.cpu_seconds))


def say_cross_table(lineup: Lineup, result: CrossTable, matches_a_pair: int) -> None:
    """Print the cross table, best bot first."""

    out = console()
    out.print(
        f"{lineup.game}: {matches_a_pair:,} matches a pair, half in either seat on the same deals, "
        f"seed {lineup.seed}\nscore of the row against the column, ± half of the 95 % interval"
    )
    columns = ["", "bot", "mean", *(str(i + 1) for i in range(len(result.names)))]
    rows = [
        [str(i + 1), name, cell(result.mean[i]), *_crossed(i, list(map(cell, result.against[i])))]
        for i, name in enumerate(result.names)
    ]
    out.print(table(columns, rows, left=2))
    if result.left_out:
        out.print(f"left out: {result.left_out:,} matches of deals with one broken off")
    out.print(first_seat(result.first_seat))
    out.print(
        f"smallest difference a pair could show: {number(result.smallest_difference)} of score "
        "(two-sided 95 %, power 80 %)"
    )
    out.print(speed(result.decisions, result.wall_seconds, result.cpu_seconds))


def say_differences(differences: Differences) -> None:
    """Print how often each two bots choose differently."""

    out = console()
    out.print(
        "\nShare of decisions in which two bots choose differently, over "
        f"{differences.decisions:,} decisions with a choice"
    )
    columns = ["", "bot", *(str(i + 1) for i in range(len(differences.names)))]
    rows = [
        [str(i + 1), name, *_crossed(i, list(map(cell, differences.rate[i])))]
        for i, name in enumerate(differences.names)
    ]
    out.print(table(columns, rows, left=2))


def first_seat(estimate: Estimate | None) -> str:
    """Return one line about what sitting first is worth."""
    return f"first seat: scores {interval(estimate)}; 0.5 is no advantage"


def speed(decisions: int, wall_seconds: float, cpu_seconds: float) -> str:
    """Return one line about how fast it went."""
    return (
        f"decisions: {decisions:,}; {rate(decisions, wall_seconds)} a second, "
        f"{rate(decisions, cpu_seconds)} a CPU second"
    )


def write_json(path: Path, command: str, lineup: Lineup, summary: Any) -> None:
    """Write a summary with all it takes to play it again."""
    spec = lineup.spec
    value = {
        "game": spec.name,
        "settings": dict(spec.settings),
        "options": dict(lineup.options),
        "rules_version": spec.facts.rules_version,
        "observation_version": spec.facts.observation_version,
        "seed": lineup.seed,
        "players": list(lineup.players),
        **asdict(summary),
    }
    outputs.write_json(path, command, value)


def _row(standing: Standing, seats: int) -> list[str]:
    row = [
        standing.name,
        f"{standing.wins:,}",
        f"{standing.draws:,}",
        f"{standing.losses:,}",
        interval(standing.score, between="\n"),
        interval(standing.win_rate, between="\n"),
        interval(standing.margin, 2, signed=True, between="\n"),
    ]
    if seats == 2:
        return row
    first_place = interval(standing.first_place, between="\n")
    return [*row, first_place, interval(standing.place, 2, between="\n")]


def _crossed(own: int, cells: list[str]) -> list[str]:
    """Leave a row's own column blank: nobody meets itself, which is not unknown."""
    return [*cells[:own], "", *cells[own + 1 :]]
