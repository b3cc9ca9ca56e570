"""NashConv of a policy in a board game with hidden marks: the policy is asked once, then walked.

A policy is asked in large batches for every information state with a choice. Then each seat's best
response is walked in pieces, on as many threads as there are cores. What comes out does not depend
on how many those are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.trees.boards.games import BoardGame
from lanista.games.trees.boards.kept_values import KeptValues
from lanista.games.trees.boards.seat_tree import BoardSeatTree
from lanista.games.trees.boards.walk import BoardWalk

Probabilities = Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[np.float64]]
Progress = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is, and how much there is in all."""
_BATCH = 1 << 15
"""Information states that a policy is asked about at once."""
_DEPTH = 3
"""Tries of the responder after which the walk is cut into pieces: some thousands."""


class BoardMeasure:
    """The trees of one game, to be measured with one policy after another."""

    def __init__(self, game: BoardGame) -> None:
        self.game = game
        self.trees = [BoardSeatTree(game.rules, seat) for seat in range(2)]

    def nash_conv(
        self,
        policy: Probabilities,
        threads: int = 0,
        progress: Progress | None = None,
        kept: KeptValues | None = None,
    ) -> float:
        """Return what both seats could gain by best responses, summed; `threads` 0: all cores.

        What is `kept` is not walked again.
        """
        report = progress or _silence
        keys = [self._ask(tree, policy, report) for tree in self.trees]
        return self._gained(keys, threads, report, kept or KeptValues())

    def mixture_nash_conv(
        self,
        policies: Sequence[Probabilities],
        shares: Sequence[float],
        threads: int = 0,
        progress: Progress | None = None,
    ) -> float:
        """Return NashConv where every seat draws one of some policies before a match, by its share.

        A seat remembers all its tries, so it may as well draw at each of them, by how likely each
        policy comes there (Kuhn, 1953).
        """
        report = progress or _silence
        for tree in self.trees:
            plan = np.zeros(tree.edge_count)
            for policy, share in zip(policies, shares, strict=True):
                if share > 0:
                    self._ask(tree, policy, report)
                    tree.add_plan(share, plan)
            tree.play_plan(plan)
        keys = [f"mixture, seat {tree.seat}" for tree in self.trees]
        return self._gained(keys, threads, report, KeptValues())

    def _gained(
        self, keys: Sequence[str], threads: int, report: Progress, kept: KeptValues
    ) -> float:
        """Return what both seats could gain from how the trees are played."""
        # What a seat earns the other loses, so that gains add up to what the responses earn.
        value = sum(
            best_response_value(tree, threads or cores(), report, kept, key)
            for tree, key in zip(self.trees, keys, strict=True)
        )
        kept.save(now=True)
        return value

    def _ask(self, tree: BoardSeatTree, policy: Probabilities, report: Progress) -> str:
        """Ask a policy how it plays every information state of a seat; return a digest of it."""
        bits = 1 << np.arange(self.game.rules.cells)
        digest = hashlib.sha256(f"{self.game.name} {tree.seat}".encode())
        for start in range(0, tree.states, _BATCH):
            stop = min(start + _BATCH, tree.states)
            marks, others = tree.known_cells(start, stop)
            rows = self.game.show(tree.seat, marks, others, tree.attempts(start, stop))
            mask = ((marks | others)[:, None] & bits) == 0
            probability = np.ascontiguousarray(policy(rows, mask), np.float64)
            tree.play(start, probability)
            digest.update(probability.data)
            report(f"policy of seat {tree.seat}, information states", stop, tree.states)
        return digest.hexdigest()


def _silence(what: str, done: int, total: int) -> None:
    """Tell nobody."""


def best_response_value(
    tree: BoardSeatTree, threads: int, report: Progress, kept: KeptValues, key: str
) -> float:
    """Return what the best response to a seat earns; what is kept under `key` is known already."""
    whole = BoardWalk(tree)
    count = whole.split(_DEPTH)
    values = kept.of(key, count)
    missing = np.flatnonzero(np.isnan(values)).tolist()
    walks: SimpleQueue[BoardWalk] = SimpleQueue()
    for _ in range(threads):
        walks.put(BoardWalk(tree))

    def work(number: int) -> None:
        walk = walks.get()
        try:
            values[number] = walk.piece(whole, number)
        finally:
            walks.put(walk)

    try:
        with ThreadPoolExecutor(threads) as pool:
            for done, _ in enumerate(pool.map(work, missing), start=count - len(missing) + 1):
                report(f"best response to seat {tree.seat}, pieces", done, count)
                kept.save()
    except KeyboardInterrupt:
        kept.save(now=True)
        raise
    return whole.joined_value(values)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
