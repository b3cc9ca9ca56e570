"""Slim checkpoints: what is left out, how runs go on without it, and what must be moved."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pipeline_runs import (
    ARENA,
    BEASTYBAR,
    SMALL,
    KilledError,
    Killer,
    Listener,
    killed,
    last_state,
    metrics,
    same,
    same_run,
    settings_of,
)

from lanista.games import registry
from lanista.pipeline.recipe import load_recipe, read_recipe, with_overrides
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import conduct
from lanista.rollout.collector import Collector
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.folder import folder_of
from lanista.runs.settings import load_settings
from lanista.runs.slim import NEEDED, exactness, slimmed
from lanista.training.loop import train

PIPELINE = Path(__file__).parents[1] / "chaos" / "small_pipeline.yaml"
SLIM = {"slim": True, "save_every": 2, "keep_last": 9}
STREAM = {
    "game": "kuhn",
    "iterations": 8,
    "network": SMALL,
    "learning": {"policy": "vtrace", "lr": 0.01},
    "rollouts": {"mode": "stream", "unrolls": 12, "unroll_length": 2, "slots": 7,
                 "opponents": ["self", "random"]},
}  # fmt: skip
REPLAY = {**STREAM, "learner_updates": 2, "replay": {"size": 40, "minimum": 20, "batch": 8}}
LEAGUE = {
    "game": "kuhn",
    "iterations": 6,
    "network": SMALL,
    "learning": {"lr": 0.01},
    "rollouts": {"matches": 16, "opponents": ["self", "random"]},
    "league": {"round": 2, "main": {"snapshot_decisions": 20}},
    "evaluation": {"every": 2, "bots": ["random"], "matches": 10, "exact": "never"},
    "checkpoints": SLIM,
}


def rows(output, query):
    with closing(sqlite3.connect(folder_of(output) / "run.db")) as database:
        return database.execute(query).fetchall()


def test_whole_matches_are_resumed_to_the_last_bit_from_slim_checkpoints(tmp_path):
    settings = settings_of(BEASTYBAR, checkpoints={"save_every": 2, "slim": True})
    heard = Listener()
    assert train(settings_of(BEASTYBAR), tmp_path / "a" / "p.pt") == 0
    killed(settings, tmp_path / "b" / "p.pt", 3)
    assert train(settings, tmp_path / "b" / "p.pt", resume=True, observers=[heard]) == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")
    assert heard.sentences == []  # Nothing was left out, so there is nothing to be said.


def test_a_slim_checkpoint_has_neither_replay_nor_matches_in_flight(tmp_path):
    full, slim = tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt"
    train(settings_of(ARENA, iterations=2, checkpoints={"save_every": 2}), full)
    train(settings_of(ARENA, iterations=2, checkpoints=SLIM), slim)
    assert last_state(slim).keys() == last_state(full).keys() - {"replay"}
    assert last_state(slim)["collector"] == {
        "next_match": last_state(full)["collector"]["next_match"]
    }
    assert {"game", "tape", "seated"} <= last_state(full)["collector"].keys()


@pytest.mark.parametrize("values", [STREAM, REPLAY], ids=["stream", "stream with replay"])
@pytest.mark.parametrize("again", [True, False], ids=["slim again", "no longer slim"])
def test_a_stream_goes_on_with_fresh_matches_and_plays_none_twice(values, again, tmp_path):
    settings = settings_of(values, checkpoints=SLIM)
    output, heard = tmp_path / "p.pt", Listener()
    killed(settings, output, 5 * settings.learner_updates)
    before = last_state(output)
    assert before["iteration"] == 4
    after = settings if again else settings_of(values, checkpoints={**SLIM, "slim": False})
    assert train(after, output, resume=True, observers=[heard]) == 0
    assert ["not exactly the unbroken one" in each for each in heard.sentences].count(True) == 1
    end = last_state(output)
    assert end["iteration"] == settings.iterations
    assert end["decisions"] > before["decisions"]
    assert end["matches"] > before["matches"]
    assert {row[0] for row in metrics(output)} == {*range(1, settings.updates + 1)}
    # Fresh matches begin where the ids of those that were left in flight end.
    first = min(
        first
        for (update, first) in rows(output, "SELECT update_number, first_match FROM training_games")
        if update > before["learner"]["update_count"]
    )
    assert first >= before["collector"]["next_match"]
    counted = rows(output, "SELECT first_match, last_match, matches FROM training_games")
    assert sum(matches for _, _, matches in counted) == end["matches"]


@pytest.fixture
def begun(monkeypatch):
    """Return the ids of all matches that are begun."""
    ids = []
    start = Collector._start

    def noted(self, slots):
        ids.extend(range(self.next_match, self.next_match + len(slots)))
        start(self, slots)

    monkeypatch.setattr(Collector, "_start", noted)
    return ids


def test_no_match_is_played_twice_over_a_slim_resume(tmp_path, begun):
    settings, output = settings_of(STREAM, checkpoints=SLIM), tmp_path / "p.pt"
    stop = iter([False, False, True]).__next__
    assert train(settings, output, stop=stop) == 130
    until = len(begun)
    assert train(settings, output, resume=True) == 0
    assert len(begun) > until
    assert len(begun) == len(set(begun))


def test_the_run_says_once_at_its_start_that_it_is_not_exact(tmp_path):
    heard = Listener()
    train(settings_of(STREAM, iterations=1, checkpoints=SLIM), tmp_path / "p.pt", observers=[heard])
    assert [each for each in heard.sentences if "Slim checkpoints" in each] == [
        "Slim checkpoints leave out the replay and matches in flight: a resumed run begins fresh "
        "ones, and is not exactly the unbroken one."
    ]


@pytest.mark.parametrize("slim", [False, True])
def test_central_inference_says_that_a_resumed_run_is_not_equal_to_the_last_bit(slim):
    spec = registry.spec_of("kuhn")
    asking = {"workers": 2, "launcher": "processes", "inference": "central"}
    said = exactness(load_settings({"game": "kuhn", "rollouts": asking}), spec, slim)
    assert "Central inference" in said
    assert "not equal to the unbroken one to the last bit" in said
    alone = asking | {"inference": "worker"}
    assert exactness(load_settings({"game": "kuhn", "rollouts": alone}), spec, slim) == ""


def test_whatever_workers_played_ahead_is_left_out():
    workers = {"workers": [{"next_match": 4, "game": {}}, {"next_match": 9}], "ahead": [[{}], [{}]]}
    found = slimmed({"main": {"iteration": 1, "collector": workers, "chairs": [], "replay": {}}})
    kept = {"workers": [{"next_match": 4}, {"next_match": 9}]}
    assert found == {"main": {"iteration": 1, "collector": kept}}


@pytest.mark.parametrize("launcher", ["serial", "threads"])
def test_chunks_that_were_played_ahead_are_left_out_and_play_goes_on(launcher, tmp_path, begun):
    rollouts = {"matches": 16, "workers": 2, "lag": 1, "launcher": launcher}
    settings = settings_of(STREAM, rollouts=rollouts, checkpoints=SLIM)
    output, heard = tmp_path / "p.pt", Listener()
    stop = iter([False, False, False, True]).__next__
    assert train(settings, output, stop=stop) == 130
    saved = last_state(output)["collector"]
    assert saved.keys() == {"workers"}
    assert [part.keys() for part in saved["workers"]] == [{"next_match"}] * 2
    until = len(begun)
    assert train(settings, output, resume=True, observers=[heard]) == 0
    assert any("not exactly the unbroken one" in each for each in heard.sentences)
    assert last_state(output)["iteration"] == settings.iterations
    assert len(begun) > until
    assert len(begun) == len(set(begun))


def same_league(one, other):
    """Say whether two leagues came to the same, clocks aside."""
    kept = [[row for row in metrics(each) if "seconds" not in row[1]] for each in (one, other)]
    states = [last_state(one), last_state(other)]
    return kept[0] == kept[1] and same(*states) and one.read_bytes() == other.read_bytes()


def moved(output, place):
    """Copy what a resume needs, and nothing else, to another folder."""
    names = (folder_of(output) / NEEDED).read_text().splitlines()
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(output.parent / name, place / name)
    return names


def test_a_league_goes_on_exactly_from_the_files_it_names(tmp_path):
    settings, here, there = settings_of(LEAGUE), tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt"
    assert train(settings, tmp_path / "whole" / "p.pt") == 0
    stop = iter([False, False, False, True]).__next__
    assert train(settings, here, stop=stop) == 130
    names = moved(here, there.parent)
    everything = [p for p in here.parent.rglob("*") if p.is_file() and p.name != NEEDED]
    assert len(names) < len(everything)
    assert {name.split("/")[2] for name in names if "/checkpoints/" in name} == {"000004"}
    assert train(settings, there, resume=True) == 0
    assert same_league(tmp_path / "whole" / "p.pt", there)


def test_an_exploiter_under_way_is_among_the_files_and_goes_on(tmp_path):
    league = {**LEAGUE["league"], "exploiter_check_interval": 4, "exploiter_train_steps": 400,
              "exploiter_games": 20}  # fmt: skip
    settings = settings_of(LEAGUE, league=league)
    assert train(settings, tmp_path / "whole" / "p.pt") == 0
    here, there = tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt"
    asked = iter([False] * 6 + [True] * 99)
    assert train(settings, here, stop=lambda: next(asked)) == 130
    names = moved(here, there.parent)
    practice = "p.pt.run/exploiters/000004.safetensors.run"
    assert f"{practice}/exploit.json" in names
    assert any(name.startswith(f"{practice}/response-1.safetensors.run/ch") for name in names)
    practised = Checkpoints(here.parent / practice / "response-1.safetensors.run" / "checkpoints")
    _, state, _ = practised.newest_good()
    assert state["slim"]
    assert set(state["learners"]["main"]["collector"]) == {"next_match"}
    assert train(settings, there, resume=True) == 0
    assert same_league(tmp_path / "whole" / "p.pt", there)
    final = (folder_of(there) / NEEDED).read_text()
    assert "exploiters" not in final  # Complete, so that nothing of it is needed.


def test_an_exploiter_that_was_begun_without_goes_on_slim_as_its_league_does(tmp_path):
    league = {**LEAGUE["league"], "exploiter_check_interval": 4, "exploiter_train_steps": 2500,
              "exploiter_games": 20}  # fmt: skip
    full = settings_of(LEAGUE, league=league, checkpoints={**SLIM, "slim": False})
    output, heard = tmp_path / "p.pt", Listener()
    asked = iter([False] * 6 + [True] * 99)
    assert train(full, output, stop=lambda: next(asked)) == 130
    (run,) = (folder_of(output) / "exploiters").glob("*.run/*.run")
    assert "slim" not in Checkpoints(run / "checkpoints").newest_good()[1]
    assert train(settings_of(LEAGUE, league=league), output, resume=True, observers=[heard]) == 0
    assert not any("its training restarts" in sentence for sentence in heard.sentences)
    assert Checkpoints(run / "checkpoints").newest_good()[1]["slim"]


def test_killed_in_mid_run_the_list_is_that_of_the_last_save(tmp_path):
    settings, output = settings_of(LEAGUE), tmp_path / "p.pt"
    with pytest.raises(KilledError):
        train(settings, output, observers=[Killer(5)])
    names = (folder_of(output) / NEEDED).read_text().splitlines()
    # The killed process left this one; here its connection was closed on the way out.
    names.remove("p.pt.run/run.db-wal")
    assert all((output.parent / name).is_file() for name in names)
    number, state, said = Checkpoints(folder_of(output) / "checkpoints").newest_good()
    assert (number, state["slim"], said) == (4, True, [])
    digests = {digest for (digest,) in rows(output, "SELECT digest FROM players")}
    kept = {name.rpartition("/")[2].split(".")[0] for name in names if "/policies/" in name}
    champion = rows(output, "SELECT body FROM events WHERE kind = 'promotion' ORDER BY rowid")[-1]
    assert kept <= digests | {json.loads(champion[0])["digest"]}
    assert len(kept) >= 2


def test_a_pipeline_goes_on_exactly_from_what_docs_champion_says_to_take(tmp_path):
    values = with_overrides(read_recipe(PIPELINE), ["stages.league.checkpoints.slim=true"])
    story, whole, here, there = settled(load_recipe(values)), *map(tmp_path.joinpath, "abc")
    assert conduct(story, whole) == 0
    reached = here / "league" / "checkpoints" / "000004"
    assert conduct(story, here, stop=reached.exists) == 130
    there.mkdir()
    for name in ("recipe.yaml", "stages", "data"):
        copy = shutil.copytree if (here / name).is_dir() else shutil.copyfile
        copy(here / name, there / name)
    for path in [*here.glob("*.safetensors"), *here.glob("*.safetensors.json")]:
        shutil.copyfile(path, there / path.name)
    for name in (here / "league" / NEEDED).read_text().splitlines():
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(here / name, there / name)
    assert conduct(story, there) == 0
    assert not (there / "aside").exists()
    for name in ("league.safetensors", "evaluation.json"):
        assert (there / name).read_bytes() == (whole / name).read_bytes()
