"""Decides whether a candidate replaces the stable policy, and whether it has to go again.

Three tests that may be looked at after every game: `Trial` (both play at the same time, no
simulator), `Watch` (the same after publication) and `PairedTrial` (same deals, seats swapped).
Their state is a table of counts: it folds over results one at a time and is saved as a plain
dict. Owns statistics only: knows nothing of files, of policies or of who writes the pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.live.promotion.e_process import Claim, Increment, Key, Values, log_factors, stakes
from lanista.live.promotion.sequential_test import Comparison, Decision, Rule, Sequential

__all__ = ["Comparison", "Decision", "PairedTrial", "Rule", "Side", "Trial", "Watch"]


@dataclass(frozen=True)
class Side:
    """What one of the two policies has done."""

    games: int
    """Games with a result."""
    missing: int
    """Games without one."""
    score: float | None
    """Mean score; None without results."""


class Trial(Sequential):
    """Candidate and stable policy at the same time, in different games.

    The next game is the candidate's with the known chance s, whatever happened before, and gives
    the score x in [0, 1]. With a guess b of x, made before the game, and A = 1 for the candidate,

        z = (A − s)(x − b)

    has the mean s(1 − s)(μ_candidate − μ_stable), for any b and for any chances of draws, even
    when opponents come and go: only the choice of the policy has to be independent of the past.
    Bets on z are bets on the difference. Give the games in the order of their beginning: the
    order of their ends favours whoever plays short games.

    References: Waudby-Smith and Ramdas (2024) for the bets; D. Ham, I. Bojinov, M. Lindon and
    M. Tingley, "Design-based confidence sequences" (2022), for letting only the assignment be
    random; M. Lindon and A. Malek, "Anytime-valid inference for multinomial count data" (2022),
    for the check of the share.
    """

    kind = "trial"
    claims = (
        "better", "worse", "futile", "not_worse", "missing", "share_high", "share_low",
    )  # fmt: skip
    least_each: ClassVar[int] = 8
    """Games of either policy before they are compared. Where one's never arrive the first guess of
    the score would decide, and before the check of the share."""

    def endings(self) -> tuple[tuple[str, float, str, str], ...]:
        """Return what ends the trial; doubts about the games themselves come first."""
        rule = self.rule
        return (
            *self._doubts(),
            ("missing", rule.missing, "reject", "missing"),
            ("better", rule.publish, "publish", "better"),
            ("worse", rule.roll_back, "reject", "worse"),
            ("futile", rule.futile, "reject", "futile"),
        )

    def _doubts(self) -> tuple[tuple[str, float, str, str], ...]:
        half = self.rule.share / 2
        return (("share_high", half, "void", "share"), ("share_low", half, "void", "share"))

    def last(self) -> tuple[str, str]:
        """Return what follows when the limit comes first."""
        return "reject", "limit"

    def add(self, candidate: bool, score: float | None, share: float) -> Decision | None:
        """Take in one game and return the decision, once there is one.

        `score` is 1 for a win, ½ for a draw, 0 for a loss, None when the game has no result;
        `share` the chance the candidate had to play it.
        """
        return self.extend([candidate], [score], share)

    def extend(
        self, candidate: Sequence[bool], score: Sequence[float | None], share: float
    ) -> Decision | None:
        """Take in games played with one share, in their order; the same as `add` for each."""
        if not 0 < share < 1:
            raise LanistaError(
                f"A game was played with a share of {share} for the candidate, which compares "
                "nothing; give games with a share between 0 and 1 only."
            )
        games = zip(candidate, score, strict=True)
        keys = [(float(new), _checked(result)) for new, result in games]
        return self.fold(keys, {"share": float(share)})

    def _may_end(self, keys: Sequence[Key]) -> NDArray[np.bool_]:
        before = sum(n for key, n in self.totals.items() if key[0])
        new = before + np.cumsum([bool(key[0]) for key in keys])
        old = self.games + np.arange(1, len(keys) + 1) - new
        both = np.minimum(new, old) >= self.least_each
        doubts = np.array([claim.startswith("share") for claim in self.claims])
        may: NDArray[np.bool_] = both[:, None] | doubts
        return may

    def _facts(self) -> dict[str, float]:
        """Return guesses of score, variance and share of missing games, as if 4 games had come
        before that were won and lost, and 10 of which half a game was missing."""
        count_by_score = [(key[1], n) for key, n in self.totals.items() if key[1] is not None]
        n = 4 + sum(count for _, count in count_by_score)
        mean = (2 + sum(score * count for score, count in count_by_score)) / n
        square = (2 + sum(score * score * count for score, count in count_by_score)) / n
        missing = (0.5 + self.games - (n - 4)) / (10 + self.games)
        return {"baseline": mean, "variance": square - mean * mean, "missing": missing}

    def _factors(self, facts: Mapping[str, float], key: Key) -> Values:
        margin = self.rule.margin
        about_score = [
            self._bet(facts, key, claim)
            for claim in (Claim(1, 0), Claim(-1, 0), Claim(-1, margin), Claim(1, -margin))
        ]
        candidate, score = key
        share, rate = facts["share"], facts["missing"]
        tilt, unit = (candidate or 0.0) - share, share * (1 - share)
        lost = Increment(tilt * ((score is None) - rate), unit)
        lost_stake = stakes(unit, unit * rate * (1 - rate), max(share, 1 - share))
        drawn, drawn_stake = Increment(tilt, 1.0), stakes(1.0, unit, max(share, 1 - share))
        return np.stack([
            *about_score,
            log_factors(Claim(1, 0), lost, lost_stake),
            log_factors(Claim(1, 0), drawn, drawn_stake),
            log_factors(Claim(-1, 0), drawn, drawn_stake),
        ])  # fmt: skip

    def _bet(self, facts: Mapping[str, float], key: Key, claim: Claim) -> Values:
        candidate, score = key
        share, base = facts["share"], facts["baseline"]
        unit = share * (1 - share)
        stake = stakes(unit, unit * facts["variance"], max(share, 1 - share) * max(base, 1 - base))
        if score is None:
            return np.zeros_like(stake)
        value = ((candidate or 0.0) - share) * (score - base)
        return log_factors(claim, Increment(value, unit), stake)

    def side(self, candidate: bool) -> Side:
        """Return what one of the two has done."""
        mine = {key[1]: n for key, n in self.totals.items() if key[0] == float(candidate)}
        missing = mine.pop(None, 0)
        games = sum(mine.values())
        total = sum(score * n for score, n in mine.items() if score is not None)
        return Side(games, missing, total / games if games else None)

    def comparison(self) -> Comparison:
        """Return the difference so far and how sure it is."""
        new, old = self.side(True).score, self.side(False).score
        difference = None if new is None or old is None else new - old
        return Comparison(difference, *self._interval(), self.evidence())


class Watch(Trial):
    """After publication: the published policy is the `candidate`, the one before it has the rest.

    The same bets as in a trial. Ends with `roll_back` when the published policy is worse, with
    `keep` when it is surely not worse by the margin, or at the limit.
    """

    kind = "watch"

    def endings(self) -> tuple[tuple[str, float, str, str], ...]:
        """Return what ends the watch."""
        rule = self.rule
        return (
            *self._doubts(),
            ("missing", rule.missing, "roll_back", "missing"),
            ("worse", rule.roll_back, "roll_back", "worse"),
            ("not_worse", rule.futile, "keep", "not_worse"),
        )

    def last(self) -> tuple[str, str]:
        """Return what follows when the limit comes first."""
        return "keep", "limit"


class PairedTrial(Sequential):
    """Candidate against stable policy on the same deals with seats swapped.

    A pair's score x is the candidate's mean over the games of one deal; x − ½ has the mean
    "score less ½", so the luck of the deal and draws need no model. Pairs against other opponents
    fit too: x = ½ + (candidate's score − stable policy's score on the same deal) / 2.

    Where Wald's sequential probability ratio test needs the chances of each pair score, the bets
    need none: the error rates hold for every distribution in [0, 1]. Reference: Waudby-Smith and
    Ramdas (2024).
    """

    kind = "paired"
    claims = ("better", "worse", "futile")
    first_block = 8

    def endings(self) -> tuple[tuple[str, float, str, str], ...]:
        """Return what ends the trial."""
        rule = self.rule
        return (
            ("better", rule.publish, "publish", "better"),
            ("worse", rule.roll_back, "reject", "worse"),
            ("futile", rule.futile, "reject", "futile"),
        )

    def last(self) -> tuple[str, str]:
        """Return what follows when the limit comes first."""
        return "reject", "limit"

    def add(self, score: float) -> Decision | None:
        """Take in one pair's score and return the decision, once there is one."""
        return self.extend([score])

    def extend(self, scores: Sequence[float]) -> Decision | None:
        """Take in pairs' scores in their order; the same as `add` for each."""
        return self.fold([(_checked(score),) for score in scores], {})

    def _facts(self) -> dict[str, float]:
        """Return the mean square of x − ½, as if 4 pairs of independent games had come before."""
        square = sum(((key[0] or 0.0) - 0.5) ** 2 * n for key, n in self.totals.items())
        return {"variance": (0.5 + square) / (4 + self.games)}

    def _factors(self, facts: Mapping[str, float], key: Key) -> Values:
        claims = (Claim(1, 0), Claim(-1, 0), Claim(-1, self.rule.margin))
        return np.stack([self._bet(facts, key, claim) for claim in claims])

    def _bet(self, facts: Mapping[str, float], key: Key, claim: Claim) -> Values:
        stake = stakes(1.0, facts["variance"], 0.5)
        return log_factors(claim, Increment((key[0] or 0.0) - 0.5, 1.0), stake)

    def comparison(self) -> Comparison:
        """Return the score less ½ so far and how sure it is."""
        total = sum((key[0] or 0.0) * n for key, n in self.totals.items())
        difference = total / self.games - 0.5 if self.games else None
        return Comparison(difference, *self._interval(), self.evidence())


def _checked(score: float | None) -> float | None:
    if score is not None and not 0 <= score <= 1:
        raise LanistaError(f"A game has the score {score}; give 1, ½ or 0, or None for no result.")
    return None if score is None else float(score)
