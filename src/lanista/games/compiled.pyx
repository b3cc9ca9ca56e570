"""The base of compiled games; compiled.pxd says what a subclass writes."""

from libc.string cimport memset

import numpy as np

from lanista.games.bits cimport lowest_bit
from lanista.games.streams cimport CHANCE, Stream, stream_key

from lanista.games.arguments import (
    read_actions, read_match_ids, read_options, read_size, read_slots, whole_numbers,
)
from lanista.games.contract import Decisions, GameError
from lanista.games.given import read_move
from lanista.games.saving import damaged, marked, refuse_damaged, refuse_foreign

cdef enum:
    # Beside the bits of the seats in `answered`: the match is another one since decisions() last
    # looked, so that its old rows take no answer.
    UNSEEN = 1 << 30
    MASK_BLOCK = 64    # rows whose masks are cleared at once: a call for each row would cost more


cdef void pairwise_returns(const float* score, int seats, float* returns) noexcept nogil:
    """Write each seat's mean result against the others: 1 above, 0 level, -1 below. Zero-sum."""
    cdef int i, j, total
    for i in range(seats):
        total = 0
        for j in range(seats):
            total += (score[i] > score[j]) - (score[i] < score[j])
        returns[i] = <float>total / (seats - 1)


cdef class CompiledGame:

    cdef void setup(self, object spec, object slots, object seed, int match_bytes) except *:
        """Take the description and the memory. The first thing a subclass's __init__ does."""
        slots, seed = read_size(slots, seed)
        self.spec, self.slots, self.seed, self.seed_word = spec, slots, seed, seed
        self.seats, self.heads, self.choices = spec.seats, len(spec.heads), spec.choices
        if self.seats > MOST_SEATS or self.heads > MOST_HEADS:
            raise GameError(f"{spec.name} has more than {MOST_SEATS} seats or {MOST_HEADS} heads.")
        for i, head in enumerate(spec.heads):
            self.head_size[i] = head.size
        self.match_bytes = (match_bytes + 7) // 8 * 8
        self.observation_bytes = _bytes_of(spec.observation)
        self.privileged_bytes = _bytes_of(spec.privileged) if spec.privileged else 0
        self.capacity = slots * (self.seats if spec.facts.simultaneous else 1)
        self.memory = {}
        self._allocate_slots()
        self._allocate_rows()

    def _allocate_slots(self):
        cdef int n = self.slots
        pair = (n, self.seats)
        self.matches = <uint8_t*>self._array("matches", (n, self.match_bytes), np.uint8)
        self.playing = <uint8_t*>self._array("playing", n, np.uint8)
        self.waiting = <uint32_t*>self._array("waiting", n, np.uint32)
        self.answered = <uint32_t*>self._array("answered", n, np.uint32)
        self.turns = <int32_t*>self._array("turns", n, np.int32)
        self.match_ids = <int64_t*>self._array("match_ids", n, np.int64)
        self.answers = <int32_t*>self._array("answers", (*pair, self.heads), np.int32)
        self.reward_at = <float*>self._array("reward", pair, np.float32)
        self.shaping_at = <float*>self._array("shaping", pair, np.float32)
        self.returns_at = <float*>self._array("returns", pair, np.float32)
        self.score_at = <float*>self._array("score", pair, np.float32)
        self.paid_at = <float*>self._array("paid", pair, np.float32)
        self.done_at = <uint8_t*>self._array("done", pair, np.bool_)
        self.cut_off_at = <uint8_t*>self._array("cut_off", pair, np.bool_)
        self.place_at = <int32_t*>self._array("place", pair, np.int32)
        show = lambda name: _read_only(self.memory[name])
        self.reward, self.shaping, self.done = show("reward"), show("shaping"), show("done")
        self.cut_off, self.returns = show("cut_off"), show("returns")
        self.score, self.place = show("score"), show("place")

    def _allocate_rows(self):
        cdef int n = self.capacity
        spec = self.spec
        self.row_slot = <int32_t*>self._array("row_slot", n, np.int32)
        self.row_seat = <int32_t*>self._array("row_seat", n, np.int32)
        self.row_match = <int64_t*>self._array("row_match", n, np.int64)
        self.row_turn = <int32_t*>self._array("row_turn", n, np.int32)
        self.row_answered = <uint8_t*>self._array("row_answered", n, np.uint8)
        shape = (n, spec.observation.length)
        self.row_observation = <uint8_t*>self._array(
            "row_observation", shape, spec.observation.dtype)
        self.row_mask = <uint8_t*>self._array("row_mask", (n, self.choices), np.bool_)

    cdef void* _array(self, name, shape, dtype) except NULL:
        array = np.zeros(shape, dtype)
        self.memory[name] = array
        cdef size_t address = array.ctypes.data
        return <void*>address

    # What a player of matches calls.

    def start(self, slots, match_ids, options=None):
        """Begin a match in each of `slots`, leaving what was played there."""
        cdef int64_t[::1] slot = read_slots(slots, self.slots)
        ids = read_match_ids(match_ids, len(slot))
        cdef int64_t[::1] match = ids
        cdef int64_t[:, ::1] option = read_options(self.spec, ids, options)
        cdef Py_ssize_t i
        cdef int64_t* none = NULL
        cdef bint any_options = option.shape[1] > 1
        with nogil:
            for i in range(slot.shape[0]):
                self._begin(<int>slot[i], match[i], option[i, 0],
                            &option[i, 1] if any_options else none)

    cdef void _begin(
        self, int slot, int64_t match, int64_t deal, const int64_t* options
    ) noexcept nogil:
        cdef int at
        cdef void* state = self.matches + <size_t>slot * self.match_bytes
        memset(state, 0, self.match_bytes)
        for at in range(slot * self.seats, (slot + 1) * self.seats):
            self.reward_at[at] = self.shaping_at[at] = self.paid_at[at] = 0
            self.returns_at[at] = self.score_at[at] = 0
            self.done_at[at] = self.cut_off_at[at] = 0
            self.place_at[at] = 0
        self.playing[slot] = 1
        self.answered[slot] = UNSEEN
        self.turns[slot] = 0
        self.match_ids[slot] = match
        self.deal(slot, state, stream_key(self.seed_word, deal, 0, CHANCE, 0), options)
        self.waiting[slot] = self.pending(slot, state)

    def decisions(self):
        """Return every decision that is ready."""
        cdef int n
        with nogil:
            n = write_rows(self)
        if n < 0:
            raise GameError(
                f"{self.spec.name} asks several seats at once, but its facts do not say "
                "simultaneous."
            )
        # The arrays are views of memory that stays, so only another number of rows needs new ones.
        if self.decisions_now is None or n != self.rows:
            self.decisions_now = Decisions(*(_read_only(self.memory[name][:n]) for name in _ROWS))
        self.rows = n
        return self.decisions_now

    def act(self, rows, actions):
        """Answer `rows` of the last `decisions()`; return the slots whose match ended."""
        cdef const int64_t[::1] row = whole_numbers("rows", rows)
        cdef const int32_t[:, ::1] action = read_actions(actions, len(row), self.heads)
        cdef Py_ssize_t wrong, i, ended = 0, n = row.shape[0]
        cdef bint in_order = True
        over = np.empty(n, np.int32)
        cdef int32_t[::1] finished = over
        with nogil:
            wrong = self._first_wrong(row, action)
            if wrong < 0:
                for i in range(n):
                    if self._answer(<int>row[i], &action[i, 0]):
                        finished[ended] = self.row_slot[row[i]]
                        if ended and finished[ended - 1] > finished[ended]:
                            in_order = False
                        ended += 1
        if wrong >= 0:
            self._refuse(np.asarray(row), wrong, actions)
        over = over[:ended]
        if not in_order:
            over.sort()
        return over

    cdef Py_ssize_t _first_wrong(
        self, const int64_t[::1] row, const int32_t[:, ::1] action
    ) noexcept nogil:
        """Return the index of the first answer that is not allowed, or -1; change nothing."""
        cdef Py_ssize_t i, j, wrong = -1
        cdef int head, offset
        cdef uint8_t* mask
        for i in range(row.shape[0]):
            if row[i] < 0 or row[i] >= self.rows or not is_open(self, <int>row[i]):
                wrong = i
                break
            # Marked here so that a row named twice is noticed; unmarked below if all is refused.
            self.row_answered[row[i]] = 1
            mask = self.row_mask + <size_t>row[i] * self.choices
            offset = 0
            for head in range(self.heads):
                if (action[i, head] < 0 or action[i, head] >= self.head_size[head]
                        or not mask[offset + action[i, head]]):
                    wrong = i
                    break
                offset += self.head_size[head]
            if wrong >= 0:
                self.row_answered[row[i]] = 0
                break
        if wrong >= 0:
            for j in range(wrong):
                self.row_answered[row[j]] = 0
        return wrong

    cdef bint _answer(self, int row, const int32_t* action) noexcept nogil:
        """Keep an answer, advance its match if it was the last one needed; say whether it ended."""
        cdef int slot = self.row_slot[row], seat = self.row_seat[row], i
        cdef int32_t* answers = self.answers + <size_t>slot * self.seats * self.heads
        cdef void* state = self.matches + <size_t>slot * self.match_bytes
        for i in range(self.heads):
            answers[seat * self.heads + i] = action[i]
        self.answered[slot] |= <uint32_t>1 << seat
        if self.answered[slot] != self.waiting[slot]:
            return False
        for i in range(self.seats):
            if (self.waiting[slot] >> i) & 1:
                self.reward_at[slot * self.seats + i] = 0
                self.shaping_at[slot * self.seats + i] = 0
        self.answered[slot] = 0
        self.advance(slot, state, answers)
        self.turns[slot] += 1
        self.waiting[slot] = self.pending(slot, state) if self.playing[slot] else 0
        return not self.playing[slot]

    def privileged(self):
        """Return the privileged view of each row of the last `decisions()`."""
        if self.spec.privileged is None:
            raise GameError(f"{self.spec.name} has no privileged view.")
        if self.row_privileged == NULL:
            shape = (self.capacity, self.spec.privileged.length)
            self.row_privileged = <uint8_t*>self._array(
                "row_privileged", shape, self.spec.privileged.dtype)
        cdef int row, stale = -1
        cdef void* state
        with nogil:
            for row in range(self.rows):
                if is_stale(self, row):
                    stale = row
                    break
                state = self.matches + <size_t>self.row_slot[row] * self.match_bytes
                self.observe_privileged(
                    state, self.row_seat[row],
                    self.row_privileged + <size_t>row * self.privileged_bytes)
        if stale >= 0:
            raise GameError(
                f"The match of row {stale} has gone on since decisions(); "
                "ask for the privileged view before answering."
            )
        return _read_only(self.memory["row_privileged"][:self.rows])

    def resample_hidden(self, int slot, int seat, Stream stream):
        """Redraw, in place, what `seat` cannot see, consistently with all it has seen."""
        if not 0 <= seat < self.seats:
            raise GameError(f"seat is {seat}; {self.spec.name} has seats 0 to {self.seats - 1}.")
        self.resample(self.match_at(slot), seat, &stream.word)
        self.answered[slot] |= UNSEEN

    def save(self, slots):
        """Put the matches in `slots` away as arrays."""
        chosen = read_slots(slots, self.slots)
        saved = {name: self.memory[name][chosen] for name in _SAVED}
        saved["answered"] &= ~np.uint32(UNSEEN)
        saved["origin"] = marked(self.spec, self.seed, len(chosen))
        return saved

    def load(self, slots, saved):
        """Load saved matches into `slots`."""
        chosen = read_slots(slots, self.slots)
        layout = {name: (self.memory[name].shape[1:], self.memory[name].dtype) for name in _SAVED}
        refuse_foreign(self.spec, self.seed, saved, layout, len(chosen))
        refuse_damaged(self.spec, saved)
        cdef const uint8_t[:, ::1] match = np.ascontiguousarray(saved["matches"])
        cdef Py_ssize_t i
        for i in range(match.shape[0]):
            # A slot that was never started holds zeros, which no rule has to make sense of.
            if saved["playing"][i] and not self._can_go_on(&match[i, 0], saved["waiting"][i]):
                raise damaged(self.spec, i)
        for name in _SAVED:
            self.memory[name][chosen] = saved[name]
        self.memory["answered"][chosen] |= UNSEEN

    cdef bint _can_go_on(self, const void* match, uint32_t waiting) noexcept nogil:
        """Whether a loaded match is sound, and nobody's answer is used who is not asked for it."""
        return self.sound(match) and not self.pending(0, <void*>match) & ~waiting

    def position(self, *, moves=(), match_id=0, **deal):
        """Return the match of a given deal after `moves`, as `load` takes it.

        What `deal` may hold is the game's; a move is a choice, its label, or a list for all heads.
        """
        cdef CompiledGame game = type(self)(slots=1, seed=self.seed, **dict(self.spec.settings))
        game.start([0], [match_id])
        try:
            game._lay_out(0, **deal)
        except TypeError as error:
            raise GameError(f"{self.spec.name} is not dealt by {sorted(deal)}: {error}.") from error
        game.waiting[0] = game.pending(0, game.match_at(0))
        for number, move in enumerate(moves):
            if len(game.decisions()) != 1:
                raise GameError(
                    f"Move {number} ({move!r}) cannot be made: the match is over, or waits for "
                    "several seats at once."
                )
            game.act([0], [read_move(self.spec, move)])
        return game.save([0])

    def _lay_out(self, int slot, **deal):
        """Put a given deal in place of the one that was drawn; a game that can overrides it."""
        raise GameError(f"{self.spec.name} cannot be started from a given deal.")

    def deals(self):
        """Return every deal as `position` takes it, each as likely; a game that can overrides it."""
        raise GameError(f"{self.spec.name} cannot list its deals.")

    def draw(self, int slot):
        """Return a picture of a match for a terminal."""
        raise GameError(f"{self.spec.name} cannot be drawn.")

    def close(self):
        """End whatever the game started outside this process: nothing."""

    # What `advance` calls.

    cdef void out(self, int slot, int seat, float amount) noexcept nogil:
        """A seat has no more decisions in this match, and is paid `amount` now."""
        cdef int at = slot * self.seats + seat
        self.done_at[at] = 1
        self.reward_at[at] += amount
        self.paid_at[at] += amount

    cdef void finish(self, int slot, const float* returns, const float* score) noexcept nogil:
        """The match is over; what is left of `returns` is paid, places follow from them."""
        cdef int i, j, first = slot * self.seats
        for i in range(self.seats):
            self.returns_at[first + i] = returns[i]
            self.score_at[first + i] = score[i]
            self.reward_at[first + i] += returns[i] - self.paid_at[first + i]
            self.done_at[first + i] = 1
            self.place_at[first + i] = 1
            for j in range(self.seats):
                self.place_at[first + i] += returns[j] > returns[i]
        self.playing[slot] = 0

    # Hooks without which a game cannot be; `deal` and the rest are the subclass's.

    cdef void deal(
        self, int slot, void* match, uint64_t key, const int64_t* options
    ) noexcept nogil:
        pass

    cdef uint32_t pending(self, int slot, void* match) noexcept nogil:
        return 0

    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil:
        pass

    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil:
        pass

    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil:
        pass

    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil:
        pass

    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil:
        pass

    cdef bint sound(self, const void* match) noexcept nogil:
        return True

    cdef void* match_at(self, int slot) except NULL:
        if not 0 <= slot < self.slots:
            raise GameError(f"slot is {slot}; this game has slots 0 to {self.slots - 1}.")
        return self.matches + <size_t>slot * self.match_bytes

    def _refuse(self, row, wrong, actions):
        number = row[wrong]
        if not 0 <= number < self.rows:
            raise GameError(f"Row {number} was answered, but {self.rows} decisions are ready.")
        if number in row[:wrong] or not is_open(self, number):
            raise GameError(
                f"Row {number} was answered already or its match is another now; "
                "ask for decisions() again."
            )
        action = np.asarray(actions).reshape(len(row), -1)[wrong].tolist()
        raise GameError(
            f"Action {action} is not legal for seat {self.row_seat[number]} of match "
            f"{self.row_match[number]} at turn {self.row_turn[number]}; see the decision's mask."
        )


