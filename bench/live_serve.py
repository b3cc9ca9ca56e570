"""A thousand bots and one server on this machine: requests a second, memory, and what a bot waits.

Bots are couriers as agents have them, a thread each in two processes, every one with an outbox and
a copy of the policy of its own. The server is the command, in a process of its own; everything goes
over loopback. What a server adds to a decision is measured on an agent that plays and sends: while
the thousand send too, and again when they are done.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.live import _bare, _published, _quantiles, _stopwatch, _views
from bench.view import Server
from lanista.live import Agent
from lanista.live.agent.courier import Courier
from lanista.live.agent.server_connection import Address, ServerConnection
from lanista.live.files.game_file import GameFile, encode, read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool

Line = dict[str, Any]
ROOT = Path(__file__).parents[1]
BOTS, PROCESSES = 1000, 2
GAMES, STEPS = 10, 100
"""Of each bot, and of a game."""
POLLS = 5000
ROUNDS = 8
"""Of games with a server and without, in turns."""


def live_serve() -> Iterator[Line]:
    """Yield lines for a thousand bots that send, what a decision costs meanwhile, for bots that
    ask, and what a decision costs afterwards."""
    logging.getLogger("lanista.live").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="lanista-bench-") as name:
        folder = Path(name)
        (folder / "there").mkdir()
        _published(folder / "there" / "policy")
        game = _one_game(folder)
        with served(folder / "there") as (server, token):
            yield from _thousand(folder, server, token, game)
            yield _asked(server, token)
            pair = Pair(folder, server, token, "afterwards")
            for _ in range(2 * ROUNDS):
                pair.play()
            yield pair.closed_line("live serve decision")


@contextmanager
def served(folder: Path) -> Iterator[tuple[Server, str]]:
    """Serve a folder by the command while the block runs; give the server and its token."""
    command = [sys.executable, "-m", "lanista", "live", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split(";")[0]
        token = (folder / "server" / "token").read_text(encoding="utf-8").strip()
        yield Server(process, address), token
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _one_game(folder: Path) -> GameFile:
    """Return a game of the arena as an agent writes it."""
    with Agent(folder / "there" / "policy", folder / "first") as agent:
        game = agent.game("one")
        views = _views(game._decider)
        for step in range(STEPS):
            game.act(views[step % len(views)])
            game.reward(0.5)
        game.end(1.0)
    (path,) = Spool(folder / "first").waiting()
    return read(path)


def _thousand(folder: Path, server: Server, token: str, game: GameFile) -> Iterator[Line]:
    """Let all bots send what they have at once, while two agents play."""
    pair = Pair(folder, server, token, "meanwhile")
    size = 0
    for bot in range(BOTS):
        spool = Spool(folder / "bots" / str(bot) / "spool")
        spool.create()
        for number in range(GAMES):
            header = replace(game.header, game_id=f"{bot}/{number}", play=f"{bot:08x}{number:08x}")
            data = encode(replace(game, header=header))
            (spool.new / f"{number}.npz").write_bytes(data)
            size += len(data)
    share = BOTS // PROCESSES
    command = [sys.executable, "-m", "bench.live_serve", server.address, token]
    clients = [
        subprocess.Popen(
            [*command, str(folder / "bots"), *map(str, (number * share, share, GAMES))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    fetched = [json.loads(_line_of(client)) for client in clients]
    spent, began = server.cpu_seconds(), time.monotonic()
    for client in clients:
        assert client.stdin is not None
        client.stdin.write("go\n")
        client.stdin.close()
    with ThreadPoolExecutor(PROCESSES) as pool:
        answers = [pool.submit(_answer, client, server) for client in clients]
        pair.play_until(lambda: all(answer.done() for answer in answers))
    sent = [json.loads(answer.result()[0]) for answer in answers]
    seconds = max(answer.result()[1] for answer in answers) - began
    cpu = max(answer.result()[2] for answer in answers) - spent
    assert all(client.wait() == 0 for client in clients)
    decision = pair.closed_line("live serve decision while all send")
    arrived = len(Spool(folder / "there" / "spool").waiting()) - decision["sent"]
    assert arrived == BOTS * GAMES, f"{arrived} games arrived"
    took = np.concatenate([np.array(one["milliseconds"]) for one in sent])
    requests = sum(one["requests"] for one in sent)
    yield {
        "bench": "live serve", "bots": BOTS, "games": arrived,
        "bytes_of_a_game": size // arrived,
        "seconds": round(seconds, 1), "games_per_second": round(arrived / seconds),
        "requests": requests, "requests_per_second": round(requests / seconds),
        "put_off": sum(one["put_off"] for one in sent),
        "server_cpu_ms_per_game": round(1000 * cpu / arrived, 2),
        "server_mib": round(server.peak_mib(), 1),
        "upload_ms": _quantiles(took),
        "policies_fetched_per_second": round(sum(one["fetched_per_second"] for one in fetched)),
    }  # fmt: skip
    yield decision


def _answer(client: subprocess.Popen[str], server: Server) -> tuple[str, float, float]:
    """Wait for a line; return it, when it came, and the server's CPU seconds by then."""
    line = _line_of(client)
    return line, time.monotonic(), server.cpu_seconds()


