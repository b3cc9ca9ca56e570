"""Offers candidates, lets games decide about them, and follows whoever changes the pointer.

The gate's statistics, the deployment's order, the folder's pointer and the learner's weights meet
here, and each step of it is noted in the book. Knows nothing of files and losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lanista.live.files.policy_folder import PolicyFolder, PolicyFolderError
from lanista.live.files.spool import Spool
from lanista.live.learner.ledger import GameRow, Ledger
from lanista.live.learner.settings import LiveSettings
from lanista.live.learner.weights import Weights
from lanista.live.promotion.deployment import Deployment, Verdict, facts_of
from lanista.live.promotion.ope_veto import recorded_opinion
from lanista.live.promotion.simulator_trial import simulate

_SAID = {
    "published": "is better than the stable policy, and is published",
    "rejected": "is withdrawn",
    "void": "is withdrawn: the games are not what they claim",
    "kept": "is kept: it is not worse than the one before",
    "rolled_back": "is worse than the one before, which is stable again",
    "superseded": "is withdrawn",
}


class Gatekeeper:
    """Stands between the weights that learn and the policy in service."""

    def __init__(
        self,
        folder: PolicyFolder,
        spool: Spool,
        ledger: Ledger,
        weights: Weights,
        settings: LiveSettings,
        say: Callable[[str], None],
        stop: Callable[[], bool],
    ) -> None:
        self.folder, self.spool, self.ledger, self.weights = folder, spool, ledger, weights
        self.settings, self.say, self.stop = settings, say, stop
        self.deployment = Deployment.found(settings.gate, folder)

    def judge(self, rows: Sequence[GameRow], number: int) -> tuple[Verdict, ...]:
        """Let the games of an update count in the test that runs; offer a candidate if it is time.

        What follows from it is done by `carry_out`, once the update is on the disk.
        """
        self.deployment.learned += sum(row.use == "learned" for row in rows)
        verdicts = [verdict for row in rows for verdict in self.deployment.take(row)]
        for verdict in verdicts:
            self._note(verdict, number)
        old = any(row.use == "stale" and row.policy == self.deployment.stable for row in rows)
        spent = old and not any(row.use == "learned" for row in rows)
        if self.deployment.wants_candidate(spent):
            self._offer(number)
        return tuple(verdicts)

    def carry_out(self, number: int) -> None:
        """Change the pointer as the checkpoint of update `number`, on the disk by now, says."""
        due = self.deployment.due
        if due is None:
            return
        if self.deployment.carry_out(self.folder):
            self._prune()
        elif self.deployment.overtaken(self.folder.pointer()):
            self.ledger.add_event(number, "dropped", verb=due.verb, digest=due.digest)
            self.say(f"Somebody changed the pointer first: {due.verb} of {due.digest[:12]} is off.")

    def _prune(self) -> None:
        """Remove policies that nobody needs; which those are, a damaged history does not tell."""
        try:
            self.folder.prune(self.settings.keep_policies, {self.weights.base})
        except PolicyFolderError as error:
            self.say(f"{error} Until then no old policy is removed.")

    def look(self, number: int) -> None:
        """Follow what somebody else made of the pointer, as part of update `number`."""
        pointer = self.folder.pointer()
        if not self.deployment.overtaken(pointer):
            return
        last, before = self.deployment, self.deployment.stable
        self.deployment = Deployment.found(self.settings.gate, self.folder)
        if self.deployment.latest in last.tests:
            self.deployment.parent = last.parent
        stable = self.deployment.stable
        self.say(f"The pointer was changed by hand: {stable[:12]} is stable now.")
        with self.ledger.writing():
            # Without that update on the disk, this is found again and noted then.
            facts = {"serial": self.deployment.serial, "stable": stable, "before": before}
            self.ledger.add_event(number, "changed", **facts)
            if stable != before:
                self._return_to(stable, number)

    def _note(self, verdict: Verdict, number: int) -> None:
        decision = verdict.decision
        facts = {"digest": verdict.digest, "reason": decision.reason, **verdict.facts}
        self.ledger.add_event(number, verdict.kind, **facts)
        clause = _SAID[verdict.kind]
        if (verdict.kind, decision.reason) == ("kept", "limit"):
            clause = "is kept: it was not seen to be worse than the one before"
        self.say(
            f"The policy {verdict.digest[:12]} {clause} ({decision.reason}, after "
            f"{decision.games:,} games)."
        )
        # A candidate that the weights do not descend from says little about them.
        if verdict.kind == "rolled_back" or (verdict.kind == "rejected" and verdict.newest):
            due = self.deployment.due
            self._return_to(due.digest if due else self.deployment.stable, number)

    def _return_to(self, digest: str, number: int) -> None:
        self.weights.return_to(digest)
        self.deployment.learned, self.deployment.parent = 0, None
        # From here on its games are no older than this, whenever it was made.
        self.ledger.add_policy(number, digest, None)
        self.ledger.add_event(number, "returned", digest=digest)
        self.say(f"The learner goes on from the weights of {digest[:12]}, its optimiser reset.")

    def _offer(self, number: int) -> None:
        """Let the weights of now become a candidate, unless recorded games speak against them."""
        stable, gate = self.deployment.stable, self.settings.gate
        self.deployment.learned = 0
        if self.weights.are(stable):
            # A trial would compare it with itself; and its games cannot be too old.
            self.ledger.add_policy(number, stable, None)
            return
        digest = self.folder.add(self.weights.candidate(number))
        self.ledger.add_policy(number, digest, self.weights.base)
        opinion = recorded_opinion(
            self.spool, self.ledger, stable, self.weights.learner, self.settings
        )
        about = {"opinion": opinion.verdict, "effective": opinion.effective, "said": opinion.reason}
        if opinion.verdict == "veto":
            self.ledger.add_event(number, "vetoed", digest=digest, **about)
            self.say(f"The candidate {digest[:12]} is not tried. {opinion.reason}")
            self._return_to(stable, number)
            return
        self._supersede(number)
        if gate.kind == "live":
            self.deployment.try_out(digest, f"candidate of update {number}")
        due = self.deployment.due
        beside = [] if due is None else [*due.candidates[:-1]]
        share = 0.0 if due is None else due.share / (1 + len(beside))
        facts: dict[str, Any] = {"digest": digest, "stable": stable, "share": share, **about}
        self.ledger.add_event(
            number, "candidate", **facts, **({"beside": beside} if beside else {})
        )
        if gate.kind == "live":
            also = f", as {len(beside)} beside it do" if beside else ""
            self.say(
                f"The candidate {digest[:12]} plays {share:.0%} of the games from now on{also}."
            )
        elif gate.kind == "open":
            self.ledger.add_event(number, "published", digest=digest, reason="untested")
            self.deployment.publish(digest, "published untested")
            self.say(f"The policy {digest[:12]} is published untested, as the gate is open.")
        else:
            self._simulate(digest, number)

    def _supersede(self, number: int) -> None:
        for digest in self.deployment.leaving:
            facts = {"digest": digest, **facts_of(self.deployment.tests[digest])}
            self.ledger.add_event(number, "superseded", **facts)

    def _simulate(self, digest: str, number: int) -> None:
        """Let the candidate and the stable policy play pairs of matches now."""
        stable = self.deployment.stable
        paths = self.folder.path_of(digest), self.folder.path_of(stable)
        result = simulate(*paths, self.settings, number=number, stop=self.stop)
        if result is None:
            self.deployment.learned = self.settings.gate.every  # Tried again after the next start.
            return
        decision, facts = result
        kind = "published" if decision.verdict == "publish" else "rejected"
        self.ledger.add_event(number, kind, digest=digest, reason=decision.reason, **facts)
        self.say(
            f"The candidate {digest[:12]} is {kind} after {decision.games:,} pairs of matches: "
            f"{decision.reason}."
        )
        if kind == "published":
            self.deployment.publish(digest, f"{decision.reason} after {decision.games} pairs")
        else:
            self._return_to(stable, number)
