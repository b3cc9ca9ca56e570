"""The report page: one HTML file that opens without a network.

Decides what the page says first and in which order its sections come. What was not measured is
named at the end, never shown empty. Knows nothing of how anything is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanista.report.pages import learning as learning
from lanista.report.pages import strength as strength
from lanista.report.pages.charts import count
from lanista.report.pages.evaluation import evaluated
from lanista.report.pages.evaluation import headline as evaluated_in_short
from lanista.report.pages.exploitability import exploitability, worst_case
from lanista.report.pages.family_tree import family
from lanista.report.pages.html import Facts, Section, Words, document
from lanista.report.pages.stages import earlier_sections, staged
from lanista.report.run_record import RunRecord

Summary = Mapping[str, Any]


def page(
    record: RunRecord, summary: Summary, earlier: Sequence[tuple[str, RunRecord, Summary]] = ()
) -> str:
    """Return the page as HTML; `summary` is what summary.json holds.

    `earlier` are the runs of a pipeline before this one, each with its stage.
    """
    evaluation = summary.get("evaluation")
    section_by_name = {**strength_sections(record, summary), **learning_sections(record)}
    sections = [section for section in section_by_name.values() if section is not None]
    if (faults := learning.findings(summary)) is not None:
        sections.insert(0, faults)
    for stage, its_record, its_summary in earlier:
        sections += earlier_sections(stage, its_record, its_summary)
    if (last := evaluated(evaluation)) is not None:  # Pipelines alone end in one.
        sections.insert(0, last)
    if (stages := staged(summary.get("stages"))) is not None:
        sections.insert(0, stages)
    missing = [name for name, section in section_by_name.items() if section is None]
    if missing:
        words = Words(f"Not measured: {', '.join(missing)}.")
        sections.append(Section("What is not here", [words]))
    title = " · ".join(word for word in (record.game, record.name) if word) or "Report"
    trained, *strong = strength.headline(record, summary)
    if evaluation:  # More games, and of the promoted policy: the run's own are in their section.
        strong = [evaluated_in_short(evaluation)]
    headline = [trained, *strong, worst_case(record, summary)]
    return document(title, headline, [_facts(record)], sections)


def strength_sections(record: RunRecord, summary: Summary) -> dict[str, Section | None]:
    """Return what is said about strength, by what it is called where it was not measured."""
    return {
        "score against each bot": strength.against_bots(record, summary),
        "ratings": strength.rated(record, summary),
        "payoff": strength.payoff(record, summary),
        "exploitability": exploitability(record, summary),
    }


def learning_sections(record: RunRecord) -> dict[str, Section | None]:
    """Return what is said about learning; no match of fixed players is looked at."""
    return {
        "family tree": family(record),
        "matchmaking weights": learning.matchmaking(record),
        "win rate by category": learning.win_rates(record),
        "loss terms": learning.losses(record),
        "entropy and KL": learning.entropy_and_kl(record),
        "critic and staleness": learning.critic_and_staleness(record),
        "schedules": learning.schedules(record),
        "compute": learning.compute(record),
        "events and notices": learning.events(record),
        "settings": learning.settings(record),
    }


def _facts(record: RunRecord) -> Facts:
    totals = {
        "Updates": record.updates,
        "Decisions": record.compute.get("decisions", 0.0),
        "CPU seconds": record.compute.get("cpu_seconds", 0.0),
        "Players": len(record.players),
        "Evaluated matches": len(record.matches),
    }
    return Facts([(name, count(value)) for name, value in totals.items() if value])
