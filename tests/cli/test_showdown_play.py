"""`lanista showdown play` as a user types it: what it refuses, and battles on a real server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("poke_env")
sys.path.insert(0, str(Path(__file__).parents[1] / "live"))

import websockets
from showdown_field import SPEC, connected, packed_team, run, tiny
from showdown_play import needs_simulator

from lanista.cli.main import main
from lanista.cli.showdown.play import _Runner
from lanista.games.registry import make, make_bot
from lanista.games.showdown.local_servers.server import Server
from lanista.games.showdown.teams.pool import EXAMPLES
from lanista.live.showdown.connection import ServerError, is_for, is_loopback, websocket_url
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

TEAM = EXAMPLES / "goodstuff.txt"
NOBODY = "ws://127.0.0.1:9"
"""A server that does not answer: whatever is said was said before connecting."""


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "tiny.safetensors"
    path.write_bytes(tiny())
    return str(path)


def refused(
    capsys: pytest.CaptureFixture[str], *words: str, server: str = NOBODY
) -> tuple[int, str]:
    code = main(["showdown", "play", *words, "--server", server])
    told = capsys.readouterr()
    assert told.out == ""
    (sentence,) = told.err.splitlines()
    return code, sentence


@pytest.mark.parametrize("modes", [[], ["--ladder", "3", "--accept", "2"]])
def test_exactly_one_way_to_battles_is_named(
    capsys: pytest.CaptureFixture[str], policy: str, modes: list[str]
) -> None:
    code, sentence = refused(capsys, policy, *modes)
    assert code == 2
    assert "Give one of --ladder N, --challenge USER and --accept N." in sentence


def test_a_server_elsewhere_is_refused_unless_its_rules_allow_bots(
    capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    code, sentence = refused(capsys, policy, "--accept", "1", server="sim.example.org")
    assert code == 3
    assert "add --this-server-allows-bots if they allow bots" in sentence


@pytest.mark.parametrize(
    ("text", "url", "here"),
    [
        ("127.0.0.1:8000", "ws://127.0.0.1:8000/showdown/websocket", True),
        ("http://localhost:8000/", "ws://localhost:8000/showdown/websocket", True),
        ("ws://[::1]:8000/showdown/websocket", "ws://[::1]:8000/showdown/websocket", True),
        ("https://sim.example.org", "wss://sim.example.org/showdown/websocket", False),
        ("ws://127.0.0.1.example.org:80/x", "ws://127.0.0.1.example.org:80/x", False),
        ("ws://user@10.0.0.1:8000", "ws://10.0.0.1:8000/showdown/websocket", False),
    ],
)
def test_a_server_is_named_as_people_name_it(text: str, url: str, here: bool) -> None:
    assert websocket_url(text) == url
    assert is_loopback(url) is here


def test_a_policy_of_another_format_or_game_is_told_before_anything_else(
    capsys: pytest.CaptureFixture[str], policy: str, tmp_path: Path
) -> None:
    code, sentence = refused(capsys, policy, "--accept", "1", "--format", "gen9randombattle")
    assert (code, "plays gen9vgc2025regi, and --format is gen9randombattle" in sentence) == (
        2,
        True,
    )
    spec = make("kuhn").spec
    other = tmp_path / "kuhn.safetensors"
    save_policy(other, Policy(spec, Network("mlp", width=8, layers=1)), spec)
    code, sentence = refused(capsys, str(other), "--accept", "1")
    assert (code, "plays kuhn, and no Showdown" in sentence) == (2, True)
    code, sentence = refused(capsys, "nobody", "--accept", "1")
    assert (code, "no file, no policy folder and no bot of Showdown" in sentence) == (2, True)
    code, sentence = refused(capsys, "heuristics", "--accept", "1")
    assert (code, "did you mean 'heuristic'?" in sentence) == (2, True)


def test_a_port_alone_is_no_server(capsys: pytest.CaptureFixture[str], policy: str) -> None:
    code, sentence = refused(capsys, policy, "--accept", "1", server="8000")
    assert (code, sentence) == (2, "lanista: --server is '8000'; write it as ws://127.0.0.1:8000.")


def test_without_poke_env_the_remedy_is_named(
    capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    """In a process of its own: here poke-env is imported already."""
    program = (
        "import sys; sys.modules['poke_env'] = None\n"
        "from lanista.cli.main import main; sys.exit(main())"
    )
    words = ["showdown", "play", policy, "--accept", "1", "--server", NOBODY]
    ran = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "lanista: poke-env is not installed; run in a checkout: pip install '.[showdown]'\n"
    )


@needs_simulator
def test_a_team_that_is_not_allowed_is_told_in_the_validators_words(
    capsys: pytest.CaptureFixture[str], policy: str, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text(TEAM.read_text().replace("Fake Out", "Spore", 1))
    code, sentence = refused(capsys, policy, "--accept", "1", "--team", str(bad))
    assert code == 2
    assert "which gen9vgc2025regi does not allow: " in sentence
    assert "Spore" in sentence
    code, sentence = refused(capsys, policy, "--accept", "1")
    assert (code, "--team is missing" in sentence) == (2, True)
    assert "example_teams/goodstuff.txt, or make some with `lanista showdown teams`" in sentence


def test_games_for_a_learner_need_a_policy_folder_and_honest_sampling(
    capsys: pytest.CaptureFixture[str], policy: str, tmp_path: Path
) -> None:
    spool = ["--spool", str(tmp_path / "spool")]
    code, sentence = refused(capsys, policy, "--accept", "1", *spool)
    assert (code, "shares a policy folder with the bot" in sentence) == (2, True)
    folder = str(tmp_path / "policy")
    assert main(["policy", "publish", folder, policy]) == 0
    capsys.readouterr()
    code, sentence = refused(capsys, folder, "--accept", "1", *spool, "--greedy")
    assert (code, "sampled as the policy says; leave out --greedy" in sentence) == (2, True)
    code, sentence = refused(capsys, "heuristic", "--accept", "1", "--temperature", "2")
    assert (code, "is for policies, and heuristic is a bot" in sentence) == (2, True)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Server() as server:
        yield server.url


@needs_simulator
def test_battles_are_told_one_by_one_and_an_interrupt_ends_in_order(
    url: str, tmp_path: Path
) -> None:
    folder, spool, replays = (tmp_path / name for name in ("policy", "spool", "replays"))
    (tmp_path / "tiny.safetensors").write_bytes(tiny())
    assert main(["policy", "publish", str(folder), str(tmp_path / "tiny.safetensors")]) == 0
    words = [str(folder), "--server", url, "--accept", "5", "--team", str(TEAM)]
    words += ["--spool", str(spool), "--save-replays", str(replays)]
    program = "import sys; from lanista.cli.main import main; sys.exit(main())"
    playing = subprocess.Popen(
        [sys.executable, "-c", program, "showdown", "play", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "LANISTA_SHOWDOWN_NAME": "at the door"},
    )
    assert playing.stdout is not None
    try:
        assert "at the door plays gen9vgc2025regi" in playing.stdout.readline()
        assert playing.stdout.readline() == "Waiting for challenges to at the door.\n"
        run(challenge_twice(url))
        told = [playing.stdout.readline() for _ in range(2)]
        playing.send_signal(signal.SIGINT)
        rest = playing.stdout.read()
        assert playing.wait() == 130
    finally:
        playing.kill()
        playing.wait()
    assert [line.partition(":")[0] for line in told] == ["1 of 5", "2 of 5"]
    assert all("against knocks (p2, " in line for line in told)
    assert "No more battles; 0 in progress" in rest
    assert "2 battles: " in rest
    assert "2 games written; no problem" in rest
    assert len(list(replays.glob("at the door - battle-*.html"))) == 2
    assert len(list((spool / "new").iterdir())) == 2


async def challenge_twice(url: str) -> None:
    bot = make_bot("showdown", "heuristic", SPEC, 0)
    async with connected(bot, url, "knocks", tell=lambda words: None) as ours:
        for _ in range(2):
            for _ in range(100):
                try:
                    await ours.challenge("at the door", packed_team())
                    break
                except ServerError as error:
                    if "not found" not in str(error):
                        raise
                    await asyncio.sleep(0.1)  # It is still on its way.


@needs_simulator
def test_somebody_who_is_not_there_is_told(
    url: str, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["showdown", "play", policy, "--server", url, "--team", str(TEAM)]
    assert main([*words, "--challenge", "godot"]) == 1
    told = capsys.readouterr().err
    assert "gave no battle: The user 'godot' was not found." in told
    assert told.count("godot") == 1


@needs_simulator
def test_a_format_without_a_ladder_names_other_ways_to_battles(
    url: str, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["showdown", "play", policy, "--server", url, "--team", str(TEAM)]
    assert main([*words, "--ladder", "1"]) == 1
    told = capsys.readouterr().err
    assert told.endswith("is not ladderable; play with --challenge USER or --accept N instead.\n")


@needs_simulator
def test_players_of_one_machine_find_names_unless_they_were_given_one(
    url: str, policy: str
) -> None:
    words = [policy, "--server", url, "--team", str(TEAM), "--challenge", "godot"]
    told: list[subprocess.CompletedProcess[str]] = []

    def play(**more: str) -> None:
        env = {name: word for name, word in os.environ.items() if name != "LANISTA_SHOWDOWN_NAME"}
        command = [sys.executable, "-m", "lanista.cli.main", "showdown", "play", *words]
        told.append(
            subprocess.run(
                command, env={**env, **more}, capture_output=True, text=True, check=False
            )
        )

    async def twice() -> None:
        bot = make_bot("showdown", "heuristic", SPEC, 0)
        async with connected(bot, url, "lanista"), connected(bot, url, "lanista-2"):
            await asyncio.to_thread(play)
            await asyncio.to_thread(play, LANISTA_SHOWDOWN_NAME="lanista")

    run(twice())
    assert told[0].stdout.startswith("lanista-3 plays gen9vgc2025regi on ")
    assert told[1].stdout == ""
    assert "does not give the name 'lanista' away" in told[1].stderr
    assert told[1].stderr.endswith("set LANISTA_SHOWDOWN_NAME to another name.\n")


PUBLIC = "wss://sim3.psim.us/showdown/websocket"


@pytest.mark.parametrize(
    ("url", "meant", "used"),
    [
        (PUBLIC, None, True),
        ("ws://sim3.psim.us/showdown/websocket", None, False),
        ("wss://sim3.psim.us:444/showdown/websocket", None, False),
        ("wss://sim3.psim.us/other", None, False),
        ("wss://sim.example.org/showdown/websocket", None, False),
        ("ws://127.0.0.1:8000/showdown/websocket", None, False),
        ("ws://127.0.0.1:8000/showdown/websocket", "ws://127.0.0.1:8000", True),
        ("ws://127.0.0.1:8001/showdown/websocket", "ws://127.0.0.1:8000", False),
        ("wss://sim.example.org/showdown/websocket", "https://sim.example.org", True),
        ("ws://sim.example.org/showdown/websocket", "ws://sim.example.org", False),
        (PUBLIC, "https://sim.example.org", False),
    ],
)
def test_a_password_is_for_one_server_and_goes_in_the_open_to_none(
    url: str, meant: str | None, used: bool
) -> None:
    assert is_for(url, meant) is used


class Listening:
    """A server that gives every name away and keeps what it was sent."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def serve(self, client: websockets.ServerConnection) -> None:
        await client.send("|challstr|4|abc")
        async for message in client:
            self.heard.append(str(message))
            if "/trn" in str(message):
                name = str(message).partition("/trn ")[2].partition(",")[0]
                await client.send(f"|updateuser| {name}|1|0|{{}}")
                for _ in range(3):
                    await client.send("|challstr|4|again")
            elif "/challenge" in str(message):
                await client.send("|popup|The user 'godot' was not found.")


