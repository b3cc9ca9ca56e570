"""Reads a run's record from its folder, or from the files it was exported to.

A run's database is opened read-only and read in one transaction, so that a report can be made
while the run goes on. Whatever cannot be read is refused in one sentence. Knows nothing of what
is said about a run.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.foreign import is_digest, refuse_unsafe_folder
from lanista.live.files.policy_folder import POINTER
from lanista.report.run_record import (
    Drawn,
    Event,
    Lineup,
    Match,
    Member,
    RunRecord,
    Series,
    TrainingGames,
    compute_of,
)
from lanista.runs.metric_names import with_current_names
from lanista.runs.sqlite_files import opened_to_read
from lanista.yaml_text import parse_yaml, text_of

DATABASE, CONFIG, POLICIES = "run.db", "config.yaml", "policies"
VERSION = 2
"""Of run.db."""
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
    inside = [each for each in _inside(path) if (each / DATABASE).is_file()]
    leagues = [each for each in inside if each.name.startswith("league")]
    if len(inside) == 1 or leagues:
        return (leagues or inside)[0]
    if inside:
        names = ", ".join(each.name for each in inside)
        raise LanistaError(f"{path} holds several runs ({names}); name one of them.")
    raise LanistaError(f"{path} is no run: there is no {DATABASE} in it, in league/ or in *.run.")


def policies_in(path: Path) -> Path | None:
    """Return the policy folder that `path` means: itself, or the one of a demonstration."""
    for folder in (path, path / "policy"):
        if (folder / POINTER).is_file():
            return folder
    return None


def _inside(path: Path) -> list[Path]:
    return [path / "league", *sorted(each for each in path.glob("*.run") if each.is_dir())]


def read_run(folder: Path) -> RunRecord:
    """Return the record of the run in `folder`."""
    path = folder / DATABASE
    if not path.is_file():
        raise LanistaError(f"{folder} is no run: there is no {DATABASE} in it.")
    try:
        with closing(opened_to_read(path)) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                raise LanistaError(f"{path} is no run's database, or is empty; put back a copy.")
            if version != VERSION:
                raise LanistaError(
                    f"{path} is of version {version}, and this program reads {VERSION}; use the "
                    "program that wrote it."
                )
            database.execute("BEGIN")  # All tables as they were at one moment.
            record = _record(database, folder)
    except (sqlite3.Error, ValueError, TypeError, KeyError, RecursionError) as error:
        raise LanistaError(f"{path} is damaged: {_why(error)}; put back a copy.") from error
    if not (record.matches or record.training or record.metrics):
        raise LanistaError(f"The run {folder} is empty: it has no numbers and no matches yet.")
    return record


def _why(error: Exception) -> str:
    missing = isinstance(error, KeyError)
    return f"{error} is missing" if missing else str(error).rstrip(".") or type(error).__name__


def _record(database: sqlite3.Connection, folder: Path) -> RunRecord:
    def rows(table: str, columns: str, order: str = "update_number, rowid") -> Iterator[Any]:
        return database.execute(f"SELECT update_number, {columns} FROM {table} ORDER BY {order}")

    matches = _matches(rows)
    roster = rows("players", "name, digest, kind, category, role, parents, weight, body")
    players = [
        Member(name, digest, kind, category, role, _strings(parents), weight, update, _map(body))
        for update, name, digest, kind, category, role, parents, weight, body in roster
    ]
    players += strangers({p.name for p in players}, matches, folder / POLICIES)
    config = folder / CONFIG
    settings = text_of(config) if config.exists() else ""
    return _assembled(
        folder.name,
        settings,
        players,
        matches,
        training=_training(rows),
        metrics=_series(rows("metrics", "name, value", "update_number")),
        events=[
            Event(update, kind, player, _map(body))
            for update, kind, player, body in rows("events", "kind, player, body")
        ],
        matchmaking=[
            Drawn(*row)
            for row in rows("matchmaking", "learner, opponent, reason, weight", "update_number")
        ],
        notices=[(update, sentence) for update, sentence in rows("notices", "sentence")],
    )


def _assembled(
    name: str,
    settings: str,
    players: Sequence[Member],
    matches: Sequence[Match],
    *,
    training: Sequence[TrainingGames],
    metrics: Mapping[str, Series],
    events: Sequence[Event],
    matchmaking: Sequence[Drawn],
    notices: Sequence[tuple[int, str]],
) -> RunRecord:
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


Rows = Callable[..., Iterator[Any]]


def _matches(rows: Rows) -> list[Match]:
    columns = "lineup, reason, names, digests, seed, rules_version, observation_version"
    lineups = {
        number: Lineup(update, reason, _strings(names), _strings(digests), seed, rules, observed)
        for update, number, reason, names, digests, seed, rules, observed in rows(
            "lineups", columns, "lineup"
        )
    }
    found = []
    for update, match, number, deal, returns, places, cut_off in rows(
        "matches", "match, lineup, deal, returns, places, cut_off"
    ):
        if number not in lineups:
            raise ValueError(f"match {match} is of line-up {number}, which is not there")
        seats, lineup = len(lineups[number].names), lineups[number]
        found.append(
            Match(
                update, match, lineup, deal, _floats(returns, seats), _ints(places, seats),
                bool(cut_off),
            )
        )  # fmt: skip
    return found


def _training(rows: Rows) -> list[TrainingGames]:
    columns = (
        "learner, seating, reason, digests, matches, pairs, returns, first_match, last_match, "
        "first_update"
    )
    return [
        TrainingGames(
            update, learner, _strings(seating), reason, _strings(digests), matches,
            tuple((int(w), int(d), int(x)) for w, d, x in json.loads(pairs)),
            tuple(map(float, json.loads(returns))), first, last, since,
        )
        for update, learner, seating, reason, digests, matches, pairs, returns, first, last, since
        in rows("training_games", columns, "update_number, learner, seating, reason")
    ]  # fmt: skip


def _series(rows: Iterator[Any]) -> dict[str, Series]:
    found: dict[str, list[tuple[int, float]]] = {}
    for update, name, value in rows:
        series = found.setdefault(name, [])
        if value is not None and math.isfinite(value):
            series.append((update, float(value)))
    return {name: tuple(series) for name, series in sorted(found.items()) if series}


def strangers(known: set[str], matches: Sequence[Match], policies: Path) -> list[Member]:
    """Return those whom matches name and no row lists.

    They were met in evaluation alone, or are exploiters that were not admitted.
    """
    seen: dict[str, dict[str, Match]] = {}
    for match in matches:
        for name, digest in zip(match.lineup.names, match.lineup.digests, strict=True):
            if name not in known:
                seen.setdefault(name, {}).setdefault(digest, match)
    found = []
    for name, states in seen.items():
        digest, match = next(iter(states.items()))
        own = digest.partition(":")[0]
        kind, category = "bot", "bot"
        if len(states) > 1:
            kind, category, digest = "learner", "self", ""
        elif match.lineup.reason == "exploiter" or _kept(policies, own):
            kind, category = "policy", ""
        found.append(Member(name, digest, kind, category, "", (), 0.0, match.update, {}))
    return found


def _kept(policies: Path, digest: str) -> bool:
    return is_digest(digest) and (policies / f"{digest}.safetensors").is_file()


def read_exports(state: Path, matches: Path) -> RunRecord:
    """Return the record in league_state.json and matches.jsonl, as `exports` writes them."""
    found = _object(state, _text(state))
    version = found.get("version")
    if version != EXPORT_VERSION:
        raise LanistaError(
            f"{state} is of version {version}, and this program reads {EXPORT_VERSION}; export it "
            "again, or use the program that wrote it."
        )
    try:
        players = [
            Member(**{**row, "parents": tuple(row["parents"])})
            for row in map(_member_fields, found["players"])
        ]
        return _assembled(
            str(found["run"]),
            str(found["settings"]),
            players,
            _exported_matches(matches, {player.name for player in players}, state),
            training=[_exported_training(row) for row in found["training_games"]],
            metrics={
                name: tuple(zip(column["update"], column["value"], strict=True))
                for name, column in found["metrics"].items()
            },
            events=[Event(**row) for row in found["events"]],
            matchmaking=[Drawn(**row) for row in found["matchmaking"]],
            notices=[(update, sentence) for update, sentence in found["notices"]],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LanistaError(
            f"{state} is no league state: {_why(error)}; export it again with `lanista report RUN`."
        ) from error


def _member_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a player without what was added for readers of the file."""
    return {name: row[name] for name in Member.__dataclass_fields__}


