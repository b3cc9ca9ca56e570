"""A person's matches over HTTP: what needs the token, what is refused, what is saved and given."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from match_folders import Client

from lanista.data import read_replays, resimulate
from lanista.games import registry
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.view.context import ViewContext
from lanista.view.play import sessions as sessions_module
from lanista.view.play.sessions import Sessions
from lanista.view.play.setup import read_wish
from lanista.view.server import serving

KUHN = {"game": "kuhn", "seats": ["human", "random"]}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with serving(tmp_path) as (_, address):
        yield Client(address)


def play_first(client: Client, session: dict[str, Any]) -> dict[str, Any]:
    """Make the first legal move until the match is over."""
    while not session["over"]:
        action = [head["choices"][0]["choice"] for head in session["legal"]]
        body = {"id": session["id"], "action": action, "turn": session["turn"]}
        status, session = client.post("/api/play/move", body)
        assert status == 200, session
    return session


@pytest.mark.parametrize("game", ["beastybar", "liars_dice", "openspiel:connect_four"])
def test_a_match_is_saved_as_a_humans_and_can_be_looked_into_at_once(
    game: str, tmp_path: Path, client: Client
) -> None:
    _, session = client.post("/api/play/start", {"game": game, "seats": ["random", "human"]})
    session = play_first(client, session)
    replays = read_replays(tmp_path / session["saved"])
    resimulate(replays)
    assert replays.header.source == "human"
    _, film = client.get("/api/match/film", place=session["saved"], match=0, eyes=1)
    assert film["source"] == "human"
    assert film["players"] == ["random", "human"]
    assert film["places"] == session["result"]["places"]


def test_a_session_outlives_its_page(client: Client) -> None:
    _, session = client.post("/api/play/start", KUHN)
    _, again = client.get("/api/play/session", id=session["id"])
    assert again == session
    status, _ = client.get("/api/play/session", id="nobody")
    assert status == 404


def test_whatever_changes_a_match_needs_the_token(client: Client) -> None:
    _, session = client.post("/api/play/start", KUHN)
    for path in ("start", "move", "undo", "rematch", "hint", "keys"):
        body = {**KUHN, "id": session["id"], "action": [0], "turn": session["turn"]}
        status, _ = client.post(f"/api/play/{path}", body, token=False)
        assert status == 401, path
    assert client.get("/api/play/session", id=session["id"])[1] == session


def test_the_others_hand_is_in_no_answer(client: Client) -> None:
    _, session = client.post("/api/play/start", {"game": "beastybar", "seats": ["human", "random"]})
    while not session["over"]:
        assert session["scene"]["seats"][1]["hand"] is None
        action = [head["choices"][0]["choice"] for head in session["legal"]]
        body = {"id": session["id"], "action": action, "turn": session["turn"]}
        _, session = client.post("/api/play/move", body)


def test_a_move_that_comes_twice_counts_once(client: Client) -> None:
    _, session = client.post("/api/play/start", {"game": "beastybar", "seats": ["human", "random"]})
    choice = session["legal"][0]["choices"][0]["choice"]
    body = {"id": session["id"], "action": [choice], "turn": session["turn"]}
    assert client.post("/api/play/move", body)[0] == 200
    status, answer = client.post("/api/play/move", body)
    assert status == 422
    assert "has gone on" in answer["error"]


def test_a_rematch_swaps_the_seats(client: Client) -> None:
    _, session = client.post(
        "/api/play/start", {"game": "beastybar", "seats": ["human", "random", "heuristic"]}
    )
    _, again = client.post("/api/play/rematch", {"id": session["id"]})
    assert again["wish"]["seats"] == ["random", "heuristic", "human"]
    assert again["seat"] == 2
    assert again["id"] != session["id"]


def test_hints_and_moves_taken_back_are_refused_where_they_were_not_chosen(
    client: Client,
) -> None:
    wish = {"game": "beastybar", "seats": ["human", "champion:beastybar"]}
    _, session = client.post("/api/play/start", {**wish, "hints": False, "undo": False})
    assert client.post("/api/play/hint", {"id": session["id"]})[0] == 422
    assert client.post("/api/play/undo", {"id": session["id"]})[0] == 422
    _, session = client.post("/api/play/start", wish)
    _, hint = client.post("/api/play/hint", {"id": session["id"]})
    assert hint["by"] == "champion:beastybar"
    legal = {choice["words"] for choice in session["legal"][0]["choices"]}
    assert {one["words"] for one in hint["choices"]} <= legal


@pytest.mark.parametrize(
    "change",
    [
        {"game": "evil.py"},
        {"game": "openspiel:efg_game(filename=/etc/passwd)"},
        {"game": "microrts"},
        {"game": "nothing"},
        {"game": 7},
        {"seats": ["human", "/etc/passwd"]},
        {"seats": ["human", "../p.safetensors"]},
        {"seats": ["human", "bot.py:Bot"]},
        {"seats": ["human", "champion:arena"]},
        {"seats": ["human", "live:nowhere"]},
        {"seats": ["human", "human"]},
        {"seats": ["random", "random"]},
        {"seats": ["human"]},
        {"seats": ["human", "random", "random"]},
        {"seats": "human,random"},
        {"temperature": 0},
        {"temperature": "hot"},
        {"handicap": 1.5},
        {"give": True},
    ],
)
def test_what_cannot_be_played_is_refused_in_a_sentence(
    client: Client, change: dict[str, Any]
) -> None:
    status, answer = client.post("/api/play/start", {**KUHN, **change})
    assert status in (404, 422), answer
    assert answer["error"].endswith(".")


@pytest.mark.parametrize("body", [b"nothing", b"[1]", b"[" * 9000, b'{"id": {"a": 1}}'])
def test_bodies_that_are_no_move_are_refused(client: Client, body: bytes) -> None:
    status, answer = client.post("/api/play/move", body)
    assert status in (404, 422)
    assert "error" in answer


def test_there_are_never_more_sessions_than_allowed(tmp_path: Path) -> None:
    sessions = Sessions(ViewContext(tmp_path, "token"), most=3)
    begun = [sessions.begin(read_wish(KUHN)) for _ in range(5)]
    assert [one.closed for one in begun] == [True, True, False, False, False]
    assert sessions.get(begun[2].id) is begun[2]
    sessions.close()
    assert all(one.closed for one in begun)


def test_games_that_run_processes_of_their_own_have_few_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sessions_module.MOST_OF_GAME, "kuhn", 2)
    sessions = Sessions(ViewContext(tmp_path, "token"), most=9)
    other = sessions.begin(read_wish({"game": "leduc", "seats": ["human", "random"]}))
    begun = [sessions.begin(read_wish(KUHN)) for _ in range(4)]
    assert [one.closed for one in begun] == [True, True, False, False]
    assert not other.closed
    sessions.close()


def live_folder(folder: Path) -> Path:
    """Publish an untrained policy as a live learner's."""
    torch.manual_seed(0)
    spec = registry.spec_of("leduc")
    save_policy(folder / "first.safetensors", Policy(spec, Network("mlp", width=8, layers=1)), spec)
    policies = PolicyFolder(folder / "bots" / "policy")
    with policies.changing(create=True):
        policies.publish(policies.add((folder / "first.safetensors").read_bytes()))
    (folder / "bots" / "spool").mkdir()
    return folder / "bots" / "spool"


