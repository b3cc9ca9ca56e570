import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from recorded_league import DIGEST, fill, make_league

from lanista.errors import LanistaError
from lanista.report.exports import LEAGUE_STATE, MATCHES, write_exports
from lanista.report.reading import find_run, read_exports, read_run
from lanista.report.run_record import compute_of
from lanista.runs.database import RunDatabase


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    return make_league(tmp_path_factory.mktemp("leagues") / "league")


@pytest.fixture
def copy(league, tmp_path):
    return shutil.copytree(league, tmp_path / "copy")


@pytest.fixture
def exported(league, tmp_path):
    write_exports(read_run(league), tmp_path)
    return tmp_path / LEAGUE_STATE, tmp_path / MATCHES


def change(folder, statement):
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute(statement)


def test_a_story_has_what_the_tables_have(league):
    record = read_run(league)
    assert (record.name, record.game, record.updates) == ("league", "beastybar", 30)
    assert record.learners == ("main", "main_exploiter_1")
    assert len(record.matches) == 21 * 80
    first = record.matches[0]
    assert first.lineup.names == ("imitation", "main/000010")
    assert first.lineup.digests == (DIGEST["imitation"], DIGEST["main/000010"])
    assert (first.lineup.seed, first.lineup.rules_version) == (5, 1)
    assert first.lineup.observation_version == 2
    assert sum(match.cut_off for match in record.matches) == 1
    assert sum(games.matches for games in record.training) == 100
    assert {games.pairs for games in record.training} >= {((5, 2, 13),)}
    assert [drawn.weight for drawn in record.matchmaking] == [1.0, 0.25, 0.75]
    assert record.events[1].body["budget_decisions"] == 5000
    assert record.notices == ((30, "A sentence."),)
    assert record.settings == "game: beastybar\nseed: 5\n"


def test_unknown_numbers_are_left_out_of_a_series(league):
    assert read_run(league).metrics["policy/loss"] == ((10, -0.1), (30, -0.2))


def test_a_player_met_in_evaluation_alone_is_among_the_players(league):
    (found,) = [p for p in read_run(league).players if p.name == "aggressive"]
    assert (found.kind, found.category) == ("bot", "bot")
    assert found.digest == DIGEST["aggressive"]


def test_a_policy_met_in_evaluation_alone_is_told_from_a_bot_by_its_file(copy):
    (copy / "policies").mkdir()
    (copy / "policies" / f"{DIGEST['aggressive']}.safetensors").touch()
    (found,) = [p for p in read_run(copy).players if p.name == "aggressive"]
    assert (found.kind, found.category) == ("policy", "")


def test_an_exploiter_that_was_not_admitted_is_no_bot(copy):
    change(copy, "UPDATE lineups SET reason = 'exploiter' WHERE names LIKE '%aggressive%'")
    (found,) = [p for p in read_run(copy).players if p.name == "aggressive"]
    assert (found.kind, found.category) == ("policy", "")


def test_totals_and_their_parts_by_learner_are_the_newest(league):
    compute = read_run(league).compute
    assert compute["cpu_seconds"] == 47
    assert compute["cpu_seconds/main"] == 30
    assert compute["cpu_seconds/main_exploiter_1"] == 12


def test_what_exploiters_and_matches_of_the_pool_cost_is_summed_over_them():
    metrics = {
        "cpu_seconds": ((1, 5.0), (9, 20.0)),
        "exploiter/cpu_seconds": ((4, 3.0), (8, 4.0)),
        "meta_game/cpu_seconds": ((2, 0.5), (6, 1.0)),
        "cpu_seconds/saving": ((9, 1.0),),
        "nobody/cpu_seconds": ((9, 1.0),),
        "policy/loss": ((9, 1.0),),
    }
    assert compute_of(metrics, ["main"]) == {
        "cpu_seconds": 20.0, "cpu_seconds/exploiter": 7.0, "cpu_seconds/meta_game": 1.5,
        "cpu_seconds/saving": 1.0,
    }  # fmt: skip


def test_a_run_is_read_while_it_goes_on(copy):
    with closing(RunDatabase(copy / "run.db")) as metrics:
        metrics.add(31, {"policy/loss": -0.3})
        metrics.flush()
        assert read_run(copy).metrics["policy/loss"][-1] == (31, -0.3)
        metrics.add(32, {"policy/loss": -0.4})
        metrics.flush()
    assert read_run(copy).updates == 32


def test_a_metric_of_an_older_run_is_read_under_the_name_it_has_now(copy, tmp_path):
    with closing(RunDatabase(copy / "run.db")) as metrics:
        metrics.add(31, {"staleness": 1.5, "main_exploiter_1/staleness": 3.0})
        metrics.add(32, {"staleness": 9.0, "lag/mean": 2.5})
        metrics.add(33, {"lag/mean": 0.5})
    record = read_run(copy)
    assert record.metrics["lag/mean"] == ((31, 1.5), (32, 2.5), (33, 0.5))
    assert record.metrics["main_exploiter_1/lag/mean"] == ((31, 3.0),)
    assert not [name for name in record.metrics if "staleness" in name]
    write_exports(record, tmp_path)
    state = tmp_path / LEAGUE_STATE
    state.write_text(state.read_text().replace("main_exploiter_1/lag/mean", "staleness"))
    older = read_exports(state, tmp_path / MATCHES)
    assert older.metrics["lag/mean"] == ((31, 1.5), (32, 2.5), (33, 0.5))


