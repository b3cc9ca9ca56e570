"""Sums over a tree of information states; tree.py says what the arrays hold.

All of it runs without the GIL and in a fixed order, so that the same tree gives the same numbers.
"""

from libc.stdint cimport int32_t

import numpy as np


def realise(const int32_t[::1] parent, const int32_t[::1] first, const double[::1] behaviour):
    """Return the probability with which a seat plays each sequence, chance and others aside."""
    plan = np.empty(behaviour.shape[0])
    cdef double[::1] out = plan
    with nogil:
        write_plan(parent, first, behaviour, out)
    return plan


def gains(
    const int32_t[::1] own, const int32_t[::1] other, const double[::1] utility,
    const double[::1] plan, Py_ssize_t sequences,
):
    """Return what each own sequence earns where it ends, the other seat playing `plan`."""
    gain = np.zeros(sequences)
    cdef double[::1] out = gain
    with nogil:
        add_gains(own, other, utility, plan, out)
    return gain


def best_value(const int32_t[::1] parent, const int32_t[::1] first, double[::1] gain):
    """Return what a seat earns by its best choices; `gain` is added up on the way."""
    cdef Py_ssize_t state
    cdef int32_t sequence
    cdef double best
    with nogil:
        for state in range(parent.shape[0] - 1, -1, -1):
            best = gain[first[state]]
            for sequence in range(first[state] + 1, first[state + 1]):
                best = max(best, gain[sequence])
            gain[parent[state]] += best
    return gain[0]


cdef void write_plan(
    const int32_t[::1] parent, const int32_t[::1] first, const double[::1] behaviour,
    double[::1] plan,
) noexcept nogil:
    cdef Py_ssize_t state
    cdef int32_t sequence
    plan[0] = 1
    for state in range(parent.shape[0]):
        for sequence in range(first[state], first[state + 1]):
            plan[sequence] = plan[parent[state]] * behaviour[sequence]


cdef void add_gains(
    const int32_t[::1] own, const int32_t[::1] other, const double[::1] utility,
    const double[::1] plan, double[::1] gain,
) noexcept nogil:
    cdef Py_ssize_t end
    for end in range(own.shape[0]):
        gain[own[end]] += utility[end] * plan[other[end]]
