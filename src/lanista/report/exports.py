"""Writes a record to the files that people and other programs read, each whole or not at all.

`league_state.json` and `matches.jsonl` together hold the whole record: a report made from them has
the numbers of the run they came from. Knows nothing of how the numbers are come by.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.files import Kind, replacing, write_text
from lanista.report.pages.html import GENERATOR
from lanista.report.pages.run_page import page
from lanista.report.pairs import counted, fold_pairs
from lanista.report.reading import EXPORT_VERSION
from lanista.report.run_record import Match, RunRecord
from lanista.report.stages import EarlierRun, PipelineRecord, read_stages
from lanista.report.summary import exploiters, summarise
from lanista.runs.layout import POLICIES

LEAGUE_STATE, MATCHES, SUMMARY = "league_state.json", "matches.jsonl", "summary.json"
REGISTRY, PAGE = "exploiter_registry.json", "report.html"
SUMMARY_KIND = Kind("the numbers of a report", rb'^\{\s*"made_by": "lanista report"')
PAGE_KIND = Kind("a report", GENERATOR.encode())


def write_report(
    record: RunRecord,
    folder: Path,
    *,
    anchor: str | None = None,
    evaluation: Path | None = None,
    pipeline: Path | None = None,
) -> dict[str, Any]:
    """Write all five files into `folder` and return the numbers of summary.json.

    `evaluation` is the file of a last evaluation, as a pipeline makes it, where there is one;
    `pipeline` is the folder of the pipeline whose last run this is.
    """
    summary = summarise(record, anchor=anchor)
    if evaluation is not None and evaluation.is_file():
        summary["evaluation"] = read_evaluation(evaluation)
    stages = PipelineRecord([], []) if pipeline is None else read_stages(pipeline)
    if stages.rows:
        summary["stages"] = stages.rows
    write_exports(record, folder)
    write_summary(record, summary, folder / SUMMARY, stages.earlier)
    return summary


def read_evaluation(path: Path) -> dict[str, Any]:
    """Return what `lanista evaluate` wrote."""
    try:
        evaluation: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        (
            evaluation["bouts"],
            evaluation["name"],
            evaluation["digest"],
            evaluation["manner"],
            evaluation["seed"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise LanistaError(f"{path} is no evaluation: {error}; evaluate again.") from error
    return evaluation


def write_summary(
    record: RunRecord,
    summary: Mapping[str, Any],
    path: Path,
    earlier: Sequence[EarlierRun] = (),
) -> None:
    """Write the numbers to `path` and the page beside them."""
    marked = {"made_by": "lanista report", **summary}
    write_text(path, json.dumps(marked, indent=1, allow_nan=False) + "\n")
    before = [(run.stage, run.record, run.summary) for run in earlier]
    write_text(path.parent / PAGE, page(record, summary, before))


def write_exports(record: RunRecord, folder: Path) -> None:
    """Write league_state.json, matches.jsonl and exploiter_registry.json into `folder`."""
    write_text(folder / LEAGUE_STATE, league_state(record))
    with replacing(folder / MATCHES) as file:
        for match in record.matches:
            file.write((json.dumps(match_line(match), allow_nan=False) + "\n").encode())
    write_text(folder / REGISTRY, json.dumps(registry(record), indent=1, allow_nan=False) + "\n")


def match_line(match: Match) -> dict[str, Any]:
    """Return all it takes to play a match again, and what came of it."""
    lineup = match.lineup
    return {
        "update": match.update,
        "match": match.match,
        "reason": lineup.reason,
        "names": lineup.names,
        "digests": lineup.digests,
        "seed": lineup.seed,
        "deal": match.deal,
        "rules_version": lineup.rules_version,
        "observation_version": lineup.observation_version,
        "places": match.places,
        "returns": match.returns,
        "cut_off": match.cut_off,
    }


def registry(record: RunRecord) -> dict[str, Any]:
    """Return the exploiters with their files, as other programs look for them."""
    rows = [
        {**row, "file": f"{POLICIES}/{row['digest']}.safetensors"} for row in exploiters(record)
    ]
    return {"version": EXPORT_VERSION, "run": record.name, "exploiters": rows}


def league_state(record: RunRecord) -> str:
    """Return league_state.json: JSON with a row a line, so that two of them can be compared."""
    weights = _newest_weights(record)
    players = [{**asdict(p), "matchmaking": weights.get(p.name, {})} for p in record.players]
    metrics = {
        name: {"update": [u for u, _ in series], "value": [v for _, v in series]}
        for name, series in record.metrics.items()
    }
    sections = {
        "version": _line(EXPORT_VERSION),
        "run": _line(record.name),
        "game": _line(record.game),
        "settings": _line(record.settings),
        "players": _lines(players),
        "payoff": _lines(payoff(record)),
        "events": _lines(map(asdict, record.events)),
        "notices": _lines(record.notices),
        "matchmaking": _lines(map(asdict, record.matchmaking)),
        "training_games": _lines(map(asdict, record.training)),
        "metrics": _named_lines(metrics),
    }
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in sections.items()) + "\n}\n"


def payoff(record: RunRecord) -> list[dict[str, Any]]:
    """Return wins, draws and losses of every two names that met, without decay.

    `fixed` are matches of fixed digests, `training` games of learners while they learnt.
    """
    rows = [
        {"first": pair.first, "second": pair.second, "games": "fixed",
         "wins": pair.wins, "draws": pair.draws, "losses": pair.losses}
        for pair in fold_pairs(counted(record.matches), lambda lineup: lineup.names)
    ]  # fmt: skip
    training: dict[tuple[str, str], list[int]] = {}
    for game in record.training:
        seats = range(len(game.seating))
        places = [(a, b) for a in seats for b in seats if a < b]
        for (a, b), (wins, draws, losses) in zip(places, game.pairs, strict=True):
            pair, result = (game.seating[a], game.seating[b]), (wins, draws, losses)
            if pair[::-1] in training and pair[0] != pair[1]:
                pair, result = pair[::-1], (losses, draws, wins)
            total = training.setdefault(pair, [0, 0, 0])
            total[:] = [old + new for old, new in zip(total, result, strict=True)]
    for (first, second), (wins, draws, losses) in training.items():
        rows.append(
            {"first": first, "second": second, "games": "training",
             "wins": wins, "draws": draws, "losses": losses}
        )  # fmt: skip
    return rows


def _newest_weights(record: RunRecord) -> dict[str, dict[str, float]]:
    """Return how likely each learner is to meet a player now, by player."""
    newest: dict[str, int] = {}
    for drawn in record.matchmaking:
        newest[drawn.learner] = max(drawn.update, newest.get(drawn.learner, 0))
    weights: dict[str, dict[str, float]] = {}
    for drawn in record.matchmaking:
        if drawn.update == newest[drawn.learner]:
            mine = weights.setdefault(drawn.opponent, {})
            mine[drawn.learner] = mine.get(drawn.learner, 0.0) + drawn.weight
    return weights


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _lines(rows: Iterable[Any]) -> str:
    written = ",\n".join(_line(row) for row in rows)
    return f"[\n{written}\n]" if written else "[]"


def _named_lines(rows: Mapping[str, Any]) -> str:
    written = ",\n".join(f"{_line(name)}: {_line(row)}" for name, row in rows.items())
    return f"{{\n{written}\n}}" if written else "{}"
