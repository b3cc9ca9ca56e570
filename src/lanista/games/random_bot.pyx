"""The bot that every game has: each head's choice drawn evenly from what is legal."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from lanista.games.bots import bot_digest, foreign_decisions
from lanista.games.rows cimport rows_fit
from lanista.games.streams cimport ACT, below, stream_key


cdef class RandomBot:
    """Plays evenly at random, the same on every machine for the same seed."""

    cdef readonly str name
    cdef readonly str digest
    cdef uint64_t seed
    cdef object sizes
    cdef int choices

    def __init__(self, spec, seed):
        self.name = "random"
        self.digest = bot_digest(spec.name, "random", 1)
        self.seed = seed
        self.choices = spec.choices
        self.sizes = np.array([head.size for head in spec.heads], np.int32)

    @property
    def head_sizes(self):
        """`[heads]`: how many choices each head has."""
        return self.sizes

    def act(self, decisions, rows):
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        cdef const int64_t[::1] row = np.ascontiguousarray(rows, dtype=np.int64)
        cdef const int32_t[::1] seat = decisions.seat
        cdef const int64_t[::1] match = decisions.match
        cdef const int32_t[::1] turn = decisions.turn
        cdef const uint8_t[:, ::1] mask = decisions.mask.view(np.uint8)
        cdef const int32_t[::1] size = self.sizes
        actions = np.empty((row.shape[0], size.shape[0]), np.int32)
        cdef int32_t[:, ::1] out = actions
        cdef Py_ssize_t i
        cdef int64_t r
        cdef int head, offset
        cdef uint64_t stream
        if mask.shape[1] != self.choices or not rows_fit(row, mask.shape[0]):
            raise foreign_decisions(self, decisions)
        with nogil:
            for i in range(row.shape[0]):
                r = row[i]
                stream = stream_key(self.seed, match[r], seat[r], ACT, turn[r])
                offset = 0
                for head in range(size.shape[0]):
                    out[i, head] = draw(&mask[r, offset], size[head], &stream)
                    offset += size[head]
        return actions


cdef inline int draw(const uint8_t* mask, int size, uint64_t* stream) noexcept nogil:
    """Draw evenly from the legal choices of one head; a forced choice draws nothing."""
    cdef int i, count = 0, seen = 0, skip, chosen = 0
    for i in range(size):
        count += mask[i]
    if count == 0:
        return 0
    skip = <int>below(stream, <uint32_t>count) if count > 1 else 0
    # Without a branch on the mask: which choices are legal is hard to predict.
    for i in range(size):
        seen += mask[i]
        chosen += seen <= skip
    return chosen
