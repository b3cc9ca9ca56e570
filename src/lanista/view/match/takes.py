"""From an address to a match: out of a replay file, or played again from a run's row.

Reads a file only as far as it must. Knows nothing of HTTP and of what is shown.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

from lanista.data.lines import ReplayError
from lanista.data.records import Header, Record
from lanista.data.replays import SUFFIX, open_replays
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.insight.films import Take
from lanista.rollout.replay_recorder import records_of
from lanista.runs.layout import DATABASE
from lanista.runs.reader import reading_run
from lanista.text import printable
from lanista.view.context import NotHereError

_NUMBER = r"[a-z_]+=[0-9]{1,2}"
_SMALL = re.compile(rf"openspiel:[a-z0-9_]+\({_NUMBER}(,{_NUMBER})*\)")
MOST_LISTED = 100
"""Matches of a list that are given at once."""


def take_of(path: Path, match: int) -> Take:
    """Return a match of a replay file or of a run's folder."""
    if path.is_dir():
        return _played_again(path, match)
    if not path.name.endswith(SUFFIX):
        raise NotHereError(f"{printable(path.name)} is neither a replay nor a run's folder.")
    try:
        with open_replays(path, follow_links=False) as (header, records):
            for record in records:
                if record.match == match:
                    return Take(header, record, _small_game(header.game))
    except ReplayError as problem:
        raise ReplayError(f"{printable(path.name)} is refused: {problem}") from problem
    raise NotHereError(f"{printable(path.name)} has no match {match}.")


def _small_game(name: str) -> str | None:
    """Return a game of OpenSpiel whose parameters can neither name a file nor make it huge.

    A replay is not believed about other parameters; None: its plain name has to do.
    """
    return name if _SMALL.fullmatch(name) and registry.is_harmless(name) else None


def _played_again(folder: Path, match: int) -> Take:
    from lanista.evaluation.match_replay import Rerun

    rerun = Rerun(folder, match)
    try:
        results = rerun.play()
        header = Header.of(rerun.game.spec, rerun.game.seed, rerun.players)
        (record,) = records_of(results, {})
    finally:
        rerun.close()
    return Take(header, record, rerun.settings.game)


def listed(path: Path, first: int, count: int) -> dict[str, Any]:
    """Return a page of the matches that a replay file or a run has."""
    count = min(count, MOST_LISTED)
    return _of_run(path, first, count) if path.is_dir() else _of_file(path, first, count)


def _of_file(path: Path, first: int, count: int) -> dict[str, Any]:
    try:
        with open_replays(path, follow_links=False) as (header, records):
            chosen = list(islice(records, first, first + count + 1))
    except ReplayError as problem:
        raise ReplayError(f"{printable(path.name)} is refused: {problem}") from problem
    rows = [_row(header, record) for record in chosen[:count]]
    return {"game": header.game, "matches": rows, "more": len(chosen) > count}


def _row(header: Header, record: Record) -> dict[str, Any]:
    return {
        "match": record.match,
        "players": [header.players[player].name for player in record.seating],
        "places": list(record.place),
        "returns": list(record.returns),
        "decisions": len(record.actions),
        "note": header.source,
    }


def _of_run(folder: Path, first: int, count: int) -> dict[str, Any]:
    database = folder / DATABASE
    if not database.is_file():
        raise LanistaError(f"{printable(folder.name)} is no run's folder.")
    with reading_run(database) as run:
        rows = run.newest_matches(first, count + 1)
    matches = [
        {
            "match": row.match,
            "players": list(lineup.names),
            "places": list(row.places),
            "returns": list(row.returns),
            "decisions": None,
            "note": f"{lineup.reason}, update {row.update}",
        }
        for row, lineup in rows[:count]
    ]
    return {"game": "", "matches": matches, "more": len(rows) > count}
