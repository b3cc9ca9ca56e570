"""Games that break the contract, each in one way, and the check that is there to find it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from sound_games import CARDS, TURNS, Duel, Hand, Signals

from lanista.games import Field, GameError, Head, View


class Leaky(Duel):
    """Shows the other seat's card."""

    def view(self, state, seat):
        view = super().view(state, seat)
        if view is None:
            return None
        return View([state.cards[1 - seat], *view.observation[1:]], view.legal)


class LeakyMask(Duel):
    """Allows a raise only to the better card."""

    def view(self, state, seat):
        view = super().view(state, seat)
        if view is None:
            return None
        better = state.cards[seat] > state.cards[1 - seat]
        return View(view.observation, view.legal if better else [0])


class NoRedraw(Duel):
    def resample(self, state, seat, rng):
        pass


class NoRedrawNoPrivilege(NoRedraw):
    privileged_fields = ()


class RefusesRedraw(Duel):
    def resample(self, state, seat, rng):
        raise GameError("cannot")


class RedrawBreaks(Duel):
    """Leaves a position in which the rules cannot go on."""

    def resample(self, state, seat, rng):
        super().resample(state, seat, rng)
        state.cards = dict(enumerate(state.cards))
        state.moves = tuple(state.moves)


class OpenButRedrawn(Duel):
    """Says that nothing is hidden, and shows both cards, yet redraws one."""

    facts = replace(Duel.facts, hidden=False)
    observation = (Field("cards", 2, CARDS), Field("moves", TURNS, 3))

    def view(self, state, seat):
        view = super().view(state, seat)
        return view and View([*state.cards, *view.observation[1:]], view.legal)


class Forgetful(Duel):
    """Deals by a counter of its own."""

    deals = itertools.count()

    def deal(self, rng):
        number = next(self.deals) % CARDS
        return Hand([number, (number + 1) % CARDS])


class CrossTalk(Duel):
    """The last move of any match shows in every match."""

    def apply(self, state, moves, rng):
        self.last = max(moves.values())
        return super().apply(state, moves, rng)

    def view(self, state, seat):
        view = super().view(state, seat)
        if view is None:
            return None
        return View([*view.observation[:-1], getattr(self, "last", 0)], view.legal)


class LuckDenied(Duel):
    facts = replace(Duel.facts, chance=False)


class LuckClaimed(Duel):
    def deal(self, rng):
        return Hand([2, 3])


class DealIgnored(Duel):
    def start(self, slots, match_ids, options=None):
        super().start(slots, match_ids)


class ShowsAnswers(Signals):
    """A seat that answers later sees what the other has answered."""

    def decisions(self):
        shown = super().decisions()
        for row, slot in enumerate(shown.slot):
            shown.observation[row, 1] += 10 * len(self._matches[slot].answers)
        return shown


class AllowsTooMuch(Duel):
    """The mask allows a raise that the rules refuse."""

    def decisions(self):
        shown = super().decisions()
        shown.mask[:] = True
        return shown


class AllowsTooLittle(Duel):
    """The mask hides a raise that the rules accept."""

    def decisions(self):
        shown = super().decisions()
        shown.mask[:, 1] = False
        return shown


class TripsOverLegal(Duel):
    def apply(self, state, moves, rng):
        if state.moves == [0, 0] and 1 in moves.values():
            raise IndexError("no such raise")
        return super().apply(state, moves, rng)


class EmptyHead(Duel):
    def decisions(self):
        shown = super().decisions()
        shown.mask[shown.turn == 2] = False
        return shown


class RefusesOddly(Duel):
    def act(self, rows, actions):
        try:
            return super().act(rows, actions)
        except GameError as error:
            raise ValueError("no") from error


class RefusesTooLate(Duel):
    """Notices a wrong answer only when the right ones beside it have been taken."""

    def act(self, rows, actions):
        ended = [
            super(RefusesTooLate, self).act([r], [a]) for r, a in zip(rows, actions, strict=True)
        ]
        return np.sort(np.concatenate(ended))


