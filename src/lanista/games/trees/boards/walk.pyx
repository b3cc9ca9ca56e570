"""A best response in a board game with hidden marks, by walking what the responder can see.

At each of its information states stand the states that the other may be in, with the probability
that the other plays there (chance there is none). The responder's cell splits them into those where
it is taken and those where it is free; the other's answer moves each of them on. So every history
is met once, in long runs of memory, and only what lies on the way is held. Cut into pieces that
threads work on, each with a walk of its own.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from lanista.games.bits cimport lowest_bit
from lanista.games.trees.boards.rules cimport MOST_CELLS, SETS, BoardRules
from lanista.games.trees.boards.seat_tree cimport BoardSeatTree, Edge

cdef enum:
    # The most states that one state of the other can become in a turn, with room to spare: it
    # finds up to four marks in any order, then marks one of at most nine cells.
    MOST_AFTER = 1024
    LEVELS = MOST_CELLS + 1

cdef enum Mode:
    WHOLE      # walk everything
    CUT        # put the lists at the cut aside, and do not go on there
    JOIN       # take the values of what was cut

cdef struct Item:
    double weight
    uint32_t state       # of the other: its first edge
    uint16_t marks
    uint16_t known

cdef struct List:
    Item* items
    size_t count
    size_t room

cdef struct Piece:
    uint32_t marks
    uint32_t known
    List list

cdef struct Level:
    List taken           # the cell that is tried is the other's
    List open            # it is free
    List after           # the other has answered


cdef class BoardWalk:
    """Walks the histories of one game against one seat's policy, from the other seat."""

    cdef BoardRules rules
    cdef BoardSeatTree other
    cdef const Edge* edges
    cdef const uint8_t* wins         # the responder's
    cdef const uint8_t* other_wins
    cdef uint32_t board
    cdef bint abrupt, draws, failed
    cdef int responder, cut
    cdef Mode mode
    cdef Level levels[LEVELS]
    cdef Piece* pieces
    cdef readonly size_t piece_count
    cdef size_t piece_room, joined
    cdef const double* values

    def __init__(self, BoardSeatTree other):
        """`other` is the seat that is responded to, and how it plays."""
        cdef BoardRules rules = other.rules
        self.rules, self.other, self.edges = rules, other, other.edges
        self.responder = 1 - other.seat
        self.wins, self.other_wins = rules.wins[self.responder], rules.wins[other.seat]
        self.board, self.abrupt, self.draws = rules.board, rules.abrupt, rules.draws
        self.mode, self.cut = WHOLE, -1

    def __dealloc__(self):
        cdef int level
        cdef size_t piece
        for level in range(LEVELS):
            free(self.levels[level].taken.items)
            free(self.levels[level].open.items)
            free(self.levels[level].after.items)
        for piece in range(self.piece_count):
            free(self.pieces[piece].list.items)
        free(self.pieces)

    def split(self, int depth):
        """Cut the walk where the responder has tried `depth` cells; return how many pieces."""
        self.mode, self.cut = CUT, depth
        self._root()
        return self.piece_count

    def piece(self, BoardWalk whole, size_t number):
        """Return the value of one piece of another walk that was split."""
        cdef Piece* piece = &whole.pieces[number]
        cdef double value
        with nogil:
            value = respond(self, piece.marks, piece.known, piece.list.items, piece.list.count)
        self._refuse_failed()
        return value

    def joined_value(self, const double[::1] values):
        """Return what a best response earns, from the values of all pieces."""
        self.mode, self.joined = JOIN, 0
        self.values = &values[0] if values.shape[0] else NULL
        return self._root()

    def value(self):
        """Return what a best response earns, walking everything here."""
        self.mode = WHOLE
        return self._root()

    def items(self, size_t number):
        """Return how many histories a piece begins with: about how much work it is."""
        return self.pieces[number].list.count

    def _root(self):
        cdef Item first
        cdef double value
        first.weight, first.state, first.marks, first.known = 1, 0, 0, 0
        with nogil:
            if self.responder == 0:
                value = respond(self, 0, 0, &first, 1)
            else:
                value = reply(self, 0, 0, &first, 1)
        self._refuse_failed()
        return value

    def _refuse_failed(self):
        if self.failed:
            raise MemoryError("There is no memory for the histories of a best response.")


cdef double respond(
    BoardWalk walk, uint32_t marks, uint32_t known, const Item* items, size_t count
) noexcept nogil:
    """Return what the responder earns from here by its best cell, times the others' weights."""
    cdef uint32_t left = walk.board & ~(marks | known), cell
    cdef int tried = walk.rules.sizes[marks | known]
    cdef double best = -1e300, value
    cdef Level* level = &walk.levels[tried]
    if left & (left - 1) == 0:
        return walk.wins[marks | left] * weight_of(items, count)
    if tried == walk.cut and walk.mode != WHOLE:
        return at_cut(walk, marks, known, items, count)
    while left:
        cell = left & (~left + 1)
        left ^= cell
        value = divide(walk, level, marks | cell, cell, items, count)
        if level.taken.count:
            if walk.abrupt:
                value += reply(walk, marks, known | cell, level.taken.items, level.taken.count)
            else:
                value += respond(walk, marks, known | cell, level.taken.items, level.taken.count)
        if level.open.count:
            value += reply(walk, marks | cell, known, level.open.items, level.open.count)
        best = max(best, value)
    return best


