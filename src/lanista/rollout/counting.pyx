"""Adds up matches by who sat where: one loop over the rows, without the interpreter.

Seatings are found by hashing, so that any numbers of players will do. `tally.Tally` owns the
matches and says what the columns mean.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

_FIRST_ROOM = 16
"""Seatings for which there is room from the start."""


cdef class Counter:
    """Sums over matches, a row for each seating, in the order in which seatings first came."""

    cdef readonly Py_ssize_t seats
    cdef readonly Py_ssize_t kinds
    """Seatings so far."""
    cdef int32_t[::1] place_of
    """By hash: the row of a seating, or -1; at most half of it is taken."""
    cdef int32_t[:, ::1] seating
    cdef int64_t[:, ::1] numbers
    """Matches, first match, last match, first update."""
    cdef int64_t[:, ::1] pairs
    """Wins, draws and losses of each two seats."""
    cdef double[:, ::1] returns

    def __init__(self, Py_ssize_t seats):
        self.seats, self.kinds = seats, 0
        self.seating = np.empty((0, seats), np.int32)
        self.numbers = np.empty((0, 4), np.int64)
        self.pairs = np.empty((0, seats * (seats - 1) // 2 * 3), np.int64)
        self.returns = np.empty((0, seats), np.float64)
        self._make_room(_FIRST_ROOM)

    def add(self, seated, place, returns, match, update):
        """Take in matches, a row each; returns are added one after another, in float64."""
        seated, place = (np.ascontiguousarray(rows, np.int32) for rows in (seated, place))
        returns = np.ascontiguousarray(returns, np.float32)
        for rows in (seated, place, returns):
            if rows.shape != (len(match), self.seats) or len(match) != len(update):
                what = f"{len(match)} matches of {self.seats} seats"
                raise ValueError(f"{what} came as {rows.shape}, begun at {len(update)} updates.")
        cdef const int32_t[:, ::1] who = seated
        cdef const int32_t[:, ::1] placed = place
        cdef const float[:, ::1] got = returns
        cdef const int64_t[:] number = np.asarray(match, np.int64)
        cdef const int64_t[:] began = np.asarray(update, np.int64)
        cdef Py_ssize_t n = who.shape[0], seats = self.seats, i, a, b, at, kind
        with nogil:
            for i in range(n):
                kind = self._kind(&who[i, 0])
                self.numbers[kind, 0] += 1
                self.numbers[kind, 1] = min(self.numbers[kind, 1], number[i])
                self.numbers[kind, 2] = max(self.numbers[kind, 2], number[i])
                self.numbers[kind, 3] = min(self.numbers[kind, 3], began[i])
                at = 0
                for a in range(seats):
                    self.returns[kind, a] += got[i, a]
                    for b in range(a + 1, seats):
                        # Less is a win, equal a draw, more a loss.
                        self.pairs[kind, at + 1 + (placed[i, a] > placed[i, b])
                                   - (placed[i, a] < placed[i, b])] += 1
                        at += 3

    def table(self):
        """Return seatings, numbers, pairs `[seatings, pairs, 3]` and returns, sorted by seating."""
        seating = np.asarray(self.seating)[:self.kinds]
        order = np.lexsort(seating.T[::-1])
        pairs = np.asarray(self.pairs)[order].reshape(len(order), self.pairs.shape[1] // 3, 3)
        numbers, returns = np.asarray(self.numbers)[order], np.asarray(self.returns)[order]
        return seating[order], numbers, pairs, returns

    cdef Py_ssize_t _kind(self, const int32_t* who) except -1 nogil:
        """Return the row of a seating, a new one if it never came."""
        cdef Py_ssize_t at = self._found(who), seat, row
        if self.place_of[at] >= 0:
            return self.place_of[at]
        if self.kinds == self.seating.shape[0]:
            with gil:
                self._make_room(2 * self.kinds)
            at = self._found(who)
        row = self.kinds
        for seat in range(self.seats):
            self.seating[row, seat] = who[seat]
        self.place_of[at] = <int32_t> row
        self.kinds += 1
        return row

    cdef Py_ssize_t _found(self, const int32_t* who) noexcept nogil:
        """Return where in `place_of` a seating is, or where it would go."""
        cdef uint32_t mixed = 2166136261
        cdef Py_ssize_t mask = self.place_of.shape[0] - 1, at, seat, row
        for seat in range(self.seats):
            mixed = (mixed ^ <uint32_t> who[seat]) * 16777619
            mixed ^= mixed >> 15
        at = mixed & mask
        while True:
            row = self.place_of[at]
            if row < 0:
                return at
            for seat in range(self.seats):
                if self.seating[row, seat] != who[seat]:
                    break
            else:
                return at
            at = (at + 1) & mask

    cdef int _make_room(self, Py_ssize_t room) except -1:
        """Hold so many seatings, a power of two."""
        cdef Py_ssize_t row
        more = room - self.seating.shape[0]
        never = np.iinfo(np.int64)
        unseen = np.array([[0, never.max, never.min, never.max]], np.int64)
        self.seating = _longer(self.seating, more)
        self.numbers = np.concatenate([self.numbers, np.repeat(unseen, more, axis=0)])
        self.pairs, self.returns = _longer(self.pairs, more), _longer(self.returns, more)
        self.place_of = np.full(2 * room, -1, np.int32)
        for row in range(self.kinds):
            self.place_of[self._found(&self.seating[row, 0])] = <int32_t> row
        return 0


def _longer(rows, more):
    """Return `rows` with so many of zeros after them."""
    rows = np.asarray(rows)
    return np.concatenate([rows, np.zeros((more, rows.shape[1]), rows.dtype)])