class TakesStaleRows(Duel):
    def _refuse_wrong(self, rows, answers):
        for row in rows:
            if 0 <= row < len(self._rows) and len(rows) == 1:
                slot, seat, _ = self._rows[row]
                views = self._started(slot).views
                self._rows[row] = (slot, next(iter(views), seat), views)
        super()._refuse_wrong(rows, answers)


class Generous(Duel):
    def apply(self, state, moves, rng):
        step = super().apply(state, moves, rng)
        if step.returns is None:
            return step
        return replace(step, returns=[value + 1 for value in step.returns])


class Grudging(Duel):
    """It says that both win together, and pays one of them."""

    facts = replace(Duel.facts, zero_sum=False, paid_alike=True)


class WrongPlaces(Duel):
    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.place[slot] = 3 - self.place[slot]


class SharedPlaces(Duel):
    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.place[slot] = 1


class LateRewards(Duel):
    """What a turn brings is reported a decision later; the last is never seen."""

    def _advance(self, slot, match):
        super()._advance(slot, match)
        due = self.reward[slot].copy()
        self.reward[slot] = getattr(match, "late", 0)
        match.late = due


class KeptRewards(Duel):
    """Rewards are not cleared when a seat has decided."""

    def _advance(self, slot, match):
        before = self.reward[slot].copy()
        super()._advance(slot, match)
        self.reward[slot] = before + self.reward[slot] * (self.reward[slot] != before)


class NeverDone(Duel):
    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.done[slot, 1] = False


class AsksTheOut(Duel):
    """Puts a seat out and asks it again."""

    def apply(self, state, moves, rng):
        step = super().apply(state, moves, rng)
        return replace(step, out=(0, 1)) if step.returns is None else step

    def _look(self, slot, match):
        done = self.done[slot].copy()
        self.done[slot] = False
        super()._look(slot, match)
        self.done[slot] = done


class HalfCutOff(Duel):
    def _finish(self, slot, match, step):
        super()._finish(slot, match, step)
        self.cut_off[slot, 0] = True


class SilentEnd(Duel):
    def act(self, rows, actions):
        return super().act(rows, actions)[:0]


class NeverEnds(Duel):
    def apply(self, state, moves, rng):
        super().apply(state, moves, rng)
        del state.moves[2:]


class RunsOver(NeverEnds):
    """Goes on after its longest turn."""

    def _finish(self, slot, match, step):
        self._look(slot, match)


