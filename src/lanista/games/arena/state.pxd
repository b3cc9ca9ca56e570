"""The arena's numbers and the struct of one match. Knows no rule.

Times are whole ticks, thirty a second; lengths are units; everything that moves is a double.
"""

from libc.stdint cimport int32_t, uint64_t

cdef extern from *:
    """
    static const double TICK = 1.0 / 30.0;      /* seconds */
    static const double WALL = 50.0;            /* nobody leaves the square of this half side */
    static const double HEALTH = 100.0;
    static const double SPEED = 5.0;            /* units a second */
    static const double DASH_SPEED = 15.0;
    static const double SIGHT = 10.0;
    static const double SHOT_SPEED = 20.0;
    static const double DAMAGE = 10.0;
    static const double HIT_RADIUS = 1.0;
    static const double REACH = 2.0;            /* how far an item can be picked up */
    static const double HEAL = 25.0;
    static const double ITEM_SPREAD = 15.0;     /* items fall no further from the origin */
    static const double ZONE = 50.0;            /* the zone's first radius */
    static const double LAST_ZONE = 3.0;        /* and its last */
    static const double ZONE_HURT = 1.0;        /* hp a second outside, at the start */
    static const double ZONE_HURT_END = 5.0;    /* and at the time limit */
    """
    const double TICK, WALL, HEALTH, SPEED, DASH_SPEED, SIGHT, SHOT_SPEED, DAMAGE, HIT_RADIUS
    const double REACH, HEAL, ITEM_SPREAD, ZONE, LAST_ZONE, ZONE_HURT, ZONE_HURT_END

cdef enum:
    TICKS_A_SECOND = 30
    SEATS = 8                 # the most
    AMMO = 30
    REFILL = 15
    SHOT_LIFE = 150
    FIRE_WAIT = 6
    DASH_WAIT = 90            # from the start of one dash to the next
    DASH_TICKS = 6
    SHIELD_WAIT = 150
    SHIELD_TICKS = 15
    ITEM_EVERY = 150
    ITEMS = 5                 # the most that lie about
    SEAT_SHOTS = 25           # SHOT_LIFE / FIRE_WAIT: the most that one seat has in the air

cdef enum:
    NOTHING = 0
    HEALTH_ITEM = 1
    AMMO_ITEM = 2

cdef enum:
    MOVE_X, MOVE_Y, AIM_X, AIM_Y, FIRE, ABILITY, INTERACT, HEADS

cdef enum:
    BINS = 11
    CENTRE = 5                # the bin that means 0

cdef enum:
    NO_ABILITY = 0
    DASH = 1
    SHIELD = 2

cdef struct Body:
    double x, y, vx, vy
    double hp
    double dealt              # damage of this seat's shots that landed
    double start_x, start_y
    int32_t ammo
    int32_t fire_wait         # ticks until it can be done again
    int32_t dash_wait
    int32_t shield_wait
    int32_t alive
    int32_t died              # the tick after which it was dead; 0 while it lives

cdef struct Shot:
    double x, y, vx, vy
    int32_t owner
    int32_t life              # ticks left

cdef struct Item:
    double x, y
    int32_t kind
    int32_t unused

cdef struct Match:
    uint64_t chance
    int32_t tick
    int32_t shots
    int32_t alive
    int32_t unused
    Item item[ITEMS]
    Body body[SEATS]
    Shot shot[SEATS * SEAT_SHOTS]   # a game with fewer seats keeps only the part it can fill

cdef struct Rules:
    int32_t seats
    int32_t ticks             # the time limit
    int32_t shrink            # ticks until the zone has its last radius
    int32_t ticks_per_decision

cdef struct Order:
    double move_x, move_y     # no longer than 1
    double aim_x, aim_y       # of length 1, or both 0
    int32_t fire, ability, interact


cdef inline bint dashing(const Body* b) noexcept nogil:
    return b.dash_wait > DASH_WAIT - DASH_TICKS


cdef inline bint shielded(const Body* b) noexcept nogil:
    return b.shield_wait > SHIELD_WAIT - SHIELD_TICKS


cdef inline double square(double x, double y) noexcept nogil:
    return x * x + y * y


cdef inline double zone_radius(const Rules* rules, int tick) noexcept nogil:
    if tick >= rules.shrink:
        return LAST_ZONE
    return ZONE - (ZONE - LAST_ZONE) * tick / rules.shrink


cdef inline double zone_hurt(const Rules* rules, int tick) noexcept nogil:
    """Hp a second outside."""
    return ZONE_HURT + (ZONE_HURT_END - ZONE_HURT) * tick / rules.ticks
