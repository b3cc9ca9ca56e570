"""One seat's information states in a board game with hidden marks, and how it plays in each.

A state is what the seat tried so far and what came of it. States with a single cell left are not
kept: it is free, and ends the match. Which states can be reached follows from the sets of marks
that the other may have.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, realloc

import numpy as np

from lanista.games.bits cimport lowest_bit
from lanista.games.trees.boards.rules cimport SETS, BoardRules

cdef struct Belief:
    int count
    uint16_t marks[SETS]         # sets that the other may have marked


cdef class BoardSeatTree:
    """All information states of one seat, and a probability for each cell that it may try."""

    def __init__(self, BoardRules rules, int seat):
        """Grow the tree; every cell is as likely until `play` says otherwise."""
        cdef Belief belief, nothing
        cdef bint grown
        self.rules, self.seat = rules, seat
        nothing.count, nothing.marks[0] = 1, 0
        with nogil:
            if seat:
                other_moves(rules, seat, 0, &nothing, &belief, 0)
            grown = grow(self, rules, 0, 0, &belief if seat else &nothing, 0, 0) >= 0
        if not grown:
            raise MemoryError("There is no memory for a tree of information states.")

    def __dealloc__(self):
        free(self.edges)
        free(self.first)
        free(self.parent)
        free(self.tried)
        free(self.marks)
        free(self.known)

    def known_cells(self, uint32_t start, uint32_t stop):
        """Return for some states the seat's marks and what it has found, as bits."""
        marks = np.empty(stop - start, np.uint16)
        known = np.empty(stop - start, np.uint16)
        cdef uint16_t[::1] own = marks, other = known
        cdef uint32_t state
        for state in range(start, stop):
            own[state - start], other[state - start] = self.marks[state], self.known[state]
        return marks, known

    def attempts(self, uint32_t start, uint32_t stop):
        """Return for some states the cells that were tried, in order; -1 behind the last."""
        cdef BoardRules rules = self.rules
        cells = np.full((stop - start, rules.cells), -1, np.int8)
        cdef signed char[:, ::1] out = cells
        cdef uint32_t state, at
        cdef int number
        with nogil:
            for state in range(start, stop):
                at = state
                for number in range(
                    rules.sizes[self.marks[state] | self.known[state]] - 1, -1, -1
                ):
                    out[state - start, number] = self.tried[at]
                    at = self.parent[at]
        return cells

    def play(self, uint32_t start, const double[:, ::1] probability):
        """Take how likely each cell is in the states from `start` on, `[states, cells]`."""
        cdef BoardRules rules = self.rules
        cdef uint32_t number, at, left
        with nogil:
            for number in range(<uint32_t>probability.shape[0]):
                left = rules.board & ~<uint32_t>(
                    self.marks[start + number] | self.known[start + number])
                at = self.first[start + number]
                while left:
                    self.edges[at].probability = probability[number, lowest_bit(left)]
                    left &= left - 1
                    at += 1

    def add_plan(self, double share, double[::1] plan):
        """Add to each edge how likely the seat, as it plays now, comes to it, times a share.

        As likely as far as that is up to the seat: what the other does is left out.
        """
        cdef BoardRules rules = self.rules
        cdef double[::1] reach = np.empty(self.states)
        cdef uint32_t state, at, edge
        with nogil:
            for state in range(self.states):
                reach[state] = share
                if state:
                    at = self.parent[state]
                    edge = self.first[at] + rules.sizes[
                        untried(self, rules, at) & ((1 << self.tried[state]) - 1)]
                    reach[state] = reach[at] * self.edges[edge].probability
                for edge in range(self.first[state], last_edge(self, rules, state)):
                    plan[edge] += reach[state] * self.edges[edge].probability

    def play_plan(self, const double[::1] plan):
        """Play so that each edge is as likely as `plan` says; all alike where it never comes."""
        cdef BoardRules rules = self.rules
        cdef uint32_t state, edge, first, last
        cdef double total
        with nogil:
            for state in range(self.states):
                first, last, total = self.first[state], last_edge(self, rules, state), 0
                for edge in range(first, last):
                    total += plan[edge]
                for edge in range(first, last):
                    self.edges[edge].probability = (
                        plan[edge] / total if total > 0 else 1.0 / (last - first))


cdef inline uint32_t untried(BoardSeatTree tree, BoardRules rules, uint32_t state) noexcept nogil:
    return rules.board & ~<uint32_t>(tree.marks[state] | tree.known[state])


cdef inline uint32_t last_edge(BoardSeatTree tree, BoardRules rules, uint32_t state) noexcept nogil:
    """Return where a state's edges end."""
    return tree.first[state] + rules.sizes[untried(tree, rules, state)]


