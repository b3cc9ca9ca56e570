"""More games that break the contract, each so that only one part of one check can see it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sound_games import Duel, OneTurn

from lanista.games import View
from lanista.games.check.trial import Answers
from lanista.games.streams import Stream


class Obstinate(Duel):
    """Takes no allowed answer but the one that the checks' own play gives."""

    def decisions(self):
        self.shown = super().decisions()
        return self.shown

    def act(self, rows, actions):
        shown = self.shown
        wanted = Answers(self.spec)(shown, np.asarray(rows), shown.match)
        legal = [shown.mask[row][action].all() for row, action in zip(rows, actions, strict=True)]
        if all(legal) and (np.asarray(actions).reshape(wanted.shape) != wanted).any():
            raise IndexError("no such move")
        return super().act(rows, actions)


class TakesARowTwice(Duel):
    """Of a row that is named twice, takes the first answer."""

    def act(self, rows, actions):
        _, first = np.unique(np.asarray(rows), return_index=True)
        return super().act(np.asarray(rows)[first], np.asarray(actions)[first])


class TakesBadBesideGood(Duel):
    """Corrects a wrong answer that comes together with others."""

    def act(self, rows, actions):
        actions = np.array(actions)
        if len(set(np.asarray(rows).tolist())) > 1:
            actions = np.where((actions < 0) | (actions > 1), 0, actions)
        return super().act(rows, actions)


class Stingy(Duel):
    """Pays less than it takes."""

    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.returns[slot] -= 1
        self.reward[slot] -= 1


class Unpaid(Duel):
    """The last reward is smaller than it should be."""

    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.reward[slot, 0] -= 1


class Overpaid(Duel):
    """The last reward is larger than it should be."""

    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.reward[slot, 1] += 1


class SkipsPlaces(Duel):
    """The second of two seats is fifth."""

    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.place[slot] = np.where(self.place[slot] == 1, 1, 5)


class CutOffForOne(Duel):
    """A match without a result for seat 0 and with one for seat 1, which does not add up."""

    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.cut_off[slot, 0] = True
        self.returns[slot] += 1


class CountsFromOne(OneTurn):
    """Its first turn is 1, which is the longest that it may take."""

    def decisions(self):
        shown = super().decisions()
        return replace(shown, turn=shown.turn + 1)


class TakesBack(Duel):
    """Seat 0 is out while seat 1 chooses, and back again afterwards."""

    def _look(self, slot, match):
        self.done[slot] = False
        super()._look(slot, match)
        self.done[slot, 0] = match.turn == 1


class SameDealForAll(Duel):
    """The seed alone decides what is dealt."""

    def deal(self, rng):
        return super().deal(Stream.keyed(self.seed, 0, 0, "chance"))


class Crowded(Duel):
    """Shows something else where many matches are played."""

    def view(self, state, seat):
        view = super().view(state, seat)
        if view is None or self.slots <= 8:
            return view
        return View([(view.observation[0] + 1) % 6, *view.observation[1:]], view.legal)


class SaveLives(Duel):
    """What it saved goes on with the match."""

    lent = None

    def save(self, slots):
        self.lent = super().save(slots)
        return self.lent

    def act(self, rows, actions):
        ended = super().act(rows, actions)
        if self.lent is not None:
            self.lent["match_ids"] += 1
        return ended


class EndlessReturn(Duel):
    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.returns[slot] = np.nan


MORE_FAULTS = [
    ("legal", Obstinate, "not accepted"),
    ("illegal", TakesARowTwice, "the same row twice was accepted"),
    ("illegal", TakesBadBesideGood, "was accepted"),
    ("zero_sum", Stingy, "do not add up to 0"),
    ("rewards", Unpaid, "add up to"),
    ("rewards", Overpaid, "add up to"),
    ("places", SkipsPlaces, "but places"),
    ("ends", TakesBack, "done and later not"),
    ("chance", SameDealForAll, "another match id"),
    ("determinism", Crowded, "with 64 slots"),
    ("save", SaveLives, "changed when the matches went on"),
    ("description", EndlessReturn, "returns holds a number that is not finite"),
]
