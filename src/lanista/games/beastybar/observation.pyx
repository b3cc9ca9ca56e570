"""What a seat of Beasty Bar sees; observation.pxd has the layout."""

from libc.string cimport memcpy, memset

from lanista.games.beastybar.rules cimport (
    HAND, SPECIES_COUNT, TO_COME, owner_of, species_of,
)
from lanista.games.streams cimport below

from lanista.games.contract import Field, Observation


def layout(seats):
    """Return the layout of a seat's view."""
    return Observation(_fields(seats), "uint8")


def privileged_layout(seats):
    """Return the layout of the privileged view: the seat's own, then every deck left to come.

    For each relative seat twelve entries: the animals in hand in order of strength, then those
    still to be drawn in their order; species + 1, then zeros.
    """
    hidden = tuple(Field(f"to come {seat}", 12, classes=13, group="deck") for seat in range(seats))
    return Observation((*_fields(seats), *hidden), "uint8")


def _fields(seats):
    return (
        Field("line species", 4, classes=13, group="line"),
        Field("line owner", 4, classes=seats + 1, group="line"),
        Field("hand", 12, group="animal"),
        *(Field(f"where {seat}", 12, classes=4, group="animal") for seat in range(seats)),
        Field("turn", 1, scale=12 * seats),
        Field("points", seats, scale=36),
        Field("animals", seats, scale=12),
    )


cdef void write_view(const Match* match, const Rules* rules, int seat, uint8_t* out) noexcept nogil:
    cdef int i, relative, other = seat, seats = rules.seats
    cdef uint8_t* last = out + WHERE_AT + SPECIES_COUNT * seats
    cdef uint8_t card
    for i in range(4):
        card = match.line[i]
        relative = owner_of(card) - seat
        relative += seats if relative < 0 else 0
        out[i] = <uint8_t>(species_of(card) + 1) if i < match.count else 0
        out[OWNER_AT + i] = <uint8_t>(relative + 1) if i < match.count else 0
    for i in range(SPECIES_COUNT):
        out[HAND_AT + i] = (match.hand[seat] >> i) & 1
    last[0] = match.turn
    for relative in range(seats):
        memcpy(out + WHERE_AT + SPECIES_COUNT * relative, match.where[other], SPECIES_COUNT)
        last[1 + relative] = match.points[other]
        last[1 + seats + relative] = match.animals[other]
        other = other + 1 if other + 1 < seats else 0


cdef void write_hidden(const Match* match, const Rules* rules, int seat, uint8_t* out) noexcept nogil:
    """Write what is left of every deck: the hand, then the pile in its order."""
    cdef int i, n, relative, other
    for relative in range(rules.seats):
        other = (seat + relative) % rules.seats
        n = 0
        for i in range(SPECIES_COUNT):
            if (match.hand[other] >> i) & 1:
                out[n] = <uint8_t>(i + 1)
                n += 1
        for i in range(match.drawn[other], SPECIES_COUNT):
            out[n] = <uint8_t>(match.deck[other][i] + 1)
            n += 1
        for i in range(n, SPECIES_COUNT):
            out[i] = 0
        out += SPECIES_COUNT


cdef void read_view(const uint8_t* view, const Rules* rules, Match* match) noexcept nogil:
    """Rebuild a match from a view, its owner as seat 0. What the view lacks is left open: the
    hands of others are empty and every deck holds what is still to come in order of species."""
    cdef int i, seat, seats = rules.seats, n
    cdef const uint8_t* last = view + WHERE_AT + SPECIES_COUNT * seats
    memset(match, 0, sizeof(Match))
    while match.count < 4 and view[match.count]:
        i = match.count
        match.line[i] = <uint8_t>((view[i] - 1) | ((view[OWNER_AT + i] - 1) << 4))
        match.count += 1
    for i in range(SPECIES_COUNT):
        match.hand[0] |= <uint16_t>view[HAND_AT + i] << i
    for seat in range(seats):
        memcpy(match.where[seat], view + WHERE_AT + SPECIES_COUNT * seat, SPECIES_COUNT)
        n = SPECIES_COUNT
        for i in range(SPECIES_COUNT - 1, -1, -1):
            if match.where[seat][i] == TO_COME and not (match.hand[seat] >> i) & 1:
                n -= 1
                match.deck[seat][n] = <uint8_t>i
        match.drawn[seat] = <uint8_t>n
        match.points[seat] = last[1 + seat]
        match.animals[seat] = last[1 + seats + seat]
    match.turn = last[0]


cdef void draw_unseen(Match* match, const Rules* rules, int seat, uint64_t* stream) noexcept nogil:
    """Redraw what `seat` cannot see: others' hands and piles, and the order of its own pile."""
    cdef int other, i, j, first, left
    cdef uint8_t species
    for other in range(rules.seats):
        if other != seat:
            # Hand and pile are one unknown set: put the hand back, shuffle, take it anew.
            first = match.drawn[other]
            for i in range(SPECIES_COUNT):
                if (match.hand[other] >> i) & 1:
                    first -= 1
                    match.deck[other][first] = <uint8_t>i
            match.drawn[other] = <uint8_t>first
            match.hand[other] = 0
        first = match.drawn[other]
        for i in range(SPECIES_COUNT - 1, first, -1):
            j = first + <int>below(stream, <unsigned int>(i - first + 1))
            species = match.deck[other][i]
            match.deck[other][i] = match.deck[other][j]
            match.deck[other][j] = species
        if other != seat:
            left = SPECIES_COUNT - first
            for i in range(HAND if left > HAND else left):
                match.hand[other] |= <uint16_t>1 << match.deck[other][first + i]
                match.drawn[other] += 1
