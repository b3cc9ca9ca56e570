"""What a run's page shows, kept until the run's files change: the sections of the report.

Strength takes longer than learning, since all matches are counted, so it is made again only when
there are new ones and never takes more than a small share of the time. Knows nothing of HTTP.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lanista.errors import LanistaError
from lanista.pipeline.recipe import EVALUATION
from lanista.report.exports import read_evaluation
from lanista.report.glance import glance
from lanista.report.pages import learning
from lanista.report.pages.evaluation import evaluated
from lanista.report.pages.exploitability import worst_case
from lanista.report.pages.run_page import learning_sections, strength_sections
from lanista.report.pages.strength import headline
from lanista.report.run_record import RunRecord
from lanista.report.summary import summarise
from lanista.runs.layout import DATABASE
from lanista.runs.reader import look_at_run
from lanista.view.runs.elements import plain_sections
from lanista.view.runs.standing import mark_of

PartName = Literal["learning", "strength"]
SHARE = 0.003
"""Of one core, that counting the matches of a run that goes on may take."""
MOST_KEPT = 16
"""Runs whose sections are kept."""


@dataclass
class Part:
    """Some sections of a run, as they were at one moment."""

    mark: Any = None
    version: int = 0
    json: str = "{}"
    """`sections` and `headline`, written once for all pages that show them."""
    not_before: float = 0.0
    """On the monotonic clock; until then what is there must do."""


class RunParts:
    """The sections of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts: dict[str, Part] = {"learning": Part(), "strength": Part()}
        self._turns = {name: threading.Lock() for name in self._parts}

    def learning(self) -> Part:
        """Return the curves, as new as the run's files."""
        return self._renewed("learning", mark_of(self.folder), self._learn)

    def strength(self, evaluations: int) -> tuple[Part, float]:
        """Return scores, ratings and findings, and in how many seconds newer ones can be had.

        `evaluations` is how many there are now; 0 seconds: these are the newest.
        """
        part = self._parts["strength"]
        wait = part.not_before - time.monotonic()
        if part.version and part.mark != evaluations and wait > 0:
            return part, wait
        return self._renewed("strength", evaluations, self._count), 0.0

    def _renewed(
        self, name: str, mark: Any, make: Callable[[], tuple[list[dict[str, Any]], list[str]]]
    ) -> Part:
        with self._turns[name]:
            part = self._parts[name]
            if part.version and part.mark == mark:
                return part
            began = time.thread_time()
            sections, sentences = make()
            version = part.version + 1
            body = {"version": version, "sections": sections, "headline": sentences}
            text = json.dumps(body, allow_nan=False, separators=(",", ":"))
            later = time.monotonic() + (time.thread_time() - began) / SHARE
            self._parts[name] = Part(mark, version, text, later)
            return self._parts[name]

    def _record(self, *, matches: bool) -> RunRecord:
        path = self.folder / DATABASE
        return look_at_run(path, lambda run: glance(run, self.folder, matches=matches))

    def _learn(self) -> tuple[list[dict[str, Any]], list[str]]:
        sections = learning_sections(self._record(matches=False))
        return plain_sections(list(sections.values())), []

    def _count(self) -> tuple[list[dict[str, Any]], list[str]]:
        record = self._record(matches=True)
        summary = summarise(record, by_order=False)
        sections = [learning.findings(summary), *strength_sections(record, summary).values()]
        if record.matches or record.metrics:
            sentences = [*headline(record, summary), worst_case(record, summary)]
        else:
            sentences = ["There are no numbers yet: the first update is being played."]
        return plain_sections(sections), [sentence for sentence in sentences if sentence]


class PartsKept:
    """The sections of the runs that were looked at last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, RunParts] = OrderedDict()
        self._turn = threading.Lock()

    def of(self, folder: Path) -> RunParts:
        """Return a run's sections."""
        with self._turn:
            parts = self._kept.setdefault(folder, RunParts(folder))
            self._kept.move_to_end(folder)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return parts


def pipeline_sections(folder: Path) -> list[dict[str, Any]]:
    """Return what a pipeline has to say beyond its runs: its final evaluation."""
    path = folder / EVALUATION
    try:
        return plain_sections([evaluated(read_evaluation(path))]) if path.is_file() else []
    except LanistaError:
        return []  # It is being written, or is of another version; its run's pages go without.
