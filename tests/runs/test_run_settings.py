"""Settings: YAML in and out, overrides, and what is refused with which sentence."""

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from lanista.errors import LanistaError
from lanista.learn.settings import Learning
from lanista.nets.settings import Network
from lanista.pipeline.recipes import alphastar, recipe_names, settings_of
from lanista.runs.serialise import SettingsError, commented, flat, sentences
from lanista.runs.settings import (
    NEWER,
    Checkpoints,
    Evaluation,
    Opponent,
    Replay,
    Rollouts,
    RunSettings,
    apply_overrides,
    differences,
    fingerprint,
    load_settings,
    may_change,
    to_yaml,
)

FULL = RunSettings(
    game="leduc",
    seed=7,
    iterations=12,
    learner_updates=3,
    network=Network(kind="residual", size="s"),
    learning=Learning(
        policy="vtrace",
        lr={"kind": "linear", "start": 1e-3, "end": 0.0},
        terms={"policy": 1.0, "value": 0.5, "upgo": {"kind": "constant", "value": 0.3}},
        critic_network=Network(width=9),
        fixed_point=(3, 4),
    ),
    rollouts=Rollouts(
        mode="stream", opponents=(Opponent("self"), Opponent("random", 0.25)), draw=-0.5
    ),
    replay=Replay(size=9, minimum=2, sampling="prioritised"),
    evaluation=Evaluation(every=3, bots=("random",)),
    checkpoints=Checkpoints(save_every=2, keep_every=4),
    device="cpu",
)


@pytest.mark.parametrize("settings", [RunSettings(), FULL], ids=["default", "full"])
def test_settings_come_back_from_yaml_and_from_a_commented_file(settings, tmp_path):
    for text in (to_yaml(settings), commented(settings)):
        file = tmp_path / "s.yaml"
        file.write_text(text)
        assert load_settings(file) == settings
        assert load_settings(yaml.safe_load(text)) == settings


def test_an_empty_file_is_the_defaults(tmp_path):
    (tmp_path / "s.yaml").write_text("")
    assert load_settings(tmp_path / "s.yaml") == RunSettings()


@pytest.mark.parametrize(
    "cls", [RunSettings, Rollouts, Replay, Evaluation, Checkpoints, Opponent, Learning, Network]
)
def test_every_field_has_its_sentence(cls):
    assert sentences(cls).keys() == cls.__dataclass_fields__.keys()
    assert all(sentence.endswith(".") for sentence in sentences(cls).values())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"iteration": 3}, "no setting 'iteration'; did you mean 'iterations'?"),
        ({"learning": {"lrr": 1}}, "no setting 'learning.lrr'; did you mean 'learning.lr'?"),
        ({"learning": {"terms": {"entropi": 1}}}, "term 'entropi'; did you mean 'entropy'?"),
        ({"network": {"kind": "mpl"}}, "network.kind is 'mpl'; did you mean 'mlp'?"),
        ({"rollouts": {"mode": "streem"}}, "rollouts.mode is 'streem'; did you mean 'stream'?"),
        ({"iterations": "many"}, "iterations is 'many'; give a whole number."),
        ({"iterations": 1.5}, "iterations is 1.5; give a whole number."),
        ({"iterations": True}, "iterations is True; give a whole number."),
        ({"iterations": 0}, "iterations is 0; give at least 1."),
        ({"learning": {"gamma": "high"}}, "learning.gamma is 'high'; give a number."),
        ({"learning": {"compile": 1}}, "learning.compile is 1; give true or false."),
        ({"learning": {"lr": "fast"}}, "must be a number, got 'fast'."),
        ({"learning": {"lr": {"kind": "liner", "start": 1}}}, "did you mean 'linear'?"),
        ({"learning": {"adam_betas": [0.9]}}, "learning.adam_betas is [0.9]; give 2 values."),
        ({"learning": 3}, "learning must be keys and values, got 3."),
        ({"rollouts": {"opponents": "self"}}, "rollouts.opponents is 'self'; give a list."),
        ({"rollouts": {"opponents": []}}, "opponents is empty"),
        ({"rollouts": {"opponents": ["self", "self"]}}, "names somebody twice"),
        ({"rollouts": {"opponents": ["random=x"]}}, "write NAME=NUMBER"),
        ({"rollouts": {"opponents": ["random=0"]}}, "weight of opponent 'random' is 0"),
        ({"rollouts": {"draw": "half"}}, "rollouts.draw is 'half'; give a number."),
        ({"rollouts": {"draw": float("nan")}}, "rollouts.draw is nan; give a number, or null."),
        ({"rollouts": {"draw": float("inf")}}, "rollouts.draw is inf; give a number, or null."),
        (
            {"learning": {"policy": "neurd", "eta": 1.0}, "rollouts": {"draw": -0.5}},
            "with rollouts.draw -0.5 both can lose",
        ),
        (
            {"learning": {"critic_output": "outcome"}, "rollouts": {"draw": -1}},
            "and rollouts.draw is -1; set it to null",
        ),
        ({"replay": {"size": 4, "minimum": 5}}, "no update would ever begin"),
        ({"learner_updates": 2}, "without a replay; set replay.size"),
        ({"learning": {"policy": "neurd", "eta": 1.0}, "rollouts": {"mode": "stream"}}, "whole"),
        (
            {
                "learning": {
                    "q_trace": "joint",
                    "critic_output": "q",
                    "critic_sees": "privileged",
                },
                "rollouts": {"mode": "stream"},
            },
            "learning.q_trace joint needs whole matches",
        ),
        ({"seed": -1}, "seed is -1"),
        ({"evaluation": {"every": -1}}, "evaluation.every is -1"),
        ({"checkpoints": {"keep_last": 0}}, "keep_last 0"),
        ([1, 2], "The settings must be keys and values, got [1, 2]."),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(values, said, tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump(values))
    with pytest.raises(LanistaError) as error:
        load_settings(file)
    assert said in str(error.value)


