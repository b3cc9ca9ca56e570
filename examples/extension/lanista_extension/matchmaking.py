"""A matchmaker: opponents near the learner's own strength are met most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanista.league.matchmaking import Candidate, Meeting
from lanista.league.payoff import Payoff
from lanista.runs.league_settings import Matchmaking


def rivals(
    settings: Matchmaking,
    learner: str,
    candidates: Sequence[Candidate],
    payoff: Payoff,
    previous: Mapping[str, float],
) -> list[Meeting]:
    """Weigh an opponent by 1 − 2·|x − ½|, where x is the learner's score against it."""
    rates = [payoff.pooled_rate(learner, [one.name], settings.smoothing) for one in candidates]
    weights = [1.01 - 2 * abs(rate - 0.5) for rate in rates]
    return [Meeting(one.name, w, "rival") for one, w in zip(candidates, weights, strict=True)]
