"""Rock, paper, scissors with a card in hand: three throws, worth more for whoever holds the card.

A deck of three cards, rock, paper and scissors; each seat gets one, the third stays hidden. In each
of three rounds both throw, unseen by each other, and then see both throws. The winner of a round
gets 1 from the loser, or 3 where it threw what is on its card. The other never holds the same card,
so habits beat each other in a circle: throwing one's card loses to throwing what that card beats,
this loses to throwing what beats one's card, and this to throwing one's card.

Seat 0 throws first and seat 1 does not see it, which is the same as throwing at once. What a round
was worth is told at the end. Observation: own seat (2), own card (3), then of each finished round
but the last the own throw (3) and the other's (3).
"""

from itertools import permutations

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from lanista.games.compiled cimport CompiledGame
from lanista.games.streams cimport below

from lanista.games.contract import Facts, Field, GameError, Head, Observation, Spec

cdef enum:
    THROWS = 3         # (throw + 1) % THROWS beats throw
    ROUNDS = 3
    SEEN = ROUNDS - 1  # Rounds that somebody who throws can have seen.
    PLAIN = 1
    WITH_CARD = 3
    LENGTH = 2 + THROWS + SEEN * 2 * THROWS

NAMES = ("rock", "paper", "scissors")

cdef struct Match:
    uint8_t card[2]
    uint8_t throws[2 * ROUNDS]  # Round by round, seat 0 before seat 1.
    uint8_t made


cdef class CardRps(CompiledGame):
    """Rock, paper, scissors with a card in hand."""

    def __init__(self, slots=1, seed=0):
        rounds = [
            Field(f"{who} throw {number + 1}", THROWS)
            for number in range(SEEN)
            for who in ("own", "other's")
        ]
        spec = Spec(
            name="card_rps",
            facts=Facts(
                seats=2, longest=2 * ROUNDS, hidden=True, chance=True, zero_sum=True, symmetric=True
            ),
            observation=Observation((Field("seat", 2), Field("card", THROWS), *rounds), "uint8"),
            heads=(Head("throw", THROWS, NAMES),),
            privileged=Observation(
                (
                    Field("view", LENGTH),
                    Field("other's card", THROWS),
                    Field("other's hidden throw", THROWS),
                ),
                "uint8",
            ),
        )
        self.setup(spec, slots, seed, sizeof(Match))

    cdef void deal(
        self, int slot, void* match, uint64_t key, const int64_t* options
    ) noexcept nogil:
        cdef Match* m = <Match*>match
        m.card[0] = <uint8_t>below(&key, THROWS)
        m.card[1] = other_card(m.card[0], &key)

    cdef uint32_t pending(self, int slot, void* match) noexcept nogil:
        return <uint32_t>1 << ((<Match*>match).made & 1)

    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int i, total = 0
        cdef float returns[2]
        m.throws[m.made] = <uint8_t>actions[m.made & 1]
        m.made += 1
        if m.made < 2 * ROUNDS:
            return
        for i in range(ROUNDS):
            total += worth(m, i)
        returns[0] = total
        returns[1] = -total
        self.finish(slot, returns, returns)

    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int i, at = 2 + THROWS
        memset(out, 0, LENGTH)
        out[seat] = 1
        out[2 + m.card[seat]] = 1
        for i in range(min(m.made // 2, SEEN)):
            out[at + m.throws[2 * i + seat]] = 1
            out[at + THROWS + m.throws[2 * i + 1 - seat]] = 1
            at += 2 * THROWS

    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil:
        memset(out, 1, THROWS)

    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        self.observe(match, seat, out)
        memset(out + LENGTH, 0, 2 * THROWS)
        out[LENGTH + m.card[1 - seat]] = 1
        if seat and m.made & 1:
            out[LENGTH + THROWS + m.throws[m.made - 1]] = 1

    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil:
        cdef Match* m = <Match*>match
        m.card[1 - seat] = other_card(m.card[seat], stream)
        if seat and m.made & 1:
            m.throws[m.made - 1] = <uint8_t>below(stream, THROWS)

    cdef bint sound(self, const void* match) noexcept nogil:
        cdef const Match* m = <const Match*>match
        cdef int i
        if m.card[0] >= THROWS or m.card[1] >= THROWS or m.card[0] == m.card[1]:
            return False
        if m.made > 2 * ROUNDS:
            return False
        for i in range(m.made):
            if m.throws[i] >= THROWS:
                return False
        return True

    def _lay_out(self, int slot, *, cards):
        """Give each seat its card: rock, paper or scissors, by name or by number."""
        try:
            chosen = [NAMES.index(card) if isinstance(card, str) else int(card) for card in cards]
        except (TypeError, ValueError):
            chosen = []
        if len(set(chosen)) != 2 or len(chosen) != 2 or not all(0 <= c < THROWS for c in chosen):
            raise GameError(
                f"The cards of card_rps are {cards!r}; give each seat another one of "
                f"{', '.join(NAMES)}."
            )
        cdef Match* m = <Match*>self.match_at(slot)
        m.card[0], m.card[1] = chosen

    def deals(self):
        """Return every deal as `position` takes it."""
        return [{"cards": list(cards)} for cards in permutations(range(THROWS), 2)]

    def state(self, int slot):
        """Return the whole match as plain values, both cards and all throws included."""
        cdef Match* m = <Match*>self.match_at(slot)
        return {
            "cards": [m.card[0], m.card[1]],
            "throws": [m.throws[i] for i in range(m.made)],
            "worth": [worth(m, i) for i in range(m.made // 2)],
        }

    def draw(self, int slot):
        """Return a picture of a match for a terminal."""
        match = self.state(slot)
        cards = " | ".join(NAMES[card] for card in match["cards"])
        throws = [NAMES[throw] for throw in match["throws"]]
        rounds = [" - ".join(throws[at : at + 2]) for at in range(0, len(throws), 2)]
        score = sum(match["worth"])
        return f"cards {cards}   score {score:+d}   {', '.join(rounds) or 'to begin'}"


cdef inline uint8_t other_card(uint8_t card, uint64_t* stream) noexcept nogil:
    """Draw one of the two cards that are not this one."""
    return <uint8_t>((card + 1 + below(stream, THROWS - 1)) % THROWS)


cdef inline int worth(const Match* m, int round_) noexcept nogil:
    """Return what seat 0 gets from a finished round."""
    cdef int one = m.throws[2 * round_], two = m.throws[2 * round_ + 1]
    if one == two:
        return 0
    if one == (two + 1) % THROWS:
        return WITH_CARD if one == m.card[0] else PLAIN
    return -(WITH_CARD if two == m.card[1] else PLAIN)
