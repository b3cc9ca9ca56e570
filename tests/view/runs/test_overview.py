"""The list of everything below a folder: what is found, pipelines, and how long it takes."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from made_runs import made_run

from lanista.lock import holding
from lanista.view.context import NotHereError, ViewContext
from lanista.view.runs.overview import Overview
from lanista.view.runs.survey import DEEPEST, survey

RECIPE = "game: kuhn\nstages:\n  imitate: {}\n  rl: {iterations: 20}\n  evaluate: {}\n"


def names(folder: Path) -> list[tuple[str, str]]:
    return [(place.kind, place.path.relative_to(folder).as_posix()) for place in survey(folder)]


def lines(folder: Path) -> dict[str, dict[str, object]]:
    return {line["id"]: line for line in Overview(ViewContext(folder, "")).lines()}


def pipeline(folder: Path, *done: str) -> Path:
    (folder / "stages").mkdir(parents=True)
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    for stage in done:
        record = {"inputs": {}, "outputs": {}}
        (folder / "stages" / f"{stage}.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


def test_runs_are_found_at_any_depth_and_nothing_behind_links_or_dots(tmp_path: Path) -> None:
    made_run(tmp_path / "a.safetensors.run")
    made_run(tmp_path / "deep" / "er" / "b")
    made_run(tmp_path / ".hidden" / "c")
    (tmp_path / "again").symlink_to(tmp_path / "deep")
    (tmp_path / "loop").symlink_to(tmp_path)
    made_run(tmp_path.joinpath(*["x"] * DEEPEST) / "too deep")
    assert names(tmp_path) == [("run", "a.safetensors.run"), ("run", "deep/er/b")]


def test_an_empty_folder_and_one_that_is_gone_have_nothing(tmp_path: Path) -> None:
    assert survey(tmp_path) == []
    assert survey(tmp_path / "gone") == []


def test_a_pipeline_says_its_stage_and_the_numbers_of_its_run(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "demo", "imitate")
    made_run(folder / "rl.safetensors.run", updates=10)
    with holding(folder, "pipeline"):
        line = lines(tmp_path)["demo"]
    assert (line["kind"], line["state"], line["stage"]) == ("pipeline", "running", "rl")
    assert line["run"] == "demo/rl.safetensors.run"
    assert line["update"] == 10
    assert line["progress"] == pytest.approx((1 + 0.5) / 3)  # One stage of three, and half of one.
    assert lines(tmp_path)["demo"]["state"] == "stopped"


def test_a_pipeline_whose_run_crashed_is_said_to_have(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "demo", "imitate")
    made_run(folder / "rl.safetensors.run", updates=10, saved=5)
    assert lines(tmp_path)["demo"]["state"] == "crashed"


def test_a_pipeline_with_all_stages_done_is_finished(tmp_path: Path) -> None:
    pipeline(tmp_path / "demo", "imitate", "rl", "evaluate")
    line = lines(tmp_path)["demo"]
    assert (line["state"], line["stage"], line["progress"]) == ("finished", "", 1.0)


def test_a_recipe_that_cannot_be_read_is_said_in_its_line(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "demo")
    (folder / "recipe.yaml").write_text("stages: [", encoding="utf-8")
    line = lines(tmp_path)["demo"]
    assert line["state"] == "unreadable"
    assert "recipe.yaml" in str(line["error"])


def test_the_folder_itself_can_be_the_run(tmp_path: Path) -> None:
    made_run(tmp_path / "run")
    line = lines(tmp_path / "run")["."]
    assert line["name"] == "run"
    assert ViewContext(tmp_path / "run", "").path_of(".") == tmp_path / "run"


def test_an_id_is_a_path_in_the_folder_and_nothing_else(tmp_path: Path) -> None:
    made_run(tmp_path / "in" / "run")
    (tmp_path / "in" / "out").symlink_to("/etc")
    context = ViewContext(tmp_path, "")
    assert context.path_of("in/run") == tmp_path / "in" / "run"
    for place in ("", "..", "in/../..", "/in", "in/out", "in/out/passwd", "in\\run", "in/run\0"):
        with pytest.raises(NotHereError, match="in this folder; see the list of runs"):
            context.path_of(place)


def test_250_runs_take_no_longer_than_their_few_rows(tmp_path: Path) -> None:
    """How long they take is in docs/guides/view.md; what is tested is what makes it short."""
    made_run(tmp_path / "run-000", updates=12)
    for number in range(1, 250):
        shutil.copytree(tmp_path / "run-000", tmp_path / f"run-{number:03d}")
    overview = Overview(ViewContext(tmp_path, ""))
    began = time.process_time()
    assert len(overview.lines()) == 250
    first = time.process_time() - began
    began = time.process_time()
    overview.lines()
    assert time.process_time() - began < first / 2  # Nothing changed, so nothing is read.
