"""Says why a live bot does not get better: looks at its spool and its policy folder for faults.

Puts the findings together; each is looked for in a module of its own. Reads only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lanista.errors import LanistaError
from lanista.findings import Examination, Finding, by_gravity, short
from lanista.live.diagnosis import findings_features as features
from lanista.live.diagnosis import findings_games as games
from lanista.live.diagnosis import findings_learning as learning
from lanista.live.diagnosis.evidence import (
    Service,
    Traffic,
    look_at_policy,
    look_at_spool,
    spool_of,
)
from lanista.live.diagnosis.findings_features import Seen
from lanista.live.files.recorded_games import Recorded, column_names, stacked

GAMES = 200
"""Games that are read, of the newest and of the oldest."""
_JUDGED = (
    "candidate", "vetoed", "rejected", "void", "superseded", "published", "kept", "rolled_back",
)  # fmt: skip


def examine(
    spool: Path | None = None,
    policy: Path | None = None,
    *,
    games: int = GAMES,
    training: Seen | None = None,
) -> Examination:
    """Look at a spool, at a policy folder, or at both, and return what is wrong with them.

    From a policy folder alone its learner's spool is found. `training` is what the policy saw
    when it was made elsewhere.
    """
    service = None if policy is None else look_at_policy(policy, games)
    if spool is None and service is not None:
        spool = spool_of(service)
        spool = spool if spool is not None and spool.is_dir() else None
    traffic = None if spool is None else look_at_spool(spool, games, service)
    findings = [finding for finding in _found(traffic, service, training) if finding is not None]
    return Examination(tuple(_facts(traffic, service, training)), by_gravity(findings))


def _found(
    traffic: Traffic | None, service: Service | None, training: Seen | None
) -> Iterator[Finding | None]:
    if service is not None:
        yield learning.policy_unusable(service)
    if traffic is not None:
        yield games.no_games(traffic)
        if service is not None:
            yield learning.other_spool(traffic, service)
            yield learning.learner_behind(traffic, service)
        yield learning.learner_absent(traffic, service)
        yield learning.bad_files(traffic)
        yield from _about_games(traffic, service)
        yield from _about_features(traffic, service, training)
        yield learning.dead_journals(traffic)
    if service is not None:
        yield learning.all_stale(service)
        yield games.entropy_gone(traffic.games.newest if traffic else (), service)
        yield learning.no_candidate(service)
        yield learning.gate_never_passes(service)
    elif traffic is not None:
        yield games.entropy_gone(traffic.games.newest, None)


def _about_games(traffic: Traffic, service: Service | None) -> Iterator[Finding | None]:
    played = traffic.games.newest
    if service is not None:
        yield games.other_policy(played, service)
        yield games.candidate_never_plays(played, service)
    yield games.no_results(played)
    yield games.results_all_alike(played)
    yield games.no_decisions(played)
    yield games.one_opponent(played)


def _about_features(
    traffic: Traffic, service: Service | None, training: Seen | None
) -> Iterator[Finding | None]:
    recent = seen_in(traffic.games.newest)
    if recent is None:
        return
    header = None if service is None else service.header
    names = column_names(header, recent.values.shape[1])
    empty = features.features_empty(recent, names)
    if empty is not None:
        yield empty
        return  # Whatever else could be said of such numbers follows from it.
    earlier, earlier_name = training, "the training data"
    if earlier is None:
        earlier, recent, earlier_name = _sides(traffic, recent)
    elif earlier.values.shape[1] != recent.values.shape[1]:
        raise LanistaError(
            f"The training data has {earlier.values.shape[1]} numbers in an observation, and the "
            f"games have {recent.values.shape[1]}; give what this policy was made from."
        )
    if earlier is not None and earlier.values.shape[1] == recent.values.shape[1]:
        categories = None
        if header is not None and header.observation.length == recent.values.shape[1]:
            categories = np.concatenate(
                [np.full(f.size, f.classes > 0) for f in header.observation.fields]
            )
        changed = features.against_earlier(earlier, recent, names, earlier_name, categories)
        yield from changed
        if any(finding.name == "features_other_scale" for finding in changed):
            return  # The same numbers, held against their description, would say it again.
    if header is not None:
        yield features.against_description(recent, header)


def _sides(traffic: Traffic, recent: Seen) -> tuple[Seen | None, Seen, str]:
    """Return what was seen long ago and lately; with few games, in their first and last third."""
    newest, oldest = traffic.games.newest, traffic.games.oldest
    if len(oldest) >= features.LEAST_GAMES:
        return seen_in(oldest), recent, "the games learned from first"
    third = len(newest) // 3
    if third < features.LEAST_GAMES:
        return None, recent, ""
    return seen_in(newest[:third]), seen_in(newest[-third:]) or recent, "the first of them"


def seen_in(played: tuple[Recorded, ...]) -> Seen | None:
    """Return what policies saw in games, as far as these are of the newest one's layout."""
    length = played[-1].observations.shape[1] if played else 0
    some = [
        game for game in played if game.observations.shape[1] == length and len(game.observations)
    ]
    return Seen(*stacked(some)) if some else None


