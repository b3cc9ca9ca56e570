"""A field for battles on a real Showdown server: a proxy that plants faults, and opponents."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
import websockets
from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.player import RandomPlayer

sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))

from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.teams.pool import EXAMPLES, load_pool
from lanista.live.showdown.player import ServerPlayer
from lanista.live.showdown.players import Fixed
from lanista.nets.files.policy_file import policy_bytes
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.inference.policy_players import policy_player

FORMAT = format_named("gen9vgc2025regi")
SPEC = describe(FORMAT, "mirror", "", "any")
LONG = 900.0
"""Seconds after which something that should happen is said not to."""
Change = Callable[[str], str | None]
"""Takes a message and returns what passes instead of it; None: nothing."""


@cache
def packed_team() -> str:
    with Battles(1) as battles:
        return load_pool(EXAMPLES, FORMAT.name, battles).teams[0].packed


def tiny(kind: str = "mlp", seed: int = 0) -> bytes:
    """Return the file of a small policy that has learnt nothing."""
    torch.manual_seed(seed)
    network = Network(kind, width=16, layers=1)  # type: ignore[arg-type]
    return policy_bytes(Policy(SPEC, network), SPEC)


def player_of(folder: Path, kind: str = "mlp") -> Any:
    """Return a small policy as a player."""
    path = folder / f"{kind}.safetensors"
    path.write_bytes(tiny(kind))
    return policy_player(path, SPEC, 0, block=0)


class Proxy:
    """Stands between a player and the server, and changes what passes."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.inward: Change = lambda message: message
        """What the player gets of the server's messages."""
        self.outward: Change = lambda message: message
        self.links: set[Any] = set()
        self.url = ""

    async def _serve(self, client: Any) -> None:
        async with websockets.connect(self.upstream, max_size=None) as server:
            self.links.add(client)
            there = asyncio.create_task(self._pump(client, server, lambda m: self.outward(m)))
            back = asyncio.create_task(self._pump(server, client, lambda m: self.inward(m)))
            await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
            for task in (there, back):
                task.cancel()
            self.links.discard(client)

    async def _pump(self, source: Any, target: Any, change: Change) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            async for message in source:
                passed = change(str(message))
                if passed is not None:
                    await target.send(passed)

    def cut(self) -> None:
        """Break every connection off, without a goodbye."""
        for client in list(self.links):
            client.transport.abort()


@contextlib.asynccontextmanager
async def proxied(upstream: str) -> AsyncIterator[Proxy]:
    proxy = Proxy(upstream)
    async with websockets.serve(proxy._serve, "127.0.0.1", 0, max_size=None) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        proxy.url = f"ws://127.0.0.1:{port}/showdown/websocket"
        yield proxy


@contextlib.asynccontextmanager
async def connected(player: Any, url: str, name: str, **more: Any) -> AsyncIterator[ServerPlayer]:
    """Give an account of ours that is logged in; `player` may be a source too."""
    source = player if hasattr(player, "begin") else Fixed(player)
    ours = ServerPlayer(source, FORMAT, url, name, **more)
    try:
        await asyncio.wait_for(ours.connect(), LONG)
        yield ours
    finally:
        await ours.close()


@contextlib.asynccontextmanager
async def opponent(url: str, name: str, team: str, at_once: int = 1) -> AsyncIterator[Any]:
    """Give poke-env's random player, logged in."""
    theirs = RandomPlayer(
        AccountConfiguration(name, None),
        battle_format=FORMAT.name,
        server_configuration=ServerConfiguration(url, "https://localhost?"),
        loop=asyncio.get_running_loop(),
        team=team,
        log_level=1000,
        max_concurrent_battles=at_once,
    )
    try:
        await asyncio.wait_for(theirs.ps_client.logged_in.wait(), LONG)
        yield theirs
    finally:
        await theirs.ps_client._stop_listening()


def run(work: Any) -> Any:
    """Run a coroutine; what hangs fails."""
    return asyncio.run(asyncio.wait_for(work, LONG))
