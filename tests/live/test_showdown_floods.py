"""Servers that send more than any battle brings: memory stays bounded, and a sentence says why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

pytest.importorskip("poke_env")

import websockets
from showdown_field import FORMAT

from lanista.games.contract import GameError
from lanista.live.showdown.battle import Battle
from lanista.live.showdown.limits import LONGEST_LINE, LONGEST_REQUEST, MOST_TALK, MOST_WORDS

NAME = "in the flood"
MOST_SENT = 1 << 30
"""Bytes after which a server stops by itself: whoever keeps them all is found out."""
MOST_GROWTH = 700 << 20
"""Bytes by which a player may grow; what it keeps of battles is bounded by 256 MiB of text."""
PIECE = 1 << 20
Flood = Callable[[int], str]
"""Returns a server's next message, by its number."""

CHILD = """
import asyncio, resource, sys
from lanista.games.registry import make_bot
from lanista.games.showdown.observation.description import describe
from lanista.games.showdown.formats import format_named
from lanista.live.showdown.connection import ServerError
from lanista.live.showdown.player import ServerPlayer
from lanista.live.showdown.players import Fixed

FORMAT = format_named("gen9vgc2025regi")
bot = make_bot("showdown", "heuristic", describe(FORMAT, "mirror", "", "any"), 0)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

async def play():
    lost, told = asyncio.Event(), []
    def tell(sentence):
        told.append(sentence)
        if "is lost" in sentence:
            lost.set()
    ours = ServerPlayer(Fixed(bot), FORMAT, sys.argv[1], sys.argv[2], tell=tell)
    before = peak()
    try:
        await ours.connect()
        waits = asyncio.create_task(ours.accept("a team"))
        ends = asyncio.create_task(lost.wait())
        await asyncio.wait((waits, ends), return_when=asyncio.FIRST_COMPLETED)
        if waits.done():
            waits.result()
    except ServerError as error:
        print(error)
    finally:
        await ours.close()
        print(len(told))
        print((peak() - before) << 10)

asyncio.run(play())
"""


@contextmanager
def flooding(flood: Flood, most: int) -> Iterator[tuple[str, list[int]]]:
    """Run a server that floods whoever logs in; give its address and the bytes it got rid of."""
    sent, ready, stop = [0], threading.Event(), threading.Event()
    address: list[str] = []

    async def serve(client: websockets.ServerConnection) -> None:
        with suppress(websockets.ConnectionClosed):
            await client.send("|challstr|4|abc")
            while "/trn" not in str(await client.recv()):
                pass
            await client.send(f"|updateuser| {NAME}|1|0|{{}}")
            number = 0
            while sent[0] < most and not stop.is_set():
                message = flood(number)
                await client.send(message)
                sent[0] += len(message)
                number += 1

    async def listen() -> None:
        async with websockets.serve(serve, "127.0.0.1", 0, compression=None) as listening:
            port = next(iter(listening.sockets)).getsockname()[1]
            address.append(f"ws://127.0.0.1:{port}/showdown/websocket")
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(listen()))
    thread.start()
    try:
        assert ready.wait(60)
        yield address[0], sent
    finally:
        stop.set()
        thread.join()


