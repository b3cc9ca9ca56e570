"""Each check of `check_game` is shown a game that breaks what it is there to find."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from lanista.games import (
    Abilities,
    Facts,
    Field,
    GameError,
    Head,
    PythonGame,
    Step,
    Stream,
    View,
    check_game,
)
from lanista.games.check import CHECKS, GameCheckError
from lanista.games.registry import BUILT_IN

CARDS, TURNS = 6, 4


@dataclass
class Hand:
    cards: list[int]
    moves: list[int] = field(default_factory=list)


class Duel(PythonGame):
    """A sound game. Two seats hold a card of six and take turns, four in all.

    A raise pays one chip to the other seat at once; the higher card takes two at the end.
    """

    facts = Facts(seats=2, longest=TURNS, hidden=True, chance=True, zero_sum=True)
    observation = (Field("card", 1, CARDS), Field("moves", TURNS, 3))
    moves = 2
    dtype = "uint8"
    privileged_fields = (Field("cards", 2, CARDS),)

    def deal(self, rng: Stream) -> Hand:
        first = rng.below(CARDS)
        return Hand([first, (first + 1 + rng.below(CARDS - 1)) % CARDS])

    def apply(self, state: Hand, moves: dict[int, int], rng: Stream) -> Step:
        ((seat, move),) = moves.items()
        state.moves.append(move)
        rewards = [0.0, 0.0]
        rewards[seat], rewards[1 - seat] = -move, move
        if len(state.moves) < TURNS:
            return Step(rewards=rewards)
        paid = [sum(state.moves[1::2]) - sum(state.moves[0::2])] * 2
        paid[1] = -paid[0]
        winner = int(state.cards[1] > state.cards[0])
        paid[winner] += 2
        paid[1 - winner] -= 2
        return Step(rewards=rewards, returns=paid)

    def view(self, state: Hand, seat: int) -> View | None:
        if len(state.moves) % 2 != seat:
            return None
        seen = [move + 1 for move in state.moves]
        raised = sum(state.moves[seat::2])
        legal = [0] if raised else [0, 1]
        return View([state.cards[seat], *seen, *[0] * (TURNS - len(seen))], legal)

    def view_all(self, state: Hand, seat: int) -> list[int]:
        return [state.cards[seat], state.cards[1 - seat]]

    def resample(self, state: Hand, seat: int, rng: Stream) -> None:
        own = state.cards[seat]
        state.cards[1 - seat] = (own + 1 + rng.below(CARDS - 1)) % CARDS


class Signals(PythonGame):
    """A simultaneous game without hidden cards: both name a number, the higher one wins it."""

    facts = Facts(seats=2, longest=3, chance=True, zero_sum=True, simultaneous=True, symmetric=True)
    observation = 2
    moves = 3

    def deal(self, rng: Stream) -> list[int]:
        return [rng.below(5), 0, 0]

    def apply(self, state: list[int], moves: dict[int, int], rng: Stream) -> Step | None:
        state[1] += 1
        state[2] += (moves[0] > moves[1]) - (moves[0] < moves[1])
        return Step(returns=[state[2], -state[2]]) if state[1] == 3 else None

    def view(self, state: list[int], seat: int) -> View:
        return View(state[:2], [0, 1, 2])


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


FAULTS = [
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


@pytest.mark.parametrize(
    ("check", "game", "evidence"), FAULTS, ids=lambda v: getattr(v, "__name__", v)
)
def test_a_planted_fault_fails_its_named_check(check, game, evidence):
    found = check_game(game, matches=16, effort=5_000, raise_on_failure=False)[check]
    assert found.outcome == "failed", found
    assert evidence in found.evidence


def test_every_check_has_a_planted_fault():
    assert {check for check, _, _ in FAULTS} == set(CHECKS)


class OneTurn(Signals):
    facts = replace(Signals.facts, longest=1)

    def apply(self, state, moves, rng):
        won = (moves[0] > moves[1]) - (moves[0] < moves[1])
        return [won, -won]


@pytest.mark.parametrize("game", [Duel, Signals, OneTurn])
def test_a_sound_game_passes_every_check(game):
    checkup = check_game(game)
    assert checkup.passed
    applicable = {check.name for check in checkup.checks if check.outcome == "passed"}
    silent = {"symmetry"} if game is Duel else {"hidden"}
    assert applicable == set(CHECKS) - silent


def test_a_game_without_a_privileged_view_is_judged_by_what_the_others_see():
    class Plain(Duel):
        privileged_fields = ()

    assert check_game(Plain)["hidden"].outcome == "passed"


def test_a_game_that_hides_nothing_may_redraw_nothing():
    class Harmless(Signals):
        def resample(self, state, seat, rng):
            pass

    assert check_game(Harmless)["hidden"].outcome == "passed"


def test_failures_are_raised_with_a_sentence_each():
    class Twice(WrongPlaces, Generous):
        pass

    with pytest.raises(GameCheckError) as raised:
        check_game(Twice)
    lines = str(raised.value).splitlines()
    assert lines[0] == "twice breaks its contract."
    assert [line.partition(":")[0] for line in lines[1:]] == ["zero_sum", "places"]
    assert isinstance(raised.value, GameError)


def test_a_game_that_cannot_be_saved_or_seeded_is_not_judged_by_it():
    class Live(Duel):
        abilities = Abilities(seedable=False, restorable=False, replayable=False)

    checkup = check_game(Live)
    silent = {check.name for check in checkup.checks if check.outcome == "not applicable"}
    assert silent == {
        "determinism",
        "chance",
        "deals",
        "order",
        "legal",
        "hidden",
        "save",
        "symmetry",
    }


def test_cut_off_matches_are_accepted_when_that_is_asked_for():
    assert (
        check_game(NeverEnds, raise_on_failure=False, cut_off_allowed=True)["length"].outcome
        == "passed"
    )


def test_a_factory_and_a_name_with_settings_can_be_checked():
    class Sized(Duel):
        def __init__(self, slots=1, seed=0, size=0):
            self.size = size
            super().__init__(slots, seed, size=size)

    assert check_game(lambda slots, seed: Sized(slots, seed, 3)).passed
    assert check_game(Sized, settings={"size": 2}).passed


def test_what_is_not_a_game_is_refused():
    with pytest.raises(GameError, match="give a name, a class or a factory"):
        check_game(Duel())
    with pytest.raises(GameError, match="matches is 0"):
        check_game(Duel, matches=0)
    with pytest.raises(GameError, match="did you mean 'kuhn'"):
        check_game("khun")


ELSEWHERE = ("openspiel", "pettingzoo", "microrts", "showdown")
COMPILED = [name for name in BUILT_IN if name not in ELSEWHERE]


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_game_of_ours_obeys_the_contract(name):
    # Arena's matches are long, so that fewer show as much.
    check_game(
        name, matches=4 if name == "arena" else 32, effort=4_000 if name == "arena" else 40_000
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_game_of_ours_obeys_the_contract_for_long(name):
    check_game(name, matches=32 if name == "arena" else 200, seed=1, effort=100_000)
