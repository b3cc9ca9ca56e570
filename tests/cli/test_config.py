"""`lanista config new`, `lanista config diff` and `lanista config import`."""

from itertools import pairwise

import pytest

from lanista.cli import main as cli
from lanista.pipeline.recipe import is_pipeline, read_recipe
from lanista.pipeline.recipes import about_recipe, find, recipe_names, settings_of
from lanista.runs.settings import load_settings

STORIES = [name for name in recipe_names() if is_pipeline(read_recipe(find(name)))]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("recipe", sorted({*recipe_names()} - {*STORIES}))
def test_a_new_file_is_the_recipe_with_a_sentence_above_each_setting(recipe, tmp_path, capsys):
    assert cli.main(["config", "new", recipe]) == 0
    assert capsys.readouterr().out == f"settings: {recipe}.yaml\n"
    text = (tmp_path / f"{recipe}.yaml").read_text()
    assert load_settings(tmp_path / f"{recipe}.yaml") == settings_of(recipe)
    assert "# Rounds of collecting experience and learning from it.\niterations:" in text


@pytest.mark.parametrize("recipe", STORIES)
def test_a_new_file_of_a_pipeline_is_the_recipe_itself(recipe, tmp_path):
    assert cli.main(["config", "new", recipe]) == 0
    file = tmp_path / f"{recipe}.yaml"
    assert read_recipe(file) == read_recipe(find(recipe))
    assert file.read_text().startswith(f"# Settings from {recipe}; use them with: lanista run ")


def test_an_imported_plan_is_a_settings_file_with_its_notices(tmp_path, capsys):
    (tmp_path / "plan.yaml").write_text(
        "total_iterations: 1000\ngames_per_iteration: 64\nforce_cython: true\n"
    )
    words = ["config", "import", "plan.yaml", "--output", "ours.yaml", "--done", "600"]
    assert cli.main(words) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "settings: ours.yaml"
    assert any(line.startswith("force_cython True: ") for line in said)
    settings = load_settings(tmp_path / "ours.yaml")
    assert (settings.game, settings.iterations, settings.rollouts.matches) == ("beastybar", 400, 64)
    comments = (tmp_path / "ours.yaml").read_text()
    assert all(f"# {line}" in comments for line in said[:-1])
    assert cli.main(words) == 3


def test_a_file_that_is_there_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "mine.yaml").write_text("mine")
    assert cli.main(["config", "new", "kuhn-ppo", "mine.yaml"]) == 3
    assert (tmp_path / "mine.yaml").read_text() == "mine"
    assert "'mine.yaml' exists" in capsys.readouterr().err
    assert cli.main(["config", "new", "kuhn-ppo", "other.yaml"]) == 0
    assert (tmp_path / "other.yaml").is_file()


def test_without_a_recipe_they_are_listed(capsys):
    assert cli.main(["config", "new"]) == 0
    *listed, _, ways = capsys.readouterr().out.splitlines()
    assert [line for line in listed if not line.startswith(" ")] == recipe_names()
    for name, about in pairwise(listed):
        assert name.startswith(" ") or about.startswith("    ")
    assert (
        "    MicroRTS on the small map by PPO from nothing, against itself and three of" in listed
    )
    assert all(len(line) <= 80 for line in listed)
    assert "lanista config new RECIPE" in ways


@pytest.mark.parametrize("recipe", recipe_names())
def test_every_recipe_begins_with_a_sentence_about_it(recipe):
    about = about_recipe(find(recipe))
    assert about.endswith(".")
    assert about.count(". ") == 0
    assert 20 < len(about) < 300


def test_diff_names_what_differs(tmp_path, capsys):
    (tmp_path / "a.yaml").write_text("game: kuhn\nlearning: {lr: 1e-3}")
    (tmp_path / "b.yaml").write_text(
        "game: kuhn\nlearning: {lr: {kind: linear, start: 1e-3, end: 0}}\niterations: 7"
    )
    assert cli.main(["config", "diff", "a.yaml", "b.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "iterations: 100 → 7",
        "learning.lr: 0.001 → {'kind': 'linear', 'start': 0.001, 'end': 0}",
    ]
    assert cli.main(["config", "diff", "a.yaml", "a.yaml"]) == 0
    assert capsys.readouterr().out == "The settings are the same.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["new", "kuhn-pp"], "did you mean 'kuhn-ppo'?"),
        (["new", "a", "b", "c"], "not 3 names"),
        (["diff", "kuhn-ppo"], "takes two names, not 1"),
        (["diff", "kuhn-ppo", "nowhere"], "'nowhere' is neither"),
        (["diff", "kuhn-ppo", "kuhn-ppo", "--done", "1"], "go with config import, not diff"),
        (["import", "plan.yaml"], "takes one plan and --output FILE"),
        (["import", "nowhere.yaml", "--output", "o.yaml"], "There is no plan 'nowhere.yaml'"),
        (["import", "plan.yaml", "--output", "o.yaml", "--done", "-1"], "--done is -1"),
        (["new", "kuhn-ppo", f"{__file__}/x.yaml"], "FILE cannot write into"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(words, said, capsys):
    assert cli.main(["config", *words]) == 2
    assert said in capsys.readouterr().err
