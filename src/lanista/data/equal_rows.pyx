"""Finds equal rows of a matrix, so that a network is asked about each of them once.

In small games most decisions of a batch are the same few positions.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

import math

import numpy as np

from lanista.games.streams cimport mix

FEW_EQUAL = 0.9  # From this share of kinds among rows on, showing all of them takes less time.
SOME, SOME_EQUAL = 256, 0.99  # So many are looked through first, and tell whether the others are.


def kinds(rows, beside=None):
    """Return what `equal_rows` does, or None where hardly any rows are equal."""
    n = len(rows)
    step = n // max(SOME, n // 8)
    if step > 1:
        some = equal_rows(rows[::step], None if beside is None else beside[::step])
        if len(some[0]) > SOME_EQUAL * len(some[1]):
            return None
    found = equal_rows(rows, beside)
    return None if len(found[0]) > FEW_EQUAL * n else found


def equal_rows(rows, beside=None):
    """Return (first, group): the first row of each kind in order, and every row's kind.

    Rows are equal if those of `beside` are too, where it is given.
    """
    cdef const uint8_t[:, ::1] data = as_bytes(rows)
    cdef const uint8_t[:, ::1] more = as_bytes(rows[..., :0] if beside is None else beside)
    cdef Py_ssize_t n = data.shape[0], width = data.shape[1], extra = more.shape[1], i, other
    cdef Py_ssize_t size = 16
    while size < 2 * n:
        size *= 2
    table_array = np.full(size, -1, np.int32)
    first_array = np.empty(n, np.int64)
    group_array = np.empty(n, np.int64)
    cdef int32_t[::1] table = table_array
    cdef int64_t[::1] first = first_array
    cdef int64_t[::1] group = group_array
    cdef const uint8_t* here = NULL
    cdef const uint8_t* there = NULL
    cdef Py_ssize_t kinds = 0, at
    if n == 0:
        return first_array, group_array
    with nogil:
        if width:
            here = &data[0, 0]
        if extra:
            there = &more[0, 0]
        for i in range(n):
            # What is beside them hardly ever differs alone, so it is compared and not mixed in.
            at = <Py_ssize_t>(hash_row(here + i * width, width) & <uint64_t>(size - 1))
            while table[at] >= 0:
                other = first[table[at]]
                if not memcmp(here + other * width, here + i * width, width) and not (
                    memcmp(there + other * extra, there + i * extra, extra)
                ):
                    break
                at = (at + 1) & (size - 1)
            if table[at] < 0:
                table[at] = <int32_t>kinds
                first[kinds] = i
                kinds += 1
            group[i] = table[at]
    return first_array[:kinds].copy(), group_array


cdef as_bytes(rows):
    flat = np.ascontiguousarray(rows)
    width = math.prod(flat.shape[1:]) * flat.itemsize
    return flat.reshape(-1).view(np.uint8).reshape(len(flat), width)


cdef inline uint64_t hash_row(const uint8_t* row, Py_ssize_t width) noexcept nogil:
    """Mix a row: a product for each word, and all bits at the end."""
    cdef uint64_t word, total = <uint64_t>width
    cdef Py_ssize_t i = 0
    while i + 8 <= width:
        memcpy(&word, row + i, 8)
        total = (total ^ word) * <uint64_t>0x9E3779B97F4A7C15
        total ^= total >> 32
        i += 8
    word = 0
    if i < width:
        memcpy(&word, row + i, width - i)
    return mix(total ^ word)
