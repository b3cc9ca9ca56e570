"""Search spaces: ranges as they are written, those chosen for a recipe, and what is refused."""

from __future__ import annotations

import pytest

from lanista.errors import LanistaError
from lanista.pipeline.recipes import recipe_names, settings_of
from lanista.runs.settings import RunSettings, apply_overrides, load_settings
from lanista.tuning.plan import Plan
from lanista.tuning.space import (
    Range,
    default_space,
    own_values,
    parse_range,
    parse_space,
    parse_words,
    read_space,
)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("log:1e-4..1e-2", Range("log", 1e-4, 1e-2)),
        ("float:0..1", Range("float", 0, 1)),
        ("int:1..4", Range("int", 1, 4)),
        ("logint:16..256", Range("logint", 16, 256)),
        ("choice:2,4,8", Range("choice", choices=(2, 4, 8))),
        ("choice:true,false", Range("choice", choices=(True, False))),
        ("choice:mlp,residual", Range("choice", choices=("mlp", "residual"))),
    ],
)
def test_a_range_is_read_and_written_alike(text: str, scope: Range) -> None:
    assert parse_range("x", text) == scope
    assert parse_range("x", str(scope)) == scope


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1e-4..1e-2", "write it as log:"),
        ("uniform:0..1", "write it as log:"),
        ("float:0", "write it as log:"),
        ("float:a..b", "write it as log:"),
        ("float:0..inf", "write it as log:"),
        ("float:1..0", "lower number first"),
        ("log:0..1", "begins above 0"),
        ("int:1..2.5", "whole numbers"),
        ("choice:3", "two choices"),
        ("choice:3,3", "two choices"),
        ("choice:[1],2", "write it as log:"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(LanistaError, match=sentence) as caught:
        parse_range("learning.lr", text)
    assert f"learning.lr is {text!r}" in str(caught.value)


@pytest.mark.parametrize("key", ["seed", "game", "evaluation.every", "device", "league.round"])
def test_what_says_how_runs_are_measured_is_not_searched(key: str) -> None:
    with pytest.raises(LanistaError, match=f"^{key} cannot be searched"):
        parse_space({key: "int:1..2"})


def test_words_and_files_give_the_same_space() -> None:
    words = parse_words(["learning.lr=log:1e-4..1e-2", "iterations=choice:10,20"])
    file = read_space({"learning.lr": "log:1e-4..1e-2", "iterations": "choice:10,20"}, "f")
    assert words == file
    with pytest.raises(LanistaError, match="write it as KEY=RANGE"):
        parse_words(["learning.lr"])
    with pytest.raises(LanistaError, match=r"learning\.lr twice"):
        parse_words(["learning.lr=int:1..2", "learning.lr=int:1..3"])
    with pytest.raises(LanistaError, match="f is no search space"):
        read_space([1], "f")


SINGLE = [name for name in recipe_names() if name.startswith(("kuhn", "leduc"))]


@pytest.mark.parametrize("name", [*SINGLE, "arena-quick", "beastybar-ppo"])
def test_the_space_of_a_recipe_lies_around_its_own_values(name: str) -> None:
    settings = settings_of(name)
    space = default_space(settings)
    assert any(key.startswith("learning.lr") for key in space)
    steps = "learning.epochs"
    if settings.learning.policy == "regret":
        steps = "learning.regret.steps"
    elif settings.learning.neurd_step is not None:
        steps = "learning.fit_steps"
    assert {steps, "network.width"} <= set(space)
    assert {"rollouts.matches", "rollouts.unrolls"} & set(space)
    assert not any(key.startswith("learning.terms.value") for key in space)
    values = own_values(settings, space)
    assert values is not None
    # The recipe with its own values put in is the recipe, so that trial 0 is the defaults.
    plan = Plan(name, settings, "score>=0.5", {key: str(scope) for key, scope in space.items()})
    same = plan.settings({key: value for key, value in values.items() if key != "network.width"})
    assert same == settings
    for key, scope in space.items():
        for end in scope.ends():
            assert plan.settings({key: end}) != settings or end == values[key]


def test_a_schedule_is_searched_by_its_numbers_and_its_length() -> None:
    lr = {"kind": "exponential", "start": 1e-3, "end": 1e-4}
    settings = load_settings({"game": "kuhn", "iterations": 100, "learning": {"lr": lr}})
    space = default_space(settings)
    assert space["learning.lr.start"] == Range("log", 0.00025, 0.004)
    assert space["learning.lr.end"] == Range("log", 2.5e-5, 4e-4)
    assert 100 in space["iterations"].choices
    constant = default_space(apply_overrides(settings, ["learning.lr=0.001"]))
    assert "iterations" not in constant
    assert constant["learning.lr"] == space["learning.lr.start"]


def test_values_outside_of_the_space_are_not_its_own() -> None:
    assert own_values(RunSettings(), {"learning.epochs": Range("int", 2, 4)}) is None
    assert own_values(RunSettings(), {"learning.epochs": Range("int", 1, 4)}) == {
        "learning.epochs": 1
    }
