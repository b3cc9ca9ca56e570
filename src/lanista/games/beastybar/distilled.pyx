"""The features of a move and the linear judge; distilled.pxd says what is here."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

import numpy as np

from lanista.games.beastybar.game cimport rules_of
from lanista.games.beastybar.observation cimport read_view
from lanista.games.beastybar.rules cimport (
    ACTS_AS, ALL_ACTIONS, CHOICE, LINE, PLAYED, SPECIES_COUNT, TO_COME, Match, Rules, Turn,
    owner_of, resolve, species_of,
)

from lanista.games.beastybar.distilled_weights import TABLE

cdef enum:
    PHASES = 3            # of four own turns each
    KINDS = 24            # a species of one's own, or of anybody else
    PLACES = 4

cdef enum:  # where a group of features starts
    PLAY = 0                                        # phase, action
    STANDS = PLAY + PHASES * ALL_ACTIONS            # phase, place in line after the turn, kind
    ENTERS = STANDS + PHASES * PLACES * KINDS       # phase, kind that went into the bar
    LEAVES = ENTERS + PHASES * KINDS                # phase, kind that went to THAT'S IT
    LENGTH = LEAVES + PHASES * KINDS                # phase, animals in line after the turn
    ANSWER = LENGTH + PHASES * LINE                 # species played, species an opponent may play
    KEEPS = ANSWER + SPECIES_COUNT * SPECIES_COUNT  # species played, species kept in hand
    BEHIND = KEEPS + SPECIES_COUNT * SPECIES_COUNT  # kind in line, kind right behind it
    THREAT = BEHIND + KINDS * KINDS                 # kind in line, species an opponent may play
    FEATURES = THREAT + KINDS * SPECIES_COUNT

# The same groups in the same order, for whoever fits or reads the table.
GROUPS = {
    "play": (PHASES, ALL_ACTIONS),
    "stands": (PHASES, PLACES, KINDS),
    "enters": (PHASES, KINDS),
    "leaves": (PHASES, KINDS),
    "length": (PHASES, LINE),
    "answer": (SPECIES_COUNT, SPECIES_COUNT),
    "keeps": (SPECIES_COUNT, SPECIES_COUNT),
    "behind": (KINDS, KINDS),
    "threat": (KINDS, SPECIES_COUNT),
}

cdef int32_t WEIGHTS[FEATURES]


def _load(table):
    """Take the weights of `table`, a text of whole numbers for each group."""
    numbers = [int(word) for name in GROUPS for word in table[name].split()]
    sizes = {name: np.prod(shape) for name, shape in GROUPS.items()}
    if {name: len(text.split()) for name, text in table.items()} != sizes:
        raise ValueError(f"distilled_weights.py must hold {sizes} numbers.")
    for i in range(FEATURES):
        WEIGHTS[i] = numbers[i]


_load(TABLE)


cdef int best_by_weight(
    const Match* known, const Rules* rules, const uint8_t* mask, int actions
) noexcept nogil:
    """Return the legal move of seat 0 whose features weigh most; the first of equals."""
    cdef int32_t features[MOST_ACTIVE]
    cdef int action, i, score, highest = 0, best = -1
    for action in range(actions):
        if mask[action]:
            score = 0
            for i in range(active_features(known, rules, action, features)):
                score += WEIGHTS[features[i]]
            if best < 0 or score > highest:
                highest, best = score, action
    return best


cdef inline int kind_of(uint8_t card) noexcept nogil:
    return species_of(card) + (SPECIES_COUNT if owner_of(card) else 0)


cdef int active_features(const Match* known, const Rules* rules, int action, int32_t* out) noexcept nogil:
    """Write the features of a move of seat 0 to `out`; return how many there are."""
    cdef int n = 0, i, other, kind, species = PLAYED[action]
    cdef int phase = known.turn // rules.seats // 4
    cdef uint16_t to_come = 0, kept = known.hand[0] & ~(<uint16_t>1 << species)
    cdef Turn turn
    resolve(&turn, known.line, known.count, <uint8_t>species, ACTS_AS[action], CHOICE[action])
    for other in range(1, rules.seats):
        for i in range(SPECIES_COUNT):
            to_come |= <uint16_t>(known.where[other][i] == TO_COME) << i
    out[0] = PLAY + phase * ALL_ACTIONS + action
    out[1] = LENGTH + phase * LINE + turn.count
    n = 2
    for i in range(turn.count):
        kind = kind_of(turn.card[turn.line[i]])
        out[n] = STANDS + (phase * PLACES + i) * KINDS + kind
        n += 1
        if i + 1 < turn.count:
            out[n] = BEHIND + kind * KINDS + kind_of(turn.card[turn.line[i + 1]])
            n += 1
        n += each_of(to_come, THREAT + kind * SPECIES_COUNT, out + n)
    for i in range(turn.entering):
        out[n] = ENTERS + phase * KINDS + kind_of(turn.entered[i])
        n += 1
    for i in range(turn.leaving):
        out[n] = LEAVES + phase * KINDS + kind_of(turn.out[i])
        n += 1
    n += each_of(to_come, ANSWER + species * SPECIES_COUNT, out + n)
    n += each_of(kept, KEEPS + species * SPECIES_COUNT, out + n)
    return n


cdef inline int each_of(uint16_t species, int first, int32_t* out) noexcept nogil:
    cdef int i, n = 0
    for i in range(SPECIES_COUNT):
        if (species >> i) & 1:
            out[n] = first + i
            n += 1
    return n


def features_of(spec, observation, mask):
    """Return the features of every legal move as (offsets, features), in order of row and action.

    `observation` and `mask` are those of decisions, a row each. What a bot is fitted with.
    """
    cdef Rules rules = rules_of(spec.settings)
    cdef const uint8_t[:, ::1] view = np.ascontiguousarray(observation)
    cdef const uint8_t[:, ::1] legal = np.ascontiguousarray(mask).view(np.uint8)
    cdef Py_ssize_t moves = np.count_nonzero(mask), row, at = 0, n = 0
    cdef int action
    offsets = np.zeros(moves + 1, np.int64)
    features = np.empty(moves * MOST_ACTIVE, np.int32)
    cdef int64_t[::1] offset = offsets
    cdef int32_t[::1] out = features
    cdef Match known
    for row in range(view.shape[0]):
        read_view(&view[row, 0], &rules, &known)
        for action in range(legal.shape[1]):
            if legal[row, action]:
                n += active_features(&known, &rules, action, &out[n])
                at += 1
                offset[at] = n
    return offsets, features[:n].copy()