class TurnStands(Duel):
    def decisions(self):
        return replace(super().decisions(), turn=super().decisions().turn // 2)


class ForgetsAMove(Duel):
    def save(self, slots):
        saved = super().save(slots)
        for i, end in enumerate(np.cumsum(saved["lengths"])):
            if saved["lengths"][i]:
                saved["history"][end - 1] = 0
        return saved


class ForgetsRewards(Duel):
    def load(self, slots, saved):
        super().load(slots, saved)
        self.reward[slots] = 0


class ForgetsAnswers(Signals):
    def save(self, slots):
        saved = super().save(slots)
        saved["answers"][:] = -1
        return saved


class SavesObjects(Duel):
    def save(self, slots):
        return {**super().save(slots), "match_ids": np.array([object()] * len(slots))}


class FavoursFirst(Signals):
    def apply(self, state, moves, rng):
        if rng.below(4) == 0:
            moves = {0: 2, 1: 0}
        return super().apply(state, moves, rng)


class OutOfClass(Duel):
    observation = (Field("card", 1, CARDS - 1), Field("moves", TURNS, 3))


class NotANumber(Signals):
    def view(self, state, seat):
        return View([float("nan"), 0], [0, 1, 2])


class WrongDtype(Duel):
    def decisions(self):
        shown = super().decisions()
        return replace(shown, observation=shown.observation.astype(np.float64))


class LentMemory(Duel):
    """Hands out its own memory, and reads it again."""

    lent = None

    def decisions(self):
        shown = super().decisions()
        if self.lent is not None and len(self.lent) == len(shown):
            shown.observation[:] = self.lent
        self.lent = shown.observation
        return shown


class TwinHeads(Duel):
    moves = (Head("move", 2), Head("move", 1))

    def view(self, state, seat):
        view = super().view(state, seat)
        return view and View(view.observation, [view.legal, [0]])

    def apply(self, state, moves, rng):
        return super().apply(state, {seat: move[0] for seat, move in moves.items()}, rng)


class TogetherDenied(Signals):
    facts = replace(Signals.facts, simultaneous=False)


class RedrawsWhatWasShown(Duel):
    """Shows seat 1 the other's card in its first turn, and redraws it in its second."""

    observation = (Field("card", 1, CARDS), Field("moves", TURNS, 3), Field("shown", 1, CARDS + 1))

    def view(self, state, seat):
        view = super().view(state, seat)
        if view is None:
            return None
        shown = state.cards[0] + 1 if len(state.moves) == 1 else 0
        return View([*view.observation, shown], view.legal)

    def resample(self, state, seat, rng):
        if len(state.moves) != 1:
            super().resample(state, seat, rng)


FAULTS = [
    ("recall", RedrawsWhatWasShown, "contradicts what the seat saw: after shown = "),
    ("description", TogetherDenied, "do not say simultaneous"),
    ("hidden", Leaky, "observation or mask"),
    ("hidden", LeakyMask, "observation or mask"),
    ("hidden", NoRedraw, "changed nothing in the privileged view"),
    ("hidden", NoRedrawNoPrivilege, "changed nothing in the other seats"),
    ("hidden", RefusesRedraw, "needs resample_hidden"),
    ("hidden", RedrawBreaks, "cannot be played on"),
    ("hidden", OpenButRedrawn, "nothing is hidden"),
    ("determinism", Forgetful, "another observation"),
    ("determinism", CrossTalk, "with 7 slots"),
    ("chance", LuckDenied, "facts say no chance"),
    ("chance", LuckClaimed, "facts say chance"),
    ("deals", DealIgnored, "on the same deals"),
    ("order", ShowsAnswers, "another observation"),
    ("legal", AllowsTooMuch, "not accepted"),
    ("legal", TripsOverLegal, "no such raise"),
    ("illegal", AllowsTooLittle, "was accepted"),
    ("illegal", RefusesOddly, "ValueError"),
    ("illegal", RefusesTooLate, ""),
    ("illegal", TakesStaleRows, "answered before"),
    ("heads", EmptyHead, "no legal choice"),
    ("zero_sum", Generous, "do not add up to 0"),
    ("paid_alike", Grudging, "are not the same"),
    ("places", WrongPlaces, "places"),
    ("places", SharedPlaces, "places"),
    ("rewards", LateRewards, "add up to"),
    ("rewards", KeptRewards, "add up to"),
    ("ends", NeverDone, "not done"),
    ("ends", AsksTheOut, "had to decide"),
    ("ends", HalfCutOff, "cut off for one seat"),
    ("plays", SilentEnd, "asks nobody"),
    ("length", NeverEnds, "cut off"),
    ("length", RunsOver, "went on after turn 4"),
    ("length", TurnStands, "after 1 advances"),
    ("save", ForgetsAMove, "went on otherwise"),
    ("save", ForgetsRewards, "another reward"),
    ("save", ForgetsAnswers, "went on otherwise"),
    ("save", SavesObjects, "Python objects"),
    ("symmetry", FavoursFirst, "seat 0 gains"),
    ("description", OutOfClass, "classes"),
    ("description", NotANumber, "not finite"),
    ("description", WrongDtype, "float64"),
    ("description", LentMemory, "written to"),
    ("description", TwinHeads, "'move'"),
]
