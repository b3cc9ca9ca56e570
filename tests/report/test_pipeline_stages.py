"""The report of a pipeline has all its stages, not its last run alone."""

import json
import re
import shutil

import pytest

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.pipeline.recipe import load_recipe
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import conduct
from lanista.report.stages import read_stages

SMALL = {"width": 8, "layers": 1}
RUN = {
    "iterations": 2,
    "network": SMALL,
    "rollouts": {"matches": 16},
    "evaluation": {"every": 1, "exact": "never", "bots": ["random"], "matches": 8},
}
RECIPE = {
    "game": "kuhn",
    "stages": {
        "record": {"seats": ["random,random"], "matches": 64},
        "imitate": {
            "players": ["random"], "imitation": {"epochs": 2}, "network": SMALL,
            "evaluation_matches": 10,
        },
        "rl": RUN,
        "league": {**RUN, "league": {"round": 2}},
        "evaluate": {"opponents": ["imitation"], "games": 8},
        "report": {},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipeline") / "out"
    assert conduct(settled(load_recipe(RECIPE)), folder) == 0
    return folder


def test_every_stage_has_a_row_and_earlier_runs_have_sections(pipeline):
    rows = json.loads((pipeline / "report" / "summary.json").read_text())["stages"]
    assert [row["stage"] for row in rows] == ["record", "imitate", "rl", "league", "evaluate"]
    record, imitate, rl, league, evaluate = rows
    assert record["work"] == "64 matches of each of (random,random)"
    assert re.fullmatch(r"2 epochs over \d+ decisions of random", imitate["work"])
    assert re.search(r"sampled against random 0\.\d{3} \[\S+, \S+\] in 10", imitate["result"])
    for run in (rl, league):
        assert "2 updates" in run["work"]
        assert re.search(r"main@2\S* .*scores \d\.\d{3} \[.*\] against random", run["result"])
    assert evaluate["work"] == "8 games against each of imitation.safetensors"
    titles = re.findall(r"<h2>([^<]*)", (pipeline / "report" / "report.html").read_text())
    assert titles[:2] == ["Stages", "Final evaluation"]
    assert "Stage rl: score against each bot" in titles
    assert "Stage league: score against each bot" not in titles  # The page itself is about it.


def test_the_command_writes_the_same_page(pipeline, tmp_path):
    assert main(["report", str(pipeline), "--output-dir", str(tmp_path / "again")]) == 0
    page = (tmp_path / "again" / "report.html").read_text()
    assert page == (pipeline / "report" / "report.html").read_text()


def test_a_single_run_has_no_stages(pipeline, tmp_path):
    words = ["report", str(pipeline / "league"), "--output-dir", str(tmp_path / "run")]
    assert main(words) == 0
    assert "stages" not in json.loads((tmp_path / "run" / "summary.json").read_text())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "no record of a stage"),
        ('{"outputs": {}, "inputs": {"settings": {"matches": "9", "seats": []}}}', "matches is"),
    ],
)
def test_a_record_that_is_none_is_refused_in_a_sentence(tmp_path, text, reason):
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "record.json").write_text(text)
    with pytest.raises(LanistaError, match=reason):
        read_stages(tmp_path)


def test_a_stage_that_is_not_done_has_no_row(tmp_path):
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "record.json").write_text('{"inputs": {"settings": {}}}')
    assert read_stages(tmp_path).rows == []


def test_an_accuracy_that_is_not_known_is_written_as_a_dash(pipeline, tmp_path):
    shutil.copytree(pipeline, tmp_path / "out")
    path = tmp_path / "out" / "imitation.safetensors.json"
    report = json.loads(path.read_text())
    report["held_out"]["whole_action_accuracy"] = None
    path.write_text(json.dumps(report))
    row = next(row for row in read_stages(tmp_path / "out").rows if row["stage"] == "imitate")
    assert "the likeliest action is theirs in —" in row["result"]
