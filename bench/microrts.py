"""How fast MicroRTS is played and learned here: `python -m bench microrts`.

The engine is Java in the process, so its compiler and collector are in the CPU seconds too; a
first round, which is not counted, lets it warm up. Where Java or the engine is missing, the one
line says so.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.timing import REPEATS, Rate, per_cpu_second
from lanista.games import GameError, make, make_bot
from lanista.games.microrts import MicroRTS
from lanista.games.microrts.engine import start
from lanista.games.microrts.engine_bots import SCRIPTS
from lanista.league.matchmaking import Meeting
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.pipeline.recipes import settings_of
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.runs.league_settings import MAIN
from lanista.runs.settings import SELF, RunSettings
from lanista.training.learner_loop import LearnerLoop

PAIRS = (("random", "random"), ("worker_rush", "light_rush"), ("coac", "worker_rush"))
TICKS = 200
WARM_UP, COUNTED = 20, 40
"""Decisions of a bot that are not counted, and that are."""


def microrts() -> Iterator[dict[str, Any]]:
    """Measure whole play, each bot, a network's share, and training by the recipe."""
    try:
        start()
    except GameError as error:
        yield {"bench": "microrts", "median": None, "why": f"skipped: {error}"}
        return
    torch.set_num_threads(1)
    yield from rates()
    yield from bots()
    yield from policies()
    yield training(settings_of("microrts"))


def rates() -> Iterator[dict[str, Any]]:
    """Measure whole play: observation and mask written, both seats answered."""
    for side, slots in ((8, 24), (16, 8)):
        for names in PAIRS:
            game = make("microrts", slots=slots, seed=1, side=side, longest=TICKS)
            assert isinstance(game, MicroRTS)
            _play(game, names)
            decided = per_cpu_second(lambda g=game, n=names: _play(g, n)[0])  # type: ignore[misc]
            ticks = per_cpu_second(lambda g=game, n=names: _play(g, n)[1])  # type: ignore[misc]
            yield {
                "bench": f"microrts {side}x{side}, {slots} matches, {names[0]} and {names[1]}",
                "unit": "per CPU second",
                "decisions": decided.fields(),
                "ticks": ticks.fields(),
            }


def _play(game: MicroRTS, names: tuple[str, str]) -> tuple[int, int]:
    """Play a match in every slot; return the decisions and the ticks."""
    players = [make_bot("microrts", name, game.spec, 1) for name in names]
    slots, decided = np.arange(game.slots), 0
    game.start(slots, slots)
    while len(decisions := game.decisions()):
        actions = np.empty((len(decisions), len(game.spec.heads)), np.int32)
        for seat, who in enumerate(players):
            rows = np.flatnonzero(decisions.seat == seat)
            if len(rows):
                actions[rows] = who.act(decisions, rows)
        decided += len(decisions)
        game.act(np.arange(len(decisions)), actions)
    return decided, int(game.boards.time.sum())


def bots() -> Iterator[dict[str, Any]]:
    """Measure what a decision of each bot costs, against `random` on the small board."""
    for name in SCRIPTS:
        spent = _spent_by(name)[WARM_UP:]
        yield {
            "bench": f"microrts bot {name}",
            "unit": "CPU milliseconds a decision",
            "mean": round(1000 * sum(spent) / len(spent), 2),
            "decisions": len(spent),
        }


def _spent_by(name: str) -> list[float]:
    """Return the CPU seconds of each of a bot's decisions, over as many matches as it takes."""
    game = make("microrts", slots=1, seed=1)
    players = [make_bot("microrts", who, game.spec, 1) for who in (name, "random")]
    spent: list[float] = []
    match = 0
    while len(spent) < WARM_UP + COUNTED:
        if not len(decisions := game.decisions()):
            game.start([0], [match])
            match += 1
            continue
        actions = np.zeros((len(decisions), len(game.spec.heads)), np.int32)
        for row, seat in enumerate(decisions.seat):
            began = time.process_time()
            actions[row] = players[seat].act(decisions, np.array([row]))[0]
            if not seat:
                spent.append(time.process_time() - began)
        game.act(np.arange(len(decisions)), actions)
    return spent


def policies() -> Iterator[dict[str, Any]]:
    """Measure what a network adds to a decision: seen, masked, sampled; one thread."""
    for side in (8, 16):
        game = make("microrts", slots=64, seed=1, side=side)
        game.start(np.arange(64), np.arange(64))
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        actor = Actor(Policy(game.spec, Network("mlp", width=128, layers=2)), 1)

        def choose(actor: Actor = actor, rows: Any = rows, decisions: Any = decisions) -> int:
            for _ in range(10):
                actor.choose(decisions, rows)
            return 10 * len(rows)

        yield {
            "bench": f"microrts policy mlp 128x128, {side}x{side}, {game.spec.choices} choices",
            "unit": "decisions per CPU second",
            **per_cpu_second(choose).fields(),
        }


class Clock:
    """Adds up the CPU seconds spent in methods, by what they are for."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)

    def watch(self, phase: str, thing: Any, *names: str) -> None:
        """Count the time in these methods of `thing` as that of `phase`."""
        for name in names:
            setattr(thing, name, self._timed(phase, getattr(thing, name)))

    def _timed(self, phase: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            began = time.process_time()
            try:
                return method(*arguments, **named)
            finally:
                self.spent[phase] += time.process_time() - began

        return call


def training(settings: RunSettings, repeats: int = REPEATS) -> dict[str, Any]:
    """Measure iterations of a run as it goes: decisions learned from, and where the time went."""
    clock = Clock()
    run = LearnerLoop(settings, Path(), lambda name, device: _watched(clock, run, name))
    run.meet([
        Meeting(MAIN if opponent.player == SELF else opponent.player, opponent.weight, "")
        for opponent in settings.rollouts.opponents
    ])  # fmt: skip
    collector = run.collector
    assert isinstance(collector, Collector)
    clock.watch("game", collector.game, "start", "decisions", "act")
    clock.watch("acting", collector.actor, "choose")
    clock.watch("learning", run.learner, "update")
    list(run.iterate())
    clock.spent.clear()
    rates, seconds = [], run.cpu_seconds
    for _ in range(repeats):
        decisions, before = run.decisions, run.cpu_seconds
        list(run.iterate())
        rates.append((run.decisions - decisions) / (run.cpu_seconds - before))
    whole = run.cpu_seconds - seconds
    shares = {phase: round(spent / whole, 3) for phase, spent in sorted(clock.spent.items())}
    return {
        "bench": "microrts training, recipe microrts",
        "unit": "decisions learned from per CPU second",
        **Rate(statistics.median(rates), min(rates), max(rates)).fields(),
        "shares": shares,
    }


def _watched(clock: Clock, run: LearnerLoop, name: str) -> Any:
    bot = make_bot("microrts", name, run.spec, run.settings.seed)
    clock.watch("bots", bot, "act")
    return bot
