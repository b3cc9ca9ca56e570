"""What is being tested in service, and what has to happen to the pointer because of it.

Candidates are tried, one or several at once; the first that is better is published and watched, the
others are withdrawn. A decision is first part of the
learner's checkpoint, as `due`, and then carried out by one change of the pointer; after a kill it
is carried out if it was not. Owns the order of these things; the statistics are the gate's, the
pointer the folder's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
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
    """The policy that is stable afterwards; of `try_out`, the new candidate."""
    share: float
    """Of the second policies afterwards: candidates, or the one before while it is watched."""
    reason: str
    candidates: tuple[str, ...] = ()
    """That are tried afterwards."""


@dataclass(frozen=True)
class Verdict:
    """How a test in service ended, and what the learner has to do."""

    kind: Literal["published", "rejected", "void", "kept", "rolled_back", "superseded"]
    digest: str
    """The policy that was tested."""
    decision: Decision
    facts: Mapping[str, Any]
    """Games, scores and the difference with its interval."""
    newest: bool = True
    """Whether the weights descend from it: no newer candidate was made, nor did they return."""


class Deployment:
    """The policies in service, as the learner knows them."""

    def __init__(self, gate: Gate, pointer: Pointer) -> None:
        self.gate = gate
        self.serial, self.stable = pointer.serial, pointer.stable
        self.tests: dict[str, Trial] = {}
        """By second policy: candidates, the oldest first, or in a watch the policy before."""
        self.share = 0.0
        self.split = 1
        """Among how many second policies the pointer divides the share."""
        self.learned = 0
        """Games learned from since the last candidate, or since the weights returned."""
        self.parent: str | None = None
        """The candidate that the weights descend from; None: they descend from none on trial."""
        self.due: Due | None = None

    @property
    def test(self) -> Trial | None:
        """The oldest test that runs."""
        return next(iter(self.tests.values()), None)

    @property
    def second(self) -> str | None:
        """The second policy of the oldest test."""
        return next(iter(self.tests), None)

    @property
    def latest(self) -> str | None:
        """The newest candidate on trial."""
        return None if self.watching or not self.tests else [*self.tests][-1]

    @property
    def watching(self) -> bool:
        """Whether a publication is watched."""
        return isinstance(self.test, Watch)

    @classmethod
    def found(cls, gate: Gate, folder: PolicyFolder) -> Deployment:
        """Return what a folder has in service; a trial or watch found there restarts."""
        with folder.changing():
            pointer, change = folder.pointer(), folder.last_change()
        return cls.begun(gate, pointer, watched=change is not None and change.watched)

    @classmethod
    def begun(cls, gate: Gate, pointer: Pointer, *, watched: bool) -> Deployment:
        """Return what a pointer has in service, its trial or watch at its beginning."""
        deployment = cls(gate, pointer)
        if pointer.candidate is not None and 0 < pointer.share < 1:
            deployment.share, deployment.split = pointer.share, len(pointer.candidates)
            for digest in pointer.candidates:
                test = Watch(gate.watch) if watched else Trial(gate.trial_rule)
                deployment.tests[digest] = test
            deployment.parent = deployment.latest
        return deployment

    def state(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        saved = [[digest, test.save()] for digest, test in self.tests.items()]
        state = {
            "serial": self.serial,
            "stable": self.stable,
            "second": self.second,
            "share": self.share,
            "test": saved[0][1] if saved else None,
            "learned": self.learned,
            "due": None if self.due is None else asdict(self.due),
        }
        if self.tests and self.parent != self.latest and not self.watching:
            state["parent"] = self.parent
        if self.split == 1 and len(saved) <= 1:
            return state
        return state | {"others": saved[1:], "split": self.split}

    @classmethod
    def of(cls, gate: Gate, state: Mapping[str, Any]) -> Deployment:
        """Return what `state` gave; earlier versions tried one candidate at a time."""
        deployment = cls(gate, Pointer(state["stable"], serial=int(state["serial"])))
        deployment.share, deployment.split = float(state["share"]), int(state.get("split", 1))
        deployment.learned = int(state["learned"])
        if state["due"] is not None:
            due = Due(**state["due"])
            deployment.due = replace(due, candidates=tuple(due.candidates))
        first = (state["second"], state["test"])
        for digest, test in [first, *state.get("others", ())] if first[1] is not None else []:
            deployment.tests[digest] = (Watch if test["kind"] == Watch.kind else Trial).load(test)
        deployment.parent = state.get("parent", deployment.latest)
        return deployment

    def wants_candidate(self, spent: bool) -> bool:
        """Whether enough was learned since the last candidate, and there is room for another.

        `spent` says that games of the stable policy are too old: no more can be learned from them,
        so it is enough.
        """
        room = len(self.tests) < self.gate.candidates and not self.watching
        free = (room or self.undecided) and not self.due
        return free and (spent or self.learned >= self.gate.every)

    @property
    def undecided(self) -> bool:
        """Whether a candidate has been tried for so long that another one may take its place."""
        return self.outlasted is not None

    @property
    def outlasted(self) -> str | None:
        """The oldest candidate that has been tried for so long; None where a place is free."""
        if self.watching or len(self.tests) < self.gate.candidates:
            return None
        return next((digest for digest, test in self.tests.items() if self._too_long(test)), None)

    @property
    def leaving(self) -> tuple[str, ...]:
        """The candidates that another one makes go: one that was tried for long, and where fewer
        are tried at once than before, the oldest of the others."""
        if self.watching:
            return ()
        outlasted = self.outlasted
        others = [name for name in self.tests if name != outlasted]
        surplus = others[: max(0, len(others) - self.gate.candidates + 1)]
        return tuple(name for name in self.tests if name == outlasted or name in surplus)

    def _too_long(self, test: Trial) -> bool:
        gate = self.gate
        if gate.refresh and test.games >= gate.refresh:
            ahead = test.comparison().difference
            if ahead is None or ahead < gate.rule.margin:
                return True
        return bool(gate.patience) and test.games >= gate.patience

    def try_out(self, digest: str, reason: str) -> None:
        """Decide that a candidate plays beside the stable policy, and beside others if there is
        room; otherwise in the place of one that has been tried for long."""
        leaving = self.leaving
        kept = [name for name in self.tests if name not in leaving and not self.watching]
        share = self.gate.share_of(len(kept) + 1)
        self.due = Due("try_out", digest, share, reason, (*kept, digest))

    def publish(self, digest: str, reason: str) -> None:
        """Decide that a policy becomes the stable one, and whether the one before stays a while."""
        self.due = Due("publish", digest, self.gate.watch_share, reason)

    def take(self, row: GameRow) -> tuple[Verdict, ...]:
        """Count a game in the tests that it belongs to; return how those ended that did.

        A candidate's game counts in its own test, a game of the stable policy in all of them.
        """
        if row.serial != self.serial:
            return ()
        if row.candidate:
            counting = [row.policy] if row.policy in self.tests else []
        else:
            # Otherwise it was played under another pointer that had the same number.
            counting = [*self.tests] if row.policy == self.stable else []
        verdicts: list[Verdict] = []
        for digest in counting:
            test = self.tests.get(digest)  # None: another one was published by this game.
            if test is None:
                continue
            # A watch judges the stable policy, which has the larger share.
            watching = isinstance(test, Watch)
            share = 1 - self.share if watching else self._chance
            decision = test.add(row.candidate != watching, score_of(row), share)
            if decision is not None:
                verdicts += self._ended(digest, decision)
        return tuple(verdicts)

    @property
    def _chance(self) -> float:
        """The chance of a candidate to play a game that is its own or the stable policy's."""
        if self.split == 1:
            return self.share
        own = self.share / self.split
        # Rounded, or bets would be renewed for a difference in the last bit.
        return round(own / (own + 1 - self.share), 12)

    def _ended(self, digest: str, decision: Decision) -> list[Verdict]:
        newest = digest == self.parent
        test = self.tests.pop(digest)
        watching = isinstance(test, Watch)
        judged = self.stable if watching else digest
        facts = facts_of(test)
        reason = f"{decision.reason} after {decision.games} games"
        if decision.verdict == "publish":
            self.publish(digest, reason)
            return [Verdict("published", judged, decision, facts), *self._dropped()]
        if decision.verdict == "roll_back":
            self.due = Due("roll_back", digest, 0.0, reason)
            return [Verdict("rolled_back", judged, decision, facts)]
        left = tuple(self.tests)
        self.due = Due("withdraw", self.stable, self.gate.share_of(len(left)), reason, left)
        if decision.verdict == "void":
            return [Verdict("void", judged, decision, facts)]
        kind: Literal["kept", "rejected"] = "kept" if watching else "rejected"
        if newest:
            self.parent = None  # The weights return to the stable policy.
        return [Verdict(kind, judged, decision, facts, newest)]

    def _dropped(self) -> list[Verdict]:
        """Drop the other candidates: they were compared with a policy that is stable no more."""
        dropped = [
            Verdict(
                "superseded",
                digest,
                Decision("superseded", "another was published", test.games),
                facts_of(test),
            )
            for digest, test in self.tests.items()
        ]
        self.tests.clear()
        return dropped

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
            return folder.try_out(due.digest, due.share, due.reason, due.candidates[:-1])
        if due.verb == "publish":
            return folder.publish(due.digest, due.reason, watch_share=due.share)
        if due.verb == "roll_back":
            return folder.roll_back(due.reason)
        return folder.withdraw(due.reason, due.candidates, due.share)

    def _matches(self, pointer: Pointer, due: Due) -> bool:
        if due.verb == "try_out":
            candidates = due.candidates or (due.digest,)
            return (pointer.stable, pointer.candidates) == (self.stable, candidates)
        if due.verb == "withdraw":
            return (pointer.stable, pointer.candidates) == (due.digest, due.candidates)
        return pointer.stable == due.digest and (pointer.candidate is None) == (not due.share)

    def _follow(self, pointer: Pointer, due: Due) -> None:
        self.serial, self.stable = pointer.serial, pointer.stable
        self.share, self.split, self.due = pointer.share, max(1, len(pointer.candidates)), None
        tests, self.tests = self.tests, {}
        if due.verb in ("try_out", "withdraw"):
            for digest in pointer.candidates:
                self.tests[digest] = tests.get(digest) or Trial(self.gate.trial_rule)
            self.parent = due.digest if due.verb == "try_out" else self.parent
        elif due.verb == "publish" and pointer.candidate is not None:
            self.tests[pointer.candidate] = Watch(self.gate.watch)


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
