"""A bot whose learner is elsewhere: it plays on, keeps its games, sends each until it is safe."""

from __future__ import annotations

import hashlib
import json
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from served import TOKEN, Served, self_signed, served, until
from toy import folder_of, policy_bytes, view

from lanista.errors import LanistaError, RefusedError
from lanista.live import Agent
from lanista.live.agent import courier, server_connection
from lanista.live.agent.server_connection import Address, ServerConnection
from lanista.live.files.game_file import read
from lanista.live.files.spool import Spool


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for the pauses of the real thing."""
    monkeypatch.setattr(courier, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(courier, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(courier, "LONGEST_PAUSE", 0.1)


def bot(path: Path, address: str, **given: Any) -> Agent:
    given = {"token": TOKEN} | given
    return Agent(path / "copy", path / "outbox", server=address, **given)


def play(agent: Agent, *names: str) -> None:
    for name in names:
        game = agent.game(name)
        game.act(view(0))
        game.reward(1.0)
        game.end(1)


def outbox(path: Path) -> list[Path]:
    return Spool(path / "outbox").waiting()


def copied(path: Path) -> set[str]:
    """Return the policies in a bot's copy."""
    return {one.stem for one in (path / "copy" / "policies").glob("*.safetensors")}


def arrived(server: Served) -> set[str]:
    return {read(path).header.game_id for path in server.spool.waiting()}


def free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port: int = line.getsockname()[1]
        return port


# Games.


def test_games_arrive_and_leave_the_bot_when_they_are_safe(tmp_path: Path) -> None:
    with served(tmp_path / "there") as server, bot(tmp_path, server.address) as agent:
        play(agent, "one", "two", "three")
        until(lambda: agent.report().server.sent == 3)
        assert arrived(server) == {"one", "two", "three"}
        assert outbox(tmp_path) == []
        assert agent.report().server.waiting == 0


def test_a_bot_plays_on_while_the_server_is_away_and_sends_its_games_later(tmp_path: Path) -> None:
    port = free_port()
    with served(tmp_path / "there", port=port) as server:
        agent = bot(tmp_path, server.address)
        play(agent, "before")
        until(lambda: agent.report().server.sent == 1)
    play(agent, "while it is away", "still away")
    until(lambda: agent.report().server.failures > 2 and len(outbox(tmp_path)) == 2)
    assert "cannot be reached" in agent.report().server.problem
    with served(tmp_path / "there", port=port) as server:
        until(lambda: agent.report().server.sent == 3)
        assert arrived(server) == {"before", "while it is away", "still away"}
        assert agent.report().server.failures == 0
        agent.close()


def test_games_of_an_earlier_start_are_sent_by_the_next_one(tmp_path: Path) -> None:
    port = free_port()
    with served(tmp_path / "there", port=port) as server:
        bot(tmp_path, server.address).close()
    with bot(tmp_path, f"http://127.0.0.1:{port}") as agent:
        play(agent, "kept")
    assert agent.report().games.written == 1
    with served(tmp_path / "there", port=port) as server, bot(tmp_path, server.address) as agent:
        until(lambda: agent.report().server.sent == 1)
        assert arrived(server) == {"kept"}


def test_closing_sends_what_waits(tmp_path: Path) -> None:
    with served(tmp_path / "there") as server:
        agent = bot(tmp_path, server.address)
        play(agent, *(f"game {number}" for number in range(20)))
        report = agent.close()
        assert report.server.sent == 20
        assert len(arrived(server)) == 20


def test_a_game_that_was_confirmed_and_not_yet_removed_is_sent_again_and_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path / "there") as server, bot(tmp_path, server.address) as agent:
        with monkeypatch.context() as patch:
            # As if the bot was killed just then.
            patch.setattr(courier.Path, "unlink", lambda *_, **__: None)
            play(agent, "twice")
            until(lambda: agent.report().server.repeated >= 2)
        until(lambda: outbox(tmp_path) == [])
        assert len(server.spool.waiting()) == 1
        assert server.status()["received"] == 1


def test_a_file_that_is_no_game_is_set_aside_with_the_servers_reason(tmp_path: Path) -> None:
    with served(tmp_path / "there") as server, bot(tmp_path, server.address) as agent:
        (tmp_path / "outbox" / "new" / "odd.npz").write_bytes(b"no game")
        (tmp_path / "outbox" / "new" / "link.npz").symlink_to(tmp_path / "there")
        play(agent, "good")
        until(lambda: agent.report().server.refused == 2 and agent.report().server.sent == 1)
        bad = Spool(tmp_path / "outbox").bad
        assert "npz" in (bad / "odd.npz.reason.txt").read_text()
        assert (bad / "odd.npz").read_bytes() == b"no game"
        assert (bad / "link.npz").is_symlink()
        assert arrived(server) == {"good"}


