"""Row by row on the CPU: what a seat saw as columns, and choices out of a network's logits.

The formulas are those of `encoders` and `distribution`, which need a dozen passes over all rows
for what one loop does while a row is in the cache. Illegal choices are never computed with, and a
row's result does not depend on the rows around it. The callers see to shapes and memory.
"""

from libc.math cimport INFINITY, log
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from lanista.games.bits cimport lowest_bit

cdef float ILLEGAL = -1e9

ctypedef fused Seen:
    uint8_t
    int8_t
    int16_t
    int32_t
    float

ctypedef fused Column:
    float
    uint16_t  # A bfloat16's bits.


cdef struct Head:  # What is legal in one head of one row.
    int legal      # how many choices
    float most     # the largest logit
    double total   # of the odds
    float log_total


def encode(
    const Seen[:, ::1] seen,
    const int32_t[:, ::1] categories,
    const int32_t[::1] numbers,
    const float[::1] scale,
    Column[:, ::1] columns,
):
    """Write `columns`: for each of `categories` (entry, first column, classes) a 1 in the column
    of its value, then the entries `numbers` times `scale`."""
    cdef Py_ssize_t rows = seen.shape[0], many = categories.shape[0], row, k
    cdef Py_ssize_t hot = columns.shape[1] - numbers.shape[0]
    cdef int value
    cdef float given
    cdef float[::1] numbered = np.empty(numbers.shape[0], np.float32)
    if rows == 0:
        return
    with nogil:
        for row in range(rows):
            memset(&columns[row, 0], 0, hot * sizeof(Column))
            for k in range(many):
                if Seen is float:
                    given = seen[row, categories[k, 0]]
                    if not 0 <= given < categories[k, 2]:
                        continue
                    value = <int>given
                    if value != given:
                        continue
                else:
                    value = seen[row, categories[k, 0]]
                    if <uint32_t>value >= <uint32_t>categories[k, 2]:  # Below 0 is large, too.
                        continue
                put(&columns[row, categories[k, 1] + value], 1.0)
            # Gathered first: what then lies side by side is worked on several at a time.
            for k in range(numbers.shape[0]):
                numbered[k] = <float>seen[row, numbers[k]]
            for k in range(numbers.shape[0]):
                put(&columns[row, hot + k], numbered[k] * scale[k])


cdef inline void put(Column* column, float value) noexcept nogil:
    cdef uint32_t bits
    if Column is float:
        column[0] = value
    else:
        # To the nearest, and to even between two; a number that is none stays so.
        memcpy(&bits, &value, 4)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        column[0] = <uint16_t>(0x7FC0 if value != value else bits)


cdef inline float exp_of(float x) noexcept nogil:
    """exp of a number that is not above 0, to two units in the last place (after Cephes, Moshier).

    Inline and without branches, so that the compiler does several at once, and the same on every
    machine, which libm is not.
    """
    cdef float turns, power, scale
    cdef int32_t bits
    x = -88 if x < -88 else x  # From there on it is 0.
    turns = x * <float>1.44269504088896341 + <float>12582912.0  # Rounds to whole numbers.
    memcpy(&bits, &turns, 4)
    bits = (bits - 0x4B400000 + 127) << 23
    memcpy(&scale, &bits, 4)
    turns -= <float>12582912.0
    x = (x - turns * <float>0.693359375) + turns * <float>2.12194440e-4
    power = <float>1.9875691500e-4 * x + <float>1.3981999507e-3
    power = power * x + <float>8.3334519073e-3
    power = power * x + <float>4.1665795894e-2
    power = power * x + <float>1.6666665459e-1
    power = power * x + <float>5.0000001201e-1
    power = power * x * x + x + 1
    return power * scale


