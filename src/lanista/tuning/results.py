"""What a search leaves: every trial, the runs on fresh seeds, the winner's settings.

Files for people and programs; nothing here is read back by a search.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanista.files import write_text
from lanista.runs.settings import to_yaml
from lanista.tuning.confirm import Arm
from lanista.tuning.plan import Plan
from lanista.tuning.study import Record

TRIALS_FILE, CONFIRMED_FILE, WINNER_FILE = "trials.csv", "confirmation.csv", "winner.yaml"


def write_trials(folder: Path, plan: Plan, records: Iterable[Record]) -> None:
    """Write a row for every trial that has ended."""
    keys = list(plan.space)
    columns = ["trial", "state", "cost", "seconds", *keys, "why"]
    rows = [_row(record, keys) for record in records]
    _write_csv(folder / TRIALS_FILE, columns, rows)


def _row(record: Record, keys: Sequence[str]) -> list[Any]:
    times = ["" if run["seconds"] is None else f"{run['seconds']:.4g}" for run in record.runs]
    cost = "" if record.cost is None else f"{record.cost:.4g}"
    values = [_shown(record.values.get(key, "")) for key in keys]
    return [record.number, record.state, cost, " ".join(times), *values, record.why]


def _shown(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def write_confirmation(folder: Path, arms: Mapping[str, Arm]) -> None:
    """Write a row for every run on a fresh seed."""
    rows = [
        [arm.name, seed, _known(outcome.seconds), _known(outcome.best), f"{outcome.cost:.4g}"]
        for arm in arms.values()
        for seed, outcome in zip(arm.seeds, arm.outcomes, strict=True)
    ]
    _write_csv(folder / CONFIRMED_FILE, ["settings", "seed", "seconds", "best", "cost"], rows)


def _known(number: float | None) -> str:
    return "" if number is None else f"{number:.4g}"


def write_winner(folder: Path, plan: Plan, record: Record, sentence: str) -> Path:
    """Write the winner's settings with what is known of them above; return the file."""
    values = ", ".join(f"{key} {json.dumps(_shown(value))}" for key, value in record.values.items())
    head = f"# Trial {record.number} of lanista tune {plan.name}: {values}.\n# {sentence}\n"
    write_text(folder / WINNER_FILE, head + to_yaml(plan.settings(record.values)))
    return folder / WINNER_FILE


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text(path, text.getvalue())
