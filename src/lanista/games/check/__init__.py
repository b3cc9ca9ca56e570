"""Proves that a game obeys the contract, by playing it.

`check_game` runs every check below on a game made by name, by class or by a factory. A check is a
function of a `Trial` that returns its evidence, or raises what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lanista.games import registry
from lanista.games.check import (
    description,
    determinism,
    hidden,
    legality,
    outcomes,
    recall,
    saving,
)
from lanista.games.check.report import Check, Checkup, GameCheckError, NotApplicable
from lanista.games.check.trial import Make, Trial, sentence
from lanista.games.contract import Game, GameError

__all__ = ["CHECKS", "Check", "Checkup", "GameCheckError", "check_game"]

CHECKS: Mapping[str, Callable[[Trial], str]] = {
    "description": description.description,
    "plays": description.plays,
    "heads": description.heads,
    "determinism": determinism.determinism,
    "chance": determinism.chance,
    "deals": determinism.deals,
    "order": determinism.order,
    "legal": legality.legal,
    "illegal": legality.illegal,
    "hidden": hidden.hidden,
    "recall": recall.recall,
    "zero_sum": outcomes.zero_sum,
    "paid_alike": outcomes.paid_alike,
    "rewards": outcomes.rewards,
    "places": outcomes.places,
    "ends": outcomes.ends,
    "length": outcomes.length,
    "save": saving.save,
    "symmetry": outcomes.symmetry,
}


MATCHES, EFFORT = 32, 40_000


def check_game(
    game: str | Callable[[int, int], Game],
    *,
    matches: int = MATCHES,
    seed: int = 0,
    effort: int | None = None,
    cut_off_allowed: bool = False,
    raise_on_failure: bool = True,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Checkup:
    """Check a game and return what was found.

    `game` is a name the registry knows, a game class, or a factory of (slots, seed); `settings` go
    with the first two. `matches` are played by every check, those that `seed` names; `effort` is
    the most decisions that one check plays again to reach positions (compiled games: twenty times
    as many), and grows with the matches unless given. `cut_off_allowed` accepts matches that are
    broken off at their longest. `progress` is told the name of each check before it begins. A
    failure raises a `GameCheckError` unless `raise_on_failure` is off.
    """
    if matches < 1:
        raise GameError(f"matches is {matches}; give a number of at least 1.")
    if effort is None:
        effort = EFFORT * max(1, matches // MATCHES)
    trial = Trial(_maker(game, settings or {}), seed, matches, effort, cut_off_allowed)
    checks = []
    for name, check in CHECKS.items():
        if progress is not None:
            progress(name)
        checks.append(_run(name, check, trial))
    checkup = Checkup(trial.spec.name, tuple(checks))
    if raise_on_failure:
        checkup.raise_failures()
    return checkup


def _maker(game: str | Callable[..., Game], settings: Mapping[str, Any]) -> Make:
    if isinstance(game, str):
        return lambda slots, seed: registry.make(game, slots=slots, seed=seed, **settings)
    if not callable(game):
        raise GameError(f"{game!r} cannot be checked; give a name, a class or a factory.")
    return lambda slots, seed: game(slots, seed, **settings)


def _run(name: str, check: Callable[[Trial], str], trial: Trial) -> Check:
    about = (check.__doc__ or "").partition("\n")[0]
    try:
        return Check(name, about, "passed", check(trial))
    except NotApplicable as reason:
        return Check(name, about, "not applicable", str(reason))
    except Exception as error:  # Whatever a game under test raises is a finding.
        return Check(name, about, "failed", sentence(error))