cdef inline int legal_of(const uint8_t* mask, int size, int32_t* at) noexcept nogil:
    """Write `at` which of a head's choices are legal; return how many.

    By bits, eight bytes of 0 or 1 at a time: a branch for each would be guessed wrong too often.
    """
    cdef int start = 0, n = 0, k, stop
    cdef uint32_t bits
    cdef uint64_t word
    while start < size:
        bits, k, stop = 0, 0, min(size - start, 32)
        while k + 8 <= stop:
            memcpy(&word, mask + start + k, 8)
            bits |= <uint32_t>((word * <uint64_t>0x0102040810204080) >> 56) << k
            k += 8
        while k < stop:
            bits |= <uint32_t>mask[start + k] << k
            k += 1
        while bits:
            at[n] = start + lowest_bit(bits)
            n += 1
            bits &= bits - 1
        start += 32
    return n


cdef inline Head look(
    const float* logits, const uint8_t* mask, int size, float scale, int32_t* at, float* odds
) noexcept nogil:
    """Find the legal choices `at` and their odds, exp((logit − largest) · scale).

    The difference comes first: scaled logits that are large would be rounded by more than it is.
    """
    cdef Head head
    cdef int i, n = legal_of(mask, size, at)
    head.legal, head.most, head.total = n, -INFINITY, 0.0
    for i in range(n):
        odds[i] = logits[at[i]]
        head.most = odds[i] if odds[i] > head.most else head.most
    for i in range(n):
        odds[i] = exp_of((odds[i] - head.most) * scale)
        head.total += odds[i]
    head.log_total = <float>log(head.total)  # Once: the compiler cannot know that it is the same.
    return head


cdef inline float log_prob_of(
    const float* logits, float scale, int choice, const Head* head
) noexcept nogil:
    return (logits[choice] - head.most) * scale - head.log_total


def log_softmax(
    const float[:, ::1] logits,
    const uint8_t[:, ::1] mask,
    const int32_t[::1] sizes,
    float[:, ::1] log_probs,
):
    """Write the log-softmax over the legal choices of each head to `log_probs`."""
    cdef Py_ssize_t rows = logits.shape[0], row, h, start
    cdef int i
    cdef int32_t[::1] at = np.empty(logits.shape[1], np.int32)
    cdef float[::1] odds = np.empty(logits.shape[1], np.float32)
    cdef Head head
    with nogil:
        for row in range(rows):
            start = 0
            for h in range(sizes.shape[0]):
                head = look(&logits[row, start], &mask[row, start], sizes[h], 1.0, &at[0], &odds[0])
                for i in range(sizes[h]):
                    log_probs[row, start + i] = ILLEGAL
                for i in range(head.legal):
                    log_probs[row, start + at[i]] = log_prob_of(
                        &logits[row, start], 1.0, at[i], &head
                    )
                start += sizes[h]


def choose(
    const float[:, ::1] logits,
    const uint8_t[:, ::1] mask,
    const int32_t[::1] sizes,
    const float[:, ::1] uniforms,
    float temperature,
    int32_t[:, ::1] action,
    float[::1] log_prob,
):
    """Write each row's `action` and its `log_prob`: drawn by inverse CDF from `uniforms`, or the
    likeliest where those are None."""
    cdef Py_ssize_t rows = action.shape[0], row, h, start
    cdef int32_t[::1] at = np.empty(logits.shape[1], np.int32)
    cdef float[::1] odds = np.empty(logits.shape[1], np.float32)
    cdef bint drawn = uniforms is not None
    cdef float point, scale = 1 / temperature
    cdef double together
    cdef Head head
    cdef int picked
    with nogil:
        for row in range(rows):
            start, together = 0, 0.0
            for h in range(sizes.shape[0]):
                head = look(
                    &logits[row, start], &mask[row, start], sizes[h], scale, &at[0], &odds[0]
                )
                point = uniforms[row, h] if drawn else -1
                picked = pick(&head, &odds[0], point)
                if picked < 0:
                    action[row, h] = 0
                    together += ILLEGAL
                else:
                    action[row, h] = at[picked]
                    together += log_prob_of(&logits[row, start], scale, at[picked], &head)
                start += sizes[h]
            log_prob[row] = <float>together


