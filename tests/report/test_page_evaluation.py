"""The last evaluation on the report's page: what was measured, hardest first, in plain words."""

import json

import pytest
from invented_run import invented

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.report.exports import read_evaluation
from lanista.report.pages.evaluation import evaluated, headline
from lanista.report.pages.html import Table
from lanista.report.pages.run_page import page
from lanista.report.summary import summarise


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluation") / "evaluation.json"
    arguments = ["evaluate", "outcome", "--game", "beastybar", "--opponents", "random,heuristic"]
    assert main([*arguments, "--games", "200", "--output", str(path)]) == 0
    return path


def test_the_hardest_opponent_comes_first_with_its_numbers(file):
    found = read_evaluation(file)
    (table,) = (element for element in evaluated(found).elements if isinstance(element, Table))
    assert [row[0] for row in table.rows] == ["heuristic", "random"]
    scores = {bout["opponent"]: bout["standing"]["score"]["value"] for bout in found["bouts"]}
    assert scores["heuristic"] < scores["random"]
    for row in table.rows:
        assert row[1].startswith(f"{scores[row[0]]:.3f}")
        assert row[3] == "200"


def test_with_more_than_two_seats_the_table_has_the_share_of_first_places(file, tmp_path):
    path = tmp_path / "evaluation.json"
    arguments = ["evaluate", "rusher", "--game", "arena", "--opponents", "still", "--games", "6"]
    settings = ["--set", "seats=3", "duration=1.0"]  # Nobody dies: all share first place.
    assert main([*arguments, *settings, "--output", str(path)]) == 0
    (table,) = (e for e in evaluated(read_evaluation(path)).elements if isinstance(e, Table))
    assert table.rows[0][table.columns.index("first place")].startswith("0.333")
    (table,) = (e for e in evaluated(read_evaluation(file)).elements if isinstance(e, Table))
    assert "first place" not in table.columns


def test_the_headline_names_the_worst_and_the_best_and_how_it_was_played(file):
    found = read_evaluation(file)
    said = headline(found)
    assert said.index("against heuristic") < said.index("against random")
    assert found["manner"] in said
    assert "200 games each" in said
    assert "2 of 2" in said


def test_it_takes_the_place_of_the_runs_own_numbers_at_the_top(file):
    record = invented()
    summary = summarise(record)
    alone = page(record, summary)
    html = page(record, {**summary, "evaluation": read_evaluation(file)})
    top = html[: html.index("</header>")]
    assert "The final policy scores from" in top
    assert " scores from " in alone[: alone.index("</header>")]
    assert top.count(" scores from ") == 1
    assert top.count("Worst case: ") == 1


def test_without_an_evaluation_there_is_no_section():
    assert evaluated(None) is None


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"bouts": []})])
def test_a_file_that_is_no_evaluation_is_refused_in_a_sentence(tmp_path, text):
    path = tmp_path / "evaluation.json"
    path.write_text(text)
    with pytest.raises(LanistaError, match=r"evaluation\.json is no evaluation"):
        read_evaluation(path)
