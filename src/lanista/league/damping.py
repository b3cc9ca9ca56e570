"""Whether anything damps the learners of a league where play goes in circles without it.

Knows nothing of matchmaking: no opponent mix was found to replace damping.
"""

from __future__ import annotations

from lanista.games.contract import Spec
from lanista.learn.schedule_kinds import Schedule
from lanista.learn.schedules import parse_schedule
from lanista.learn.settings import Learning
from lanista.learn.term_table import restrains
from lanista.runs.settings import RunSettings

ENTROPY = 0.02
"""An entropy bonus pulls to uniform play as the magnet does; smaller ones are there to explore."""


def undamped_notice(settings: RunSettings, spec: Spec) -> str:
    """Return a sentence about a league whose learners nothing damps; empty: all is well.

    It is about games of two seats in which one wins what the other loses and good play is mixed.
    """
    facts = spec.facts
    mixed = spec.seats == 2 and facts.zero_sum and (facts.hidden or facts.simultaneous)
    if settings.league is None or not mixed or is_damped(settings.learning):
        return ""
    return (
        f"Nothing in learning.terms damps self-play, and in {spec.name} good play is mixed: there "
        "learners follow each other in circles, in a league too; give magnet or reference a weight "
        "(docs/guides/league.md)."
    )


def is_damped(learning: Learning) -> bool:
    """Whether learning keeps a policy near another one, or near uniform play."""
    if learning.eta or any(learning.uses(name) and restrains(name) for name in learning.terms):
        return True
    return _begins_with(parse_schedule(learning.terms.get("entropy", 0.0))) >= ENTROPY


def _begins_with(schedule: Schedule) -> float:
    """Return the first number of a schedule, or of the one that it leads to, if that is larger."""
    numbers = [getattr(schedule, name, 0.0) for name in ("value", "start", "before")]
    led_to = getattr(schedule, "then", None)
    return max(*numbers, _begins_with(led_to) if led_to is not None else 0.0)
