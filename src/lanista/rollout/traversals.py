"""Traverses games for regrets: one seat tries its choices, the others and chance are sampled.

Copies of a position are played on side by side in the slots of one game, all decisions of a step
with one question to the strategy. A branch shares the chance that is still to come with the others
of its decision, which leaves the mean of a regret as it is and takes much of its noise. Knows
nothing of networks and of how regrets are learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lanista.data.traversals import ChoiceRows, Traversals, joined
from lanista.errors import LanistaError
from lanista.games.contract import Decisions, Game, Spec
from lanista.games.python_game import PythonGame

Strategy = Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[np.float64]]
"""From observations and masks to probabilities, a row each."""
MOST_SLOTS = 1 << 18
"""Positions that are played on at once, at most."""


@dataclass(frozen=True)
class Branching:
    """At which decisions of the seat that looks every choice is tried."""

    kind: Literal["external", "rollout"] = "external"
    share: float = 1.0
    """rollout: the share of decisions on the way that are."""
    explore: float = 0.0
    """rollout: how often any legal choice is taken on the way."""


@dataclass
class _Step:
    """What one step of all matches leaves for the way back."""

    branched: ChoiceRows
    """Decisions at which every choice was tried, with the probabilities of the strategy."""
    slot: NDArray[np.int64]
    """Where each of them was."""
    row: NDArray[np.int64]
    """Of every branch: the number of its decision,"""
    action: NDArray[np.int64]
    """its choice,"""
    child: NDArray[np.int64]
    """and the slot in which it was played on."""
    ended: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Slots whose match ended in this step,"""
    returns: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """and what the seat got there."""


def refuse_game(spec: Spec, *, copies: bool = True) -> None:
    """Refuse a game whose regrets cannot be sampled, by copies or not, or would mean nothing."""
    if spec.seats != 2 or not spec.facts.zero_sum:
        raise LanistaError(
            f"learning.policy is regret, which finds equilibria of two seats that play for each "
            f"other's loss, and {spec.name} is not such a game; choose ppo."
        )
    if copies and not spec.abilities.restorable:
        raise LanistaError(
            f"{spec.name} cannot be saved in mid-match, so that no copy of a position can be "
            "played on; set learning.regret.sampling to outcome."
        )
    if len(spec.heads) != 1:
        raise LanistaError(
            f"learning.policy is regret, which tries every choice of a decision, and those of "
            f"{spec.name} have {len(spec.heads)} heads; choose ppo."
        )


