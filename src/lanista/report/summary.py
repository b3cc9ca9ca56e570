"""The numbers of a report, as `summary.json` has them: plain values, unknown is null.

Everything about strength rests on matches of fixed digests; training games say only how learners
fared by category of opponent. Knows nothing of files or of how numbers are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lanista.errors import LanistaError
from lanista.evaluation.meter import Reading, pool_reading
from lanista.evaluation.ratings import (
    ELO_K,
    ELO_START,
    Fit,
    PairCount,
    bradley_terry,
    circles,
    in_any_order,
    mean_elo,
    openskill,
    unexplained,
)
from lanista.evaluation.score import Estimate, mean_score, smallest_difference, wilson
from lanista.report.diagnosis import examine_run
from lanista.report.pairs import (
    Entrant,
    Pair,
    by_label,
    counted,
    entrants,
    first_seat_units,
    fold_pairs,
    linked,
)
from lanista.report.run_record import Match, Member, RunRecord, owner

VERSION = 1
Plain = dict[str, Any]


def summarise(record: RunRecord, *, anchor: str | None = None, by_order: bool = True) -> Plain:
    """Return all numbers; `anchor` is the player whose Bradley–Terry rating is 0.

    Without it the mean of all ratings is 0. Without `by_order` the ratings that go match by match
    (Elo, OpenSkill) are null: no page shows them, and they take most of the time. Keys are
    described in docs/reference/report.md.
    """
    players = entrants(record)
    matches = counted(record.matches)
    names = by_label({digest: entrant.label for digest, entrant in players.items()})
    pairs = fold_pairs(matches, names)
    rated = _rated(pairs, matches, names, anchor, by_order=by_order)
    fit = rated.pop("fit")
    return {
        "version": VERSION,
        "run": record.name,
        "game": record.game,
        "updates": record.updates,
        "matches": len(matches),
        "left_out": len(record.matches) - len(matches),
        "training_matches": sum(row.matches for row in record.training),
        "players": [_player(entrant) for entrant in players.values()],
        "win_rates": _crossed(pairs, lambda pair: (pair.wins, pair.losses)),
        "scores": _crossed(pairs, lambda p: (p.wins + p.draws / 2, p.losses + p.draws / 2)),
        "pairs": [_pair(pair, fit) for pair in pairs],
        "pairs_by_name": [_pair(pair) for pair in fold_pairs(matches, lambda line: line.names)],
        **rated,
        "circles": circles(_sure_wins(pairs)),
        "exploitability_proxy": _lowest(record, players, pairs, _is_past),
        "lowest_over_pool": _lowest(record, players, pairs, lambda member: True),
        "meter": _meter(record, players, pairs),
        "first_seat": estimate(mean_score(first_seat_units(matches))),
        "categories": _categories(record),
        "exploiters": exploiters(record),
        "findings": [asdict(finding) for finding in examine_run(record).findings],
        "compute": dict(record.compute),
    }


def estimate(measured: Estimate | None) -> Plain | None:
    """Return an estimate as plain values; None where nothing is known."""
    if measured is None:
        return None
    return {"value": measured.value, "low": measured.low, "high": measured.high, "n": measured.n}


def _player(entrant: Entrant) -> Plain:
    member = entrant.member
    return {
        "player": entrant.label, "name": entrant.name, "digest": entrant.digest,
        "kind": member.kind, "category": member.category, "role": member.role,
        "learner": entrant.learner, "update": entrant.update,
    }  # fmt: skip


def _pair(pair: Pair, fit: Fit | None = None) -> Plain:
    row = {
        "first": pair.first,
        "second": pair.second,
        "n": pair.games,
        "wins": pair.wins,
        "draws": pair.draws,
        "losses": pair.losses,
        "score": estimate(mean_score(pair.units)),
        "win_rate": estimate(wilson(pair.wins, pair.games)),
        "smallest_difference": smallest_difference(pair.units),
    }
    if fit is not None:
        row["expected"] = fit.expected(pair.first, pair.second)
    return row


def _crossed(pairs: Iterable[Pair], won: Any) -> dict[str, dict[str, float]]:
    """Return the share of games that each player has against each it met."""
    shares: dict[str, dict[str, float]] = {}
    for pair in pairs:
        first, second = won(pair)
        shares.setdefault(pair.first, {})[pair.second] = first / pair.games
        shares.setdefault(pair.second, {})[pair.first] = second / pair.games
    return shares


def _rated(
    pairs: Sequence[Pair],
    matches: Sequence[Match],
    names: Any,
    anchor: str | None,
    *,
    by_order: bool,
) -> Plain:
    """Return the three ratings and what they miss; nulls and a sentence where nobody met."""
    counts = [PairCount(p.first, p.second, p.wins, p.draws, p.losses) for p in pairs]
    try:
        fit = bradley_terry(counts, anchor=anchor)
    except LanistaError as error:
        if anchor is not None and pairs:
            raise
        unknown = dict.fromkeys(("elo", "bradley_terry", "openskill", "unexplained", "fit"))
        return {**unknown, "not_rated": str(error)}
    missed = unexplained(counts, fit)
    together = linked(pairs, anchor)
    return {
        "bradley_terry": {
            "anchor": fit.anchor or None,
            "prior_draws": fit.prior,
            "ratings": [
                {
                    "player": r.name,
                    "value": r.value,
                    "low": r.low,
                    "high": r.high,
                    "n": r.games,
                    "linked": r.name in together,
                }
                for r in fit.ratings
            ],
        },
        "unexplained": {
            "share": missed.share,
            "by_chance": missed.by_chance,
            "beyond_chance": missed.beyond_chance,
            "n": missed.games,
        },
        "fit": fit,
        "not_rated": None,
        **(_by_order(matches, names, fit) if by_order else {"elo": None, "openskill": None}),
    }


def _by_order(matches: Sequence[Match], names: Any, fit: Fit) -> Plain:
    """Return the ratings that take matches one after the other."""
    finishes = [(names(m.lineup), m.places) for m in matches if len(m.places) > 1]
    elo = mean_elo(finishes)
    return {
        "elo": {
            "k": ELO_K,
            "start": ELO_START,
            "ratings": {r.name: elo[r.name] for r in fit.ratings},
        },
        "openskill": [
            {"player": s.name, "mu": s.mu, "sigma": s.sigma, "ordinal": s.ordinal, "n": s.games}
            for s in openskill(in_any_order(finishes))
        ],
    }


def _sure_wins(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    """Return (winner, loser) of pairs whose whole interval lies on one side of one half."""
    edges = []
    for pair in pairs:
        score = mean_score(pair.units)
        if score is not None and score.low is not None and score.low > 0.5:
            edges.append((pair.first, pair.second))
        elif score is not None and score.high is not None and score.high < 0.5:
            edges.append((pair.second, pair.first))
    return edges


def _is_past(member: Member) -> bool:
    return member.category == "past" and member.kind == "policy"


def _lowest(
    record: RunRecord, players: Mapping[str, Entrant], pairs: Sequence[Pair], counts: Any
) -> dict[str, Plain | None]:
    """Return, for each learner, where its newest weights that met any that counts did worst."""
    by_name = {entrant.label: entrant for entrant in players.values()}
    met: dict[str, list[Plain]] = {}
    for pair in pairs:
        for me, other in ((pair.first, pair.second), (pair.second, pair.first)):
            if by_name[me].learner and counts(by_name[other].member):
                met.setdefault(me, []).append(_seen_from(me, pair))
    lowest: dict[str, Plain | None] = {}
    for learner in record.learners:
        mine = [label for label in met if by_name[label].learner == learner]
        newest = max(mine, key=lambda label: by_name[label].update, default=None)
        lowest[learner] = None
        if newest is not None:
            lowest[learner] = min(met[newest], key=lambda row: row["win_rate"]["value"])
    return lowest


def _seen_from(me: str, pair: Pair) -> Plain:
    other, wins, units = pair.second, pair.wins, pair.units
    if me != pair.first:
        other, wins, units = pair.first, pair.losses, 1 - pair.units
    return {
        "player": me,
        "opponent": other,
        "n": pair.games,
        "win_rate": estimate(wilson(wins, pair.games)),
        "score": estimate(mean_score(units)),
    }


def _meter(record: RunRecord, players: Mapping[str, Entrant], pairs: Sequence[Pair]) -> list[Plain]:
    """Return what worst-case meters read, in the order they did."""
    readings: list[Plain] = []
    for metric, series in record.metrics.items():
        learner, own = owner(record.learners, metric)
        if own == "exact/nash_conv":
            for update, value in series:
                reading = Reading("exact", learner, "", "nash_conv", value, value, value)
                readings.append({"update": update, **reading.to_json()})
    for event in record.events:
        if event.kind in ("exploiter_admitted", "exploiter_refused"):
            readings.append({"update": event.update, **_learned(event.player, event.body)})
        elif "instrument" in event.body:
            readings.append({"update": event.update, "subject": event.player, **event.body})
    for entrant in players.values():
        scores = _scores_of(entrant.label, pairs) if entrant.learner else {}
        if any(score is not None for score in scores.values()):
            reading = pool_reading(entrant.label, entrant.digest, scores)
            readings.append({"update": entrant.update, **reading.to_json()})
    return sorted(readings, key=lambda reading: int(reading["update"]))


def _learned(name: str, body: Mapping[str, Any]) -> Plain:
    """Return an exploiter's test as a reading: the league's matches decide, not its practice."""
    practice = body.get("reading") or {"instrument": "learned", "lower_bound": True}
    copied = ("low", "high", "games", "budget_decisions")
    return {
        **practice, "subject": body.get("victim", ""), "digest": body.get("victim_digest", ""),
        "unit": "score", "value": body.get("score"), "response": name,
        **{key: body.get(key) for key in copied},
    }  # fmt: skip


def _scores_of(label: str, pairs: Iterable[Pair]) -> dict[str, Estimate | None]:
    """Return a player's score against each it met."""
    scores = {}
    for pair in pairs:
        if label == pair.first:
            scores[pair.second] = mean_score(pair.units)
        elif label == pair.second:
            scores[pair.first] = mean_score(1 - pair.units)
    return scores