def test_a_game_goes_into_a_live_learners_spool_when_it_is_asked_to(
    tmp_path: Path, client: Client
) -> None:
    spool = live_folder(tmp_path)
    _, choices = client.get("/api/play/opponents", game="leduc")
    assert choices["live"] == ["bots"]
    wish = {"game": "leduc", "seats": ["human", "live:bots"], "undo": False}
    kept = play_first(client, client.post("/api/play/start", wish)[1])
    assert not kept["given"]
    given = play_first(client, client.post("/api/play/start", {**wish, "give": True})[1])
    assert given["given"]
    assert given["saved"]
    (game,) = Spool(spool).waiting()
    assert game
    status, answer = client.post("/api/play/start", {**wish, "give": True, "undo": True})
    assert status == 422
    assert "taken back" in answer["error"]


def test_only_policies_for_as_many_seats_are_offered(tmp_path: Path, client: Client) -> None:
    for name in ("champion:beastybar", "champion:beastybar-3"):
        place = name.partition(":")[2] + ".safetensors"
        (tmp_path / place).write_bytes(policy_file(name).read_bytes())
    _, choices = client.get("/api/play/opponents", game="beastybar")
    assert choices["seats"] == [2, 3, 4]
    one, other = "beastybar.safetensors", "beastybar-3.safetensors"
    assert choices["policies"] == {"2": [one], "3": [other], "4": []}
    assert choices["champions"]["4"] == ["champion:beastybar-4"]


def read_frames(client: Client, number: str, count: int) -> list[dict[str, Any]]:
    """Return the next moments of a match that has a clock."""
    frames: list[dict[str, Any]] = []
    with urllib.request.urlopen(f"{client.base}/events/play?id={number}", timeout=60) as stream:
        for line in stream:
            if line.startswith(b"data: "):
                frames.append(json.loads(line[6:]))
            if len(frames) >= count or (frames and frames[-1]["over"]):
                break
    return frames


def test_the_arena_goes_on_by_the_clock_with_what_is_held(client: Client) -> None:
    _, session = client.post("/api/play/start", {"game": "arena", "seats": ["human", "random"]})
    keys = {"move": [1, 0], "aim": None, "fire": False, "ability": None, "interact": False}
    status, _ = client.post("/api/play/keys", {"id": session["id"], "keys": keys})
    assert status == 200
    frames = read_frames(client, session["id"], 12)
    turns = [frame["turn"] for frame in frames]
    assert turns == sorted(turns)
    own = [frame["scene"]["fighters"][0]["x"] for frame in frames]
    assert own[-1] > own[0] + 1
    # Whoever is out of sight is in no frame.
    for frame in frames:
        other = frame["scene"]["fighters"][1]
        assert "x" not in other or abs(other["x"] - frame["scene"]["fighters"][0]["x"]) <= 10
        assert "ammo" not in other


@pytest.mark.parametrize(
    "keys", [None, [], {"aim": "up"}, {"move": [1]}, {"move": ["a", "b"]}, {"aim": [1e300, 0]}]
)
def test_keys_of_another_shape_are_refused_and_the_match_goes_on(
    client: Client, keys: object
) -> None:
    _, session = client.post("/api/play/start", {"game": "arena", "seats": ["human", "random"]})
    status, answer = client.post("/api/play/keys", {"id": session["id"], "keys": keys})
    assert status == 422
    assert "error" in answer
    _, again = client.get("/api/play/session", id=session["id"])
    assert again["problem"] == ""


def test_a_match_that_waits_has_no_clock(client: Client) -> None:
    _, session = client.post("/api/play/start", KUHN)
    status, answer = client.get("/events/play", id=session["id"])
    assert status == 422
    assert "no clock" in answer["error"]
