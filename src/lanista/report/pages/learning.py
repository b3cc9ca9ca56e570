"""The sections about learning: losses, entropy and KL, schedules, matchmaking, compute, notices.

Each takes the record and gives a section, or None where nothing was measured. Knows nothing of
HTML or of ratings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lanista.report.pages.charts import Figure, Line, bars, chart, count, panel, stacked
from lanista.report.pages.html import (
    Chart,
    Element,
    Facts,
    Folded,
    Panels,
    Section,
    Swatches,
    Table,
    Words,
)
from lanista.report.pages.results import said
from lanista.report.plot import COLOURS
from lanista.report.run_record import RunRecord, Series, owner
from lanista.runs.league_settings import CATEGORIES

MOST_ROWS, MOST_SPEEDS = 200, 100


def _line(name: str, series: Series) -> Line:
    return Line(name, [float(x) for x, _ in series], [y for _, y in series])


def _wanted(record: RunRecord, is_shown: Callable[[str], bool]) -> dict[str, dict[str, Series]]:
    """Return series by metric and learner; numbered parts (heads, members) are added up."""
    series_by_metric: dict[str, dict[str, Series]] = {}
    for name, series in sorted(record.metrics.items()):
        learner, own = owner(record.learners, name)
        if not is_shown(own):
            continue
        whole, _, number = own.rpartition("/")
        own = whole if number.isdigit() else own
        there = series_by_metric.setdefault(own, {})
        there[learner] = _added(there[learner], series) if learner in there else series
    return series_by_metric


def _added(first: Series, second: Series) -> Series:
    other = dict(second)
    return tuple((update, value + other[update]) for update, value in first if update in other)


def _panels(
    record: RunRecord, series_by_metric: Mapping[str, Mapping[str, Series]]
) -> list[Element]:
    """Return a small chart for each metric, a line for each learner."""
    shades = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(record.learners)}
    small = []
    for name, by_learner in series_by_metric.items():
        lines = [
            replace(_line(learner, series), shade=shades.get(learner, COLOURS[0]))
            for learner, series in by_learner.items()
        ]
        ends = [series[-1][1] for series in by_learner.values() if series]
        note = f"{ends[0]:.4g} at the end" if len(ends) == 1 else ""
        small.append((name, note, panel(lines)))
    several = len({who for by_learner in series_by_metric.values() for who in by_learner}) > 1
    return [*([Swatches(list(shades.items()))] if several else []), Panels(small)]


def _is_loss(name: str) -> bool:
    return name.endswith("/loss") or name == "loss"


# The same number under another name.
DOUBLES = {"policy/approx_kl": "policy/behaviour_kl", "entropy/entropy": "policy/entropy"}


def _is_spread(name: str) -> bool:
    word = [word for word in name.split("/") if not word.isdigit()][-1]
    return word in ("entropy", "kl") or word.startswith("kl_") or word.endswith("_kl")


def losses(record: RunRecord) -> Section | None:
    """Return the terms of the loss over updates."""
    series_by_metric = _wanted(record, _is_loss)
    if not series_by_metric:
        return None
    lead = "Each term before its weight is applied, over updates. The scales differ."
    return Section("Loss terms", _panels(record, series_by_metric), lead)


def entropy_and_kl(record: RunRecord) -> Section | None:
    """Return the policy's entropy and how far it moves."""
    series_by_metric = _wanted(record, _is_spread)
    series_by_metric = {
        name: rows
        for name, rows in series_by_metric.items()
        if DOUBLES.get(name) not in series_by_metric
    }
    if not series_by_metric:
        return None
    lead = (
        "Entropy says how much the policy still explores. KL says how far it is from its reference "
        "or from the policy that played. In nats per decision, over all heads of a decision."
    )
    return Section("Entropy and KL", _panels(record, series_by_metric), lead)


_HEALTH = (
    "value/explained_variance", "value/q_explained_variance", "lag/mean", "lag/max",
    "policy/clip_fraction", "gradient_norm/policy", "gradient_norm/critic",
)  # fmt: skip


def critic_and_staleness(record: RunRecord) -> Section | None:
    """Return how well the critic predicts, how old the learned decisions were, how large steps."""
    series_by_metric = _wanted(record, lambda name: name in _HEALTH)
    if not series_by_metric:
        return None
    lead = (
        "Explained variance: 1 predicts every return, 0 is no better than their mean. Lag: how "
        "many updates old the weights were that made a decision. Gradient norms are before "
        "clipping."
    )
    return Section("Critic and staleness", _panels(record, series_by_metric), lead)


def _is_scheduled(name: str) -> bool:
    return name in ("lr", "temperature", "shaping_scale") or name.endswith("/weight")


