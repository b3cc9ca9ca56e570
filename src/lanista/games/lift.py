"""Lifts a game written for one match in plain Python to the contract of many slots.

An author writes three hooks: `deal`, `apply`, `view`. Legality, masks, step limits, slots, saving
and ends are this module's business.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import (
    Abilities,
    Decisions,
    Facts,
    Field,
    GameError,
    Head,
    Ints,
    Observation,
    Options,
    Saved,
    Spec,
)
from lanista.games.streams import Stream


@dataclass(frozen=True)
class View:
    """What one seat sees, and what it may choose."""

    observation: Any
    """Numbers, as many as the game's observation has."""
    legal: Sequence[Any]
    """The legal moves; with several heads, a list of legal choices for each."""


@dataclass(frozen=True)
class Step:
    """What an `apply` with more to say than "over" returns."""

    rewards: Sequence[float] | None = None
    """What comes to each seat now."""
    out: Collection[int] = ()
    """Seats that have no more decisions in this match."""
    returns: Sequence[float] | None = None
    """Given: the match is over with these."""
    score: Sequence[float] | None = None
    """What a person reads off the board at the end; the returns, unless given."""
    cut_off: bool = False
    """The match was broken off and has no result."""


@dataclass(eq=False)
class _Match:
    """One match in a slot."""

    id: int
    deal: int
    state: Any
    rng: Stream
    turn: int = 0
    playing: bool = True
    views: dict[int, View] = field(default_factory=dict)
    answers: dict[int, list[int]] = field(default_factory=dict)
    history: list[int] = field(default_factory=list)
    """Every answer so far, flat, by turn and seat."""
    resampled: bool = False