@needs_simulator
@pytest.mark.parametrize("named", [False, True])
def test_a_server_of_this_machine_gets_nothing_of_the_password_unless_it_is_named(
    policy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: bool
) -> None:
    asked: list[dict[str, str]] = []

    class Answer:
        text = ']{"assertion": "as good as a password"}'

    def post(url: str, data: dict[str, str], **more: object) -> Answer:
        asked.append(data)
        return Answer()

    monkeypatch.setattr("requests.post", post)
    monkeypatch.setenv("LANISTA_SHOWDOWN_NAME", "careful")
    monkeypatch.setenv("LANISTA_SHOWDOWN_PASSWORD", "hunter2")
    monkeypatch.delenv("LANISTA_SHOWDOWN_PASSWORD_SERVER", raising=False)
    listening = Listening()

    async def play() -> int:
        async with websockets.serve(listening.serve, "127.0.0.1", 0) as server:
            url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
            if named:
                monkeypatch.setenv("LANISTA_SHOWDOWN_PASSWORD_SERVER", url)
            words = ["showdown", "play", policy, "--server", url, "--team", str(TEAM)]
            return await asyncio.to_thread(main_in_child, [*words, "--challenge", "godot"])

    def main_in_child(words: list[str]) -> int:
        # A loop of its own, without the signal handlers that only a main thread may have.
        monkeypatch.setattr(_Runner, "_heed_signals", lambda self, session: None)
        return main(words)

    assert run(play()) == 1
    told = capsys.readouterr()
    assert "hunter2" not in told.out + told.err + "".join(listening.heard)
    assert [data["pass"] for data in asked] == (["hunter2"] if named else [])
    logins = [message for message in listening.heard if "/trn" in message]
    assert logins == [f"|/trn careful,0,{'as good as a password' if named else ''}"]
    assert ("LANISTA_SHOWDOWN_PASSWORD is not used" in told.err) is not named
