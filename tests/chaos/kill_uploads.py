"""Kills bots and the server they send their games to between every two steps of an upload.

For test_upload_kills.py. Each trial arms one process: it kills itself (SIGKILL) before or after its
first or second call of one function on the way of a game from the bot's outbox to the server's
spool. Both are then started again until the outbox is empty. Each game must lie in the spool once,
nothing else may, and a learner that reads the spool at the end must apply each game once. Prints
one JSON line.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import os
import shutil
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "live"))

from practice import Bench, numbered
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import RequestResponseCycle

from lanista.live import Agent
from lanista.live.agent import courier
from lanista.live.agent.server_connection import ServerConnection
from lanista.live.files.game_file import read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.learner.ledger import reading
from lanista.live.server import reception
from lanista.live.server.limits import Limits
from lanista.live.server.running import prepared, uvicorn_server
from lanista.web.listening import listening

TOKEN = "a-token-for-tests-only"
GAMES = 3
"""In the outbox of each trial."""
Point = tuple[object, str]
BOT: tuple[Point, ...] = (
    (PolicyFolder, "adopt"), (os, "fsync"), (Path, "replace"), (Path, "read_bytes"),
    (ServerConnection, "send"), (http.client.HTTPConnection, "connect"),
    (http.client.HTTPConnection, "putrequest"), (http.client.HTTPConnection, "endheaders"),
    (http.client.HTTPConnection, "getresponse"), (http.client.HTTPResponse, "read"),
    (Path, "unlink"),
)  # fmt: skip
SERVER: tuple[Point, ...] = (
    (reception.Reception, "take"), (reception, "decode"), (reception.Reception, "_holds"),
    (reception.Reception, "_refuse_full"), (reception, "write_bytes"), (os, "fsync"),
    (Path, "replace"), (reception.Reception, "_count"), (JSONResponse, "__init__"),
    (RequestResponseCycle, "send"),
)  # fmt: skip
Plan = tuple[str, int, bool, int]
"""Who is armed, with which point, whether before the call or after, and at which call."""


def plans() -> list[Plan]:
    """Return every kill of the sweep."""
    sides = (("bot", len(BOT)), ("server", len(SERVER)))
    return [
        (side, point, after, call)
        for side, points in sides
        for point, after, call in product(range(points), (False, True), (1, 2))
        # Which policy plays is copied once, over one connection.
        if (side, point, call) not in (("bot", 0, 2), ("bot", 5, 2))
    ]


def arm(plan: Plan) -> None:
    """Let this process kill itself at a call."""
    side, number, after, calls = plan
    where, name = (BOT if side == "bot" else SERVER)[number]
    usual, left = getattr(where, name), [calls]

    def due() -> bool:
        left[0] -= 1
        return left[0] == 0

    def fatal(*arguments: Any, **named: Any) -> Any:
        now = due()
        if now and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = usual(*arguments, **named)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    async def fatal_later(*arguments: Any, **named: Any) -> Any:
        now = due()
        if now and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await usual(*arguments, **named)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(where, name, fatal_later if asyncio.iscoroutinefunction(usual) else fatal)


def started(work: Callable[..., None], *arguments: object) -> int:
    """Run a function in a fork; return the child's id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def serve(folder: Path, port: int, plan: Plan | None) -> None:
    with prepared(folder / "there", Limits(free_bytes=0)) as service:
        listener = listening("127.0.0.1", port)
        server = uvicorn_server(service, TOKEN)
        if plan is not None:
            arm(plan)
        server.run([listener])


def send(folder: Path, port: int, plan: Plan | None) -> None:
    """Be a bot until its outbox is empty."""
    if plan is not None:
        arm(plan)
    while True:
        try:
            agent = Agent(
                folder / "copy", folder / "outbox", server=f"http://127.0.0.1:{port}", token=TOKEN
            )
            break
        except Exception:
            time.sleep(0.01)  # It has no copy yet, and the server is not up.
    while Spool(folder / "outbox").waiting():
        time.sleep(0.002)
    agent.close()


def trial(folder: Path, port: int, plan: Plan) -> bool:
    """Kill one side by plan and let both finish; return whether the plan's call was reached."""
    mine = {"bot": None, "server": None} | {plan[0]: plan}
    server = started(serve, folder, port, mine["server"])
    bot = started(send, folder, port, mine["bot"])
    reached = False
    while True:
        ended, status = os.waitpid(-1, 0)
        assert ended in (server, bot)
        if ended == bot and os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, "the bot failed"
            break
        assert os.WIFSIGNALED(status), f"the {'server' if ended == server else 'bot'} ended"
        reached = True
        if ended == server:
            server = started(serve, folder, port, None)
        else:
            bot = started(send, folder, port, None)
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    return reached


def fill(folder: Path, first: int) -> set[str]:
    """Put games into the outbox; return what they say."""
    spool = Spool(folder / "outbox")
    spool.create()
    policy = PolicyFolder(folder / "there" / "policy").pointer().stable
    games = [numbered(number, policy) for number in range(first, first + GAMES)]
    for game in games:
        spool.write(game)
    return {game.content for game in games}


def check(folder: Path, games: set[str]) -> None:
    spool, box = Spool(folder / "there" / "spool"), Spool(folder / "outbox")
    contents = [read(path).content for path in spool.waiting()]
    assert len(contents) == len(set(contents))
    assert set(contents) == games
    assert box.waiting() == box.refused() == []
    folders = (spool.bad, spool.work, spool.open, box.open)
    assert [path for part in folders for path in part.iterdir()] == []


def learn(folder: Path, games: set[str]) -> int:
    """Let a learner read the spool; return how many games it applied, each once."""
    bench = Bench(folder / "there")
    with bench.start() as learner:
        while bench.spool.waiting():
            learner.step()
    with reading(folder / "there" / "policy" / "learner" / "learn.db") as ledger:
        rows = [row.content for row in ledger.games()]
    assert len(rows) == len(set(rows))
    assert set(rows) == games
    return len(rows)


def run(folder: Path, kills: int) -> dict[str, Any]:
    """Do the sweep, or `kills` of it spread over all of it, and let a learner read the result."""
    logging.getLogger("lanista.live").setLevel(logging.ERROR)
    courier.POLL_SECONDS, courier._FIRST_PAUSE, courier.LONGEST_PAUSE = 0.02, 0.005, 0.02
    Bench(folder / "there")
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port = line.getsockname()[1]
    every = plans()
    chosen = every if kills >= len(every) else _spread(every, kills)
    games: set[str] = set()
    unreached = []
    for number, plan in enumerate(chosen):
        games |= fill(folder, number * GAMES)
        if plan[0] == "bot" and plan[1] < 3:
            shutil.rmtree(folder / "copy", ignore_errors=True)  # So that it is fetched again.
        if not trial(folder, port, plan):
            where = (BOT if plan[0] == "bot" else SERVER)[plan[1]][1]
            unreached.append(f"{plan[0]} {where} {'after' if plan[2] else 'before'} {plan[3]}")
        check(folder, games)
    return {
        "trials": len(chosen),
        "kills": len(chosen) - len(unreached),
        "unreached": unreached,
        "games": len(games),
        "applied": learn(folder, games),
    }


def _spread(every: list[Plan], count: int) -> list[Plan]:
    order = np.random.default_rng(0).permutation(len(every))[:count]
    return [every[number] for number in sorted(order)]


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]).absolute(), int(sys.argv[2]))))