def test_numbers_that_yaml_takes_for_text_are_numbers(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(
        "learning: {lr: 3e-4, gamma: 1e-1, terms: {policy: 1e0, magnet: {kind: linear, "
        "start: 2e-1, end: 1E-3}}}"
    )
    learning = load_settings(file).learning
    assert (learning.lr, learning.gamma) == (3e-4, 0.1)
    assert learning.terms["magnet"] == {"kind": "linear", "start": 0.2, "end": 1e-3}


@pytest.mark.parametrize("text", ["game: [", "\tgame: kuhn", "!!python/object:os.system x"])
def test_a_file_that_is_no_plain_yaml_is_refused(text, tmp_path):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(LanistaError, match="no YAML"):
        load_settings(tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("game: kuhn\n  iterations: 3\n", ["(line 2, column 13)"]),
        ("seed: 3\nnetwork: [1, 2\n\n", ["(line 2, column 10)", "(line 4, column 1)"]),
        ("seed: 2024-13-45", ["month must be in 1..12"]),
    ],
)
def test_the_place_of_a_fault_in_a_file_is_named(text, places, tmp_path):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(LanistaError, match=r"s\.yaml' is no YAML: ") as caught:
        load_settings(tmp_path / "s.yaml")
    assert all(place in str(caught.value) for place in places)


def test_a_file_that_is_no_text_is_a_sentence(tmp_path):
    (tmp_path / "s.yaml").write_bytes(b"game: \xff\xfe")
    with pytest.raises(LanistaError, match="is no text in UTF-8; save it as such"):
        load_settings(tmp_path / "s.yaml")


def test_a_missing_file_is_a_sentence(tmp_path):
    with pytest.raises(LanistaError, match="cannot be read: no such file"):
        load_settings(tmp_path / "s.yaml")


def test_overrides_reach_every_depth():
    settings = apply_overrides(
        RunSettings(),
        [
            "iterations=9",
            "learning.lr=1e-3",
            "learning.terms.magnet=0.1",
            "learning.terms.entropy={kind: linear, start: 1, end: 0}",
            "learning.terms.entropy.end=0.5",
            "learning.critic_network.width=12",
            "game_settings.duration=3.5",
            "rollouts.opponents=[self, random=0.5]",
            "supervised_checkpoint=null",
            "evaluation.bots=[random]",
            "rollouts.draw=-1",
        ],
    )
    assert (settings.iterations, settings.learning.lr) == (9, 1e-3)
    assert settings.learning.terms["magnet"] == 0.1
    assert settings.learning.terms["entropy"] == {"kind": "linear", "start": 1, "end": 0.5}
    assert settings.learning.critic_network == Network(width=12)
    assert settings.game_settings == {"duration": 3.5}
    assert settings.rollouts.opponents[1] == Opponent("random", 0.5)
    assert settings.evaluation.bots == ("random",)
    assert (settings.rollouts.draw, type(settings.rollouts.draw)) == (-1.0, float)
    assert apply_overrides(settings, ["rollouts.draw=null"]).rollouts.draw is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("iterations", "write it as key=value"),
        ("=3", "write it as key=value"),
        ("iteration=3", "did you mean 'iterations'?"),
        ("learning.lrr=3", "did you mean 'learning.lr'?"),
        ("learnin.lr=3", "did you mean 'learning'?"),
        ("learning.terms.entropi=3", "did you mean 'entropy'?"),
        ("game.x=3", "game is 'arena' and has no parts"),
        ("learning.lr={", "no YAML"),
        ("learning.lr=-1", "lr has the value -1"),
        ("learning.lr={kind: linear, start: 1, end: -1}", "lr has the end -1"),
        ("learning.temperature=0", "numbers above 0"),
        ("learning.gamma=2", "gamma is 2"),
        ("learning.lam=-0.5", "lam is -0.5"),
        ("learning.clip=0", "clip is 0"),
        ("learning.eta=-1", "eta is -1"),
        ("learning.reference_every=0", "reference_every is 0"),
    ],
)
def test_an_override_that_fits_nothing_is_refused(text, said):
    with pytest.raises(LanistaError) as error:
        apply_overrides(RunSettings(), [text])
    assert said in str(error.value)


