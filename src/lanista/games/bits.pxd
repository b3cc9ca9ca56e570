"""The lowest of a word's set bits, with whatever the compiler has for it."""

cdef extern from *:
    """
    #ifdef _MSC_VER
    #include <intrin.h>
    static __inline int lanista_lowest_bit(unsigned int word) {
        unsigned long place;
        _BitScanForward(&place, word);
        return (int)place;
    }
    #else
    #define lanista_lowest_bit __builtin_ctz
    #endif
    """
    # `word` must not be 0.
    int lowest_bit "lanista_lowest_bit"(unsigned int word) nogil