def schedules(record: RunRecord) -> Section | None:
    """Return every number that a schedule sets, as it was at each update."""
    series_by_metric = _wanted(record, _is_scheduled)
    if not series_by_metric:
        return None
    lead = (
        "Learning rate, the temperature at which the policy plays and learns, the weight of reward "
        "shaping where it fades, and the weight of each loss term."
    )
    return Section("Schedules", _panels(record, series_by_metric), lead)


def matchmaking(record: RunRecord) -> Section | None:
    """Return how the weights of the categories of opponents moved, for each learner."""
    category = {player.name: player.category for player in record.players}
    by_learner: dict[str, dict[int, dict[str, float]]] = defaultdict(dict)
    for drawn in record.matchmaking:
        shares = by_learner[drawn.learner].setdefault(drawn.update, defaultdict(float))
        kind = category.get(drawn.opponent, "other")
        # A learner of the run is of category self to itself alone.
        other = kind == "self" and drawn.opponent != drawn.learner
        shares["other learner" if other else kind] += drawn.weight
    elements: list[Element] = []
    for learner, by_update in by_learner.items():
        x, y = _steps(by_update, record.updates)
        figure = stacked(x, y, "share of matches")
        elements.append(
            Chart(figure, f"Matchmaking weights of {learner}", _whose(learner, by_learner))
        )
        elements.append(_shares(record, learner, category))
    if not elements:
        return None
    lead = "How likely each category of opponent was to be drawn, as recorded before it was used."
    return Section("Matchmaking", elements, lead)


def _shares(record: RunRecord, learner: str, category: Mapping[str, str]) -> Table:
    """Return each opponent's share of the learner's matches, at first and at last."""
    by_update: dict[int, dict[str, float]] = {}
    for drawn in record.matchmaking:
        if drawn.learner == learner:
            shares = by_update.setdefault(drawn.update, defaultdict(float))
            shares[drawn.opponent] += drawn.weight
    first, last = by_update[min(by_update)], by_update[max(by_update)]
    names = sorted({*first, *last}, key=lambda name: (-last.get(name, 0.0), name))[:MOST_ROWS]
    rows = [
        (
            name,
            category.get(name, "other"),
            *(f"{100 * of.get(name, 0.0):.1f} %" for of in (first, last)),
        )
        for name in names
    ]
    return Table((f"opponent of {learner}", "category", "first", "last"), rows, words=(0, 1))


def _whose(learner: str, among: Iterable[str]) -> str:
    return f"Opponents of {learner}." if len(list(among)) > 1 else ""


def _steps(
    by_update: Mapping[int, Mapping[str, float]], last: int
) -> tuple[list[float], dict[str, list[float | None]]]:
    """Return shares by category at each update, the last of them held to the end of the run."""
    updates = sorted(by_update)
    rows = [by_update[update] for update in updates]
    if last > updates[-1]:
        updates, rows = [*updates, last], [*rows, rows[-1]]
    categories = {name for row in rows for name in row}
    names = [name for name in CATEGORIES if name in categories] + sorted(
        categories - set(CATEGORIES)
    )
    return [float(u) for u in updates], {n: [row.get(n, 0.0) for row in rows] for n in names}


def win_rates(record: RunRecord) -> Section | None:
    """Return the learner's results in training by category of opponent."""
    series_by_metric = _wanted(record, lambda name: name.startswith("win_rate/"))
    by_learner: dict[str, list[Line]] = defaultdict(list)
    for name in sorted(series_by_metric, key=_category_place):
        for learner, series in series_by_metric[name].items():
            by_learner[learner].append(_line(name.removeprefix("win_rate/"), series))
    elements: list[Element] = [
        Chart(
            chart(lines, "win rate", share=True, even=0.5, digits=".2f"),
            "Win rate in training by category",
            _whose(learner, by_learner),
        )
        for learner, lines in sorted(by_learner.items(), key=lambda pair: _place(record, pair[0]))
    ]
    if not elements:
        return None
    lead = (
        "In training games, against opponents that change with the matchmaking: a lower rate "
        "can mean harder opponents."
    )
    return Section("Win rate by category", elements, lead)


def _place(record: RunRecord, learner: str) -> int:
    return record.learners.index(learner) if learner in record.learners else 0


def _category_place(name: str) -> tuple[int, str]:
    category = name.removeprefix("win_rate/")
    is_usual = category in CATEGORIES
    return (CATEGORIES.index(category) if is_usual else len(CATEGORIES)), category


