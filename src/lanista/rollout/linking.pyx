"""Links a step's decisions to the ones before: one loop over the rows, without the interpreter.

What came to a seat since its last decision is settled there, and the new row continues its unroll
or begins one. `tape.TrajectoryBuilder` owns the columns and says what they mean.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np


def link(decisions, rows, came, int64_t[::1] last, dict columns, int64_t first, int64_t lanes,
         int64_t length, int32_t update):
    """Write the rows from `first` on for `rows` of `decisions`; `came` is by slot and seat.

    Returns how many unrolls they begin, and how many of those continue a match.
    """
    cdef const int64_t[::1] mine = np.ascontiguousarray(rows, np.int64)
    cdef const int32_t[::1] slot = np.ascontiguousarray(decisions.slot, np.int32)
    cdef const int32_t[::1] seat = np.ascontiguousarray(decisions.seat, np.int32)
    cdef const int64_t[::1] match = np.ascontiguousarray(decisions.match, np.int64)
    cdef const int32_t[::1] turn = np.ascontiguousarray(decisions.turn, np.int32)
    cdef const float[:, ::1] value = np.ascontiguousarray(came, np.float32)
    cdef int64_t[::1] following = columns["next"]
    cdef int64_t[::1] step = columns["step"]
    cdef int64_t[::1] lane = columns["lane"]
    cdef float[::1] reward = columns["reward"]
    cdef uint8_t[::1] ended = columns["ended"].view(np.uint8)
    cdef int32_t[::1] row_seat = columns["seat"]
    cdef int64_t[::1] row_match = columns["match"]
    cdef int32_t[::1] row_turn = columns["turn"]
    cdef int32_t[::1] row_update = columns["update"]
    cdef Py_ssize_t n = mine.shape[0], seats = value.shape[1], i, place
    cdef int64_t row, before, at, fresh = 0, continued = 0
    with nogil:
        for i in range(n):
            at = mine[i]
            row = first + i
            place = slot[at] * seats + seat[at]
            before = last[place]
            step[row] = 0
            if before >= 0:
                reward[before] = value[slot[at], seat[at]]
                following[before] = row
                step[row] = step[before] + 1
            if step[row] % length == 0:
                lane[row] = lanes + fresh
                fresh += 1
                continued += before >= 0
            else:
                lane[row] = lane[before]
            last[place] = row
            following[row] = -1
            reward[row] = 0
            ended[row] = 0
            row_seat[row] = seat[at]
            row_match[row] = match[at]
            row_turn[row] = turn[at]
            row_update[row] = update
    return fresh, continued