def test_reading_changes_nothing_in_the_database(copy):
    before = (copy / "run.db").read_bytes()
    read_run(copy)
    assert (copy / "run.db").read_bytes() == before


def test_a_run_is_found_by_its_policy_file_and_in_a_pipeline(league, tmp_path):
    assert find_run(league) == league
    (tmp_path / "p.pt").touch()
    run = shutil.copytree(league, tmp_path / "p.pt.run")
    assert find_run(tmp_path / "p.pt") == run
    assert find_run(tmp_path) == run
    rl = shutil.copytree(league, tmp_path / "rl.pt.run")
    with pytest.raises(LanistaError, match=r"several runs \(p.pt.run, rl.pt.run\); name one"):
        find_run(tmp_path)
    assert find_run(rl) == rl
    inner = shutil.copytree(league, tmp_path / "league")
    assert find_run(tmp_path) == inner


def test_a_missing_run_is_refused(tmp_path):
    with pytest.raises(LanistaError, match="There is no run at"):
        find_run(tmp_path / "nothing")
    with pytest.raises(LanistaError, match=r"is no run: there is no run.db"):
        find_run(tmp_path)
    with pytest.raises(LanistaError, match=r"is no run: there is no run.db"):
        read_run(tmp_path)


def test_an_empty_run_is_refused(tmp_path):
    RunDatabase(tmp_path / "run.db").close()
    with pytest.raises(LanistaError, match="is empty: it has no numbers and no matches yet"):
        read_run(tmp_path)


def test_an_empty_file_is_no_database_of_a_run(copy):
    (copy / "run.db").write_bytes(b"")
    with pytest.raises(LanistaError, match="is no run's database, or is empty; put back a copy"):
        read_run(copy)


@pytest.mark.parametrize("version", [1, 99])
def test_a_database_of_another_version_is_refused(copy, version):
    change(copy, f"PRAGMA user_version={version}")
    with pytest.raises(LanistaError, match=f"is of version {version}, and this program reads 2"):
        read_run(copy)


def test_a_database_that_is_none_is_refused(tmp_path):
    (tmp_path / "run.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(LanistaError, match=r"run.db is damaged: file is not a database"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DROP TABLE lineups", "no such table: lineups"),
        ("DELETE FROM lineups WHERE lineup = 3", "is of line-up 3, which is not there"),
        ("UPDATE matches SET places = '[1]' WHERE match = 9", "2 seats has 1 results"),
        ("UPDATE matches SET places = '[1' WHERE match = 9", "Expecting"),
        ("UPDATE events SET body = '[]'", "no JSON object"),
        ("UPDATE players SET parents = '3'", "not iterable"),
    ],
)
def test_damaged_rows_are_refused_in_one_sentence(copy, statement, why):
    change(copy, statement)
    with pytest.raises(LanistaError, match=f"run.db is damaged: .*{why}") as said:
        read_run(copy)
    assert "\n" not in str(said.value)


def test_a_truncated_database_is_refused(copy):
    data = (copy / "run.db").read_bytes()
    (copy / "run.db").write_bytes(data[: len(data) // 2])
    with pytest.raises(LanistaError, match="is damaged"):
        read_run(copy)


def test_exported_files_tell_the_same_story(league, exported):
    assert read_exports(*exported) == read_run(league)


def test_exported_matches_that_name_unknown_players_are_refused(exported):
    state, matches = exported
    lines = matches.read_text().splitlines()
    matches.write_text("\n".join([*lines[:2], lines[2].replace("imitation", "nobody")]))
    with pytest.raises(LanistaError, match=r"names 'nobody' in line 3, whom .* does not know"):
        read_exports(state, matches)


def test_exported_files_of_another_version_are_refused(exported):
    state, matches = exported
    state.write_text(json.dumps({**json.loads(state.read_text()), "version": 9}))
    with pytest.raises(LanistaError, match="is of version 9, and this program reads 1"):
        read_exports(state, matches)


def test_damaged_exports_are_refused_in_one_sentence(exported, tmp_path):
    state, matches = exported
    good = matches.read_text().splitlines()
    for text, why in (
        ("{", "is not JSON in line 1"),
        ("[]", "has no JSON object in line 1"),
        ("{}", "has no match in line 1: 'names' is missing"),
        (good[0].replace('"places": [', '"places": [3, '), "differ in length"),
    ):
        matches.write_text(text)
        with pytest.raises(LanistaError, match=why):
            read_exports(state, matches)
    with pytest.raises(LanistaError, match="cannot be read: no such file"):
        read_exports(state, tmp_path / "nothing.jsonl")
    whole = json.loads(state.read_text())
    del whole["events"]
    state.write_text(json.dumps(whole))
    matches.write_text("\n".join(good))
    with pytest.raises(LanistaError, match="is no league state: 'events' is missing"):
        read_exports(state, matches)
    state.write_text("nonsense")
    with pytest.raises(LanistaError, match="is not JSON"):
        read_exports(state, matches)


def test_a_run_without_settings_or_learners_is_read(tmp_path):
    with closing(RunDatabase(tmp_path / "run.db")) as metrics:
        fill(metrics.connection, "metrics", [(1, "decisions", 10.0)])
    record = read_run(tmp_path)
    assert (record.game, record.settings, record.learners) == ("", "", ())
    assert record.compute == {"decisions": 10.0}
