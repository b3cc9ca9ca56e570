"""The page of a live bot: how its score went, who played, what the gate decided.

One HTML file that opens without a network. Knows nothing of where the numbers come from.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lanista.evaluation.score import Estimate, mean_score
from lanista.files import write_text
from lanista.live.learner.ledger import Event
from lanista.report.live_record import DECIDED, LiveRecord, RunningTest, Service, score_of
from lanista.report.pages.charts import GREY, Figure, Line, chart, count, panel
from lanista.report.pages.html import (
    Chart,
    Element,
    Facts,
    Folded,
    Panels,
    Section,
    Table,
    Words,
    document,
)

_WINDOWS = 40
"""Most points of the curve of the score."""
_LEAST_WINDOW = 50
"""Games of a point, if there are as many."""


def live_page(record: LiveRecord) -> str:
    """Return the page as HTML."""
    sections = live_sections(record)
    title = " · ".join(word for word in (record.game, record.name) if word)
    return document(title, headline(record), [_facts(record)], sections)


def live_sections(record: LiveRecord) -> list[Section]:
    """Return all that the page says, in order."""
    sections = [
        running_tests(record), _score(record), _policies(record), _decisions(record),
        _learning(record),
    ]  # fmt: skip
    return [section for section in sections if section is not None]


def running_tests(record: LiveRecord) -> Section | None:
    """Return how the gate's tests stand that have not ended; None: none runs."""
    if not record.tests:
        return None
    rows = [
        [
            f"{test.digest[:12]} ({'the one before' if test.watching else 'candidate'})",
            f"{test.facts['games']:,}",
            *(_share(test.facts[name]) for name in ("score", "score_before")),
            _difference(test.facts),
            *(_evidence(test, claim) for claim in _CLAIMS),
        ]
        for test in record.tests
    ]
    columns = (
        *("tested beside the stable policy", "games", "score of the new", "of the other"),
        *("difference", *(f"evidence: {claim.replace('_', ' ')}" for claim in _CLAIMS)),
    )
    lead = (
        "The difference holds at every look at once. Evidence begins at 1; at the number after the "
        "stroke the gate decides."
    )
    return Section("The gate's running test", [Table(columns, rows)], lead)


_CLAIMS = ("better", "worse", "not_worse", "futile")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _difference(facts: Mapping[str, Any]) -> str:
    apart = facts["difference"]
    return "–" if apart is None else f"{apart:+.3f} [{facts['low']:+.3f}, {facts['high']:+.3f}]"


def _evidence(test: RunningTest, claim: str) -> str:
    if claim not in test.needed or claim not in test.evidence:
        return "–"
    return f"{test.evidence[claim]:.3g} / {test.needed[claim]:.3g}"


def write_live_report(record: LiveRecord, output: Path) -> list[Path]:
    """Write the page and its numbers into a folder; return their paths."""
    paths = [output / "summary.json", output / "report.html"]
    numbers = {"made_by": "lanista report", **live_summary(record)}
    write_text(paths[0], json.dumps(numbers, indent=1) + "\n")
    write_text(paths[1], live_page(record))
    return paths


def headline(record: LiveRecord) -> list[str]:
    """Return what came of it in two sentences."""
    ladder = record.ladder
    played = f"{record.totals.games:,} {_plural(record.totals.games, 'game')} took effect."
    if not ladder:
        return ["No policy has a result in service yet.", played]
    first, steps = ladder[0], _steps(record)
    sentence = f"The first policy scores {_said(first.stable)} in service"
    if record.stable == first.digest:
        again = f"after {steps} it is the one in service again"
        return [f"{sentence}; {again if steps else 'none was better so far'}.", played]
    now = None if record.now is None else record.now.stable
    scores = "has no result yet" if now is None else f"scores {_said(now)}"
    later = f", {steps} later," if steps else ""
    return [f"{sentence}; the policy in service now{later} {scores}.", played]


def _steps(record: LiveRecord) -> str:
    """Return how often the stable policy changed, and by whom."""
    counts = {"publication": len(record.publications), "change": len(record.by_hand)}
    phrases = [f"{times} {_plural(times, noun)}" for noun, times in counts.items() if times]
    return " and ".join(phrases) + (" by hand" if record.by_hand else "")


