"""Pokémon Showdown as a game of ours: many battles in Node workers, asked and answered at once.

Two seats choose at the same time; a seat that the simulator lets wait is not asked. A choice that
is refused because a request said "maybe" is a turn in which that seat alone is asked again. A match
is saved as its answers and loaded by giving them again. A worker that dies costs its matches
their result and nothing else.

An action has two parts: `preview`, one of 90 team previews, and `turn`, one of the turn orders (see
orders.py). The part that is not asked has exactly one legal choice, 0. Formats without a choice at
team preview have the second part alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from lanista.games.showdown.actions.orders import orders_of
from lanista.games.showdown.draw import picture
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import (
    LONGEST,
    OBSERVATIONS,
    describe,
    previews_of,
    whole_action,
    wrong_head,
)
from lanista.games.showdown.observation.privileged import privileged_views
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.battles import NOTHING, Battles, Setup, simulator_seed
from lanista.games.showdown.sim.deals import Dealer
from lanista.games.showdown.sim.match import Match, Told
from lanista.games.showdown.sim.resample import redraw
from lanista.games.showdown.sim.saves import foreign, histories, put_away, refuse_unfit
from lanista.games.showdown.sim.slot_arrays import Tables
from lanista.games.showdown.sim.views import SEATS, Update
from lanista.games.slots import gone, illegal, refuse_rows, started
from lanista.games.streams import Stream

DEFAULT_FORMAT = "gen9vgc2025regi"
START_ATTEMPTS = 3
MOST_WORKERS = 256


class Trackers(Sequence[Tracker]):
    """By row: what its seat knows, worked out when it is looked at."""

    def __init__(self, seats: Sequence[tuple[Match, int]]) -> None:
        self._seats = seats

    def __len__(self) -> int:
        return len(self._seats)

    def __getitem__(self, row: Any) -> Any:
        match, seat = self._seats[row]
        return match.tracker(seat)


@dataclass(frozen=True)
class Sight(Decisions):
    """Decisions, and for each row what its seat knows: bots of ours think from that."""

    trackers: Sequence[Tracker]
    transcripts: Sequence[Told]
    """What the seat was told from the first line on."""


def sight_of(decisions: Decisions, bot: str) -> Sight:
    """Return decisions with what the seats know, as a bot needs them."""
    if not isinstance(decisions, Sight):
        raise GameError(
            f"The bot {bot!r} thinks from what its seat was told; give it what the game's "
            "decisions() returned, not a copy."
        )
    return decisions


class Showdown:
    """The game; see `lanista.games.contract.Game`."""

    def __init__(
        self,
        slots: int = 1,
        seed: int = 0,
        format: str = DEFAULT_FORMAT,
        team_pool_path: str = "",
        mode: str = "mirror",
        workers: int = 1,
        observation: int = 1,
    ) -> None:
        self.slots, self.seed = read_size(slots, seed)
        self.format = format_named(format)
        if not 1 <= workers <= MOST_WORKERS:
            raise GameError(f"workers is {workers}; give a number from 1 to {MOST_WORKERS}.")
        if observation not in OBSERVATIONS:
            raise GameError(f"observation is {observation!r}; choose from 1 and 2.")
        self.observation = observation
        self.orders = orders_of(self.format)
        self.previews = previews_of(self.format)
        # Worker w has the slots w, w + workers, …; a slot's next battle is `stride` further on.
        workers = min(workers, self.slots)
        self._stride = workers * -(-self.slots // workers)
        self.battles = Battles(workers)
        try:
            self.dealer = Dealer(self.format, team_pool_path, mode, self.battles)
        except BaseException:
            self.battles.close()
            raise
        self.spec = describe(self.format, mode, team_pool_path, self.dealer.version, observation)
        tables = self._tables = Tables(self.slots, self.spec, self.orders, self.previews)
        self.reward, self.shaping, self.returns = tables.reward, tables.shaping, tables.returns
        self.score, self.done, self.cut_off = tables.score, tables.done, tables.cut_off
        self.place = tables.place
        self._matches: list[Match | None] = [None] * self.slots
        self._running: dict[int, Match] = {}
        self._begun = [0] * self.slots
        self._rows: list[tuple[int, int, Match, int]] = []
        self._over: list[int] = []
        """Slots whose match was cut off while nobody could be told."""

    def start(self, slots: Any, match_ids: Any, options: Options | None = None) -> None:
        """Begin a match in each of `slots`, leaving what was played there."""
        chosen = read_slots(slots, self.slots)
        ids = read_match_ids(match_ids, len(chosen))
        deals = read_options(self.spec, ids, options)[:, 0]
        ids_and_deals = zip(ids.tolist(), deals.tolist(), strict=True)
        # Of a slot that is named twice the last match counts.
        new_matches = dict(zip(chosen.tolist(), ids_and_deals, strict=True))
        previous = [match for slot in new_matches if (match := self._matches[slot])]
        self._begin(new_matches)
        self._leave(previous)

    def overlook(self, slots: Any, unread: NDArray[np.bool_]) -> None:
        """Leave out observations of the seats in `unread`, `[slots, seats]`."""
        self._tables.unread[read_slots(slots, self.slots)] = unread

    def decisions(self) -> Decisions:
        """Return every decision that is ready."""
        self._rows = [
            (slot, seat, match, match.turn)
            for slot, match in enumerate(self._matches)
            if match is not None and match.playing
            for seat in range(SEATS)
            if match.asks(seat)
        ]
        slot = np.array([row[0] for row in self._rows], np.int32)
        seat = np.array([row[1] for row in self._rows], np.int32)
        return Sight(
            slot=slot,
            seat=seat,
            match=np.array([match.id for _, _, match, _ in self._rows], np.int64),
            turn=np.array([row[3] for row in self._rows], np.int32),
            observation=self._tables.observation[slot, seat],
            mask=self._tables.mask[slot, seat],
            trackers=Trackers([(match, seat) for _, seat, match, _ in self._rows]),
            transcripts=[match.transcripts[seat] for _, seat, match, _ in self._rows],
        )

    def act(self, rows: Any, actions: Any) -> Ints:
        """Answer `rows` of the last `decisions()`; return the slots whose match ended."""
        chosen = whole_numbers("rows", rows).tolist()
        answers = read_actions(actions, len(chosen), len(self.spec.heads))
        self._refuse_wrong(chosen, answers)
        ready = []
        for row, answer in zip(chosen, answers.tolist(), strict=True):
            slot, seat, match, _ = self._rows[row]
            match.answers[seat] = self._choice(match, seat, answer)
            if match.is_ready:
                ready.append(slot)
        over = self._advance([(slot, self.match_in(slot)) for slot in sorted(ready)])
        return np.array(sorted(over), np.int32)

    def privileged(self) -> NDArray[Any]:
        """Return each row's observation with the other seat's own team and request beside it."""
        rows = [(slot, seat, match.tracker(1 - seat)) for slot, seat, match, _ in self._rows]
        return privileged_views(self.spec, self._tables.observation, rows)

    def resample_hidden(self, slot: int, seat: int, stream: Stream) -> None:
        """Redraw what `seat` has not been told of the opponent's team, and the dice to come."""
        match = self.match_in(slot)
        if not 0 <= seat < SEATS:
            raise GameError(f"seat is {seat}; {self.spec.name} has {SEATS}.")
        if not match.playing or match.answers:
            raise GameError(
                f"The match in slot {slot} is over or waits for one seat alone; redraw what is "
                "hidden before anybody has answered."
            )
        redrawn_setup = redraw(
            match.setup, seat, stream, lambda setup: self._look_again(match, setup)
        )
        self._leave([match])
        match.setup = replace(redrawn_setup, slot=self._number(slot))
        match.forget((self._tracker(0), self._tracker(1)))
        match.redrawn = True
        self._running[match.setup.slot] = match
        for update in self._play_again(match, match.setup):
            match.take(update)
        self.battles.reseed(match.setup.slot, simulator_seed(stream))
        self._tables.show(slot, match)

    def save(self, slots: Any) -> Saved:
        """Put the matches in `slots` away: each is its deal and the answers given so far."""
        chosen = read_slots(slots, self.slots)
        matches = [self.match_in(slot) for slot in chosen.tolist()]
        return put_away(self.spec, self.seed, matches, self.cut_off[chosen, 0])

    def load(self, slots: Any, saved: Saved) -> None:
        """Load saved matches into `slots` by giving their answers again."""
        chosen = read_slots(slots, self.slots).tolist()
        if len(set(chosen)) != len(chosen):
            raise GameError("Saved matches were loaded into one slot twice.")
        refuse_unfit(self.spec, self.seed, saved, len(chosen))
        before = [self._matches[slot] for slot in chosen]
        rows_before = [array[chosen] for array in self._tables.all()]
        try:
            self._take_up(chosen, saved)
        except BaseException:
            self._leave([match for slot in chosen if (match := self._matches[slot])], before)
            for slot, match in zip(chosen, before, strict=True):
                self._matches[slot] = match
            for array, rows in zip(self._tables.all(), rows_before, strict=True):
                array[chosen] = rows
            raise
        self._leave([match for match in before if match])

    def draw(self, slot: int) -> str:
        """Return a picture of a match for a terminal."""
        return picture(self.match_in(slot))

    def close(self) -> None:
        """End the workers."""
        self.battles.close()
        self._matches = [None] * self.slots
        self._running.clear()
        self._rows = []

    # Inside: beginning.

    def _number(self, slot: int) -> int:
        """Return a number for a battle that a slot has not had yet, at the slot's own worker."""
        self._begun[slot] += 1
        return slot + self._stride * self._begun[slot]

    def _tracker(self, seat: int) -> Tracker:
        return Tracker(self.format, seat, self.dealer.belief, self.observation)

    def _begin(self, new_matches: dict[int, tuple[int, int]]) -> None:
        """Begin a match in each slot; one whose worker dies at once is begun again."""
        for _ in range(START_ATTEMPTS):
            setups = []
            for slot, (match_id, deal) in new_matches.items():
                setup = self.dealer.setup(self._number(slot), self.seed, deal)
                match = Match(match_id, deal, setup, (self._tracker(0), self._tracker(1)))
                self._matches[slot] = self._running[setup.slot] = match
                self._tables.clear(slot)
                setups.append(setup)
            updates = self.battles.start(setups)
            lost = set(self._take(updates))
            self._over += sorted(lost - set(new_matches))
            new_matches = {
                slot: id_and_deal for slot, id_and_deal in new_matches.items() if slot in lost
            }
            if not new_matches:
                return
        reasons = [update.reason for update in updates if update.cut_off]
        raise GameError(f"A battle of {self.format.name} cannot be begun: {reasons[0]}")

    def _leave(self, matches: Sequence[Match | None], but: Sequence[Match | None] = ()) -> None:
        """Let battles go that are still being played at the workers."""
        numbers = [match.setup.slot for match in matches if match and match not in but]
        dropped = [number for number in numbers if self._running.pop(number, None)]
        if dropped:
            self.battles.drop(dropped)

    # Inside: going on.

    def _advance(self, ready: Sequence[tuple[int, Match]]) -> list[int]:
        """Give battles their answers; return the slots whose match has ended."""
        choices = []
        for slot, match in ready:
            self._tables.pay_out(slot, match)
            choices += [(match.setup.slot, seat, text) for seat, text in match.words(self.orders)]
            match.turn += 1
        over, self._over = self._over, []
        return over + self._take(self.battles.choose(choices))

    def _take(self, updates: Sequence[Update]) -> list[int]:
        """Take in what the workers told; return the slots whose match has ended."""
        over = []
        for update in updates:
            match = self._running.get(update.slot)
            if match is None:
                continue  # It was left meanwhile.
            slot = update.slot % self._stride
            match.take(update)
            if update.ended or update.cut_off or match.turn >= LONGEST:
                self._finish(slot, match, update)
                over.append(slot)
            else:
                self._tables.show(slot, match)
        return over

    def _finish(self, slot: int, match: Match, update: Update) -> None:
        match.playing = False
        if update.ended or update.cut_off:
            del self._running[match.setup.slot]
        else:
            self._leave([match])
        self._tables.finish(slot, match, update)

    # Inside: giving answers again.

    def _look_again(self, match: Match, setup: Setup) -> list[Update]:
        """Play a battle again from a setup like its own, and leave it."""
        number = self._number(match.setup.slot % self._stride)
        updates = self._play_again(match, replace(setup, slot=number))
        if not updates[-1].cut_off and not updates[-1].ended:
            self.battles.drop([number])
        return updates

    def _play_again(self, match: Match, setup: Setup) -> list[Update]:
        """Return what a battle tells that begins with `setup` and is answered as `match` was."""
        updates = self._only(setup.slot, self.battles.start([setup]))
        for turn in range(match.turn):
            if updates[-1].cut_off or updates[-1].ended:
                break
            choices = [
                (setup.slot, seat, text) for when, seat, text in match.choice_texts if when == turn
            ]
            updates += self._only(setup.slot, self.battles.choose(choices))
        return updates

    def _only(self, number: int, updates: Sequence[Update]) -> list[Update]:
        """Return what was told of one battle; others can only have been lost."""
        self._over += self._take([update for update in updates if update.slot != number])
        return [update for update in updates if update.slot == number]

    def _take_up(self, slots: Sequence[int], saved: Saved) -> None:
        ids_and_deals = zip(saved["match_ids"].tolist(), saved["deals"].tolist(), strict=True)
        self._begin(dict(zip(slots, ids_and_deals, strict=True)))
        answers_by_match, turns = histories(saved), saved["turns"].tolist()
        for turn in range(max(turns, default=0)):
            going = []
            for row, slot in enumerate(slots):
                if turn < turns[row]:
                    answers = answers_by_match[row][answers_by_match[row][:, 0] == turn][
                        :, 1:
                    ].tolist()
                    going.append((slot, self._answer_again(slot, answers)))
            if not all(match.is_ready for _, match in going):
                raise foreign(self.spec)
            over = self._advance(going)
            self._over += [slot for slot in over if slot not in slots]
        for row, slot in enumerate(slots):
            self._settle(slot, saved, row)

    def _answer_again(self, slot: int, answers: Sequence[Sequence[int]]) -> Match:
        match = self.match_in(slot)
        for seat, choice in answers:
            if not 0 <= seat < SEATS or not match.asks(seat):
                raise foreign(self.spec)
            action = whole_action(self.spec.heads, match.requests[seat], choice)
            if wrong_head(self.spec.heads, self._tables.mask[slot, seat], action) >= 0:
                raise foreign(self.spec)
            match.answers[seat] = choice
        return match

    def _settle(self, slot: int, saved: Saved, row: int) -> None:
        """Bring a match that has its turns again to where it was saved."""
        match = self.match_in(slot)
        if match.turn != saved["turns"][row] or len(match.history) != saved["lengths"][row]:
            raise foreign(self.spec)
        if saved["cut_off"][row] and match.playing:
            self._finish(slot, match, Update(match.setup.slot, (NOTHING, NOTHING)))
        if saved["cut_off"][row] != self.cut_off[slot, 0]:
            raise GameError(f"A worker broke down while matches of {self.spec.name} were loaded.")
        pending = [(seat, int(c)) for seat, c in enumerate(saved["answers"][row]) if c >= 0]
        if pending and (not match.playing or self._answer_again(slot, pending).is_ready):
            raise foreign(self.spec)

    # Inside: refusing.

    def _choice(self, match: Match, seat: int, answer: Sequence[int]) -> int:
        """Return the choice of the head that is asked."""
        return answer[0] if match.requests[seat].get("teamPreview") else answer[-1]

    def _refuse_wrong(self, rows: list[int], answers: Ints) -> None:
        refuse_rows(rows, len(self._rows))
        for row, answer in zip(rows, answers, strict=True):
            slot, seat, match, turn = self._rows[row]
            moved = self._matches[slot] is not match or match.turn != turn
            if moved or not match.asks(seat):
                raise gone(row)
            wrong = wrong_head(self.spec.heads, self._tables.mask[slot, seat], answer.tolist())
            if wrong >= 0:
                raise illegal(self.spec, wrong, answer[wrong], seat, match.id, turn)

    def match_in(self, slot: int) -> Match:
        """Return the battle in a slot."""
        return started(self._matches, slot)
