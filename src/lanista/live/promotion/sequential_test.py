"""A test that takes in results one at a time and may be looked at after each.

Opens blocks, counts, decides once, saves itself as plain values and goes on from them with the
same bits. What is counted and what is bet on is the business of its kinds, in `gate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError, nearest
from lanista.live.promotion.e_process import (
    EFFECTS,
    SPAN,
    Block,
    Claim,
    Key,
    Purses,
    Values,
    extreme,
    log_evidence,
    purses_for,
)

FORMAT = 1
_ONCE = 1024
"""Most games looked at together; what a decision makes superfluous is thrown away."""


@dataclass(frozen=True)
class Rule:
    """The error rates of a gate. Each holds over the whole trial, however often one looks."""

    publish: float = 0.025
    """Largest chance that a candidate which is no better is published."""
    roll_back: float = 0.025
    """Largest chance that a candidate which is no worse is found to be worse."""
    futile: float = 0.05
    """Largest chance that a candidate better by `margin` is given up; 0: never given up."""
    margin: float = 0.05
    """The least difference of score worth waiting for; no bets are made on less than half of it."""
    limit: int = 20_000
    """After so many games (or pairs) a trial ends without publication, a watch without alarm."""
    missing: float = 0.01
    """Largest chance to blame a candidate for games without a result when both have as many;
    0: never."""
    share: float = 0.001
    """Largest chance to find the candidate's share of the games wrong when it is right;
    0: never."""

    def __post_init__(self) -> None:
        for name in ("publish", "roll_back", "futile", "missing", "share"):
            level = getattr(self, name)
            if not 0 <= level < 1 or (not level and name in ("publish", "roll_back")):
                raise LanistaError(f"The gate's {name} is {level}; give a chance between 0 and 1.")
        if not 0 < self.margin < SPAN:
            raise LanistaError(f"The gate's margin is {self.margin}; give 0 to {SPAN}, not 0.")
        if self.limit < 1:
            raise LanistaError(f"The gate's limit is {self.limit} games; give 1 or more.")


@dataclass(frozen=True)
class Decision:
    """How a test ended."""

    verdict: str
    """`publish`, `reject`, `roll_back`, `keep`, or `void`: the games are not what they claim."""
    reason: str
    """`better`, `worse`, `futile`, `not_worse`, `missing`, `share` or `limit`."""
    games: int
    """After how many games, or pairs."""


@dataclass(frozen=True)
class Comparison:
    """What is known at this moment."""

    difference: float | None
    """The candidate's score less that of the stable policy (paired: less ½)."""
    low: float
    """The difference is at least this, at error `Rule.publish`, at every look at once."""
    high: float
    """The difference is at most this, at error `Rule.roll_back`, at every look at once."""
    evidence: dict[str, float]
    """What the bets have made for each finding; 1/error rate makes it a decision."""