def _exported_training(row: Mapping[str, Any]) -> TrainingGames:
    pairs = tuple((w, d, x) for w, d, x in row["pairs"])
    lists = {name: tuple(row[name]) for name in ("seating", "digests", "returns")}
    return TrainingGames(**{**row, **lists, "pairs": pairs})


def _exported_matches(path: Path, known: set[str], state: Path) -> list[Match]:
    lineups: dict[Lineup, Lineup] = {}
    found = []
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
        if unknown := [name for name in names if name not in known]:
            raise LanistaError(
                f"{path} names {unknown[0]!r} in line {number}, whom {state} does not know; "
                "export both from the same run."
            )
        found.append(match)
    return found


def _object(path: Path, text: str, where: str = "") -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise LanistaError(f"{path} is not JSON{where}: {error}; export it again.") from error
    if not isinstance(found, dict):
        raise LanistaError(f"{path} has no JSON object{where}; export it again.")
    return found


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # A pipe would be waited for.
        raise LanistaError(f"{str(path)!r} is no regular file; name a file of a report.")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower().rstrip(".")
        raise LanistaError(f"{str(path)!r} cannot be read: {why}.") from error


def _game(name: str, settings: str) -> str:
    found = parse_yaml(settings, f"The settings of {name}")
    return str(found.get("game", "")) if isinstance(found, dict) else ""


def _map(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text[:40]!r} is no JSON object")
    return found


# The same few texts stand in very many rows.
@lru_cache(maxsize=4096)
def _strings(text: str) -> tuple[str, ...]:
    return tuple(map(str, json.loads(text)))


@lru_cache(maxsize=4096)
def _floats(text: str, seats: int) -> tuple[float, ...]:
    return _full(tuple(map(float, json.loads(text))), seats)


@lru_cache(maxsize=4096)
def _ints(text: str, seats: int) -> tuple[int, ...]:
    return _full(tuple(map(int, json.loads(text))), seats)


def _full(values: tuple[Any, ...], seats: int) -> tuple[Any, ...]:
    if len(values) != seats:
        raise ValueError(f"a match of {seats} seats has {len(values)} results")
    return values
