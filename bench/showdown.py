"""How fast Showdown is played here: `python -m bench showdown`.

CPU seconds are this process's and its workers' together. A first round, which is not counted, lets
Node's compiler warm up. Where Node or the simulator is missing, the one line says so. Two workers
are held against one by the clock, and only while two cores are idle; beside the ratio stand the
cores that one and two kept busy.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from bench.timing import REPEATS, idle_cores
from lanista.games import GameError, make, make_bot
from lanista.games.contract import Decisions, Ints
from lanista.games.random_bot import RandomBot
from lanista.games.showdown.actions.orders import legal_previews, preview_text
from lanista.games.showdown.entry import ENTRY
from lanista.games.showdown.game import DEFAULT_FORMAT, Showdown
from lanista.games.showdown.observation.description import OBSERVATIONS, write_mask
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.sim.views import SEATS, Update
from lanista.games.streams import Stream
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.profile.machine import Use, reading, used
from lanista.rollout.inference.actor import Actor

SLOTS = 32
BATTLES = 128
FORMATS = (DEFAULT_FORMAT, "gen9randomdoublesbattle", "gen9randombattle")
MASKS = 2_000
TOGETHER = 16
"""Battles whose decisions a network answers in one call."""
CALLS = 20
MOST_OTHERS = 0.15
"""Cores that others may use while two workers are held against one."""


def showdown() -> Iterator[dict[str, Any]]:
    """Measure whole play, the worker alone, masks, observations, bots, memory, two workers."""
    try:
        game = _game(DEFAULT_FORMAT)
    except GameError as error:
        yield {"bench": "showdown", "median": None, "why": f"skipped: {error}"}
        return
    yield whole(DEFAULT_FORMAT, game)
    yield from parts(game)
    yield from observations()
    yield from bots(game)
    yield from together(game)
    game.close()
    for name in FORMATS[1:]:
        game = _game(name)
        yield whole(name, game)
        game.close()
    yield worker_alone()
    yield from two_workers()


def _game(format: str, workers: int = 1) -> Showdown:
    game = make("showdown", slots=SLOTS, seed=1, format=format, mode="cross", workers=workers)
    assert isinstance(game, Showdown)
    return game


class Rounds:
    """Matches under random answers, restarted as they end."""

    def __init__(self, game: Showdown) -> None:
        self.game, self.bot = game, RandomBot(game.spec, 1)
        game.start(range(SLOTS), range(SLOTS))
        self.begun, self.decisions = SLOTS, 0

    def play(self, matches: int) -> int:
        """Play until so many matches have ended; return how many did."""
        ended = 0
        while ended < matches:
            decisions = self.game.decisions()
            rows = np.arange(len(decisions))
            over = self.game.act(rows, self.bot.act(decisions, rows))
            self.decisions += len(rows)
            ended += len(over)
            if len(over):
                self.game.start(over, np.arange(self.begun, self.begun + len(over)))
                self.begun += len(over)
        return ended


def whole(format: str, game: Showdown) -> dict[str, Any]:
    """Measure play through the contract: both sides' observations and masks built."""
    rounds = Rounds(game)
    rounds.play(BATTLES)
    decided = rounds.decisions
    battles, shares = [], []
    for _ in range(REPEATS):
        done, seconds, node = _timed(game.battles, lambda: rounds.play(BATTLES))
        battles.append(done / seconds)
        shares.append(node / seconds)
    name = f"showdown {format}, {SLOTS} battles at once, random"
    return {
        **_line(name, "battles per CPU second", battles, 1),
        "decisions_a_battle": round((rounds.decisions - decided) / (REPEATS * BATTLES), 1),
        "share_of_node": round(statistics.median(shares), 3),
        "worker_megabytes": round(game.battles.usage()[1] / 1e6),
    }


def _timed(battles: Battles, work: Callable[[], int]) -> tuple[int, float, float]:
    """Return what was done, all CPU seconds spent on it, and those of the workers."""
    began, node = time.process_time(), battles.usage()[0]
    done = work()
    spent = battles.usage()[0] - node
    return done, time.process_time() - began + spent, spent


def parts(game: Showdown) -> Iterator[dict[str, Any]]:
    """Measure what a mask and an observation cost, over the decisions of matches under way."""
    rounds = Rounds(game)
    rounds.play(SLOTS)
    seats = [
        (match.requests[seat], match.trackers[seat])
        for match in game._matches
        if match is not None
        for seat in range(SEATS)
        if match.asks(seat)
    ]
    mask = np.zeros(game.spec.choices, np.bool_)
    row = np.zeros(game.spec.observation.length, game.spec.observation.dtype)

    def write(at: int) -> None:
        write_mask(seats[at][0], game.orders, game.previews, mask)

    def encode(at: int) -> None:
        seats[at][1].encode(row)

    for task, work in (("mask", write), ("observation, nothing new", encode)):
        spent = []
        for _ in range(REPEATS):
            began = time.process_time()
            for number in range(MASKS):
                work(number % len(seats))
            spent.append(1000 * (time.process_time() - began) / MASKS)
        name = f"showdown {task}, {DEFAULT_FORMAT}"
        yield _line(name, "CPU milliseconds a decision", spent, 4)


