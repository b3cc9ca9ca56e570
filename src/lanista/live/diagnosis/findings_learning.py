"""Findings about the learner: whether it runs, what it takes, what it refuses, what it publishes.

Each function looks for one fault and returns it, or nothing. Compares counts, never clocks: how
long is too long depends on the bot. Knows nothing of what is in a game.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from lanista.findings import Finding, Gravity, short
from lanista.live.diagnosis.evidence import Service, Traffic, spool_of

PILE = 10
"""Files that may wait without anybody being missed."""
ENDED = ("rejected", "void", "vetoed")
UNDECIDED = "superseded"
_SAID_BY = {"vetoed": "veto", UNDECIDED: "undecided"}
"""Reasons of events that name none."""
_WHY = {
    "futile": "they are not better by the margin that is worth waiting for; offer fewer of them "
    "(gate.every), or look for another finding that keeps the learner from learning",
    "worse": "they are worse; lower learning.lr, or learn from more games at once (batch_games)",
    "missing": "more of their games have no result; look for what makes the bot give up or crash",
    "share": "they play another share of the games than the pointer says; see that all bots read "
    "this policy folder and that no game file is lost. Where a hundred games or more are played at "
    "once and last longer with one policy than with the other, that is no fault: set "
    "gate.rule.share=0",
    "undecided": "newer weights took their place before a decision; raise gate.refresh or "
    "gate.patience",
    "limit": "the trial's limit came first; raise gate.rule.limit or gate.rule.margin",
    "veto": "recorded games already speak against them; lower learning.lr",
}


def policy_unusable(service: Service) -> Finding | None:
    """The pointer, or the policy it names, cannot be used."""
    if not service.trouble:
        return None
    return Finding(
        name="policy_unusable",
        gravity="stops",
        sentence=f"The policy folder {service.folder} cannot be used: {service.trouble}",
        meaning="A bot that starts now has no policy, and one that runs keeps the one it has.",
        remedy="Publish a policy into it, or put the damaged file back.",
        evidence={"folder": str(service.folder), "trouble": service.trouble},
    )


def other_spool(traffic: Traffic, service: Service) -> Finding | None:
    """The learner reads another spool."""
    read = spool_of(service)
    if read is None or _same(read, traffic.folder):
        return None
    return Finding(
        name="other_spool",
        gravity="stops",
        sentence=f"The learner of {service.folder} was last started on the spool {read}, and this "
        f"one is {traffic.folder}, where {traffic.waiting} games wait.",
        meaning="Games that go to one spool are not learned from by a learner of another.",
        remedy=f"Start it with --spool {traffic.folder}, or give the bots {read}.",
        evidence={
            "learner": str(read),
            "spool": str(traffic.folder),
            "waiting": traffic.waiting,
        },
    )


def learner_absent(traffic: Traffic, service: Service | None) -> Finding | None:
    """Games wait, and nobody takes them."""
    if traffic.waiting < PILE or traffic.learner_running:
        return None
    book = None if service is None else service.book
    ends = [e.kind for e in (book.events if book else ()) if e.kind in ("started", "stopped")]
    ever = traffic.in_work + traffic.archived
    if ends and ends[-1] == "started":
        state = "the learner's process ended without stopping: it was killed, or broke"
    elif ever or ends:
        state = f"no learner is running; {ever} were taken before"
    else:
        state = "no learner ever took any"
    policy = "POLICY" if service is None else service.folder
    return Finding(
        name="learner_absent",
        gravity="stops",
        sentence=f"{traffic.waiting} games wait in {traffic.folder / 'new'}, and {state}.",
        meaning="Games that nobody takes change nothing.",
        remedy=f"Start it: lanista learn --spool {traffic.folder} --policy {policy}.",
        evidence={
            "waiting": traffic.waiting,
            "taken": traffic.in_work,
            "archived": traffic.archived,
            "last_event": ends[-1] if ends else None,
        },
    )


def learner_behind(traffic: Traffic, service: Service) -> Finding | None:
    """A learner runs, and more games wait than it takes."""
    batches = service.book.batches if service.book else ()
    if not traffic.learner_running or len(batches) < 20:
        return None
    half = len(batches) // 2
    before, now = (
        sum(batch.waiting for batch in half_batches) / len(half_batches)
        for half_batches in (batches[:half], batches[half:])
    )
    games_per_update = sum(batch.games + batch.repeated for batch in batches[half:]) / (
        len(batches) - half
    )
    if traffic.waiting < 10 * max(games_per_update, 1) or now < 2 * before:
        return None
    return Finding(
        name="learner_behind",
        gravity="spoils",
        sentence=f"{traffic.waiting} games wait; the learner takes {games_per_update:.1f} at a "
        f"time, and on average {before:.0f} waited in the first half of its "
        f"{len(batches)} updates and {now:.0f} in the second.",
        meaning="The newest games are taken first, so older ones grow too old to be learned from.",
        remedy="Give the learner more games at a time (--max-batch-files), more of the machine, "
        "or a lower learning.epochs.",
        evidence={
            "waiting": traffic.waiting,
            "games_per_update": games_per_update,
            "waited_before": before,
            "waited_now": now,
        },
    )


def bad_files(traffic: Traffic) -> Finding | None:
    """Files are refused."""
    worse = traffic.games.unreadable
    refused = traffic.refused + len(worse)
    total = traffic.refused + traffic.waiting + traffic.in_work + traffic.archived
    if not refused or refused < 0.05 * total:
        return None
    reasons = Counter(dict(traffic.reasons))
    reasons.update(reason.partition(" is refused: ")[2] or reason for _, reason in worse)
    commonest, n = reasons.most_common(1)[0]
    gravity: Gravity = "stops" if refused >= 0.5 * total else "spoils"
    return Finding(
        name="bad_files",
        gravity=gravity,
        sentence=f"{refused} of {total} files are refused ({traffic.refused} in bad/, {len(worse)} "
        f"more will be); {n} because {commonest.rstrip('.')}.",
        meaning="A refused file is not learned from.",
        remedy="Let the agent write the files. Where the layout differs, bot and policy were made "
        "for different observations or actions: begin again with a policy for this bot.",
        evidence={
            "refused": traffic.refused,
            "unreadable": [file for file, _ in worse[:5]],
            "total": total,
            "reasons": dict(reasons.most_common(5)),
        },
    )


def dead_journals(traffic: Traffic) -> Finding | None:
    """Processes were killed, and nobody recovered their games."""
    if not traffic.dead:
        return None
    return Finding(
        name="dead_journals",
        gravity="doubt",
        sentence=f"{len(traffic.dead)} journals in {traffic.folder / 'open'} belong to processes "
        "that are gone.",
        meaning="Their games are not lost, but wait for the next agent on this spool to make "
        "files of them, which will say that they were cut off.",
        remedy="Start a bot on this spool. If there are many, find out what kills the bot; end "
        "games with game.end() and the agent with agent.close().",
        evidence={"journals": len(traffic.dead), "files": list(traffic.dead[:5])},
    )


def all_stale(service: Service) -> Finding | None:
    """Games come too late to be learned from."""
    rows = service.book.rows if service.book else ()
    stale = sorted(row.staleness for row in rows if row.use == "stale")
    if len(rows) < PILE or len(stale) < 0.5 * len(rows):
        return None
    limit, farthest = service.settings.get("staleness"), service.settings.get("distance")
    middle = stale[len(stale) // 2]
    # A distance that is not finite could not be told, and JSON has no word for it.
    apart = sorted(min(row.distance, sys.float_info.max) for row in rows if row.use == "stale")
    far = sum(one > farthest for one in apart) if isinstance(farthest, int | float) else 0
    return Finding(
        name="all_stale",
        gravity="stops",
        sentence=f"{len(stale)} of the last {len(rows)} games were of weights too "
        f"old or too far to be learned from; half of them were played "
        f"by weights {middle} or more updates old"
        + (f", and {limit} are the most." if limit is not None else ".")
        + (f" {far} of them too far, the most being {farthest:g} nats." if far else ""),
        meaning="The bot plays with weights that the learner has left behind.",
        remedy="See that candidates are published and that bots load them; raise `staleness` "
        "or `distance`, or let the learner wait for more games at a time.",
        evidence={
            "games": len(rows),
            "stale": len(stale),
            "median": middle,
            "limit": limit,
            "far": far,
            "median_distance": apart[len(apart) // 2],
            "limit_distance": farthest,
        },
    )


def gate_never_passes(service: Service) -> Finding | None:
    """Candidates are offered, and none is published."""
    book = service.book
    if book is None:
        return None
    passed = [i for i, event in enumerate(book.events) if event.kind == "published"]
    since = book.events[passed[-1] + 1 :] if passed else book.events
    ended = [event for event in since if event.kind in (*ENDED, UNDECIDED)]
    undecided = sum(event.kind == UNDECIDED for event in ended)
    # That a candidate makes room for another is the rule; that all of them do is not.
    if len(ended) - undecided < (10 if passed else 3) and undecided < (30 if passed else 10):
        return None
    reasons = Counter(_SAID_BY.get(e.kind) or str(e.body.get("reason", "")) for e in ended)
    counted = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common())
    why = reasons.most_common(1)[0][0]
    offered = sum(event.kind == "candidate" for event in since)
    return Finding(
        name="gate_never_passes",
        gravity="doubt" if passed else "stops",
        sentence=f"Of {len(ended)} candidates that were judged "
        + ("since the last publication " if passed else "")
        + f"none was published: {counted}.",
        meaning="The bot still plays with the policy of before, whatever was learned since.",
        remedy=f"The commonest reason is {why!r}: {_WHY.get(why, 'see docs/explanation/gate.md')}.",
        evidence={
            "offered": offered,
            "judged": len(ended),
            "reasons": dict(reasons.most_common()),
            "published_before": len(passed),
            "last": [_told(event.body) for event in ended[-3:]],
        },
    )


def no_candidate(service: Service) -> Finding | None:
    """Games are learned from, and no candidate is ever offered."""
    book = service.book
    every = _of(service.settings, "gate", "every")
    if book is None or not isinstance(every, int) or len(book.learned) < 3 * every:
        return None
    if any(event.kind in ("candidate", "published", *ENDED) for event in book.events):
        return None
    return Finding(
        name="no_candidate",
        gravity="stops",
        sentence=f"{len(book.learned)} games were learned from and no candidate was offered; the "
        f"settings ask for one every {every}.",
        meaning="What was learned is nowhere but in the learner's checkpoints.",
        remedy="Look at what the learner says when it is started; its settings are in "
        "learner/settings.yaml.",
        evidence={"learned": len(book.learned), "every": every, "updates": len(book.batches)},
    )


def _of(settings: Any, *names: str) -> Any:
    for name in names:
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings


def _told(body: Any) -> dict[str, Any]:
    """Return what is said of a candidate, its digest as people read it."""
    facts = {k: v for k, v in body.items() if k in ("reason", "games", "difference", "low", "high")}
    return {"digest": short(str(body.get("digest", "")))} | facts


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