def _plural(number: int, word: str) -> str:
    return word if number == 1 else f"{word}s"


def live_summary(record: LiveRecord) -> dict[str, Any]:
    """Return the numbers of the page, for programs."""
    return {
        "game": record.game,
        "stable": record.stable,
        "candidate": record.candidate,
        "others": list(record.others),
        "share": record.share,
        "games": record.totals.games,
        "learned": record.totals.learned,
        "publications": len(record.publications),
        "batches": record.totals.batches,
        "samples": record.totals.samples,
        "average_loss": record.totals.loss,
        "cpu_seconds": record.totals.cpu_seconds,
        "policies": [
            {
                "digest": service.digest,
                "update": service.update,
                "published": service.published,
                "in_service": _plain(service.stable),
                "as_second": _plain(service.second),
                "without_result": service.missing,
            }
            for service in record.services
        ],
        "events": [
            {"update": event.update_number, "at": event.at, "kind": event.kind, **event.body}
            for event in record.events
        ],
    }


def _facts(record: LiveRecord) -> Facts:
    totals = record.totals
    return Facts(
        [
            ("Games", count(totals.games)),
            ("Publications", count(len(record.publications))),
            ("Updates", count(totals.batches)),
            ("Decisions learned from", count(totals.samples)),
            ("Learner's CPU seconds", count(totals.cpu_seconds)),
        ]
    )