class PythonGame:
    """The base of a game in Python. Class attributes describe it, three hooks play it."""

    name: ClassVar[str] = ""
    facts: Facts
    observation: int | tuple[Field, ...]
    """The length of an observation, or its named fields."""
    moves: int | tuple[Head, ...]
    """The number of moves, or the heads of an action."""
    dtype: str = "float32"
    privileged_fields: tuple[Field, ...] = ()
    abilities: Abilities = Abilities()
    bots: ClassVar[Mapping[str, Any]] = {}
    """Bots of this game by name: callables of (spec, seed)."""

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

    def picture(self, state: Any) -> str:
        """Return a picture of a state for a terminal."""
        return str(state)

    # The contract.

    def __init__(self, slots: int = 1, seed: int = 0, **settings: Any) -> None:
        if slots < 1:
            raise GameError(f"slots is {slots}; give a number of at least 1.")
        if not 0 <= seed < 2**63:
            raise GameError(f"seed is {seed}; give a number from 0 to 2**63 - 1.")
        self.slots, self.seed = slots, seed
        self.spec = self._describe(settings)
        self._observation_length = self.spec.observation.length
        shape = (slots, self.spec.seats)
        self.reward = np.zeros(shape, np.float32)
        self.shaping = np.zeros(shape, np.float32)
        self.returns = np.zeros(shape, np.float32)
        self.score = np.zeros(shape, np.float32)
        self.done = np.zeros(shape, np.bool_)
        self.cut_off = np.zeros(shape, np.bool_)
        self.place = np.zeros(shape, np.int32)
        self._paid = np.zeros(shape, np.float32)
        self._matches: list[_Match | None] = [None] * slots
        self._rows: list[tuple[int, int]] = []
        self._row_turns: list[tuple[_Match, int]] = []

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
            observation=Observation(fields, self.dtype),
            heads=heads,
            abilities=self.abilities,
            settings=dict(settings),
            privileged=Observation(self.privileged_fields, self.dtype)
            if self.privileged_fields
            else None,
        )

    def start(self, slots: Any, match_ids: Any, options: Options | None = None) -> None:
        """Begin a match in each of `slots`, leaving what was played there."""
        chosen = self._slots(slots)
        ids = np.asarray(match_ids, dtype=np.int64).reshape(-1)
        if len(ids) != len(chosen) or (len(ids) and ids.min() < 0):
            raise GameError(
                f"{len(chosen)} slots were started with {len(ids)} match ids; "
                "give one id of at least 0 to each slot."
            )
        unknown = set(options or ()) - {"deal"}
        if unknown:
            raise GameError(f"{self.spec.name} has no match option {sorted(unknown)[0]!r}.")
        deals = np.broadcast_to(np.asarray((options or {}).get("deal", ids)), ids.shape)
        if deals.dtype.kind not in "iu" or (deals.size and deals.min() < 0):
            raise GameError("Match option deal must be a whole number of at least 0.")
        for slot, match, deal in zip(chosen, ids.tolist(), deals.tolist(), strict=True):
            self._begin(slot, match, deal)

    def _begin(self, slot: int, match_id: int, deal: int) -> None:
        for array in (self.reward, self.shaping, self.returns, self.score, self._paid):
            array[slot] = 0
        self.done[slot] = self.cut_off[slot] = False
        self.place[slot] = 0
        rng = Stream.keyed(self.seed, deal, 0, "chance")
        match = _Match(match_id, deal, self.deal(rng), rng)
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
        self._rows = [(slot, seat) for slot, seat, _ in rows]
        self._row_turns = [(match, match.turn) for _, _, match in rows]
        views = [match.views[seat] for _, seat, match in rows]
        observation = np.zeros((len(rows), self._observation_length), self.dtype)
        mask = np.zeros((len(rows), self.spec.choices), np.bool_)
        for i, view in enumerate(views):
            self._write_observation(observation[i], view)
            self._write_mask(mask[i], view)
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
        chosen = np.asarray(rows, dtype=np.int64).reshape(-1).tolist()
        given = np.asarray(actions)
        heads = len(self.spec.heads)
        if given.dtype.kind not in "iu" or given.size != len(chosen) * heads:
            raise GameError(
                f"{len(chosen)} decisions with {heads} heads were answered with {given.dtype} "
                f"{list(given.shape)}; give whole numbers, one per decision and head."
            )
        answers = given.reshape(len(chosen), heads).tolist()
        self._refuse_wrong(chosen, answers)
        ended = []
        for row, answer in zip(chosen, answers, strict=True):
            slot, seat = self._rows[row]
            match = self._playing(slot)
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
        for i, (slot, seat) in enumerate(self._rows):
            out[i] = self.view_all(self._playing(slot).state, seat)
        return out

    def resample_hidden(self, slot: int, seat: int, stream: Stream) -> None:
        """Redraw, in place, what `seat` cannot see, consistently with all it has seen."""
        match = self._playing(slot)
        self.resample(match.state, seat, stream)
        match.rng.state = stream.next_word()
        match.resampled = True
        self._look(slot, match)

    def save(self, slots: Any) -> Saved:
        """Put the matches in `slots` away: each is its deal and the answers given so far."""
        matches = [self._playing(slot) for slot in self._slots(slots)]
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
        }

    def load(self, slots: Any, saved: Saved) -> None:
        """Take up saved matches in `slots` by playing their answers again."""
        chosen = self._slots(slots)
        if set(saved) != {"match_ids", "deals", "lengths", "history", "answers"} or len(
            chosen
        ) != len(saved["match_ids"]):
            raise self._foreign()
        ends = np.cumsum(saved["lengths"])
        if len(ends) and ends[-1] != len(saved["history"]):
            raise self._foreign()
        for i, slot in enumerate(chosen):
            self._begin(slot, int(saved["match_ids"][i]), int(saved["deals"][i]))
            match = self._playing(slot)
            history = saved["history"][ends[i] - saved["lengths"][i] : ends[i]].tolist()
            self._replay(slot, match, history)
            for seat, answer in enumerate(saved["answers"][i].tolist()):
                if answer[0] >= 0:
                    self._take(match, seat, answer)
            if match.playing and len(match.answers) == len(match.views):
                raise self._foreign()

    def _replay(self, slot: int, match: _Match, history: list[int]) -> None:
        heads = len(self.spec.heads)
        while len(match.history) < len(history):
            if not match.playing:
                raise self._foreign()
            position = len(match.history)
            for i, seat in enumerate(match.views):
                start = position + i * heads
                self._take(match, seat, history[start : start + heads])
            self._advance(slot, match)

    def _take(self, match: _Match, seat: int, answer: list[int]) -> None:
        right = len(answer) == len(self.spec.heads) and seat in match.views
        if not right or not self._allows(match, seat, answer):
            raise self._foreign()
        match.answers[seat] = answer

    def _foreign(self) -> GameError:
        return GameError(f"These are not saved matches of {self.spec.name} for these slots.")

    def draw(self, slot: int) -> str:
        """Return a picture of a match for a terminal."""
        return self.picture(self._playing(slot).state)

    def close(self) -> None:
        """End whatever the game started outside this process: nothing."""

    # Inside.

    def _advance(self, slot: int, match: _Match) -> None:
        seats = sorted(match.answers)
        for seat in seats:
            self.reward[slot, seat] = self.shaping[slot, seat] = 0
            match.history.extend(match.answers[seat])
        single = len(self.spec.heads) == 1
        moves = {s: match.answers[s][0] if single else match.answers[s] for s in seats}
        match.answers = {}
        result = self.apply(match.state, moves, match.rng)
        match.turn += 1
        step = result if isinstance(result, Step) else Step(returns=result)
        self._refuse_uneven(step)
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

    def _refuse_uneven(self, step: Step) -> None:
        """A number too few would be spread over all seats without a word."""
        for name in ("rewards", "returns", "score"):
            given = getattr(step, name)
            if given is not None and np.shape(given) != (self.spec.seats,):
                raise GameError(
                    f"{self.spec.name} gives {given!r} as {name}; give a number to each of "
                    f"{self.spec.seats} seats."
                )

    def _finish(self, slot: int, match: _Match, step: Step) -> None:
        match.playing = False
        match.views = {}
        self.done[slot] = True
        self.cut_off[slot] = step.cut_off
        returns = self._paid[slot] if step.returns is None else step.returns
        self.returns[slot] = returns
        self.score[slot] = self.returns[slot] if step.score is None else step.score
        self.reward[slot] += self.returns[slot] - self._paid[slot]
        self.place[slot] = 1 + (self.returns[slot][None, :] > self.returns[slot][:, None]).sum(1)

    def _look(self, slot: int, match: _Match) -> None:
        match.views = {}
        for seat in range(self.spec.seats):
            view = None if self.done[slot, seat] else self.view(match.state, seat)
            if view is not None:
                match.views[seat] = view
        if not match.views:
            raise GameError(
                f"{self.spec.name} waits for nobody at turn {match.turn} of match {match.id} "
                "and is not over; `view` must give some seat a choice."
            )

    def _write_observation(self, row: NDArray[Any], view: View) -> None:
        given = np.asarray(view.observation).reshape(-1)
        if given.size != row.size:
            raise GameError(f"{self.spec.name} shows {given.size} numbers instead of {row.size}.")
        row[:] = given
        if row.dtype.kind != "f" and (row != given).any():
            raise GameError(f"{self.spec.name} shows {given.tolist()}, which {row.dtype} changes.")

    def _write_mask(self, mask: NDArray[np.bool_], view: View) -> None:
        legal = [view.legal] if len(self.spec.heads) == 1 else view.legal
        if len(legal) != len(self.spec.heads):
            heads = len(self.spec.heads)
            raise GameError(f"{self.spec.name} offers choices for {len(legal)} of {heads} heads.")
        start = 0
        for head, choices in zip(self.spec.heads, legal, strict=True):
            if len(choices) == 0 or min(choices) < 0 or max(choices) >= head.size:
                raise GameError(
                    f"{self.spec.name} offers {list(choices)} for head {head.name}; "
                    f"it must offer at least one choice, each from 0 to {head.size - 1}."
                )
            mask[[start + choice for choice in choices]] = True
            start += head.size

    def _refuse_wrong(self, rows: list[int], answers: list[list[int]]) -> None:
        if len(set(rows)) != len(rows):
            raise GameError("A row was answered twice in one call.")
        for row, answer in zip(rows, answers, strict=True):
            if not 0 <= row < len(self._rows):
                raise GameError(f"Row {row} was answered, but {len(self._rows)} are ready.")
            slot, seat = self._rows[row]
            match = self._playing(slot)
            if self._row_turns[row] != (match, match.turn) or seat in match.answers:
                raise GameError(f"Row {row} was answered already; ask for decisions() again.")
            if not self._allows(match, seat, answer):
                raise GameError(
                    f"Action {answer} is not legal for seat {seat} of match {match.id} at turn "
                    f"{match.turn}; see the decision's mask."
                )

    def _allows(self, match: _Match, seat: int, answer: list[int]) -> bool:
        legal = match.views[seat].legal
        if len(self.spec.heads) == 1:
            legal = [legal]
        return all(choice in allowed for choice, allowed in zip(answer, legal, strict=True))

    def _playing(self, slot: int) -> _Match:
        match = self._matches[slot]
        if match is None:
            raise GameError(f"Slot {slot} has no match; start one.")
        return match

    def _slots(self, slots: Any) -> list[int]:
        chosen = [int(slot) for slot in np.asarray(slots).reshape(-1)]
        for slot in chosen:
            if not 0 <= slot < self.slots:
                raise GameError(f"Slot {slot} is not in 0 to {self.slots - 1}.")
        return chosen
