"""The section of a pipeline's stages, and those of the runs before its last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanista.report.pages import learning, strength
from lanista.report.pages.html import Section, Table
from lanista.report.run_record import RunRecord


def staged(rows: Sequence[Mapping[str, str]] | None) -> Section | None:
    """Return the table of all stages; None for a run that is no pipeline's."""
    if not rows:
        return None
    cells = [(row["stage"], row["work"], row["result"]) for row in rows]
    lead = "What the pipeline did, stage by stage; the rest of the page is about its last run."
    columns = ("stage", "what was done", "what came of it")
    return Section("Stages", [Table(columns, cells, words=(0, 1, 2))], lead)


def earlier_sections(stage: str, record: RunRecord, summary: Mapping[str, Any]) -> list[Section]:
    """Return how a run before the last one got on, its stage in every title."""
    sections = [strength.against_bots(record, summary), learning.losses(record)]
    return [
        replace(section, title=f"Stage {stage}: {section.title[0].lower()}{section.title[1:]}")
        for section in sections
        if section is not None
    ]
