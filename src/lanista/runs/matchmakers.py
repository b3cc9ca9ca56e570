"""The matchmakers: name, rule, and where the function lies.

A further one is a function `(settings, learner, candidates, payoff, previous)` that gives meetings
and a line here, or an entry point of `lanista.matchmakers`. Knows nothing of the league.
"""

from __future__ import annotations

from lanista.extensions import Entry, Table

_OURS = "lanista.league.matchmaking"
MATCHMAKERS: Table[Entry] = Table(
    "matchmaking",
    "lanista.matchmakers",
    {
        "fixed": Entry("as the weights in the roster say", f"{_OURS}:fixed"),
        "uniform": Entry("everybody alike", f"{_OURS}:uniform"),
        "pfsp_hard": Entry(
            "(1 − x)^p, where x is the learner's score against the opponent", f"{_OURS}:pfsp_hard"
        ),
        "pfsp_var": Entry("x(1 − x)", f"{_OURS}:pfsp_var"),
        "pfsp_linear": Entry("1 − x", f"{_OURS}:pfsp_linear"),
        "adaptive": Entry(
            "1 − x, or the floor where that is more; renewed after each evaluation, by its scores",
            f"{_OURS}:adaptive",
        ),
        "adaptive_by_category": Entry(
            "1 − x, by category, then within it, nobody below the floor",
            f"{_OURS}:adaptive_by_category",
        ),
        "curriculum": Entry(
            "the same over categories, half old and half new, pfsp_hard or uniform within",
            f"{_OURS}:curriculum",
        ),
        "alphastar": Entry(
            "self-play, PFSP over all, PFSP over those it has come to lose to", f"{_OURS}:alphastar"
        ),
        "psro": Entry(
            "self-play, and an equilibrium of the payoff matrix of everybody frozen",
            "lanista.league.meta_game:psro",
        ),
        "main_exploiter": Entry(
            "the current mains; past mains instead of one that is too strong",
            f"{_OURS}:main_exploiter",
        ),
        "league_exploiter": Entry(
            "pfsp_hard over everybody who is frozen", f"{_OURS}:league_exploiter"
        ),
    },
    wrap=Entry,
)
