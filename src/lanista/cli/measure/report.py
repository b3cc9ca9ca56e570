"""`lanista report RUN`: what came of a run, as numbers, exports and one page for people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import optional
from lanista.cli.common.outputs import REPORT, Page, Writes
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.report.run_record import RunRecord

_MOST = 20
"""Players in the table on the terminal; summary.json has all."""


@dataclass(frozen=True)
class Report:
    """Write a run's report: numbers, exports, and one page that opens offline.

    It can be made while the run goes on.
    """

    run_folder: Annotated[
        tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="RUN", help_behavior_hint="")
    ] = None
    """A run's folder, a policy file with its .run folder beside it, a pipeline's folder, the
    policy folder of a live bot, or what `lanista live run` made."""
    output_dir: Annotated[Path | None, optional("FOLDER"), Writes(REPORT)] = None
    """Where the files go; RUN/report unless given."""
    league_state: Annotated[Path | None, optional("FILE")] = None
    """Report on exported files instead: league_state.json."""
    matches: Annotated[Path | None, optional("FILE")] = None
    """The matches.jsonl that was exported with it."""
    output: Annotated[Path | None, optional("FILE"), Writes(Page())] = None
    """Where the numbers of exported files go; report.html is written beside it."""
    anchor: Annotated[str | None, optional("PLAYER")] = None
    """Whose Bradley–Terry rating is 0; the mean of all unless given."""

    def run(self) -> int:
        """Write the report, print the best players and the paths, and return 0."""
        exported = (self.league_state, self.matches, self.output)
        if self.run_folder is None:
            if None in exported or self.output_dir is not None:
                raise LanistaError(
                    "Name a RUN, or give --league-state, --matches and --output together."
                )
            return self._from_exports(*(path for path in exported if path is not None))
        if any(exported):
            raise LanistaError(
                "A RUN and exported files cannot be reported on at once; leave out RUN, or "
                "--league-state, --matches and --output."
            )
        return self._from_run(self.run_folder)

    def _from_run(self, path: Path) -> int:
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.report import exports
        from lanista.report.reading import find_run, policies_in, read_run

        if (policies := policies_in(path)) is not None:
            return self._from_policies(policies, self.output_dir or path / "report")
        folder = find_run(path)
        record = read_run(folder)
        output = self.output_dir or (path if path.is_dir() else folder) / "report"
        refuse_unwritable_folder("--output-dir", output)
        # Only a pipeline's folder holds an evaluation that is surely of this run's policy.
        pipeline = path if path.is_dir() and folder != path else None
        last = None if pipeline is None else pipeline / "evaluation.json"
        summary = exports.write_report(
            record, output, anchor=self.anchor, evaluation=last, pipeline=pipeline
        )
        names = (exports.SUMMARY, exports.LEAGUE_STATE, exports.MATCHES, exports.REGISTRY)
        say(record, summary, [output / name for name in (*names, exports.PAGE)])
        return 0

    def _from_policies(self, path: Path, output: Path) -> int:
        """Report on a live bot's policy folder."""
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.report.live_record import is_live, read_live
        from lanista.report.pages.live_page import headline, write_live_report

        if self.anchor is not None:
            raise LanistaError(
                f"--anchor is {self.anchor!r}, and a live bot's policies have no ratings; leave "
                "it out."
            )
        if not is_live(path):
            raise LanistaError(
                f"No learner has run on {str(path)!r} yet; run `lanista learn --spool SPOOL "
                f"--policy {path}`, and see `lanista policy list {path}` till then."
            )
        refuse_unwritable_folder("--output-dir", output)
        record = read_live(path)
        for sentence in headline(record):
            print(sentence)
        for written in write_live_report(record, output):
            print(written)
        return 0

    def _from_exports(self, state: Path, matches: Path, output: Path) -> int:
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.report import exports
        from lanista.report.reading import read_exports
        from lanista.report.summary import summarise

        record = read_exports(state, matches)
        refuse_unwritable("--output", output)
        summary = summarise(record, anchor=self.anchor)
        exports.write_summary(record, summary, output)
        say(record, summary, [output, output.parent / exports.PAGE])
        return 0


def say(record: RunRecord, summary: dict[str, Any], paths: list[Path]) -> None:
    """Print who is best, what is weak, and where the files are."""
    from lanista.cli.common.table import console, table
    from lanista.report.pages.strength import not_linked

    out = console()
    out.print(
        f"{summary['run']}: {summary['game'] or 'unknown game'}, {summary['updates']:,} updates, "
        f"{summary['matches']:,} matches of fixed players, "
        f"{summary['training_matches']:,} training games"
    )
    if summary["not_rated"]:
        out.print(summary["not_rated"])
    else:
        rows = rating_rows(summary)[:_MOST]
        columns = ("player", "rating [95 %]", "Elo", "openskill", "games")
        out.print(table(columns, rows))
        if more := len(summary["players"]) - len(rows):
            out.print(f"and {more} more in summary.json")
        if sentence := not_linked(summary):
            out.print(sentence)
        out.print(unexplained_line(summary["unexplained"]))
    for learner in record.learners:
        if line := lowest_line(learner, summary):
            out.print(line)
    for finding in summary["findings"]:
        out.print(f"{finding['name']}: {finding['sentence']} {finding['remedy']}")
    for path in paths:
        print(path)


def rating_rows(summary: dict[str, Any]) -> list[list[str]]:
    """Return a line for each player, best first; of a learner's states only the newest."""
    newest = {
        row["learner"]: row["player"] for row in summary["players"] if row["kind"] == "learner"
    }
    states = {row["player"] for row in summary["players"] if row["kind"] == "learner"}
    left_out = states - set(newest.values())
    elo, skill = summary["elo"]["ratings"], {row["player"]: row for row in summary["openskill"]}
    rows = []
    for row in summary["bradley_terry"]["ratings"]:
        if row["player"] in left_out or not row["linked"]:
            continue
        name, mine = row["player"], skill[row["player"]]
        rating = f"{row['value']:+.0f} [{row['low']:+.0f}, {row['high']:+.0f}]"
        openskill = f"{mine['mu']:.1f} ± {mine['sigma']:.1f}"
        rows.append([name, rating, f"{elo[name]:.0f}", openskill, f"{row['n']:,.0f}"])
    return rows


def unexplained_line(missed: dict[str, float]) -> str:
    """Return one line about what ratings miss."""
    return (
        f"unexplained by ratings: {missed['share']:.1%} of results; chance alone would leave "
        f"{missed['by_chance']:.1%}"
    )


def lowest_line(learner: str, summary: dict[str, Any]) -> str:
    """Return where a learner's newest weights do worst; nothing where that is unknown."""
    from lanista.report.pages.results import estimate, said_estimate

    for key, whom in (("exploitability_proxy", "past players"), ("lowest_over_pool", "all")):
        row = summary[key].get(learner)
        if row is not None:
            rate, score = row["win_rate"], said_estimate(estimate(row["score"]))
            return (
                f"lowest win rate of {row['player']} over {whom}: {rate['value']:.3f} "
                f"[{rate['low']:.3f}, {rate['high']:.3f}] against {row['opponent']}, "
                f"{row['n']:,} games; with draws as half, a score of {score}"
            )
    return ""
