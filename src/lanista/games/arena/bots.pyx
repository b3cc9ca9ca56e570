"""The arena's scripted bots. Each acts on its seat's observation alone, in either layout.

They keep nothing between decisions; what is random in them comes from a stream that stays the
same for some turns, so that a bot holds a course. Everybody else is an enemy to all of them.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from lanista.games.arena.sight cimport Sight, Wish, look, write_action
from lanista.games.arena.state cimport (
    DASH, HEADS, NO_ABILITY, SHIELD, SHOT_SPEED, square,
)
from lanista.games.arena.rules cimport point_in_disc
from lanista.games.rows cimport rows_fit
from lanista.games.streams cimport ACT, THINK, below, stream_key, uniform

from lanista.games.bots import bot_digest, foreign_decisions
from lanista.games.contract import GameError

cdef enum:
    STILL, RUSHER, KITER, SCAVENGER, ZONER

# Each bot's version moves exactly when its choices can.
VERSIONS = {"still": 1, "rusher": 1, "kiter": 1, "scavenger": 1, "zoner": 1}
_KINDS = {"still": STILL, "rusher": RUSHER, "kiter": KITER, "scavenger": SCAVENGER, "zoner": ZONER}

cdef enum:
    COURSE_TURNS = 40     # a bot that searches goes for one point this long
    SIDE_TURNS = 7        # and circles to one side this long


cdef class ArenaBot:
    """One of the scripted bots, by name."""

    cdef readonly str name
    cdef readonly str digest
    cdef readonly int version
    cdef uint64_t seed
    cdef int kind, length, choices
    cdef bint classic19

    def __init__(self, name, spec, seed):
        if spec.name != "arena":
            raise GameError(f"The bot {name!r} plays arena, not {spec.name}.")
        self.name = name
        self.version = VERSIONS[name]
        self.digest = bot_digest("arena", name, self.version)
        self.seed = seed
        self.kind = _KINDS[name]
        self.length, self.choices = spec.observation.length, spec.choices
        self.classic19 = spec.settings["observation"] == "classic19"

    def act(self, decisions, rows):
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        cdef const int64_t[::1] row = np.ascontiguousarray(rows, dtype=np.int64)
        cdef const int32_t[::1] seat = decisions.seat
        cdef const int64_t[::1] match = decisions.match
        cdef const int32_t[::1] turn = decisions.turn
        cdef const float[:, ::1] observation = decisions.observation
        cdef const uint8_t[:, ::1] mask = decisions.mask.view(np.uint8)
        actions = np.empty((row.shape[0], HEADS), np.int32)
        cdef int32_t[:, ::1] out = actions
        cdef Py_ssize_t i
        cdef int64_t r
        cdef Sight s
        cdef Wish w
        if (observation.shape[1] != self.length or mask.shape[1] != self.choices
                or not rows_fit(row, mask.shape[0])):
            raise foreign_decisions(self, decisions)
        with nogil:
            for i in range(row.shape[0]):
                r = row[i]
                look(&observation[r, 0], &mask[r, 0], self.classic19, &s)
                self.choose(&s, match[r], seat[r], turn[r], &w)
                waver(&w, stream_key(self.seed, match[r], seat[r], ACT, turn[r]))
                write_action(&s, &w, &out[i, 0])
                if self.kind == STILL:
                    out[i, HEADS - 1] = 0
        return actions

    cdef void choose(self, const Sight* s, int64_t match, int seat, int turn, Wish* w) noexcept nogil:
        cdef uint64_t course = stream_key(self.seed, match, seat, THINK, turn / COURSE_TURNS)
        cdef uint64_t mood = stream_key(self.seed, match, seat, THINK, (1 << 20) + turn / SIDE_TURNS)
        cdef double side = 1.0 if below(&mood, 2) else -1.0
        w.move_x = w.move_y = w.aim_x = w.aim_y = 0.0
        w.fire = False
        w.ability = NO_ABILITY
        if self.kind == RUSHER:
            rush(s, turn, side, &course, w)
        elif self.kind == KITER:
            kite(s, turn, side, &course, w)
        elif self.kind == SCAVENGER:
            scavenge(s, turn, side, &course, w)
        elif self.kind == ZONER:
            hold_zone(s, side, w)


# The pieces that bots are made of.

cdef inline void aim(const Sight* s, double lead, double within, Wish* w) noexcept nogil:
    """Fire at the nearest enemy when it is near enough; `lead` 1 trusts its course wholly."""
    cdef double flight = s.enemy_distance / SHOT_SPEED * lead
    if s.enemy and s.enemy_distance <= within and not s.enemy_shielded:
        w.aim_x = s.enemy_x + s.enemy_vx * flight
        w.aim_y = s.enemy_y + s.enemy_vy * flight
        w.fire = True


cdef inline void waver(Wish* w, uint64_t stream) noexcept nogil:
    """Hold fire now and then and miss a little, so that equal bots do not mirror each other."""
    cdef double error = 0.24 * uniform(&stream) - 0.12, x = w.aim_x
    w.aim_x = w.aim_x - error * w.aim_y
    w.aim_y = w.aim_y + error * x
    w.fire = w.fire and below(&stream, 5) > 0


cdef inline void search(const Sight* s, int turn, uint64_t* course, Wish* w) noexcept nogil:
    """Go to the middle first, then from one random point near it to another."""
    cdef double x = 0.0, y = 0.0, reach = s.zone - 1.0 if s.zone < 13.0 else 12.0
    if turn >= COURSE_TURNS:
        point_in_disc(course, &x, &y)
    w.move_x = x * reach - s.x
    w.move_y = y * reach - s.y


cdef inline void circle(const Sight* s, double distance, double side, Wish* w) noexcept nogil:
    """Go round the enemy, closing in or drawing off towards `distance`."""
    cdef double away = s.enemy_distance if s.enemy_distance > 0.01 else 0.01
    cdef double x = s.enemy_x / away, y = s.enemy_y / away
    cdef double pull = (away - distance) / 2.0
    w.move_x = pull * x - side * y
    w.move_y = pull * y + side * x


cdef inline void stay_inside(const Sight* s, double margin, Wish* w) noexcept nogil:
    """The zone comes first: go to the middle when its edge is nearer than `margin`."""
    if s.margin < margin and square(s.x, s.y) > 1.0:
        w.move_x = -s.x
        w.move_y = -s.y


cdef inline void sidestep(const Sight* s, double side, Wish* w) noexcept nogil:
    """Step out of the way of the shot that comes, away from where it passes."""
    if square(s.miss_x, s.miss_y) > 0.01:
        w.move_x = -s.miss_x
        w.move_y = -s.miss_y
    else:
        w.move_x = -s.shot_vy * side
        w.move_y = s.shot_vx * side


# The bots.

cdef inline void rush(
    const Sight* s, int turn, double side, uint64_t* course, Wish* w
) noexcept nogil:
    """Straight at the nearest enemy, firing from close by."""
    if not s.enemy:
        search(s, turn, course, w)
        return
    w.move_x = s.enemy_x
    w.move_y = s.enemy_y
    if s.enemy_distance < 1.5:
        circle(s, 1.0, side, w)
    aim(s, 0.5, 7.0, w)
    if (s.threat or s.enemy_distance < 3.0) and s.can_shield:
        w.ability = SHIELD
    elif s.enemy_distance > 3.0:
        w.ability = DASH


cdef inline void kite(
    const Sight* s, int turn, double side, uint64_t* course, Wish* w
) noexcept nogil:
    """Keeps the enemy at the edge of its own reach and never stands still."""
    if not s.enemy:
        search(s, turn, course, w)
        return
    circle(s, 7.0, side, w)
    if s.threat:
        sidestep(s, side, w)
    stay_inside(s, 1.0, w)
    aim(s, 0.4, 9.0, w)
    if s.enemy_distance < 4.0 or (s.threat and not s.can_shield):
        w.ability = DASH
    elif s.threat:
        w.ability = SHIELD


cdef inline void scavenge(
    const Sight* s, int turn, double side, uint64_t* course, Wish* w
) noexcept nogil:
    """Items before enemies; fights on the way, and runs when hurt."""
    if s.item:
        w.move_x = s.item_x
        w.move_y = s.item_y
    elif s.enemy and s.hp < 40.0 and s.enemy_hp > s.hp:
        w.move_x = -s.enemy_x
        w.move_y = -s.enemy_y
        w.ability = DASH
    elif s.enemy:
        circle(s, 5.0, side, w)
    else:
        search(s, turn, course, w)
    stay_inside(s, 0.5, w)
    aim(s, 0.3, 7.5, w)
    if s.threat and s.hp < 60.0:
        w.ability = SHIELD


cdef inline void hold_zone(const Sight* s, double side, Wish* w) noexcept nogil:
    """Takes the middle of the zone, lets the others come, and gives way only to shots."""
    if square(s.x, s.y) > 1.0:
        w.move_x = -s.x
        w.move_y = -s.y
    if s.threat:
        w.ability = SHIELD
        if not s.can_shield:
            sidestep(s, side, w)
    aim(s, 0.3, 9.5, w)