def flooded(flood: Flood, most: int = MOST_SENT) -> tuple[list[str], int, int, int]:
    """Return what a player says, how often it told something, its growth, and what was sent."""
    with flooding(flood, most) as (url, sent):
        ran = subprocess.run(
            [sys.executable, "-c", CHILD, url, NAME],
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert ran.stderr == ""
    *said, told, growth = ran.stdout.splitlines()
    return [line.replace(url, "URL") for line in said], int(told), int(growth), sent[0]


def piece(line: str, room: str = "") -> str:
    return room + "\n".join([line] * (PIECE // (len(line) + 1)))


def test_lines_of_a_battle_beyond_any_battle_end_the_connection() -> None:
    room = f">battle-{FORMAT.name}-1\n"
    lines = piece(f"|-message|{'x' * 80}", room)
    said, _, growth, sent = flooded(lambda number: lines if number else f"{room}|init|battle")
    assert said == [
        f"URL is given up: it sent more than 64 MiB in the battle battle-{FORMAT.name}-1."
    ]
    assert sent < MOST_SENT
    assert growth < MOST_GROWTH


def test_battles_beyond_counting_end_the_connection() -> None:
    lines = piece(f"|-message|{'x' * 80}")[: PIECE // 8]

    def begin(number: int) -> str:
        return f">battle-{FORMAT.name}-{number}\n|init|battle\n{lines}"

    said, _, growth, sent = flooded(begin)
    assert said == ["URL is given up: it began more than 256 battles that nobody asked for."]
    assert sent < MOST_SENT
    assert growth < MOST_GROWTH


def test_battles_that_take_too_much_together_end_the_connection() -> None:
    lines = piece(f"|-message|{'x' * 200}")

    def begin(number: int) -> str:
        room = f">battle-{FORMAT.name}-{number // 20}\n"
        return room + ("|init|battle" if number % 20 == 0 else lines)

    said, _, growth, _ = flooded(begin)
    assert said == ["URL is given up: its battles take more than 256 MiB."]
    assert growth < MOST_GROWTH


def test_a_message_that_is_too_long_ends_the_connection() -> None:
    said, _, growth, _ = flooded(lambda number: piece("|x") * 3)
    assert said == ["URL is given up: it sent a message of more than 2 MiB."]
    assert growth < MOST_GROWTH


@pytest.mark.slow
def test_what_nobody_needs_is_dropped_without_end() -> None:
    """Anybody on a server can talk, challenge and send messages, so it ends nothing."""
    room = f">battle-{FORMAT.name}-1\n"
    long = "y" * 500_000

    def one(number: int) -> str:
        messages = (
            piece(f"|c|Eve|{'x' * 200}", room),
            "\n".join(["|popup|Good day."] * 100),
            f"|popup|rejected {number} {long}",
            f"|pm| Eve{number}| {NAME}|/challenge {FORMAT.name}|{FORMAT.name}|||",
            f"|pm| Eve{number}{long}| {NAME}|/challenge {FORMAT.name}|{FORMAT.name}|||",
            f">lobby\n{long}",
            f">battle-{number}{long}\n|init|battle\n|x",
            f"|challstr|4|{number}",
        )
        return f"{room}|init|battle" if number == 0 else messages[number % len(messages)]

    most = 256 << 20
    said, told, growth, sent = flooded(one, most)
    assert (said, sent >= most) == ([], True)
    assert told == MOST_WORDS + 2
    assert growth < most // 2


def test_a_battle_keeps_some_talk_and_all_of_its_own_lines() -> None:
    battle = Battle("battle-1", FORMAT, "Ann")
    said = f"|c|Eve|{'x' * 1_000}"
    for _ in range(1_000):
        battle.take([said, f"|uhtml|x|{'y' * LONGEST_LINE}", "|turn|1"])
    assert battle.log.count("|turn|1") == 1_000
    assert 100 <= battle.log.count(said) <= MOST_TALK // len(said)
    assert set(battle.log) == {"|turn|1", said}


def test_lines_and_requests_longer_than_any_give_the_battle_up() -> None:
    battle = Battle("battle-1", FORMAT, "Ann")
    with pytest.raises(GameError, match=f"A line .* longer than {LONGEST_LINE:,} letters"):
        battle.take([f"|switch|p1a: {'x' * LONGEST_LINE}"])
    with pytest.raises(GameError, match=f"A request .* longer than {LONGEST_REQUEST:,} letters"):
        battle.take([f"|request|{' ' * LONGEST_REQUEST}"])
    assert battle.log == []


def test_a_battle_that_was_given_up_is_asked_nothing_more_but_hears_its_end() -> None:
    battle = Battle("battle-1", FORMAT, "Ann")
    battle.take(["|player|p1|Ann|1|", "|player|p2|Bob|1|", "|turn|1"])
    battle.broken = "the player was stopped"
    heard = battle.take([f"|{'x' * LONGEST_LINE}", "|request|no JSON", "|-message|Ann forfeited."])
    assert (heard.request, heard.ended) == (None, False)
    assert battle.log[-1] == "|-message|Ann forfeited."
    assert battle.take(["|win|Bob"]).ended
    assert (battle.outcome, battle.log[-1]) == (-1.0, "|win|Bob")
