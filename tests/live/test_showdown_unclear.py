"""A server that refuses in words nobody knows is not waited for without end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

pytest.importorskip("poke_env")

import websockets

from lanista.cli.main import main
from lanista.games.registry import make_bot
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.live.showdown.connection import ServerError
from lanista.live.showdown.player import ServerPlayer
from lanista.live.showdown.players import Fixed
from lanista.live.showdown.unclear import UnclearAnswer, UnclearWords

FORMAT = format_named("gen9vgc2025regi")
SOON = 0.2


def serving(reply: str) -> Callable[..., Awaitable[None]]:
    """Return a server that greets whoever logs in, and answers a wish for a battle so."""

    async def serve(client: websockets.ServerConnection) -> None:
        await client.send("|challstr|4|abc")
        async for message in client:
            if "/trn" in str(message):
                name = str(message).partition("/trn ")[2].partition(",")[0]
                await client.send(f"|updateuser| {name}|1|0|{{}}")
                await client.send("|popup|Welcome, and mind the step.")
            elif "/challenge" in str(message) or "/search" in str(message):
                await client.send(reply)

    return serve


async def asking(reply: str, way: str) -> list[str]:
    """Ask such a server for a battle; return what the user was told."""
    told: list[str] = []
    bot = make_bot("showdown", "heuristic", describe(FORMAT, "mirror", "", "any"), 0)
    async with websockets.serve(serving(reply), "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        ours = ServerPlayer(Fixed(bot), FORMAT, url, "ours", patience=SOON, tell=told.append)
        try:
            await ours.connect()
            await (ours.challenge("godot", "a team") if way == "challenge" else ours.search("it"))
        except ServerError as error:
            told.append(str(error).replace(url, "URL"))
        finally:
            await ours.close()
    return told


@pytest.mark.parametrize("way", ["challenge", "search"])
@pytest.mark.parametrize("kind", ["|popup|", "|pm| ours| godot|/error "])
def test_a_refusal_in_unknown_words_ends_with_them(way: str, kind: str) -> None:
    told = asyncio.run(asking(f"{kind}The moon is in the wrong house.", way))
    assert told == [
        "The server says: Welcome, and mind the step.",
        "The server says: The moon is in the wrong house.",
        "URL gave no battle in 0.2 s after it said: The moon is in the wrong house.",
    ]


def test_a_refusal_in_known_words_is_still_told_at_once() -> None:
    told = asyncio.run(asking("|popup|The user 'godot' was not found.", "challenge"))
    assert told[-1] == "URL gave no battle: The user 'godot' was not found."


def test_only_words_after_asking_count_and_the_first_of_them_are_told() -> None:
    async def heard(*steps: str) -> list[UnclearWords]:
        given_up: list[UnclearWords] = []
        answer = UnclearAnswer(0.0, given_up.append)
        for step in steps:
            if step == "ask":
                answer.asked()
            elif step == "settle":
                answer.settled()
            else:
                answer.heard(step)
        await asyncio.sleep(0.01)
        return given_up

    assert asyncio.run(heard("hello")) == []
    assert asyncio.run(heard("hello", "ask")) == []
    assert asyncio.run(heard("ask", "no", "really")) == ["no"]
    assert asyncio.run(heard("ask", "no", "settle")) == []
    assert asyncio.run(heard("ask", "no", "settle", "later")) == []
    assert asyncio.run(heard("ask", "no", "ask", "never")) == ["never"]


@pytest.mark.parametrize("seconds", ["0", "-1", "inf", "nan"])
def test_a_timeout_that_is_none_is_refused(
    seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["showdown", "play", "random", "--server", "ws://127.0.0.1:9", "--accept", "1"]
    assert main([*words, f"--answer-timeout={seconds}"]) == 2
    assert "--answer-timeout is" in capsys.readouterr().err
