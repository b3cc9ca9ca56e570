"""Ablations: every arm is a run that can begin, and differences have the intervals they claim."""

import json
import math

import pytest
from bench.ablation_arms import ARMS, COMPARED_WITH, GAMES, JUDGED_BY, TORCH_START
from bench.ablations import compared, run_job, table

from lanista.pipeline.defaults import default_settings
from lanista.runs.settings import apply_overrides


@pytest.mark.parametrize("game", GAMES)
def test_every_arm_changes_the_settings_of_its_game_to_ones_that_are_accepted(game):
    if game not in ("beastybar", "arena"):
        pytest.importorskip("pyspiel")
    base = default_settings(GAMES[game], regrets=False)
    changed = {arm: apply_overrides(base, words(base)) for arm, words in ARMS[game].items()}
    assert changed.pop("base") == base
    assert changed.pop(TORCH_START, base) == base
    assert len(changed) > 2
    assert all(settings != base for settings in changed.values())
    assert JUDGED_BY[game]


def test_arms_are_compared_by_a_deviation_that_all_of_them_share():
    numbers = compared({"base": [1.0, 2.0, 3.0], "other": [5.0, 5.0, 8.0]})
    # Squares around the means: 2 and 6, with 2 + 2 degrees of freedom; t(4) is 2.776.
    half = 2.77645 * math.sqrt(8 / 4)
    assert numbers["base"] == pytest.approx((2.0, half / math.sqrt(3), 0.0, 0.0))
    assert numbers["other"] == pytest.approx(
        (6.0, half / math.sqrt(3), 4.0, half * math.sqrt(2 / 3))
    )


def test_an_arm_that_changes_another_arm_is_compared_with_that_one():
    values = {"base": [1.0, 2.0], "mix": [4.0, 5.0], "mix, weighted": [6.0, 8.0]}
    numbers = compared(values, {"mix, weighted": "mix", "base, weighted": "lost"})
    assert numbers["mix, weighted"][2] == pytest.approx(2.5)
    assert numbers["mix"][2] == pytest.approx(3.0)
    for game, arms in ARMS.items():
        assert {COMPARED_WITH[arm] for arm in arms if arm in COMPARED_WITH} <= arms.keys(), game


def _shares(settings):
    weights = {one.player: one.weight for one in settings.rollouts.opponents}
    whole = sum(weights.values())
    return {name: weight / whole for name, weight in weights.items()}


@pytest.mark.parametrize("game", ["beastybar", "arena"])
def test_a_mix_has_the_share_of_self_play_that_its_name_says_and_the_bots_keep_their_proportions(
    game,
):
    base = default_settings(GAMES[game], regrets=False)
    mixes = {
        share: _shares(apply_overrides(base, ARMS[game][f"opponents: {share} % self-play"](base)))
        for share in (0, 20, 50, 80)
    }
    assert "self" not in mixes[0]
    for share in (20, 50, 80):
        assert mixes[share]["self"] == pytest.approx(share / 100, abs=1e-3)
        for bot, alone in mixes[0].items():
            assert mixes[share][bot] == pytest.approx((1 - share / 100) * alone, abs=1e-3)


def test_a_pooled_mix_is_a_league_of_one_main_over_all_bots_and_its_past_selves():
    base = default_settings(GAMES["arena"])
    for kind in ("uniform", "pfsp_hard", "pfsp_var", "alphastar"):
        arm = ARMS["arena"][f"opponents: {kind} over bots and past selves"]
        settings = apply_overrides(base, arm(base))
        assert settings.league.main.matchmaking.kind == kind
        assert settings.league.main_exploiters == settings.league.league_exploiters == 0
        assert settings.league.main.snapshot_decisions > 0
        assert {*_shares(settings)} == {"self", "rusher", "scavenger", "zoner", "kiter"}


def test_a_job_is_trained_and_judged_and_stands_in_the_table():
    pytest.importorskip("pyspiel")
    row = run_job("goofspiel", "critic on the torso, or apart", 1, 0.3)
    assert json.loads(json.dumps(row)) == row
    assert row["changes"] == ["learning.critic_sees=features"]
    assert row["updates"] >= 1
    assert row["decisions"] > row["updates"]
    # Uniform play has 1.417, and so short a run is not far from it.
    assert 0.3 < row["strength"] < 1.6
    rows = [row | {"arm": arm, "strength": strength} for arm, strength in
            (("base", 0.5), ("base", 0.7), ("other", 0.9), ("other", 0.9))]  # fmt: skip
    lines = table([*rows, {"game": "goofspiel", "arm": "other", "seed": 9, "error": "broke"}])
    assert lines[0] == "### goofspiel"
    assert any(line.startswith("| other | 0.900") and "+0.300" in line for line in lines)
