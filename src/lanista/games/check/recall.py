"""Checks that a redraw agrees with all that a seat has seen, and not only with what it sees now.

What the seat saw before a decision is laid beside what anybody sees after it, once in real play and
once after a redraw at that decision. Two sights that are common, one before and one after, and yet
never come together in real play exclude each other; a redraw after which they do come together
contradicts what was seen. Before a game is blamed, fresh real play has to show such pairs fifty
times more seldom than redraws do: a correct redraw may weigh its draws otherwise than chance does,
but it leads to nothing that real play rules out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Columns
from lanista.games.check.sights import Bits, Eyes
from lanista.games.check.trial import Play, Trial
from lanista.games.contract import Game, GameError
from lanista.games.streams import Stream

Targets = dict[int, tuple[int, int]]
FIRST_KEY = 5_000_000
SLOTS = 64
MOST_MATCHES = 1_000
"""Matches that are played twice, in truth and with a redraw."""
MOST_REAL = 32_000
"""Matches of real play before a game is cleared."""
UNLIKELY = 50
"""How much likelier than in real play a redraw may make a thing: redraws weigh nothing."""
CERTAIN = 12
"""A thing expected so often fails to come up once in e^12 = 160,000 times."""
USUAL = 3
"""Redraws that lead to excluded pairs at most so many times as often as real play are cleared."""
REPEATED = 5
"""Redraws in which a pair came together that counts; what is merely rare seldom comes so often."""
FEWEST = 100
"""Redraws below which nothing can be told."""


@dataclass
class Pairs:
    """How often each sight before came together with each sight after."""

    together: NDArray[np.float32]
    before: NDArray[np.float32]
    after: NDArray[np.float32]
    matches: int

    @classmethod
    def of(cls, looks: Looks) -> Pairs:
        before, after = looks.before.astype(np.float32), looks.after.astype(np.float32)
        return cls(before.T @ after, before.sum(0), after.sum(0), len(before))

    def add(self, other: Pairs) -> None:
        """Count more matches."""
        self.together += other.together
        self.before += other.before
        self.after += other.after
        self.matches += other.matches

    def exclusive(self) -> NDArray[np.bool_]:
        """Return which pairs never came together though both sights are common."""
        by_chance = np.outer(self.before, self.after) / self.matches
        # So many pairs are looked at that some never come together by mere chance; of those that
        # would have done so this often, one is to be expected among all.
        enough = math.log(max(self.together.size, 2))
        result: NDArray[np.bool_] = (self.together == 0) & (by_chance >= enough)
        return result


@dataclass
class Looks:
    """What was so before and after one decision of each of many matches."""

    before: Bits
    after: Bits
    matches: list[int]

    def showing(self, pairs: NDArray[np.bool_]) -> Bits:
        """Return which matches show one of the pairs."""
        reached = self.before.astype(np.float32) @ pairs.astype(np.float32) > 0
        return np.asarray((reached & self.after).any(1), np.bool_)


class Redrawn(Play):
    """Matches in which what a seat cannot see is redrawn at one decision of it."""

    def __init__(self, trial: Trial, game: Game, targets: Targets) -> None:
        super().__init__(game, list(targets), fully=True)
        self._seed, self._targets = trial.seed, dict(targets)
        self.refuses = False

    def step(self) -> None:
        """Redraw where that is due, and go on."""
        decisions = self.game.decisions()
        for slot, seat, turn in zip(
            decisions.slot.tolist(), decisions.seat.tolist(), decisions.turn.tolist(), strict=True
        ):
            match = self.live.get(slot)
            if match is not None and self._targets.get(match) == (turn, seat):
                del self._targets[match]
                stream = Stream.keyed(self._seed, match, seat, "resample", turn)
                try:
                    self.game.resample_hidden(slot, seat, stream)
                except GameError:
                    self.refuses = True
                    raise
        super().step()


def recall(trial: Trial) -> str:
    """What is redrawn agrees with all that the seat saw earlier."""
    if not trial.spec.facts.hidden:
        raise NotApplicable("facts say that nothing is hidden")
    trial.sound()
    count, most = _sizes(trial)
    rows = _real(trial, 0, count)
    eyes, targets = Eyes(trial.spec, rows, trial.seed), _targets(trial, rows)
    redrawn = Looks(*eyes.look(_redrawn(trial, targets), targets))
    repeated = Pairs.of(redrawn).together >= REPEATED
    real = Pairs.of(Looks(*eyes.look(rows, targets)))
    while True:
        pairs = real.exclusive() & repeated
        contradicted = redrawn.showing(pairs)
        rate = _at_least(int(contradicted.sum()), len(contradicted))
        more = _real(trial, real.matches, real.matches)
        fresh = Looks(*eyes.look(more, _targets(trial, more)))
        often = int(fresh.showing(pairs).sum())
        if rate * len(fresh.matches) > UNLIKELY * (2 * often + CERTAIN):
            raise Fault(_blame(eyes, pairs, redrawn, targets, real.matches + len(fresh.matches)))
        real.add(Pairs.of(fresh))
        cleared = rate * len(fresh.matches) <= USUAL * (often + 1) and real.matches > 2 * count
        if cleared or real.matches >= most:
            return (
                f"{len(redrawn.matches):,} redraws led to nothing that real play rules out after "
                f"what the seat had seen: none of {pairs.size:,} pairs of sights came "
                f"together in redraws alone, in {real.matches:,} matches"
            )


def _at_least(count: int, of: int) -> float:
    """Return a rate that is surely not above the true one."""
    return max(0.0, count - 3 * math.sqrt(count)) / max(of, 1)


def _sizes(trial: Trial) -> tuple[int, int]:
    """Return how many matches are redrawn, and how many are played before a game is cleared."""
    decisions = len(trial.base.rows["match"]) / max(len(trial.base.ends["match"]), 1)
    count = int(min(MOST_MATCHES, trial.replayed / (4 * decisions)))
    most = int(min(MOST_REAL, 4 * trial.replayed / decisions))
    if count < FEWEST:
        raise NotApplicable(
            f"it takes {FEWEST} redraws to tell, and {count} fit; check more matches"
        )
    return count, most


def _real(trial: Trial, first: int, count: int) -> Columns:
    keys = [FIRST_KEY + first + i for i in range(count)]
    with trial.game(SLOTS) as game:
        play = Play(game, keys, fully=True).run()
    if play.trouble:
        raise Fault(f"the matches could not be played: {play.trouble}")
    return play.rows


def _targets(trial: Trial, rows: Columns) -> Targets:
    """Return a decision of each match, any of them."""
    matches, firsts = np.unique(rows["match"], return_index=True)
    ends = [*firsts[1:], len(rows["match"])]
    random = np.random.default_rng([trial.seed, int(matches[0])])
    targets = {}
    for match, first, end in zip(matches.tolist(), firsts, ends, strict=True):
        row = int(random.integers(first, end))
        targets[match] = (int(rows["turn"][row]), int(rows["seat"][row]))
    return targets


def _redrawn(trial: Trial, targets: Targets) -> Columns:
    with trial.game(SLOTS) as game:
        matches = Redrawn(trial, game, targets)
        play = matches.run()
    if matches.refuses:
        raise NotApplicable("what is hidden could not be redrawn; see `hidden`")
    if play.trouble:
        raise Fault(f"a match cannot be played on after resample_hidden: {play.trouble}")
    return play.rows


def _blame(
    eyes: Eyes, pairs: NDArray[np.bool_], redrawn: Looks, targets: Targets, real_matches: int
) -> str:
    together = np.where(pairs, Pairs.of(redrawn).together, 0)
    before, after = np.unravel_index(int(together.argmax()), together.shape)
    example = int(np.flatnonzero(redrawn.before[:, before] & redrawn.after[:, after])[0])
    match = redrawn.matches[example]
    turn, seat = targets[match]
    return (
        f"resample contradicts what the seat saw: after {eyes.names_before()[before]} it led to "
        f"{eyes.names_after()[after]}, as at match {match}, turn {turn}, seat {seat}; "
        f"{redrawn.showing(pairs).sum():,} of {len(redrawn.matches):,} redraws led to what "
        f"{real_matches:,} matches of real play all but rule out"
    )
