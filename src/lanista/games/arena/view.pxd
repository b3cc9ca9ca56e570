"""What a seat sees, as numbers. Reads a match, changes nothing.

layout.py names the fields in the order in which they are written here. Only what is within sight
is seen; what is absent is told apart from zero.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t

from lanista.games.arena.state cimport (
    AMMO, AMMO_ITEM, Body, DASH_SPEED, DASH_WAIT, FIRE_WAIT, HEALTH, HEALTH_ITEM, ITEMS, ITEM_EVERY,
    Item, Match, NOTHING, Rules, SHIELD_WAIT, SHOT_SPEED, SIGHT, Shot, TICKS_A_SECOND, WALL, ZONE,
    ZONE_HURT_END, dashing, shielded, square, zone_hurt, zone_radius,
)

cdef enum:
    # How many of each the rich observation and the privileged view show.
    SEEN_ENEMIES = 3
    SEEN_SHOTS = 4
    SEEN_ITEMS = 3
    PRIVILEGED_SHOTS = 8

cdef enum:
    # Where things begin in the rich observation.
    RICH_ENEMY = 18
    ENEMY_SIZE = 7
    RICH_SHOT = RICH_ENEMY + SEEN_ENEMIES * ENEMY_SIZE
    SHOT_SIZE = 5
    RICH_ITEM = RICH_SHOT + SEEN_SHOTS * SHOT_SIZE
    ITEM_SIZE = 5
    RICH_SIZE = RICH_ITEM + SEEN_ITEMS * ITEM_SIZE

cdef enum:
    MOST_LISTED = 8

cdef struct Nearest:
    # The nearest few of something, nearest first; the earlier one first among equals.
    int32_t count, most
    int32_t id[MOST_LISTED]
    double distance[MOST_LISTED]   # squared


cdef inline void consider(Nearest* found, double distance, int id) noexcept nogil:
    cdef int at = found.count
    if at == found.most:
        if distance >= found.distance[at - 1]:
            return
        at -= 1
    else:
        found.count += 1
    while at > 0 and distance < found.distance[at - 1]:
        found.distance[at] = found.distance[at - 1]
        found.id[at] = found.id[at - 1]
        at -= 1
    found.distance[at] = distance
    found.id[at] = id


cdef inline int nearest_living(const Match* m, int seats, int seat) noexcept nogil:
    """Return the living seat nearest to `seat`, seen or not, or -1."""
    cdef int step, other, found = -1
    cdef double d, nearest = 0.0
    for step in range(1, seats):
        other = seat + step if seat + step < seats else seat + step - seats
        if m.body[other].alive:
            d = square(m.body[other].x - m.body[seat].x, m.body[other].y - m.body[seat].y)
            if found < 0 or d < nearest:
                nearest = d
                found = other
    return found


cdef inline void classic(const Match* m, const Rules* rules, int seat, float* out) noexcept nogil:
    """Write the nineteen numbers of the earlier programs."""
    cdef const Body* b = &m.body[seat]
    cdef const Body* enemy = NULL
    cdef const Item* item = NULL
    cdef double d, radius = zone_radius(rules, m.tick)
    cdef double enemy_distance = SIGHT * SIGHT, item_distance = SIGHT * SIGHT
    cdef int step, other, i, enemies = 0, items = 0
    for step in range(1, rules.seats):
        other = seat + step if seat + step < rules.seats else seat + step - rules.seats
        if m.body[other].alive:
            d = square(m.body[other].x - b.x, m.body[other].y - b.y)
            if d <= SIGHT * SIGHT:
                enemies += 1
                if enemy == NULL or d < enemy_distance:
                    enemy = &m.body[other]
                    enemy_distance = d
    for i in range(ITEMS):
        if m.item[i].kind != NOTHING:
            d = square(m.item[i].x - b.x, m.item[i].y - b.y)
            if d <= SIGHT * SIGHT:
                items += 1
                if item == NULL or d < item_distance:
                    item = &m.item[i]
                    item_distance = d
    out[0] = <float>(b.x / WALL)
    out[1] = <float>(b.y / WALL)
    out[2] = <float>(b.vx / DASH_SPEED)
    out[3] = <float>(b.vy / DASH_SPEED)
    out[4] = <float>(b.hp / HEALTH)
    out[5] = <float>(b.ammo / <double>AMMO)
    out[6] = 0.0
    out[7] = 0.0
    out[8] = <float>(radius / ZONE)
    out[9] = square(b.x, b.y) <= radius * radius
    out[10] = <float>(enemy.x / WALL) if enemy != NULL else 0.0
    out[11] = <float>(enemy.y / WALL) if enemy != NULL else 0.0
    out[12] = <float>(enemy.hp / HEALTH) if enemy != NULL else -1.0
    out[13] = <float>(item.x / WALL) if item != NULL else 0.0
    out[14] = <float>(item.y / WALL) if item != NULL else 0.0
    out[15] = <float>(enemies / 7.0)
    out[16] = <float>(items / 5.0)
    out[17] = <float>(sqrt(enemy_distance) / SIGHT) if enemy != NULL else -1.0
    out[18] = <float>(sqrt(item_distance) / SIGHT) if item != NULL else -1.0


cdef inline void rich(const Match* m, const Rules* rules, int seat, float* out) noexcept nogil:
    cdef int i
    for i in range(RICH_SIZE):
        out[i] = 0.0
    write_own(m, rules, seat, out)
    write_enemies(m, rules.seats, seat, out + RICH_ENEMY)
    write_shots(m, seat, SEEN_SHOTS, True, out + RICH_SHOT)
    write_items(m, seat, out + RICH_ITEM)


cdef inline void write_fighter(const Body* b, float* out) noexcept nogil:
    """Write the eleven numbers that a fighter knows of itself."""
    out[0] = <float>(b.x / WALL)
    out[1] = <float>(b.y / WALL)
    out[2] = <float>(b.vx / DASH_SPEED)
    out[3] = <float>(b.vy / DASH_SPEED)
    out[4] = <float>(b.hp / HEALTH)
    out[5] = <float>(b.ammo / <double>AMMO)
    out[6] = <float>(b.fire_wait / <double>FIRE_WAIT)
    out[7] = <float>(b.dash_wait / <double>DASH_WAIT)
    out[8] = dashing(b)
    out[9] = <float>(b.shield_wait / <double>SHIELD_WAIT)
    out[10] = shielded(b)


cdef inline void write_own(const Match* m, const Rules* rules, int seat, float* out) noexcept nogil:
    cdef const Body* b = &m.body[seat]
    cdef double radius = zone_radius(rules, m.tick), away = square(b.x, b.y)
    write_fighter(b, out)
    out[11] = <float>(radius / ZONE)
    out[12] = <float>(zone_radius(rules, m.tick + 5 * TICKS_A_SECOND) / ZONE)
    out[13] = <float>((radius - sqrt(away)) / ZONE)
    out[14] = <float>(zone_hurt(rules, m.tick) / ZONE_HURT_END)
    out[15] = away <= radius * radius
    out[16] = <float>((rules.ticks - m.tick) / <double>rules.ticks)
    out[17] = <float>((m.alive - 1) / 7.0)


cdef inline void write_enemies(const Match* m, int seats, int seat, float* out) noexcept nogil:
    cdef const Body* b = &m.body[seat]
    cdef const Body* e
    cdef Nearest found
    cdef int step, other, i
    cdef double d
    found.count = 0
    found.most = SEEN_ENEMIES
    for step in range(1, seats):
        other = seat + step if seat + step < seats else seat + step - seats
        if m.body[other].alive:
            d = square(m.body[other].x - b.x, m.body[other].y - b.y)
            if d <= SIGHT * SIGHT:
                consider(&found, d, other)
    for i in range(found.count):
        e = &m.body[found.id[i]]
        out[0] = 1.0
        out[1] = <float>((e.x - b.x) / SIGHT)
        out[2] = <float>((e.y - b.y) / SIGHT)
        out[3] = <float>(e.vx / DASH_SPEED)
        out[4] = <float>(e.vy / DASH_SPEED)
        out[5] = <float>(e.hp / HEALTH)
        out[6] = shielded(e)
        out += ENEMY_SIZE


cdef inline void write_shots(
    const Match* m, int seat, int most, bint incoming, float* out
) noexcept nogil:
    """Write the nearest shots of others: with `incoming`, those in sight that come nearer."""
    cdef const Body* b = &m.body[seat]
    cdef const Shot* s
    cdef Nearest found
    cdef int i
    cdef double dx, dy, d
    found.count = 0
    found.most = most
    for i in range(m.shots):
        s = &m.shot[i]
        if s.owner == seat:
            continue
        dx = s.x - b.x
        dy = s.y - b.y
        d = square(dx, dy)
        if not incoming or (d <= SIGHT * SIGHT and dx * s.vx + dy * s.vy < 0.0):
            consider(&found, d, i)
    for i in range(found.count):
        s = &m.shot[found.id[i]]
        out[0] = 1.0
        out[1] = <float>((s.x - b.x) / (SIGHT if incoming else WALL))
        out[2] = <float>((s.y - b.y) / (SIGHT if incoming else WALL))
        out[3] = <float>(s.vx / SHOT_SPEED)
        out[4] = <float>(s.vy / SHOT_SPEED)
        out += SHOT_SIZE


cdef inline void write_items(const Match* m, int seat, float* out) noexcept nogil:
    cdef const Body* b = &m.body[seat]
    cdef const Item* item
    cdef Nearest found
    cdef int i
    cdef double d
    found.count = 0
    found.most = SEEN_ITEMS
    for i in range(ITEMS):
        if m.item[i].kind != NOTHING:
            d = square(m.item[i].x - b.x, m.item[i].y - b.y)
            if d <= SIGHT * SIGHT:
                consider(&found, d, i)
    for i in range(found.count):
        item = &m.item[found.id[i]]
        out[0] = 1.0
        out[1] = <float>((item.x - b.x) / SIGHT)
        out[2] = <float>((item.y - b.y) / SIGHT)
        out[3] = item.kind == HEALTH_ITEM
        out[4] = item.kind == AMMO_ITEM
        out += ITEM_SIZE


cdef inline void everything(const Match* m, const Rules* rules, int seat, float* out) noexcept nogil:
    """Write the privileged view: every seat, own first, every item, the shots that threaten."""
    cdef int step, i
    cdef const Body* b
    for step in range(rules.seats):
        b = &m.body[(seat + step) % rules.seats]
        out[0] = b.alive
        write_fighter(b, out + 1)
        out += 12
    for i in range(ITEMS):
        out[0] = m.item[i].kind != NOTHING
        out[1] = <float>(m.item[i].x / WALL) if out[0] else 0.0
        out[2] = <float>(m.item[i].y / WALL) if out[0] else 0.0
        out[3] = m.item[i].kind == HEALTH_ITEM
        out[4] = m.item[i].kind == AMMO_ITEM
        out += ITEM_SIZE
    for i in range(PRIVILEGED_SHOTS * SHOT_SIZE):
        out[i] = 0.0
    write_shots(m, seat, PRIVILEGED_SHOTS, False, out)
    out += PRIVILEGED_SHOTS * SHOT_SIZE
    out[0] = <float>(zone_radius(rules, m.tick) / ZONE)
    out[1] = <float>(zone_hurt(rules, m.tick) / ZONE_HURT_END)
    out[2] = <float>((rules.ticks - m.tick) / <double>rules.ticks)
    out[3] = <float>((m.tick % ITEM_EVERY) / <double>ITEM_EVERY)
