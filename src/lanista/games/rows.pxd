"""Checks the rows a compiled bot is to answer, before it reads memory by their numbers."""

from libc.stdint cimport int64_t


cdef inline bint rows_fit(const int64_t[::1] rows, Py_ssize_t decisions) noexcept nogil:
    cdef Py_ssize_t i
    cdef bint fit = True
    for i in range(rows.shape[0]):
        fit = fit and 0 <= rows[i] < decisions
    return fit
