"""What is said of settings that nobody chose, and of runs too short to learn much."""

from __future__ import annotations

from typing import Any

from lanista.games.trees.exact import FAMILY, SMALL_GAMES
from lanista.learn.regret.settings import Regret
from lanista.learn.schedule_kinds import Constant, Delay
from lanista.learn.schedules import parse_schedule
from lanista.learn.settings import Learning
from lanista.runs.settings import RunSettings

FEW_UPDATES = 50
"""A run with fewer has hardly begun to learn."""


def summary(settings: RunSettings) -> str:
    """Return the settings that nobody chose, an item a line."""
    learning, rollouts = settings.learning, settings.rollouts
    network, evaluation = settings.network, settings.evaluation
    amount = (
        f"{rollouts.unrolls} unrolls of {rollouts.unroll_length}"
        if rollouts.streaming
        else f"{rollouts.matches} matches"
    )
    against = ", ".join(evaluation.bots) or "nobody"
    by_regrets = learning.policy == "regret"
    items = {
        "game": ", ".join(f"{name} {value}" for name, value in settings.game_settings.items()),
        "algorithm": learning.policy,
        "terms": "" if by_regrets else _terms(learning),
        "sampling": _sampling(learning) if by_regrets else "",
        "learning rate": _shown(learning.lr),
        "network": f"{network.kind} {network.resolved_width}x{network.resolved_layers}",
        "teacher": rollouts.teacher,
        "opponents": ", ".join(f"{one.player} {one.weight:g}" for one in rollouts.opponents),
        "experience": f"{amount} an iteration, {settings.iterations:,} iterations",
        "evaluation": f"every {evaluation.every}, against {against}{_exactly(settings)}",
    }
    lines = [f"  {name:<14} {value}" for name, value in items.items() if value]
    return "\n".join([f"Settings for {settings.game}:", *lines])


def _terms(learning: Learning) -> str:
    return "; ".join(f"{name} {_shown(weight)}" for name, weight in learning.terms.items())


def _sampling(learning: Learning) -> str:
    """Return how regrets are sampled and learned."""
    regret = learning.regret or Regret()
    return (
        f"{regret.sampling}; {regret.steps} steps on regrets, {regret.average_steps} on the average"
    )


def _exactly(settings: RunSettings) -> str:
    """Return whether evaluations measure NashConv too."""
    if settings.evaluation.exact == "never":
        return ""
    if settings.evaluation.exact == "always" or settings.game in SMALL_GAMES:
        return ", and NashConv"
    return ", and NashConv if the game is small" if settings.game.startswith(FAMILY) else ""


def few_updates(settings: RunSettings) -> str:
    """Return a sentence about a run that is too short to learn much; empty: it is not."""
    if settings.updates >= FEW_UPDATES:
        return ""
    return (
        f"This is a run of {settings.updates} updates, too few to learn much from; give it more "
        "time, or --iterations."
    )


def _shown(value: Any) -> str:
    schedule = parse_schedule(value)
    if isinstance(schedule, Constant):
        return f"{schedule.value:g}"
    if isinstance(schedule, Delay):
        return f"{schedule.before:g}, then {_shown(schedule.then)}"
    start, end = (getattr(schedule, name, None) for name in ("start", "end"))
    return schedule.kind if start is None or end is None else f"{start:g}→{end:g}"
