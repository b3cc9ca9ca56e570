"""The numbers of imitation as FILE.json has them. Knows nothing of how they came about."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanista.data.demonstrations import OUTCOMES, UNKNOWN
from lanista.learn.imitation.report import ImitationReport

if TYPE_CHECKING:
    from lanista.data.feedback import FeedbackSummary
    from lanista.training.imitate import Imitated, Lesson, Task


def json_path(output: Path) -> Path:
    """Return where the numbers go: beside the policy file."""
    return output.with_name(f"{output.name}.json")


def config_of(task: Task) -> dict[str, Any]:
    """Return all that was asked for, as plain values."""
    plain = asdict(task)
    for name, value in plain.items():
        if isinstance(value, Path):
            plain[name] = str(value)
        elif isinstance(value, tuple):
            plain[name] = list(value)
    return plain


def as_json(task: Task, lesson: Lesson, feedback: FeedbackSummary | None, done: Imitated) -> str:
    """Return the text of FILE.json."""
    data = lesson.data
    outcomes = {
        name: int((data.outcome == number).sum()) for number, name in enumerate(OUTCOMES)
    } | {"unknown": int((data.outcome == UNKNOWN).sum())}
    value = {
        "policy": {"file": str(task.output), "digest": done.digest},
        "interrupted": done.interrupted,
        "settings": config_of(task),
        "game": {
            "name": data.spec.name,
            "settings": dict(data.spec.settings),
            "rules_version": data.spec.facts.rules_version,
            "observation_version": data.spec.facts.observation_version,
        },
        "data": {
            "digest": data.digest(),
            "decisions": len(data),
            "matches": data.matches,
            "trajectories": data.trajectories,
            "learned_decisions": lesson.decisions,
            "held_out_decisions": len(data.rows(lesson.held_out)),
            "outcomes": outcomes,
            "sources": list(data.sources),
            "teachers": [asdict(teacher) for teacher in data.teachers],
            "extras": sorted(data.extras),
            "feedback": None if feedback is None else feedback.as_json(),
        },
        "epochs": done.epochs,
        "best_epoch": done.best_epoch,
        "history": done.history,
        "held_out": None if done.report is None else _judgement(done.report),
        "strength": None if done.strength is None else asdict(done.strength),
    }
    return json.dumps(value, indent=2, default=str) + "\n"


def _judgement(judgement: ImitationReport) -> dict[str, Any]:
    plain = asdict(judgement)
    for entry, head in zip(plain["heads"], judgement.heads, strict=True):
        entry["gain"] = head.gain
    return plain
