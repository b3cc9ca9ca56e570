"""Reads a run's record from its folder, or from the files it was exported to.

A run's database is opened read-only and read in one transaction, so that a report can be made
while the run goes on. Whatever cannot be read is refused in one sentence. Knows nothing of what
is said about a run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.foreign import is_digest, refuse_unsafe_folder
from lanista.live.files.policy_folder import POINTER
from lanista.report.run_record import (
    Lineup,
    Match,
    Member,
    RunRecord,
    Series,
    compute_of,
)
from lanista.runs.layout import CONFIG, DATABASE, POLICIES
from lanista.runs.metric_names import with_current_names
from lanista.runs.reader import RunReader, RunTables, reading_run
from lanista.runs.schema import (
    EventRow,
    LineupRow,
    MatchmakingRow,
    MatchRow,
    MetricRow,
    NoticeRow,
    PlayerRow,
    TrainingGamesRow,
)
from lanista.yaml_text import parse_yaml, text_of

EXPORT_VERSION = 1
"""Of league_state.json."""


def find_run(path: Path) -> Path:
    """Return the run folder that `path` means: itself, a policy file's, or a pipeline's."""
    if path.is_file() and (beside := path.parent / f"{path.name}.run").is_dir():
        refuse_unsafe_folder(beside)
        return beside
    if not path.is_dir():
        raise LanistaError(
            f"There is no run at {str(path)!r}; name a run's folder, or a policy file with its "
            ".run folder beside it."
        )
    refuse_unsafe_folder(path)
    if (path / DATABASE).is_file():
        return path
    inside = [folder for folder in _inside(path) if (folder / DATABASE).is_file()]
    leagues = [folder for folder in inside if folder.name.startswith("league")]
    if len(inside) == 1 or leagues:
        return (leagues or inside)[0]
    if inside:
        names = ", ".join(folder.name for folder in inside)
        raise LanistaError(f"{path} holds several runs ({names}); name one of them.")
    raise LanistaError(f"{path} is no run: there is no {DATABASE} in it, in league/ or in *.run.")


def policies_in(path: Path) -> Path | None:
    """Return the policy folder that `path` means: itself, or the one of a demonstration."""
    for folder in (path, path / "policy"):
        if (folder / POINTER).is_file():
            return folder
    return None


def _inside(path: Path) -> list[Path]:
    return [path / "league", *sorted(folder for folder in path.glob("*.run") if folder.is_dir())]


def read_run(folder: Path) -> RunRecord:
    """Return the record of the run in `folder`."""
    path = folder / DATABASE
    if not path.is_file():
        raise LanistaError(f"{folder} is no run: there is no {DATABASE} in it.")
    with reading_run(path) as run:
        record = _record(run, folder)
    if not (record.matches or record.training or record.metrics):
        raise LanistaError(f"The run {folder} is empty: it has no numbers and no matches yet.")
    return record


def _why(error: Exception) -> str:
    missing = isinstance(error, KeyError)
    return f"{error} is missing" if missing else str(error).rstrip(".") or type(error).__name__


def _record(run: RunReader, folder: Path) -> RunRecord:
    matches = matches_of(run)
    return assembled(
        folder.name,
        settings_text(folder),
        members_of(run, matches, folder),
        matches,
        training=run.rows(TrainingGamesRow),
        metrics=_series(run.rows(MetricRow)),
        events=run.rows(EventRow),
        matchmaking=run.rows(MatchmakingRow),
        notices=[(row.update, row.sentence) for row in run.rows(NoticeRow)],
    )


def members_of(run: RunTables, matches: Sequence[Match], folder: Path) -> list[Member]:
    """Return the players that the run lists, and those whom matches alone name."""
    players = [
        Member(
            row.name, row.digest, row.kind, row.category, row.role, row.parents, row.weight,
            row.update, row.body,
        )
        for row in run.rows(PlayerRow)
    ]  # fmt: skip
    return players + strangers({p.name for p in players}, matches, folder / POLICIES)


def settings_text(folder: Path) -> str:
    """Return config.yaml as it lies in a run's folder; empty where there is none."""
    config = folder / CONFIG
    return text_of(config) if config.exists() else ""


def assembled(
    name: str,
    settings: str,
    players: Sequence[Member],
    matches: Sequence[Match],
    *,
    training: Sequence[TrainingGamesRow],
    metrics: Mapping[str, Series],
    events: Sequence[EventRow],
    matchmaking: Sequence[MatchmakingRow],
    notices: Sequence[tuple[int, str]],
) -> RunRecord:
    """Return the record of what was read."""
    learners = [player.name for player in players if player.kind == "learner"]
    metrics = with_current_names(metrics)
    return RunRecord(
        name=name,
        game=_game(name, settings),
        players=tuple(players),
        matches=tuple(matches),
        training=tuple(training),
        metrics=metrics,
        events=tuple(events),
        matchmaking=tuple(matchmaking),
        notices=tuple(notices),
        settings=settings,
        compute=compute_of(metrics, learners),
    )


