"""What the page says first, and the sections on scores, ratings and who beats whom.

Numbers come from the summary's fixed-digest matches alone. Knows nothing of how they were counted.
"""

from __future__ import annotations

from lanista.report.pages.charts import Line, count, panel
from lanista.report.pages.charts_league import Level, heat_map, ratings
from lanista.report.pages.html import Chart, Element, Panels, Section, Table, Words
from lanista.report.pages.results import Met, Results, Summary, said, said_estimate
from lanista.report.run_record import RunRecord

MOST_IN_MAP = 40


def mains(record: RunRecord) -> list[str]:
    """Return the learners that the run is about."""
    by_role = [p.name for p in record.players if p.kind == "learner" and p.role == "main"]
    return by_role or list(record.learners[:1])


def headline(record: RunRecord, summary: Summary) -> list[str]:
    """Return what was trained and how strong it is, in sentences."""
    results = Results.of(record, summary)
    sentences = [_trained(record)]
    for learner in mains(record):
        sentences.append(_strong(results, learner))
    return sentences


def _trained(record: RunRecord) -> str:
    names = record.learners
    subject = f"{len(names)} learners ({', '.join(names)})" if len(names) > 1 else "One learner"
    where = f" of {record.game}" if record.game else ""
    spent = [f"{count(record.updates)} updates"]
    if "decisions" in record.compute:
        spent.append(f"{count(record.compute['decisions'])} decisions")
    if "cpu_seconds" in record.compute:
        spent.append(f"{count(record.compute['cpu_seconds'])} CPU seconds")
    return f"{subject}{where}: {', '.join(spent)}."


def _strong(results: Results, learner: str) -> str:
    newest = results.shown(learner)
    if newest is None:
        return f"How strong {learner} is was not measured."
    bots = [met for name, met in results.met[newest].items() if results.is_bot(name)]
    scored = sorted((m for m in bots if m.score), key=lambda m: m.score.value if m.score else 0.0)
    if not scored:
        return f"{newest} met no bot."
    sure = sum(met.score is not None and (met.score.low or 0.0) > 0.5 for met in scored)
    who = f"{newest}, the policy that was saved," if newest == results.champion else newest
    lowest, highest = scored[0], scored[-1]
    if len(scored) == 1:
        return f"{who} scores {said_estimate(lowest.score)} against {lowest.other}."
    return (
        f"{who} scores from {said_estimate(lowest.score)} against {lowest.other} to "
        f"{said_estimate(highest.score)} against {highest.other}; against {sure} of "
        f"{len(scored)} bots the whole 95 % interval is above one half."
    )


def against_bots(record: RunRecord, summary: Summary) -> Section | None:
    """Return each main's score against each bot over updates, and the table at the end."""
    results = Results.of(record, summary)
    elements: list[Element] = []
    for learner in mains(record):
        newest = results.shown(learner)
        if newest is None:
            continue
        if panels := _bot_panels(results, learner):
            elements += [
                *([Words(f"{learner}:")] if len(mains(record)) > 1 else []),
                Panels(panels),
            ]
        elements.append(Words(f"{newest} against everybody it met, hardest first:"))
        elements.append(_score_table(list(results.met[newest].values())))
    if not elements:
        return None
    lead = (
        "Score = (wins + ½ draws) / games, with its 95 % interval; the dotted line is even. Every "
        "deal is played in all seatings. The number beside a name is the last evaluation."
    )
    return Section("Score against each bot", elements, lead)


def _bot_panels(results: Results, learner: str) -> list[tuple[str, str, dict[str, object]]]:
    """Return a small chart for each bot, hardest first, all on the same axes."""
    curves: dict[str, list[tuple[float, Met]]] = {}
    for state in results.states(learner):
        for other, met in results.met[state].items():
            if results.is_bot(other) and met.score is not None:
                curves.setdefault(other, []).append((float(results.since[state]), met))
    ends = 0.0, 1.02 * max((x for points in curves.values() for x, _ in points), default=1.0)
    panels = []
    for bot, points in curves.items():
        scores = [met.score for _, met in points if met.score is not None]
        line = Line(
            bot, [x for x, _ in points], [s.value for s in scores], [s.low for s in scores],
            [s.high for s in scores],
        )  # fmt: skip
        figure = panel([line], share=True, even=0.5, digits=".3f", x_range=ends)
        panels.append((scores[-1].value, (bot, said_estimate(scores[-1]), figure)))
    return [shown_panel for _, shown_panel in sorted(panels, key=lambda pair: pair[0])]


def _score_table(met: list[Met]) -> Table:
    met.sort(key=lambda one: 1.0 if one.score is None else one.score.value)
    rows = [
        (
            one.other, said_estimate(one.score), said_estimate(one.win_rate), count(one.n),
            count(one.wins), count(one.draws), count(one.losses),
            said(one.smallest_difference),
        )
        for one in met
    ]  # fmt: skip
    columns = (
        "against", "score", "wins / games", "games", "wins", "draws", "losses",
        "smallest visible difference",
    )  # fmt: skip
    return Table(columns, rows)


