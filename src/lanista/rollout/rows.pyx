"""Groups, copies and draws for the rows of a step: one pass each, without the interpreter.

Workers in threads wait for each other whenever a call gives the interpreter up and takes it back,
so a step makes few of them. Knows nothing of what the rows mean.
"""

from cpython.buffer cimport PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from lanista.games.streams cimport ACT, next_word, stream_key

cdef enum:
    MOST = 8

cdef struct Column:
    const char* source
    char* target
    Py_ssize_t stride
    Py_ssize_t width


def by_player(decisions, int32_t[:, ::1] seated, player_of, Py_ssize_t players):
    """Return the rows of decisions grouped by player, and where each player's begin.

    `seated` is the number in each seat of each slot and `player_of` the player behind a number,
    below `players`. Rows of one player stay in order; the last border is where they all end.
    """
    cdef const int32_t[::1] slot = np.ascontiguousarray(decisions.slot, np.int32)
    cdef const int32_t[::1] seat = np.ascontiguousarray(decisions.seat, np.int32)
    cdef const int64_t[::1] player = np.ascontiguousarray(player_of, np.int64)
    cdef Py_ssize_t n = slot.shape[0], i
    cdef int64_t one
    cdef bint known = seat.shape[0] == n
    order, who_array = np.empty(n, np.int64), np.empty(n, np.int32)
    border = np.zeros(players + 1, np.int64)
    cdef int64_t[::1] out = order
    cdef int64_t[::1] start = border
    cdef int32_t[::1] who = who_array
    with nogil:
        for i in range(n):
            known = (known and 0 <= slot[i] < seated.shape[0] and 0 <= seat[i] < seated.shape[1]
                     and 0 <= seated[slot[i], seat[i]] < player.shape[0])
            one = player[seated[slot[i], seat[i]]] if known else -1
            known = known and 0 <= one < players
            if not known:
                break
            who[i] = <int32_t> one
            start[one + 1] += 1
        if known:
            for i in range(players):
                start[i + 1] += start[i]
            for i in range(n):
                out[start[who[i]]] = i
                start[who[i]] += 1
    if not known:
        raise IndexError("A decision is of a seat that nobody known sits in.")
    # Each start was moved to where the next one was.
    return order, [0, *border.tolist()[:players]]


def copy_rows(pairs, rows=None, Py_ssize_t first=0):
    """Copy `rows` of each source, or all, to its target's rows from `first` on.

    `pairs` are sources and targets; a source of another type is converted.
    """
    cdef Column columns[MOST]
    cdef Py_buffer source, target
    cdef const int64_t[::1] taken
    cdef const int64_t* at = NULL
    cdef Py_ssize_t n = -1, least = -1, count = 0, i, many
    cdef bint outside = False
    if rows is not None:
        taken = np.ascontiguousarray(rows, np.int64)
        n = taken.shape[0]
        if n:
            at = &taken[0]
    if len(pairs) > MOST:
        raise ValueError(f"{len(pairs)} columns are more than the {MOST} that can be copied.")
    kept = []
    for given, wanted in pairs:
        given = _fitting(given, wanted)
        kept.append(given)
        PyObject_GetBuffer(given, &source, PyBUF_STRIDES)
        many = source.shape[0]
        columns[count].source = <const char*> source.buf
        columns[count].stride = source.strides[0]
        columns[count].width = source.itemsize
        for i in range(1, source.ndim):
            columns[count].width *= source.shape[i]
        PyBuffer_Release(&source)  # `kept` holds on to it.
        n = many if n < 0 else n
        least = many if least < 0 else min(least, many)
        PyObject_GetBuffer(wanted, &target, PyBUF_STRIDES | PyBUF_WRITABLE)
        columns[count].target = <char*> target.buf
        many = target.shape[0]
        PyBuffer_Release(&target)
        if not (0 <= first and first + n <= many and (rows is not None or n == least)):
            raise IndexError(f"{n} rows from {first} on do not fit into {many}.")
        count += 1
    with nogil:
        for i in range(n if count and at != NULL else 0):
            outside = outside or not 0 <= at[i] < least
        for i in range(0 if outside else count):
            _copy(&columns[i], at, n, first)
    if outside:
        raise IndexError(f"Not all rows that were asked for are among {least}.")


cdef _fitting(given, wanted):
    """Return rows that can be copied as bytes to those of `wanted`."""
    if given.dtype != wanted.dtype:
        given = given.astype(wanted.dtype)
    if given.shape[1:] != wanted.shape[1:] or not wanted.flags.c_contiguous:
        raise ValueError(f"Rows {given.shape[1:]} do not go into rows {wanted.shape[1:]}.")
    inner = given[0] if len(given) else given
    return given if inner.flags.c_contiguous else np.ascontiguousarray(given)


cdef void _copy(Column* column, const int64_t* rows, Py_ssize_t n, Py_ssize_t first) noexcept nogil:
    cdef Py_ssize_t i, width = column.width
    cdef char* target = column.target + first * width
    if rows == NULL and column.stride == width:
        memcpy(target, column.source, n * width)
        return
    if width == 4:  # A number of its own: known to the compiler, it is no call.
        for i in range(n):
            memcpy(target + i * 4, column.source + (rows[i] if rows else i) * column.stride, 4)
        return
    for i in range(n):
        memcpy(target + i * width, column.source + (rows[i] if rows else i) * column.stride, width)


def draws(uint64_t seed, decisions, rows, float[:, ::1] out):
    """Write to `out` what `streams.uniforms` draws for `rows` of decisions, a column a head."""
    cdef const int64_t[::1] match = np.ascontiguousarray(decisions.match, np.int64)
    cdef const int32_t[::1] seat = np.ascontiguousarray(decisions.seat, np.int32)
    cdef const int32_t[::1] turn = np.ascontiguousarray(decisions.turn, np.int32)
    cdef const int64_t[::1] row = np.ascontiguousarray(rows, np.int64)
    cdef Py_ssize_t n = row.shape[0], i, j
    cdef int64_t at = 0
    cdef uint64_t word
    cdef bint there = n == out.shape[0]
    with nogil:
        for i in range(n if there else 0):
            at = row[i]
            there = 0 <= at < match.shape[0]
            if not there:
                break
            word = stream_key(seed, match[at], seat[at], ACT, turn[at])
            for j in range(out.shape[1]):
                # 24 bits: all that a float32 below one holds.
                out[i, j] = <float>(next_word(&word) >> 40) * <float>(1.0 / 16777216.0)
    if not there:
        raise IndexError(f"Row {at} of {len(match)} decisions, or {n} rows for {len(out)}.")
