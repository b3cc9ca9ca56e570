"""What holds a run up: seconds of several threads along what they wait for, and the largest phase.

Pure functions of seconds by phase. Knows nothing of how they were measured and of what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lanista.rollout.timing import INFER, OPPONENTS, REST, SAMPLE, WAIT, add_up
from lanista.runs.settings import Rollouts

Seconds = dict[str, float]
CENTRAL = "central"
"""`central/PHASE` is a phase of the thread of central inference."""
_WAITS = 0.05
"""A learner that waits for less of its time than this is held up by its own work."""


def held_up(own: Seconds, played: Seconds, wall: float, rollouts: Rollouts) -> Seconds:
    """Return wall-clock seconds by phase, along what the run waits for.

    Where a learner waits for players, their phases stand for its wait. With lag both work at once:
    then it is those who do not wait for the other that hold the run up.
    """
    busy, waited = sum(played.values()), own.get(WAIT, 0.0)
    if not busy:
        return own
    at_once = rollouts.workers_at_once
    if rollouts.lag and rollouts.at_once and waited > _WAITS * wall:
        return {phase: seconds / at_once for phase, seconds in played.items()}
    explained = min(waited, busy / at_once)
    rest = own | {WAIT: waited - explained}
    return total([rest, {phase: seconds * explained / busy for phase, seconds in played.items()}])


def by_work(wall: Seconds, cpu: Seconds) -> Seconds:
    """Return a thread's wall seconds by what it worked on in each phase.

    What it waits for, the interpreter or a core, is no doing of the phase that it happens to be in.
    """
    worked = sum(cpu.values())
    if not worked:
        return wall
    return {phase: seconds * sum(wall.values()) / worked for phase, seconds in cpu.items()}


def answered(phase_seconds: Seconds, desk: Seconds) -> Seconds:
    """Return the seconds in which the phases of central inference stand for the wait for it.

    What is left of the wait is for somebody else's rows, or on the way.
    """
    busy, waited = sum(desk.values()), phase_seconds.get(WAIT, 0.0)
    if not busy:
        return phase_seconds
    explained = min(waited, busy)
    shares = {phase: seconds * explained / busy for phase, seconds in desk.items()}
    return total([phase_seconds, {WAIT: -explained}, shares])


@dataclass(frozen=True)
class Wall:
    """What takes the most time."""

    phase: str
    """A phase; `opponents/NAME` where one of them is most of what all of them take; `central`."""
    share: float
    device: str
    """Where that is done."""


def wall_of(shares: Mapping[str, float], device: str, rollouts: Rollouts) -> Wall:
    """Return the largest phase, with waiting and the rest set aside.

    Opponents are taken together, and so is all that central inference does.
    """
    grouped = total({phase.partition("/")[0]: share} for phase, share in shares.items())
    busy = {p: share for p, share in grouped.items() if p not in (WAIT, REST)} or grouped
    phase = max(busy, key=lambda name: busy[name])
    where = place_of(phase, device, rollouts)
    if phase == OPPONENTS:
        alone = {p: s for p, s in shares.items() if p.startswith(f"{OPPONENTS}/")}
        largest = max(alone, key=lambda name: alone[name], default=OPPONENTS)
        if alone.get(largest, 0.0) > grouped[phase] / 2:
            return Wall(largest, alone[largest], where)
    return Wall(phase, busy[phase], where)


def place_of(phase: str, device: str, rollouts: Rollouts) -> str:
    """Return where a phase's work is done in a run on `device`."""
    # Who has no networks asks, which is another phase.
    apart = rollouts.on_cpu and phase in (INFER, SAMPLE)
    return "cpu" if apart else device


def total(durations: Iterable[Seconds]) -> Seconds:
    """Return the sum of several."""
    sums: Seconds = {}
    for seconds in durations:
        add_up(sums, seconds)
    return sums
