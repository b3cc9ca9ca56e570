"""Servers that go away: sessions go on when one comes back, and end when they are told to."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("poke_env")

from showdown_field import FORMAT, LONG, SPEC, connected, opponent, packed_team, proxied, run
from showdown_play import needs_simulator

from lanista.games.registry import make_bot
from lanista.games.showdown.formats import Format, format_named
from lanista.games.showdown.local_servers.server import Server
from lanista.games.showdown.observation.description import describe
from lanista.live.showdown.connection import ServerError
from lanista.live.showdown.player import ServerPlayer
from lanista.live.showdown.players import Fixed, Hand
from lanista.live.showdown.session import Aim, Session
from lanista.live.showdown.table import Result

pytestmark = needs_simulator
SINGLES = format_named("gen9randombattle")


class Gate:
    """Lets nobody decide in a battle before it is open."""

    def __init__(self, format: Format) -> None:
        spec = SPEC if format is FORMAT else describe(format, "mirror", "", "any")
        self.fixed = Fixed(make_bot("showdown", "heuristic", spec, 0))
        self.open = asyncio.Event()

    async def begin(self, tag: str, opponent: str, match: int | None) -> Hand:
        await self.open.wait()
        return await self.fixed.begin(tag, opponent, match)


def test_sessions_of_all_kinds_go_on_after_the_server_was_killed(tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    told: list[str] = []

    async def play() -> list[list[Result]]:
        nonlocal server
        aims = {
            "asks": (FORMAT, Aim("challenge", 2, "answers")),
            "answers": (FORMAT, Aim("accept", 2)),
            "climbs": (SINGLES, Aim("ladder", 2)),
            "falls": (SINGLES, Aim("ladder", 2)),
        }
        gates = {kind: Gate(kind) for kind in (FORMAT, SINGLES)}
        players, sessions, results = [], [], []
        for name, (format, aim) in aims.items():
            players.append(ServerPlayer(gates[format], format, server.url, name, tell=told.append))
            results.append([])
            team = packed_team() if format is FORMAT else None
            sessions.append(Session(players[-1], aim, team, results[-1].append, concurrency=2))
        accepting = asyncio.create_task(sessions[1].run())
        while not players[1].connection.logged_in.is_set():
            await asyncio.sleep(0.01)
        running = [asyncio.create_task(sessions[at].run()) for at in (0, 2, 3)]
        while not all(player.playing for player in players):
            await asyncio.sleep(0.01)
        port = server.port
        server.close()
        for gate in gates.values():
            gate.open.set()
        server = await asyncio.to_thread(Server, tmp_path / "server", port)
        await asyncio.gather(accepting, *running)
        return results

    try:
        results = run(play())
    finally:
        server.close()
    assert [len(found) for found in results] == [2, 2, 2, 2]
    for found in results:
        assert any(result.outcome is None for result in found)
    assert not [words for words in told if "does not exist" in words]
    assert sum("is not challenging you" in words for words in told) <= 1


def test_a_server_that_never_answered_is_told_at_once() -> None:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))  # Nobody listens, and nobody else can.
        url = f"ws://127.0.0.1:{line.getsockname()[1]}/showdown/websocket"
        told: list[str] = []

        async def knock() -> None:
            bot = make_bot("showdown", "heuristic", SPEC, 0)
            async with connected(bot, url, "early", tell=told.append):
                pass

        with pytest.raises(ServerError) as error:
            run(knock())
    assert str(error.value) == (
        f"Nothing answers at {url}; start a server with `lanista showdown serve`."
    )
    assert told == []


def test_somebody_else_at_the_address_is_not_taken_for_nobody() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        url = f"ws://127.0.0.1:{pages.server_port}/showdown/websocket"

        async def knock() -> None:
            async with connected(make_bot("showdown", "heuristic", SPEC, 0), url, "lost"):
                pass

        with pytest.raises(ServerError, match="is no Showdown server: "):
            run(knock())
        pages.shutdown()


@pytest.mark.parametrize("first", ["the stop", "the loss"])
def test_who_is_stopped_while_the_server_is_away_waits_no_more(
    showdown_url: str, first: str
) -> None:
    results: list[Result] = []

    async def play() -> None:
        team = packed_team()
        async with (
            opponent(showdown_url, f"thinks at {first}", team) as theirs,
            contextlib.AsyncExitStack() as held,
        ):
            theirs.choose_move = lambda battle: asyncio.Future()
            proxy: Any = await held.enter_async_context(proxied(showdown_url))
            bot = Fixed(make_bot("showdown", "heuristic", SPEC, 0))
            name = f"hurt by {first}"  # A server seats a name that returns in its old battle.
            ours = ServerPlayer(bot, FORMAT, proxy.url, name, tell=lambda words: None)
            session = Session(ours, Aim("challenge", 3, theirs.username), team, results.append)
            accepting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
            running = asyncio.create_task(session.run())
            while not ours.playing:
                await asyncio.sleep(0.01)
            if first == "the stop":
                session.interrupt()
            await held.aclose()
            if first == "the loss":
                while not ours.reconnections:
                    await asyncio.sleep(0.01)
                session.interrupt()
            await asyncio.wait_for(running, LONG)
            accepting.cancel()

    run(play())
    assert [result.outcome for result in results] == [None]


def test_words_that_are_not_about_the_challenge_do_not_end_it(showdown_url: str) -> None:
    told: list[str] = []

    async def play() -> None:
        bot = make_bot("showdown", "heuristic", SPEC, 0)
        async with (
            proxied(showdown_url) as proxy,
            connected(bot, proxy.url, "distracted", tell=told.append) as ours,
            opponent(showdown_url, "ready", packed_team()) as theirs,
        ):
            planted = iter(["|popup|Please read the rules."])

            def interrupt(message: str) -> str:
                return next(planted, message) if "wants to battle" in message else message

            proxy.inward = interrupt
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
            assert (await ours.challenge(theirs.username, packed_team())).outcome is not None
            await waiting

    run(play())
    assert told == ["The server says: Please read the rules."]
