"""Matches of fixed digests are played again from their rows, or refused with a sentence."""

import json
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from pipeline_runs import SMALL, settings_of

from lanista.errors import LanistaError, RefusedError
from lanista.evaluation.gauntlet import FIRST_MATCH, play_gauntlet
from lanista.evaluation.match_replay import Outcome, Rerun, outcome_of, recorded
from lanista.games import registry
from lanista.rollout import Results, Schedule, Table
from lanista.rollout.inference.policy_players import policy_player
from lanista.rollout.match_runner import RolloutError
from lanista.training.loop import train

KUHN = {
    "game": "kuhn",
    "seed": 7,
    "iterations": 3,
    "network": SMALL,
    "rollouts": {"matches": 16, "slots": 5},
    "evaluation": {"every": 1, "exact": "never", "bots": ["random"], "matches": 20},
}
BEASTYBAR = {
    **KUHN,
    "game": "beastybar",
    "iterations": 2,
    "network": {"kind": "lstm", **SMALL},
    "evaluation": {"every": 1, "bots": ["noisy", "random"], "matches": 12},
}
ARENA = {
    **BEASTYBAR,
    "game": "arena",
    "game_settings": {"seats": 3, "duration": 2.0},
    "evaluation": {"every": 2, "bots": ["random"], "matches": 6, "greedy": True},
}
LEAGUE = {
    **KUHN,
    "iterations": 6,
    "rollouts": {"matches": 32, "slots": 20, "opponents": ["self", "random"]},
    "evaluation": {"every": 2, "exact": "never", "bots": ["random"], "matches": 10},
    "league": {
        "round": 2,
        "main": {"snapshot_decisions": 50},
        "exploiter_check_interval": 5,
        "exploiter_train_steps": 1000,
        "exploiter_games": 20,
        "exploiter_win_threshold": 0.1,
    },
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of small real runs: an mlp, an lstm, three seats played greedily, and a league."""
    place = tmp_path_factory.mktemp("runs")
    made = {}
    kinds = {"mlp": KUHN, "lstm": BEASTYBAR, "three": ARENA, "league": LEAGUE}
    for name, values in kinds.items():
        train(settings_of(values), place / f"{name}.pt")
        made[name] = place / f"{name}.pt.run"
    return made


@pytest.fixture
def run(runs, tmp_path):
    """A copy of the mlp's run, to be tampered with."""
    return shutil.copytree(runs["mlp"], tmp_path / "copy.run")


def ids(folder):
    with closing(sqlite3.connect(folder / "run.db")) as database:
        return [match for (match,) in database.execute("SELECT match FROM matches ORDER BY match")]


def change(folder, sql, *values):
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute(sql, values)


def again(folder, match):
    rerun = Rerun(folder, match)
    try:
        return outcome_of(rerun.play())
    finally:
        rerun.close()


@pytest.mark.parametrize(("name", "count"), [("mlp", 60), ("lstm", 48), ("three", 6)])
def test_every_match_of_fixed_players_comes_out_as_recorded(runs, name, count):
    matches = ids(runs[name])
    assert len(matches) == count
    assert matches == list(range(FIRST_MATCH, FIRST_MATCH + count))
    for match in matches:
        assert again(runs[name], match) == recorded(runs[name], match).outcome


def test_every_match_of_a_league_comes_out_as_recorded_whatever_it_was_for(runs):
    reasons = set()
    for match in ids(runs["league"]):
        found = recorded(runs["league"], match)
        reasons.add(found.reason)
        assert again(runs["league"], match) == found.outcome
    assert reasons == {"evaluation", "pool", "exploiter"}


def test_a_match_is_played_by_the_digests_of_its_row(runs):
    found = recorded(runs["lstm"], FIRST_MATCH)
    rerun = Rerun(runs["lstm"], FIRST_MATCH)
    results = rerun.play()
    assert [results.digests[who] for who in results.schedule.seating[0]] == list(found.digests)
    assert len(rerun.players) == 2
    assert found.names == ("main", "noisy")
    greedy = recorded(runs["three"], FIRST_MATCH)
    assert greedy.digests[0].endswith(":greedy")
    assert len(Rerun(runs["three"], FIRST_MATCH).players) == 2


@pytest.mark.parametrize("cut_off", [False, True])
def test_an_outcome_says_whether_the_match_was_broken_off(cut_off):
    results = Results(
        Schedule(np.array([5]), np.array([2]), np.array([[0, 1]], np.int32)),
        np.array([[1.5, -1.5]], np.float32), np.array([[1, 2]], np.int32),
        np.array([[9.0, 3.0]], np.float32), np.array([4], np.int32), np.array([cut_off]),
        ("a", "b"),
    )  # fmt: skip
    assert outcome_of(results) == Outcome((1.5, -1.5), (1, 2), cut_off)


def test_a_changed_result_is_not_hidden(run):
    change(
        run,
        "UPDATE matches SET places = '[2, 1]', returns = '[-9, 9]' WHERE match = ?",
        FIRST_MATCH,
    )
    assert again(run, FIRST_MATCH) != recorded(run, FIRST_MATCH).outcome


def test_swapping_two_policy_files_swaps_what_they_play_and_is_refused(run):
    first, second = sorted((run / "policies").glob("*.safetensors"))[:2]
    spec = registry.make("kuhn").spec

    def results(path):
        game = registry.make("kuhn", slots=8, seed=7)
        players = (
            policy_player(path, spec, 7, temperature=0.05),
            registry.make_bot("kuhn", "random", spec, 7),
        )
        (found,) = play_gauntlet([Table(game, players)], 40)
        return found.returns

    before = results(first), results(second)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert np.array_equal(results(first), before[1])
    assert np.array_equal(results(second), before[0])
    used = [m for m in ids(run) if first.stem in recorded(run, m).digests]
    with pytest.raises(RefusedError, match="does not hold what its name says") as refused:
        Rerun(run, used[0])
    assert str(first) in str(refused.value)


def test_a_policy_that_is_gone_is_refused(run):
    for file in (run / "policies").iterdir():
        file.unlink()
    with pytest.raises(RefusedError, match="is not there; put the file back"):
        Rerun(run, FIRST_MATCH)


def test_a_bot_that_has_changed_is_refused(run):
    digests = json.loads(_lineup(run, "digests"))
    digests[1] = "0" * 64
    change(run, "UPDATE lineups SET digests = ? WHERE lineup = ?", json.dumps(digests), FIRST_MATCH)
    with pytest.raises(RefusedError, match=r"bot random .* use the program that played it"):
        Rerun(run, FIRST_MATCH)


@pytest.mark.parametrize("what", ["rules", "observation"])
def test_another_version_of_the_game_is_refused(run, what):
    change(run, f"UPDATE lineups SET {what}_version = '99'")
    with pytest.raises(RefusedError, match=f"{what} version 99 of kuhn, and this program has 1"):
        Rerun(run, FIRST_MATCH)


def test_a_digest_that_says_something_unknown_is_refused(run):
    digests = json.loads(_lineup(run, "digests"))
    digests[0] += ":backwards"
    change(run, "UPDATE lineups SET digests = ? WHERE lineup = ?", json.dumps(digests), FIRST_MATCH)
    with pytest.raises(RefusedError, match="backwards"):
        Rerun(run, FIRST_MATCH)


def test_training_games_are_said_to_be_counted_by_seating(run):
    with pytest.raises(LanistaError, match="was a training game: these are counted by seating"):
        recorded(run, 3)


def test_an_unknown_match_is_told_which_there_are(run):
    last = FIRST_MATCH + 59
    for match in (-1, 5000, last + 1):
        with pytest.raises(LanistaError, match=f"has no match {match}; .* {FIRST_MATCH} to {last}"):
            recorded(run, match)
    change(run, "DELETE FROM matches")
    with pytest.raises(LanistaError, match="it has none of fixed players"):
        recorded(run, FIRST_MATCH)


def test_a_damaged_row_or_database_is_refused(run):
    change(run, "UPDATE matches SET returns = '[1' WHERE match = ?", FIRST_MATCH)
    with pytest.raises(RefusedError, match="is damaged"):
        recorded(run, FIRST_MATCH)
    change(run, "PRAGMA user_version = 1")
    with pytest.raises(RefusedError, match="of version 1"):
        recorded(run, FIRST_MATCH)
    (run / "run.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(RefusedError, match="is damaged"):
        recorded(run, FIRST_MATCH)


def test_a_forced_swap_in_mid_match_is_refused(run):
    rerun = Rerun(run, FIRST_MATCH)
    player = rerun.players[0]
    act = player.act

    def swapped(decisions, rows):
        player.digest = "f" * 64
        return act(decisions, rows)

    player.act = swapped
    game = registry.make("kuhn", slots=4, seed=7)
    bot = registry.make_bot("kuhn", "random", game.spec, 7)
    with pytest.raises(RolloutError, match="changed in the middle of a match"):
        list(play_gauntlet([Table(game, (player, bot))], 4))


def _lineup(folder, column):
    with closing(sqlite3.connect(folder / "run.db")) as database:
        (found,) = database.execute(
            f"SELECT {column} FROM lineups WHERE lineup = ?", (FIRST_MATCH,)
        ).fetchone()
    return found
