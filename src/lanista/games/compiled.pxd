"""The base of compiled games: slots, rows, answers and ends are kept here, once.

A game written in Cython subclasses `CompiledGame`, keeps one C struct per match in memory this
class owns, and writes the hooks below. All of them run without the GIL and touch one match only.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    MOST_SEATS = 16
    MOST_HEADS = 16

cdef class CompiledGame:
    cdef readonly object spec
    cdef readonly int slots
    cdef readonly object seed
    cdef readonly object reward, shaping, done, cut_off, returns, score, place
    cdef uint64_t seed_word
    cdef int seats, heads, choices, observation_bytes, privileged_bytes, match_bytes, capacity
    cdef int head_size[MOST_HEADS]
    cdef object decisions_now, memory
    # Per slot.
    cdef uint8_t* matches            # the game's own structs
    cdef uint8_t* playing
    cdef uint32_t* waiting           # a bit per seat the match waits for
    cdef uint32_t* answered          # a bit per seat that has answered
    cdef int32_t* turns
    cdef int64_t* match_ids
    cdef int32_t* answers            # [slots, seats, heads]
    # Per slot and seat.
    cdef float* reward_at
    cdef float* shaping_at
    cdef float* returns_at
    cdef float* score_at
    cdef float* paid_at
    cdef uint8_t* done_at
    cdef uint8_t* cut_off_at
    cdef int32_t* place_at
    # Per row of the last `decisions()`.
    cdef int rows
    cdef int32_t* row_slot
    cdef int32_t* row_seat
    cdef int64_t* row_match
    cdef int32_t* row_turn
    cdef uint8_t* row_answered
    cdef uint8_t* row_observation
    cdef uint8_t* row_mask
    cdef uint8_t* row_privileged

    cdef void* _array(self, name, shape, dtype) except NULL
    cdef void _begin(self, int slot, int64_t match, int64_t deal, const int64_t* options) noexcept nogil
    cdef Py_ssize_t _first_wrong(self, const int64_t[::1] row, const int32_t[:, ::1] action) noexcept nogil
    cdef bint _answer(self, int row, const int32_t* action) noexcept nogil
    cdef bint _can_go_on(self, const void* match, uint32_t waiting) noexcept nogil

    cdef void setup(self, object spec, object slots, object seed, int match_bytes) except *

    # Hooks. `match` points to the slot's zeroed struct when `deal` is called.
    cdef void deal(self, int slot, void* match, uint64_t key, const int64_t* options) noexcept nogil
    cdef uint32_t pending(self, int slot, void* match) noexcept nogil
    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil
    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil
    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil
    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil
    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil
    # Whether the rules can go on from a match that was loaded: nothing in it leads out of its arrays.
    cdef bint sound(self, const void* match) noexcept nogil

    # What `advance` calls.
    cdef void out(self, int slot, int seat, float amount) noexcept nogil
    cdef void finish(self, int slot, const float* returns, const float* score) noexcept nogil

    # For subclasses' own methods.
    cdef void* match_at(self, int slot) except NULL

cdef void pairwise_returns(const float* score, int seats, float* returns) noexcept nogil
