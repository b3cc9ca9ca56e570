"""`lanista policy ready`: whether the stable policy of a folder can be relied on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import number, optional
from lanista.cli.common.outputs import Writes, numbers_of, write_json
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.live.diagnosis.drift import Drift
    from lanista.live.diagnosis.evidence import Book
    from lanista.live.learner.ledger import GameRow
    from lanista.live.promotion.acceptance import Demands, Readiness
    from lanista.nets.files.policy_format import PolicyHeader

_ALL = 1 << 62
_MOST_DRIFT_GAMES = 100
"""Games of each side that drift is looked for in."""


@dataclass(frozen=True)
class Ready:
    """Say whether the stable policy can be relied on: games, score, calibration, drift, who played.

    Each is held against a stated rule. Ends with 0 if all of them hold, with 1 otherwise.
    """

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """The policy folder."""
    spool: Annotated[Path | None, optional("DIR")] = None
    """The spool with the games' files; the one last learned from unless given."""
    games: Annotated[int, number(1000)] = 1000
    """How many of the newest games count."""
    least_games: Annotated[int, number(200)] = 200
    """Games with a result that it must have played."""
    least_score: Annotated[float, tyro.conf.arg(metavar="SCORE")] = 0.5
    """What the lower 95 % bound of its score must reach; wins count 1, draws ½."""
    most_missing: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 0.05
    """Share of its games that may lack a result."""
    most_error: Annotated[float, tyro.conf.arg(metavar="ERROR")] = 0.1
    """What the lower 95 % bound of the calibration error may be, in ranges of the returns."""
    most_drift: Annotated[float, tyro.conf.arg(metavar="DISTANCE")] = 0.25
    """How far no number of the observations may surely have drifted, 0 to 1."""
    leave_out: Annotated[tuple[str, ...], optional("CHECK ...")] = ()
    """Checks that do not count: games, results, score, calibration, drift, played."""
    json_file: Annotated[
        Path | None, optional("FILE", name="json"), Writes(numbers_of("policy ready"))
    ] = None
    """Also write the report to this file."""

    def run(self) -> int:
        """Print the report and return the exit code."""
        from lanista.cli.common.paths import refuse_file, refuse_unwritable

        if self.games < 1:
            raise LanistaError(f"--games is {self.games}; give 1 or more.")
        if self.spool is not None and not self.spool.is_dir():
            raise LanistaError(f"There is no folder {str(self.spool)!r}; give --spool a spool.")
        refuse_file(self.folder)
        demands = self._demands()
        if self.json_file is not None:
            refuse_unwritable("--json", self.json_file)
        readiness = ready(self.folder, self.spool, demands, games=self.games)
        if self.json_file is not None:
            report = {**asdict(readiness), "ready": readiness.ready, "demands": asdict(demands)}
            write_json(self.json_file, "policy ready", report)
        _show(readiness, self.games)
        return 0 if readiness.ready else 1

    def _demands(self) -> Demands:
        from lanista.live.promotion.acceptance import Demands

        try:
            return Demands(
                least_games=self.least_games,
                most_missing=self.most_missing,
                least_score=self.least_score,
                most_error=self.most_error,
                most_drift=self.most_drift,
                leave_out=self.leave_out,
            )
        except LanistaError as error:
            # A demand is named as in Python; whoever typed an option looks for that.
            name, _, rest = str(error).partition(" ")
            if name not in Demands.__dataclass_fields__:
                raise
            raise LanistaError(f"--{name.replace('_', '-')} {rest}") from error


def ready(folder: Path, spool: Path | None, demands: Demands, *, games: int = 1000) -> Readiness:
    """Return the report on the stable policy of a folder."""
    from lanista.evaluation.score import mean_score, wilson
    from lanista.live.diagnosis.evidence import look_at_policy, spool_of
    from lanista.live.promotion.acceptance import assess, played_since, scores_of

    service = look_at_policy(folder, _ALL)
    if service.pointer is None or service.trouble:
        raise LanistaError(service.trouble)
    if service.book is None:
        raise LanistaError(
            f"No learner ever worked on {str(folder)!r}, so no games are known; run `lanista "
            "learn`."
        )
    stable = service.pointer.stable
    newest = service.book.rows[-games:]
    rows = [row for row in newest if row.policy == stable]
    scores = scores_of(rows)
    place = spool or spool_of(service)
    assert service.header is not None
    return assess(
        stable,
        rows,
        played_since(newest, service.pointer, service.history),
        score=mean_score(scores),
        win_rate=wilson(int((scores == 1).sum()), len(scores)),
        drift=_drift(place, service.book, stable, service.header, demands) if place else None,
        demands=demands,
    )


def _drift(
    spool: Path, book: Book, stable: str, header: PolicyHeader, demands: Demands
) -> Drift | None:
    """Compare the games learned from until the policy was made with its own games since."""
    from lanista.live.diagnosis.doctor import seen_in
    from lanista.live.diagnosis.drift import drift
    from lanista.live.files.recorded_games import column_names, read_archived

    first_update = book.update_by_policy.get(stable)
    if first_update is None:
        return None
    before = [r for r in book.rows if r.use == "learned" and r.update_number <= first_update]
    since = [r for r in book.rows if r.policy == stable and r.update_number > first_update]
    sides = [
        seen_in(tuple(read_archived(spool, _contents(rows), header))) for rows in (before, since)
    ]
    if sides[0] is None or sides[1] is None:
        return None
    return drift(
        sides[0].values,
        sides[0].game,
        sides[1].values,
        sides[1].game,
        names=column_names(header, header.observation.length),
        least=demands.most_drift,
    )


def _contents(rows: list[GameRow]) -> list[str]:
    return [row.content for row in rows[-_MOST_DRIFT_GAMES:]]


def _show(readiness: Readiness, games: int) -> None:
    from lanista.cli.common.table import UNKNOWN, console, table

    out = console()
    out.print(
        f"policy {readiness.policy[:12]}, of the newest {games:,} games: {readiness.wins:,} won, "
        f"{readiness.draws:,} drawn, {readiness.losses:,} lost, {readiness.missing:,} "
        "without a result"
    )
    rate = readiness.win_rate
    if rate is not None and rate.low is not None and rate.high is not None:
        out.print(f"win rate {rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]")
    words = {True: "holds", False: "fails", None: UNKNOWN}
    rows = [
        [check.name, check.found, check.rule, words[check.holds] if check.counts else "left out"]
        for check in readiness.checks
    ]
    out.print(table(("check", "found", "rule", ""), rows, left=4))
    out.print("ready" if readiness.ready else "not ready")
