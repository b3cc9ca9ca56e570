"""Rules of board games in which nobody sees the other's marks; rules.pxd says what they are."""

import numpy as np

from lanista.games.bits cimport lowest_bit
from lanista.games.contract import GameError

cdef class BoardRules:
    """What wins on a board, and what becomes of the turn when a seat tries a cell that is taken."""

    def __init__(self, int cells, wins, *, bint abrupt, bint draws):
        """`wins(seat, marks)` says whether a seat's marks, a set of cells as bits, win."""
        if not 1 <= cells <= MOST_CELLS:
            raise GameError(f"A board of {cells} cells is too large; {MOST_CELLS} are the most.")
        self.cells, self.abrupt, self.draws = cells, abrupt, draws
        self.board = (1 << cells) - 1
        for marks in range(1 << cells):
            self.sizes[marks] = marks.bit_count()
            for seat in range(2):
                self.wins[seat][marks] = wins(seat, marks)

    def histories(self):
        """Return how many positions lead on and how many end a match, whoever sees what."""
        totals = np.full((2, 5 ** int(self.cells), 2), -1.0)
        cdef double[:, :, ::1] memory = totals
        cdef uint32_t[2] marks, known
        marks[0] = marks[1] = known[0] = known[1] = 0
        count(self, marks, known, 0, memory)
        return int(totals[0, 0, 0]), int(totals[0, 0, 1])


cdef int code_of(BoardRules rules, const uint32_t* marks, const uint32_t* known) noexcept nogil:
    """A number for each position: a cell is empty, or either seat's and found by the other or not."""
    cdef int code = 0, cell
    cdef uint32_t bit
    for cell in range(rules.cells):
        bit = <uint32_t>1 << cell
        code *= 5
        if marks[0] & bit:
            code += 2 if known[1] & bit else 1
        elif marks[1] & bit:
            code += 4 if known[0] & bit else 3
    return code


cdef void count(
    BoardRules rules, const uint32_t* marks, const uint32_t* known, int seat,
    double[:, :, ::1] memory,
) noexcept nogil:
    """Write how many positions lie below one, itself included: those that lead on, and ends."""
    cdef int code = code_of(rules, marks, known), then, after
    cdef uint32_t left = rules.board & ~(marks[seat] | known[seat]), bit
    cdef uint32_t[2] m, k
    cdef double on = 1, over = 0
    if memory[seat, code, 0] >= 0:
        return
    while left:
        bit = <uint32_t>1 << lowest_bit(left)
        left ^= bit
        m[0], m[1], k[0], k[1] = marks[0], marks[1], known[0], known[1]
        then = 1 - seat
        if marks[1 - seat] & bit:
            k[seat] |= bit
            then = 1 - seat if rules.abrupt else seat
        else:
            m[seat] |= bit
            if rules.wins[seat][m[seat]] or (rules.draws and (m[0] | m[1]) == rules.board):
                over += 1
                continue
        count(rules, m, k, then, memory)
        after = code_of(rules, m, k)
        on += memory[then, after, 0]
        over += memory[then, after, 1]
    memory[seat, code, 0] = on
    memory[seat, code, 1] = over
