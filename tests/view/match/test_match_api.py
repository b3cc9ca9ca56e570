"""The match pages' answers: what is listed, what is shown, and what is refused."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from match_folders import Client, recorded

from lanista.games.beastybar.animals import SPECIES
from lanista.learn.settings import Learning
from lanista.nets.settings import Network
from lanista.runs.settings import Evaluation, Rollouts, RunSettings
from lanista.training.loop import train
from lanista.view.server import serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    recorded(tmp_path, "beastybar")
    recorded(tmp_path, "kuhn", matches=120)
    return tmp_path


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    with serving(folder) as (_, address):
        yield Client(address)


def test_replays_are_listed_and_broken_ones_say_why(folder: Path, client: Client) -> None:
    (folder / "broken.jsonl.gz").write_bytes(b"nothing")
    (folder / "link.jsonl.gz").symlink_to(folder / "kuhn.jsonl.gz")
    _, answer = client.get("/api/matches")
    files = {file["place"]: file for file in answer["replays"]}
    assert set(files) == {"beastybar.jsonl.gz", "kuhn.jsonl.gz", "broken.jsonl.gz"}
    assert files["kuhn.jsonl.gz"]["players"] == ["random", "other"]
    assert "problem" in files["broken.jsonl.gz"]


def test_matches_of_a_file_are_listed_in_parts(client: Client) -> None:
    _, first = client.get("/api/matches/in", place="kuhn.jsonl.gz", count=50)
    _, last = client.get("/api/matches/in", place="kuhn.jsonl.gz", first=100, count=50)
    assert [len(first["matches"]), first["more"]] == [50, True]
    assert [len(last["matches"]), last["more"]] == [20, False]
    assert [one["match"] for one in last["matches"]] == list(range(100, 120))


def test_a_hand_is_not_in_the_answers_until_it_is_asked_for(client: Client) -> None:
    query = {"place": "beastybar.jsonl.gz", "match": 0, "policy": "champion:beastybar"}
    _, film = client.get("/api/match/film", **query, eyes=0)
    _, steps = client.get("/api/match/steps", **query, eyes=0)
    assert film["eyes"] == [0]
    for step in steps["steps"]:
        assert step["scene"]["seats"][1]["hand"] is None
        for part in step["decisions"]:
            assert (part["seat"] == 0) == ("choices" in part) == ("seen" in part)
    assert all(one["probability"] is None for one in film["decisions"] if one["seat"] == 1)
    assert all(one["seat"] == 0 for one in film["mistakes"])
    _, everything = client.get("/api/match/steps", **query, eyes="all")
    hands = [step["scene"]["seats"][1]["hand"] for step in everything["steps"]]
    assert {animal["name"] for hand in hands for animal in hand} == set(SPECIES)
    _, public = client.get("/api/match/steps", **query, eyes="none")
    assert all(side["hand"] is None for step in public["steps"] for side in step["scene"]["seats"])


def test_moves_of_a_hidden_seat_are_not_judged(client: Client) -> None:
    query = {"place": "beastybar.jsonl.gz", "match": 0, "policy": "champion:beastybar"}
    _, film = client.get("/api/match/film", **query, eyes="all")
    other = next(one for one in film["decisions"] if one["seat"] == 1)
    status, answer = client.get("/api/match/judge", **query, eyes=0, step=other["step"], seat=1)
    assert (status, "hidden" in answer["error"]) == (422, True)
    status, judged = client.get("/api/match/judge", **query, eyes="all", step=other["step"], seat=1)
    assert status == 200
    assert sum(move["played"] for move in judged["moves"]) == 1


def test_a_match_of_a_run_is_played_again_from_its_row(folder: Path, client: Client) -> None:
    settings = RunSettings(
        game="kuhn", iterations=1, network=Network("mlp", width=8, layers=1),
        learning=Learning(terms={"policy": 1.0, "value": 0.5}), rollouts=Rollouts(matches=16),
        evaluation=Evaluation(every=1, matches=8, bots=("random",), exact="never"), device="cpu",
    )  # fmt: skip
    assert train(settings, folder / "p.safetensors", findings=False) == 0
    _, answer = client.get("/api/matches")
    (run,) = answer["runs"]
    _, listed = client.get("/api/matches/in", place=run)
    match = listed["matches"][0]
    _, film = client.get("/api/match/film", place=run, match=match["match"], eyes="all")
    assert film["players"] == match["players"]
    assert film["returns"] == match["returns"]
    # Whoever played is at hand, so its probabilities are shown without being named.
    assert film["judges"]
    assert all(one["probability"] is not None for one in film["decisions"])


def test_where_no_policy_played_the_champion_judges(client: Client) -> None:
    _, film = client.get("/api/match/film", place="beastybar.jsonl.gz", eyes="all")
    assert film["judges"] == {"0": "champion:beastybar", "1": "champion:beastybar"}
    assert len(film["mistakes"]) > 0
    _, without = client.get("/api/match/film", place="kuhn.jsonl.gz", eyes="all")
    assert (without["judges"], without["unjudged"]) == ({}, "no policy is named")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"place": "../secret.jsonl.gz"}, 404),
        ({"place": "/etc/passwd"}, 404),
        ({"place": "link.jsonl.gz"}, 404),
        ({"place": "none.jsonl.gz"}, 404),
        ({"place": "kuhn.jsonl.gz", "match": 10**6}, 404),
        ({"place": "kuhn.jsonl.gz", "match": "x"}, 422),
        ({"place": "kuhn.jsonl.gz", "match": 10**30}, 422),
        ({"place": "kuhn.jsonl.gz", "eyes": "7"}, 422),
        ({"place": "kuhn.jsonl.gz", "policy": "champion:arena"}, 422),
        ({"place": "kuhn.jsonl.gz", "policy": "../p.safetensors"}, 404),
        ({"place": "notes.txt"}, 404),
        ({}, 404),
    ],
)
def test_what_is_not_a_match_of_the_folder_is_refused_in_a_sentence(
    folder: Path, client: Client, query: dict[str, object], status: int
) -> None:
    (folder.parent / "secret.jsonl.gz").write_bytes((folder / "kuhn.jsonl.gz").read_bytes())
    (folder / "link.jsonl.gz").symlink_to(folder / "kuhn.jsonl.gz")
    (folder / "notes.txt").write_text("nothing")
    code, answer = client.get("/api/match/film", **query)
    assert code == status
    assert answer["error"].endswith(".")


def test_a_replay_that_names_a_huge_or_foreign_game_is_not_played(
    folder: Path, client: Client
) -> None:
    lines = gzip.decompress((folder / "kuhn.jsonl.gz").read_bytes()).splitlines()
    for number, game in enumerate(
        ("openspiel:go(board_size=30000)", "evil.py", "openspiel:efg_game(filename=/etc/passwd)")
    ):
        header = {**json.loads(lines[0]), "game": game}
        data = b"\n".join([json.dumps(header).encode(), *lines[1:]]) + b"\n"
        (folder / f"odd{number}.jsonl.gz").write_bytes(gzip.compress(data))
        status, answer = client.get("/api/match/film", place=f"odd{number}.jsonl.gz")
        assert status == 422
        assert "installed" in answer["error"]


def test_a_file_that_changes_is_read_again(folder: Path, client: Client) -> None:
    query = {"place": "kuhn.jsonl.gz", "match": 0, "eyes": "all"}
    _, before = client.get("/api/match/film", **query)
    (folder / "beastybar.jsonl.gz").replace(folder / "kuhn.jsonl.gz")
    _, after = client.get("/api/match/film", **query)
    assert (before["game"], after["game"]) == ("kuhn", "beastybar")


def test_the_pages_are_there_before_torch_is() -> None:
    code = (
        "import sys, lanista.view.match.routes, lanista.view.play.routes;"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
