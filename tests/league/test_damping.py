"""A league that nothing damps is named where play would go in circles, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lanista.games import registry
from lanista.league.damping import is_damped, undamped_notice
from lanista.learn.settings import Learning
from lanista.pipeline.recipes import alphastar, settings_of
from lanista.runs.settings import load_settings

BARE: dict[str, Any] = {"policy": 1.0, "value": 0.5}


def notice(game: str, **learning: Any) -> str:
    settings = load_settings({"game": game, "league": {}, "learning": learning})
    return undamped_notice(settings, registry.spec_of(game))


def test_a_league_of_a_hidden_game_without_damping_is_told_what_is_missing() -> None:
    sentence = notice("leduc", terms=BARE)
    assert "in leduc good play is mixed" in sentence
    assert "give magnet or reference a weight" in sentence
    assert notice("leduc", terms={**BARE, "magnet": 0.05}) == ""


def test_where_all_is_seen_or_there_is_no_league_nothing_is_said() -> None:
    assert notice("openspiel:tic_tac_toe", terms=BARE) == ""
    alone = load_settings({"game": "leduc", "learning": {"terms": BARE}})
    assert undamped_notice(alone, registry.spec_of("leduc")) == ""


def test_more_than_two_seats_are_not_known_to_go_in_circles() -> None:
    three = registry.spec_of("beastybar", seats=3)
    settings = load_settings({"game": "beastybar", "league": {}, "learning": {"terms": BARE}})
    assert undamped_notice(settings, three) == ""
    assert undamped_notice(settings, registry.spec_of("beastybar")) != ""


@pytest.mark.parametrize(
    ("terms", "damped"),
    [
        ({}, False),
        ({"magnet": 0.0}, False),
        ({"magnet": {"kind": "exponential", "start": 1.0, "end": 0.1}}, True),
        ({"reference": 0.3}, True),
        ({"anchor_forward": 0.1}, True),
        ({"portfolio": 0.1}, True),
        ({"behaviour": 0.5}, False),
        ({"entropy": 0.01}, False),
        ({"entropy": {"kind": "linear", "start": 0.04, "end": 0.01}}, True),
        ({"entropy": {"kind": "delay", "share": 0.1, "then": 0.05}}, True),
        (
            {
                "entropy": {
                    "kind": "warm-up",
                    "steps": 9,
                    "then": {"kind": "delay", "steps": 3, "then": 0.03},
                }
            },
            True,
        ),
        ({"entropy": {"kind": "delay", "share": 0.1, "then": 0.01}}, False),
    ],
)
def test_what_keeps_a_policy_near_another_one_damps_it(terms: Any, damped: bool) -> None:
    assert is_damped(Learning(terms={**BARE, **terms})) is damped


def test_rewards_regularised_towards_references_damp_too() -> None:
    assert is_damped(replace(Learning(policy="neurd", terms=BARE), eta=0.2))


def test_alphastars_league_is_damped_by_the_policy_it_began_from_alone() -> None:
    assert is_damped(alphastar(anchored=True).learning)
    assert not is_damped(alphastar(anchored=False).learning)
    assert is_damped(settings_of("arena-alphastar", "league").learning)
