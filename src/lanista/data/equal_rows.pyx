"""Finds equal rows of a matrix, so that a network is asked about each of them once.

In small games most decisions of a batch are the same few positions.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

import numpy as np

from lanista.games.streams cimport mix


def equal_rows(rows):
    """Return (first, group): the first row of each kind in order, and every row's kind."""
    flat = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    cdef const uint8_t[:, ::1] data = flat
    cdef Py_ssize_t n = data.shape[0], width = data.shape[1], i
    cdef Py_ssize_t size = 16
    while size < 2 * n:
        size *= 2
    table_array = np.full(size, -1, np.int32)
    first_array = np.empty(n, np.int64)
    group_array = np.empty(n, np.int64)
    cdef int32_t[::1] table = table_array
    cdef int64_t[::1] first = first_array
    cdef int64_t[::1] group = group_array
    cdef Py_ssize_t kinds = 0, at
    if n == 0:
        return first_array, group_array
    with nogil:
        for i in range(n):
            at = <Py_ssize_t>(hash_row(&data[i, 0], width) & <uint64_t>(size - 1))
            while table[at] >= 0 and memcmp(&data[first[table[at]], 0], &data[i, 0], width):
                at = (at + 1) & (size - 1)
            if table[at] < 0:
                table[at] = <int32_t>kinds
                first[kinds] = i
                kinds += 1
            group[i] = table[at]
    return first_array[:kinds].copy(), group_array


cdef inline uint64_t hash_row(const uint8_t* row, Py_ssize_t width) noexcept nogil:
    cdef uint64_t total = <uint64_t>width
    cdef uint64_t word
    cdef Py_ssize_t i = 0, j
    while i + 8 <= width:
        word = (<const uint64_t*>(row + i))[0]
        total = mix(total ^ word) + <uint64_t>0x9E3779B97F4A7C15
        i += 8
    word = 0
    j = 0
    while i < width:
        word |= <uint64_t>row[i] << (8 * j)
        i += 1
        j += 1
    return mix(total ^ word)
