"""The usual way against ours, in one run: `python -m bench showdown_server`.

The usual way is a real server and two random players of poke-env over websockets. CPU seconds are
those of every process of the server and of this one, in which the players are. Ours is the
contract, in which both sides' observations and masks are built. Where poke-env, Node or the
simulator is missing, the one line says so.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.showdown import _game, _line, whole
from bench.timing import REPEATS
from lanista.games import GameError
from lanista.games.showdown.game import DEFAULT_FORMAT
from lanista.games.showdown.local_servers.server import Server
from lanista.games.showdown.scripted.poke_env_bots import MISSING, is_installed
from lanista.games.streams import Stream

AT_ONCE = 8
"""Battles side by side; more do not make it faster on two cores."""
BATTLES = 48


def showdown_server() -> Iterator[dict[str, Any]]:
    """Measure random battles over websockets and through the contract, and the quotient."""
    try:
        if not is_installed():
            raise GameError(MISSING)
        game = _game(DEFAULT_FORMAT)
    except GameError as error:
        yield {"bench": "showdown_server", "median": None, "why": f"skipped: {error}"}
        return
    assert game.dealer.pool is not None
    with Server() as server:
        over_sockets = websockets(server, [team.packed for team in game.dealer.pool.teams])
    yield over_sockets
    ours = whole(DEFAULT_FORMAT, game)
    game.close()
    yield ours
    yield {
        "bench": f"showdown contract over websockets, {DEFAULT_FORMAT}, random",
        "unit": "times the battles per CPU second",
        "median": round(ours["median"] / over_sockets["median"], 2),
    }


def websockets(server: Server, teams: list[str]) -> dict[str, Any]:
    """Measure random battles of two players on a server."""
    rates = []
    with _players(server, teams) as play:
        play()
        for _ in range(REPEATS):
            began, serving = time.process_time(), group_cpu_seconds(server.process.pid)
            play()
            serving = group_cpu_seconds(server.process.pid) - serving
            rates.append(BATTLES / (time.process_time() - began + serving))
    name = f"showdown over websockets, {DEFAULT_FORMAT}, {AT_ONCE} battles at once, random"
    return _line(name, "battles per CPU second", rates, 1)


@contextmanager
def _players(server: Server, teams: list[str]) -> Iterator[Callable[[], None]]:
    """Log two players in; yield what lets them play another `BATTLES` battles."""
    from poke_env import AccountConfiguration, ServerConfiguration
    from poke_env.player import RandomPlayer
    from poke_env.teambuilder import Teambuilder

    class Drawn(Teambuilder):  # type: ignore[misc]
        def __init__(self, seed: int) -> None:
            self.stream = Stream.keyed(seed, 0, 0, "chance")

        def yield_team(self) -> str:
            return self.stream.choice(teams)

    first, second = (
        RandomPlayer(
            account_configuration=AccountConfiguration(f"Random {at}", None),
            server_configuration=ServerConfiguration(server.url, ""),
            battle_format=DEFAULT_FORMAT,
            max_concurrent_battles=AT_ONCE,
            team=Drawn(at),
            log_level=logging.CRITICAL,
        )
        for at in range(2)
    )

    def play() -> None:
        asyncio.run(first.battle_against(second, n_battles=BATTLES))
        for player in (first, second):
            assert player.n_finished_battles == BATTLES
            player.reset_battles()

    try:
        yield play
    finally:
        for player in (first, second):
            asyncio.run(player.ps_client.stop_listening())


def group_cpu_seconds(group: int) -> float:
    """Return the CPU seconds that the living processes of a group have used."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat_fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended meanwhile.
        if int(stat_fields[2]) == group:
            ticks += int(stat_fields[11]) + int(stat_fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