class Sequential:
    """A fold over results: opens blocks, counts, and decides once."""

    kind: ClassVar[str]
    claims: ClassVar[tuple[str, ...]]
    """What is bet on, in the order of the purses' rows."""
    first_block: ClassVar[int] = 16

    def __init__(self, rule: Rule | None = None) -> None:
        self.rule = rule or Rule()
        self.games = 0
        """Games (or pairs) taken in before the decision."""
        self.late = 0
        """Games that came after it; they change nothing."""
        self.decision: Decision | None = None
        self.totals: dict[Key, int] = {}
        self._purses = Purses(len(self.claims), self._factors)
        self._shares = purses_for(self.rule.margin)
        self._endings = self.endings()
        self._lines = np.full(len(self.claims), math.inf)
        for claim, level, _, _ in self._endings:
            self._lines[self.claims.index(claim)] = -math.log(level) if level else math.inf

    def endings(self) -> tuple[tuple[str, float, str, str], ...]:
        """Return (claim, error rate, verdict, reason), the first that applies decides."""
        raise NotImplementedError

    def last(self) -> tuple[str, str]:
        """Return verdict and reason at the limit."""
        raise NotImplementedError

    def _factors(self, facts: Mapping[str, float], key: Key) -> Values:
        raise NotImplementedError

    def _facts(self) -> dict[str, float]:
        raise NotImplementedError

    def fold(self, keys: Sequence[Key], conditions: Mapping[str, float]) -> Decision | None:
        """Take in games that share `conditions`, and return the decision once there is one."""
        done = 0
        while done < len(keys) and self.decision is None:
            if self._wants_block(conditions):
                self._purses.open(Block({**self._facts(), **conditions}))
            done += self._take(keys[done : done + self._room()])
        self.late += len(keys) - done
        return self.decision

    def _take(self, keys: Sequence[Key]) -> int:
        """Count `keys` up to the one that decides; return how many."""
        path = self._purses.path(keys)[1:]
        reached = path.max(axis=2) >= self._lines
        # All purses together never hold more than the fullest would alone.
        near = reached.any(axis=1)
        reached[near] = log_evidence(path[near], self._shares) >= self._lines
        reached &= self._may_end(keys)
        hit = reached.any(axis=1)
        count = int(hit.argmax()) + 1 if hit.any() else len(keys)
        self._purses.add(keys[:count])
        for key in keys[:count]:
            self.totals[key] = self.totals.get(key, 0) + 1
        self.games += count
        if hit.any():
            self.decision = self._ending(reached[count - 1])
        elif self.games >= self.rule.limit:
            self.decision = Decision(*self.last(), self.games)
        return count

    def _may_end(self, keys: Sequence[Key]) -> NDArray[np.bool_]:
        """Return whether each claim may decide after each of `keys`, `[games, claims]`.

        To wait longer than the bets ask for makes no error likelier.
        """
        return np.ones((len(keys), len(self.claims)), np.bool_)

    def _room(self) -> int:
        """Return how many games may come before bets are renewed or the limit is reached."""
        block = self.first_block
        while block <= self.games:
            block *= 2
        return min(block - self.games, self.rule.limit - self.games, _ONCE)

    def _wants_block(self, conditions: Mapping[str, float]) -> bool:
        """Bets are renewed whenever the games have doubled, or the conditions have changed."""
        if not self._purses.blocks:
            return True
        times, rest = divmod(self.games, self.first_block)
        if times and not rest and not times & (times - 1):
            return True
        facts = self._purses.blocks[-1].facts
        return any(facts[name] != value for name, value in conditions.items())

    def _ending(self, hit: NDArray[np.bool_]) -> Decision:
        for claim, _, verdict, reason in self._endings:
            if hit[self.claims.index(claim)]:
                return Decision(verdict, reason, self.games)
        raise AssertionError("a claim without an ending has no line to reach")

    def _interval(self) -> tuple[float, float]:
        low = extreme(lambda d: self._against(Claim(1, d)), self.rule.publish, 1)
        high = extreme(lambda d: self._against(Claim(-1, d)), self.rule.roll_back, -1)
        return low, high

    def _against(self, claim: Claim) -> float:
        """Return the log of what a bet against any `claim` about the difference has made."""
        logs = np.zeros(len(EFFECTS))
        for block in self._purses.blocks:
            for key, count in block.counts.items():
                logs += count * self._bet(block.facts, key, claim)
        return float(log_evidence(logs, self._shares))

    def _bet(self, facts: Mapping[str, float], key: Key, claim: Claim) -> Values:
        raise NotImplementedError

    def evidence(self) -> dict[str, float]:
        """Return what the bets have made for each finding, 1 at the start."""
        wealth = np.exp(np.minimum(log_evidence(self._purses.logs(), self._shares), 700.0))
        return {name: float(won) for name, won in zip(self.claims, wealth, strict=True)}

    def save(self) -> dict[str, Any]:
        """Return the whole state as plain values, for JSON."""
        blocks = [
            {"facts": dict(block.facts), "counts": [[*k, n] for k, n in block.counts.items()]}
            for block in self._purses.blocks
        ]
        decision = asdict(self.decision) if self.decision else None
        return {
            "format": FORMAT, "kind": self.kind, "rule": asdict(self.rule), "blocks": blocks,
            "late": self.late, "decision": decision,
        }  # fmt: skip

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Self:
        """Return the test that `save` described; it goes on as the saved one would."""
        if state.get("format") != FORMAT or state.get("kind") != cls.kind:
            raise LanistaError(
                f"A saved test of kind {state.get('kind')!r}, format {state.get('format')!r}, "
                f"cannot go on as {cls.kind!r}, format {FORMAT}; start a new one."
            )
        test = cls(_rule(state["rule"]))
        for block in state["blocks"]:
            counts = {tuple(row[:-1]): int(row[-1]) for row in block["counts"]}
            test._purses.open(Block(dict(block["facts"]), counts))
            for key, count in counts.items():
                test.totals[key] = test.totals.get(key, 0) + count
        test.games, test.late = sum(test.totals.values()), int(state["late"])
        test.decision = Decision(**state["decision"]) if state["decision"] else None
        return test


def _rule(saved: Mapping[str, Any]) -> Rule:
    names = [field.name for field in fields(Rule)]
    for name in saved:
        if name not in names:
            raise LanistaError(f"A saved gate's rule has {name!r}; {nearest(name, names)}")
    return Rule(**saved)