def _line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _asked(server: Server, token: str) -> Line:
    """Ask which policy plays, as bots do that have it, from 16 threads; a connection each time."""
    pointer = f"{server.address}/v1/pointer"
    headers = {"Authorization": f"Bearer {token}"}
    with urllib.request.urlopen(urllib.request.Request(pointer, headers=headers)) as answer:
        tag = answer.headers["ETag"].strip('"')

    def ask(_: int) -> float:
        began = time.perf_counter()
        connection = ServerConnection(Address.of(server.address), token)
        assert connection.pointer(tag) is None
        connection.close()
        return 1000 * (time.perf_counter() - began)

    spent, began = server.cpu_seconds(), time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        took = np.array(list(pool.map(ask, range(POLLS))))
    seconds, cpu = time.monotonic() - began, server.cpu_seconds() - spent
    return {
        "bench": "live serve asked", "requests": POLLS, "per_second": round(POLLS / seconds),
        "server_cpu_ms": round(1000 * cpu / POLLS, 3), "milliseconds": _quantiles(took),
    }  # fmt: skip


class Pair:
    """An agent with a server and one without, which play in turns."""

    def __init__(self, folder: Path, server: Server, token: str, name: str) -> None:
        own = folder / name
        given = {"server": server.address, "token": token}
        self.agents = {
            False: Agent(folder / "there" / "policy", own / "alone"),
            True: Agent(own / "policy", own / "outbox", **given),
        }
        self.added: dict[bool, list[float]] = {True: [], False: []}
        self.rounds = 0

    def play(self) -> None:
        """Play a round with one of them: with, without, without, with the server, and so on."""
        with_server = self.rounds % 4 in (0, 3)
        _play_round(self.agents[with_server], self.rounds, self.added[with_server])
        self.rounds += 1

    def play_until(self, over: Callable[[], bool]) -> None:
        """Play until `over()`; of both agents one round counts anyway, then only whole ones."""
        while self.rounds < 2 or not over():
            before = {key: len(values) for key, values in self.added.items()}
            self.play()
            if self.rounds > 2 and over():
                for key, count in before.items():
                    del self.added[key][count:]

    def closed_line(self, bench: str) -> Line:
        """Send what waits, and return what both added to decisions."""
        reports = {key: agent.close(60.0) for key, agent in self.agents.items()}
        connected = reports[True].server
        assert connected is not None
        arrays = {key: np.array(values) for key, values in self.added.items()}
        return {
            "bench": bench, "unit": "us", "n": len(arrays[True]), "n_without": len(arrays[False]),
            "added_with_server": _quantiles(arrays[True]),
            "added_without": _quantiles(arrays[False]),
            "sent": connected.sent,
        }  # fmt: skip


def _play_round(agent: Agent, number: int, added: list[float]) -> None:
    """Play eight games side by side, and one after the other end them; then they are sent."""
    for part in range(4):
        games = [agent.game(f"{number}/{part}/{seat}") for seat in range(8)]
        views = _views(games[0]._decider)
        for step in range(STEPS):
            for game in games:
                view = views[step % len(views)]
                bare = _bare(game._decider, view)
                with _stopwatch() as watch:
                    game.act(view)
                    game.reward(1.0)
                added.append(watch() - bare)
        for game in games:
            game.end(1.0)


# A process of many bots.


def client(address: str, token: str, folder: Path, first: int, count: int, games: int) -> None:
    """Fetch the policy for each bot, wait for a word, send everything, and print the numbers."""
    logging.getLogger("lanista.live").setLevel(logging.CRITICAL)
    took: list[float] = []
    requests = [0]
    usual_send, usual_ask = ServerConnection.send, ServerConnection._ask

    def send(self: ServerConnection, data: bytes) -> bool:
        began = time.perf_counter()
        repeated = usual_send(self, data)
        took.append(1000 * (time.perf_counter() - began))
        return repeated

    def ask(self: ServerConnection, *arguments: Any) -> Any:
        requests[0] += 1
        return usual_ask(self, *arguments)

    ServerConnection.send, ServerConnection._ask = send, ask  # type: ignore[method-assign]
    began = time.monotonic()
    bots = [_bot(address, token, folder / str(number)) for number in range(first, first + count)]
    print(json.dumps({"fetched_per_second": count / (time.monotonic() - began)}), flush=True)
    sys.stdin.readline()
    requests[0] = 0
    threading.stack_size(256 * 1024)
    for bot in bots:
        bot.start()
    while any(bot.counts().sent < games for bot in bots):
        time.sleep(0.05)
    answers = {"milliseconds": took, "requests": requests[0]}
    print(json.dumps(answers | {"put_off": requests[0] - len(took) - count}), flush=True)


def _bot(address: str, token: str, folder: Path) -> Courier:
    connection = ServerConnection(Address.of(address), token)
    return Courier(connection, PolicyFolder(folder / "policy"), Spool(folder / "spool"))


if __name__ == "__main__":
    client(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *map(int, sys.argv[4:]))
