"""An invented run for tests of the page: every table filled, names that try to break out of HTML.

Numbers come from a fixed stream and mean nothing.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from typing import Any

from lanista.report.run_record import (
    Lineup,
    Match,
    Member,
    RunRecord,
    Series,
    compute_of,
)
from lanista.runs.schema import EventRow, MatchmakingRow, TrainingGamesRow

NASTY = 'bot <b>"bold"</b> & co'
BOTS = {
    "random": -3.0, "heuristic": 0.0, "aggressive": 0.1, "defensive": -0.3, "queue": 0.05,
    "skunk": 0.0, "noisy": -0.1, "online": 0.3, "outcome": 0.8, NASTY: -0.6,
}  # fmt: skip
UPDATES, EVERY, MATCHES = 200, 25, 40
EMPTY = RunRecord(
    name="", game="", players=(), matches=(), training=(), metrics={}, events=(), matchmaking=(),
    notices=(), settings="", compute={},
)  # fmt: skip


def strength(name: str) -> float:
    """Return how strong an invented player is, in log odds."""
    if name in BOTS:
        return BOTS[name]
    if name == "imitation":
        return 0.2
    learner, _, update = name.partition("/")
    gained = 1.2 * (1 - math.exp(-int(update or UPDATES) / 70))
    return gained + (0.3 if learner == "main" else 0.0)


def digest(name: str) -> str:
    """Return a digest that looks like one."""
    return hashlib.sha256(name.encode()).hexdigest()


def _member(name: str, update: int, category: str, role: str = "", **more: Any) -> Member:
    kind = "bot" if category == "bot" else "learner" if category == "self" else "policy"
    body, parents = more.get("body", {}), more.get("parents", ())
    own = "" if kind == "learner" else digest(name)
    return Member(name, own, kind, category, role, tuple(parents), 1.0, update, body)


def members() -> tuple[Member, ...]:
    """Return bots, two learners, their snapshots and an exploiter."""
    found = [_member(name, 0, "bot") for name in BOTS]
    found += [_member("imitation", 0, "imitation"), _member("main", 0, "self", "main")]
    found.append(_member("main_exploiter_1", 0, "self", "main_exploiter"))
    for learner, role in (("main", "main"), ("main_exploiter_1", "main_exploiter")):
        before = "imitation"
        for update in range(EVERY, UPDATES + 1, EVERY if role == "main" else 2 * EVERY):
            name, category = f"{learner}/{update:06d}", "past" if role == "main" else "exploiter"
            body = {"learner": learner, "decisions": update * 8192, "iteration": update}
            found.append(_member(name, update, category, role, parents=[before], body=body))
            before = name if role == "main" else "imitation"
    body = {
        "victim": "main/000100", "victim_digest": digest("main/000100"), "score": 0.61,
        "low": 0.57, "high": 0.65, "games": 600, "budget_decisions": 400_000,
    }  # fmt: skip
    found.append(_member("exploiter/000110", 110, "exploiter", "exploiter",
                         parents=["main/000100"], body=body))  # fmt: skip
    return tuple(sorted(found, key=lambda member: member.update))


def matches(players: Sequence[Member]) -> tuple[Match, ...]:
    """Let each snapshot meet every bot, the imitation and the snapshots before it."""
    rng, found = random.Random(4), []
    fixed = [player for player in players if player.kind != "learner"]
    for number, mine in enumerate(fixed):
        for other in fixed[:number]:
            if mine.update == 0 and "random" not in (mine.name, other.name):
                continue
            for deal in range(MATCHES // 2):
                for pair in ((mine, other), (other, mine)):
                    found.append(_match(rng, len(found), mine.update, pair, deal))
    return tuple(found)


def _match(
    rng: random.Random, number: int, update: int, pair: tuple[Member, Member], deal: int
) -> Match:
    names = pair[0].name, pair[1].name
    chance = 1 / (1 + math.exp(strength(names[1]) - strength(names[0])))
    drawn, won = rng.random() < 0.05, rng.random() < chance
    places = (1, 1) if drawn else (1, 2) if won else (2, 1)
    returns = (0.0, 0.0) if drawn else (1.0, -1.0) if won else (-1.0, 1.0)
    digests = pair[0].digest, pair[1].digest
    lineup = Lineup(update, "evaluation", names, digests, 0, 1, 1)
    return Match(update, number, lineup, deal, returns, places, False)


def metrics() -> dict[str, Series]:
    """Return curves that look like those of a run."""
    rng, every = random.Random(5), range(1, UPDATES + 1)

    def falling(start: float, end: float) -> Series:
        return tuple(
            (u, end + (start - end) * math.exp(-u / 50) * (1 + 0.1 * rng.gauss(0, 1)))
            for u in every
        )

    found = {
        "policy/loss": falling(0.02, -0.01), "value/loss": falling(0.9, 0.4),
        "entropy/loss": falling(-1.4, -0.7), "anchor/loss": falling(0.0, 0.3),
        "value/explained_variance": falling(0.0, 0.6), "lag/mean": falling(0.0, 1.5),
        "policy/entropy/0": falling(1.4, 0.7), "anchor/kl/0": falling(0.0, 0.3),
        "policy/behaviour_kl/0": falling(0.03, 0.01), "exact/nash_conv": falling(0.9, 0.1)[::20],
        "lr": tuple((u, 1e-3 / u) for u in every), "entropy/weight": falling(0.04, 0.01),
        "temperature": tuple((u, 1.0 - 0.5 * u / UPDATES) for u in every),
        "main_exploiter_1/policy/loss": falling(0.05, 0.0),
        "decisions": tuple((u, 16384.0 * u) for u in every),
        "cpu_seconds": tuple((u, 2.0 * u + 0.1 * math.sin(u)) for u in every),
        "main/decisions": tuple((u, 8192.0 * u) for u in every),
        "main/cpu_seconds": tuple((u, 1.1 * u) for u in every),
        "matches": tuple((u, 270.0 * u) for u in every),
        "main_exploiter_1/decisions": tuple((u, 8192.0 * u) for u in every),
        "main_exploiter_1/cpu_seconds": tuple((u, 0.9 * u) for u in every),
    }  # fmt: skip
    for name, rate in (("self", 0.5), ("imitation", 0.7), ("past", 0.55), ("bot", 0.65)):
        found[f"win_rate/{name}"] = falling(0.5, rate)
    for bot, theirs in BOTS.items():
        looks = [(u, 1 / (1 + math.exp(theirs - strength(f"main/{u:06d}"))))
                 for u in range(EVERY, UPDATES + 1, EVERY)]  # fmt: skip
        found[f"score/{bot}"] = tuple(looks)
        found[f"score_low/{bot}"] = tuple((u, y - 0.04) for u, y in looks)
        found[f"score_high/{bot}"] = tuple((u, y + 0.04) for u, y in looks)
    return found


def matchmaking(players: Sequence[Member]) -> tuple[MatchmakingRow, ...]:
    """Return weights that move from bots to past selves."""
    found = []
    for learner in ("main", "main_exploiter_1"):
        for update in range(0, UPDATES, 10):
            there = [p for p in players if p.update <= update and p.name != "main_exploiter_1"]
            raw = {p.name: 0.5 if p.category == "bot" else 1.0 + update / 100 for p in there}
            total = sum(raw.values())
            found += [MatchmakingRow(update, learner, n, "pfsp", w / total) for n, w in raw.items()]
    return tuple(found)


def invented() -> RunRecord:
    """Return the whole run."""
    players = members()
    told = ((40, f"The learning rate was halved; see {NASTY}."),)
    happened = tuple(
        EventRow(
            player.update, "snapshot", player.name, {"digest": player.digest, "why": "decisions"}
        )
        for player in players
        if player.category == "past"
    )
    happened += (EventRow(125, "reset", "main_exploiter_1", {"to": "imitation"}),)
    for update, score in ((50, 0.74), (100, 0.66), (150, 0.62), (200, 0.57)):
        reading = {
            "instrument": "learned", "digest": "", "unit": "score", "value": score, "n": 300,
            "low": score - 0.03, "high": score + 0.03, "budget_decisions": 200_000,
            "lower_bound": update > 100,
        }  # fmt: skip
        happened += (EventRow(update, "reading", "main", reading),)
    found = metrics()
    learners = [player.name for player in players if player.kind == "learner"]
    return RunRecord(
        name="beastybar <quick>", game="beastybar", players=players, matches=matches(players),
        training=(
            TrainingGamesRow(1, "main", ("main", "imitation"), "pfsp", ("learner:main", "ab"), 4,
                          ((2, 1, 1),), (1.0, -1.0), 0, 3, 0),
        ),
        metrics=found, events=happened, matchmaking=matchmaking(players), notices=told,
        settings="game: beastybar\nseed: 0\n# </pre><script>alert(1)</script>\n",
        compute=compute_of(found, learners),
    )  # fmt: skip
