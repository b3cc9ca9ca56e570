"""Settings that nobody chose: a pure function of a game's facts, its bots and a few matches."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from lanista.errors import LanistaError
from lanista.games import Field, registry
from lanista.learn.schedules import parse_schedule
from lanista.pipeline.defaults import (
    _evaluation,
    _wide,
    choose,
    default_recipe,
    default_settings,
    plies_for,
)
from lanista.pipeline.game_sample import (
    Endings,
    Sample,
    bot_strengths,
    rare_scale,
    return_scale,
    sample_of,
)
from lanista.pipeline.recipe import load_recipe
from lanista.pipeline.recipes import alphastar
from lanista.pipeline.request import Request
from lanista.pipeline.settings_summary import FEW_UPDATES, few_updates, summary
from lanista.runs.settings import apply_overrides, load_settings, to_yaml

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_game.py"
KUHN = registry.spec_of("kuhn")
SHORT = Sample(decisions=4.0, scale=1.0)
BOTS = ("random", "sound")


def facts(**changes):
    return replace(KUHN, facts=replace(KUHN.facts, **changes))


def test_large_returns_are_divided_by_their_scale_for_a_critic_on_the_torso():
    """2048 of OpenSpiel pays a thousand: 1,726 where the critic learned it so, 2,262 scaled."""
    alone = facts(seats=1, hidden=False)
    assert choose(alone, ("random",), Sample(118.0, 811.0), 100).learning.value_scale == "running"
    assert choose(alone, ("random",), Sample(9.0, 0.8), 100).learning.value_scale is None


def test_where_few_matches_pay_an_update_without_one_of_them_is_not_blown_up():
    """Deep sea of OpenSpiel: small costs on the way, and a treasure that one match in 256 finds."""
    paid = np.full((256, 1), -0.005)
    paid[7] = 0.99
    assert rare_scale(paid) == pytest.approx(0.995 / 4)
    assert rare_scale(paid - 100) == pytest.approx(0.995 / 4)
    assert rare_scale(np.array([[1.0], [-1.0]] * 50)) == 0
    assert rare_scale(np.zeros((0, 1))) == rare_scale(np.zeros((9, 1))) == 0
    alone = facts(seats=1, hidden=False)
    rare = choose(alone, ("random",), Sample(8.0, 1.0, rare=rare_scale(paid)), 100).learning
    assert rare.least_deviation == pytest.approx(0.2 * 0.995 / 4, rel=0.01)
    assert choose(alone, ("random",), SHORT, 100).learning.least_deviation is None


def test_the_same_facts_give_the_same_settings_which_yaml_keeps():
    chosen = default_settings("leduc", iterations=50)
    assert chosen == default_settings("leduc", iterations=50)
    assert load_settings(yaml.safe_load(to_yaml(chosen))) == chosen


@pytest.mark.parametrize(
    "spec", [facts(hidden=True), facts(hidden=False, simultaneous=True)], ids=["hidden", "at once"]
)
def test_where_play_must_be_mixed_it_is_damped_and_the_damping_fades(spec):
    learning = choose(spec, BOTS, SHORT, 100).learning
    magnet = parse_schedule(learning.terms["magnet"])
    assert magnet(0, 100) > magnet(100, 100) > 0
    assert "entropy" not in learning.terms
    assert not learning.normalise_advantages
    assert learning.average_share > 0


def test_perfect_information_has_no_pull_to_uniform_play():
    assert "magnet" not in choose(facts(hidden=False), BOTS, SHORT, 100).learning.terms
    assert "magnet" not in choose(facts(hidden=True, seats=1), BOTS, SHORT, 100).learning.terms


def test_where_all_is_seen_others_are_met_too_and_otherwise_only_oneself():
    seen = choose(facts(hidden=False), BOTS, SHORT, 1).rollouts.opponents
    assert {each.player: each.weight for each in seen} == {
        "self": 0.7, "random": 0.15, "sound": 0.15,
    }  # fmt: skip
    assert [each.player for each in choose(KUHN, BOTS, SHORT, 1).rollouts.opponents] == ["self"]


def test_the_pull_is_weaker_where_a_match_has_many_decisions():
    def start(decisions):
        return choose(KUHN, BOTS, Sample(decisions, 1.0), 1).learning.terms["magnet"]["start"]

    assert start(2.0) == start(8.0)
    assert start(32.0) == pytest.approx(start(8.0) / 2)
    assert start(800.0) == pytest.approx(start(8.0) / 10)


def test_the_pull_has_the_same_proportion_to_returns_of_any_scale():
    weights = {
        scale: choose(KUHN, BOTS, Sample(4.0, scale), 100).learning.terms
        for scale in (0.5, 1.0, 13.0)
    }
    forces = [scale * terms["policy"] for scale, terms in weights.items()]
    assert forces == pytest.approx([1.0] * 3, rel=1e-2)
    assert len({str(terms["magnet"]) for terms in weights.values()}) == 1


def test_the_critic_sees_what_is_hidden_in_short_matches_and_what_the_policy_makes_in_longer_ones():
    assert choose(KUHN, BOTS, SHORT, 1).learning.critic_sees == "privileged"
    assert choose(replace(KUHN, privileged=None), BOTS, SHORT, 1).learning.critic_sees == "seat"
    longer = replace(SHORT, decisions=24.0)
    assert choose(KUHN, BOTS, longer, 1).learning.critic_sees == "features"


def test_where_all_is_seen_the_critic_sits_on_the_policys_torso():
    assert choose(facts(hidden=False), BOTS, SHORT, 1).learning.critic_sees == "features"


@pytest.mark.parametrize(
    ("choices", "last_mover_wins", "plies"),
    [(6.8, 1.0, 2), (16.6, 1.0, 0), (6.8, 0.7, 0)],
)
def test_rules_are_asked_where_that_is_cheap_and_a_move_decides(choices, last_mover_wins, plies):
    assert plies_for(Endings(choices, last_mover_wins)) == plies


def test_an_open_game_in_which_a_move_decides_is_shown_what_its_rules_prove():
    pytest.importorskip("pyspiel")
    chosen = default_settings("openspiel:tic_tac_toe", iterations=10)
    assert chosen.game_settings == {"lookahead": 2}
    assert "  game           lookahead 2\n" in summary(chosen)
    given = default_settings("openspiel:tic_tac_toe", {"lookahead": 0}, iterations=10)
    assert given.game_settings == {"lookahead": 0}
    # A policy to begin from was shown what it was shown.
    assert default_settings("openspiel:tic_tac_toe", vtrace=True).game_settings == {}


@pytest.mark.parametrize("name", ["kuhn_poker", "oware"])
def test_games_with_secrets_or_a_count_at_their_end_are_shown_as_they_are(name):
    pytest.importorskip("pyspiel")
    assert default_settings(f"openspiel:{name}", iterations=10).game_settings == {}


def test_a_search_is_evaluated_against_and_not_trained_against():
    pytest.importorskip("pyspiel")
    chosen = default_settings("openspiel:tic_tac_toe", iterations=10)
    assert chosen.evaluation.bots == ("random", "mcts-100")
    assert [one.player for one in chosen.rollouts.opponents] == ["self", "random"]


@pytest.mark.skipif(not importlib.util.find_spec("pyspiel"), reason="OpenSpiel is not installed")
def test_a_treasure_that_one_match_in_256_comes_upon_is_in_the_sample():
    samples = [sample_of("openspiel:deep_sea(size=8)", {}, seed) for seed in range(3)]
    assert all(sample.rare == pytest.approx(0.25, abs=0.02) for sample in samples)


def test_wide_views_and_many_choices_make_evaluations_smaller():
    """Hearts of OpenSpiel shows 5,088 numbers: its evaluations took twice as long as learning."""
    usual = _evaluation(["random"], ["random"], Sample(61.0, 1.0), 1)
    assert usual.matches == 326
    assert _evaluation(["random"], ["random"], Sample(61.0, 1.0), 1, 5.14).matches == 62
    assert _wide(KUHN) == 1.0
    seen = replace(KUHN.observation, fields=(Field("much", 3000),))
    assert _wide(replace(KUHN, observation=seen)) == pytest.approx(3.0, abs=0.01)


def test_a_search_that_would_take_too_long_is_left_out_of_evaluations():
    def evaluated(decisions):
        sample = Sample(decisions, 1.0)
        return _evaluation(["random", "search"], ["random"], sample, 1)

    assert evaluated(20.0).bots == ("random", "search")
    assert evaluated(20.0).matches == 100
    assert evaluated(200.0).bots == ("random",)


def test_short_matches_are_played_whole_and_long_ones_stream():
    short, long = choose(KUHN, BOTS, SHORT, 1), choose(KUHN, BOTS, Sample(1100.0, 1.0), 1)
    between = choose(KUHN, BOTS, Sample(48.0, 1.0), 1)
    assert (between.rollouts.mode, between.learning.lam) == ("matches", 0.8)
    assert (short.rollouts.mode, short.learning.lam) == ("matches", 1.0)
    assert (long.rollouts.mode, long.learning.lam) == ("stream", 0.95)
    assert short.rollouts.matches * SHORT.decisions == pytest.approx(2048, rel=0.1)


def test_where_play_is_dear_updates_are_smaller_and_use_each_decision_more():
    dear = choose(KUHN, BOTS, replace(SHORT, dear=True), 1)
    cheap = choose(KUHN, BOTS, SHORT, 1)
    assert dear.rollouts.matches < cheap.rollouts.matches
    assert dear.learning.epochs > cheap.learning.epochs
    assert dear.learning.minibatches > cheap.learning.minibatches
    without = {"epochs": 1, "minibatches": 1, "lr": 1e-3}
    assert replace(dear.learning, **without) == replace(cheap.learning, **without)


def test_returns_are_measured_by_their_deviation_and_rare_ones_are_not_lost():
    even = np.array([[2.0, -2.0], [-2.0, 2.0]])
    rare = np.zeros((1000, 2))
    rare[0] = [8.0, -8.0]
    assert return_scale(even) == pytest.approx(2.0)
    assert return_scale(rare) == pytest.approx(2.0)
    assert return_scale(np.zeros((10, 2))) == return_scale(np.zeros((0, 2))) == 1.0


def test_a_few_random_matches_say_how_long_and_how_dear_they_are():
    sample = sample_of("leduc", {})
    assert 3 < sample.decisions < 6
    assert 3 < sample.scale < 6
    assert sample.compiled
    assert not sample.dear
    example = sample_of(str(EXAMPLE), {})
    assert example.dear
    assert not example.compiled


def test_openspiels_rules_are_neither_ours_nor_dear():
    pytest.importorskip("pyspiel")
    sample = sample_of("openspiel:kuhn_poker", {})
    assert not sample.compiled
    assert not sample.dear


def test_a_run_is_evaluated_about_ten_times_against_all_bots():
    chosen = default_settings("kuhn", iterations=200)
    bots = registry.bot_names(registry.entry("kuhn"))
    assert (chosen.evaluation.every, chosen.evaluation.bots) == (20, tuple(bots))


def test_from_a_policy_the_learning_is_alphastars():
    chosen = default_settings("kuhn", vtrace=True, anchored=True)
    assert chosen.learning == alphastar(anchored=True).learning
    assert chosen.replay == alphastar().replay


def test_the_summary_has_an_item_a_line():
    settings = default_settings("kuhn", iterations=200, regrets=False)
    first, *lines = summary(settings).splitlines()
    assert first == "Settings for kuhn:"
    value_by_item = {line[2:16].strip(): line[17:] for line in lines}
    assert value_by_item["algorithm"] == "ppo"
    assert "; magnet 0.1→" in value_by_item["terms"]
    assert value_by_item["opponents"] == "self 1"
    assert value_by_item["experience"].endswith(", 200 iterations")
    assert value_by_item["evaluation"].startswith("every 20, against random, ")
    assert "teacher" not in value_by_item


def test_the_summary_promises_nashconv_where_it_is_measured_alone():
    kuhn = default_settings("kuhn", iterations=20)
    assert summary(kuhn).endswith(", and NashConv")
    assert "NashConv" not in summary(replace(kuhn, game="arena"))
    assert "NashConv if the game is small" in summary(replace(kuhn, game="openspiel:dots"))
    never = replace(kuhn, evaluation=replace(kuhn.evaluation, exact="never"))
    assert "NashConv" not in summary(never)


@pytest.mark.parametrize(
    ("lr", "words"),
    [
        ("{kind: follow-kl, start: 6e-4, target: 0.01}", "follow-kl"),
        ("{kind: warm-up, steps: 5, then: 1e-3}", "warm-up"),
        ("{kind: linear, start: 3e-4, end: 0}", "0.0003→0"),
        ("{kind: delay, steps: 3, before: 1e-3, then: 1e-4}", "0.001, then 0.0001"),
    ],
)
def test_the_summary_has_words_for_any_schedule(lr, words):
    settings = apply_overrides(
        default_settings("kuhn", iterations=200), [f"learning.lr={lr}", "learning.minibatches=2"]
    )
    assert f"  learning rate  {words}\n" in summary(settings)


def test_a_handful_of_updates_is_told_in_one_sentence():
    few = default_settings("kuhn", iterations=FEW_UPDATES - 1)
    assert few_updates(few).startswith(f"This is a run of {FEW_UPDATES - 1} updates")
    assert few_updates(replace(few, iterations=FEW_UPDATES)) == ""


def test_a_game_without_a_recipe_is_learned_evaluated_and_reported():
    recipe = load_recipe(default_recipe("kuhn"))
    assert recipe.stages.names == ["rl", "evaluate", "report"]
    assert recipe.run_settings("rl").learning == default_settings("kuhn").learning


def test_a_pipeline_without_a_recipe_is_chosen_for_the_games_settings_and_the_seed(tmp_path):
    words = ("game_settings.duration=4.0", "seed=3", "stages.rl.iterations=5")
    request = Request(game="arena", output_dir=tmp_path / "out", overrides=words)
    recipe = request.resolved(tmp_path / "out", say=lambda sentence: None)
    chosen = recipe.run_settings("rl")
    assert (chosen.game_settings["duration"], chosen.seed, chosen.iterations) == (4.0, 3, 5)
    # Matches of four seconds are short, so that nobody has to teach; usual ones are long.
    assert chosen.rollouts.teacher is None


def test_a_python_file_in_the_place_of_a_recipe_is_sent_to_its_flag():
    with pytest.raises(LanistaError, match=r"write --game my_game\.py"):
        Request("my_game.py")


def test_bots_are_ranked_by_matches_among_themselves():
    strengths = bot_strengths("arena", {"duration": 20.0}, ["still", "random", "kiter"])
    assert max(strengths, key=strengths.get) == "kiter"
    assert strengths["kiter"] > 0.3 > max(strengths["still"], strengths["random"])


def test_in_long_matches_the_best_bot_teaches_first_and_the_strong_are_met_most():
    chosen = choose(
        registry.spec_of("arena"), ["random", "a", "b"], replace(SHORT, decisions=600.0), 1000,
        {"random": -0.8, "a": 0.7, "b": 0.2},
    )  # fmt: skip
    assert chosen.rollouts.teacher == "a"
    weights = {one.player: one.weight for one in chosen.rollouts.opponents}
    assert weights["a"] > weights["b"] > weights["random"] > 0
    assert (chosen.network.symmetry, chosen.network.normalise_observations) == (8, 5)
    policy, teacher = (
        parse_schedule(chosen.learning.terms[name]) for name in ("policy", "teacher")
    )
    assert (policy(0, 1000), teacher(0, 1000)) == (0.0, 1.0)
    assert policy(100, 1000) == 1.0 > 10 * teacher(999, 1000)
    assert [policy(step, 20) for step in (1, 2)] == [0.0, 1.0]  # A shorter run has a shorter start.
    assert "  teacher        a\n" in summary(chosen)


def test_only_long_matches_of_compiled_games_with_bots_have_a_teacher():
    assert default_settings("arena", {"duration": 30.0}, iterations=8).rollouts.teacher == "kiter"
    assert default_settings("beastybar", iterations=8).rollouts.teacher is None
