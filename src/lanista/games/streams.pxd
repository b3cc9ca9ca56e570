"""Random streams in C: SplitMix64, one 64-bit word of state.

A key names a stream: (seed, match, seat, purpose), or one turn of it. Every number that a match
needs comes from such a stream, so no result depends on slots, threads or the order of answers.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef enum:
    CHANCE = 1      # the game's own dice and deals
    ACT = 2         # drawing an action from a policy or a random bot
    THINK = 3       # a bot's look-ahead
    RESAMPLE = 4    # redrawing what a seat cannot see

cdef inline uint64_t mix(uint64_t word) noexcept nogil:
    word = (word ^ (word >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    word = (word ^ (word >> 27)) * <uint64_t>0x94D049BB133111EB
    return word ^ (word >> 31)

cdef inline uint64_t next_word(uint64_t* state) noexcept nogil:
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    return mix(state[0])

cdef inline uint32_t below(uint64_t* state, uint32_t n) noexcept nogil:
    """A number in [0, n); its bias is under n / 2^32."""
    return <uint32_t>(((next_word(state) >> 32) * n) >> 32)

cdef inline double uniform(uint64_t* state) noexcept nogil:
    """A number in [0, 1) with 53 random bits."""
    return <double>(next_word(state) >> 11) * (1.0 / 9007199254740992.0)

cdef inline double normal(uint64_t* state) noexcept nogil:
    """Nearly standard normal: twelve uniforms less six. libm differs between machines."""
    cdef double total = -6.0
    cdef int i
    for i in range(12):
        total += uniform(state)
    return total

cdef inline uint64_t stream_key(
    uint64_t seed, uint64_t match, uint64_t seat, uint64_t purpose, uint64_t turn
) noexcept nogil:
    cdef uint64_t key = mix(seed + <uint64_t>0x9E3779B97F4A7C15)
    key = mix(key ^ (match + <uint64_t>0xD1B54A32D192ED03))
    return mix(key ^ ((purpose << 56) | (seat << 48) | turn))


cdef class Stream:
    cdef uint64_t word
