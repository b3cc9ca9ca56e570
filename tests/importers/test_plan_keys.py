"""Foreign plans: every key becomes a setting or a notice, and nothing passes unread."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from lanista.games import registry
from lanista.importers.beastybar_plan import BEASTYBAR
from lanista.importers.key_mapping import Imported, import_plan
from lanista.runs.serialise import SettingsError

FILE = Path(__file__).with_name("plan_iter600.yaml")
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "training.md"
BOTS = (
    "random", "heuristic", "aggressive", "defensive", "queue", "skunk", "noisy", "online",
    "outcome", "distilled_outcome",
)  # fmt: skip
"""The plan's ten; only `outcome_heuristic` has another name here."""


def plan(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return values | changes


def read(values: dict[str, Any], done: int = 0) -> Imported:
    return import_plan(values, BEASTYBAR, done=done)


def said_of(imported: Imported, key: str) -> list[str]:
    return [line for line in imported.notices if re.match(rf"{re.escape(key)}[ :]", line)]


def test_the_plan_from_iteration_600_becomes_a_run_of_400_with_schedules_and_a_league():
    settings = read(plan(), done=600).settings
    assert (settings.game, settings.seed, settings.iterations) == ("beastybar", 42, 400)
    assert settings.learning.terms == {
        "policy": 1.0,
        "value": 0.5,
        "entropy": {"kind": "linear", "start": 0.04, "end": 0.01},
    }
    assert settings.learning.temperature == {"kind": "linear", "start": 1.0, "end": 0.5}
    assert (settings.learning.lr, settings.learning.clip, settings.learning.value_clip) == (
        1e-4, 0.2, 0.2,
    )  # fmt: skip
    assert (settings.learning.epochs, settings.learning.max_grad_norm) == (4, 0.5)
    assert (settings.learning.gamma, settings.learning.lam) == (0.99, 0.95)
    assert (settings.learning.target_kl, settings.learning.normalise_advantages) == (0.02, True)
    network = settings.network
    assert (network.kind, network.width, network.layers, network.attention_heads) == (
        "transformer", 256, 4, 8,
    )  # fmt: skip
    assert (network.dropout, network.embedding) == (0.1, 64)
    rollouts = settings.rollouts
    assert (rollouts.launcher, rollouts.workers, rollouts.lag) == ("threads", 32, 1)
    assert settings.rollouts.matches == 8192
    assert (settings.checkpoints.save_every, settings.evaluation.every) == (50, 25)
    assert settings.device == "auto"


def test_the_pool_is_all_ten_bots_and_the_learner_itself_with_adaptive_weights():
    settings = read(plan()).settings
    assert set(settings.opponents) == {"self", *BOTS}
    assert settings.evaluation.bots == BOTS
    assert set(BOTS) <= set(registry.all_bot_names(registry.entry("beastybar")))
    league = settings.league
    assert league is not None
    assert (league.main.matchmaking.kind, league.main.matchmaking.floor) == ("adaptive", 0.05)
    assert (league.past_members, league.exploiter_check_interval, league.round) == (10, 100, 25)
    # 50 iterations of 8,192 matches, half of them self-play in which both seats' 12 turns count.
    assert league.main.snapshot_decisions == 50 * 8192 * 12 * 1.5


def test_a_minibatch_size_becomes_a_number_of_parts():
    assert read(plan()).settings.learning.minibatches == round(8192 * 18 / 2048)


NOTICED = [
    "ppo_config.minibatch_size", "ppo_config.clip_value", "ppo_config.entropy_coef",
    "min_opponent_weight", "force_cython",
    "async_game_generation", "buffer_size", "device", "experiment_name",
    "opponent_config.current_weight", "opponent_config.checkpoint_weight",
    "opponent_config.random_weight", "opponent_config.heuristic_weight", "total_iterations",
]  # fmt: skip


@pytest.mark.parametrize("key", NOTICED)
def test_a_key_that_is_no_setting_as_it_stands_is_named_with_what_is_done_instead(key):
    assert len(said_of(read(plan(), done=600), key)) == 1


def leaves(values: dict[str, Any], where: str = "") -> list[str]:
    return [
        leaf
        for key, value in values.items()
        for leaf in (
            leaves(value, f"{where}{key}.") if isinstance(value, dict) else [f"{where}{key}"]
        )
    ]


def without(values: dict[str, Any], leaf: str) -> dict[str, Any]:
    first, _, rest = leaf.partition(".")
    if not rest:
        return {key: value for key, value in values.items() if key != first}
    return values | {first: without(values[first], rest)}


@pytest.mark.parametrize("leaf", leaves(plan()))
def test_leaving_out_any_key_changes_a_setting_or_a_notice(leaf):
    whole, less = read(plan()), read(without(plan(), leaf))
    assert (whole != less) == (leaf not in DEFAULTED)


DEFAULTED = {
    "ppo_config.clip_epsilon", "ppo_config.value_coef", "ppo_config.gae_lambda",
    "ppo_config.normalize_advantages", "checkpoint_frequency", "entropy_start", "entropy_end",
    "temperature_start", "temperature_end", "exploit_patch_interval",
}  # fmt: skip
"""Keys whose value in this plan is what stands without them."""


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"total_iteration": 5}, "no key 'total_iteration'; did you mean 'total_iterations'?"),
        ({"ppo_config": {"clip_epsilom": 0.1}}, "'ppo_config.clip_epsilom'; did you mean 'clip_ep"),
        ({"ppo_confg": {}}, "did you mean 'ppo_config'?"),
        ({"ppo_config": 3}, "ppo_config must be keys and values"),
        ({"total_iterations": "many"}, "total_iterations is 'many'; give a int"),
        ({"use_opponent_pool": 1}, "use_opponent_pool is 1; give a bool"),
        ({"entropy_schedule": "liner"}, "did you mean 'linear'?"),
        ({"eval_opponents": ["outcome_heuristics"]}, "did you mean 'outcome_heuristic'?"),
        ({"ppo_config": {"minibatch_size": 0}}, "give at least 1"),
        ({"device": "tpu"}, "device"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_nearest(values, sentence):
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        read(values)


def test_an_empty_plan_still_trains_policy_and_critic():
    assert read({}).settings.learning.terms == {"policy": 1.0, "value": 0.5, "entropy": 0.01}


def test_more_done_than_there_is_in_all_is_refused():
    with pytest.raises(SettingsError, match="1000 and 1000 are done"):
        read(plan(), done=1000)
    with pytest.raises(SettingsError, match="total_iterations is missing"):
        read({}, done=5)


def test_without_a_pool_the_learner_meets_itself_and_the_pool_s_keys_are_named():
    imported = read(plan(use_opponent_pool=False))
    assert imported.settings.opponents == ("self",)
    assert imported.settings.league is None
    for key in ("use_adaptive_weights", "exploit_patch_interval", "opponent_config.current_weight"):
        assert "without use_opponent_pool" in said_of(imported, key)[0]


def test_fixed_weights_give_the_plan_s_shares_once_all_snapshots_are_there():
    settings = read(plan(use_adaptive_weights=False)).settings
    weights = {each.player: each.weight for each in settings.rollouts.opponents}
    total = sum(weights.values()) + 10  # Ten snapshots of weight 1.
    assert weights["self"] / total == pytest.approx(0.5)
    assert weights["random"] / total == pytest.approx(0.1)
    assert sum(weights[bot] for bot in BOTS if bot != "random") / total == pytest.approx(0.3)
    assert settings.league is not None
    assert settings.league.main.matchmaking.kind == "fixed"


def test_adaptive_weights_start_with_the_plan_s_shares():
    settings = read(plan()).settings
    weights = {one.player: one.weight for one in settings.rollouts.opponents}
    total = sum(weights.values()) + 1  # The policy that the run begins from has the weight 1.
    assert weights["self"] / total == pytest.approx(0.5)
    assert weights["random"] / total == pytest.approx(0.1)
    assert sum(weights[bot] for bot in BOTS if bot != "random") / total == pytest.approx(0.3)
    assert 1 / total == pytest.approx(0.1)


def test_workers_without_async_generation_change_nothing_and_say_so():
    imported = read(plan(async_game_generation=False))
    rollouts = imported.settings.rollouts
    assert (rollouts.launcher, rollouts.workers, rollouts.lag) == ("serial", 1, 0)
    assert "without async_game_generation" in said_of(imported, "async_num_workers")[0]


@pytest.mark.parametrize(("size", "words"), [(800_000, "there is room"), (1000, "more than")])
def test_the_notice_of_the_buffer_says_what_an_iteration_learns_from(size, words):
    (line,) = said_of(read(plan(buffer_size=size)), "buffer_size")
    assert words in line
    assert f"{8192 * 12 * 3 // 2:,} decisions" in line


def test_a_schedule_needs_its_kind_and_a_constant_one_stays():
    assert "without entropy_schedule" in said_of(read({"entropy_end": 0.0}), "entropy_end")[0]
    steady = read({"temperature_schedule": "constant", "temperature_start": 0.7})
    assert steady.settings.learning.temperature == 0.7


def test_variants_and_exploiters_can_be_left_out():
    settings = read(plan(use_heuristic_variants=False, use_exploit_patch=False)).settings
    assert settings.opponents == ("self", "random", "heuristic")
    assert settings.league is not None
    assert settings.league.exploiter_check_interval == 0


def test_the_page_names_every_key():
    text = PAGE.read_text(encoding="utf-8")
    for key in BEASTYBAR.keys:
        assert f"`{key.rpartition('.')[2]}`" in text, key
