"""The opponent mix of a learner: pure functions of what was scored so far.

Every matchmaker gives weights that sum to 1, for any scores, with any number of opponents. Knows
nothing of rosters, of rounds or of how a seat is drawn from the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lanista.errors import LanistaError, nearest
from lanista.league.payoff import Payoff
from lanista.runs.league_settings import CATEGORIES, Matchmaking
from lanista.runs.matchmakers import MATCHMAKERS


@dataclass(frozen=True)
class Candidate:
    """Somebody a learner may meet."""

    name: str
    category: str
    """self (a learner of the run as it now is), imitation, start, past, exploiter or bot."""
    weight: float = 1.0
    """How much more it is wanted than one of weight 1. Every kind multiplies by it but uniform, and
    adaptive, where it is what a run starts with and an exploiter's factor. A category counts as
    much as its candidates do on average."""

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise LanistaError(
                f"{self.name} is of the category {self.category!r}; "
                f"{nearest(self.category, CATEGORIES)}"
            )
        if not 0 < self.weight < math.inf:
            raise LanistaError(f"The weight of {self.name} is {self.weight}; give one above 0.")


@dataclass(frozen=True)
class Meeting:
    """An opponent, its share of the opponent mix, and why."""

    opponent: str
    weight: float
    """Its share of the learner's seats to fill; the shares of all meetings sum to 1."""
    reason: str
    category: str = ""
    """What it counts as in the learner's numbers, as its population has it."""


@dataclass(frozen=True)
class _View:
    """The league as one learner sees it."""

    settings: Matchmaking
    learner: str
    payoff: Payoff
    previous: Mapping[str, float]

    def has_enough_games(self, *opponents: Candidate) -> bool:
        """Whether enough games with these, taken together, were played."""
        names = {one.name for one in opponents} - {self.learner}
        games = math.fsum(self.payoff.games(self.learner, name) for name in names)
        return 0 < games >= self.settings.minimum_games

    def rate(self, *opponents: Candidate) -> float:
        """Return the learner's smoothed score against these together; ½ where it is unknown."""
        if not self.has_enough_games(*opponents):
            return 0.5
        names = [one.name for one in opponents]
        return self.payoff.pooled_rate(self.learner, names, self.settings.smoothing)


Weigh = Callable[[_View, Candidate], float]
Shares = Callable[[_View, Sequence[Candidate]], list[Meeting]]
Matchmaker = Callable[
    [Matchmaking, str, Sequence[Candidate], Payoff, Mapping[str, float]], Iterable[Meeting]
]
"""A function of the settings, the learner's name, its candidate opponents, the payoff so far, and
the last round's weights by category."""


def meetings(
    settings: Matchmaking,
    learner: str,
    candidates: Sequence[Candidate],
    payoff: Payoff,
    previous: Mapping[str, float],
) -> list[Meeting]:
    """Return the opponent mix of `learner`; nobody of weight 0 is in it.

    `previous` has the weights by category of the last round, and is empty in the first. An
    opponent or a category with too few games counts as an equal. An opponent may come up twice,
    for different reasons.
    """
    _refuse_unclear(settings, learner, candidates, previous)
    matchmaker: Matchmaker = MATCHMAKERS.load(settings.kind)
    chosen = list(matchmaker(settings, learner, candidates, payoff, previous))
    return _whole(chosen, settings.kind, candidates)


def shares_of(weights: Sequence[float]) -> list[float]:
    """Return weights scaled to the sum 1; all alike when all are 0."""
    largest = max(weights)
    if largest <= 0:
        return [1 / len(weights)] * len(weights)
    # The largest is taken out first, so that neither tiny nor huge weights are lost.
    scaled = [weight / largest for weight in weights]
    total = math.fsum(scaled)
    return [weight / total for weight in scaled]


def effective_floor(floor: float, count: int) -> float:
    """Return the floor that `count` shares can hold and still differ: min(floor, 0.5/n)."""
    return min(floor, 0.5 / count)


def floored(shares: Sequence[float], floor: float) -> list[float]:
    """Return shares of sum 1 none of which is under the effective floor.

    Those under it are raised to it, and the others give up the same part of theirs; whoever falls
    under the floor by that is raised too. The floors take half of all at most, so it ends.
    """
    least = effective_floor(floor, len(shares))
    raised: set[int] = set()
    while True:
        rest = math.fsum(share for i, share in enumerate(shares) if i not in raised)
        scale = (1 - least * len(raised)) / rest
        low = {i for i, share in enumerate(shares) if i not in raised and share * scale < least}
        if not low:
            break
        raised |= low
    return [least if i in raised else share * scale for i, share in enumerate(shares)]