cdef inline int pick(const Head* head, const float* odds, float point) noexcept nogil:
    """Return which legal choice it is, -1 where there is none; `point` below 0: the likeliest.

    A choice whose odds round to 0 is never drawn, whatever the rounding of the running sum.
    """
    cdef int i, last = -1
    cdef double running = 0.0
    for i in range(head.legal):
        if point < 0:
            if odds[i] == 1:
                return i
        elif odds[i] > 0:
            last = i
            running += odds[i]
            if running > point * head.total:
                return i
    return last if last >= 0 or head.legal == 0 else 0


def judge(
    const float[:, ::1] logits,
    const uint8_t[:, ::1] mask,
    const int64_t[:, ::1] action,
    const int32_t[::1] sizes,
    float[:, ::1] log_probs,
    float[::1] chosen,
    float[:, ::1] entropy,
):
    """Write the log-softmax, the log-probability of each whole action, and each head's entropy."""
    cdef Py_ssize_t rows = logits.shape[0], row, h, start
    cdef int i
    cdef float said
    cdef double mixed, together
    cdef bint outside = False
    cdef int32_t[::1] at = np.empty(logits.shape[1], np.int32)
    cdef float[::1] odds = np.empty(logits.shape[1], np.float32)
    cdef Head head
    with nogil:
        for row in range(rows):
            start, together = 0, 0.0
            for h in range(sizes.shape[0]):
                if not 0 <= action[row, h] < sizes[h]:
                    outside = True
                    break
                head = look(&logits[row, start], &mask[row, start], sizes[h], 1.0, &at[0], &odds[0])
                for i in range(sizes[h]):
                    log_probs[row, start + i] = ILLEGAL
                mixed = 0.0
                for i in range(head.legal):
                    said = log_prob_of(&logits[row, start], 1.0, at[i], &head)
                    log_probs[row, start + at[i]] = said
                    if odds[i] != 0:
                        mixed -= odds[i] * said
                entropy[row, h] = <float>(mixed / head.total) if head.legal else 0
                together += log_probs[row, start + action[row, h]]
                start += sizes[h]
            chosen[row] = <float>together
    if outside:
        raise IndexError("An action names a choice that its head does not have.")


def judge_gradient(
    const float[:, ::1] log_probs,
    const uint8_t[:, ::1] mask,
    const int32_t[::1] sizes,
    const int64_t[:, ::1] action,
    const float[:, ::1] entropy,
    const float[:, ::1] of_log_probs,
    const float[::1] of_chosen,
    const float[:, ::1] of_entropy,
    float[:, ::1] of_logits,
):
    """Write the gradient of the logits, from those of `judge`'s results; any may be None.

    With p the probabilities: g_i − p_i Σ g for log-probabilities, of which what was chosen is one,
    and −p_i (log p_i + H) for the entropy H.
    """
    cdef Py_ssize_t rows = log_probs.shape[0], row, h, start
    cdef bint all_of = of_log_probs is not None
    cdef float one, mixed, total, own, said, prob
    cdef int i, n, wanted
    cdef int32_t[::1] at = np.empty(log_probs.shape[1], np.int32)
    if rows == 0:
        return
    with nogil:
        for row in range(rows):
            memset(&of_logits[row, 0], 0, of_logits.shape[1] * sizeof(float))
            one = of_chosen[row] if of_chosen is not None else 0
            start = 0
            for h in range(sizes.shape[0]):
                n = legal_of(&mask[row, start], sizes[h], &at[0])
                wanted = <int>action[row, h] if of_chosen is not None else -1
                mixed = of_entropy[row, h] if of_entropy is not None else 0
                total = one if wanted >= 0 and mask[row, start + wanted] else 0
                if all_of:
                    for i in range(n):
                        total += of_log_probs[row, start + at[i]]
                for i in range(n):
                    said = log_probs[row, start + at[i]]
                    prob = exp_of(said)
                    own = of_log_probs[row, start + at[i]] if all_of else 0
                    if at[i] == wanted:
                        own += one
                    own -= prob * total
                    if mixed != 0 and prob != 0:
                        own -= mixed * prob * (said + entropy[row, h])
                    of_logits[row, start + at[i]] = own
                start += sizes[h]