def test_a_critic_of_outcomes_is_not_taught_by_shaped_rewards():
    with pytest.raises(LanistaError, match="shaping_scale would blur"):
        apply_overrides(
            RunSettings(), ["learning.critic_output=outcome", "rollouts.shaping_scale=0.1"]
        )


def test_differences_name_each_key_that_differs():
    other = apply_overrides(RunSettings(), ["learning.terms.magnet=1.0", "learning.lr=0.1"])
    assert differences(RunSettings(), other) == [
        ("learning.lr", 3e-4, 0.1),
        ("learning.terms.magnet", None, 1.0),
    ]
    assert differences(FULL, FULL) == []


def test_a_setting_that_came_later_leaves_earlier_runs_their_digest_until_it_is_given():
    for settings in (RunSettings(), apply_overrides(FULL, ["rollouts.draw=null"])):
        before = {key: value for key, value in flat(settings) if not may_change(key)}
        # As a version without them had them.
        before = {key: value for key, value in before.items() if key not in NEWER}
        for opponent in before["rollouts.opponents"]:
            del opponent["greedy"]
        digest = hashlib.sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()
        assert fingerprint(settings) == digest
        told = [apply_overrides(settings, [f"rollouts.draw={value}"]) for value in (0, -0.5, -1)]
        assert len({digest, *map(fingerprint, told)}) == 4


LEAGUE_RUN = {
    "game": "leduc",
    # As its folder says: settings are written out, and this share was the default.
    "league": {
        "main_exploiters": 1,
        "league_exploiters": 1,
        "main": {"matchmaking": {"self_share": 0.35}},
    },
    "network": {"kind": "transformer", "size": "s"},
    "learning": {"critic_sees": "seat", "critic_network": {"kind": "mlp", "size": "s"}},
    "rollouts": {"opponents": ["self", "random"]},
}


@pytest.mark.parametrize(
    ("values", "digest"),
    [
        ({"game": "kuhn"}, "1694ad3b488f3cdf54b7f6890801203fee60b2c6d61b0ae9abe1f1fecfe60ecb"),
        (LEAGUE_RUN, "ecfc1639d3b8b86371fed81bc79646b16c03d82063d31c38943df0e3967c0192"),
    ],
)
def test_runs_begun_by_an_earlier_version_go_on(values, digest):
    """The digests were computed by the version of 17 November 2026, commit 7c5135a."""
    assert fingerprint(load_settings(values)) == digest


@pytest.mark.parametrize(
    ("regret", "digest"),
    [
        ({}, "8cc2fd0f0f718461156e5db72dbb739a42355ff2b60908b33622daa46ad8dc33"),
        (
            {"sampling": "outcome"},
            "03e9f16d46b557a340118cd72380e7fac51635efed4b49d05cf2a9779c1f5d26",
        ),
    ],
)
def test_runs_that_learned_regrets_before_there_was_a_clip_go_on(regret, digest):
    """The digests were computed by the version of 18 November 2026, commit 1b62c501."""
    learning = {"policy": "regret", "regret": regret}
    assert fingerprint(load_settings({"game": "leduc", "learning": learning})) == digest
    clipped = {"policy": "regret", "regret": {**regret, "importance_clip": 2.0}}
    assert fingerprint(load_settings({"game": "leduc", "learning": clipped})) != digest


def test_every_recipe_can_be_read_and_the_agreed_ones_are_there():
    wanted = {"arena-alphastar", "beastybar-ppo", "kuhn-ppo", "leduc-ppo", "leduc-rnad"}
    assert wanted <= {*recipe_names()}
    begun_from_a_clone = (Path(__file__).parents[2] / "recipes" / "from-clone").glob("*.yaml")
    for name in [*recipe_names(), *map(str, begun_from_a_clone)]:
        assert isinstance(settings_of(name), RunSettings)


def test_the_recipe_for_the_arena_is_what_rl_does_without_one():
    recipe, plain = settings_of("arena-alphastar"), alphastar()
    assert recipe.learning.terms.keys() == plain.learning.terms.keys()
    assert (recipe.game, recipe.learning.policy, recipe.rollouts.mode) == (
        "arena", "vtrace", "stream",
    )  # fmt: skip
    assert {"policy", "value", "upgo", "anchor_forward"} <= recipe.learning.terms.keys()


@pytest.mark.parametrize(
    "scale",
    [
        {"kind": "coupled", "to": "lr"},
        {"kind": "warm-up", "steps": 2, "then": {"kind": "coupled", "to": "lr"}},
        {"kind": "on-plateau", "start": 0.1},
    ],
)
def test_shaping_that_follows_what_playing_does_not_see_is_refused(scale):
    with pytest.raises(SettingsError, match=r"rollouts\.shaping_scale follows"):
        Rollouts(shaping_scale=scale)
