"""What the stages of a pipeline did and came to, read from its folder.

A stage leaves a record when it is done. Knows nothing of how a stage is done, and of pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.evaluation.score import Estimate
from lanista.foreign import read_regular
from lanista.report.pages.results import said_estimate
from lanista.report.pages.strength import headline
from lanista.report.reading import read_run
from lanista.report.run_record import RunRecord
from lanista.report.summary import summarise
from lanista.runs.layout import DATABASE

RECORDS = "stages"
RUNS = {"rl": "rl.safetensors.run", "league": "league"}
"""The stages that learn by playing, and where their runs lie."""
_IMITATION = "imitation.safetensors.json"
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class EarlierRun:
    """A run of the pipeline that another went on from."""

    stage: str
    record: RunRecord
    summary: Mapping[str, Any]


@dataclass(frozen=True)
class PipelineRecord:
    """The stages of a pipeline in their order."""

    rows: list[dict[str, str]]
    """Of each: `stage`, the `work` it did and the `result`."""
    earlier: list[EarlierRun]
    """The runs before the last one."""


def read_stages(folder: Path) -> PipelineRecord:
    """Return what the stages that are done came to."""
    runs = [
        EarlierRun(stage, record := read_run(folder / place), summarise(record))
        for stage, place in RUNS.items()
        if (folder / RECORDS / f"{stage}.json").is_file() and (folder / place / DATABASE).is_file()
    ]
    rows = [_recorded(folder), _imitated(folder)]
    rows += [_row(run.stage, *_run_sentences(run)) for run in runs]
    rows += [_evaluated(folder)]
    return PipelineRecord([row for row in rows if row], runs[:-1])


def _row(stage: str, work: str, result: str = "") -> dict[str, str]:
    return {"stage": stage, "work": work, "result": result}


def _recorded(folder: Path) -> dict[str, str]:
    if (settings := _settings(folder, "record")) is None:
        return {}
    seats = ", ".join(f"({line})" for line in settings["seats"])
    return _row("record", f"{settings['matches']:,} matches of each of {seats}")


def _imitated(folder: Path) -> dict[str, str]:
    path = folder / _IMITATION
    if _settings(folder, "imitate") is None or not path.is_file():
        return {}
    report = _json(path)
    try:
        teachers = ", ".join(teacher["name"] for teacher in report["data"]["teachers"])
        work = (
            f"{report['epochs']} epochs over {report['data']['learned_decisions']:,} decisions of "
            f"{teachers}"
        )
        accuracy = report["held_out"]["whole_action_accuracy"]
        held_out, meetings = report["held_out"], (report["strength"] or {}).get("meetings", [])
        results = [
            f"held out: nll {held_out['nll']:.4f}, the likeliest action is theirs in "
            + ("—" if accuracy is None else f"{accuracy:.0%}"),
            *(
                f"{met['manner']} against {met['opponent']} "
                f"{said_estimate(Estimate(**met['clone']['score']))} in {met['clone']['matches']:,}"
                for met in meetings
                if met["clone"]["score"]
            ),
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LanistaError(f"{path} is no report of an imitation: {error!r}.") from error
    return _row("imitate", work, "; ".join(results))


def _run_sentences(run: EarlierRun) -> tuple[str, str]:
    trained, *strong = headline(run.record, run.summary)
    return trained, " ".join(strong)


def _evaluated(folder: Path) -> dict[str, str]:
    if (settings := _settings(folder, "evaluate")) is None:
        return {}
    against = ", ".join(map(str, settings["opponents"]))
    work = f"{settings['games']:,} games against each of {against}"
    return _row("evaluate", work, "see the final evaluation")


def _settings(folder: Path, stage: str) -> Any:
    """Return the settings that a stage was done with; None: it is not there, or not done yet."""
    path = folder / RECORDS / f"{stage}.json"
    if not path.is_file():
        return None
    record = _json(path)
    try:
        settings = record["inputs"]["settings"]
        if "outputs" not in record:
            return None
        for name, kind in _NEEDED.get(stage, {}).items():
            if not isinstance(settings[name], kind):
                raise ValueError(f"{name} is {settings[name]!r:.60}")
    except (KeyError, TypeError, ValueError) as error:
        raise LanistaError(f"{path} is no record of a stage: {error!r}.") from error
    return settings


_NEEDED: Mapping[str, Mapping[str, type]] = {
    "record": {"matches": int, "seats": list},
    "evaluate": {"games": int, "opponents": list},
}


def _json(path: Path) -> Any:
    try:
        return json.loads(read_regular(path, _MOST_BYTES, "record of a stage"))
    except (ValueError, RecursionError) as error:
        raise LanistaError(f"{path} is not JSON; remove it, and do the stage again.") from error
