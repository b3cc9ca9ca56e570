"""Leduc poker: six cards of three ranks, two rounds of betting, one public card between them.

Observation as OpenSpiel's information-state tensor: own seat (2), own card (6), public card (6),
then each move so far as call or raise (2 rounds × 4 × 2). Returns are chips.
"""

from itertools import permutations

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from lanista.games.compiled cimport CompiledGame
from lanista.games.small.sets cimport draw_from
from lanista.games.streams cimport below, next_word

from lanista.games.contract import Facts, Field, GameError, Head, Observation, Spec
from lanista.games.given import read_cards

_CARDS = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")

cdef enum:
    FOLD = 0
    CALL = 1
    RAISE = 2
    DECK = 0b111111
    NO_CARD = 6
    MOST_RAISES = 2    # in a round
    MOST_MOVES = 4     # in a round
    LENGTH = 30

cdef struct Match:
    uint64_t stream    # draws the public card
    uint8_t card[2]    # rank = card / 2
    uint8_t public
    uint8_t stake[2]
    uint8_t round
    uint8_t raises     # in this round
    uint8_t moves[2][MOST_MOVES]
    uint8_t made[2]    # moves in each round


cdef class Leduc(CompiledGame):
    """Leduc poker for two."""

    def __init__(self, slots=1, seed=0):
        fields = (Field("seat", 2), Field("card", 6), Field("public card", 6), Field("bets", 16))
        spec = Spec(
            name="leduc",
            facts=Facts(seats=2, longest=8, hidden=True, chance=True, zero_sum=True),
            observation=Observation(fields, "uint8"),
            heads=(Head("move", 3, ("fold", "call", "raise")),),
            privileged=Observation((Field("view", LENGTH), Field("other card", 6)), "uint8"),
        )
        self.setup(spec, slots, seed, sizeof(Match))

    cdef void deal(
        self, int slot, void* match, uint64_t key, const int64_t* options
    ) noexcept nogil:
        cdef Match* m = <Match*>match
        m.card[0] = <uint8_t>below(&key, 6)
        m.card[1] = <uint8_t>below(&key, 5)
        m.card[1] += m.card[1] >= m.card[0]
        m.public = NO_CARD
        m.stake[0] = m.stake[1] = 1
        m.stream = key

    cdef uint32_t pending(self, int slot, void* match) noexcept nogil:
        return <uint32_t>1 << to_move(<Match*>match)

    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int seat = to_move(m), move = actions[seat]
        cdef bint opening = m.made[m.round] == 0
        m.moves[m.round][m.made[m.round]] = <uint8_t>move
        m.made[m.round] += 1
        if move == FOLD:
            self.pay(slot, m, 1 - seat)
            return
        m.stake[seat] = m.stake[1 - seat]
        if move == RAISE:
            m.stake[seat] += 4 if m.round else 2
            m.raises += 1
        elif not opening:                  # this call closes the round
            if m.round == 0:
                m.round = 1
                m.raises = 0
                m.public = third_card(m)
            else:
                self.pay(slot, m, stronger(m))

    cdef void pay(self, int slot, Match* m, int winner) noexcept nogil:
        """End the match; `winner` is a seat, or -1 when the pot is shared."""
        cdef float returns[2]
        returns[0] = returns[1] = 0
        if winner >= 0:
            returns[winner] = m.stake[1 - winner]
            returns[1 - winner] = -returns[winner]
        self.finish(slot, returns, returns)

    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int round, i
        memset(out, 0, LENGTH)
        out[seat] = 1
        out[2 + m.card[seat]] = 1
        if m.public != NO_CARD:
            out[8 + m.public] = 1
        for round in range(m.round + 1):
            for i in range(m.made[round]):
                out[14 + 2 * (MOST_MOVES * round + i) + m.moves[round][i] - CALL] = 1

    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        out[FOLD] = m.stake[seat] < m.stake[1 - seat]
        out[CALL] = 1
        out[RAISE] = m.raises < MOST_RAISES

    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil:
        self.observe(match, seat, out)
        memset(out + LENGTH, 0, 6)
        out[LENGTH + (<Match*>match).card[1 - seat]] = 1

    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef uint32_t left = DECK & ~(1 << m.card[seat]) & ~(1 << m.public)
        m.card[1 - seat] = <uint8_t>draw_from(left, stream)
        m.stream = next_word(stream)

    cdef bint sound(self, const void* match) noexcept nogil:
        cdef const Match* m = <const Match*>match
        cdef int round, i
        if m.round > 1 or m.card[0] > 5 or m.card[1] > 5 or m.card[0] == m.card[1]:
            return False
        # The public card lies open exactly in the second round.
        if m.public > NO_CARD or (m.public == NO_CARD) != (m.round == 0):
            return False
        if m.public == m.card[0] or m.public == m.card[1] or m.made[m.round] == MOST_MOVES:
            return False
        for round in range(2):
            if m.made[round] > MOST_MOVES:
                return False
            for i in range(m.made[round]):
                if m.moves[round][i] != CALL and m.moves[round][i] != RAISE:
                    return False
        return True

    def _lay_out(self, int slot, *, cards, public=None):
        """Give each seat its card, 0 to 5 or Js to Kh, and say which card lies open later."""
        given = read_cards("The cards of leduc", cards, _CARDS, 2)
        if len(given) != 2:
            raise GameError(f"The cards of leduc are {list(cards)}; give one to each of two seats.")
        cdef Match* m = <Match*>self.match_at(slot)
        m.card[0], m.card[1] = given
        if public is None:
            return
        *_, card = read_cards("The cards of leduc", [*given, public], _CARDS, 3)
        cdef Match tried = m[0]
        while third_card(&tried) != card:      # one word in four draws it
            m.stream += 1
            tried = m[0]

    def deals(self):
        """Return every deal as `position` takes it."""
        deals = permutations(range(6), 3)
        return [{"cards": cards, "public": public} for *cards, public in deals]

    def state(self, int slot):
        """Return the whole match as plain values, hidden cards included."""
        cdef Match* m = <Match*>self.match_at(slot)
        return {
            "cards": [m.card[0], m.card[1]],
            "public": None if m.public == NO_CARD else m.public,
            "stakes": [m.stake[0], m.stake[1]],
            "moves": [[m.moves[r][i] for i in range(m.made[r])] for r in range(2)],
        }

    def draw(self, int slot):
        """Return a picture of a match for a terminal."""
        match = self.state(slot)
        name = lambda card: "-" if card is None else "JQK"[card // 2] + "sh"[card % 2]
        bets = ["".join("fcr"[move] for move in moves) or "-" for moves in match["moves"]]
        cards = " | ".join(name(card) for card in match["cards"])
        stakes = " | ".join(str(stake) for stake in match["stakes"])
        public = name(match["public"])
        return f"cards {cards}   public {public}   stakes {stakes}   {' / '.join(bets)}"


cdef inline int to_move(const Match* m) noexcept nogil:
    return m.made[m.round] & 1


cdef inline uint8_t third_card(Match* m) noexcept nogil:
    """Draw a card that neither seat holds."""
    cdef int low = min(m.card[0], m.card[1]), high = max(m.card[0], m.card[1])
    cdef int card = <int>below(&m.stream, 4)
    card += card >= low
    card += card >= high
    return <uint8_t>card


cdef inline int stronger(const Match* m) noexcept nogil:
    """Return the seat that wins at the showdown, or -1: a pair beats a rank."""
    cdef int a = m.card[0] // 2, b = m.card[1] // 2, public = m.public // 2
    if a == b:
        return -1
    if a == public or b == public:
        return b == public
    return b > a
