"""A pipeline does what is due, skips what is done, and loses nothing when something changes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from pipeline_recipes import TINY, conducted, story_of

from lanista.data.replays import open_replays
from lanista.errors import LanistaError, RefusedError
from lanista.evaluation.evaluator import probabilities
from lanista.games.registry import bot_names, entry
from lanista.games.trees.exact import exact_nash_conv
from lanista.nets.files.policy_file import load_policy, read_header
from lanista.pipeline.recipe import (
    Imitating,
    load_recipe,
    read_recipe,
    recipe_yaml,
    with_overrides,
)
from lanista.pipeline.recipes import find, recipe_names, settings_of
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import _digest, conduct, saved_recipe
from lanista.pipeline.stages import stages_of
from lanista.runs.folder import saved_settings
from lanista.training.imitate import Task

ALL = ["record", "imitate", "rl"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipeline") / "whole"
    return folder, conducted(TINY, folder)


@pytest.fixture
def copy(finished, tmp_path):
    """A finished pipeline that lies somewhere else."""
    shutil.copytree(finished[0], tmp_path / "copy")
    return tmp_path / "copy"


def test_each_stage_makes_its_files_and_begins_from_the_newest_policy(finished):
    folder, heard = finished
    assert heard.begun == ALL
    assert heard.finished == ALL
    digest = read_header(folder / "imitation.safetensors")
    assert digest.game == "leduc"
    settings = saved_settings(folder / "rl.safetensors.run")
    assert settings.supervised_checkpoint == "imitation.safetensors"
    assert len(settings.supervised_digest) == 64
    assert settings.opponents == ("self", "imitation.safetensors")
    recorded = 0
    for replays in (folder / "data").iterdir():
        with open_replays(replays) as (header, records):
            assert [player.name for player in header.players] == ["random", "random"]
            recorded += len(list(records))
    assert recorded == 40


def test_a_finished_pipeline_is_skipped_wherever_its_folder_lies(copy):
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.is_file()}
    heard = conducted(TINY, copy)
    assert (heard.begun, heard.over) == ([], ALL)
    assert before == {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.is_file()}


def test_a_changed_setting_sets_that_stages_work_aside_and_spares_those_before(copy):
    old = (copy / "rl.safetensors").read_bytes()
    heard = conducted(with_overrides(TINY, ["stages.rl.learning.lr=0.01"]), copy)
    assert (heard.over, heard.begun) == (["record", "imitate"], ["rl"])
    assert heard.sentences[0] == (
        "rl: stages.rl.learning.lr was 0.0003 and is 0.01 now; "
        "what it made before is in aside/rl-1."
    )
    assert [sentence for sentence in heard.sentences[1:] if "critic" not in sentence] == []
    assert (copy / "aside" / "rl-1" / "rl.safetensors").read_bytes() == old
    assert (copy / "aside" / "rl-1" / "rl.safetensors.run" / "run.db").is_file()
    assert (copy / "rl.safetensors").read_bytes() != old
    # Changed back: the same bits again, and nothing of what was made meanwhile is lost.
    heard = conducted(TINY, copy)
    assert heard.begun == ["rl"]
    assert (copy / "aside" / "rl-2" / "record.json").is_file()
    assert (copy / "rl.safetensors").read_bytes() == old


def test_a_record_from_before_a_setting_of_opponents_leaves_the_stage_done(copy):
    record = copy / "stages" / "rl.json"
    written = json.loads(record.read_text())
    for opponent in written["inputs"]["settings"]["rollouts"]["opponents"]:
        del opponent["greedy"]
    record.write_text(json.dumps(written))
    heard = conducted(TINY, copy)
    assert (heard.begun, heard.over) == ([], ALL)
    heard = conducted(with_overrides(TINY, ["stages.rl.rollouts.opponents=[self, random]"]), copy)
    assert heard.begun == ["rl"]


def test_more_iterations_are_not_said_to_be_why_a_stage_begins_anew(copy):
    changes = ["stages.rl.iterations=9", "stages.rl.rollouts.unroll_length=3"]
    heard = conducted(with_overrides(TINY, changes), copy)
    assert "rl: stages.rl.rollouts.unroll_length was " in heard.sentences[0]


def test_a_stage_done_again_to_the_same_bits_spares_those_after_it(copy):
    (copy / "imitation.safetensors").write_bytes(b"damaged")
    heard = conducted(TINY, copy)
    assert "imitation.safetensors is not what the stage wrote" in heard.sentences[0]
    assert (heard.begun, heard.over) == (["imitate"], ["record", "rl"])


def test_another_policy_before_it_makes_a_stage_due(copy):
    heard = conducted(with_overrides(TINY, ["stages.imitate.imitation.lr=0.002"]), copy)
    assert heard.begun == ["imitate", "rl"]
    assert any("rl: imitation.safetensors is not what it was" in each for each in heard.sentences)


def test_more_iterations_go_on_with_the_run_that_is_there(copy, tmp_path):
    heard = conducted(with_overrides(TINY, ["stages.rl.iterations=8"]), copy)
    assert heard.begun == ["rl"]
    assert not (copy / "aside").exists()
    assert heard.counts[0] == 6  # It did not begin at 0.
    assert read_header(copy / "rl.safetensors").step == 8


def test_another_launcher_does_not_make_work_due(copy):
    heard = conducted(with_overrides(TINY, ["stages.rl.rollouts.launcher=threads"]), copy)
    assert (heard.begun, heard.over) == ([], ALL)
    more = ["stages.rl.rollouts.launcher=threads", "stages.rl.iterations=8"]
    heard = conducted(with_overrides(TINY, more), copy)
    assert heard.begun == ["rl"]
    assert heard.counts[0] == 6  # It goes on where it was.
    assert not (copy / "aside").exists()


@pytest.mark.parametrize("setting", ["rollouts.workers=2", "evaluation.every=2"])
def test_what_changes_the_numbers_or_the_judgement_of_a_run_makes_its_stage_due(copy, setting):
    heard = conducted(with_overrides(TINY, [f"stages.rl.{setting}"]), copy)
    assert heard.begun == ["rl"]
    assert (copy / "aside" / "rl-1" / "record.json").is_file()


def test_the_device_and_when_to_save_do_not_make_work_due(copy):
    heard = conducted(with_overrides(TINY, ["stages.rl.checkpoints.save_every=5"]), copy)
    assert heard.over == ALL


def test_a_changed_file_of_the_users_makes_a_stage_due(tmp_path):
    one = tmp_path / "a"
    one.mkdir()
    (one / "x").write_text("1")
    before = _digest(one)
    (one / "x").write_text("2")
    assert _digest(one) != before
    (one / "x").write_text("1")
    assert _digest(one) == before
    (one / "x").rename(one / "y")
    assert _digest(one) != before
    assert _digest(tmp_path / "nothing") == ""


def test_what_no_stage_made_is_not_overwritten(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    with pytest.raises(RefusedError, match="holds other things"):
        conducted(TINY, folder)
    folder = tmp_path / "theirs"
    only = {**TINY, "stages": {"record": TINY["stages"]["record"]}}
    conducted(only, folder)
    (folder / "imitation.safetensors").write_bytes(b"precious")
    with pytest.raises(RefusedError, match="no record says that the stage imitate made it"):
        conducted(TINY, folder)
    assert (folder / "imitation.safetensors").read_bytes() == b"precious"


@pytest.mark.skipif(sys.platform == "win32", reason="the other process is a Unix one")
def test_a_run_folder_that_was_removed_is_refused_with_what_to_move(copy):
    shutil.rmtree(copy / "rl.safetensors.run")
    assert conducted(TINY, copy).over == ALL
    more = with_overrides(TINY, ["stages.rl.iterations=8"])
    with pytest.raises(RefusedError) as raised:
        conducted(more, copy)
    assert str(raised.value) == (
        f"There is no whole run in {copy / 'rl.safetensors.run'} any more; move "
        f"{copy / 'rl.safetensors'} away, and the stage rl is done again."
    )
    (copy / "rl.safetensors").unlink()
    assert conducted(more, copy).finished == ["rl"]


def test_a_run_folder_that_lost_its_settings_is_refused_with_what_to_move(copy):
    (copy / "rl.safetensors.run" / "config.yaml").unlink()
    more = with_overrides(TINY, ["stages.rl.iterations=8"])
    with pytest.raises(RefusedError) as raised:
        conducted(more, copy)
    assert str(raised.value).endswith(
        f"move {copy / 'rl.safetensors'} and {copy / 'rl.safetensors.run'} away, and the stage rl "
        "is done again."
    )
    (copy / "rl.safetensors").unlink()
    shutil.rmtree(copy / "rl.safetensors.run")
    assert conducted(more, copy).finished == ["rl"]


def test_an_emptied_run_folder_of_an_unfinished_stage_is_begun_again(copy):
    shutil.rmtree(copy / "rl.safetensors.run")
    (copy / "rl.safetensors.run").mkdir()
    (copy / "rl.safetensors").unlink()
    record = copy / "stages" / "rl.json"
    unfinished = {"inputs": json.loads(record.read_text())["inputs"]}
    record.write_text(json.dumps(unfinished))
    assert conducted(TINY, copy).finished == ["rl"]


def test_a_report_of_a_run_that_was_removed_says_what_to_move(copy):
    shutil.rmtree(copy / "rl.safetensors.run")
    reported = {**TINY, "stages": {**TINY["stages"], "report": {}}}
    with pytest.raises(RefusedError, match=r"move \S*/rl\.safetensors away, and the stage rl is"):
        conducted(reported, copy)
    (copy / "rl.safetensors").unlink()
    assert conducted(reported, copy).finished == ["rl", "report"]


def test_one_process_at_a_time_works_on_a_folder(copy):
    program = (
        "import sys, time; from pathlib import Path; from lanista.lock import holding\n"
        "with holding(Path(sys.argv[1]), 'pipeline'): print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, copy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(RefusedError, match="Another process is working on the pipeline"):
            conducted(TINY, copy)
    finally:
        other.communicate()
    assert conducted(TINY, copy).over == ALL


def test_stopped_at_any_look_it_goes_on_to_the_same_bits(finished, tmp_path):
    stopped = 0
    for most in range(0, 100, 6):
        folder, looks = tmp_path / f"after-{most}", iter(range(1000))
        if conduct(story_of(TINY), folder, stop=lambda: next(looks) >= most) == 0:  # noqa: B023
            break
        stopped += 1
        conducted(TINY, folder)
        for name in ("imitation.safetensors", "rl.safetensors"):
            assert (folder / name).read_bytes() == (finished[0] / name).read_bytes()
    assert stopped >= 3


def test_a_setting_aside_that_was_killed_is_finished(copy, monkeypatch):
    changed = with_overrides(TINY, ["stages.rl.learning.lr=0.01"])
    replace = Path.replace
    calls = []

    class KilledError(BaseException): ...

    def killed(self, target):
        if "aside" in str(target):
            calls.append(self)
            if len(calls) == 2:
                raise KilledError
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KilledError):
            conducted(changed, copy)
    conducted(changed, copy)
    assert sorted(path.name for path in (copy / "aside").iterdir()) == ["rl-1"]
    names = {path.name for path in (copy / "aside" / "rl-1").iterdir()}
    assert names == {"rl.safetensors", "rl.safetensors.run", "record.json"}


def test_a_record_names_what_was_read_and_made(finished):
    record = json.loads((finished[0] / "stages" / "rl.json").read_text())
    assert set(record["inputs"]["files"]) == {"imitation.safetensors"}
    assert record["inputs"]["settings"]["iterations"] == 6
    assert set(record["outputs"]) == {"rl.safetensors"}


def test_the_recipe_in_the_folder_is_whole_and_reads_back_equal(finished):
    folder = finished[0]
    story = saved_recipe(folder)
    assert story == story_of(TINY)
    assert settled(story) == story
    written = yaml.safe_load((folder / "recipe.yaml").read_text())
    assert written["stages"]["rl"]["learning"]["gamma"] == 1.0
    assert load_recipe(yaml.safe_load(recipe_yaml(story))) == story


def test_a_line_up_for_another_number_of_seats_is_refused(tmp_path):
    with pytest.raises(LanistaError, match="leduc has 2 seats"):
        conducted(with_overrides(TINY, ["stages.record.seats=['random,random,random']"]),
                  tmp_path / "x")  # fmt: skip


def test_every_line_up_is_recorded_on_deals_of_its_own(tmp_path):
    values = {**TINY, "stages": {"record": {"seats": ["random,random"] * 2, "matches": 5}}}
    conducted(values, tmp_path / "x")
    files = sorted((tmp_path / "x" / "data").iterdir())
    deals = []
    for file in files:
        with open_replays(file) as (_, records):
            deals.append({record.deal for record in records})
    assert [len(each) for each in deals] == [3, 3]  # 5 matches are 3 deals in both seatings.
    assert not deals[0] & deals[1]


def test_a_plain_run_is_a_pipeline_of_one_stage(tmp_path):
    plain = {"game": "kuhn", "seed": 7, "iterations": 1, "network": {"width": 8, "layers": 1}}
    story = load_recipe({**plain, "rollouts": {"matches": 4}})
    assert story.stages.names == ["rl"]
    assert (story.game, story.seed) == ("kuhn", 7)
    settings = story.run_settings("rl")
    assert (settings.seed, settings.network.width, settings.supervised_checkpoint) == (7, 8, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("stages.rl.iteration=5", "did you mean 'stages.rl.iterations'"),
        ("stages.rll.iterations=5", "did you mean 'stages.rl'"),
        ("sed=5", "did you mean 'seed'"),
        ("stages.record.match=5", "did you mean 'stages.record.matches'"),
        ("stages.record.seats=[]", "seats is empty"),
        ("stages.imitate.imitation.epoch=1", "did you mean 'stages.imitate.imitation.epochs'"),
        ("stages.rl.game=kuhn", "the pipeline's is 'leduc'"),
        ("shares.rll=1", "did you mean 'rl'"),
        ("shares.rl=0", "shares.rl is 0"),
        ("stages.evaluate={games: 0}", "at least 1"),
        ("stages={}", "stages is empty"),
        ("seed=-1", "seed is -1"),
        ("seed", "write it as key=value"),
        ("game_settings.players=3", "players"),
    ],
)
def test_slips_in_a_recipe_are_one_sentence(change, said):
    with pytest.raises(LanistaError, match=r".") as error:
        story_of(with_overrides(TINY, [change]))
    assert said in str(error.value)


def test_imitation_without_anything_to_learn_from_is_refused():
    values = {**TINY, "stages": {"imitate": {}}}
    with pytest.raises(LanistaError, match="nothing to learn from"):
        story_of(values)


def test_a_stage_can_begin_from_scratch_or_from_a_file_of_the_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.safetensors").write_bytes(b"")
    scratch = story_of(with_overrides(TINY, ["stages.rl.supervised_checkpoint=null"]))
    assert scratch.run_settings("rl").supervised_checkpoint is None
    given = with_overrides(TINY, ["stages.rl.supervised_checkpoint=mine.safetensors"])
    mine = story_of(given).run_settings("rl").supervised_checkpoint
    assert mine == str(tmp_path / "mine.safetensors")


def test_imitations_settings_are_those_of_its_task():
    of_the_recipe = {"output", "game", "game_settings", "threads", "device"}
    task = {entry.name for entry in fields(Task)} - of_the_recipe
    assert {entry.name for entry in fields(Imitating)} == task


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_is_a_pipeline_that_can_be_done(name):
    story = settled(load_recipe(read_recipe(find(name))))
    assert [stage.name for stage in stages_of(story)] == story.stages.names
    for stage in ("rl", "league"):
        if stage in story.stages.names:
            assert story.run_settings(stage).game == story.game
    assert set(story.shares) <= set(story.stages.names)


def test_the_agreed_pipelines_are_there_with_all_their_stages():
    every = ["record", "imitate", "rl", "league", "evaluate", "report"]
    for name in ("beastybar-quick", "arena-alphastar"):
        story = load_recipe(read_recipe(find(name)))
        assert story.stages.names == every
        assert set(story.shares) == set(every) - {"report"}
    nash = load_recipe(read_recipe(find("leduc-nash")))
    assert nash.stages.names == ["rl", "evaluate", "report"]
    # The same run as the recipe it says it does.
    assert nash.run_settings("rl") == settings_of("leduc-ppo")


def test_a_pipelines_runs_can_be_taken_alone():
    assert settings_of("arena-alphastar").learning.policy == "vtrace"
    assert settings_of("arena-alphastar").league is None
    assert settings_of("arena-alphastar", "league").league.main_exploiters == 1
    assert settings_of("leduc-nash", "league").league is None


def test_a_pipeline_without_a_run_has_no_settings_for_one(tmp_path):
    file = tmp_path / "only.yaml"
    file.write_text("game: kuhn\nstages: {record: {seats: ['random,random']}}\n")
    with pytest.raises(LanistaError, match="use `lanista run`"):
        settings_of(str(file))


def test_evaluation_names_who_played_and_measures_exactly_where_it_can(tmp_path):
    rl = {"iterations": 1, "network": {"width": 8, "layers": 1}, "rollouts": {"matches": 4}}
    values = {"game": "kuhn", "device": "cpu", "stages": {"rl": rl, "evaluate": {"games": 30}}}
    conducted(values, tmp_path / "x")
    found = json.loads((tmp_path / "x" / "evaluation.json").read_text())
    policy = load_policy(tmp_path / "x" / "rl.safetensors")
    assert found["digest"] == policy.digest
    assert found["manner"] == "temperature 1"
    assert [bout["opponent"] for bout in found["bouts"]] == bot_names(entry("kuhn"))
    assert found["matches"] == 30 * len(found["bouts"])
    exact = exact_nash_conv("kuhn", probabilities(policy.policy))
    assert found["exact"]["value"] == pytest.approx(exact)
    assert "wall_seconds" not in found
