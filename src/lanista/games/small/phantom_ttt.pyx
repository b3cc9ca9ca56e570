"""Phantom tic-tac-toe: nobody sees the other's marks; a move onto one reveals it and is made again.

Observation as OpenSpiel's information-state tensor: the known board (empty, o, x: 3 × 9), then
each own attempt in order (9 × 9). Seat 0 plays x.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from lanista.games.compiled cimport CompiledGame
from lanista.games.small.sets cimport draw_from, size_of

from lanista.games.contract import Facts, Field, Head, Observation, Spec

cdef enum:
    CELLS = 9
    BOARD = 0b111111111
    LONGEST = 17           # nine marks, and each seat runs into at most four of the other's
    LENGTH = 3 * CELLS + CELLS * CELLS
    MOST_MARKS = 5

cdef uint32_t[8] LINES
LINES[:] = [0o700, 0o070, 0o007, 0o444, 0o222, 0o111, 0o421, 0o124]

cdef struct Attempt:
    uint8_t seat
    uint8_t cell
    uint8_t marked         # false when the cell was the other's

cdef struct Match:
    uint32_t marks[2]      # cells as bits
    uint32_t found[2]      # the other's marks that a seat has run into
    Attempt attempts[LONGEST]
    uint8_t made
    uint8_t seat           # to move
    uint8_t over


cdef class PhantomTicTacToe(CompiledGame):
    """Phantom tic-tac-toe."""

    def __init__(self, slots=1, seed=0):
        fields = (
            Field("empty", CELLS), Field("o", CELLS), Field("x", CELLS),
            Field("attempts", CELLS * CELLS),
        )
        cells = tuple(column + row for row in "123" for column in "abc")
        spec = Spec(
            name="phantom_ttt",
            facts=Facts(seats=2, longest=LONGEST, hidden=True, zero_sum=True),
            observation=Observation(fields, "uint8"),
            heads=(Head("cell", CELLS, cells),),
            privileged=Observation((Field("view", LENGTH), Field("other view", LENGTH)), "uint8"),
        )
        self.setup(spec, slots, seed, sizeof(Match))

    cdef uint32_t pending(self, int slot, void* match) noexcept nogil:
        return <uint32_t>1 << (<Match*>match).seat

    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int seat = m.seat, other = 1 - seat
        cdef uint32_t cell = <uint32_t>1 << actions[seat]
        cdef bint free = not m.marks[other] & cell
        cdef Attempt* attempt = &m.attempts[m.made]
        attempt.seat, attempt.cell, attempt.marked = seat, <uint8_t>actions[seat], free
        m.made += 1
        if not free:
            m.found[seat] |= cell
            return
        m.marks[seat] |= cell
        m.seat = other
        cdef bint won = has_line(m.marks[seat])
        cdef float returns[2]
        if won or (m.marks[0] | m.marks[1]) == BOARD:
            m.over = 1
            returns[seat] = won
            returns[other] = -returns[seat]
            self.finish(slot, returns, returns)

    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef uint32_t x = m.found[1] if seat else m.marks[0]
        cdef uint32_t o = m.marks[1] if seat else m.found[0]
        cdef int i, own = 3 * CELLS
        memset(out + own, 0, CELLS * CELLS)
        for i in range(CELLS):
            out[i] = not ((x | o) >> i) & 1
            out[CELLS + i] = (o >> i) & 1
            out[2 * CELLS + i] = (x >> i) & 1
        for i in range(m.made):
            if m.attempts[i].seat == seat:
                out[own + m.attempts[i].cell] = 1
                own += CELLS

    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef uint32_t known = m.marks[seat] | m.found[seat]
        cdef int i
        for i in range(CELLS):
            out[i] = not (known >> i) & 1

    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil:
        self.observe(match, seat, out)
        self.observe(match, 1 - seat, out + LENGTH)

    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil:
        # A decision shows its turn, so how often the other tried is known, and with it which of
        # its attempts marked a cell. Only the cells are redrawn: each way of placing them that
        # fits what the seat ran into, and when, is as likely.
        cdef Match* m = <Match*>match
        cdef int other = 1 - seat, i, marked = 0
        cdef int cells[MOST_MARKS]
        cdef uint32_t mine = 0
        cdef Attempt* attempt
        if m.over:
            return
        m.marks[other] = m.found[seat] | draw_hidden(m, seat, stream)
        order_marks(m, seat, cells, stream)
        m.found[other] = 0
        for i in range(m.made):
            attempt = &m.attempts[i]
            if attempt.seat == seat:
                mine |= attempt.marked << attempt.cell
            elif attempt.marked:
                attempt.cell = <uint8_t>cells[marked]
                marked += 1
            else:
                attempt.cell = <uint8_t>draw_from(mine & ~m.found[other], stream)
                m.found[other] |= <uint32_t>1 << attempt.cell

    cdef bint sound(self, const void* match) noexcept nogil:
        """Whether the attempts lead to just these marks, and the match goes on."""
        cdef const Match* m = <const Match*>match
        cdef uint32_t marks[2]
        cdef uint32_t found[2]
        cdef int i, seat = 0
        marks[0] = marks[1] = found[0] = found[1] = 0
        if m.made >= LONGEST or m.over:
            return False
        for i in range(m.made):
            if m.attempts[i].cell >= CELLS or m.attempts[i].seat != seat:
                return False
            if not try_cell(marks, found, seat, <uint32_t>1 << m.attempts[i].cell):
                return False
            if m.attempts[i].marked != (marks[seat] >> m.attempts[i].cell & 1):
                return False
            if m.attempts[i].marked:
                seat = 1 - seat
        return (m.seat == seat and m.marks[0] == marks[0] and m.marks[1] == marks[1]
                and m.found[0] == found[0] and m.found[1] == found[1])

    def state(self, int slot):
        """Return the whole match as plain values: each attempt as (seat, cell, marked)."""
        cdef Match* m = <Match*>self.match_at(slot)
        tried = [m.attempts[i] for i in range(m.made)]
        return {"attempts": [(t["seat"], t["cell"], bool(t["marked"])) for t in tried]}

    def draw(self, int slot):
        """Return a picture of a match for a terminal."""
        cdef Match* m = <Match*>self.match_at(slot)
        marks = "".join(
            "x" if (m.marks[0] >> i) & 1 else "o" if (m.marks[1] >> i) & 1 else "."
            for i in range(CELLS)
        )
        return "\n".join(marks[i : i + 3] for i in range(0, CELLS, 3))


cdef inline bint has_line(uint32_t marks) noexcept nogil:
    cdef int i
    for i in range(8):
        if marks & LINES[i] == LINES[i]:
            return True
    return False


cdef bint try_cell(uint32_t* marks, uint32_t* found, int seat, uint32_t cell) noexcept nogil:
    """Let a seat try a cell; say whether that was legal and did not end the match."""
    if (marks[seat] | found[seat]) & cell:
        return False
    if marks[1 - seat] & cell:
        found[seat] |= cell
        return True
    marks[seat] |= cell
    return not has_line(marks[seat]) and (marks[0] | marks[1]) != BOARD


cdef uint32_t draw_hidden(const Match* m, int seat, uint64_t* stream) noexcept nogil:
    """Draw the other's marks that `seat` has not run into: no set that would have won."""
    cdef uint32_t unknown = BOARD & ~m.marks[seat] & ~m.found[seat], hidden
    cdef int left, count = size_of(m.marks[1 - seat]) - size_of(m.found[seat])
    while True:                        # ends: the true set is one of at most 126
        hidden = 0
        for left in range(count):
            hidden |= <uint32_t>1 << draw_from(unknown & ~hidden, stream)
        if not has_line(m.found[seat] | hidden):
            return hidden


cdef void order_marks(const Match* m, int seat, int* cells, uint64_t* stream) noexcept nogil:
    """Draw the order in which the other made its marks: a cell run into was marked before."""
    cdef uint32_t unplaced = m.marks[1 - seat], earlier = 0, used = 0
    cdef int i, at, count = size_of(unplaced)
    for i in range(m.made):
        if m.attempts[i].seat != seat:
            # The places in the order that had come by now, as bits.
            earlier = earlier << 1 | 1 if m.attempts[i].marked else earlier
        elif not m.attempts[i].marked:
            at = draw_from(earlier & ~used, stream)
            cells[at] = m.attempts[i].cell
            used |= <uint32_t>1 << at
            unplaced &= ~(<uint32_t>1 << cells[at])
    for at in range(count):
        if not (used >> at) & 1:
            cells[at] = draw_from(unplaced, stream)
            unplaced &= ~(<uint32_t>1 << cells[at])
