"""What an arena bot makes of an observation, and how its wish becomes an action.

Reads the numbers of one decision, in either layout, and its mask; never a match. What the
classic layout does not tell (velocities, shots, kinds of items) is absent there.
"""

from libc.math cimport floor, sqrt
from libc.stdint cimport int32_t, uint8_t

from lanista.games.arena.state cimport (
    ABILITY, AIM_X, AIM_Y, AMMO, BINS, CENTRE, DASH, DASH_SPEED, FIRE, HEALTH, INTERACT, MOVE_X,
    MOVE_Y, NO_ABILITY, SHIELD, SHOT_SPEED, SIGHT, WALL, ZONE, square,
)
from lanista.games.arena.view cimport (
    ITEM_SIZE, RICH_ENEMY, RICH_ITEM, RICH_SHOT, SEEN_ITEMS, SEEN_SHOTS, SHOT_SIZE,
)

cdef struct Sight:
    double x, y, hp, ammo, zone, margin      # margin: how far inside the zone; negative outside
    bint can_fire, can_dash, can_shield, can_pick
    # The nearest enemy; places of others are relative to the seat.
    bint enemy, enemy_shielded
    double enemy_x, enemy_y, enemy_vx, enemy_vy, enemy_hp, enemy_distance
    # The nearest item worth having.
    bint item
    double item_x, item_y
    # The shot that will pass closest, if it will hit soon.
    bint threat
    double miss_x, miss_y                    # where it passes, relative to the seat
    double shot_vx, shot_vy

cdef struct Wish:
    double move_x, move_y                    # any length; both 0 is to stand
    double aim_x, aim_y
    bint fire
    int32_t ability


cdef inline void look(
    const float* obs, const uint8_t* mask, bint classic19, Sight* s
) noexcept nogil:
    s.x = obs[0] * WALL
    s.y = obs[1] * WALL
    s.hp = obs[4] * HEALTH
    s.ammo = obs[5] * AMMO
    s.can_fire = mask[4 * BINS + 1]
    s.can_dash = mask[4 * BINS + 2 + DASH]
    s.can_shield = mask[4 * BINS + 2 + SHIELD]
    s.can_pick = mask[4 * BINS + 5 + 1]
    s.threat = s.enemy_shielded = False
    s.enemy_vx = s.enemy_vy = 0.0
    if classic19:
        look_classic(obs, s)
    else:
        look_rich(obs, s)
    s.margin = s.zone - sqrt(square(s.x, s.y))
    s.enemy_distance = sqrt(square(s.enemy_x, s.enemy_y)) if s.enemy else SIGHT


cdef inline void look_classic(const float* obs, Sight* s) noexcept nogil:
    s.zone = obs[8] * ZONE
    s.enemy = obs[17] >= 0
    s.enemy_x = obs[10] * WALL - s.x
    s.enemy_y = obs[11] * WALL - s.y
    s.enemy_hp = obs[12] * HEALTH
    s.item = obs[18] >= 0
    s.item_x = obs[13] * WALL - s.x
    s.item_y = obs[14] * WALL - s.y


cdef inline void look_rich(const float* obs, Sight* s) noexcept nogil:
    cdef const float* part = obs + RICH_ENEMY
    cdef int i, best = -1, worth
    s.zone = obs[11] * ZONE
    s.enemy = part[0] > 0
    s.enemy_x = part[1] * SIGHT
    s.enemy_y = part[2] * SIGHT
    s.enemy_vx = part[3] * DASH_SPEED
    s.enemy_vy = part[4] * DASH_SPEED
    s.enemy_hp = part[5] * HEALTH
    s.enemy_shielded = part[6] > 0
    s.item = False
    for i in range(SEEN_ITEMS):
        part = obs + RICH_ITEM + i * ITEM_SIZE
        if part[0] > 0:
            worth = (part[3] > 0 and s.hp < 90) or (part[4] > 0 and s.ammo < 24)
            if worth > best:
                best = worth
                s.item = True
                s.item_x = part[1] * SIGHT
                s.item_y = part[2] * SIGHT
    look_at_shots(obs + RICH_SHOT, s)


cdef inline void look_at_shots(const float* part, Sight* s) noexcept nogil:
    """Keep the shot that arrives first among those that pass within a body's width."""
    cdef int i
    cdef double x, y, vx, vy, t, first = 0.4
    for i in range(SEEN_SHOTS):
        if part[0] > 0:
            x = part[1] * SIGHT
            y = part[2] * SIGHT
            vx = part[3] * SHOT_SPEED
            vy = part[4] * SHOT_SPEED
            t = -(x * vx + y * vy) / (SHOT_SPEED * SHOT_SPEED)
            if t < first and square(x + vx * t, y + vy * t) < 1.44:
                first = t
                s.threat = True
                s.miss_x = x + vx * t
                s.miss_y = y + vy * t
                s.shot_vx = vx
                s.shot_vy = vy
        part += SHOT_SIZE


cdef inline void to_bins(double x, double y, int32_t* bin_x, int32_t* bin_y) noexcept nogil:
    """Find the pair of bins that points most nearly along (x, y); length does not matter."""
    cdef double longest = x if x > 0 else -x, length = sqrt(square(x, y)), u, v, fit, best = -2.0
    cdef int reach
    bin_x[0] = bin_y[0] = CENTRE
    if length == 0.0:
        return
    if y > longest or -y > longest:
        longest = y if y > 0 else -y
    for reach in range(5, 0, -1):
        u = floor(x / longest * reach + 0.5)
        v = floor(y / longest * reach + 0.5)
        fit = (u * x + v * y) / (sqrt(square(u, v)) * length)
        if fit > best:
            best = fit
            bin_x[0] = CENTRE + <int32_t>u
            bin_y[0] = CENTRE + <int32_t>v


cdef inline void write_action(const Sight* s, const Wish* w, int32_t* out) noexcept nogil:
    """Turn a wish into an action that the mask allows."""
    cdef bint fire = w.fire and s.can_fire and (w.aim_x != 0.0 or w.aim_y != 0.0)
    to_full_step(w.move_x, w.move_y, &out[MOVE_X], &out[MOVE_Y])
    out[AIM_X] = out[AIM_Y] = CENTRE
    if fire:
        to_bins(w.aim_x, w.aim_y, &out[AIM_X], &out[AIM_Y])
    out[FIRE] = fire
    out[ABILITY] = w.ability
    if (w.ability == DASH and not s.can_dash) or (w.ability == SHIELD and not s.can_shield):
        out[ABILITY] = NO_ABILITY
    out[INTERACT] = s.can_pick


cdef inline void to_full_step(double x, double y, int32_t* bin_x, int32_t* bin_y) noexcept nogil:
    """Bins along (x, y) for walking at full speed: the larger of the two is always at its end."""
    cdef double longest = x if x > 0 else -x
    bin_x[0] = bin_y[0] = CENTRE
    if y > longest or -y > longest:
        longest = y if y > 0 else -y
    if longest > 0.0:
        bin_x[0] = CENTRE + <int32_t>floor(x / longest * 5.0 + 0.5)
        bin_y[0] = CENTRE + <int32_t>floor(y / longest * 5.0 + 0.5)
