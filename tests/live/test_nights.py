"""Nights of 150 games of StarCraft II: whether the usual gate decides within them.

Only the gate is played, with results drawn at the scores that the stand-in gave: the first policy
has 0.37 with every tenth game a draw (docs/guides/starcraft.md).

    python tests/live/test_nights.py
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lanista.live.learner.settings import LiveSettings, settings_for
from lanista.live.promotion.e_process import EFFECTS, PURSES, purses_for
from lanista.live.promotion.gate import Trial, Watch
from lanista.live.sc2 import SPEC

GAMES, NIGHTS = 150, 200
BEFORE, DRAWS = 0.37, 0.1


def results(drawn: np.random.Generator, new: np.ndarray, better: float) -> list[float | None]:
    """Return the scores of games that the new policy plays where `new` says so."""
    score = BEFORE + better * new
    chance = drawn.random(len(new))
    return [
        float(x) for x in (chance < score - DRAWS / 2) * 0.5 + (chance < score + DRAWS / 2) * 0.5
    ]


def in_service(settings: LiveSettings, better: float, seed: int) -> bool:
    """Return whether the night's candidate is the policy in service at its end."""
    gate, drawn = settings.gate, np.random.default_rng([seed, 7])
    left = GAMES - gate.every
    new = drawn.random(left) < gate.share
    trial = Trial(gate.rule)
    decision = trial.extend(new.tolist(), results(drawn, new, better), gate.share)
    if decision is None or decision.verdict != "publish":
        return False
    if not gate.watch_share:
        return True
    newer = drawn.random(left - decision.games) < 1 - gate.watch_share
    watch = Watch(gate.watch)
    after = watch.extend(newer.tolist(), results(drawn, newer, better), 1 - gate.watch_share)
    return after is None or after.verdict != "roll_back"


def share(settings: LiveSettings, better: float, nights: int = NIGHTS) -> float:
    return float(np.mean([in_service(settings, better, night) for night in range(nights)]))


def test_by_morning_a_much_better_candidate_is_in_service_and_an_equal_one_is_not() -> None:
    settings = settings_for(SPEC.name)
    assert share(settings, 0.30) >= 0.80
    assert share(settings, 0.0) <= 0.05


def test_the_rule_of_other_games_would_too_often_not_have_decided() -> None:
    settings = settings_for(SPEC.name)
    other = replace(settings, gate=replace(settings.gate, rule=LiveSettings().gate.rule))
    assert share(other, 0.30) < 0.80
    assert LiveSettings().gate.every > GAMES  # Nor would there have been a candidate.


def test_one_candidate_has_the_night_so_that_chances_of_several_do_not_add_up() -> None:
    gate = settings_for(SPEC.name).gate
    assert gate.refresh == 0
    assert gate.every + gate.patience >= GAMES


def test_nothing_is_staked_on_differences_that_nobody_waits_for() -> None:
    assert purses_for(0.05).tolist() == pytest.approx(PURSES.tolist())
    assert EFFECTS[purses_for(0.3) > 0].tolist() == [0.2, 0.4]
    assert purses_for(0.3) == pytest.approx(np.array([0, 0, 0, 0.6, 0.4]))
    for margin in (0.01, 0.1, 0.2, 0.45, 0.499):
        assert purses_for(margin).sum() == pytest.approx(1)


if __name__ == "__main__":
    usual = settings_for(SPEC.name)
    for nights in (NIGHTS, 2000):
        print(
            nights, "nights:", *(f"{d:.2f}: {share(usual, d, nights):.3f}" for d in (0.3, 0.2, 0.0))
        )
