"""One seat's information states in a board game with hidden marks, and how it plays in each."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef struct Edge:
    double probability
    uint32_t mark        # the state after the cell was marked, as the place of its first edge
    uint32_t found       # the state after the other's mark was found there

cdef class BoardSeatTree:
    cdef readonly object rules
    cdef readonly int seat
    cdef readonly uint32_t states
    cdef readonly uint32_t edge_count
    cdef Edge* edges
    cdef uint32_t edge_room, state_room
    # Per state.
    cdef uint32_t* first         # its first edge; there is one for each cell that may be tried
    cdef uint32_t* parent        # the state before, itself for the first one
    cdef uint8_t* tried          # the cell that led here
    cdef uint16_t* marks
    cdef uint16_t* known