def observations() -> Iterator[dict[str, Any]]:
    """Measure what each version of the observation costs in play between bots that think.

    Timed where it is written, so that every decision is new; the simulator is not in it.
    """
    plain = Tracker.encode
    for version in OBSERVATIONS:
        times: list[int] = []

        def timed(tracker: Tracker, row: Any, times: list[int] = times) -> None:
            began = time.process_time_ns()
            plain(tracker, row)
            times.append(time.process_time_ns() - began)

        game = Showdown(SLOTS, 3, team_pool_path="held-out", mode="cross", observation=version)
        bot = make_bot("showdown", "heuristic", game.spec, 1)
        spent = []
        try:
            setattr(Tracker, "encode", timed)  # noqa: B010 - mypy refuses an assignment.
            for first in range(0, SLOTS * (REPEATS + 1), SLOTS):
                times.clear()
                game.start(range(SLOTS), range(first, first + SLOTS))
                while len(decisions := game.decisions()):
                    rows = np.arange(len(decisions))
                    game.act(rows, bot.act(decisions, rows))
                spent.append(sum(times) / len(times) / 1e6)
        finally:
            setattr(Tracker, "encode", plain)  # noqa: B010
            game.close()
        name = f"showdown observation {version} in play, {DEFAULT_FORMAT}"
        # The first round fills what is remembered.
        yield _line(name, "CPU milliseconds a decision", spent[1:], 4)


def bots(game: Showdown) -> Iterator[dict[str, Any]]:
    """Measure what a decision of each bot costs, over matches of the bot against itself."""
    for name, reason in ENTRY.missing_bots.items():
        yield {"bench": f"showdown bot {name}", "median": None, "why": f"skipped: {reason}"}
    for name in ENTRY.bots:
        bot = make_bot("showdown", name, game.spec, 1)
        game.start(range(SLOTS), range(SLOTS))
        spent, decided = 0.0, 0
        while len(decisions := game.decisions()):
            rows = np.arange(len(decisions))
            began = time.process_time()
            actions = bot.act(decisions, rows)
            spent += time.process_time() - began
            decided += len(rows)
            game.act(rows, actions)
        yield {
            "bench": f"showdown bot {name}",
            "unit": "CPU milliseconds a decision",
            "mean": round(1000 * spent / decided, 2),
            "decisions": decided,
        }


def together(game: Showdown) -> Iterator[dict[str, Any]]:
    """Hold decisions of 16 battles in one call of a network against one call for each."""
    rounds = Rounds(game)
    rounds.play(SLOTS)
    decisions = game.decisions()
    rows = np.flatnonzero(decisions.seat == 0)[:TOGETHER].astype(np.int32)
    torch.set_num_threads(1)
    for size in ("s", "m"):
        actor = Actor(Policy(game.spec, Network("transformer", size)), 0)
        ratios, rates = [], []
        for _ in range(REPEATS):
            alone = _spent(actor, decisions, [rows[i : i + 1] for i in range(len(rows))])
            at_once = _spent(actor, decisions, [rows])
            ratios.append(alone / at_once)
            rates.append(len(rows) / at_once)
        name = f"showdown, decisions of {len(rows)} battles in one call, transformer {size}"
        yield {
            **_line(name, "times the decisions per CPU second of one at a time", ratios, 2),
            "decisions_per_cpu_second": round(statistics.median(rates)),
        }


def _spent(actor: Actor, decisions: Decisions, calls: list[Ints]) -> float:
    """Return the CPU seconds of these calls, each with its rows."""
    began = time.process_time()
    for _ in range(CALLS):
        for rows in calls:
            actor.choose(decisions, rows)
    return (time.process_time() - began) / CALLS


