"""A linear judge of Beasty Bar's moves: which features a move has, and the sum of their weights.

Every feature is there or not, and weights are whole numbers, so a sum is the same on every
machine. Knows a seat's view and the rules; where the weights come from is in distilled_weights.py.
"""

from libc.stdint cimport int32_t, uint8_t

from lanista.games.beastybar.rules cimport Match, Rules

cdef enum:
    MOST_ACTIVE = 96      # features that one move can have

cdef int active_features(const Match* known, const Rules* rules, int action, int32_t* out) noexcept nogil
cdef int best_by_weight(
    const Match* known, const Rules* rules, const uint8_t* mask, int actions
) noexcept nogil