def compute(record: RunRecord) -> Section | None:
    """Return where the CPU seconds went and what came of them."""
    elements: list[Element] = []
    totals = {name: value for name, value in record.compute.items() if value}
    if pairs := _totals(totals):
        elements.append(Facts(pairs))
    split = {n: v for n, v in totals.items() if n.startswith("cpu_seconds/")}
    if split:
        elements.append(Chart(_spent(record, split), "CPU seconds by stage"))
    if speed := _speed(record):
        title = "decisions per CPU second"
        figure = chart([speed], title, height=260, digits=",.0f", from_zero=True)
        elements.append(Chart(figure, f"{title} over updates"))
    return Section("Where the compute went", elements) if elements else None


def _totals(totals: Mapping[str, float]) -> list[tuple[str, str]]:
    facts = [
        (title, count(totals[name]))
        for name, title in (
            ("decisions", "Decisions"), ("matches", "Matches"), ("cpu_seconds", "CPU seconds"),
            ("wall_seconds", "Seconds by the clock"),
        )
        if name in totals
    ]  # fmt: skip
    if "decisions" in totals and "cpu_seconds" in totals:
        rate = totals["decisions"] / totals["cpu_seconds"]
        facts.append(("Decisions per CPU second", count(rate)))
    return facts


def _spent(record: RunRecord, split: Mapping[str, float]) -> Figure:
    """Return a bar for each learner, and for each part that is no learner's."""
    cells: dict[str, dict[str, float]] = defaultdict(dict)
    for name, value in split.items():
        own = name.removeprefix("cpu_seconds/")
        row = next((who for who in record.learners if own.startswith(f"{who}/")), own)
        cells[row][own.removeprefix(row).strip("/") or "play and learning"] = value
    rows = sorted(cells, key=lambda row: -sum(cells[row].values()))
    stages = list(dict.fromkeys(stage for row in rows for stage in cells[row]))
    seconds_by_stage = {stage: [cells[row].get(stage) for row in rows] for stage in stages}
    return bars(rows, seconds_by_stage, "CPU seconds")


def _speed(record: RunRecord) -> Line | None:
    """Return decisions per CPU second of the whole run, between updates that have both totals."""
    seconds = dict(record.metrics.get("cpu_seconds", ()))
    both = [(u, d, seconds[u]) for u, d in record.metrics.get("decisions", ()) if u in seconds]
    both = both[:: max(1, len(both) // MOST_SPEEDS)]
    x, y = [], []
    for (_, before, start), (update, after, end) in pairwise(both):
        if end > start:
            x.append(float(update))
            y.append((after - before) / (end - start))
    return Line("decisions per CPU second", x, y) if x else None


def settings(record: RunRecord) -> Section | None:
    """Return the settings as the run resolved them."""
    if not record.settings.strip():
        return None
    lead = "As the run resolved them: files by digest, defaults written out."
    return Section("Settings", [Folded("config.yaml", record.settings)], lead)


def findings(summary: Mapping[str, Any]) -> Section | None:
    """Return what is wrong with the run, as `lanista doctor` says it; None: nothing."""
    rows = [
        (finding["name"], f"{finding['sentence']} {finding['meaning']}", finding["remedy"])
        for finding in summary.get("findings", ())
    ]
    if not rows:
        return None
    table = Table(("finding", "what is the case", "remedy"), rows, words=(0, 1, 2))
    return Section("Findings", [table], "What keeps the policy from getting better.")


def events(record: RunRecord) -> Section | None:
    """Return what happened and what the user was told, newest last."""
    rows = [
        (event.update, event.kind.replace("_", " "), event.player, _body(event.body))
        for event in record.events
    ]
    rows += [(update, "notice", "", sentence) for update, sentence in record.notices]
    if not rows:
        return None
    rows.sort(key=lambda row: row[0])
    cells = [(str(update), kind, player, body) for update, kind, player, body in rows[-MOST_ROWS:]]
    elements: list[Element] = [Table(("update", "what", "player", "more"), cells, words=(1, 2, 3))]
    if len(rows) > MOST_ROWS:
        elements.insert(0, Words(f"The newest {MOST_ROWS} of {len(rows)}."))
    return Section("Events and notices", elements)


def _body(body: Mapping[str, Any]) -> str:
    """Return what an event says beside its kind: what is unknown or long is left to the tables."""
    phrases = []
    for name, value in body.items():
        if (words := _short(value)) is not None:
            phrases.append(f"{name.replace('_', ' ')} {words}")
    return ", ".join(phrases)


def _short(value: Any) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return value[:12] if len(value) == 64 else value
    if isinstance(value, Mapping) and isinstance(value.get("value"), float):
        return said(value["value"], value.get("low"), value.get("high"))
    return None