def test_a_wrong_token_loses_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "there") as server:
        bot(tmp_path, server.address).close()
        with bot(tmp_path, server.address, token="wrong") as agent:
            play(agent, "kept")
            until(lambda: "401" in agent.report().server.problem)
        assert len(outbox(tmp_path)) == 1
        with bot(tmp_path, server.address) as agent:
            until(lambda: agent.report().server.sent == 1)


def test_two_bots_share_an_outbox_and_one_of_them_sends(tmp_path: Path) -> None:
    with served(tmp_path / "there") as server, bot(tmp_path, server.address) as first:
        play(first, "first")
        until(lambda: first.report().server.sent == 1)
        with bot(tmp_path, server.address) as second:
            play(second, "second")
            until(lambda: first.report().server.sent == 2)
            assert "Another process" in second.report().server.problem
            assert second.report().server.failures == 0
        assert arrived(server) == {"first", "second"}


# Servers that are none.


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Run a server that answers everything alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def says(status: int, body: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>Log in to this network</html>"),
        (201, b"{}"),
        (201, json.dumps({"sha256": "0" * 64}).encode()),
        (422, b"<html>no</html>"),
        (404, b'{"error": "nothing here"}'),
        (500, b""),
        (302, b""),
        (200, b"x" * 100_000),
    ],
)
def test_an_answer_of_anybody_else_is_no_receipt(status: int, body: bytes, tmp_path: Path) -> None:
    with served(tmp_path / "there") as server:
        bot(tmp_path, server.address).close()
    with answering(says(status, body, Location="http://127.0.0.1:1/")) as address:
        with bot(tmp_path, address) as agent:
            play(agent, "kept")
            until(lambda: agent.report().server.failures > 1 and outbox(tmp_path))
            # Not even if it had told the bot which policy plays.
            with pytest.raises(LanistaError):
                ServerConnection(Address.of(address), TOKEN).send(outbox(tmp_path)[0].read_bytes())
        assert len(outbox(tmp_path)) == 1
        assert agent.report().server.sent == agent.report().server.refused == 0
        assert not Spool(tmp_path / "outbox").refused()


def test_a_decision_never_waits_for_a_server_that_does_not_answer(tmp_path: Path) -> None:
    folder_of(tmp_path / "there" / "policy")
    with served(tmp_path / "there") as server:
        bot(tmp_path, server.address).close()
    silent = threading.Event()
    with answering(lambda _: (silent.wait(60), None)[1]) as address:
        agent = bot(tmp_path, address, token=TOKEN)
        play(agent, *(f"game {number}" for number in range(5)))
        until(lambda: agent.report().games.written == 5)
        # Nothing was answered, and yet all were played and written.
        assert agent.report().server.sent == 0
        assert agent._courier._thread.is_alive()
        agent.close(0.01)
        silent.set()
    assert len(outbox(tmp_path)) == 5


# Policies.


def test_a_bot_follows_the_policy_of_its_server(tmp_path: Path) -> None:
    with served(tmp_path / "there") as server, bot(tmp_path, server.address) as agent:
        first = server.folder.pointer().stable
        assert agent.report().stable == first
        second = server.folder.publish(server.folder.add(policy_bytes(1))).stable
        until(lambda: agent._current.lineup(1.0).pointer.stable == second)
        third = server.folder.add(policy_bytes(2))
        server.folder.try_out(third, 0.5)
        until(lambda: agent._current.lineup(1.0).pointer.candidate == third)
        copy = tmp_path / "copy"
        assert (copy / "current.json").read_bytes() == (
            server.folder.folder / "current.json"
        ).read_bytes()
        until(lambda: copied(tmp_path) == {second, third})
        for path in (copy / "policies").iterdir():
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
        assert first not in {second, third}
        assert agent.report().server.policies == 3


def test_an_unchanged_policy_is_asked_for_and_not_sent_again(tmp_path: Path) -> None:
    with served(tmp_path / "there") as server:
        for _ in range(2):
            with bot(tmp_path, server.address) as agent:
                play(agent, "game")
                until(lambda agent=agent: agent.report().server.sent)  # type: ignore[misc]
        assert agent.report().server.policies == 0


def test_a_policy_that_arrives_damaged_is_not_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path / "there") as server, bot(tmp_path, server.address) as agent:
        first = server.folder.pointer().stable
        second = server.folder.add(policy_bytes(1))
        whole = server.folder.path_of(second).read_bytes()
        server.folder.publish(second)
        server.folder.path_of(second).write_bytes(whole[:-1] + b"?")
        until(lambda: "not the policy" in agent.report().server.problem)
        play(agent, "played on")
        assert agent.report().stable == first
        assert copied(tmp_path) == {first}
        server.folder.path_of(second).write_bytes(whole)
        until(lambda: agent._current.lineup(1.0).pointer.stable == second)


