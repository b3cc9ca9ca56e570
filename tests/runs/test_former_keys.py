"""A setting's former name: read as the present one, with a notice, wherever it may stand."""

import sys
import warnings

import pytest
import warm_python
import yaml
from pipeline_runs import SMALL, settings_of

from lanista.errors import LanistaError
from lanista.pipeline.budget import digests_of
from lanista.pipeline.recipe import load_recipe, with_overrides
from lanista.pipeline.runner import _changed
from lanista.runs.folder import folder_of
from lanista.runs.former_keys import FORMER, spellings, with_present_keys
from lanista.runs.reader import reading_run
from lanista.runs.schema import EventRow
from lanista.runs.serialise import plain, unlike
from lanista.runs.settings import apply_overrides, fingerprint, fingerprints, load_settings
from lanista.training.loop import train

(FORMER_KEY,) = FORMER
LEAGUE = {
    "game": "kuhn",
    "iterations": 3,
    "network": SMALL,
    "rollouts": {"matches": 8, "opponents": ["self", "random"]},
    "league": {"exploiter_check_interval": 2, "exploiter_train_steps": 300, "exploiter_games": 8},
}
OLD = {**LEAGUE, "league": {**LEAGUE["league"], "exploiter_check_interval": 0, FORMER_KEY: 2}}
"""As earlier versions wrote it into a run's config.yaml: both keys."""


def test_it_is_read_as_the_present_one_and_says_so():
    with pytest.warns(FutureWarning, match="exploit_patch_interval is called exploiter_check_int"):
        old = load_settings(OLD)
    assert old == load_settings(LEAGUE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # A 0 beside the other is what earlier versions wrote.
        beside = {**LEAGUE, "league": {**LEAGUE["league"], FORMER_KEY: 0}}
        assert load_settings(beside) == old


def test_two_intervals_are_refused():
    both = {**OLD, "league": {**OLD["league"], "exploiter_check_interval": 3}}
    with pytest.raises(LanistaError, match=r"is 2 and exploiter_check_interval 3.*leave out"):
        load_settings(both)


def test_set_takes_the_former_name_in_runs_and_recipes():
    with pytest.warns(FutureWarning):
        changed = apply_overrides(settings_of(LEAGUE), [f"league.{FORMER_KEY}=7"])
    assert changed.league.exploiter_check_interval == 7
    values = {"stages": {"league": {"league": {FORMER_KEY: 5}}}}
    with pytest.warns(FutureWarning):
        changed = with_overrides(values, [f"stages.league.league.{FORMER_KEY}=6"])
    assert changed == {"stages": {"league": {"league": {"exploiter_check_interval": 6}}}}


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_run_that_was_begun_under_the_former_name_goes_on(tmp_path, monkeypatch):
    """Its checkpoint has the digest of settings in which the former key has the number."""
    output = tmp_path / "p.pt"
    settings = settings_of(LEAGUE)
    earlier = fingerprints(settings)[1]
    assert earlier != fingerprint(settings)
    with monkeypatch.context() as patched:
        patched.setattr("lanista.training.loop.fingerprint", lambda settings: earlier)
        assert train(settings, output, stop=lambda: True) == 130
    config = folder_of(output) / "config.yaml"
    values = yaml.safe_load(config.read_text())
    values["league"] |= {"exploiter_check_interval": 0, FORMER_KEY: 2}
    config.write_text(yaml.safe_dump(values))
    assert train(load_settings(OLD), output, resume=True) == 0
    with reading_run(folder_of(output) / "run.db") as run:
        (event,) = [row for row in run.rows(EventRow) if row.kind.startswith("exploiter_")]
    assert event.body["why"] == "exploiter_check_interval"


def test_digests_of_earlier_versions_had_both_keys():
    present = {"league.exploiter_check_interval": 4, "other": {"exploiter_check_interval": 4}}
    assert list(spellings(present)) == [
        {"league.exploiter_check_interval": 4, "league.exploit_patch_interval": 0,
         "other": {"exploiter_check_interval": 4, "exploit_patch_interval": 0}},
        {"league.exploiter_check_interval": 0, "league.exploit_patch_interval": 4,
         "other": {"exploiter_check_interval": 0, "exploit_patch_interval": 4}},
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_was_written_down_under_the_former_name_is_the_same():
    settings = settings_of(LEAGUE)
    saved = plain(settings)
    saved["league"] |= {"exploiter_check_interval": 0, FORMER_KEY: 2}
    assert list(unlike(saved, settings)) == []
    assert with_present_keys(saved) == plain(settings)

    class Stage:
        name, grows = "league", ""
        free = staticmethod(lambda key: False)

    before = {"inputs": {"settings": saved, "files": {}}}
    assert _changed(Stage, before, {"settings": plain(settings), "files": {}}) == ""
    saved["league"][FORMER_KEY] = 9
    assert "exploiter_check_interval was 9" in _changed(
        Stage, before, {"settings": plain(settings), "files": {}}
    )


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_budget_for_a_recipe_under_the_former_name_is_one_for_it():
    stage = {key: value for key, value in LEAGUE.items() if key != "game"}
    recipes = [
        load_recipe({"game": "kuhn", "stages": {"league": {**stage, "league": league}}})
        for league in (LEAGUE["league"], OLD["league"])
    ]
    assert recipes[0] == recipes[1]
    assert len({*digests_of(recipes[0])}) == 2


def test_the_command_line_says_it_in_one_line(tmp_path):
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(OLD))
    command = ["league", "--config", "old.yaml", "--output-dir", "run", "--set", "iterations=1"]
    done = warm_python.run(
        [sys.executable, "-m", "lanista", *command], cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    sentence = "The setting exploit_patch_interval is called exploiter_check_interval now"
    assert done.stderr.count(sentence) == 1
    assert "FutureWarning" not in done.stderr
