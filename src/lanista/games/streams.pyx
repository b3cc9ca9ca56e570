"""Random streams keyed by what they are for. See streams.pxd for the arithmetic."""

PURPOSES = {"chance": CHANCE, "act": ACT, "think": THINK, "resample": RESAMPLE}


def key_of(seed, match, seat, purpose, turn=0):
    """Return the 64-bit key of the stream (seed, match, seat, purpose) at a turn."""
    return stream_key(seed, match, seat, PURPOSES[purpose], turn)


cdef class Stream:
    """A stream of random numbers. Its whole state is one 64-bit word, `state`."""

    def __init__(self, key):
        self.word = key

    @classmethod
    def keyed(cls, seed, match, seat, purpose, turn=0):
        """Return the stream that (seed, match, seat, purpose) names, at a turn."""
        return cls(key_of(seed, match, seat, purpose, turn))

    @property
    def state(self):
        return self.word

    @state.setter
    def state(self, value):
        self.word = value

    def next_word(self):
        """Return 64 random bits."""
        return next_word(&self.word)

    def below(self, n):
        """Return a whole number in [0, n)."""
        if not 0 < n < 2**32:
            raise ValueError(f"below() needs 0 < n < 2**32, got {n}.")
        return below(&self.word, n)

    def uniform(self):
        """Return a number in [0, 1)."""
        return uniform(&self.word)

    def normal(self):
        """Return a nearly standard normal number, the same on every machine."""
        return normal(&self.word)

    def choice(self, items):
        """Return one of `items`."""
        return items[self.below(len(items))]

    def shuffle(self, items):
        """Shuffle a list in place (Fisher-Yates from the end)."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]


def uniforms(uint64_t seed, match, seat, turn, int count):
    """Return `count` numbers in [0, 1) for each (match, seat, turn): `[n, count]` float32.

    They come from the stream that acting draws from, so a sampled action does not depend on who
    else is in the batch.
    """
    import numpy as np

    cdef const int64_t[::1] match_at = np.ascontiguousarray(match, dtype=np.int64)
    cdef const int32_t[::1] seat_at = np.ascontiguousarray(seat, dtype=np.int32)
    cdef const int32_t[::1] turn_at = np.ascontiguousarray(turn, dtype=np.int32)
    numbers = np.empty((match_at.shape[0], count), np.float32)
    cdef float[:, ::1] out = numbers
    cdef Py_ssize_t i
    cdef int j
    cdef uint64_t word
    with nogil:
        for i in range(match_at.shape[0]):
            word = stream_key(seed, match_at[i], seat_at[i], ACT, turn_at[i])
            for j in range(count):
                # 24 bits: all that a float32 below one holds.
                out[i, j] = <float>(next_word(&word) >> 40) * <float>(1.0 / 16777216.0)
    return numbers
