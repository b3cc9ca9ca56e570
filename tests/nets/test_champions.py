"""`champion:GAME` names a policy that comes with the project, wherever a player can be named."""

import hashlib
import json

import pytest
from pipeline_runs import untrained

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.showdown.casting import who_is
from lanista.nets.files import champions
from lanista.nets.files.champions import (
    champion_names,
    champions_for,
    policy_file,
)
from lanista.nets.files.policy_file import read_header
from lanista.pipeline.recipe import load_recipe
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import conduct
from lanista.runs.folder import folder_of, policy_path, saved_settings
from lanista.runs.settings import load_settings
from lanista.training.loop import train

SMALL = {
    "game": "kuhn",
    "iterations": 1,
    "network": {"kind": "mlp", "width": 8, "layers": 1},
    "learning": {"terms": {"policy": 1.0, "value": 0.5}},
    "rollouts": {"matches": 8, "opponents": ["champion:kuhn"]},
    "evaluation": {"every": 1, "exact": "never", "bots": ["champion:kuhn"], "matches": 4},
}


@pytest.fixture
def kuhn(tmp_path, monkeypatch):
    """A small policy that comes with the project, as far as the names know."""
    folder = tmp_path / "artifacts"
    folder.mkdir()
    file = folder / "small.safetensors"
    untrained({"game": "kuhn", "network": {"kind": "mlp", "width": 8, "layers": 1}}, file)
    monkeypatch.setitem(champions.CHAMPIONS, "kuhn", file.name)
    monkeypatch.setattr(champions, "shared_folders", lambda name: [tmp_path / name])
    return hashlib.sha256(file.read_bytes()).hexdigest()


def numbers(path):
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", sorted(champions.CHAMPIONS))
def test_each_name_is_a_policy_for_its_game_and_seats(name):
    game, _, seats = name.partition("-")
    header = read_header(policy_file(f"champion:{name}"))
    assert header.game == game
    assert header.settings.get("seats", 2) == int(seats or 2)


def test_a_wrong_name_gets_all_that_there_are(capsys):
    assert main(["evaluate", "champion:chess"]) == 2
    text = capsys.readouterr().err
    assert "There is no policy 'champion:chess'; known: champion:arena, champion:" in text


def test_a_file_that_is_not_installed_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(champions, "shared_folders", lambda name: [tmp_path])
    with pytest.raises(LanistaError, match=r"not installed here: there is no artifacts/champion\."):
        policy_file("champion:beastybar")


def test_the_champion_of_another_game_is_refused(capsys):
    assert main(["play", "kuhn", "--seats", "champion:beastybar,random", "--matches", "2"]) == 2
    assert "beastybar" in capsys.readouterr().err


def test_games_tells_of_it(capsys):
    main(["games", "beastybar"])
    text = capsys.readouterr().out
    assert "\n  policies  champion:beastybar\n            champion:beastybar-3\n" in text
    main(["games", "kuhn"])
    assert "policies" not in capsys.readouterr().out


def test_it_plays_is_evaluated_and_meets_others(tmp_path, kuhn):
    file = tmp_path / "numbers.json"
    seats = ["--seats", "champion:kuhn,random", "--matches", "4"]
    assert main(["play", "kuhn", *seats, "--json", str(file)]) == 0
    mine = numbers(file)["standings"][0]
    assert (mine["name"], mine["digest"]) == ("champion:kuhn", kuhn)
    pair = ["--bots", "champion:kuhn,random", "--matches", "4"]
    assert main(["roundrobin", "kuhn", *pair, "--json", str(tmp_path / "cross.json")]) == 0
    assert kuhn in numbers(tmp_path / "cross.json")["digests"]
    against = ["--opponents", "random,champion:kuhn", "--games", "4"]
    there = ["--output", str(tmp_path / "evaluation.json")]
    assert main(["evaluate", "champion:kuhn+champion:kuhn", *against, *there]) == 0
    assert [bout["digest"] for bout in numbers(tmp_path / "evaluation.json")["bouts"]][1] == kuhn


def test_it_is_exploited_and_begun_from(tmp_path, kuhn):
    few = ["--train-steps", "64", "--games", "4", "--selection-games", "4", "--points", "1"]
    words = ["--from", "victim", "--cpu", "--output", str(tmp_path / "response.safetensors")]
    assert main(["exploit", "champion:kuhn", *few, *words]) == 0
    record = numbers(tmp_path / "response.safetensors.json")
    assert (record["victim"], record["victim_digest"]) == ("champion:kuhn", kuhn)
    assert record["responses"][0]["start"] == "champion:kuhn"


def test_a_run_keeps_the_one_it_met(tmp_path, kuhn):
    output = tmp_path / "policy.safetensors"
    assert train(load_settings(SMALL), output) == 0
    folder = folder_of(output)
    assert saved_settings(folder).rollouts.opponents[0].digest == kuhn
    assert policy_path(folder, kuhn).is_file()


def test_a_pipeline_meets_it_and_notices_another(tmp_path, kuhn):
    stages = {
        "record": {"seats": ["champion:kuhn,random"], "matches": 4, "threads": 1},
        "rl": {name: value for name, value in SMALL.items() if name != "game"},
        "evaluate": {"opponents": ["champion:kuhn"], "games": 4, "threads": 1},
    }
    recipe = settled(load_recipe({"game": "kuhn", "device": "cpu", "stages": stages}))
    folder = tmp_path / "pipeline"
    assert conduct(recipe, folder) == 0
    assert numbers(folder / "evaluation.json")["bouts"][0]["digest"] == kuhn
    read = numbers(folder / "stages" / "record.json")["inputs"]["files"]
    assert read == {"champion:kuhn": kuhn}


def test_it_is_published_for_a_live_bot(tmp_path, kuhn):
    folder = tmp_path / "policy"
    assert main(["policy", "publish", str(folder), "champion:kuhn"]) == 0
    assert PolicyFolder(folder).pointer().stable == kuhn


def test_it_is_who_plays_on_a_showdown_server():
    assert who_is("champion:showdown").kind == "file"
    with pytest.raises(LanistaError, match=r"known: champion:arena"):
        who_is("champion:nobody")


def test_it_is_written_for_others(tmp_path, kuhn):
    output = tmp_path / "copy.safetensors"
    assert main(["export", "champion:kuhn", "--to", "numpy", "--output", str(output)]) == 0
    assert output.is_file()


def test_names_are_those_of_one_game_or_of_all():
    two, three, four = (f"champion:beastybar{end}" for end in ("", "-3", "-4"))
    assert champion_names("beastybar") == [two, three, four]
    assert [champions_for("beastybar", seats) for seats in (2, 3, 4)] == [[two], [three], [four]]
    assert [champions_for(*match) for match in (("arena", 4), ("kuhn", 2))] == [[], []]
    assert champion_names("kuhn") == []
    assert champion_names() == [f"champion:{game}" for game in champions.CHAMPIONS]
