"""Rules of board games in which nobody sees the other's marks, on up to nine cells.

A seat tries a cell that it does not know to be taken. A free one it marks; the other's it finds,
and tries again (classical), or the turn passes (abrupt). Sets of cells are bits.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef enum:
    MOST_CELLS = 9
    SETS = 1 << MOST_CELLS

cdef class BoardRules:
    cdef readonly int cells
    cdef readonly bint abrupt
    cdef readonly bint draws      # a full board ends the match; otherwise somebody has won by then
    cdef uint32_t board           # all cells
    cdef uint8_t wins[2][SETS]    # which marks win, for each seat
    cdef uint8_t sizes[SETS]      # how many cells a set has
