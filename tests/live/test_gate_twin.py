"""The gate against a slow twin: one purse after another, one game after another, from the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from lanista.live.promotion.e_process import CAP, EFFECTS, PURSES, SPAN
from lanista.live.promotion.gate import PairedTrial, Rule, Trial, Watch

Result = tuple[bool, float | None, float]
"""Whether the candidate played, its score, and the chance it had to play."""


def test_the_purses_are_shared_out_whole_and_never_bet_on_credit() -> None:
    assert sum(PURSES) == pytest.approx(1.0)
    assert min(PURSES) > 0
    assert len(PURSES) == len(EFFECTS)
    assert 0 < CAP < 1


def first_purses(margin: float) -> list[float]:
    """Return the first stakes: 1 in all, and none on less than half of the margin."""
    worth = [part * (effect >= margin / 2) for part, effect in zip(PURSES, EFFECTS, strict=True)]
    return [float(part / sum(worth)) for part in worth]


@dataclass
class SlowTrial:
    """What a `Trial`, or a `Watch`, must have found after some games."""

    rule: Rule
    watch: bool = False
    games: list[Result] = field(default_factory=list)
    wealth: dict[str, list[float]] = field(default_factory=dict)
    decision: tuple[str, str, int] | None = None
    reached: list[str] = field(default_factory=list)
    """The reasons that the deciding game would have been enough for."""

    def __post_init__(self) -> None:
        self.blocks: list[tuple[dict[str, float], list[Result]]] = []

    @property
    def endings(self) -> list[tuple[str, float, str, str]]:
        rule = self.rule
        doubts = [(f"share_{way}", rule.share / 2, "void", "share") for way in ("high", "low")]
        if self.watch:
            return [
                *doubts,
                ("missing", rule.missing, "roll_back", "missing"),
                ("worse", rule.roll_back, "roll_back", "worse"),
                ("not_worse", rule.futile, "keep", "not_worse"),
            ]
        return [
            *doubts,
            ("missing", rule.missing, "reject", "missing"),
            ("better", rule.publish, "publish", "better"),
            ("worse", rule.roll_back, "reject", "worse"),
            ("futile", rule.futile, "reject", "futile"),
        ]

    def add(self, game: Result) -> None:
        if self.decision is not None:
            return
        count = len(self.games)
        again = count >= 16 and count % 16 == 0 and (count // 16).bit_count() == 1
        if not self.blocks or again or self.blocks[-1][0]["share"] != game[2]:
            self.blocks.append((self._facts(game[2]), []))
        self.blocks[-1][1].append(game)
        self.games.append(game)
        new = sum(candidate for candidate, _, _ in self.games)
        both = min(new, len(self.games) - new) >= 8
        evidence = self.evidence()
        for claim, level, verdict, reason in self.endings:
            may = both or claim.startswith("share")
            if level and may and evidence[claim] >= 1 / level:
                self.reached.append(reason)
                self.decision = self.decision or (verdict, reason, len(self.games))
        if self.decision is None and len(self.games) >= self.rule.limit:
            last = "keep" if self.watch else "reject"
            self.decision = (last, "limit", len(self.games))

    def _facts(self, share: float) -> dict[str, float]:
        """Return the guesses before a block: 4 made-up games won and lost, half of 10 missing."""
        scores = [1.0, 1.0, 0.0, 0.0, *(s for _, s, _ in self.games if s is not None)]
        lost = sum(score is None for _, score, _ in self.games)
        return {
            "share": share,
            "mean": float(np.mean(scores)),
            "variance": float(np.var(scores)),
            "missing": (0.5 + lost) / (10 + len(self.games)),
        }

    def against(self, sign: int, bound: float, about: str = "score") -> float:
        """Return what was made of a stake of 1 by bets against a claim."""
        purses = first_purses(self.rule.margin)
        for facts, games in self.blocks:
            for candidate, score, _ in games:
                bet = self._bet(facts, candidate, score, about)
                if bet is None:
                    continue
                value, unit, variance, reach = bet
                for n, effect in enumerate(EFFECTS):
                    stake = min(effect * unit / max(variance, 1e-12), CAP / (reach + unit * SPAN))
                    factor = 1 + sign * stake * (value - unit * bound)
                    assert factor > 0
                    purses[n] *= factor
        return sum(purses)

    def _bet(
        self, facts: dict[str, float], candidate: bool, score: float | None, about: str
    ) -> tuple[float, float, float, float] | None:
        """Return the increment, its mean for a difference of 1, its variance, its largest size."""
        share = facts["share"]
        tilt, unit, side = candidate - share, share * (1 - share), max(share, 1 - share)
        if about == "share":
            return tilt, 1.0, unit, side
        if about == "missing":
            rate = facts["missing"]
            return tilt * ((score is None) - rate), unit, unit * rate * (1 - rate), side
        if score is None:
            return None
        mean = facts["mean"]
        reach = side * max(mean, 1 - mean)
        return tilt * (score - mean), unit, unit * facts["variance"], reach

    def evidence(self) -> dict[str, float]:
        margin = self.rule.margin
        return {
            "better": self.against(1, 0.0),
            "worse": self.against(-1, 0.0),
            "futile": self.against(-1, margin),
            "not_worse": self.against(1, -margin),
            "missing": self.against(1, 0.0, "missing"),
            "share_high": self.against(1, 0.0, "share"),
            "share_low": self.against(-1, 0.0, "share"),
        }


STRICT = Rule(publish=1e-9, roll_back=1e-9, futile=0, missing=0, share=0, margin=0.07)


def played(
    seed: int, games: int, better: float, lost: float = 0.1, wrong: float = 0.0
) -> list[Result]:
    """Return games at a share that changes on the way."""
    rng = np.random.default_rng(seed)
    out: list[Result] = []
    for number in range(games):
        share = 0.3 if number < 23 else 0.6
        candidate = bool(rng.random() < share + wrong)
        missing = rng.random() < (lost if candidate else lost / 2)
        drawn = rng.random() + (better if candidate else 0.0)
        score = None if missing else 1.0 if drawn > 0.7 else 0.5 if drawn > 0.5 else 0.0
        out.append((candidate, score, share))
    return out


def agree(test: Any, slow: SlowTrial) -> None:
    assert test.evidence() == pytest.approx(slow.evidence(), rel=1e-6)
    known = {True: [], False: []}
    for candidate, score, _ in slow.games:
        known[candidate].append(score)
    for candidate, scores in known.items():
        side, results = test.side(candidate), [score for score in scores if score is not None]
        assert (side.games, side.missing) == (len(results), len(scores) - len(results))
        assert side.score == (pytest.approx(np.mean(results)) if results else None)
    assert test.games == len(slow.games)


@pytest.mark.parametrize("kind", [Trial, Watch])
@pytest.mark.parametrize("seed", range(2))
def test_what_bets_make_is_what_a_ledger_of_purses_says(kind: Any, seed: int) -> None:
    test, slow = kind(STRICT), SlowTrial(STRICT, watch=kind is Watch)
    for number, game in enumerate(played(seed, 75, better=0.15)):
        test.add(*game)
        slow.add(game)
        if number in (0, 15, 16, 22, 23, 31, 32, 63, 64, 74):
            agree(test, slow)
    assert test.decision is None


@pytest.mark.parametrize(
    ("kind", "rule", "better", "lost", "wrong", "ends"),
    [
        (Trial, Rule(publish=0.2), 0.9, 0.0, 0.0, "publish"),
        (Trial, Rule(roll_back=0.2), -0.9, 0.0, 0.0, "reject"),
        (
            Trial,
            Rule(publish=1e-9, roll_back=1e-9, futile=0.3, margin=0.3),
            0.0,
            0.0,
            0.0,
            "reject",
        ),
        (Trial, Rule(missing=0.2, roll_back=1e-9), 0.0, 1.2, 0.0, "reject"),
        (Trial, Rule(share=0.3), 0.0, 0.0, 0.4, "void"),
        (Trial, Rule(share=0.3), 0.0, 0.0, -0.6, "void"),
        (Trial, Rule(limit=37), 0.05, 0.1, 0.0, "reject"),
        (Watch, Rule(roll_back=0.2), -0.9, 0.0, 0.0, "roll_back"),
        (Watch, Rule(futile=0.3, margin=0.3, roll_back=1e-9), 0.1, 0.0, 0.0, "keep"),
        (Watch, Rule(missing=0.2, roll_back=1e-9, futile=0), 0.0, 1.2, 0.0, "roll_back"),
        (Watch, Rule(limit=37), 0.0, 0.1, 0.0, "keep"),
    ],
)
def test_a_test_ends_with_the_very_game_that_makes_enough(
    kind: Any, rule: Rule, better: float, lost: float, wrong: float, ends: str
) -> None:
    slow, results = SlowTrial(rule, watch=kind is Watch), played(3, 160, better, lost, wrong)
    for game in results:
        slow.add(game)
    assert slow.decision is not None
    assert slow.decision[0] == ends
    one_by_one, together = kind(rule), kind(rule)
    for game in results:
        one_by_one.add(*game)
    for share in (0.3, 0.6):
        part = [game for game in results if game[2] == share]
        together.extend([game[0] for game in part], [game[1] for game in part], share)
    for test in (one_by_one, together):
        found = test.decision
        assert (found.verdict, found.reason, found.games) == slow.decision
        assert test.late == len(results) - found.games
        agree(test, slow)
        again = kind.load(test.save())
        assert (again.late, again.decision, again.games) == (test.late, found, test.games)


@pytest.mark.parametrize("kind", [Trial, Watch])
def test_of_several_findings_doubts_come_first_then_what_is_lost_then_the_score(kind: Any) -> None:
    rule = Rule(publish=0.9, roll_back=0.8, futile=0.9, missing=0.9, share=0.0)
    several: set[str] = set()
    for seed in range(12):
        slow, test = SlowTrial(rule, watch=kind is Watch), kind(rule)
        for game in played(seed, 60, better=(-0.6, 0.4)[seed % 2], lost=0.3):
            slow.add(game)
            test.add(*game)
        assert slow.decision is not None
        found = test.decision
        assert (found.verdict, found.reason, found.games) == slow.decision
        if len(slow.reached) > 1:
            several.add(slow.reached[0])
    assert "missing" in several


@pytest.mark.parametrize("better", [0.6, -0.6])
def test_the_interval_ends_where_the_bets_stop_making_enough(better: float) -> None:
    rule = Rule(publish=0.01, roll_back=0.05, futile=0, missing=0, share=0, limit=1000)
    results = played(8, 60, better)
    test, slow = Trial(rule), SlowTrial(rule)
    for game in results[:40]:
        test.add(*game)
        slow.add(game)
    compared = test.comparison()
    assert -1 <= compared.low < compared.high <= 1
    assert (compared.low > -1) or (compared.high < 1)
    if compared.low > -1:
        assert slow.against(1, compared.low) >= 1 / rule.publish * (1 - 1e-6)
        assert slow.against(1, compared.low + 3e-6) < 1 / rule.publish
    if compared.high < 1:
        assert slow.against(-1, compared.high) >= 1 / rule.roll_back * (1 - 1e-6)
        assert slow.against(-1, compared.high - 3e-6) < 1 / rule.roll_back


def test_pairs_make_what_a_ledger_of_purses_says() -> None:
    rng = np.random.default_rng(4)
    scores = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], 40).tolist()
    test = PairedTrial(STRICT)
    ledger = {"better": (1, 0.0), "worse": (-1, 0.0), "futile": (-1, STRICT.margin)}
    wealth = {name: first_purses(STRICT.margin) for name in ledger}
    variance = 0.0
    for number, score in enumerate(scores):
        if number == 0 or (number >= 8 and number % 8 == 0 and (number // 8).bit_count() == 1):
            squares = sum((before - 0.5) ** 2 for before in scores[:number])
            variance = (0.5 + squares) / (4 + number)
        for name, (sign, bound) in ledger.items():
            for n, effect in enumerate(EFFECTS):
                stake = min(effect / variance, CAP / (0.5 + SPAN))
                wealth[name][n] *= 1 + sign * stake * (score - 0.5 - bound)
        test.add(score)
        expected = {name: sum(parts) for name, parts in wealth.items()}
        assert test.evidence() == pytest.approx(expected, rel=1e-6)
    assert test.comparison().difference == pytest.approx(float(np.mean(scores)) - 0.5)
    assert math.isclose(test.games, 40)
