"""Kuhn poker: three cards, an ante of one, one bet of one.

Observation as OpenSpiel's information-state tensor: own seat (2), own card (3), then each action
so far as pass or bet (3 × 2).
"""

from itertools import permutations

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from lanista.games.compiled cimport CompiledGame
from lanista.games.streams cimport below

from lanista.games.contract import Facts, Field, GameError, Head, Observation, Spec
from lanista.games.given import read_cards

cdef enum:
    PASS = 0
    BET = 1

cdef struct Match:
    uint8_t card[2]
    uint8_t action[3]
    uint8_t actions


cdef class Kuhn(CompiledGame):
    """Kuhn poker for two."""

    def __init__(self, slots=1, seed=0):
        spec = Spec(
            name="kuhn",
            facts=Facts(seats=2, longest=3, hidden=True, chance=True, zero_sum=True),
            observation=Observation(
                (Field("seat", 2), Field("card", 3), Field("bets", 6)), "uint8"
            ),
            heads=(Head("move", 2, ("pass", "bet")),),
            privileged=Observation((Field("view", 11), Field("other card", 3)), "uint8"),
        )
        self.setup(spec, slots, seed, sizeof(Match))

    cdef void deal(
        self, int slot, void* match, uint64_t key, const int64_t* options
    ) noexcept nogil:
        cdef Match* m = <Match*>match
        m.card[0] = <uint8_t>below(&key, 3)
        m.card[1] = <uint8_t>((m.card[0] + 1 + below(&key, 2)) % 3)

    cdef uint32_t pending(self, int slot, void* match) noexcept nogil:
        return <uint32_t>1 << ((<Match*>match).actions & 1)

    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int seat = m.actions & 1, stake = 1, winner
        cdef float returns[2]
        m.action[m.actions] = <uint8_t>actions[seat]
        m.actions += 1
        winner = m.card[1] > m.card[0]
        if m.actions == 1 or (m.actions == 2 and m.action[0] == PASS and m.action[1] == BET):
            return
        if m.action[m.actions - 1] == BET:
            stake = 2                      # a bet was called
        elif m.action[m.actions - 2] == BET:
            winner = 1 - seat              # a bet was not called
        returns[winner] = <float>stake
        returns[1 - winner] = <float>-stake
        self.finish(slot, returns, returns)

    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int i
        for i in range(11):
            out[i] = 0
        out[seat] = 1
        out[2 + m.card[seat]] = 1
        for i in range(m.actions):
            out[5 + 2 * i + m.action[i]] = 1

    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil:
        out[PASS] = out[BET] = 1

    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef int i
        self.observe(match, seat, out)
        for i in range(3):
            out[11 + i] = (<Match*>match).card[1 - seat] == i

    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil:
        cdef Match* m = <Match*>match
        m.card[1 - seat] = <uint8_t>((m.card[seat] + 1 + below(stream, 2)) % 3)

    cdef bint sound(self, const void* match) noexcept nogil:
        cdef const Match* m = <const Match*>match
        return m.card[0] < 3 and m.card[1] < 3 and m.card[0] != m.card[1] and m.actions < 3 \
            and m.action[0] <= BET and m.action[1] <= BET

    def _lay_out(self, int slot, *, cards):
        """Give each seat its card: 0, 1, 2 or J, Q, K."""
        given = read_cards("The cards of kuhn", cards, "JQK", 2)
        if len(given) != 2:
            raise GameError(f"The cards of kuhn are {list(cards)}; give one to each of two seats.")
        cdef Match* m = <Match*>self.match_at(slot)
        m.card[0], m.card[1] = given

    def deals(self):
        """Return every deal as `position` takes it."""
        return [{"cards": cards} for cards in permutations(range(3), 2)]

    def state(self, int slot):
        """Return the whole match as plain values, both cards included."""
        cdef Match* m = <Match*>self.match_at(slot)
        return {
            "cards": [m.card[0], m.card[1]],
            "moves": [m.action[i] for i in range(m.actions)],
        }

    def draw(self, int slot):
        """Return a picture of a match for a terminal."""
        match = self.state(slot)
        moves = " ".join(("pass", "bet")[move] for move in match["moves"])
        return f"cards {' | '.join('JQK'[card] for card in match['cards'])}   {moves or 'to open'}"