cdef void other_moves(
    BoardRules rules, int seat, uint32_t marks, const Belief* before, Belief* after, int attempts
) noexcept nogil:
    """Let the other move once, or until it marks, in all ways that do not end the match.

    `attempts` is how often it tried before; tries that marked nothing hit own marks, each once.
    """
    cdef uint8_t[SETS] present
    cdef uint32_t theirs, left, grown
    cdef int i
    for i in range(rules.board + 1):
        present[i] = 0
    after.count = 0
    for i in range(before.count):
        theirs = before.marks[i]
        if rules.abrupt and attempts - rules.sizes[theirs] < rules.sizes[marks]:
            add(after, present, theirs)
        left = rules.board & ~(marks | theirs)
        while left:
            grown = theirs | (left & (~left + 1))
            left &= left - 1
            if rules.wins[1 - seat][grown] or (rules.draws and (grown | marks) == rules.board):
                continue
            add(after, present, grown)


cdef inline void add(Belief* belief, uint8_t* present, uint32_t marks) noexcept nogil:
    if not present[marks]:
        present[marks] = 1
        belief.marks[belief.count] = <uint16_t>marks
        belief.count += 1


cdef long grow(
    BoardSeatTree tree, BoardRules rules, uint32_t marks, uint32_t known, const Belief* belief,
    uint32_t parent, int tried,
) noexcept nogil:
    """Add a state and all below it; return its first edge, or -1 without memory."""
    cdef uint32_t left = rules.board & ~(marks | known), bit
    cdef uint32_t state = tree.states, first = tree.edge_count
    cdef int cells = rules.sizes[left], number = 0
    cdef long child
    if cells == 1:
        return 0
    if not room(tree, cells):
        return -1
    tree.first[state], tree.parent[state], tree.tried[state] = first, parent, <uint8_t>tried
    tree.marks[state], tree.known[state] = <uint16_t>marks, <uint16_t>known
    tree.states += 1
    tree.edge_count += cells
    while left:
        bit = left & (~left + 1)
        left ^= bit
        tree.edges[first + number].probability = 1.0 / cells
        tree.edges[first + number].mark = tree.edges[first + number].found = 0
        child = grow_child(tree, rules, marks, known, belief, state, bit, True)
        if child < 0:
            return -1
        tree.edges[first + number].found = <uint32_t>child
        child = grow_child(tree, rules, marks, known, belief, state, bit, False)
        if child < 0:
            return -1
        tree.edges[first + number].mark = <uint32_t>child
        number += 1
    return first


cdef long grow_child(
    BoardSeatTree tree, BoardRules rules, uint32_t marks, uint32_t known, const Belief* belief,
    uint32_t state, uint32_t bit, bint found,
) noexcept nogil:
    """Add what follows a try, where the match can go on; return its first edge, 0 for nothing."""
    cdef Belief left, after
    cdef int i, seat = tree.seat, attempts = rules.sizes[marks | known] + seat
    left.count = 0
    if found:
        known |= bit
    else:
        marks |= bit
        if rules.wins[seat][marks]:
            return 0
    for i in range(belief.count):
        if (belief.marks[i] & bit != 0) != found:
            continue
        if not found and rules.draws and (belief.marks[i] | marks) == rules.board:
            continue
        left.marks[left.count] = belief.marks[i]
        left.count += 1
    if left.count and (rules.abrupt or not found):
        other_moves(rules, seat, marks, &left, &after, attempts)
    else:
        after = left
    if not after.count:
        return 0
    return grow(tree, rules, marks, known, &after, state, lowest_bit(bit))


cdef bint room(BoardSeatTree tree, int cells) noexcept nogil:
    """Make room for another state and its edges."""
    if tree.states == tree.state_room:
        tree.state_room = 2 * tree.state_room + 64
        tree.first = <uint32_t*>realloc(tree.first, 4 * <size_t>tree.state_room)
        tree.parent = <uint32_t*>realloc(tree.parent, 4 * <size_t>tree.state_room)
        tree.tried = <uint8_t*>realloc(tree.tried, <size_t>tree.state_room)
        tree.marks = <uint16_t*>realloc(tree.marks, 2 * <size_t>tree.state_room)
        tree.known = <uint16_t*>realloc(tree.known, 2 * <size_t>tree.state_room)
        if not (tree.first and tree.parent and tree.tried and tree.marks and tree.known):
            return False
    if tree.edge_count + cells > tree.edge_room:
        tree.edge_room = 2 * tree.edge_room + 1024
        tree.edges = <Edge*>realloc(tree.edges, sizeof(Edge) * <size_t>tree.edge_room)
    return tree.edges != NULL
