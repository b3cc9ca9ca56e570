"""Beasty Bar in C: one match, one turn, what is legal. Knows nothing of slots or observations.

A card is one byte: the species (strength less one) and, sixteenfold, its owner. An action number
names a card to play and how; animals.py lists the same numbers for people.
"""

from libc.stdint cimport int8_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:  # species, by strength
    SKUNK, PARROT, KANGAROO, MONKEY, CHAMELEON, SEAL, ZEBRA, GIRAFFE, SNAKE, CROCODILE, HIPPO, LION
    SPECIES_COUNT

cdef enum:  # actions
    # Nine plain plays come first; then those with a choice, and the chameleon's copies of both.
    KANGAROO_0 = 9
    PARROT_NONE = 12
    CHAMELEON_NONE = 17
    CHAMELEON_PLAIN = 18
    CHAMELEON_KANGAROO_1 = 27
    CHAMELEON_PARROT_0 = 29
    USUAL_ACTIONS = 33
    CHAMELEON_STAYS = 33
    CHAMELEON_SPARES = 34
    ALL_ACTIONS = 35

cdef enum:  # where an animal is: pile or hand, line, bar, THAT'S IT
    TO_COME, IN_LINE, IN_BAR, GONE

cdef enum:  # scorings
    POINTS, COUNT, COUNT_POINTS

cdef enum:
    PLAYERS = 4
    HAND = 4
    LINE = 5
    NO_CHOICE = -1

cdef extern from *:
    """
    /* By action: the card played, the species it acts as, and the choice that goes with it. */
    static const signed char lanista_played[35] = {
        0, 3, 5, 6, 7, 8, 9, 10, 11,  2, 2, 2,  1, 1, 1, 1, 1,
        4,  4, 4, 4, 4, 4, 4, 4, 4, 4,  4, 4,  4, 4, 4, 4,  4, 4};
    static const signed char lanista_acts_as[35] = {
        0, 3, 5, 6, 7, 8, 9, 10, 11,  2, 2, 2,  1, 1, 1, 1, 1,
        4,  0, 3, 5, 6, 7, 8, 9, 10, 11,  2, 2,  1, 1, 1, 1,  2, 1};
    static const signed char lanista_choice[35] = {
        -1, -1, -1, -1, -1, -1, -1, -1, -1,  0, 1, 2,  -1, 0, 1, 2, 3,
        -1,  -1, -1, -1, -1, -1, -1, -1, -1, -1,  1, 2,  0, 1, 2, 3,  0, -1};
    static const unsigned char lanista_points[12] = {4, 4, 4, 3, 3, 2, 4, 3, 2, 3, 2, 2};
    /* By species: its place among the nine plain plays, or -1. */
    static const signed char lanista_plain[12] = {0, -1, -1, 1, -1, 2, 3, 4, 5, 6, 7, 8};
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int lanista_ones(unsigned long long bits) { return (int)__popcnt64(bits); }
    static __inline int lanista_lowest(unsigned long long bits) {
        unsigned long place;
        _BitScanForward64(&place, bits);
        return (int)place;
    }
    #else
    static inline int lanista_ones(unsigned long long bits) { return __builtin_popcountll(bits); }
    static inline int lanista_lowest(unsigned long long bits) { return __builtin_ctzll(bits); }
    #endif
    """
    const int8_t[35] PLAYED "lanista_played"
    const int8_t[35] ACTS_AS "lanista_acts_as"
    const int8_t[35] CHOICE "lanista_choice"
    const uint8_t[12] POINTS_OF "lanista_points"
    const int8_t[12] PLAIN "lanista_plain"
    int ones "lanista_ones"(uint64_t bits) noexcept nogil
    int lowest "lanista_lowest"(uint64_t bits) noexcept nogil

cdef struct Rules:
    int seats
    int scoring
    bint kangaroo_may_stay
    bint parrot_may_decline
    bint chameleon_may_decline

cdef struct Match:
    uint8_t line[LINE]          # cards, the Gate first; at most four between turns
    uint8_t count
    uint8_t to_move
    uint8_t turn
    uint8_t deck[PLAYERS][SPECIES_COUNT]   # species in the order they come to hand
    uint8_t drawn[PLAYERS]      # how many of the deck have come to hand
    uint16_t hand[PLAYERS]      # a bit per species
    uint8_t where[PLAYERS][SPECIES_COUNT]   # TO_COME, IN_LINE, IN_BAR or GONE
    uint8_t points[PLAYERS]     # printed points in the bar
    uint8_t animals[PLAYERS]    # animals in the bar

cdef struct Turn:
    # One turn on the line. Animals are numbered by where they stood, so that each keeps its
    # identity however the line moves; `species` is what effects take an animal for.
    uint8_t line[LINE]
    uint8_t count
    uint8_t species[LINE]
    uint8_t card[LINE]
    uint8_t entered[2]
    uint8_t entering
    uint8_t out[LINE]
    uint8_t leaving

cdef inline int species_of(uint8_t card) noexcept nogil:
    return card & 15

cdef inline int owner_of(uint8_t card) noexcept nogil:
    return card >> 4

cdef void resolve(
    Turn* turn, const uint8_t* line, int count, uint8_t card, int acts_as, int choice
) noexcept nogil
cdef uint64_t legal_bits(const Match* match, const Rules* rules) noexcept nogil
cdef void legal_actions(const Match* match, const Rules* rules, uint8_t* mask) noexcept nogil
cdef void apply_action(Match* match, const Rules* rules, int action) noexcept nogil
cdef bint is_over(const Match* match, const Rules* rules) noexcept nogil
cdef bint is_sound(const Match* match, const Rules* rules) noexcept nogil
cdef void standing(const Match* match, const Rules* rules, float* score) noexcept nogil