def matches_of(run: RunTables) -> list[Match]:
    """Return all matches of fixed players, with who sat in them."""
    lineups = {
        row.lineup: Lineup(
            row.update, row.reason, row.names, row.digests, row.seed, row.rules_version,
            row.observation_version,
        )
        for row in run.rows(LineupRow)
    }  # fmt: skip
    matches = []
    for row in run.rows(MatchRow):
        lineup = lineups.get(row.lineup)
        if lineup is None:
            raise ValueError(f"match {row.match} is of line-up {row.lineup}, which is not there")
        for values in (row.returns, row.places):
            if len(values) != len(lineup.names):
                raise ValueError(f"a match of {len(lineup.names)} seats has {len(values)} results")
        matches.append(
            Match(
                row.update, row.match, lineup, row.deal, row.returns, row.places, row.cut_off
            )
        )  # fmt: skip
    return matches


def _series(rows: Iterable[MetricRow]) -> dict[str, Series]:
    points_by_name: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        series = points_by_name.setdefault(row.name, [])
        if row.value is not None and math.isfinite(row.value):
            series.append((row.update, row.value))
    return {name: tuple(series) for name, series in sorted(points_by_name.items()) if series}


def strangers(listed: set[str], matches: Sequence[Match], policies: Path) -> list[Member]:
    """Return those whom matches name and no row lists.

    They played in evaluation alone, or are exploiters that were not admitted.
    """
    states_by_name: dict[str, dict[str, Match]] = {}
    for match in matches:
        for name, digest in zip(match.lineup.names, match.lineup.digests, strict=True):
            if name not in listed:
                states_by_name.setdefault(name, {}).setdefault(digest, match)
    members = []
    for name, states in states_by_name.items():
        digest, match = next(iter(states.items()))
        own = digest.partition(":")[0]
        kind, category = "bot", "bot"
        if len(states) > 1:
            kind, category, digest = "learner", "self", ""
        elif match.lineup.reason == "exploiter" or _kept(policies, own):
            kind, category = "policy", ""
        members.append(Member(name, digest, kind, category, "", (), 0.0, match.update, {}))
    return members


def _kept(policies: Path, digest: str) -> bool:
    return is_digest(digest) and (policies / f"{digest}.safetensors").is_file()


def read_exports(state: Path, matches: Path) -> RunRecord:
    """Return the record in league_state.json and matches.jsonl, as `exports` writes them."""
    exported = _object(state, _text(state))
    version = exported.get("version")
    if version != EXPORT_VERSION:
        raise LanistaError(
            f"{state} is of version {version}, and this program reads {EXPORT_VERSION}; export it "
            "again, or use the program that wrote it."
        )
    try:
        players = [
            Member(**{**row, "parents": tuple(row["parents"])})
            for row in map(_member_fields, exported["players"])
        ]
        return assembled(
            str(exported["run"]),
            str(exported["settings"]),
            players,
            _exported_matches(matches, {player.name for player in players}, state),
            training=[_exported_training(row) for row in exported["training_games"]],
            metrics={
                name: tuple(zip(column["update"], column["value"], strict=True))
                for name, column in exported["metrics"].items()
            },
            events=[EventRow(**row) for row in exported["events"]],
            matchmaking=[MatchmakingRow(**row) for row in exported["matchmaking"]],
            notices=[(update, sentence) for update, sentence in exported["notices"]],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LanistaError(
            f"{state} is no league state: {_why(error)}; export it again with `lanista report RUN`."
        ) from error


def _member_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a player without what was added for readers of the file."""
    return {name: row[name] for name in Member.__dataclass_fields__}


def _exported_training(row: Mapping[str, Any]) -> TrainingGamesRow:
    pairs = tuple((w, d, x) for w, d, x in row["pairs"])
    lists = {name: tuple(row[name]) for name in ("seating", "digests", "returns")}
    return TrainingGamesRow(**{**row, **lists, "pairs": pairs})


def _exported_matches(path: Path, players: set[str], state: Path) -> list[Match]:
    lineups: dict[Lineup, Lineup] = {}
    exported = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        row = _object(path, line, f" in line {number}")
        try:
            names, digests = tuple(row["names"]), tuple(row["digests"])
            lineup = Lineup(
                row["update"], row["reason"], names, digests, row["seed"],
                row["rules_version"], row["observation_version"],
            )  # fmt: skip
            match = Match(
                row["update"], row["match"], lineups.setdefault(lineup, lineup), row["deal"],
                tuple(row["returns"]), tuple(row["places"]), row["cut_off"],
            )  # fmt: skip
            if len({len(names), len(digests), len(match.places), len(match.returns)}) != 1:
                raise ValueError("names, digests, places and returns differ in length")
        except (KeyError, TypeError, ValueError) as error:
            raise LanistaError(
                f"{path} has no match in line {number}: {_why(error)}; export it again with "
                "`lanista report RUN`."
            ) from error
        if unknown := [name for name in names if name not in players]:
            raise LanistaError(
                f"{path} names {unknown[0]!r} in line {number}, whom {state} does not know; "
                "export both from the same run."
            )
        exported.append(match)
    return exported


def _object(path: Path, text: str, where: str = "") -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError as error:
        raise LanistaError(f"{path} is not JSON{where}: {error}; export it again.") from error
    if not isinstance(body, dict):
        raise LanistaError(f"{path} has no JSON object{where}; export it again.")
    return body


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # A pipe would be waited for.
        raise LanistaError(f"{str(path)!r} is no regular file; name a file of a report.")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower().rstrip(".")
        raise LanistaError(f"{str(path)!r} cannot be read: {why}.") from error


def _game(name: str, settings: str) -> str:
    values = parse_yaml(settings, f"The settings of {name}")
    return str(values.get("game", "")) if isinstance(values, dict) else ""
