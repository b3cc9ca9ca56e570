"""The arena as a compiled game: many matches, orders in, results out.

The rules are in rules.pxd, what a seat sees in view.pxd, what it cannot see in hidden.pxd.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from lanista.games.arena.hidden cimport redraw
from lanista.games.arena.rules cimport item_in_reach, point_in_disc, read_order, tick
from lanista.games.arena.state cimport (
    AMMO, AMMO_ITEM, BINS, Body, CENTRE, DASH, HEADS, HEALTH, ITEMS, Match, NOTHING, NO_ABILITY,
    Order, Rules, SEATS, SEAT_SHOTS, SHIELD, Shot, WALL, square,
)
from lanista.games.arena.view cimport classic, everything, nearest_living, rich
from lanista.games.compiled cimport CompiledGame, pairwise_returns
from lanista.games.streams cimport uniform

from lanista.games.arena.draw import picture
from lanista.games.arena.layout import TURNS, describe, match_dtype, time_limit

cdef enum:
    # Where each head's choices begin in a mask.
    FIRE_AT = 4 * BINS
    ABILITY_AT = FIRE_AT + 2
    INTERACT_AT = ABILITY_AT + 3


cdef class Arena(CompiledGame):
    """A free-for-all shooter for two to eight in a shrinking zone; `score` is the hp left."""

    cdef Rules rules
    cdef bint classic19
    cdef double turn_x[SEATS]
    cdef double turn_y[SEATS]

    def __init__(self, slots=1, seed=0, *, seats=2, duration=60.0, ticks_per_decision=3,
                 observation="rich"):
        spec = describe(seats, duration, ticks_per_decision, observation)
        cdef int spare = (SEATS - <int>seats) * SEAT_SHOTS * sizeof(Shot)
        self.setup(spec, slots, seed, sizeof(Match) - spare)
        self.classic19 = observation == "classic19"
        self.rules.seats = seats
        self.rules.ticks = time_limit(duration)
        self.rules.shrink = self.rules.ticks * 2 // 3
        self.rules.ticks_per_decision = ticks_per_decision
        for i, (x, y) in enumerate(TURNS[seats]):
            self.turn_x[i], self.turn_y[i] = x, y

    cdef void deal(self, int slot, void* match, uint64_t key, const int64_t* options) noexcept nogil:
        """Seats start on a circle, evenly apart; chance turns the circle and sets its size."""
        cdef Match* m = <Match*>match
        cdef Body* b
        cdef double x, y, length, radius
        cdef int seat
        m.chance = key
        point_in_disc(&m.chance, &x, &y)
        while square(x, y) < 0.01:
            point_in_disc(&m.chance, &x, &y)
        length = sqrt(square(x, y))
        radius = 6.0 + 0.5 * self.rules.seats + 2.0 * uniform(&m.chance)
        x = x / length * radius
        y = y / length * radius
        m.alive = self.rules.seats
        for seat in range(self.rules.seats):
            b = &m.body[seat]
            b.x = b.start_x = x * self.turn_x[seat] - y * self.turn_y[seat]
            b.y = b.start_y = x * self.turn_y[seat] + y * self.turn_x[seat]
            b.hp = HEALTH
            b.ammo = AMMO
            b.alive = 1

    cdef uint32_t pending(self, int slot, void* match) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef uint32_t seats = 0
        cdef int seat
        for seat in range(self.rules.seats):
            seats |= <uint32_t>m.body[seat].alive << seat
        return seats

    cdef void advance(self, int slot, void* match, const int32_t* actions) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef Order order[SEATS]
        cdef double before[SEATS]
        cdef int32_t rival[SEATS]
        cdef int seat, i, living
        for seat in range(self.rules.seats):
            rival[seat] = -1
            before[seat] = m.body[seat].hp
            if m.body[seat].alive:
                read_order(actions + seat * HEADS, &order[seat])
                rival[seat] = nearest_living(m, self.rules.seats, seat)
        for i in range(self.rules.ticks_per_decision):
            living = m.alive
            tick(m, &self.rules, order)
            if m.alive < living:
                self.bury(slot, m, living)
            if m.alive <= 1 or m.tick >= self.rules.ticks:
                self.conclude(slot, m)
                break
        for seat in range(self.rules.seats):
            if rival[seat] >= 0:
                self.shaping_at[slot * self.seats + seat] = <float>((
                    (m.body[seat].hp - before[seat])
                    - (m.body[rival[seat]].hp - before[rival[seat]])) / HEALTH)

    cdef void bury(self, int slot, const Match* m, int living) noexcept nogil:
        """Pay those who died in this tick: they beat the dead and lost to the living."""
        cdef int seat, dead = self.rules.seats - living
        for seat in range(self.rules.seats):
            if m.body[seat].died == m.tick:
                self.out(slot, seat, <float>(dead - m.alive) / (self.rules.seats - 1))

    cdef void conclude(self, int slot, const Match* m) noexcept nogil:
        """Whoever died later stands higher; survivors share the top."""
        cdef float standing[SEATS]
        cdef float returns[SEATS]
        cdef float hp[SEATS]
        cdef int seat
        for seat in range(self.rules.seats):
            standing[seat] = <float>(
                self.rules.ticks + 1 if m.body[seat].alive else m.body[seat].died)
            hp[seat] = <float>m.body[seat].hp
        pairwise_returns(standing, self.rules.seats, returns)
        self.finish(slot, returns, hp)

    cdef void observe(self, void* match, int seat, uint8_t* out) noexcept nogil:
        if self.classic19:
            classic(<Match*>match, &self.rules, seat, <float*>out)
        else:
            rich(<Match*>match, &self.rules, seat, <float*>out)

    cdef void legal(self, void* match, int seat, uint8_t* out) noexcept nogil:
        cdef Match* m = <Match*>match
        cdef Body* b = &m.body[seat]
        cdef double distance
        memset(out, 1, 2 * BINS)
        if b.ammo > 0 and b.fire_wait == 0:
            memset(out + 2 * BINS, 1, 2 * BINS)
            out[FIRE_AT + 1] = 1
        else:  # where to aim does not matter then
            out[2 * BINS + CENTRE] = out[3 * BINS + CENTRE] = 1
        out[FIRE_AT] = out[ABILITY_AT + NO_ABILITY] = out[INTERACT_AT] = 1
        out[ABILITY_AT + DASH] = b.dash_wait == 0
        out[ABILITY_AT + SHIELD] = b.shield_wait == 0
        out[INTERACT_AT + 1] = item_in_reach(m, b, &distance) >= 0

    cdef void observe_privileged(self, void* match, int seat, uint8_t* out) noexcept nogil:
        everything(<Match*>match, &self.rules, seat, <float*>out)

    cdef void resample(self, void* match, int seat, uint64_t* stream) noexcept nogil:
        redraw(<Match*>match, &self.rules, seat, stream)

    cdef bint sound(self, const void* match) noexcept nogil:
        cdef const Match* m = <const Match*>match
        cdef int i
        if not (0 <= m.tick < self.rules.ticks and 0 <= m.shots <= self.rules.seats * SEAT_SHOTS):
            return False
        for i in range(m.shots):
            if not 0 <= m.shot[i].owner < self.rules.seats:
                return False
        for i in range(ITEMS):
            if not NOTHING <= m.item[i].kind <= AMMO_ITEM:
                return False
        for i in range(self.rules.seats):
            # Not a number would pass every comparison of the rules unnoticed.
            if not (0 <= m.body[i].alive <= 1 and -WALL <= m.body[i].x <= WALL
                    and -WALL <= m.body[i].y <= WALL and m.body[i].hp <= HEALTH):
                return False
        return True

    def draw(self, int slot):
        """Return a picture of a match for a terminal."""
        match = self.save([slot])["matches"].view(match_dtype(self.seats))[0, 0]
        return picture(match, self.seats, self.rules.ticks, self.rules.shrink)