def _refuse_unclear(
    settings: Matchmaking,
    learner: str,
    candidates: Sequence[Candidate],
    previous: Mapping[str, float],
) -> None:
    MATCHMAKERS.refuse_unknown(settings.kind)
    if not candidates:
        raise LanistaError(
            f"{learner} has nobody to meet; add a bot, a policy or self to its opponents."
        )
    names = [one.name for one in candidates]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise LanistaError(f"{twice} is twice among the candidates of {learner}; name it once.")
    for category, weight in previous.items():
        if category not in CATEGORIES:
            raise LanistaError(
                f"The last weights of {learner} name the category {category!r}; "
                f"{nearest(category, CATEGORIES)}"
            )
        if not 0 <= weight < math.inf:
            raise LanistaError(
                f"The last weight of {category} for {learner} is {weight}; give 0 or more."
            )


def _whole(planned: list[Meeting], kind: str, candidates: Sequence[Candidate]) -> list[Meeting]:
    """Return meetings without those of weight 0, scaled to the sum 1."""
    candidate_names = {one.name for one in candidates}
    for meeting in planned:
        if meeting.opponent not in candidate_names:
            raise LanistaError(
                f"The matchmaking {kind} wants to meet {meeting.opponent!r}, who is no candidate; "
                f"{nearest(meeting.opponent, candidate_names)}"
            )
        if not 0 <= meeting.weight < math.inf:
            raise LanistaError(
                f"The matchmaking {kind} gives {meeting.opponent} the weight {meeting.weight}; a "
                "weight is 0 or more."
            )
    named = [(meeting.opponent, meeting.reason) for meeting in planned]
    if len(set(named)) != len(named):
        who, why = next(named_pair for named_pair in named if named.count(named_pair) > 1)
        raise LanistaError(
            f"The matchmaking {kind} names {who} twice for the reason {why!r}; add up its weights."
        )
    some = [meeting for meeting in planned if meeting.weight > 0]
    if not some:
        raise LanistaError(f"The matchmaking {kind} gives nobody a weight above 0.")
    shares = shares_of([meeting.weight for meeting in some])
    return [
        Meeting(meeting.opponent, share, meeting.reason)
        for meeting, share in zip(some, shares, strict=True)
    ]


def _hard(view: _View, one: Candidate) -> float:
    return float((1 - view.rate(one)) ** view.settings.p)


def _var(view: _View, one: Candidate) -> float:
    rate = view.rate(one)
    return rate * (1 - rate)


def _linear(view: _View, one: Candidate) -> float:
    return 1 - view.rate(one)


def _alike(view: _View, one: Candidate) -> float:
    return 1.0


def _weighed(view: _View, candidates: Sequence[Candidate], weigh: Weigh) -> list[float]:
    """Return shares by `weigh` and the candidates' weights; when all are beaten, by these alone."""
    own_shares = shares_of([one.weight for one in candidates])
    weights = [weigh(view, one) * want for one, want in zip(candidates, own_shares, strict=True)]
    return shares_of(weights) if max(weights) > 0 else own_shares


def _simple(reason: str, weigh: Weigh) -> Shares:
    def shares(view: _View, candidates: Sequence[Candidate]) -> list[Meeting]:
        return _given(candidates, _weighed(view, candidates, weigh), 1.0, reason)

    return shares


def _given(
    candidates: Sequence[Candidate], shares: Sequence[float], scale: float, reason: str
) -> list[Meeting]:
    return [
        Meeting(one.name, scale * share, reason)
        for one, share in zip(candidates, shares, strict=True)
    ]


def _uniform(view: _View, candidates: Sequence[Candidate]) -> list[Meeting]:
    return [Meeting(one.name, 1.0, "uniform") for one in candidates]


