"""Numbers of runs, and their reports. Writes nothing into a run."""

from __future__ import annotations

from pathlib import Path

from lanista.api.results import RunNumbers
from lanista.output_paths import refuse_unwritable_folder
from lanista.report import exports, reading


def read_run(run: str | Path) -> RunNumbers:
    """Return what a run wrote down: numbers by update, players, matches, notices.

    `run` is a run folder, a policy file with its `.run` folder beside it, or a pipeline's folder.
    It may still be going on.
    """
    return RunNumbers(reading.read_run(reading.find_run(Path(run))))


def write_report(
    run: str | Path, output_dir: str | Path | None = None, *, anchor: str | None = None
) -> Path:
    """Write a run's report and return the page's path; `run` is as in `read_run`.

    It goes into `report` in the run's folder unless `output_dir` is given, with summary.json,
    league_state.json, matches.jsonl and the registry beside it. `anchor` is the player whose
    rating is 0.
    """
    path = Path(run)
    folder = reading.find_run(path)
    output = Path(output_dir) if output_dir else (path if path.is_dir() else folder) / "report"
    refuse_unwritable_folder("--output-dir", output)
    # Only a pipeline's folder holds an evaluation that is surely of this run's policy.
    last = path / "evaluation.json" if path.is_dir() and folder != path else None
    exports.write_report(reading.read_run(folder), output, anchor=anchor, evaluation=last)
    return output / exports.PAGE
