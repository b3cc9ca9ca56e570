"""Counterfactual regret minimisation over a tree of information states, for two seats.

Seats are updated in turn. With `plus` negative regrets are dropped and iteration t counts t times
in the average (CFR+; Tammelin, 2014); otherwise regrets are discounted and it counts t² times
(DCFR with α = 3/2, β = 0, γ = 2; Brown and Sandholm, 2019).
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t

import numpy as np

from lanista.games.trees.sequence_form cimport add_gains, write_plan


cdef class Seat:
    """One seat's tree, and what it has regretted and played so far, by sequence."""

    cdef const int32_t[::1] parent, first, ends
    cdef const double[::1] utility
    cdef double[::1] regret, average, behaviour, plan, gain

    def __init__(self, tree, ends, utility, regret, average):
        self.parent, self.first, self.ends, self.utility = tree.parent, tree.first, ends, utility
        self.regret, self.average = regret, average
        self.behaviour, self.plan, self.gain = (np.ones(regret.shape[0]) for _ in range(3))
        with nogil:
            match_regrets(self)
            write_plan(self.parent, self.first, self.behaviour, self.plan)


def iterate(Seat one, Seat two, long done, long count, bint plus):
    """Do `count` further iterations after `done`; regrets and averages change in place."""
    cdef long t
    with nogil:
        for t in range(done + 1, done + count + 1):
            update(one, two, t, plus)
            update(two, one, t, plus)


cdef void update(Seat own, Seat other, long t, bint plus) noexcept nogil:
    """Take in what each own sequence would have earned, and play by the new regrets."""
    cdef Py_ssize_t i
    cdef double root = t * sqrt(<double>t), weight = t if plus else <double>t * t
    for i in range(own.gain.shape[0]):
        own.gain[i] = 0
        own.average[i] += weight * own.plan[i]
    add_gains(own.ends, other.ends, own.utility, other.plan, own.gain)
    add_regrets(own, 0 if plus else 0.5, 1 if plus else root / (root + 1))
    match_regrets(own)
    write_plan(own.parent, own.first, own.behaviour, own.plan)


cdef void add_regrets(Seat own, double below_zero, double above_zero) noexcept nogil:
    """Add what each action earns beyond the mix that was played, then discount the sums."""
    cdef Py_ssize_t state
    cdef int32_t i
    cdef double value, regret
    for state in range(own.parent.shape[0] - 1, -1, -1):
        value = 0
        for i in range(own.first[state], own.first[state + 1]):
            value += own.behaviour[i] * own.gain[i]
        for i in range(own.first[state], own.first[state + 1]):
            regret = own.regret[i] + own.gain[i] - value
            own.regret[i] = regret * (above_zero if regret > 0 else below_zero)
        own.gain[own.parent[state]] += value


cdef void match_regrets(Seat own) noexcept nogil:
    """Play each action in proportion to its positive regret, all alike where none is."""
    cdef Py_ssize_t state
    cdef int32_t i, begin, end
    cdef double total
    for state in range(own.parent.shape[0]):
        begin, end = own.first[state], own.first[state + 1]
        total = 0
        for i in range(begin, end):
            total += max(own.regret[i], 0)
        for i in range(begin, end):
            own.behaviour[i] = max(own.regret[i], 0) / total if total > 0 else 1.0 / (end - begin)