def _score(record: LiveRecord) -> Section:
    """Return the score of all games in the order they took effect, whoever played them."""
    scores = [(number, score_of(row)) for number, row in enumerate(record.games, 1)]
    scored = [(number, score) for number, score in scores if score is not None]
    if len(scored) < 2:
        return Section("Score over games", [Words("There are too few games with a result.")])
    points = max(1, min(_WINDOWS, len(scored) // _LEAST_WINDOW))
    windows = np.array_split(np.array(scored), points)
    x = [float(window[:, 0].mean()) for window in windows]
    means = [mean for window in windows if (mean := mean_score(window[:, 1])) is not None]
    line = Line(
        "all games", x, [m.value for m in means], [m.low for m in means], [m.high for m in means]
    )
    figure = chart([line], "score", share=True, even=0.5, digits=".3f", x_name="game")
    lines = _marked(record, figure)
    width = len(scored) // points
    caption = f"Each point is {width:,} games in a row, or one more; the band is a 95 % interval."
    if lines:
        caption += " Upright lines: a policy was published."
    says = "The live score over games, with its interval and the moments of publication."
    return Section("Score over games", [Chart(figure, says, caption)])


def _marked(record: LiveRecord, figure: Figure) -> int:
    """Draw an upright line at each publication; return how many."""
    ends = np.array([row.update_number for row in record.games])
    for event in record.publications:
        at = int(np.searchsorted(ends, event.update_number, side="right"))
        figure["layout"]["shapes"].append(
            {
                "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at,
                "line": {"color": GREY, "width": 1, "dash": "dash"}, "layer": "below",
            }
        )  # fmt: skip
    return len(record.publications)


def _policies(record: LiveRecord) -> Section:
    shown = {record.stable, record.candidate, *record.others}
    served = [
        service for service in record.services if service.published or service.digest in shown
    ]
    others = [_row(service, record) for service in record.services if service not in served]
    elements: list[Element] = [Table(_COLUMNS, [_row(service, record) for service in served])]
    if others:
        title = f"{len(others):,} that were never in service"
        elements.append(Folded(title, _lines(_COLUMNS, others)))
    lead = (
        "In service: as the stable policy. As second: as a candidate on trial, or kept beside a "
        "newer one; a published policy's trial leans upwards, since it is why it was published."
    )
    return Section("Policies in service", elements, lead)


_COLUMNS = ("policy", "made after update", "score in service", "score as second", "no result")


def _row(service: Service, record: LiveRecord) -> list[str]:
    mark = " (stable)" if service.digest == record.stable else ""
    mark = " (second)" if service.digest in (record.candidate, *record.others) else mark
    return [
        f"{service.digest[:12]}{mark}",
        "–" if service.update is None else f"{service.update:,}",
        _said(service.stable),
        _said(service.second),
        f"{service.missing:,}",
    ]


def _lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as plain text."""
    widths = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (columns, *rows)
    )


_TURNS = ("published", "kept", "rolled_back", "void", "changed", "broken")
"""What changes who plays, or says that something is wrong; of the rest there is too much."""


def _decisions(record: LiveRecord) -> Section:
    kinds = ("candidate", *DECIDED, "returned", "changed", "broken")
    events = [event for event in record.events if event.kind in kinds]
    if not events:
        return Section("What the gate decided", [Words("No candidate was offered yet.")])
    columns = ("update", "when", "what", "policy", "reason", "games", "difference")
    turns = [_event(event) for event in events if event.kind in _TURNS]
    elements: list[Element] = [Words(_counted(record))]
    if turns:
        elements.append(Table(columns, turns, words=(1, 2, 3, 4)))
    elements.append(Folded("Everything in order", _lines(columns, [_event(e) for e in events])))
    lead = "The difference is the new policy's score less the other's, as it was tested."
    return Section("What the gate decided", elements, lead)


def _counted(record: LiveRecord) -> str:
    """Say what became of the candidates."""
    kinds = Counter(event.kind for event in record.events)
    offered = kinds["candidate"] + kinds["vetoed"]
    ends = [
        (kinds["published"], "published"),
        (kinds["rejected"], "rejected"),
        (kinds["vetoed"], "vetoed by recorded games before they played"),
        (kinds["superseded"], "replaced by newer weights before a decision"),
    ]
    phrases = ", ".join(f"{number:,} {outcome}" for number, outcome in ends if number)
    return f"Candidates: {offered:,}" + (f"; {phrases}." if phrases else ".")


def _event(event: Event) -> list[str]:
    body = event.body
    moment = datetime.datetime.fromtimestamp(event.at, datetime.UTC)
    # Not broken over two lines.
    when = moment.strftime("%Y-%m-%d\u00a0%H:%M:%S")
    apart = body.get("difference")
    difference = "" if apart is None else f"{apart:+.3f} [{body['low']:+.3f}, {body['high']:+.3f}]"
    reason = str(body.get("reason") or body.get("said") or body.get("sentence") or "")
    who = str(body.get("digest") or body.get("stable") or "")[:12]
    games = f"{body['games']:,}" if "games" in body else ""
    kind = "changed by hand" if event.kind == "changed" else event.kind.replace("_", " ")
    return [f"{event.update_number:,}", when, kind, who, reason, games, difference]


def _learning(record: LiveRecord) -> Section:
    panels = [
        (name, f"{points[-1][1]:.3g}", panel([_line(name, points)]))
        for name, points in _joined(record.metrics).items()
        if len(points) > 1
    ]
    totals = record.totals
    ratio = totals.trained / totals.samples if totals.samples else 0.0
    loss = "not known yet" if totals.loss is None else f"{totals.loss:.4f}"
    words = Words(
        f"{totals.learned:,} games were learned from, {totals.stale:,} were of weights "
        f"too old or too far, {totals.repeated:,} files were copies. Each "
        f"decision was gone over {ratio:.2f} times on average; the average loss is {loss}."
    )
    return Section("The learner", [words, *([Panels(panels)] if panels else [])])


def _joined(
    metrics: Mapping[str, list[tuple[int, float]]],
) -> dict[str, list[tuple[int, float]]]:
    """Return the metrics, with the entropy of all heads as one."""
    heads = [points for name, points in metrics.items() if name.startswith("policy/entropy")]
    curves = {k: v for k, v in metrics.items() if not k.startswith("policy/entropy")}
    if heads:
        sums: dict[int, float] = {}
        for points in heads:
            for update, value in points:
                sums[update] = sums.get(update, 0.0) + value
        curves["entropy of all heads"] = sorted(sums.items())
    return curves


def _line(name: str, points: Sequence[tuple[int, float]]) -> Line:
    return Line(name, [float(at) for at, _ in points], [value for _, value in points])


def _said(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f} ({estimate.n:,} games)"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}] ({estimate.n:,} games)"


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else dict(vars(estimate))
