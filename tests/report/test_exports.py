import json

import pytest
from recorded_league import DIGEST, make_league

from lanista.report import exports
from lanista.report.reading import read_exports, read_run
from lanista.report.summary import summarise


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return read_run(make_league(tmp_path_factory.mktemp("leagues") / "league"))


@pytest.fixture(scope="module")
def written(record, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    exports.write_report(record, folder)
    return folder


def read(folder, name):
    return json.loads((folder / name).read_text())


def test_a_report_from_exports_has_the_numbers_of_the_run(record, written):
    again = read_exports(written / exports.LEAGUE_STATE, written / exports.MATCHES)
    assert summarise(again) == summarise(record)
    numbers = read(written, exports.SUMMARY)
    assert numbers.pop("made_by") == "lanista report"
    assert numbers == json.loads(json.dumps(summarise(again)))


def test_five_files_are_written_and_nothing_is_left_beside_them(written):
    assert sorted(path.name for path in written.iterdir()) == [
        "exploiter_registry.json", "league_state.json", "matches.jsonl", "report.html",
        "summary.json",
    ]  # fmt: skip


def test_writing_again_gives_the_same_bytes(record, written, tmp_path):
    exports.write_report(record, tmp_path)
    for path in written.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_line_of_matches_has_all_it_takes_to_play_it_again(record, written):
    lines = (written / exports.MATCHES).read_text().splitlines()
    assert len(lines) == len(record.matches)
    match, line = record.matches[0], json.loads(lines[0])
    assert line == {
        "update": 25,
        "match": 0,
        "reason": "pool",
        "names": ["imitation", "main/000010"],
        "digests": [DIGEST["imitation"], DIGEST["main/000010"]],
        "seed": 5,
        "deal": 0,
        "rules_version": 1,
        "observation_version": 2,
        "places": list(match.places),
        "returns": list(match.returns),
        "cut_off": False,
    }
    assert json.loads(lines[-1])["cut_off"] is True


def test_the_league_state_says_who_plays_what_role_and_meets_whom(written):
    state = read(written, exports.LEAGUE_STATE)
    players = {player["name"]: player for player in state["players"]}
    assert players["main/000020"]["parents"] == ["main/000010"]
    assert players["main/000020"]["digest"] == DIGEST["main/000020"]
    assert players["hunter"]["role"] == "exploiter"
    # The newest weights, not those of the run's beginning.
    assert players["main"]["matchmaking"] == {"main": 0.25}
    assert players["main/000010"]["matchmaking"] == {"main": 0.75}
    assert players["random"]["matchmaking"] == {}


def test_the_payoff_has_both_seats_and_keeps_training_apart(record):
    rows = {(row["first"], row["second"], row["games"]): row for row in exports.payoff(record)}
    past = rows["main", "main/000010", "training"]
    assert (past["wins"], past["draws"], past["losses"]) == (24, 3, 13)
    own = rows["main", "main", "training"]
    assert (own["wins"], own["draws"], own["losses"]) == (33, 3, 24)
    fixed = rows["main", "main/000010", "fixed"]
    assert fixed["wins"] + fixed["draws"] + fixed["losses"] == 80


def test_the_registry_lists_exploiters_with_their_files(written):
    (hunter,) = read(written, exports.REGISTRY)["exploiters"]
    assert hunter["file"] == f"policies/{DIGEST['hunter']}.safetensors"
    assert (hunter["victim"], hunter["budget_decisions"]) == ("main/000020", 5000)


def test_a_report_that_cannot_be_made_leaves_the_old_one(record, written, tmp_path, monkeypatch):
    exports.write_report(record, tmp_path)
    old = (tmp_path / exports.MATCHES).read_bytes()

    def broken(match):
        raise RuntimeError("in the middle")

    monkeypatch.setattr(exports, "match_line", broken)
    with pytest.raises(RuntimeError, match="in the middle"):
        exports.write_exports(record, tmp_path)
    assert (tmp_path / exports.MATCHES).read_bytes() == old
    assert not list(tmp_path.glob(".tmp-*"))