def _facts(
    traffic: Traffic | None, service: Service | None, training: Seen | None
) -> Iterator[str]:
    if traffic is not None:
        yield (
            f"Spool {traffic.folder}: {traffic.waiting} games wait, {traffic.in_work} are being "
            f"learned from, {traffic.archived} are archived, {traffic.refused} refused; "
            f"{traffic.playing} are being played."
        )
        yield from _facts_of_games(traffic, service)
        yield (
            "Games that a bot dropped leave no trace here; agent.report().games counts them there."
        )
    if service is not None:
        yield from _facts_of_service(service)
    else:
        yield "Without --policy it cannot be told which policy should play, and what was learned."
    if traffic is None:
        yield "Without --spool nothing can be said of recorded games."
    if training is None:
        yield "Without --training, features are held against the games learned from first alone."


def _facts_of_games(traffic: Traffic, service: Service | None) -> Iterator[str]:
    played = traffic.games.newest
    if not played:
        return
    observed = seen_in(played)
    decisions = sum(game.own for game in played)
    yield f"Looked at the newest {len(played)} games with {decisions:,} decisions."
    counts = Counter(short(game.header.policy) for game in played)
    yield "Played by: " + ", ".join(f"{name} {n}" for name, n in counts.most_common(5)) + "."
    named = Counter(game.header.opponent or "unnamed" for game in played)
    yield "Opponents: " + ", ".join(f"{name} {n}" for name, n in named.most_common(5)) + "."
    if observed is not None and observed.enough:
        still = features.constant_columns(observed)
        names = column_names(None if service is None else service.header, len(still))
        dead = [name for name, one in zip(names, still, strict=True) if one]
        shown = ", ".join(dead[:8]) + (" …" if len(dead) > 8 else "")
        yield f"{len(dead)} of {len(still)} numbers never change{': ' if dead else ''}{shown}."


def _facts_of_service(service: Service) -> Iterator[str]:
    if service.pointer is not None:
        second = ", ".join(map(short, service.pointer.candidates))
        yield (
            f"Policy folder {service.folder}: {short(service.pointer.stable)} is stable"
            + (f", {second} plays {service.pointer.share:.0%}" if second else "")
            + f"; its learner is {'running' if service.learner_running else 'not running'}."
        )
    if service.book is None:
        yield "No learner ever worked on this policy folder."
    else:
        judged = Counter(e.kind for e in service.book.events if e.kind in _JUDGED)
        counted = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in judged.items())
        yield (
            f"The learner made {len(service.book.batches)} updates from "
            f"{len(service.book.learned)} games; policies: {counted or 'none judged'}."
        )
