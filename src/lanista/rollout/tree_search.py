"""Searches one position with priors and values that somebody else computes, a leaf at a time.

At the root moves are drawn without replacement by Gumbel noise and halved until the budget is spent
(Danihelka et al. 2022); below it PUCT chooses (Silver et al. 2017). Ends have their exact value.
Every move has bounds that the rules prove (Cazenave and Saffidine 2010): what is proved is not
searched again, and no move is played that is proved worse than another. Knows no networks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.open_positions import OpenPosition

VERSION = 2
"""Moves exactly when a search can choose otherwise."""
EXPLORATION = 1.5
"""PUCT's weight of what the prior names and was seldom tried, in values from -1 to 1."""
CONSIDERED = 16
"""Moves at the root that are looked at, at most."""
FINALISTS = 2
"""Moves that are never halved: a refutation that is found last can still change the choice."""
VISIT_OFFSET, VALUE_WEIGHT = 50.0, 0.3
"""How far values outweigh the prior at the root: (visits of the most visited + offset) · weight."""


class Node:
    """A position with its moves; all arrays have an entry a move, as its mover sees them."""

    __slots__ = (
        "children", "count", "high", "highest", "log_prior", "low", "lowest", "moves", "position",
        "prior", "q", "rest", "seat", "total", "value", "visits",
    )  # fmt: skip

    def __init__(
        self, position: OpenPosition, log_prior: NDArray[Any], value: float, best: float
    ) -> None:
        assert position.view is not None
        self.position, self.seat = position, position.seat
        self.moves = sorted(position.view.legal)
        self.value, self.count = value, 0
        self.log_prior = np.asarray(log_prior, np.float64)
        self.prior = np.exp(self.log_prior)
        self.rest = self.prior.copy()
        """Prior / (1 + visits)."""
        self.visits = np.zeros(len(self.moves), np.int64)
        self.total = np.zeros(len(self.moves))
        self.q = np.full(len(self.moves), value)
        """Mean value, the position's own before the first visit; -inf: not to be searched again."""
        self.low = np.full(len(self.moves), -best)
        self.high = np.full(len(self.moves), best)
        self.lowest, self.highest = -best, best
        self.children: list[Node | None] = [None] * len(self.moves)

    @property
    def solved(self) -> bool:
        return self.lowest >= self.highest

    def select(self, scale: float) -> int:
        """Return the move to look at next."""
        reach = EXPLORATION * scale * math.sqrt(self.count + 1)
        return int((self.q + reach * self.rest).argmax())

    def visited(self, move: int, value: float) -> None:
        """Count a simulation that went by `move` and came to `value`."""
        visits = self.visits
        visits[move] += 1
        self.count += 1
        self.total[move] += value
        self.rest[move] = self.prior[move] / (1 + visits[move])
        if self.q[move] > -math.inf:
            mean = self.total[move] / visits[move]
            self.q[move] = min(max(mean, self.low[move]), self.high[move])

    def prove(self, move: int, low: float, high: float) -> bool:
        """Take bounds of a move's value; return whether those of the position changed."""
        self.low[move], self.high[move] = low, high
        lowest, highest = float(self.low.max()), float(self.high.max())
        changed = lowest != self.lowest or highest != self.highest
        self.lowest, self.highest = lowest, highest
        self.q[(self.high <= lowest) | (self.low >= self.high)] = -math.inf
        return changed

    def values(self) -> NDArray[Any]:
        """Return what each move is worth by all that is known, within its bounds."""
        means = np.where(self.visits > 0, self.total / np.maximum(self.visits, 1), self.value)
        return np.clip(means, self.low, self.high)