cdef double divide(
    BoardWalk walk, Level* level, uint32_t marks, uint32_t cell, const Item* items, size_t count
) noexcept nogil:
    """Divide a list by whether a cell is taken; return what is won at once where it is free."""
    cdef double won = 0
    cdef bint wins = walk.wins[marks]
    cdef size_t i, taken = 0, opened = 0
    cdef Item* to_taken
    cdef Item* to_open
    level.taken.count = level.open.count = 0
    if not (room(walk, &level.taken, count) and room(walk, &level.open, count)):
        return 0
    to_taken, to_open = level.taken.items, level.open.items
    for i in range(count):
        if items[i].marks & cell:
            to_taken[taken] = items[i]
            taken += 1
        elif wins:
            won += items[i].weight
        elif not (walk.draws and (items[i].marks | marks) == walk.board):
            to_open[opened] = items[i]
            opened += 1
    level.taken.count, level.open.count = taken, opened
    return won


cdef double reply(
    BoardWalk walk, uint32_t marks, uint32_t known, const Item* items, size_t count
) noexcept nogil:
    """Let the other move, and return what the responder earns from there."""
    cdef List* after = &walk.levels[walk.rules.sizes[marks | known]].after
    cdef uint32_t left = walk.board & ~(marks | known)
    cdef double value = 0
    cdef size_t i
    # With one cell left that the responder may try, it ends the match: nothing has to be listed.
    cdef bint last = left & (left - 1) == 0
    cdef double prize = walk.wins[marks | left] if last else 0
    after.count = 0
    if not walk.abrupt and walk.rules.sizes[marks | items[0].marks] == walk.rules.cells - 1:
        # Whatever the other tries, the last free cell becomes its own.
        return -walk.other_wins[walk.board & ~marks] * weight_of(items, count)
    for i in range(count):
        if not last and not room(walk, after, after.count + MOST_AFTER):
            return 0
        value += move(walk, after, marks, items[i].state, items[i].marks, items[i].known,
                      items[i].weight, last, prize)
    if after.count:
        value += respond(walk, marks, known, after.items, after.count)
    return value


cdef double move(
    BoardWalk walk, List* after, uint32_t marks, uint32_t state, uint32_t others, uint32_t found,
    double weight, bint last, double prize,
) noexcept nogil:
    """Add what becomes of one state of the other to a list; return what ends the match."""
    cdef uint32_t left = walk.board & ~(others | found), cell, grown
    cdef const Edge* edge = walk.edges + state - 1
    cdef double value = 0, share
    cdef Item* item
    if left & (left - 1) == 0:
        return -weight * walk.other_wins[others | left]
    while left:
        cell = left & (~left + 1)
        left ^= cell
        edge += 1
        share = weight * edge.probability
        if share == 0:
            continue
        grown = others | cell
        if marks & cell:
            if not walk.abrupt:
                value += move(walk, after, marks, edge.found, others, found | cell, share,
                              last, prize)
                continue
            state, grown = edge.found, others
        elif walk.other_wins[grown]:
            value -= share
            continue
        elif walk.draws and (grown | marks) == walk.board:
            continue
        elif not walk.abrupt and walk.rules.sizes[grown | marks] == walk.rules.cells - 1:
            # Whatever the responder tries, the last free cell becomes its own.
            value += share * walk.wins[walk.board & ~grown]
            continue
        else:
            state = edge.mark
        if last:
            value += share * prize
            continue
        item = &after.items[after.count]
        after.count += 1
        item.weight, item.state, item.marks = share, state, <uint16_t>grown
        item.known = <uint16_t>(found | cell if grown == others else found)
    return value


cdef double at_cut(
    BoardWalk walk, uint32_t marks, uint32_t known, const Item* items, size_t count
) noexcept nogil:
    """Put a list aside, or return the value that was found for it."""
    cdef Piece* piece
    if walk.mode == JOIN:
        walk.joined += 1
        return walk.values[walk.joined - 1]
    if walk.piece_count == walk.piece_room:
        walk.piece_room = 2 * walk.piece_room + 64
        piece = <Piece*>realloc(walk.pieces, sizeof(Piece) * walk.piece_room)
        if piece == NULL:
            walk.failed = True
            return 0
        walk.pieces = piece
    piece = &walk.pieces[walk.piece_count]
    piece.marks, piece.known = marks, known
    piece.list.items, piece.list.count, piece.list.room = NULL, count, 0
    if room(walk, &piece.list, count):
        memcpy(piece.list.items, items, count * sizeof(Item))
        walk.piece_count += 1
    return 0


cdef double weight_of(const Item* items, size_t count) noexcept nogil:
    cdef double total = 0
    cdef size_t i
    for i in range(count):
        total += items[i].weight
    return total


cdef inline bint room(BoardWalk walk, List* list, size_t count) noexcept nogil:
    """Make room for so many items; without memory everything after this is nothing."""
    cdef Item* items
    if count <= list.room:
        return True
    items = <Item*>realloc(list.items, 2 * count * sizeof(Item))
    if items == NULL:
        walk.failed = True
        return False
    list.items, list.room = items, 2 * count
    return True