def test_a_damaged_copy_is_fetched_again_at_the_start(tmp_path: Path) -> None:
    with served(tmp_path / "there") as server:
        bot(tmp_path, server.address).close()
        (path,) = (tmp_path / "copy" / "policies").iterdir()
        path.write_bytes(b"damaged")
        with bot(tmp_path, server.address) as agent:
            assert agent.report().server.policies == 1
        (tmp_path / "copy" / "current.json").write_text("{}")
        bot(tmp_path, server.address).close()


def test_a_candidate_that_the_server_has_lost_does_not_hold_up_the_stable_policy(
    tmp_path: Path,
) -> None:
    with served(tmp_path / "there") as server, bot(tmp_path, server.address) as agent:
        second = server.folder.publish(server.folder.add(policy_bytes(1))).stable
        lost = server.folder.add(policy_bytes(2))
        server.folder.try_out(lost, 0.5)
        server.folder.path_of(lost).unlink()
        until(lambda: agent._current.lineup(1.0).pointer.candidate == lost)
        game = agent.game("played by the stable one")
        assert game.policy == second
        game.end(0)


def test_without_a_copy_and_without_a_server_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(LanistaError, match=r"http://127.0.0.1:\d+ cannot be reached"):
        bot(tmp_path, f"http://127.0.0.1:{free_port()}")


def test_a_policy_folder_of_ones_own_is_never_overwritten(tmp_path: Path) -> None:
    folder_of(tmp_path / "copy", seed=5)
    before = (tmp_path / "copy" / "current.json").read_bytes()
    with served(tmp_path / "there") as server, pytest.raises(RefusedError, match="of its own"):
        bot(tmp_path, server.address)
    assert (tmp_path / "copy" / "current.json").read_bytes() == before


# How it is asked for.


def test_folders_need_not_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with served(tmp_path / "there") as server, Agent(server=server.address, token=TOKEN) as agent:
        play(agent, "one")
    assert (tmp_path / "live-bot" / "policy" / "current.json").is_file()
    assert agent.report().server.sent == 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"server": "learner.example"}, "A server is 'learner.example'"),
        ({"server": "ftp://learner"}, "A server is"),
        ({"server": "http://name:word@learner"}, "A server is"),
        ({"server": "http://learner:port"}, "A server is"),
        ({"server": "http://127.0.0.1:1", "token": None}, "needs its token"),
        ({"server": "http://127.0.0.1:1", "token": "a\nb"}, "token is no text"),
        ({"policy_folder": "p", "spool_folder": "s"}, "but no server"),
        ({"server": None, "token": None}, "needs a policy folder and a spool"),
        ({"server": "https://127.0.0.1:1", "certificate": "nowhere.pem"}, "no certificate"),
        ({"server": "https://127.0.0.1:1", "certificate": __file__}, "no certificate to trust"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LanistaError, match=sentence):
        Agent(**({"token": "t"} | given))


def test_an_address_may_have_a_path_and_a_host_of_numbers() -> None:
    assert str(Address.of("https://learner.example/lanista/")) == "https://learner.example/lanista"
    assert str(Address.of("http://[::1]:80")) == "http://[::1]:80"


def test_an_unencrypted_server_elsewhere_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_connection, "SECONDS", 0.01)
    with caplog.at_level(logging.WARNING, "lanista.live"), pytest.raises(LanistaError):
        bot(tmp_path, "http://192.0.2.1")
    assert "not encrypted" in caplog.text
    assert TOKEN not in caplog.text


def test_tls_needs_a_certificate_that_is_trusted(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path / "tls")
    with served(tmp_path / "there", certificate=certificate) as server:
        assert server.address.startswith("https://")
        with pytest.raises(LanistaError, match="cannot be reached"):
            bot(tmp_path, server.address)
        with bot(tmp_path, server.address, certificate=certificate.certificate) as agent:
            play(agent, "one")
        assert agent.report().server.sent == 1


def test_a_certificate_for_another_name_is_not_trusted(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path / "tls")
    with served(tmp_path / "there", certificate=certificate) as server:
        other = server.address.replace("127.0.0.1", "127.0.0.2")
        with pytest.raises(LanistaError, match="cannot be reached"):
            bot(tmp_path, other, certificate=certificate.certificate)


def test_a_bot_with_a_server_needs_neither_torch_nor_a_web_server() -> None:
    program = (
        "import sys, lanista.live; sys.exit(any(name in sys.modules for name in "
        "('torch', 'starlette', 'uvicorn')))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_pauses_grow_while_the_server_is_away_and_end_when_the_agent_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier, "_FIRST_PAUSE", 1000.0)
    monkeypatch.setattr(courier, "LONGEST_PAUSE", 1000.0)
    with served(tmp_path / "there") as server:
        agent = bot(tmp_path, server.address)
    until(lambda: agent.report().server.failures)
    failures = agent.report().server.failures
    play(agent, "no reason to try at once")
    time.sleep(0.2)
    assert agent.report().server.failures == failures
    agent.close()
    assert not agent._courier._thread.is_alive()
