"""Leagues to be matched, and what was made of them."""

import math
from random import Random

from hypothesis import settings
from hypothesis import strategies as st

from lanista.league.matchmaking import Candidate
from lanista.league.payoff import Outcome, fold
from lanista.runs.league_settings import CATEGORIES, Matchmaking

unhurried = settings(deadline=None)
FROZEN = [name for name in CATEGORIES if name != "self"]


def payoff_of(results, learner="main"):
    """Return the payoff of `(wins, draws, losses)` of the learner against each."""
    return fold(Outcome((learner, name), (counts,)) for name, counts in results.items())


def weights(found):
    """Return each opponent's weight over all reasons."""
    sums = {}
    for meeting in found:
        sums[meeting.opponent] = sums.get(meeting.opponent, 0.0) + meeting.weight
    return sums


def share(found, reason):
    return math.fsum(meeting.weight for meeting in found if meeting.reason == reason)


def plain(kind, **given):
    """Return matchmaking that takes the scores as they are."""
    return Matchmaking(kind, smoothing=0, minimum_games=1, **given)


def bots(*names):
    return [Candidate(name, "bot") for name in names]


@st.composite
def leagues(draw, most=500):
    """A league of up to `most` opponents with any scores; whole categories may be beaten."""
    count, random = draw(st.integers(1, most)), Random(draw(st.integers(0, 2**32)))
    kinds = random.sample(FROZEN, random.randint(1, len(FROZEN)))
    found = [Candidate(f"player {i}", random.choice(kinds)) for i in range(count)]
    usual = {kind: random.choice([0.0, 1.0, random.random()]) for kind in kinds}
    games, odd = random.choice([1, 20, 1000]), random.choice([0.0, 0.01, 0.5])
    results = {}
    for one in found:
        rate = random.choice([0.0, 1.0, random.random()])
        wins = round(games * (rate if random.random() < odd else usual[one.category]))
        if random.random() < 0.9:
            results[one.name] = (wins, 0, games - wins)
    if draw(st.booleans()):
        found.append(Candidate("main", "self"))
    return found, payoff_of(results)


previous_weights = st.dictionaries(st.sampled_from(CATEGORIES), st.floats(0, 1))

LEAGUE = [
    Candidate("main", "self"),
    Candidate("clone", "imitation"),
    Candidate("main/000010", "past"),
    Candidate("main/000020", "past"),
    Candidate("hole", "exploiter"),
    Candidate("random", "bot"),
]


def by_category(found, candidates):
    """Return the weights of meetings, summed by their opponents' categories."""
    category = {one.name: one.category for one in candidates}
    sums = {}
    for meeting in found:
        here = category[meeting.opponent]
        sums[here] = sums.get(here, 0.0) + meeting.weight
    return sums