class Traverser:
    """A game whose slots are traversed; they grow to as many as the branches need."""

    def __init__(self, make: Callable[[int], Game], spec: Spec, branching: Branching) -> None:
        """`make` gives a game with so many slots."""
        refuse_game(spec)
        self.spec, self.branching, self._make = spec, branching, make
        self.game = make(1)
        self._active = np.zeros(1, np.bool_)
        """Slots with a match under way."""
        self._on_the_way = np.zeros(1, np.bool_)
        """Those that are no branch."""

    def traverse(
        self,
        seat: int,
        first_match: int,
        matches: int,
        strategy: Strategy,
        rng: np.random.Generator,
    ) -> Traversals:
        """Traverse so many matches for `seat`; all seats play `strategy`."""
        self._active[:] = False
        self._room(matches)
        self.game.start(np.arange(matches), np.arange(first_match, first_match + matches))
        self._active[:matches] = True
        self._on_the_way[:] = False
        self._on_the_way[:matches] = True
        steps: list[_Step] = []
        strategies: list[ChoiceRows] = []
        count = 0
        while len(decisions := self.game.decisions()):
            count += len(decisions)
            steps.append(self._step(decisions, seat, strategy, rng, strategies))
        regrets = self._regrets(steps)
        return Traversals(self._joined(regrets), self._joined(strategies), count, matches)

    def close(self) -> None:
        """End whatever the game started outside this process."""
        self.game.close()

    def _step(
        self,
        decisions: Decisions,
        seat: int,
        strategy: Strategy,
        rng: np.random.Generator,
        strategies: list[ChoiceRows],
    ) -> _Step:
        """Let every decision be made, and every choice tried where that is due."""
        slots, seats = decisions.slot.copy(), decisions.seat.copy()
        observation, mask = decisions.observation.copy(), decisions.mask.copy()
        probability = strategy(observation, mask)
        mine, free = seats == seat, mask.sum(1) > 1
        on_the_way = self._on_the_way[slots]
        branches, chances = mine & free, probability
        if self.branching.kind == "rollout":
            # Drawn for every row, so that what one match draws depends on no other's branches.
            branches &= on_the_way & (rng.random(len(slots)) < self.branching.share)
            rows = mine & on_the_way
            chances = exploring(probability, mask, rows, self.branching.explore)
        chosen = np.zeros((len(self._active), self.spec.seats), np.int32)
        chosen[slots, seats] = sampled(chances, rng.random(len(slots)))
        others = ~mine & free & on_the_way
        strategies.append(ChoiceRows(observation[others], mask[others], probability[others]))
        rows = np.flatnonzero(branches)
        branched = ChoiceRows(observation[rows], mask[rows], probability[rows])
        step = self._branch(branched, slots[rows].astype(np.int64))
        chosen = self._copy(step, chosen, seat)
        self._act(step, chosen, seat)
        return step

    def _branch(self, branched: ChoiceRows, slot: NDArray[np.int64]) -> _Step:
        """Give every choice of the branched decisions a slot."""
        row, action = np.nonzero(branched.mask)
        child = slot[row]
        # The first choice goes on where the decision was; on the way, the match itself does.
        copied = np.ones(len(row), np.bool_)
        if self.branching.kind == "external":
            copied = np.concatenate([[False], row[1:] == row[:-1]]) if len(row) else copied
        count = int(copied.sum())
        self._room(int(self._active.sum()) + count)
        child[copied] = np.flatnonzero(~self._active)[:count]
        return _Step(branched, slot, row, action, child)

    def _copy(self, step: _Step, chosen: NDArray[np.int32], seat: int) -> NDArray[np.int32]:
        """Load the branches into their slots; return what is chosen in each slot."""
        grown = np.zeros((len(self._active), chosen.shape[1]), np.int32)
        grown[: len(chosen)] = chosen
        source = step.slot[step.row]
        copied = step.child != source
        if copied.any():
            children = step.child[copied]
            copy_matches(self.game, source[copied], children)
            self._active[children] = True
            self._on_the_way[children] = self.branching.kind == "external"
            grown[children] = grown[source[copied]]
        grown[step.child, seat] = step.action
        return grown

    def _act(self, step: _Step, chosen: NDArray[np.int32], seat: int) -> None:
        decisions = self.game.decisions()
        actions = chosen[decisions.slot, decisions.seat]
        step.ended = self.game.act(np.arange(len(decisions)), actions[:, None])
        step.returns = self.game.returns[step.ended, seat].astype(np.float64)
        self._active[step.ended] = False

    def _room(self, slots: int) -> None:
        """Make the game one of at least so many slots; matches under way keep theirs."""
        if slots <= len(self._active):
            return
        if slots > MOST_SLOTS:
            raise LanistaError(
                f"A traversal of {self.spec.name} tries more than {MOST_SLOTS:,} positions at "
                "once; set learning.regret.sampling to rollout, or rollouts.matches lower."
            )
        count = 1 << (slots - 1).bit_length()
        game, active = self._make(count), np.flatnonzero(self._active)
        if len(active):
            game.load(active, self.game.save(active))
        self.game.close()
        self.game = game
        self._active = np.pad(self._active, (0, count - len(self._active)))
        self._on_the_way = np.pad(self._on_the_way, (0, count - len(self._on_the_way)))

    def _regrets(self, steps: list[_Step]) -> list[ChoiceRows]:
        """Return the regrets of all branched decisions: steps are gone through from the last.

        A slot is used again after its match ended, so what it was worth stands there only from the
        step on in which that was; going back, the later match has been read by then.
        """
        value = np.zeros(len(self._active))
        regrets = []
        for step in reversed(steps):
            value[step.ended] = step.returns
            earned = np.zeros(step.branched.mask.shape)
            earned[step.row, step.action] = value[step.child]
            mean = (earned * step.branched.values).sum(1)
            value[step.slot] = mean
            regret = np.where(step.branched.mask, earned - mean[:, None], 0.0)
            regrets.append(ChoiceRows(step.branched.observation, step.branched.mask, regret))
        return regrets

    def _joined(self, parts: list[ChoiceRows]) -> ChoiceRows:
        spec = self.spec
        return joined(parts, spec.observation.length, spec.choices, spec.observation.dtype)


def copy_matches(game: Game, sources: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
    """Put copies of matches into other slots; a game in Python need not play them again for it."""
    if isinstance(game, PythonGame):
        game.copy_matches(sources, slots)
    else:
        game.load(slots, game.save(sources))


def exploring(
    probability: NDArray[np.float64],
    mask: NDArray[np.bool_],
    rows: NDArray[np.bool_],
    share: float,
) -> NDArray[np.float64]:
    """Return probabilities by which `rows` take any legal choice with the chance `share`."""
    uniform = mask / mask.sum(1, keepdims=True)
    mixed: NDArray[np.float64] = share * uniform + (1 - share) * probability
    return np.where(rows[:, None], mixed, probability)


def sampled(probability: NDArray[np.float64], uniform: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return a choice for each row, by inverse CDF; one with probability 0 is never drawn."""
    running = probability.cumsum(1)
    choice = (uniform[:, None] * running[:, -1:] >= running).sum(1)
    # Rounding may leave nothing above the draw.
    drawn: NDArray[np.intp] = np.where(choice < probability.shape[1], choice, probability.argmax(1))
    return drawn