def _categories(record: RunRecord) -> dict[str, dict[str, Plain]]:
    """Return how each learner fared in training against each category of opponent.

    Against itself the results are those of the earlier seat.
    """
    category = {member.name: member.category for member in record.players}
    counts: dict[str, dict[str, list[int]]] = {}
    for row in record.training:
        mine = counts.setdefault(row.learner, {})
        seats = range(len(row.seating))
        places = [(a, b) for a in seats for b in seats if a < b]
        for (a, b), (wins, draws, losses) in zip(places, row.pairs, strict=True):
            if row.seating[a] == row.learner:
                other, result = row.seating[b], (wins, draws, losses)
            elif row.seating[b] == row.learner:
                other, result = row.seating[a], (losses, draws, wins)
            else:
                continue
            total = mine.setdefault(category.get(other, ""), [0, 0, 0])
            total[:] = [old + new for old, new in zip(total, result, strict=True)]
    return {
        learner: {name: _fared(*total) for name, total in mine.items()}
        for learner, mine in counts.items()
    }


def _fared(wins: int, draws: int, losses: int) -> Plain:
    n = wins + draws + losses
    return {
        "n": n,
        "wins": wins,
        "draws": draws,
        "losses": losses,
        "score": (wins + draws / 2) / n if n else None,
        "win_rate": estimate(wilson(wins, n)),
    }


def exploiters(record: RunRecord) -> list[Plain]:
    """Return the exploiters of the pool: whom they beat, by how much, at what cost."""
    return [
        {
            "name": member.name,
            "digest": member.digest,
            "role": member.role,
            "parents": list(member.parents),
            "weight": member.weight,
            "update": member.update,
            **member.body,
        }
        for member in record.players
        if member.category == "exploiter" and member.kind == "policy"
    ]
