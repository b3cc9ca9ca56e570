"""What a pipeline needs is looked for before it begins."""

import copy
from dataclasses import replace

import pytest
import torch
from pipeline_recipes import TINY, conducted, story_of

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.small import LEDUC
from lanista.pipeline.preflight import refuse_unready
from lanista.pipeline.recipe import with_overrides

WITHOUT = replace(LEDUC, missing_bots={"absent": "its program is not installed"})


@pytest.fixture
def leduc_lacks_a_bot(monkeypatch):
    known = registry.entry
    monkeypatch.setattr(registry, "entry", lambda name: WITHOUT if name == "leduc" else known(name))


def needing(stage, key, value):
    values = copy.deepcopy(TINY)
    values["stages"]["evaluate"] = {"games": 10, "opponents": ["random"]}
    here = values["stages"][stage]
    *parts, last = key.split(".")
    for part in parts:
        here = here[part]
    here[last] = value
    return values


@pytest.mark.parametrize(
    ("stage", "key", "value"),
    [
        ("record", "seats", ["random,random", "random,absent"]),
        ("imitate", "opponents", ["absent"]),
        ("rl", "rollouts.opponents", ["self", "imitation", "absent=0.5"]),
        ("rl", "evaluation.bots", ["random", "absent"]),
        ("evaluate", "opponents", ["all", "imitation", "absent"]),
    ],
)
def test_a_missing_bot_is_said_whichever_stage_needs_it(
    stage, key, value, leduc_lacks_a_bot, tmp_path
):
    story = story_of(needing(stage, key, value))
    with pytest.raises(LanistaError, match=rf"stages\.{stage}: .*'absent'.* is not installed"):
        refuse_unready(story, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_policy_file_that_is_not_there_is_said(tmp_path):
    for stage, key in (("rl", "supervised_checkpoint"), ("evaluate", "opponents")):
        value = "gone.safetensors" if stage == "rl" else ["gone.safetensors"]
        with pytest.raises(LanistaError, match=rf"stages\.{stage}: 'gone.safetensors' is neither"):
            refuse_unready(story_of(needing(stage, key, value)), tmp_path / "run")


def test_a_game_that_cannot_be_made_is_said(tmp_path, monkeypatch):
    def refused(**settings):
        raise LanistaError("Node is not there.")

    broken = replace(LEDUC, make=refused)
    story = story_of(TINY)
    monkeypatch.setattr(registry, "entry", lambda name: broken)
    with pytest.raises(LanistaError, match="Node is not there"):
        refuse_unready(story, tmp_path / "run")


def test_nothing_is_asked_of_what_the_stages_make_or_have_made(tmp_path, monkeypatch):
    story = story_of(TINY)
    refuse_unready(story, tmp_path / "run")
    conducted(TINY, tmp_path / "run")
    refuse_unready(story, tmp_path / "run")

    def gone(name):
        raise AssertionError("asked for a game")

    monkeypatch.setattr(registry, "entry", gone)
    refuse_unready(story, tmp_path / "run")


def test_a_folder_that_the_game_is_made_with_is_found_from_inside_the_pipelines(
    tmp_path, monkeypatch
):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    values = {"game": "showdown", "game_settings": {"team_pool_path": "mine"},
              "stages": {"record": {"seats": ["random,random"]}}}  # fmt: skip
    assert story_of(values).game_settings["team_pool_path"] == str(tmp_path / "mine")
    values["game_settings"] = {"team_pool_path": "held-out"}
    assert story_of(values).game_settings["team_pool_path"] == "held-out"


@pytest.mark.parametrize(("stage", "where"), [("imitate", ""), ("rl", "stages.rl.")])
def test_a_gpu_that_is_not_there_is_said_before_anything_begins(
    stage, where, tmp_path, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    story = story_of(with_overrides(TINY, [f"{where}device=cuda"]))
    with pytest.raises(LanistaError, match=rf"stages\.{stage}: device is cuda, .* auto or cpu"):
        refuse_unready(story, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    refuse_unready(story, tmp_path / "run")


def test_work_recorded_for_a_gpu_that_is_not_there_is_said_before_anything_begins(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    story = story_of(with_overrides(TINY, ["stages.rl.rollouts.graphs=true"]))
    with pytest.raises(LanistaError, match=r"stages\.rl: rollouts\.graphs is true, and .* the CPU"):
        refuse_unready(story, tmp_path / "run")
    assert not (tmp_path / "run").exists()