def worker_alone() -> dict[str, Any]:
    """Measure a worker with random choices: no tracker, no observation, no contract."""
    game = _game(DEFAULT_FORMAT)
    dealer, battles, orders = game.dealer, game.battles, game.orders
    stream = Stream.keyed(1, 0, 0, "act")
    begun = 0

    def begin(count: int) -> list[Update]:
        nonlocal begun
        numbers = range(begun, begun + count)
        begun += count
        return battles.start([dealer.setup(number, 1, number) for number in numbers])

    def answer(update: Update) -> Iterator[tuple[int, int, str]]:
        for seat, view in enumerate(update.views):
            if view.request is None or view.waits:
                continue
            if view.request.get("teamPreview"):
                legal = np.flatnonzero(legal_previews(view.request))
                yield update.slot, seat, preview_text(int(stream.choice(legal.tolist())))
            else:
                legal = np.flatnonzero(orders.legal(view.request))
                chosen = int(legal[stream.below(len(legal))])
                yield update.slot, seat, orders.text(view.request, chosen)

    updates = begin(SLOTS)

    def play() -> int:
        nonlocal updates
        ended = 0
        while ended < BATTLES:
            over = [update for update in updates if update.ended or update.cut_off]
            ended += len(over)
            going = [choice for update in updates if not update.ended for choice in answer(update)]
            updates = battles.choose(going) + (begin(len(over)) if over else [])
        return ended

    play()
    rates = []
    for _ in range(REPEATS):
        done, seconds, _ = _timed(battles, play)
        rates.append(done / seconds)
    game.close()
    name = f"showdown worker alone, {DEFAULT_FORMAT}, {SLOTS} battles at once, random"
    return _line(name, "battles per CPU second", rates, 1)


def two_workers() -> Iterator[dict[str, Any]]:
    """Hold two workers against one by the clock, in turn, so that a slow minute hits both.

    Both belong to one game, whose own work is done by one thread, or to a game each in a process.
    """
    if (idle := idle_cores()) < 1.8:
        why = f"not measurable: {idle:.2f} cores were idle, 1.8 are needed"
        yield {"bench": "showdown, two workers over one", "median": None, "why": why}
        return
    games = [_game(DEFAULT_FORMAT, workers) for workers in (1, 2)]
    rounds = [Rounds(game) for game in games]
    for battles in rounds:
        battles.play(BATTLES)
    pairs = []
    for _ in range(REPEATS):
        one, two = (_used(lambda battles=battles: battles.play(BATTLES)) for battles in rounds)  # type: ignore[misc]
        pairs.append((one, two))
    for game in games:
        game.close()
    yield _held_against("showdown, two workers over one, one game", pairs, 1)
    yield _held_against("showdown, two workers over one, a process each", _two_processes(), 2)


def _held_against(bench: str, pairs: list[tuple[Use, Use]], times: int) -> dict[str, Any]:
    """Return the line for two that play `times` as many battles as one in a round."""
    # Where it cannot be known, nothing can be said to be undisturbed.
    disturbed = [
        pair
        for pair in pairs
        if any(use.others is None or use.others > MOST_OTHERS for use in pair)
    ]
    if 2 * len(disturbed) > len(pairs):
        why = f"not measurable: others used the cores in {len(disturbed)} of {len(pairs)} rounds"
        return {"bench": bench, "median": None, "why": why}
    quiet = [pair for pair in pairs if pair not in disturbed]
    ratios = [times * one.wall / two.wall for one, two in quiet]
    cores = [[use.cpu / use.wall for use in pair] for pair in quiet]
    costs = [[one.cpu / BATTLES, two.cpu / (times * BATTLES)] for one, two in quiet]
    return {
        **_line(bench, "times the battles a second", ratios, 2),
        "rounds": len(quiet),
        "cores": [round(statistics.median(side), 2) for side in zip(*cores, strict=True)],
        "cpu_milliseconds_a_battle": [
            round(1000 * statistics.median(side), 2) for side in zip(*costs, strict=True)
        ],
    }


def _two_processes() -> list[tuple[Use, Use]]:
    context = get_context("spawn")
    pipes = []
    for _ in range(2):
        mine, its = context.Pipe()
        context.Process(target=_actor, args=(its,), daemon=True).start()
        pipes.append(mine)
    for pipe in pipes:
        pipe.recv()

    def play(actors: list[Any]) -> None:
        for pipe in actors:
            pipe.send(True)
        for pipe in actors:
            pipe.recv()

    pairs = []
    for _ in range(REPEATS):
        pairs.append((_used(lambda: play(pipes[:1])), _used(lambda: play(pipes))))
    for pipe in pipes:
        pipe.send(False)
    return pairs


def _actor(pipe: Any) -> None:
    game = _game(DEFAULT_FORMAT)
    rounds = Rounds(game)
    rounds.play(BATTLES)
    pipe.send(0)
    while pipe.recv():
        pipe.send(rounds.play(BATTLES))
    game.close()


def _used(work: Callable[[], object]) -> Use:
    before = reading()
    work()
    return used(before, reading())


def _line(bench: str, unit: str, values: list[float], digits: int) -> dict[str, Any]:
    low, high = min(values), max(values)
    values_by_name = {"median": statistics.median(values), "low": low, "high": high}
    return {
        "bench": bench,
        "unit": unit,
        **{name: round(value, digits) for name, value in values_by_name.items()},
    }
