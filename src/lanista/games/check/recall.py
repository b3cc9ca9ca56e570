"""Checks that a redraw agrees with all that a seat has seen, and not only with what it sees now.

What the seat saw before a decision is laid beside what anybody sees after it, once in real play and
once after a redraw at that decision. A correct redraw leads to nothing that real play cannot lead
to; so a sight before and a sight after that come together in many redraws, and never in real play,
show a contradiction. Before a game is blamed, real play goes on until the pair would have come up
for certain even if redraws made it a hundred times as likely as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
MOST_MATCHES = 2_000
"""Matches that are played twice, in truth and with a redraw."""
MOST_REAL = 40_000
"""Matches of real play before a game is blamed."""
UNLIKELY = 100
"""How much likelier than in real play a redraw may make a thing: redraws weigh nothing."""
CERTAIN = 12
"""A thing expected so often fails to come up once in e^12 = 160,000 times."""
FEWEST = 20
"""Redraws in which a pair must have come together."""


@dataclass
class Pairs:
    """How often each sight before came together with each sight after."""

    together: NDArray[np.float32]
    matches: int

    @classmethod
    def of(cls, before: Bits, after: Bits) -> Pairs:
        return cls(before.astype(np.float32).T @ after.astype(np.float32), len(before))

    def add(self, other: Pairs) -> None:
        """Count more matches."""
        self.together += other.together
        self.matches += other.matches


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
    eyes = Eyes(trial.spec, rows, trial.seed)
    targets = _targets(trial, rows)
    redrawn_rows = _redrawn(trial, targets)
    before, after, _ = eyes.look(rows, targets)
    real = Pairs.of(before, after)
    before, after, matches = eyes.look(redrawn_rows, targets)
    redrawn = Pairs.of(before, after)
    least = max(FEWEST, UNLIKELY * CERTAIN * redrawn.matches / most)
    played = count
    while (pair := _suspicion(real, redrawn, least)) is not None:
        expected = redrawn.together[pair] / redrawn.matches * real.matches
        if expected >= UNLIKELY * CERTAIN:
            example = matches[int(np.flatnonzero(before[:, pair[0]] & after[:, pair[1]])[0])]
            raise Fault(_blame(eyes, pair, real, redrawn, (example, *targets[example])))
        more = _real(trial, played, count)
        played += count
        real.add(Pairs.of(*eyes.look(more, _targets(trial, more))[:2]))
    return (
        f"{redrawn.matches:,} redraws led to nothing that {real.matches:,} matches of real play "
        f"rule out after what the seat had seen; {redrawn.together.size:,} pairs of sights compared"
    )


def _sizes(trial: Trial) -> tuple[int, int]:
    """Return how many matches are redrawn, and how many are played before a game is blamed."""
    decisions = len(trial.base.rows["match"]) / max(len(trial.base.ends["match"]), 1)
    count = int(min(MOST_MATCHES, trial.replayed / (4 * decisions)))
    most = int(min(MOST_REAL, 4 * trial.replayed / decisions))
    if most < UNLIKELY * CERTAIN or count < FEWEST:
        raise NotApplicable(
            f"it takes {UNLIKELY * CERTAIN:,} matches to tell, and {most:,} fit; check more matches"
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


def _suspicion(real: Pairs, redrawn: Pairs, least: float) -> tuple[int, int] | None:
    """Return the pair that came together most in redraws and never in real play."""
    only_redrawn = np.where(real.together == 0, redrawn.together, 0)
    if not only_redrawn.size or only_redrawn.max() < least:
        return None
    before, after = np.unravel_index(int(only_redrawn.argmax()), only_redrawn.shape)
    return int(before), int(after)


def _blame(eyes: Eyes, pair: tuple[int, int], real: Pairs, redrawn: Pairs, example: Any) -> str:
    match, turn, seat = example
    return (
        f"resample contradicts what the seat saw: after {eyes.names_before()[pair[0]]} it led to "
        f"{eyes.names_after()[pair[1]]}, in {redrawn.together[pair]:.0f} of {redrawn.matches:,} "
        f"redraws and in none of {real.matches:,} matches of real play; so at match {match}, turn "
        f"{turn}, seat {seat}"
    )
