"""Sums over a tree of information states."""

from libc.stdint cimport int32_t

# The probability with which a seat plays each sequence, from that of its last action.
cdef void write_plan(
    const int32_t[::1] parent, const int32_t[::1] first, const double[::1] behaviour,
    double[::1] plan,
) noexcept nogil

# Adds to each own sequence what it earns where it ends, the other seat playing `plan`.
cdef void add_gains(
    const int32_t[::1] own, const int32_t[::1] other, const double[::1] utility,
    const double[::1] plan, double[::1] gain,
) noexcept nogil
