"""The experiments that come along measure the recipes that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanista.learn.rnad import FixedPoint
from lanista.pipeline.defaults import default_settings
from lanista.pipeline.experiment import load_experiment
from lanista.pipeline.recipes import settings_of
from lanista.runs.settings import differences

EXPERIMENTS = Path(__file__).parents[2] / "recipes" / "experiments"
FREE = ("seed", "evaluation.", "checkpoints.", "device", "rollouts.unroll_length")
"""What may differ and changes no number: no match of Leduc has more than the 8 decisions given."""


@pytest.mark.parametrize(
    ("arm", "recipe"),
    [
        ("damped PPO", "leduc-ppo"),
        ("R-NaD", "leduc-rnad"),
        ("R-NaD with NeuRD", "leduc-neurd"),
    ],
)
def test_an_arm_that_names_a_recipe_learns_as_it_does(arm: str, recipe: str) -> None:
    settings = load_experiment(EXPERIMENTS / "leduc.yaml").settings_of(arm, 11)
    found = differences(settings, settings_of(recipe))
    assert [entry for entry in found if not entry[0].startswith(FREE)] == []


@pytest.mark.parametrize("file", ["league-leduc.yaml", "league-liars-dice.yaml"])
def test_leagues_that_were_measured_keep_the_share_of_self_play_they_had(file: str) -> None:
    experiment = load_experiment(EXPERIMENTS / file)
    leagues = [experiment.settings_of(arm, 1).league for arm in experiment.arms]
    shares = [league.main.matchmaking.self_share for league in leagues if league]
    assert shares == [0.35] * 3


def test_phantom_tic_tac_toe_is_learned_as_rl_chose_for_the_first_of_its_seeds() -> None:
    experiment = load_experiment(EXPERIMENTS / "phantom-ttt.yaml")
    settings = experiment.settings_of("damped PPO", experiment.seeds[0])
    chosen = default_settings("phantom_ttt", iterations=1550, seed=experiment.seeds[0])
    found = differences(settings, chosen)
    assert [entry for entry in found if not entry[0].startswith(FREE)] == []
    assert (settings.evaluation.exact, settings.evaluation.every) == ("always", 1550)


def test_the_references_of_the_r_nad_recipe_move_six_times_and_pull_the_goals() -> None:
    settings = settings_of("leduc-rnad-fitted")
    fixed_point = FixedPoint(settings.learning.fixed_point)
    moves = [step for step in range(settings.updates) if fixed_point.at(step).update]
    assert moves == [500, 1000, 1500, 2000, 2500, 3000]
    assert settings.learning.eta == 0.2
    assert settings.learning.neurd_step is not None


def test_r_nad_on_liars_dice_differs_from_leducs_by_the_size_of_rewards_alone() -> None:
    experiment = load_experiment(EXPERIMENTS / "rnad-liars-dice.yaml")
    found = differences(settings_of("leduc-rnad-fitted"), experiment.settings_of("R-NaD", 91))
    assert {name for name, _, _ in found if not name.startswith(FREE)} == {
        "game", "learning.eta", "learning.terms.magnet", "learning.neurd_step",
    }  # fmt: skip
    arms = (experiment.settings_of(arm, 91) for arm in ("R-NaD", "magnet alone"))
    assert [name for name, _, _ in differences(*arms)] == ["learning.eta"]


@pytest.mark.parametrize(
    ("file", "recipe", "plain"),
    [
        ("ppo-joint-leduc.yaml", "leduc-ppo-joint", "uniform magnet alone"),
        ("mirror-leduc.yaml", "leduc-mirror", "without the slow average"),
    ],
)
def test_the_first_arm_is_the_recipe_and_another_does_without_its_slow_average(
    file: str, recipe: str, plain: str
) -> None:
    experiment = load_experiment(EXPERIMENTS / file)
    whole = experiment.settings_of(next(iter(experiment.arms)), 0)
    unlike = {name for name, _, _ in differences(whole, settings_of(recipe))}
    assert unlike <= {"seed", "mark"}, "an experiment has no mark to reach"
    assert whole.learning.reference_average == 0.002
    found = differences(whole, experiment.settings_of(plain, 0))
    assert [(name, after) for name, _, after in found] == [("learning.terms.reference", 0.0)]
