"""Sets of up to 32 things as bits, and drawing from them: decks, free cells."""

from libc.stdint cimport uint32_t, uint64_t

from lanista.games.bits cimport lowest_bit
from lanista.games.streams cimport below


cdef inline int size_of(uint32_t things) noexcept nogil:
    cdef int count = 0
    while things:
        things &= things - 1
        count += 1
    return count


cdef inline int draw_from(uint32_t things, uint64_t* stream) noexcept nogil:
    """Draw one of `things`, which are not none, each as likely."""
    cdef int skip = <int>below(stream, <uint32_t>size_of(things))
    while skip:
        things &= things - 1
        skip -= 1
    return lowest_bit(things)