def _categories(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    members_by_category = {
        name: [one for one in candidates if one.category == name] for name in CATEGORIES
    }
    return {name: members for name, members in members_by_category.items() if members}


def _category_shares(view: _View, groups: Mapping[str, list[Candidate]]) -> list[float]:
    """Return inverse win rates by category; the games with all its members count together."""
    own_shares = shares_of(
        [math.fsum(one.weight / len(all_) for one in all_) for all_ in groups.values()]
    )
    inverse = [max(1 - view.rate(*members), view.settings.floor) for members in groups.values()]
    return shares_of([x * want for x, want in zip(inverse, own_shares, strict=True)])


def _inverse(view: _View, one: Candidate) -> float:
    return max(1 - view.rate(one), view.settings.floor)


def _adaptive(view: _View, candidates: Sequence[Candidate]) -> list[Meeting]:
    """Return shares by inverse win rate; by the players' weights until a win rate is known.

    The weights are what a run starts with, and win rates take their place. Exploiters join later,
    so theirs stays a factor.
    """
    if not any(view.has_enough_games(one) for one in candidates):
        weights = [one.weight for one in candidates]
    else:
        factors = [one.weight if one.category == "exploiter" else 1.0 for one in candidates]
        rows = zip(candidates, shares_of(factors), strict=True)
        weights = [_inverse(view, one) * factor for one, factor in rows]
    return _given(candidates, shares_of(weights), 1.0, "adaptive")


def _adaptive_by_category(view: _View, candidates: Sequence[Candidate]) -> list[Meeting]:
    floor, groups = view.settings.floor, _categories(candidates)
    planned = []
    category_shares = floored(_category_shares(view, groups), floor)
    for members, category_share in zip(groups.values(), category_shares, strict=True):
        shares = floored(_weighed(view, members, _inverse), floor)
        planned += _given(members, shares, category_share, "adaptive_by_category")
    return planned


def _curriculum(view: _View, candidates: Sequence[Candidate]) -> list[Meeting]:
    settings, groups = view.settings, _categories(candidates)
    new = _category_shares(view, groups)
    # A category that was not there before has no old weight to keep.
    old = shares_of([view.previous.get(name, now) for name, now in zip(groups, new, strict=True)])
    mixed = [
        settings.keep_old * was + (1 - settings.keep_old) * now
        for was, now in zip(old, new, strict=True)
    ]
    weigh = _hard if settings.inside == "pfsp_hard" else _alike
    planned = []
    category_shares = floored(shares_of(mixed), settings.floor)
    for members, category_share in zip(groups.values(), category_shares, strict=True):
        shares = floored(_weighed(view, members, weigh), settings.floor)
        planned += _given(members, shares, category_share, "curriculum")
    return planned


def _lost(view: _View, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those the learner has come to lose to.

    They are past players and exploiters against whom its score is known and below `lost_below`.
    A past self was its equal on the day it was frozen, so with ½ as the level a score below it
    means that something was forgotten; an exploiter is there because it won, so it means that a
    hole is still open.
    """
    return [
        one
        for one in candidates
        if one.category in ("past", "exploiter")
        and view.has_enough_games(one)
        and view.rate(one) < view.settings.lost_below
    ]


def _alphastar(view: _View, candidates: Sequence[Candidate]) -> list[Meeting]:
    """Return AlphaStar's mixture for mains.

    When nobody is lost to, that share goes to self-play; without self-play among the candidates
    its share goes to PFSP over all, and without anybody frozen all of it is self-play.
    """
    live = [one for one in candidates if one.category == "self"]
    frozen = [one for one in candidates if one.category != "self"]
    lost = _lost(view, frozen)
    both = view.settings.self_play + view.settings.lost_share
    lost_part = view.settings.lost_share if lost else 0.0
    self_part = (both - lost_part if frozen else 1.0) if live else 0.0
    pfsp_part = 1 - both if live else 1 - lost_part
    planned = []
    if live:
        planned += _given(live, _weighed(view, live, _alike), self_part, "self_play")
    if frozen:
        planned += _given(frozen, _weighed(view, frozen, _hard), pfsp_part, "pfsp")
    if lost:
        planned += _given(lost, _weighed(view, lost, _hard), lost_part, "lost")
    return planned


def _main_exploiter(view: _View, candidates: Sequence[Candidate]) -> list[Meeting]:
    """Return the current mains, each of whom gives way to past mains while it is too strong."""
    mains = [one for one in candidates if one.category == "self" and one.name != view.learner]
    past = [one for one in candidates if one.category == "past"]
    if not mains and not past:
        raise LanistaError(f"{view.learner} has no main to meet; add one to its opponents.")
    planned, past_share = [], 0.0 if mains else 1.0
    for one, main_share in zip(mains, _weighed(view, mains, _alike) if mains else [], strict=True):
        if past and view.has_enough_games(one) and view.rate(one) < view.settings.too_strong:
            past_share += main_share
        else:
            planned.append(Meeting(one.name, main_share, "main"))
    if past_share:
        planned += _given(past, _weighed(view, past, _var), past_share, "past_mains")
    return planned


def _league_exploiter(view: _View, candidates: Sequence[Candidate]) -> list[Meeting]:
    """Return PFSP over all who are frozen; while nobody is, over the other learners."""
    frozen = [one for one in candidates if one.category != "self"]
    others = [one for one in candidates if one.name != view.learner]
    met = frozen or others or candidates
    return _given(met, _weighed(view, met, _hard), 1.0, "pfsp")


def _matchmaker(shares: Shares) -> Matchmaker:
    """Return a matchmaker from shares that go by what a learner sees of the league."""

    def matchmaker(
        settings: Matchmaking,
        learner: str,
        candidates: Sequence[Candidate],
        payoff: Payoff,
        previous: Mapping[str, float],
    ) -> list[Meeting]:
        return shares(_View(settings, learner, payoff, previous), candidates)

    return matchmaker


# What the table of matchmakers names.
fixed = _matchmaker(_simple("fixed", _alike))
uniform = _matchmaker(_uniform)
pfsp_hard = _matchmaker(_simple("pfsp_hard", _hard))
pfsp_var = _matchmaker(_simple("pfsp_var", _var))
pfsp_linear = _matchmaker(_simple("pfsp_linear", _linear))
adaptive = _matchmaker(_adaptive)
adaptive_by_category = _matchmaker(_adaptive_by_category)
curriculum = _matchmaker(_curriculum)
alphastar = _matchmaker(_alphastar)
main_exploiter = _matchmaker(_main_exploiter)
league_exploiter = _matchmaker(_league_exploiter)
