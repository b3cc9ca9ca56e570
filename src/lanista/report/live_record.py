"""What came of a live bot, read from its policy folder: who played, how well, what was decided.

Reads the learner's book and the pointer's history; writes nothing. Knows nothing of how anything
is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanista.errors import LanistaError
from lanista.evaluation.score import Estimate, Values, mean_score
from lanista.live.files.policy_folder import POINTER, PolicyFolder
from lanista.live.learner.ledger import NAME, Event, GameRow, Totals, reading
from lanista.live.learner.settings import LiveSettings
from lanista.live.promotion.deployment import Deployment, facts_of
from lanista.live.promotion.gate import Watch
from lanista.nets.files.policy_format import PolicyFileError, read_header
from lanista.runs.serialise import build, read_yaml

LEARNER, SETTINGS = "learner", "settings.yaml"
DECIDED = ("published", "rejected", "void", "kept", "rolled_back", "vetoed", "superseded")


@dataclass(frozen=True)
class Service:
    """One policy and its games."""

    digest: str
    update: int | None
    """After which it was made; None: by nobody that the learner knows."""
    stable: Estimate | None
    """Its score as the stable policy."""
    second: Estimate | None
    """Its score as candidate, or while it was kept to compare a newer one with."""
    published: bool
    """Whether it ever was the stable policy."""
    missing: int
    """Games without a result."""


@dataclass(frozen=True)
class RunningTest:
    """A test of the gate that has not ended, as the learner's book has it."""

    digest: str
    """The policy beside the stable one."""
    watching: bool
    """Whether the stable policy is new, and this the one before."""
    facts: Mapping[str, Any]
    """Games, scores, and the difference with its interval."""
    evidence: Mapping[str, float]
    """What the bets have made for each finding, 1 at the start."""
    needed: Mapping[str, float]
    """How much makes a decision, for the findings that end the test."""


@dataclass(frozen=True)
class LiveRecord:
    """A policy folder and its learner, so far."""

    name: str
    game: str
    stable: str
    candidate: str | None
    others: tuple[str, ...]
    """Further candidates."""
    share: float
    games: Sequence[GameRow]
    events: Sequence[Event]
    totals: Totals
    services: Sequence[Service]
    """In the order in which they were made."""
    metrics: dict[str, list[tuple[int, float]]]
    tests: Sequence[RunningTest] = ()

    @property
    def ladder(self) -> list[Service]:
        """The policies that were stable and have results as such, in order."""
        return [service for service in self.services if service.published and service.stable]

    @property
    def now(self) -> Service | None:
        """The stable policy; None if it has not played yet."""
        stable_services = (service for service in self.services if service.digest == self.stable)
        return next(stable_services, None)

    @property
    def publications(self) -> list[Event]:
        """When another policy became stable for the better, or by hand."""
        return [event for event in self.events if event.kind == "published"]

    @property
    def by_hand(self) -> list[Event]:
        """The moments when somebody else changed the stable policy."""
        changed = [event for event in self.events if event.kind == "changed"]
        return [event for event in changed if event.body["stable"] != event.body["before"]]


def is_live(folder: Path) -> bool:
    """Whether a folder is a policy folder that a learner has worked on."""
    return (folder / POINTER).is_file() and (folder / LEARNER / NAME).is_file()


def read_live(folder: Path) -> LiveRecord:
    """Return the record of a policy folder."""
    if not is_live(folder):
        raise LanistaError(
            f"{folder} is no policy folder with a learner's book in it; name the folder that "
            "`lanista learn --policy` was given."
        )
    policies = PolicyFolder(folder)
    pointer = policies.pointer()
    stable = {change.pointer.stable for change in policies.history()} | {pointer.stable}
    with reading(folder / LEARNER / NAME) as ledger:
        games, policy_rows = ledger.games(), ledger.policies()
        shown = [name for name in ledger.metric_names() if _worth_showing(name)]
        return LiveRecord(
            name=folder.resolve().name,
            game=_game(policies, pointer.stable),
            stable=pointer.stable,
            candidate=pointer.candidate,
            others=pointer.others,
            share=pointer.share,
            # Of a backlog the newest games took effect first; the pointer's number tells when.
            games=sorted(games, key=lambda row: row.serial),
            events=ledger.events(),
            totals=ledger.totals(),
            services=_services(
                games, {digest: at for digest, (at, _) in policy_rows.items()}, stable
            ),
            metrics={name: ledger.metrics(name) for name in shown},
            tests=_tests(policies, games),
        )


def _tests(policies: PolicyFolder, games: Sequence[GameRow]) -> list[RunningTest]:
    """Return the tests that run, counted again from the games under the present pointer."""
    change, path = policies.last_change(), policies.folder / LEARNER / SETTINGS
    if change is None or change.pointer.candidate is None or not path.is_file():
        return []
    gate = build(LiveSettings, read_yaml(path) or {}).gate
    if gate.kind == "open":
        return []
    running = Deployment.begun(gate, change.pointer, watched=change.watched)
    for row in games:
        if row.serial == change.pointer.serial:
            running.take(row)
    return [
        RunningTest(
            digest,
            isinstance(test, Watch),
            facts_of(test),
            test.evidence(),
            {claim: 1 / level for claim, level, _, _ in test.endings() if level},
        )
        for digest, test in running.tests.items()
    ]


def score_of(row: GameRow) -> float | None:
    """Return a game's score: 1 won, ½ drawn, 0 lost; None without a result."""
    return None if row.outcome is None else 0.5 + 0.5 * float(np.sign(row.outcome))


def _services(
    games: Sequence[GameRow], update_by_digest: dict[str, int], stable: set[str]
) -> list[Service]:
    # Of a backlog the newest games come first, so it is not who played first; one that the learner
    # did not make or meet is older than it.
    order = sorted(
        dict.fromkeys(row.policy for row in games), key=lambda d: update_by_digest.get(d, -1)
    )
    services = []
    for digest in order:
        mine = [row for row in games if row.policy == digest]
        services.append(
            Service(
                digest=digest,
                update=update_by_digest.get(digest),
                stable=mean_score(_scores(row for row in mine if not row.candidate)),
                second=mean_score(_scores(row for row in mine if row.candidate)),
                published=digest in stable,
                missing=sum(row.outcome is None for row in mine),
            )
        )
    return services


def _scores(rows: Iterable[GameRow]) -> Values:
    scores = [score_of(row) for row in rows]
    return np.array([score for score in scores if score is not None])


def _game(policies: PolicyFolder, digest: str) -> str:
    try:
        return read_header(policies.path_of(digest)).game
    except PolicyFileError:
        return ""


def _worth_showing(name: str) -> bool:
    return name in ("loss", "value/loss", "policy/loss", "lag/mean", "policy/behaviour_kl") or (
        name.startswith("policy/entropy")
    )
