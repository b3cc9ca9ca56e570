"""What a seat of Beasty Bar sees, as bytes: written by the game, read back by the bots.

All seats are relative: 0 is the one who looks, 1 the next to play. The layout, in this order:
line species (4), line owner (4), own hand (12), where each animal of each seat is (12 a seat),
turn (1), points in the bar (1 a seat), animals in the bar (1 a seat).
"""

from libc.stdint cimport uint8_t, uint16_t, uint64_t

from lanista.games.beastybar.rules cimport Match, Rules

cdef enum:  # where a field starts
    OWNER_AT = 4
    HAND_AT = 8
    WHERE_AT = 20

cdef void write_view(const Match* match, const Rules* rules, int seat, uint8_t* out) noexcept nogil
cdef void write_hidden(const Match* match, const Rules* rules, int seat, uint8_t* out) noexcept nogil
cdef void read_view(const uint8_t* view, const Rules* rules, Match* match) noexcept nogil
cdef void draw_unseen(Match* match, const Rules* rules, int seat, uint64_t* stream) noexcept nogil
