"""Lifts a game written for one match in plain Python to the contract of many slots.

An author writes three hooks: `deal`, `apply`, `view`. Legality, step limits, slots, saving and ends
are this module's business; what a hook gives is read in hooks.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lanista.games.arguments import (
    read_actions,
    read_match_ids,
    read_options,
    read_size,
    read_slots,
    whole_numbers,
)
from lanista.games.contract import (
    Abilities,
    Decisions,
    Facts,
    Field,
    GameError,
    Group,
    Head,
    Ints,
    Observation,
    Options,
    Saved,
    Spec,
)
from lanista.games.hooks import Step, View, allows, read_step, write_mask, write_observation
from lanista.games.match_state import Match
from lanista.games.saving import marked, refuse_foreign
from lanista.games.slots import Results, gone, refuse_rows, started
from lanista.games.streams import Stream

__all__ = ["PythonGame", "Step", "View"]


class PythonGame(Results):
    """The base of a game in Python. Class attributes describe it, three hooks play it."""

    name: ClassVar[str] = ""
    facts: Facts
    observation: int | tuple[Field, ...]
    """The length of an observation, or its named fields."""
    moves: int | tuple[Head, ...]
    """The number of moves, or the heads of an action."""
    groups: tuple[Group, ...] = ()
    """Groups of fields, and which of their entries are interchangeable."""
    dtype: str = "float32"
    privileged_fields: tuple[Field, ...] = ()
    abilities: Abilities = Abilities()
    largest_return: float = math.inf
    """The most that a seat can get in a match, where that is known: whoever searches for a win
    looks no further once it is proved."""
    bots: ClassVar[Mapping[str, Any]] = {}
    """Bots of this game by name: callables of (spec, seed)."""
    observing: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered while views are made, which is when a match goes on: for those who time them."""

    # The hooks.

    def deal(self, rng: Stream) -> Any:
        """Return the state of a fresh match."""
        raise NotImplementedError

    def apply(self, state: Any, moves: dict[int, Any], rng: Stream) -> Any:
        """Change `state` by the moves of the seats that had to choose.

        A move is a number, or a list with several heads. Returns None while the match goes on,
        each seat's return when it is over, or a `Step`.
        """
        raise NotImplementedError

    def view(self, state: Any, seat: int) -> View | None:
        """Return what `seat` sees and may choose, or None when it has nothing to choose."""
        raise NotImplementedError

    def resample(self, state: Any, seat: int, rng: Stream) -> None:
        """Redraw in `state` what `seat` cannot see. A game with hidden information has this."""
        raise GameError(f"{self.spec.name} does not say how to redraw what a seat cannot see.")

    def view_all(self, state: Any, seat: int) -> Any:
        """Return the numbers of the privileged view, for `privileged_fields`."""
        raise GameError(f"{self.spec.name} has no privileged view.")

    def copy(self, state: Any) -> Any:
        """Return a state that can be played on without changing `state`."""
        return deepcopy(state)

    def picture(self, state: Any) -> str:
        """Return a picture of a state for a terminal."""
        return str(state)

    # The contract.

    def __init__(self, slots: int = 1, seed: int = 0, **settings: Any) -> None:
        self.slots, self.seed = read_size(slots, seed)
        self.spec = self._describe(settings)
        self._observation_length = self.spec.observation.length
        super().__init__(slots, self.spec.seats)
        self._paid = np.zeros((slots, self.spec.seats), np.float32)
        self._matches: list[Match | None] = [None] * slots
        self._rows: list[tuple[int, int, dict[int, View]]] = []

    def _describe(self, settings: Mapping[str, Any]) -> Spec:
        fields = self.observation
        if isinstance(fields, int):
            fields = (Field("observation", fields),)
        heads = self.moves
        if isinstance(heads, int):
            heads = (Head("move", heads),)
        return Spec(
            name=self.name or type(self).__name__.lower(),
            facts=self.facts,
            observation=Observation(fields, self.dtype, self.groups),
            heads=heads,
            abilities=self.abilities,
            settings=dict(settings),
            privileged=Observation(self.privileged_fields, self.dtype)
            if self.privileged_fields
            else None,
        )

    def start(self, slots: Any, match_ids: Any, options: Options | None = None) -> None:
        """Begin a match in each of `slots`, leaving what was played there."""
        chosen = read_slots(slots, self.slots)
        ids = read_match_ids(match_ids, len(chosen))
        deals = read_options(self.spec, ids, options)[:, 0]
        rows = (chosen.tolist(), ids.tolist(), deals.tolist())
        for slot, match, deal in zip(*rows, strict=True):
            self._begin(slot, match, deal)

    def _begin(self, slot: int, match_id: int, deal: int) -> None:
        for array in self._per_seat():
            array[slot] = 0
        rng = Stream.keyed(self.seed, deal, 0, "chance")
        match = Match(match_id, deal, self.deal(rng), rng)
        self._matches[slot] = match
        self._look(slot, match)

    def decisions(self) -> Decisions:
        """Return every decision that is ready."""
        rows = [
            (slot, seat, match)
            for slot, match in enumerate(self._matches)
            if match is not None and match.playing
            for seat in match.views
            if seat not in match.answers
        ]
        # A match that has gone on, was redrawn or is another one has other views.
        self._rows = [(slot, seat, match.views) for slot, seat, match in rows]
        views = [match.views[seat] for _, seat, match in rows]
        observation = np.zeros((len(rows), self._observation_length), self.dtype)
        mask = np.zeros((len(rows), self.spec.choices), np.bool_)
        for i, view in enumerate(views):
            write_observation(self.spec, view, observation[i])
            write_mask(self.spec, view, mask[i])
        return Decisions(
            slot=np.array([slot for slot, _, _ in rows], np.int32),
            seat=np.array([seat for _, seat, _ in rows], np.int32),
            match=np.array([match.id for _, _, match in rows], np.int64),
            turn=np.array([match.turn for _, _, match in rows], np.int32),
            observation=observation,
            mask=mask,
        )

    def act(self, rows: Any, actions: Any) -> Ints:
        """Answer `rows` of the last `decisions()`; return the slots whose match ended."""
        chosen = whole_numbers("rows", rows).tolist()
        answers = read_actions(actions, len(chosen), len(self.spec.heads)).tolist()
        self._refuse_wrong(chosen, answers)
        ended = []
        for row, answer in zip(chosen, answers, strict=True):
            slot, seat, _ = self._rows[row]
            match = self._started(slot)
            match.answers[seat] = answer
            if len(match.answers) == len(match.views):
                self._advance(slot, match)
                if not match.playing:
                    ended.append(slot)
        return np.array(sorted(ended), np.int32)

    def privileged(self) -> NDArray[Any]:
        """Return the privileged view of each row of the last `decisions()`."""
        if self.spec.privileged is None:
            raise GameError(f"{self.spec.name} has no privileged view.")
        out = np.zeros((len(self._rows), self.spec.privileged.length), self.dtype)
        for i, (slot, seat, views) in enumerate(self._rows):
            match = self._started(slot)
            if match.views is not views:
                raise GameError(
                    f"The match of row {i} has gone on since decisions(); "
                    "ask for the privileged view before answering."
                )
            out[i] = self.view_all(match.state, seat)
        return out

    def resample_hidden(self, slot: int, seat: int, stream: Stream) -> None:
        """Redraw, in place, what `seat` cannot see, consistently with all it has seen."""
        match = self._started(slot)
        if not 0 <= seat < self.spec.seats:
            raise GameError(f"seat is {seat}; {self.spec.name} has {self.spec.seats}.")
        if not match.playing:
            raise GameError(f"The match in slot {slot} is over; there is nothing to redraw.")
        self.resample(match.state, seat, stream)
        match.rng.state = stream.next_word()
        match.resampled = True
        self._look(slot, match)

    def save(self, slots: Any) -> Saved:
        """Put the matches in `slots` away: each is its deal and the answers given so far."""
        matches = [self._started(slot) for slot in read_slots(slots, self.slots).tolist()]
        if any(match.resampled for match in matches):
            raise GameError(f"A match of {self.spec.name} with redrawn cards cannot be saved.")
        histories = [match.history for match in matches]
        heads = len(self.spec.heads)
        open_answers = np.full((len(matches), self.spec.seats, heads), -1, np.int32)
        for i, match in enumerate(matches):
            for seat, answer in match.answers.items():
                open_answers[i, seat] = answer
        return {
            "match_ids": np.array([match.id for match in matches], np.int64),
            "deals": np.array([match.deal for match in matches], np.int64),
            "lengths": np.array([len(history) for history in histories], np.int64),
            "history": np.array([move for history in histories for move in history], np.int32),
            "answers": open_answers,
            "origin": marked(self.spec, self.seed, len(matches)),
        }

    def load(self, slots: Any, saved: Saved) -> None:
        """Load saved matches into `slots` by playing their answers again."""
        chosen = read_slots(slots, self.slots).tolist()
        self._refuse_unfit(saved, len(chosen))
        matches = [self._matches[slot] for slot in chosen]
        rows_before = [array[chosen] for array in self._per_seat()]
        try:
            self._take_up(chosen, saved)
        except Exception:
            for slot, match in zip(chosen, matches, strict=True):
                self._matches[slot] = match
            for array, rows in zip(self._per_seat(), rows_before, strict=True):
                array[chosen] = rows
            raise

    def copy_matches(self, sources: Any, slots: Any) -> None:
        """Put a copy of the match in each of `sources` into the slot beside it, to be played on.

        The same as to save and load, without playing the answers again; where a state cannot be
        copied they are.
        """
        chosen = read_slots(slots, self.slots)
        matches = [self._started(slot) for slot in whole_numbers("sources", sources).tolist()]
        try:
            copies = [match.copied(*self._copied(match)) for match in matches]
        except TypeError:  # As deepcopy has it for generators, locks and open files.
            self.load(slots, self.save(sources))
            return
        for slot, match in zip(chosen.tolist(), copies, strict=True):
            self._matches[slot] = match
        for array in self._per_seat():
            array[chosen] = array[sources]

    def _copied(self, match: Match) -> tuple[Any, Stream]:
        if type(self).copy is PythonGame.copy:
            # Together: a state may hold the stream that it was dealt from.
            state, rng = deepcopy((match.state, match.rng))
            return state, rng
        return self.copy(match.state), Stream(match.rng.state)

    def _refuse_unfit(self, saved: Saved, matches: int) -> None:
        number = ((), np.dtype(np.int64))
        answers = ((self.spec.seats, len(self.spec.heads)), np.dtype(np.int32))
        layout = dict.fromkeys(("match_ids", "deals", "lengths"), number) | {"answers": answers}
        if set(saved) != {*layout, "history", "origin"}:
            raise self._foreign()
        refuse_foreign(self.spec, self.seed, saved, layout, matches)
        lengths, history = saved["lengths"], saved["history"]
        numbers = history.ndim == 1 and history.dtype == np.int32
        if not numbers or (lengths < 0).any() or lengths.sum() != len(history):
            raise self._foreign()
        if (saved["match_ids"] < 0).any() or (saved["deals"] < 0).any():
            raise self._foreign()

    def _take_up(self, slots: list[int], saved: Saved) -> None:
        ends = np.cumsum(saved["lengths"])
        for i, slot in enumerate(slots):
            self._begin(slot, int(saved["match_ids"][i]), int(saved["deals"][i]))
            match = self._started(slot)
            history = saved["history"][ends[i] - saved["lengths"][i] : ends[i]].tolist()
            self._replay(slot, match, history)
            for seat, answer in enumerate(saved["answers"][i].tolist()):
                if answer[0] >= 0:
                    self._take(match, seat, answer)
            if match.playing and len(match.answers) == len(match.views):
                raise self._foreign()

    def _replay(self, slot: int, match: Match, history: list[int]) -> None:
        heads = len(self.spec.heads)
        while len(match.history) < len(history):
            if not match.playing:
                raise self._foreign()
            position = len(match.history)
            for i, seat in enumerate(match.views):
                start = position + i * heads
                self._take(match, seat, history[start : start + heads])
            self._advance(slot, match)

    def _take(self, match: Match, seat: int, answer: list[int]) -> None:
        right = len(answer) == len(self.spec.heads) and seat in match.views
        if not right or not allows(self.spec, match.views[seat], answer):
            raise self._foreign()
        match.answers[seat] = answer

    def _foreign(self) -> GameError:
        return GameError(f"These are not saved matches of {self.spec.name} for these slots.")

    def rules_state(self, slot: int) -> Any:
        """Return the state of a match, hidden parts and all: the object that the hooks work on."""
        return self._started(slot).state

    def draw(self, slot: int) -> str:
        """Return a picture of a match for a terminal."""
        return self.picture(self._started(slot).state)

    def close(self) -> None:
        """End whatever the game started outside this process: nothing."""

    # Inside.

    def _advance(self, slot: int, match: Match) -> None:
        seats = sorted(match.answers)
        for seat in seats:
            self.reward[slot, seat] = self.shaping[slot, seat] = 0
            match.history.extend(match.answers[seat])
        single = len(self.spec.heads) == 1
        moves = {s: match.answers[s][0] if single else match.answers[s] for s in seats}
        match.answers = {}
        result = self.apply(match.state, moves, match.rng)
        match.turn += 1
        step = read_step(self.spec, result)
        if step.rewards is not None:
            self.reward[slot] += step.rewards
            self._paid[slot] += step.rewards
        for seat in step.out:
            self.done[slot, seat] = True
        if step.returns is not None or step.cut_off:
            self._finish(slot, match, step)
        elif match.turn >= self.spec.facts.longest:
            self._finish(slot, match, Step(cut_off=True))
        else:
            self._look(slot, match)

    def _finish(self, slot: int, match: Match, step: Step) -> None:
        match.playing = False
        match.views = {}
        self.done[slot] = True
        self.cut_off[slot] = step.cut_off
        returns = self._paid[slot] if step.returns is None else step.returns
        self.returns[slot] = returns
        self.score[slot] = self.returns[slot] if step.score is None else step.score
        self.reward[slot] += self.returns[slot] - self._paid[slot]
        self.place[slot] = 1 + (self.returns[slot][None, :] > self.returns[slot][:, None]).sum(1)

    def _look(self, slot: int, match: Match) -> None:
        match.views = {}
        with self.observing():
            for seat in range(self.spec.seats):
                view = None if self.done[slot, seat] else self.view(match.state, seat)
                if view is not None:
                    match.views[seat] = view
        if not match.views:
            raise GameError(
                f"{self.spec.name} waits for nobody at turn {match.turn} of match {match.id} "
                "and is not over; `view` must give some seat a choice."
            )

    def _refuse_wrong(self, rows: list[int], answers: list[list[int]]) -> None:
        refuse_rows(rows, len(self._rows))
        for row, answer in zip(rows, answers, strict=True):
            slot, seat, views = self._rows[row]
            match = self._started(slot)
            if match.views is not views or seat in match.answers:
                raise gone(row)
            if not allows(self.spec, views[seat], answer):
                raise GameError(
                    f"Action {answer} is not legal for seat {seat} of match {match.id} at turn "
                    f"{match.turn}; see the decision's mask."
                )

    def _started(self, slot: int) -> Match:
        return started(self._matches, slot)

    def _per_seat(self) -> tuple[NDArray[Any], ...]:
        return (*self.results(), self._paid)
