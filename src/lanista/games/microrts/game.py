"""MicroRTS as a game of ours: many matches of the engine side by side, asked and answered at once.

A seat is asked when a unit of its has something to choose; ticks in which nobody has are played
through. The longest match ends in a draw. Saves a match as its orders and plays them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
from lanista.games.contract import Decisions, GameError, Ints, Options, Saved
from lanista.games.microrts.boards import MATERIAL_SCALE, Boards
from lanista.games.microrts.draw import picture
from lanista.games.microrts.engine import VERSION, EngineMatch, start
from lanista.games.microrts.engine_bots import BY_NUMBER, SCRIPTED, Mind
from lanista.games.microrts.layout import CHOICES, SEATS, SIDES, TURNED, WAIT, describe, views
from lanista.games.saving import marked, refuse_foreign
from lanista.games.slots import Results, gone, illegal, refuse_rows, started
from lanista.games.streams import Stream

MOST_TICKS = 20_000


@dataclass(frozen=True)
class Sight(Decisions):
    """Decisions, and the game they come from: a bot of the engine thinks inside the engine.

    Nothing is hidden in MicroRTS, so such a bot knows no more than the observation shows.
    """

    game: MicroRTS


@dataclass(eq=False)
class Match:
    """One match in a slot."""

    id: int
    deal: int
    engine: EngineMatch
    turn: int = 0
    playing: bool = True
    orders: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Every order so far: turn, seat, cell in the seat's view, choice."""
    minds: dict[int, Mind] = field(default_factory=dict)
    """The bots of the engine that sit at it, by seat."""


