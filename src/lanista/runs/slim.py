"""Slim checkpoints: what they leave out, and which files of a run it takes to go on elsewhere.

Left out are the replay and matches in flight; a run that goes on begins fresh ones, with match ids
that were never played. Knows nothing of when a run is saved.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lanista.errors import RefusedError
from lanista.files import write_text
from lanista.games.contract import Spec
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.folder import bot_path, policy_path, saved_settings
from lanista.runs.layout import CHECKPOINTS, CONFIG, DATABASE, EXPLOITERS, POLICIES
from lanista.runs.reader import reading_run
from lanista.runs.schema import EventRow, PlayerRow
from lanista.runs.settings import RunSettings

NEEDED = "needed.txt"
"""In a run's folder: the files that a resume takes, by their paths from the output's folder."""
_LEFT_OUT = ("replay", "chairs")
"""Parts of a learner's state that belong to the replay and to matches in flight."""


def slimmed(learners: Mapping[str, Any]) -> dict[str, Any]:
    """Return the states of a run's learners without the replay and matches in flight."""
    return {
        name: {key: value for key, value in state.items() if key not in _LEFT_OUT}
        | {"collector": _match_ids(state["collector"])}
        for name, state in learners.items()
    }


def _match_ids(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ids of the next matches alone, of one collector or of many workers."""
    if "next_match" in saved:
        return {"next_match": saved["next_match"]}
    return {
        name: [_match_ids(worker) for worker in workers]
        for name, workers in saved.items()
        if all(isinstance(worker, Mapping) for worker in workers)
    }


def filled(learners: Mapping[str, Any], settings: RunSettings) -> dict[str, Any]:
    """Return states in which a replay that was left out is an empty one."""
    empty: dict[str, Any] = {"replay": {}} if settings.replay.size else {}
    return {name: empty | state for name, state in learners.items()}


def exactness(settings: RunSettings, spec: Spec, slim: bool) -> str:
    """Return what a resumed run cannot promise, where that is so; `slim`: its state was."""
    rollouts = settings.rollouts
    in_flight = rollouts.streaming or rollouts.lag > 0
    if (slim or settings.checkpoints.slim) and (in_flight or settings.replay.size):
        return (
            "Slim checkpoints leave out the replay and matches in flight: a resumed run begins "
            "fresh ones, and is not exactly the unbroken one."
        )
    if rollouts.streaming and not spec.abilities.restorable:
        return (
            f"{spec.name} cannot be saved in mid-match: a resumed run begins fresh matches, and "
            "is not exactly the unbroken one."
        )
    if rollouts.inference == "central":
        return (
            "Central inference batches rows as they come, and the network's rounding follows: a "
            "resumed run is not equal to the unbroken one to the last bit."
        )
    return ""


def write_needed(output: Path, folder: Path) -> None:
    """Write down which files it takes to go on with a run; call it when all of it is saved."""
    files = [*needed(folder), *([output] if output.is_file() else [])]
    names = [Path(os.path.relpath(path, output.parent)).as_posix() for path in files]
    write_text(folder / NEEDED, "".join(f"{name}\n" for name in names))


def needed(folder: Path) -> list[Path]:
    """Return the files that a resume of the run in `folder` takes.

    Not among them: earlier checkpoints, policies that were only judged, exploiters' runs that are
    complete.
    """
    newest = Checkpoints(folder / CHECKPOINTS).numbers()[-1:]
    files = [folder / CONFIG, *_database(folder)]
    for number in newest:
        files += sorted(Checkpoints(folder / CHECKPOINTS).path(number).iterdir())
    for digest in sorted(_digests(folder) - {""}):
        files += [p for p in (policy_path(folder, digest), bot_path(folder, digest)) if p.is_file()]
    for run in sorted((folder / EXPLOITERS).glob("*.run")):
        if not run.with_suffix(".json").is_file():
            files += _practice(run)
    return files


def _database(folder: Path) -> list[Path]:
    # What a killed process had not yet put into the file itself lies beside it.
    return [p for p in (folder / DATABASE, folder / f"{DATABASE}-wal") if p.is_file()]


def _practice(run: Path) -> Iterator[Path]:
    """Give the files of an exploiter's training that is under way, each response a run."""
    for path in sorted(run.iterdir()):
        if path.is_file():
            yield path
        elif (path / CONFIG).is_file():
            # All policies: the best is chosen among them.
            judged = set((path / POLICIES).iterdir())
            yield from sorted({*needed(path), *judged})


def _digests(folder: Path) -> set[str]:
    """Return the digests of all who may sit at the run's tables again, and of its champion or
    best policy."""
    settings = saved_settings(folder)
    digests = {settings.supervised_digest, *settings.evaluation.digests.values()}
    digests |= {opponent.digest for opponent in settings.rollouts.opponents}
    with reading_run(folder / DATABASE, RefusedError) as run:
        digests |= {row.digest for row in run.rows(PlayerRow)}
        for kind in ("promotion", "best"):
            chosen = [row for row in run.rows(EventRow) if row.kind == kind]
            digests |= {str(row.body["digest"]) for row in chosen[-1:]}
    return digests
