"""Liar's dice for two with one die each: bids rise until one is doubted; a six counts as any face.

Observation as OpenSpiel's information-state tensor: own seat (2), own die (6), then which bids
were made (12) and whether one was doubted (1). Bids only rise, so the set shows their order.
"""

from itertools import product

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from lanista.games.compiled cimport CompiledGame
from lanista.games.streams cimport below

from lanista.games.contract import Facts, Field, GameError, Head, Observation, Spec

cdef enum:
    SIDES = 6
    WILD = SIDES - 1
    BIDS = 2 * SIDES   # bid = (how many - 1) * SIDES + face
    LIAR = BIDS
    LENGTH = 2 + SIDES + BIDS + 1

cdef struct Match:
    uint8_t die[2]     # 0 is a one
    uint8_t bids[BIDS]
    uint8_t made
    uint8_t doubted


cdef class LiarsDice(CompiledGame):
    """Liar's dice for two, one die each."""

    def __init__(self, slots=1, seed=0):
        labels = (*(_bid_name(bid) for bid in range(BIDS)), "liar")
        fields = (Field("seat", 2), Field("die", SIDES), Field("bids", BIDS), Field("doubted"))
        spec = Spec(
            name="liars_dice",
            facts=Facts(seats=2, longest=BIDS + 1, hidden=True, chance=True, zero_sum=True),
            observation=Observation(fields, "uint8"),
            heads=(Head("bid", BIDS + 1, labels),),
            privileged=Observation((Field("view", LENGTH), Field("other die", SIDES)), "uint8"),
        )
        self.setup(spec, slots, seed, sizeof(Match))

    cdef void deal(
        self, int slot, void* match, uint64_t key, const int64_t* options
    ) noexcept nogil:
        cdef Match* m = <Match*>match
        m.die[0] = <uint8_t>below(&key, SIDES)
        m.die[1] = <uint8_t>below(&key, SIDES)

    cdef uint32_t pending(self, int slot, void* match) noexcept nogil:
        return <uint32_t>1 << ((<Match*>match).made & 1)

    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int seat = m.made & 1, bid, face, shown, winner
        cdef float returns[2]
        if actions[seat] != LIAR:
            m.bids[m.made] = <uint8_t>actions[seat]
            m.made += 1
            return
        m.doubted = 1
        bid = m.bids[m.made - 1]
        face = bid % SIDES
        shown = ((m.die[0] == face or m.die[0] == WILD) + (m.die[1] == face or m.die[1] == WILD))
        winner = seat if shown <= bid // SIDES else 1 - seat
        returns[winner] = 1
        returns[1 - winner] = -1
        self.finish(slot, returns, returns)

    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int i
        memset(out, 0, LENGTH)
        out[seat] = 1
        out[2 + m.die[seat]] = 1
        for i in range(m.made):
            out[2 + SIDES + m.bids[i]] = 1

    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int lowest = m.bids[m.made - 1] + 1 if m.made else 0
        memset(out + lowest, 1, BIDS - lowest)
        out[LIAR] = m.made > 0

    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil:
        self.observe(match, seat, out)
        memset(out + LENGTH, 0, SIDES)
        out[LENGTH + (<Match*>match).die[1 - seat]] = 1

    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil:
        (<Match*>match).die[1 - seat] = <uint8_t>below(stream, SIDES)

    cdef bint sound(self, const void* match) noexcept nogil:
        cdef const Match* m = <const Match*>match
        cdef int i
        if m.die[0] >= SIDES or m.die[1] >= SIDES or m.made > BIDS:
            return False
        for i in range(m.made):
            if m.bids[i] >= BIDS or (i and m.bids[i] <= m.bids[i - 1]):
                return False
        return True

    def _lay_out(self, int slot, *, dice):
        """Give each seat its die, 1 to 6."""
        try:
            faces = [int(die) - 1 for die in dice]
        except (TypeError, ValueError):
            faces = []
        if len(faces) != 2 or not all(0 <= face < SIDES for face in faces):
            raise GameError(f"The dice of liars_dice are {dice!r}; give one, 1 to 6, to each seat.")
        cdef Match* m = <Match*>self.match_at(slot)
        m.die[0], m.die[1] = faces

    def deals(self):
        """Return every deal as `position` takes it."""
        return [{"dice": dice} for dice in product(range(1, SIDES + 1), repeat=2)]

    def state(self, int slot):
        """Return the whole match as plain values, both dice included."""
        cdef Match* m = <Match*>self.match_at(slot)
        return {
            "dice": [m.die[0], m.die[1]],
            "bids": [m.bids[i] for i in range(m.made)],
            "doubted": bool(m.doubted),
        }

    def draw(self, int slot):
        """Return a picture of a match for a terminal."""
        match = self.state(slot)
        said = [_bid_name(bid) for bid in match["bids"]] + ["liar"] * match["doubted"]
        dice = " | ".join(str(die + 1) for die in match["dice"])
        return f"dice {dice}   {' '.join(said) or 'to open'}"


def _bid_name(bid):
    return f"{bid // SIDES + 1}x{bid % SIDES + 1}"