def rated(record: RunRecord, summary: Summary) -> Section | None:
    """Return Bradley–Terry ratings: learners over updates, everybody else as a line."""
    fit = summary.get("bradley_terry")
    if not fit:
        return None
    results = Results.of(record, summary)
    rating = {row["player"]: row for row in fit["ratings"] if row["linked"]}
    lines = []
    for learner in record.learners:
        mine = [rating[name] for name in results.states(learner) if name in rating]
        if mine:
            x = [float(results.since[row["player"]]) for row in mine]
            value, low, high = ([row[key] for row in mine] for key in ("value", "low", "high"))
            lines.append(Line(learner, x, value, low, high))
    levels = [
        Level(name, row["value"])
        for name, row in rating.items()
        if not results.players[name]["learner"]
    ]
    figure = ratings(lines, levels, "rating")
    elements: list[Element] = [
        Chart(figure, "Ratings over updates", _missed(summary), least_width=520)
    ]
    fixed = f"{fit['anchor']} is 0" if fit["anchor"] else "the mean of all is 0"
    lead = (
        "Bradley–Terry fit to all matches of fixed players, on the Elo scale (100 points: a score "
        f"of 0.64), with 95 % intervals; {fixed}. Dotted lines are players that do not learn."
    )
    return Section("Ratings", [*elements, *_not_linked(summary), *_circles(summary)], lead)


def _missed(summary: Summary) -> str:
    missed = summary.get("unexplained")
    if not missed:
        return ""
    return (
        f"Ratings cannot explain {missed['share']:.1%} of {count(missed['n'])} games; if they were "
        f"the whole truth it would be {missed['by_chance']:.1%} by chance."
    )


def not_linked(summary: Summary) -> str:
    """Return a sentence about those whom no rating compares with the others; empty without any."""
    rows = (summary.get("bradley_terry") or {}).get("ratings", ())
    names = [row["player"] for row in rows if not row["linked"]]
    if not names:
        return ""
    return f"Not rated beside the others, since no chain of matches links them: {', '.join(names)}."


def _not_linked(summary: Summary) -> list[Element]:
    sentence = not_linked(summary)
    return [Words(sentence)] if sentence else []


def _circles(summary: Summary) -> list[Element]:
    circles = summary.get("circles") or []
    if not circles:
        return []
    named = "; ".join(f"{a} beats {b} beats {c} beats {a}" for a, b, c in circles[:5])
    more = f"; and {len(circles) - 5} more" if len(circles) > 5 else ""
    return [Words(f"Circles, each step with its whole interval above one half: {named}{more}.")]


def payoff(record: RunRecord, summary: Summary) -> Section | None:
    """Return the heat map of who beats whom."""
    results = Results.of(record, summary)
    rows = (summary.get("bradley_terry") or {}).get("ratings", ())
    order = [row["player"] for row in sorted(rows, key=lambda row: not row["linked"])]
    shown = _chosen(results, order)
    if len(shown) < 2:
        return None
    values = [[_value(results.met[me].get(other)) for other in shown] for me in shown]
    says = [[_cell(results.met[me].get(other)) for other in shown] for me in shown]
    few = "" if len(shown) == len(order) else f" {len(shown)} of {len(order)} players are shown."
    lead = (
        "Score of the row against the column, best rating first; blue is above one half, orange "
        f"below, and grey means that the two never met.{few}"
    )
    figure = heat_map(shown, values, says)
    width = 260 + 30 * len(shown) if len(shown) <= 26 else 640
    return Section("Who beats whom", [Chart(figure, "Payoff heat map", least_width=width)], lead)


def _chosen(results: Results, order: list[str]) -> list[str]:
    """Return who stands in the map: everybody, or some of the learners' states at even steps."""
    others = [name for name in order if not results.players[name]["learner"]]
    states = [name for name in order if results.players[name]["learner"]]
    states.sort(key=results.since.__getitem__)
    chosen = {*others, *spread(states, max(2, MOST_IN_MAP - len(others)))}
    return [name for name in order if name in chosen and not chosen.isdisjoint(results.met[name])]


def spread(values: list[str], most: int) -> list[str]:
    """Return at most `most` of them at even steps, the last one included."""
    if len(values) <= most:
        return values
    step = (len(values) - 1) / (most - 1)
    return [values[round(number * step)] for number in range(most)]


def _value(met: Met | None) -> float | None:
    return None if met is None or met.score is None else met.score.value


def _cell(met: Met | None) -> str:
    if met is None:
        return ""
    return (
        f"{said_estimate(met.score)}, {count(met.n)} games: {met.wins} won, {met.draws} drawn, "
        f"{met.losses} lost"
    )
