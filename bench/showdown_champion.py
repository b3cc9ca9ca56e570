"""How fast the shipped Showdown policy decides: `python -m bench showdown_champion`.

Decisions per CPU second of its network by batch, on views from play, and what a decision takes a
live bot: from the server's message to the answer, one battle at a time on a real server. Where
poke-env, Node or the simulator is missing, the one line says so.
"""

from __future__ import annotations

import asyncio
import copy
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import torch

from bench.timing import REPEATS, per_cpu_second
from lanista.games import GameError, make_bot, registry
from lanista.games.showdown.local_servers.server import Server
from lanista.games.showdown.scripted.poke_env_bots import MISSING, is_installed
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import load_policy
from lanista.nets.policy import Policy

CHAMPION = "champion:showdown"
BATCHES = (1, 16, 128, 1024)
GPU_BATCHES = (1024, 16384)
BATTLES = 24
_GPU_CALLS = 20
_DECISIONS = 2048
"""Of one repeat, at least one batch."""


def showdown_champion() -> Iterator[dict[str, Any]]:
    """Measure the network alone by batch, and a live bot's decisions."""
    try:
        if not is_installed():
            raise GameError(MISSING)
        views = positions(max(BATCHES))
    except GameError as error:
        yield {"bench": "showdown_champion", "median": None, "why": f"skipped: {error}"}
        return
    torch.set_num_threads(1)
    policy = load_policy(policy_file(CHAMPION)).policy.eval()
    for rows in BATCHES:
        yield network_rate(policy, views[:rows])
    if torch.cuda.is_available():
        for rows in GPU_BATCHES:
            yield gpu_rate(policy, np.resize(views, (rows, views.shape[1])))
    yield live_decisions(BATTLES)


def positions(count: int) -> np.ndarray[Any, Any]:
    """Return views of `heuristic` at play on the held-out teams."""
    game = registry.make(
        "showdown", slots=32, seed=1, observation=2, team_pool_path="held-out", mode="mirror"
    )
    try:
        bot = make_bot("showdown", "heuristic", game.spec, 1)
        views: list[np.ndarray[Any, Any]] = []
        first = 0
        while sum(map(len, views)) < count:
            game.start(range(32), range(first, first + 32))
            first += 32
            while len(decisions := game.decisions()):
                rows = np.arange(len(decisions))
                views.append(decisions.observation[rows].copy())
                game.act(rows, bot.act(decisions, rows))
        return np.concatenate(views)[:count]
    finally:
        game.close()


def network_rate(policy: Policy, views: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Measure decisions per CPU second where so many are made at once."""
    batch = torch.from_numpy(views)

    @torch.no_grad()
    def work() -> int:
        calls = max(1, _DECISIONS // len(batch))
        for _ in range(calls):
            policy(batch)
        return calls * len(batch)

    work()
    return {
        "bench": f"showdown, network of {CHAMPION}, {len(batch)} decisions in one call, one thread",
        "unit": "decisions per CPU second", **per_cpu_second(work).fields(),
    }  # fmt: skip


def gpu_rate(policy: Policy, views: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Measure decisions per second of a GPU by the clock, views sent there included, and memory."""
    policy, batch = copy.deepcopy(policy).cuda(), torch.from_numpy(views)
    torch.cuda.reset_peak_memory_stats()
    rates = []
    with torch.no_grad():
        policy(batch.cuda())
        for _ in range(REPEATS):
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(_GPU_CALLS):
                policy(batch.cuda())
            torch.cuda.synchronize()
            rates.append(_GPU_CALLS * len(batch) / (time.perf_counter() - began))
    return {
        "bench": f"showdown, network of {CHAMPION}, {len(batch)} decisions in one call, GPU, fp32",
        "unit": "decisions per second", "median": round(statistics.median(rates)),
        "low": round(min(rates)), "high": round(max(rates)),
        "gpu_mebibytes": round(torch.cuda.max_memory_allocated() / 2**20),
    }  # fmt: skip


def live_decisions(battles: int) -> dict[str, Any]:
    """Measure what a decision takes on a real server, one battle at a time."""
    from lanista.live.showdown import table

    wall: list[float] = []
    cpu: list[float] = []
    began = (0.0, 0.0)
    hear, say = table.Table.hear, table.Table._say

    def timed_hear(self: Any, lines: Sequence[str]) -> None:
        nonlocal began
        began = time.perf_counter(), time.process_time()
        hear(self, lines)

    def timed_say(self: Any, request: Any, words: str) -> None:
        say(self, request, words)
        wall.append(1000 * (time.perf_counter() - began[0]))
        cpu.append(1000 * (time.process_time() - began[1]))

    with mock.patch.multiple(table.Table, hear=timed_hear, _say=timed_say):
        _play(battles)
    # The first decision loads what is loaded once.
    return {
        "bench": f"showdown, a live decision of {CHAMPION}, real server, one battle at a time",
        "unit": "milliseconds from the server's message to the answer", "decisions": len(wall) - 1,
        "wall": _percentiles(wall[1:]), "cpu": _percentiles(cpu[1:]),
    }  # fmt: skip


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    shares = {"median": 50, "p99": 99, "most": 100}
    return {name: round(float(np.percentile(values, at)), 1) for name, at in shares.items()}


def _play(battles: int) -> None:
    from lanista.live.showdown.batching import Batcher
    from lanista.live.showdown.casting import load_player, read_teams, who_is
    from lanista.live.showdown.gauntlet import Setting, fixed_bouts, play_bouts
    from lanista.live.showdown.players import Fixed

    who = who_is(CHAMPION)
    teams = read_teams(who.format, pool="held-out", belief_pool="two")
    player = load_player(who, who.spec(teams.version), 0, greedy=True)
    bouts = fixed_bouts(["random"], teams.brought, -(-battles // 2))
    with Server() as server:
        setting = Setting(
            urls=[server.url],
            source=Fixed(player),
            format=who.format,
            belief=teams.belief,
            batcher=Batcher(),
            report=lambda battle: None,
            troubles=[],
            observation=who.observation,
        )
        asyncio.run(play_bouts(setting, bouts, 1))
