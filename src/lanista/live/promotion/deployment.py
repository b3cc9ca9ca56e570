"""What is being tested in service, and what has to happen to the pointer because of it.

A candidate is tried, published and watched, or withdrawn. A decision is first part of the
learner's checkpoint, as `due`, and then carried out by one change of the pointer; after a kill it
is carried out if it was not. Owns the order of these things; the statistics are the gate's, the
pointer the folder's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lanista.live.files.policy_folder import Pointer, PolicyFolder
from lanista.live.learner.ledger import GameRow
from lanista.live.learner.settings import Gate
from lanista.live.promotion.gate import Trial, Watch
from lanista.live.promotion.sequential_test import Decision

Verb = Literal["try_out", "publish", "withdraw", "roll_back"]


@dataclass(frozen=True)
class Due:
    """A change of the pointer that was decided."""

    verb: Verb
    digest: str
    """The policy that is stable afterwards; of `try_out`, the candidate."""
    share: float
    """Of the second policy afterwards: the candidate, or the one before while it is watched."""
    reason: str


@dataclass(frozen=True)
class Verdict:
    """How a test in service ended, and what the learner has to do."""

    kind: Literal["published", "rejected", "void", "kept", "rolled_back"]
    digest: str
    """The policy that was tested."""
    decision: Decision
    facts: Mapping[str, Any]
    """Games, scores and the difference with its interval."""


class Deployment:
    """The policies in service, as the learner knows them."""

    def __init__(self, gate: Gate, pointer: Pointer) -> None:
        self.gate = gate
        self.serial, self.stable = pointer.serial, pointer.stable
        self.second: str | None = None
        """The candidate of a trial, or the policy before in a watch."""
        self.share = 0.0
        self.test: Trial | None = None
        self.learned = 0
        """Games learned from since the last candidate, or since the weights returned."""
        self.due: Due | None = None

    @classmethod
    def found(cls, gate: Gate, folder: PolicyFolder) -> Deployment:
        """Return what a folder has in service; a trial or watch found there restarts."""
        with folder.changing():
            pointer, change = folder.pointer(), folder.last_change()
        deployment = cls(gate, pointer)
        if pointer.candidate is not None and 0 < pointer.share < 1:
            deployment.second, deployment.share = pointer.candidate, pointer.share
            watched = change is not None and change.watched
            deployment.test = Watch(gate.watch) if watched else Trial(gate.rule)
        return deployment

    def state(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "serial": self.serial,
            "stable": self.stable,
            "second": self.second,
            "share": self.share,
            "test": None if self.test is None else self.test.save(),
            "learned": self.learned,
            "due": None if self.due is None else vars(self.due).copy(),
        }

    @classmethod
    def of(cls, gate: Gate, state: Mapping[str, Any]) -> Deployment:
        """Return what `state` gave."""
        deployment = cls(gate, Pointer(state["stable"], serial=int(state["serial"])))
        deployment.second, deployment.share = state["second"], float(state["share"])
        deployment.learned = int(state["learned"])
        deployment.due = None if state["due"] is None else Due(**state["due"])
        test = state["test"]
        if test is not None:
            deployment.test = (Watch if test["kind"] == Watch.kind else Trial).load(test)
        return deployment

    def wants_candidate(self, spent: bool) -> bool:
        """Whether enough was learned since the last candidate, and nothing else is tested.

        `spent` says that games of the stable policy are too old: no more can be learned from them,
        so it is enough.
        """
        free = (self.test is None or self.undecided) and not self.due
        return free and (spent or self.learned >= self.gate.every)

    @property
    def undecided(self) -> bool:
        """Whether a candidate has been tried for so long that another one may take its place."""
        test, gate = self.test, self.gate
        if test is None or isinstance(test, Watch):
            return False
        if gate.refresh and test.games >= gate.refresh:
            ahead = test.comparison().difference
            if ahead is None or ahead < gate.rule.margin:
                return True
        return bool(gate.patience) and test.games >= gate.patience

    def try_out(self, digest: str, reason: str) -> None:
        """Decide that a candidate plays beside the stable policy."""
        self.due = Due("try_out", digest, self.gate.share, reason)

    def publish(self, digest: str, reason: str) -> None:
        """Decide that a policy becomes the stable one, and whether the one before stays a while."""
        self.due = Due("publish", digest, self.gate.watch_share, reason)

    def take(self, row: GameRow) -> Verdict | None:
        """Count a game in the test that it belongs to, if any; return how the test ended."""
        if self.test is None or row.serial != self.serial or self.second is None:
            return None
        watching = isinstance(self.test, Watch)
        expected = self.second if row.candidate else self.stable
        if row.policy != expected:
            return None  # Played under another pointer that had the same number.
        # A watch judges the stable policy, which has the larger share.
        new = row.candidate != watching
        share = 1 - self.share if watching else self.share
        decision = self.test.add(new, score_of(row), share)
        return None if decision is None else self._ended(decision)

    def _ended(self, decision: Decision) -> Verdict:
        test, second = self.test, self.second
        assert test is not None
        assert second is not None
        watching = isinstance(test, Watch)
        digest = self.stable if watching else second
        facts = facts_of(test)
        reason = f"{decision.reason} after {decision.games} games"
        self.test = None
        if decision.verdict == "publish":
            self.publish(second, reason)
            return Verdict("published", digest, decision, facts)
        if decision.verdict == "roll_back":
            self.due = Due("roll_back", second, 0.0, reason)
            return Verdict("rolled_back", digest, decision, facts)
        self.due = Due("withdraw", self.stable, 0.0, reason)
        if decision.verdict == "void":
            return Verdict("void", digest, decision, facts)
        return Verdict("kept" if watching else "rejected", digest, decision, facts)

    def carry_out(self, folder: PolicyFolder) -> bool:
        """Change the pointer as decided, unless that is done; return whether it was changed now.

        Somebody else may have changed it meanwhile: then nothing is done, and `overtaken` says so.
        """
        due = self.due
        if due is None:
            return False
        with folder.changing():  # Nobody comes between looking and changing.
            now = folder.pointer()
            done = now.serial == self.serial + 1 and self._matches(now, due)
            if done:
                pointer = now  # Killed after the change, before this was noted.
            elif now.serial != self.serial:
                self.due = None
                return False
            else:
                pointer = self._change(folder, due)
        self._follow(pointer, due)
        return not done

    def overtaken(self, pointer: Pointer) -> bool:
        """Whether somebody else changed the pointer."""
        return self.due is None and pointer.serial != self.serial

    def _change(self, folder: PolicyFolder, due: Due) -> Pointer:
        if due.verb == "try_out":
            return folder.try_out(due.digest, due.share, due.reason)
        if due.verb == "publish":
            return folder.publish(due.digest, due.reason, watch_share=due.share)
        if due.verb == "roll_back":
            return folder.roll_back(due.reason)
        return folder.withdraw(due.reason)

    def _matches(self, pointer: Pointer, due: Due) -> bool:
        if due.verb == "try_out":
            return (pointer.stable, pointer.candidate) == (self.stable, due.digest)
        return pointer.stable == due.digest and (pointer.candidate is None) == (not due.share)

    def _follow(self, pointer: Pointer, due: Due) -> None:
        self.serial, self.stable = pointer.serial, pointer.stable
        self.second, self.share, self.due = pointer.candidate, pointer.share, None
        self.test = None
        if due.verb == "try_out":
            self.test = Trial(self.gate.rule)
        elif due.verb == "publish" and pointer.candidate is not None:
            self.test = Watch(self.gate.watch)


def facts_of(test: Trial) -> dict[str, Any]:
    """Return what a test has seen, for the book."""
    new, old, compared = test.side(True), test.side(False), test.comparison()
    return {
        "games": test.games,
        "score": new.score,
        "score_before": old.score,
        "played": [new.games, old.games],
        "missing": [new.missing, old.missing],
        "difference": compared.difference,
        "low": compared.low,
        "high": compared.high,
    }


def score_of(row: GameRow) -> float | None:
    """Return 1 for a win, ½ for a draw, 0 for a loss; None for a game without a result."""
    if row.outcome is None:
        return None
    return 1.0 if row.outcome > 0 else 0.0 if row.outcome < 0 else 0.5
