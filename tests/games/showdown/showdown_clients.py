"""Two players on a real Showdown server: they choose at random and keep all they were told."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from showdown_play import pick
from websockets.asyncio.client import ClientConnection, connect

from lanista.games.showdown.local_servers.server import Server
from lanista.games.showdown.sim.battles import Setup
from lanista.games.showdown.sim.views import SEATS, Request
from lanista.games.streams import Stream

NAMES = ("Player 1", "Player 2")
"""Those that the worker gives, so that no line differs by a name."""
LONG = 900.0
"""Seconds after which a file that should be there is said not to be."""

Event = tuple[tuple[str, ...], Request | None]
"""What a player was told: lines, and the request after them (None at the end)."""


@dataclass
class Recorded:
    """One battle on a server."""

    room: str
    events: list[list[Event]] = field(default_factory=lambda: [[] for _ in range(SEATS)])
    """By seat."""
    choices: list[list[str]] = field(default_factory=lambda: [[] for _ in range(SEATS)])
    """By seat: what was sent, also what the server refused."""
    taken: list[list[str]] = field(default_factory=lambda: [[] for _ in range(SEATS)])
    """By seat: what was sent and not refused, one for each of its lines in the input log."""
    refused: int = 0
    """How many choices could not be taken, where the request had said "maybe"."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What the server wrote of it."""
    file: Path = Path()
    """Where it did."""

    def setup(self) -> Setup:
        """Return the battle for the worker, as the server's input log has it.

        Where Imprison disables every move unseen, the log has `move struggle`, which the simulator
        takes from nobody: what was sent stands in its place.
        """
        start, first, second, *rest = self.kept["inputLog"]
        began = json.loads(start.removeprefix(">start "))
        players = [
            json.loads(line.removeprefix(f">player p{seat + 1} "))
            for seat, line in enumerate((first, second))
        ]
        keys = {key: tuple(each.get(key) for each in players) for key in ("team", "seed")}
        teams: Any = keys["team"] if all(keys["team"]) else None
        seeds: Any = None if teams else keys["seed"]
        sent, choices = [iter(texts) for texts in self.taken], []
        for line in rest:
            seat = _seat(line)
            text = next(sent[seat])
            choices.append((seat, text if "move struggle" in line else line[4:]))
        assert [*sent[0], *sent[1]] == [], "every choice that was taken is in the log"
        return Setup(0, began["formatid"], began["seed"], teams, seeds, tuple(choices))


def _seat(line: str) -> int:
    """Return whose choice a line of an input log is; nobody else's words may be there."""
    assert line[:4] in (">p1 ", ">p2 "), line
    return int(line[2]) - 1


@dataclass
class Client:
    """One player's connection."""

    seat: int
    socket: ClientConnection

    async def say(self, text: str, room: str = "") -> None:
        await self.socket.send(f"{room}|{text}")

    async def messages(self) -> Any:
        """Yield (room, line) without end."""
        async for message in self.socket:
            first, *rest = str(message).split("\n")
            room = first[1:] if first.startswith(">") else ""
            for line in rest if room else [first, *rest]:
                yield room, line

    async def until(self, *wanted: str) -> str:
        """Read up to the first line that holds all of `wanted`; return its room."""
        async for room, line in self.messages():
            if line.startswith("|popup|"):
                raise AssertionError(line)
            if all(word in line for word in wanted):
                return str(room)
        raise AssertionError(f"the server hung up before it said {wanted}")

    async def play(self, recorded: Recorded, format: str, stream: Stream) -> None:
        """Choose at random until the battle is over."""
        events, choices = recorded.events[self.seat], recorded.choices[self.seat]
        lines: list[str] = []
        async for room, line in self.messages():
            if room != recorded.room:
                continue
            if line.startswith("|request|"):
                request = json.loads(line[9:])
                events.append((tuple(lines), request))
                lines = []
                if not request.get("wait"):
                    choices.append(pick(format, request, stream))
                    recorded.taken[self.seat].append(choices[-1])
                    await self.say(f"/choose {choices[-1]}|{request['rqid']}", room)
            elif line.startswith("|error|"):
                assert line.startswith("|error|[Unavailable choice]"), line
                recorded.refused += 1
                recorded.taken[self.seat].pop()
            else:
                lines.append(line)
                if line.startswith("|win|") or line == "|tie":
                    events.append((tuple(lines), None))
                    return


async def _log_in(server: Server, seat: int) -> Client:
    client = Client(seat, await connect(server.url, max_size=None))
    await client.until("|challstr|")
    await client.say(f"/trn {NAMES[seat]},0,")
    await client.until("|updateuser|", NAMES[seat])
    return client


async def _battle(
    server: Server, clients: Sequence[Client], format: str, teams: Sequence[str], stream: Stream
) -> Recorded:
    first, second = clients
    for client, team in zip(clients, teams, strict=True):
        await client.say(f"/utm {team}")
    await first.say(f"/challenge {NAMES[1]}, {format}")
    await second.until("|pm|", f"/challenge {format}")
    await second.say(f"/accept {NAMES[0]}")
    rooms = [await client.until("|init|battle") for client in clients]
    assert rooms[0] == rooms[1]
    recorded = Recorded(rooms[0])
    draws = [Stream.keyed(stream.next_word(), seat, 0, "act") for seat in range(SEATS)]
    await asyncio.gather(*(one.play(recorded, format, draws[one.seat]) for one in clients))
    # First the file: that players leave would be in it.
    recorded.file, recorded.kept = await _kept(server.folder, recorded.room)
    for client in clients:
        await client.say("/noreply /leave", recorded.room)
    return recorded


async def _kept(folder: Path, room: str) -> tuple[Path, dict[str, Any]]:
    """Return what the server kept of a battle, once it has written it."""
    last = time.monotonic() + LONG
    name = f"{room.removeprefix('battle-')}.log.json"
    while time.monotonic() < last:
        for path in folder.glob(f"logs/*/*/*/{name}"):
            text = path.read_text(encoding="utf-8")
            if text.endswith("}"):
                return path, json.loads(text)
        await asyncio.sleep(0.02)
    raise AssertionError(f"the server wrote no {name}")


def play_on(
    server: Server, format: str, teams: Iterable[Sequence[str]], seed: int
) -> list[Recorded]:
    """Play a battle for each pair of packed teams ("" where the format makes them)."""

    async def all_of_them() -> list[Recorded]:
        clients = [await _log_in(server, seat) for seat in range(SEATS)]
        try:
            stream = Stream.keyed(seed, 0, 0, "chance")
            return [await _battle(server, clients, format, pair, stream) for pair in teams]
        finally:
            for client in clients:
                await client.socket.close()

    return asyncio.run(all_of_them())
