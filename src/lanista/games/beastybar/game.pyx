"""Beasty Bar as a game of many slots: deals, ends and returns. The rules are in rules.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from lanista.games.beastybar.observation cimport draw_unseen, write_hidden, write_view
from lanista.games.beastybar.rules cimport (
    ALL_ACTIONS, COUNT, COUNT_POINTS, GONE, HAND, IN_BAR, POINTS, SPECIES_COUNT, USUAL_ACTIONS, Match, Rules,
    apply_action, is_over, is_sound, legal_actions, owner_of, species_of, standing,
)
from lanista.games.compiled cimport CompiledGame, pairwise_returns
from lanista.games.streams cimport below

from lanista.games.beastybar import draw as drawing
from lanista.games.beastybar.animals import ACTIONS, SPECIES, references_of
from lanista.games.beastybar.observation import layout, privileged_layout
from lanista.games.contract import Facts, GameError, Head, Option, Spec
from lanista.games.given import read_cards

_SCORINGS = {"points": POINTS, "count": COUNT, "count_points": COUNT_POINTS}


cdef Rules rules_of(settings) except *:
    cdef Rules rules
    rules.seats = settings["seats"]
    rules.scoring = _SCORINGS[settings["scoring"]]
    rules.kangaroo_may_stay = settings["kangaroo_may_stay"]
    rules.parrot_may_decline = settings["parrot_may_decline"]
    rules.chameleon_may_decline = settings["chameleon_may_decline"]
    return rules


cdef class BeastyBar(CompiledGame):
    """Beasty Bar for two to four."""

    def __init__(self, slots, seed, **settings):
        self.rules = rules_of(settings)
        seats = settings["seats"]
        more = settings["kangaroo_may_stay"] or settings["parrot_may_decline"]
        actions = ACTIONS[: ALL_ACTIONS if more else USUAL_ACTIONS]
        spec = Spec(
            name="beastybar",
            facts=Facts(seats=seats, longest=12 * seats, hidden=True, chance=True, zero_sum=True),
            observation=layout(seats),
            heads=(
                Head(
                    "play", len(actions), tuple(action.label for action in actions),
                    references=(references_of(actions),),
                ),
            ),
            settings=settings,
            options=(Option("first", 0, -1, seats - 1, "the seat that starts; -1: drawn"),),
            privileged=privileged_layout(seats),
        )
        self.setup(spec, slots, seed, sizeof(Match))

    cdef void deal(self, int slot, void* match, uint64_t key, const int64_t* options) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef int seat, i, j
        cdef uint8_t species
        for seat in range(self.rules.seats):
            for i in range(SPECIES_COUNT):
                m.deck[seat][i] = <uint8_t>i
            for i in range(SPECIES_COUNT - 1, 0, -1):
                j = <int>below(&key, <uint32_t>(i + 1))
                species = m.deck[seat][i]
                m.deck[seat][i] = m.deck[seat][j]
                m.deck[seat][j] = species
            for i in range(HAND):
                m.hand[seat] |= <uint16_t>1 << m.deck[seat][i]
            m.drawn[seat] = HAND
        m.to_move = <uint8_t>(options[0] if options[0] >= 0 else below(&key, <uint32_t>self.rules.seats))

    cdef uint32_t pending(self, int slot, void* match) noexcept nogil:
        return <uint32_t>1 << (<Match*>match).to_move

    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef float order[4]
        cdef float returns[4]
        cdef float score[4]
        cdef int seat
        apply_action(m, &self.rules, actions[m.to_move])
        if not is_over(m, &self.rules):
            return
        standing(m, &self.rules, order)
        pairwise_returns(order, self.rules.seats, returns)
        for seat in range(self.rules.seats):
            score[seat] = m.points[seat] if self.rules.scoring == POINTS else m.animals[seat]
        self.finish(slot, returns, score)

    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil:
        write_view(<Match*>match, &self.rules, seat, out)

    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil:
        legal_actions(<Match*>match, &self.rules, out)

    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil:
        write_view(<Match*>match, &self.rules, seat, out)
        write_hidden(<Match*>match, &self.rules, seat, out + self.observation_bytes)

    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil:
        draw_unseen(<Match*>match, &self.rules, seat, stream)

    cdef bint sound(self, const void* match) noexcept nogil:
        return is_sound(<const Match*>match, &self.rules)

    def draw(self, int slot):
        """Return a picture of a match for a terminal."""
        now = self.state(slot)
        owned = lambda name: [(s, seat) for seat, group in enumerate(now[name]) for s in group]
        over = now["turn"] == SPECIES_COUNT * self.rules.seats
        return drawing.draw(
            now["line"], now["hands"], owned("bar"), owned("out"),
            None if over else now["to_move"],
            piles=[len(pile) for pile in now["piles"]], turn=now["turn"],
        )

    def _lay_out(self, int slot, *, decks, int first=0):
        """Give each seat its deck, animals by name or number in the order they come to hand.

        Those left out follow in order of strength. `first` is the seat that starts.
        """
        cdef Match* m = <Match*>self.match_at(slot)
        cdef int seat, i
        if len(decks) != self.rules.seats or not 0 <= first < self.rules.seats:
            raise GameError(
                f"{len(decks)} decks were given and seat {first} is to start; beastybar has "
                f"{self.rules.seats} seats, from 0."
            )
        for seat, deck in enumerate(decks):
            given = read_cards(f"The animals of seat {seat}", deck, SPECIES, SPECIES_COUNT)
            whole = [*given, *(i for i in range(SPECIES_COUNT) if i not in given)]
            m.hand[seat] = 0
            for i in range(SPECIES_COUNT):
                m.deck[seat][i] = whole[i]
            for i in range(HAND):
                m.hand[seat] |= <uint16_t>1 << m.deck[seat][i]
        m.to_move = <uint8_t>first

    def state(self, int slot):
        """Return a whole match, hidden cards and all, for drawing and tests."""
        cdef Match* m = <Match*>self.match_at(slot)
        seats = range(self.rules.seats)
        return {
            "line": [(species_of(m.line[i]), owner_of(m.line[i])) for i in range(m.count)],
            "hands": [[i for i in range(SPECIES_COUNT) if (m.hand[seat] >> i) & 1] for seat in seats],
            "piles": [[m.deck[seat][i] for i in range(m.drawn[seat], SPECIES_COUNT)] for seat in seats],
            "bar": [[i for i in range(SPECIES_COUNT) if m.where[seat][i] == IN_BAR] for seat in seats],
            "out": [[i for i in range(SPECIES_COUNT) if m.where[seat][i] == GONE] for seat in seats],
            "points": [m.points[seat] for seat in seats],
            "turn": m.turn,
            "to_move": m.to_move,
        }

