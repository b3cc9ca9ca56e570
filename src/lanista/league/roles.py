"""What a role asks for: a learner's candidate opponents, its snapshots, its resets.

Pure functions of the roster's rows, the payoff and counters; what is random is drawn from a stream
named by seed, update and learner. Whoever calls them records the answer and acts on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from lanista.errors import LanistaError, nearest
from lanista.games.streams import Stream
from lanista.league.matchmaking import Candidate
from lanista.league.payoff import Payoff
from lanista.runs.league_settings import ROLES, Role
from lanista.runs.schema import PlayerRow

# No match has this seat, so the stream is nobody else's.
_NO_SEAT = 255


def candidates(
    role_name: str, learner: str, roster: Sequence[PlayerRow], past_members: int
) -> list[Candidate]:
    """Return the candidate opponents of `learner`, in the order of the roster.

    main: every main as it now is, itself among them, and everybody frozen. main_exploiter: the
    current mains and past mains. league_exploiter: everybody frozen, and the current mains for as
    long as nobody is. Of snapshots at most `past_members` are taken (0: all).
    """
    _refuse_unknown(role_name, learner, roster)
    allowed = [row for row in roster if row.weight > 0 and _may_meet(role_name, row)]
    past = [row for row in allowed if row.category == "past"]
    thinned_names = {row.name for row in thinned(past, past_members)}
    return [
        Candidate(row.name, "self" if row.kind == "learner" else row.category, row.weight)
        for row in allowed
        if row.category != "past" or row.name in thinned_names
    ]


def _refuse_unknown(role_name: str, learner: str, roster: Sequence[PlayerRow]) -> None:
    if role_name not in ROLES:
        raise LanistaError(f"There is no role {role_name!r}; {nearest(role_name, ROLES)}")
    learners = [row.name for row in roster if row.kind == "learner"]
    if learner not in learners:
        raise LanistaError(f"There is no learner {learner!r}; {nearest(learner, learners)}")


def _may_meet(role_name: str, row: PlayerRow) -> bool:
    if row.kind == "learner":
        return row.role == "main"
    return role_name != "main_exploiter" or (row.category == "past" and row.role == "main")


def thinned(past: Sequence[PlayerRow], members: int) -> list[PlayerRow]:
    """Return at most `members` snapshots: half of them the newest, the others spread over the rest.

    The spread ones are evenly apart in the order of entering and begin with the oldest. 0: all.
    """
    ordered = sorted(past, key=lambda row: (row.update, row.name))
    if not members or len(ordered) <= members:
        return ordered
    spread = members // 2
    newest = members - spread
    older = ordered[: len(ordered) - newest]
    return [older[i * len(older) // spread] for i in range(spread)] + ordered[-newest:]


def meant_to_beat(role_name: str, opponents: Sequence[Candidate]) -> list[str]:
    """Return those of a learner's candidates whom its role is there to beat.

    main_exploiter: the current mains; the others: everybody frozen.
    """
    live = role_name == "main_exploiter"
    return [one.name for one in opponents if (one.category == "self") == live]


def lowest_bound(learner: str, opponents: Sequence[str], payoff: Payoff) -> float | None:
    """Return the smallest lower bound of the learner's scores against `opponents`.

    None when there are none, or when one of them was never met.
    """
    bounds = []
    for name in opponents:
        interval = payoff.interval(learner, name)
        if interval is None or interval.low is None:
            return None
        bounds.append(interval.low)
    return min(bounds, default=None)


def snapshot_due(
    role: Role, decisions_since: int, score_low: float | None, share_since: float = 0.0
) -> str:
    """Return why a snapshot is due (score, decisions or share of the run), or nothing.

    `score_low` is the lower bound of the learner's score against those it is meant to beat;
    `share_since` is the share of the run's iterations since the last snapshot.
    """
    passed = score_low is not None and score_low >= role.snapshot_score > 0
    if passed and decisions_since >= role.snapshot_minimum:
        return "score"
    fixed = role.snapshot_decisions
    if 0 < (role.usual_decisions if fixed is None else fixed) <= decisions_since:
        return "decisions"
    return "share" if fixed is None and share_since >= role.usual_share else ""


def reset_target(
    role: Role,
    seed: int,
    update: int,
    learner: str,
    past_mains: Sequence[str],
    has_imitation: bool,
) -> str | None:
    """Return what a learner is reset to after a snapshot, or None when it goes on.

    The answer is "imitation", "scratch" or the name of a past main. Where the role asks for a past
    main and there is none yet, the imitation policy stands in; where a run has no imitation policy,
    a fresh network does, for that is what the run began from.
    """
    stream = Stream.keyed(seed, update, _NO_SEAT, "chance", turn=_number(learner))
    if stream.uniform() >= role.reset_probability:
        return None
    if role.reset_to == "main" and past_mains:
        return stream.choice(past_mains)
    if role.reset_to == "scratch" or not has_imitation:
        return "scratch"
    return "imitation"


def _number(name: str) -> int:
    """Return a number for a name, the same on every machine, in the 48 bits that a turn has."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")


def stalled(scores: Sequence[float], evaluations: int) -> bool:
    """Return whether none of the last `evaluations` scores is above the best one before them.

    0 evaluations never stall, and neither does a history that is not longer than that. After an
    answer of True give only the scores from then on, or the next one says the same again.
    """
    if evaluations < 1 or len(scores) <= evaluations:
        return False
    return max(scores[-evaluations:]) <= max(scores[:-evaluations])