class Tree:
    """A search of one position, for `simulations` ways from it to a leaf."""

    def __init__(
        self,
        position: OpenPosition,
        simulations: int,
        noise: NDArray[Any] | None = None,
    ) -> None:
        """`noise` has a number for each legal move, as a Gumbel distribution draws them."""
        self.position, self.simulations = position, simulations
        self.best = position.game.largest_return
        self.scale = 1.0
        self.spent = 0
        self.root: Node | None = None
        self._noise = noise
        self._path: list[tuple[Node, int]] = []
        self._leaf: OpenPosition | None = position
        self._considered: list[int] = []
        self._phases = 1
        self._quota = 0
        """Visits that each considered move is to have before they are halved."""

    def leaf(self) -> OpenPosition | None:
        """Return the next position to be judged; None: the search is over."""
        while self._leaf is None and self.spent < self.simulations and not self._decided():
            self._descend()
        return self._leaf

    def judged(self, log_prior: NDArray[Any], value: float) -> None:
        """Take the log-probabilities of the leaf's legal moves, and its value for its mover."""
        leaf, self._leaf = self._leaf, None
        assert leaf is not None
        value = min(max(value, -self.best), self.best)
        node = Node(leaf, log_prior, value, self.best)
        self.scale = max(self.scale, abs(value))
        if self.root is None:
            self.root = node
            self._begin(node)
            return
        parent, move = self._path[-1]
        parent.children[move] = node
        self._back_up(value if node.seat == 0 else -value)

    def choice(self) -> int:
        """Return the move to play: none that is proved worse than another."""
        root = self._rooted()
        scores = self.scores()
        if bool((root.q[self._considered] > -math.inf).any()):
            # What was dropped on the way counts only if it is proved to be better. Where all that
            # were looked at are proved, others may be better than those.
            dropped = root.low < root.high
            dropped[self._considered] = False
            scores[dropped] = -math.inf
        no_better = (root.high <= root.lowest) & (root.low < root.lowest)
        scores[no_better] = -math.inf
        return int(root.moves[int(scores.argmax())])

    def scores(self) -> NDArray[Any]:
        """Return noise, log-prior and weighed value of each move at the root."""
        root = self._rooted()
        weight = VALUE_WEIGHT * (VISIT_OFFSET + int(root.visits.max(initial=0)))
        scores = root.log_prior + weight * (root.values() / self.scale + 1) / 2
        return scores if self._noise is None else scores + self._noise

    def _rooted(self) -> Node:
        if self.root is None:
            raise ValueError("The root has not been judged yet.")
        return self.root

    def _decided(self) -> bool:
        return self.root is not None and (self.root.solved or len(self.root.moves) == 1)

    def _begin(self, root: Node) -> None:
        start = root.log_prior if self._noise is None else root.log_prior + self._noise
        count = min(len(root.moves), CONSIDERED, max(1, self.simulations))
        self._considered = np.argsort(-start, kind="stable")[:count].tolist()
        self._phases = max(1, math.ceil(math.log2(count)))
        self._raise_quota()

    def _raise_quota(self) -> None:
        share = self.simulations / (self._phases * len(self._considered))
        self._quota += max(1, int(share))

    def _root_move(self, root: Node) -> int:
        """Return the considered move with the fewest visits; halve them when all have enough."""
        alive = [move for move in self._considered if root.q[move] > -math.inf]
        if not alive:
            # All that were looked at are proved, and the rest may be better.
            alive = np.flatnonzero(root.q > -math.inf).tolist()
            self._considered = alive
        move = min(alive, key=lambda i: int(root.visits[i]))
        if len(alive) > FINALISTS and root.visits[move] >= self._quota:
            scores = self.scores()
            alive.sort(key=lambda i: -scores[i])
            self._considered = alive[: max(FINALISTS, -(-len(alive) // 2))]
            self._raise_quota()
            move = min(self._considered, key=lambda i: int(root.visits[i]))
        return move

    def _descend(self) -> None:
        """Walk from the root to a leaf; an end is backed up at once."""
        node = self._rooted()
        move = self._root_move(node)
        self._path = [(node, move)]
        while (child := node.children[move]) is not None:
            node = child
            move = node.select(self.scale)
            self._path.append((node, move))
        self.spent += 1
        leaf = node.position.after(node.moves[move])
        if leaf.view is not None:
            self._leaf = leaf
            return
        self.scale = max(self.scale, abs(leaf.value))
        own = leaf.value if node.seat == 0 else -leaf.value
        self._back_up(leaf.value, (own, own))

    def _back_up(self, value: float, bounds: tuple[float, float] | None = None) -> None:
        """Count `value`, seat 0's, along the path; `bounds` of its last move are its mover's."""
        for depth in range(len(self._path) - 1, -1, -1):
            node, move = self._path[depth]
            sign = 1.0 if node.seat == 0 else -1.0
            changed = bounds is not None and node.prove(move, *bounds)
            if bounds is not None and bounds[0] >= bounds[1]:
                value = sign * bounds[0]
            node.visited(move, sign * value)
            bounds = None
            if changed and depth:
                same = self._path[depth - 1][0].seat == node.seat
                own = (node.lowest, node.highest)
                bounds = own if same else (-own[1], -own[0])