cdef int write_rows(CompiledGame game) noexcept nogil:
    """Write a row for each decision that is ready; return how many there are, -1 if too many."""
    cdef int slot, seat, n = 0
    cdef uint32_t todo
    cdef void* state
    for slot in range(game.slots):
        todo = game.waiting[slot] & ~game.answered[slot]
        if not game.playing[slot]:
            continue
        game.answered[slot] &= ~<uint32_t>UNSEEN
        state = game.matches + <size_t>slot * game.match_bytes
        while todo:
            seat = lowest_bit(todo)
            todo &= todo - 1
            if n == game.capacity:
                return -1
            if n % MASK_BLOCK == 0:
                memset(game.row_mask + <size_t>n * game.choices, 0,
                       <size_t>min(MASK_BLOCK, game.capacity - n) * game.choices)
            game.row_slot[n] = slot
            game.row_seat[n] = seat
            game.row_match[n] = game.match_ids[slot]
            game.row_turn[n] = game.turns[slot]
            game.row_answered[n] = 0
            game.observe(state, seat, game.row_observation + <size_t>n * game.observation_bytes)
            game.legal(state, seat, game.row_mask + <size_t>n * game.choices)
            n += 1
    return n


cdef inline bint is_stale(CompiledGame game, int row) noexcept nogil:
    """Whether a row's match has gone on or is another one since the row was written."""
    cdef int slot = game.row_slot[row]
    return game.row_turn[row] != game.turns[slot] or game.row_match[row] != game.match_ids[slot]


cdef inline bint is_open(CompiledGame game, int row) noexcept nogil:
    """Whether a row takes an answer: it has none, and its match is still the one it shows."""
    return not (game.row_answered[row] or game.answered[game.row_slot[row]] & UNSEEN)


_ROWS = ("row_slot", "row_seat", "row_match", "row_turn", "row_observation", "row_mask")

_SAVED = (
    "matches", "playing", "waiting", "answered", "turns", "match_ids", "answers",
    "reward", "shaping", "returns", "score", "paid", "done", "cut_off", "place",
)


def _bytes_of(observation):
    return observation.length * np.dtype(observation.dtype).itemsize


def _read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view