class MicroRTS(Results):
    """The game; see `lanista.games.contract.Game`."""

    def __init__(self, slots: int = 1, seed: int = 0, side: int = 8, longest: int = 2000) -> None:
        self.slots, self.seed = read_size(slots, seed)
        if side not in SIDES:
            raise GameError(f"The board's side is {side}; choose from 8, 16.")
        if not 1 <= longest <= MOST_TICKS:
            raise GameError(f"longest is {longest} ticks; give a number from 1 to {MOST_TICKS}.")
        self._engine = start()
        self.side, self.longest = side, longest
        self.spec = describe(side, longest, VERSION)
        super().__init__(slots, SEATS)
        shape = (slots, SEATS)
        self.boards = Boards(slots, side, longest, self._engine.units)
        self._answered = np.zeros(shape, np.bool_)
        self._answers = np.zeros((*shape, side * side), np.int16)
        self._material = np.zeros(shape, np.float64)
        self._matches: list[Match | None] = [None] * slots
        self._rows: list[tuple[int, int, Match, int]] = []

    def start(self, slots: Any, match_ids: Any, options: Options | None = None) -> None:
        """Begin a match in each of `slots`, leaving what was played there."""
        chosen = read_slots(slots, self.slots)
        ids = read_match_ids(match_ids, len(chosen))
        deals = read_options(self.spec, ids, options)[:, 0]
        self._begin(chosen, ids.tolist(), deals.tolist())

    def _begin(self, slots: NDArray[np.int64], ids: list[int], deals: list[int]) -> None:
        for slot, match_id, deal in zip(slots.tolist(), ids, deals, strict=True):
            match = Match(match_id, deal, self._engine.match(self.side))
            self._matches[slot] = match
            for array in self._per_seat():
                array[slot] = 0
            self.boards.begin(slot)
            self.boards.take(slot, match.engine.board(), match.engine.stock())
        fresh = np.unique(slots)
        self.boards.settle(fresh)
        self._material[fresh] = self.boards.material(fresh)
        # Both bases can make a worker on the first tick, so somebody is asked.

    def decisions(self) -> Decisions:
        """Return every decision that is ready."""
        playing = np.array([m is not None and m.playing for m in self._matches], np.bool_)
        waits = self.boards.asks & ~self._answered & playing[:, None]
        slot, seat = np.nonzero(waits)
        matches = [self._started(int(one)) for one in slot]
        self._rows = [
            (int(at), int(who), match, match.turn)
            for at, who, match in zip(slot, seat, matches, strict=True)
        ]
        return Sight(
            slot=slot.astype(np.int32),
            seat=seat.astype(np.int32),
            match=np.array([match.id for match in matches], np.int64),
            turn=np.array([match.turn for match in matches], np.int32),
            observation=self.boards.observe(slot, seat),
            mask=self.boards.mask[slot, seat].reshape(len(slot), self.spec.choices),
            game=self,
        )

    def act(self, rows: Any, actions: Any) -> Ints:
        """Answer `rows` of the last `decisions()`; return the slots whose match ended."""
        chosen = whole_numbers("rows", rows).tolist()
        answers = read_actions(actions, len(chosen), len(self.spec.heads))
        self._refuse_wrong(chosen, answers)
        slot, seat = self._asked(chosen)
        self._answers[slot, seat] = answers
        self._answered[slot, seat] = True
        slots = np.unique(slot)
        complete = (self._answered[slots] == self.boards.asks[slots]).all(1)
        return self._advance(slots[complete])

    def privileged(self) -> NDArray[Any]:
        """Refuse: nothing is hidden, so there is no view with more in it."""
        raise GameError(f"{self.spec.name} has no privileged view.")

    def resample_hidden(self, slot: int, seat: int, stream: Stream) -> None:
        """Refuse: nothing is hidden."""
        raise GameError(f"Nothing is hidden in {self.spec.name}; there is nothing to redraw.")

    def consult(self, slot: int, seat: int, name: str, seed: int) -> NDArray[np.int32]:
        """Return what a bot of the engine answers for a seat that is asked now."""
        match = self._started(slot)
        mind = match.minds.get(seat)
        if mind is None or (mind.name, mind.seed) != (name, seed):
            mind = match.minds[seat] = Mind(self._engine, name, seed, match.turn)
        answer = np.full(self.side**2, WAIT, np.int32)
        cell_in_view = views(self.side)[seat]
        for cell, choice in mind.think(match.engine, match.id, seat, match.turn):
            at = int(cell_in_view[cell])
            own = int(TURNED[choice]) if seat else choice
            # What the engine would not carry out is a wait there as well.
            if self.boards.mask[slot, seat, at, own]:
                answer[at] = own
        return answer

    def save(self, slots: Any) -> Saved:
        """Put the matches in `slots` away: each is its orders so far and who thinks at it."""
        chosen = read_slots(slots, self.slots)
        matches = [self._started(slot) for slot in chosen.tolist()]
        minds = np.zeros((len(matches), SEATS, 3), np.int64)
        for row, match in enumerate(matches):
            for seat, mind in match.minds.items():
                minds[row, seat] = (mind.script.number, mind.seed, mind.since)
        open_answers = self._answers[chosen].copy()
        open_answers[~self._answered[chosen]] = -1
        orders = [order for match in matches for order in match.orders]
        return {
            "match_ids": np.array([match.id for match in matches], np.int64),
            "deals": np.array([match.deal for match in matches], np.int64),
            "turns": np.array([match.turn for match in matches], np.int64),
            "lengths": np.array([len(match.orders) for match in matches], np.int64),
            "orders": np.array(orders, np.int32).reshape(-1, 4),
            "answers": open_answers,
            "minds": minds,
            "origin": marked(self.spec, self.seed, len(matches)),
        }

    def load(self, slots: Any, saved: Saved) -> None:
        """Load saved matches into `slots` by playing their orders again."""
        chosen = read_slots(slots, self.slots)
        if len(set(chosen.tolist())) != len(chosen):
            raise GameError("Saved matches were loaded into one slot twice.")
        self._refuse_unfit(saved, len(chosen))
        matches = [self._matches[slot] for slot in chosen.tolist()]
        arrays = (*self._per_seat(), *self.boards.arrays())
        rows_before = [array[chosen] for array in arrays]
        try:
            self._take_up(chosen, saved)
        except BaseException:
            for slot, match in zip(chosen.tolist(), matches, strict=True):
                self._matches[slot] = match
            for array, rows in zip(arrays, rows_before, strict=True):
                array[chosen] = rows
            raise

    def draw(self, slot: int) -> str:
        """Return a picture of a match for a terminal."""
        self._started(slot)
        return picture(self.boards, slot)

    def close(self) -> None:
        """Let the matches go; Java stays until the process ends."""
        self._matches = [None] * self.slots
        self._rows = []

    def _advance(self, slots: NDArray[np.int64]) -> Ints:
        """Play matches on until somebody is asked or they are over."""
        answered = self._answered[slots]
        self.reward[slots] = np.where(answered, 0, self.reward[slots])
        self.shaping[slots] = np.where(answered, 0, self.shaping[slots])
        orders = np.where(answered[:, :, None], self._answers[slots], WAIT)
        prepared_by_slot = {
            int(slots[row]): self._take_orders(int(slots[row]), orders[row])
            for row in np.flatnonzero(orders.any((1, 2))).tolist()
        }
        self._answered[slots] = False
        moving, ended = slots, [slots[:0]]
        ticks = np.ones(len(slots), np.int64)
        while len(moving):
            over = self._play(moving, ticks, prepared_by_slot)
            ended.append(moving[over])
            moving = moving[~over]
            self.boards.settle(moving)
            moving = moving[~self.boards.asks[moving].any(1)]
            prepared_by_slot, ticks = {}, self.boards.quiet_ticks(moving)
        for slot in slots.tolist():
            self._started(slot).turn += 1
        self._shape(slots)
        return np.sort(np.concatenate(ended)).astype(np.int32)

    def _take_orders(self, slot: int, answers: NDArray[np.int16]) -> list[Any]:
        """Note what a match's seats have ordered, `[seats, cells]`, and prepare the engine's."""
        match, (seat, cell) = self._started(slot), answers.nonzero()
        orders = np.stack([seat, cell, answers[seat, cell]], 1).tolist()
        match.orders += [(match.turn, seat, cell, choice) for seat, cell, choice in orders]
        orders_by_seat = self.boards.give(slot, dict(enumerate(answers)))
        return [match.engine.prepare(*seated) for seated in orders_by_seat.items() if seated[1]]

    def _play(
        self, slots: NDArray[np.int64], ticks: NDArray[np.int64], prepared: dict[int, list[Any]]
    ) -> NDArray[np.bool_]:
        """Play so many ticks of each match, orders first; return which are over."""
        engines = [self._started(slot).engine for slot in slots.tolist()]
        decided = np.zeros(len(slots), np.bool_)
        for row, slot in enumerate(slots.tolist()):
            decided[row] = engines[row].play(int(ticks[row]), prepared.get(slot, ()))
        for row in self.boards.pass_ticks(slots, ticks).nonzero()[0].tolist():
            self.boards.take(int(slots[row]), engines[row].board(), engines[row].stock())
        over = decided | (self.boards.time[slots] >= self.longest)
        for row in over.nonzero()[0].tolist():
            self._finish(int(slots[row]), engines[row].winner() if decided[row] else -1)
        return over

    def _finish(self, slot: int, winner: int) -> None:
        self._started(slot).playing = False
        self.boards.asks[slot] = False
        self.done[slot] = True
        if winner >= 0:
            self.returns[slot] = -1
            self.returns[slot, winner] = 1
        self.reward[slot] += self.returns[slot]
        self.score[slot] = self.boards.material(np.array([slot]))[0]
        self.place[slot] = 1 + (self.returns[slot] < self.returns[slot].max())

    def _shape(self, slots: NDArray[np.int64]) -> None:
        """Pay, as shaping, what the material lead has grown by: it sums to zero over the seats."""
        now = self.boards.material(slots)
        gain = (now - self._material[slots]) / MATERIAL_SCALE
        self.shaping[slots] += (gain - gain[:, ::-1]).astype(np.float32)
        self._material[slots] = now

    def _asked(self, rows: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots and the seats of rows of the last `decisions()`."""
        pairs = np.array([self._rows[row][:2] for row in rows], np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _refuse_wrong(self, rows: list[int], answers: Ints) -> None:
        refuse_rows(rows, len(self._rows))
        wrong = self._first_illegal(*self._asked(rows), answers).tolist()
        for row, answer, head in zip(rows, answers, wrong, strict=True):
            slot, seat, match, turn = self._rows[row]
            moved = self._matches[slot] is not match or match.turn != turn or not match.playing
            if moved or self._answered[slot, seat]:
                raise gone(row)
            if head >= 0:
                raise illegal(self.spec, head, answer[head], seat, match.id, turn)

    def _first_illegal(self, slot: Any, seat: Any, answers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the first head of each row of `answers` whose choice is not legal, or -1."""
        inside = (answers >= 0) & (answers < CHOICES)
        cell, choice = np.arange(answers.shape[1]), np.where(inside, answers, 0)
        good = inside & self.boards.mask[slot[:, None], seat[:, None], cell, choice]
        return np.where(good.all(1), -1, good.argmin(1))

    def _fits(self, slot: int, seat: int, answer: NDArray[Any]) -> bool:
        """Return whether a seat may answer so."""
        return bool(self._first_illegal(np.array([slot]), np.array([seat]), answer[None])[0] < 0)

    def _refuse_unfit(self, saved: Saved, matches: int) -> None:
        layout: dict[str, tuple[tuple[int, ...], Any]] = {
            **dict.fromkeys(("match_ids", "deals", "turns", "lengths"), ((), np.int64)),
            "answers": ((SEATS, self.side**2), np.int16),
            "minds": ((SEATS, 3), np.int64),
        }
        if set(saved) != {*layout, "orders", "origin"}:
            raise self._foreign()
        refuse_foreign(self.spec, self.seed, saved, layout, matches)
        orders, lengths = saved["orders"], saved["lengths"]
        fits = orders.ndim == 2 and orders.shape[1:] == (4,) and orders.dtype == np.int32
        if not fits or (lengths < 0).any() or lengths.sum() != len(orders):
            raise self._foreign()
        low = (saved["match_ids"], saved["deals"], saved["turns"], saved["minds"], orders)
        if any((array < 0).any() for array in low) or (saved["turns"] > self.longest).any():
            raise self._foreign()
        script_numbers = {0, *BY_NUMBER}
        if not {*saved["minds"][:, :, 0].ravel().tolist()} <= script_numbers:
            raise self._foreign()

    def _take_up(self, slots: NDArray[np.int64], saved: Saved) -> None:
        self._begin(slots, saved["match_ids"].tolist(), saved["deals"].tolist())
        orders = np.split(saved["orders"], np.cumsum(saved["lengths"])[:-1]) if len(slots) else []
        turns = saved["turns"]
        for turn in range(int(turns.max(initial=-1)) + 1):
            there = np.flatnonzero(turns >= turn).tolist()
            for row in there:
                self._seat_minds(int(slots[row]), turn, saved["minds"][row])
            going = np.flatnonzero(turns > turn)
            for row in going.tolist():
                turn_orders = orders[row][orders[row][:, 0] == turn]
                self._repeat(int(slots[row]), turn_orders)
            self._advance(slots[going])
        for row, slot in enumerate(slots.tolist()):
            if (orders[row][:, 0] >= turns[row]).any():
                raise self._foreign()
            self._take_answers(slot, saved["answers"][row])

    def _seat_minds(self, slot: int, turn: int, minds: NDArray[np.int64]) -> None:
        """Seat the bots that were there from this turn on."""
        for seat, (number, seed, since) in enumerate(minds.tolist()):
            if number and since == turn:
                mind = Mind(self._engine, BY_NUMBER[number], seed, since)
                self._started(slot).minds[seat] = mind

    def _repeat(self, slot: int, orders: NDArray[np.int32]) -> None:
        """Answer a turn as it was answered, with bots that remember it again."""
        match, asks = self._started(slot), self.boards.asks[slot]
        answers = np.zeros((SEATS, self.side**2), np.int16)
        for _, seat, cell, choice in orders.tolist():
            if seat >= SEATS or cell >= self.side**2 or not 0 < choice < CHOICES:
                raise self._foreign()
            answers[seat, cell] = choice
        if not match.playing or answers[~asks].any():
            raise self._foreign()
        for seat in np.flatnonzero(asks).tolist():
            if not self._fits(slot, seat, answers[seat]):
                raise self._foreign()
            self._answer_again(slot, seat, answers[seat])

    def _answer_again(self, slot: int, seat: int, answer: NDArray[np.int16]) -> None:
        match = self._started(slot)
        mind = match.minds.get(seat)
        if mind is not None and mind.script.kind == SCRIPTED:
            mind.think(match.engine, match.id, seat, match.turn)
        self._answers[slot, seat] = answer
        self._answered[slot, seat] = True

    def _take_answers(self, slot: int, answers: NDArray[np.int16]) -> None:
        """Take the answers of seats that had answered when the match was saved."""
        match = self._started(slot)
        for seat, answer in enumerate(answers):
            if answer[0] < 0:
                continue
            is_asked = match.playing and self.boards.asks[slot, seat]
            if not is_asked or not self._fits(slot, seat, answer):
                raise self._foreign()
            self._answer_again(slot, seat, answer)
        if match.playing and (self._answered[slot] == self.boards.asks[slot]).all():
            raise self._foreign()

    def _foreign(self) -> GameError:
        return GameError(f"These are not saved matches of {self.spec.name} for these slots.")

    def _started(self, slot: int) -> Match:
        return started(self._matches, slot)

    def _per_seat(self) -> tuple[NDArray[Any], ...]:
        return (*self.results(), self._answered, self._answers, self._material)
