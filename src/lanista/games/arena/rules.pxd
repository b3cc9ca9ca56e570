"""The rules of one tick. Sees no observation and pays nobody.

Every step treats all seats alike and at once, so that a mirrored position with mirrored orders
stays mirrored to the last bit. Only + - * / and square roots, so that every machine agrees.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint64_t

from lanista.games.arena.state cimport (
    ABILITY, AIM_X, AIM_Y, AMMO, AMMO_ITEM, Body, CENTRE, DAMAGE, DASH, DASH_SPEED, DASH_WAIT,
    FIRE, FIRE_WAIT, HEAL, HEALTH, HEALTH_ITEM, HIT_RADIUS, INTERACT, ITEMS, ITEM_EVERY,
    ITEM_SPREAD, Item, MOVE_X, MOVE_Y, Match, NOTHING, Order, REACH, REFILL, Rules, SEATS, SEAT_SHOTS,
    SHIELD, SHIELD_WAIT, SHOT_LIFE, SHOT_SPEED, SPEED, Shot, TICK, WALL, dashing, shielded, square,
    zone_hurt, zone_radius,
)
from lanista.games.streams cimport below, uniform


cdef inline void point_in_disc(uint64_t* stream, double* x, double* y) noexcept nogil:
    """Draw evenly from the disc of radius 1."""
    while True:
        x[0] = 2.0 * uniform(stream) - 1.0
        y[0] = 2.0 * uniform(stream) - 1.0
        if square(x[0], y[0]) <= 1.0:
            return


cdef inline void read_order(const int32_t* action, Order* order) noexcept nogil:
    cdef double x = (action[MOVE_X] - CENTRE) / 5.0, y = (action[MOVE_Y] - CENTRE) / 5.0, length
    if square(x, y) > 1.0:  # a diagonal is not faster
        length = sqrt(square(x, y))
        x = x / length
        y = y / length
    order.move_x = x
    order.move_y = y
    order.aim_x = order.aim_y = 0.0
    # A shot without a direction is not fired.
    order.fire = action[FIRE] and (action[AIM_X] != CENTRE or action[AIM_Y] != CENTRE)
    if order.fire:
        x = (action[AIM_X] - CENTRE) / 5.0
        y = (action[AIM_Y] - CENTRE) / 5.0
        length = sqrt(square(x, y))
        order.aim_x = x / length
        order.aim_y = y / length
    order.ability = action[ABILITY]
    order.interact = action[INTERACT]


cdef inline void tick(Match* m, const Rules* rules, const Order* order) noexcept nogil:
    cdef int32_t hits[SEATS]
    cdef int seat
    cdef bint picking = False
    for seat in range(rules.seats):
        hits[seat] = 0
        if m.body[seat].alive:
            use_ability(&m.body[seat], &order[seat])
            picking = picking or order[seat].interact
    if picking:
        pick_up(m, rules.seats, order)
    for seat in range(rules.seats):
        if m.body[seat].alive:
            walk(&m.body[seat], &order[seat])
            if order[seat].fire:
                shoot(m, rules.seats, seat, &order[seat])
    fly(m, rules.seats, hits)
    settle(m, rules, hits)
    m.tick += 1
    if m.tick % ITEM_EVERY == 0:
        drop_item(m, rules)


cdef inline void use_ability(Body* b, const Order* order) noexcept nogil:
    if order.ability == DASH and b.dash_wait == 0:
        b.dash_wait = DASH_WAIT
    elif order.ability == SHIELD and b.shield_wait == 0:
        b.shield_wait = SHIELD_WAIT


cdef inline int item_in_reach(const Match* m, const Body* b, double* distance) noexcept nogil:
    """Return the nearest item within reach, or -1; `distance` gets its square."""
    cdef int i, found = -1
    cdef double d
    distance[0] = REACH * REACH
    for i in range(ITEMS):
        if m.item[i].kind == NOTHING:
            continue
        d = square(m.item[i].x - b.x, m.item[i].y - b.y)
        if d < distance[0] or (found < 0 and d == distance[0]):
            distance[0] = d
            found = i
    return found


cdef inline void pick_up(Match* m, int seats, const Order* order) noexcept nogil:
    """The nearest of those who reach for an item gets it; equals each get it."""
    cdef int32_t wanted[SEATS]
    cdef double distance[SEATS]
    cdef int seat, other
    cdef bint nearest
    for seat in range(seats):
        wanted[seat] = -1
        if m.body[seat].alive and order[seat].interact:
            wanted[seat] = item_in_reach(m, &m.body[seat], &distance[seat])
    for seat in range(seats):
        if wanted[seat] < 0:
            continue
        nearest = True
        for other in range(seats):
            if wanted[other] == wanted[seat] and distance[other] < distance[seat]:
                nearest = False
        if nearest:
            use_item(&m.body[seat], m.item[wanted[seat]].kind)
    for seat in range(seats):
        if wanted[seat] >= 0:
            m.item[wanted[seat]].kind = NOTHING


cdef inline void use_item(Body* b, int kind) noexcept nogil:
    if kind == HEALTH_ITEM:
        b.hp = b.hp + HEAL if b.hp + HEAL < HEALTH else HEALTH
    elif kind == AMMO_ITEM:
        b.ammo = b.ammo + REFILL if b.ammo + REFILL < AMMO else AMMO


cdef inline double inside_walls(double x) noexcept nogil:
    return WALL if x > WALL else -WALL if x < -WALL else x


cdef inline void walk(Body* b, const Order* order) noexcept nogil:
    cdef double speed = DASH_SPEED if dashing(b) else SPEED
    b.vx = order.move_x * speed
    b.vy = order.move_y * speed
    b.x = inside_walls(b.x + b.vx * TICK)
    b.y = inside_walls(b.y + b.vy * TICK)


cdef inline void shoot(Match* m, int seats, int seat, const Order* order) noexcept nogil:
    cdef Body* b = &m.body[seat]
    cdef Shot* s
    if b.fire_wait > 0 or b.ammo == 0:
        return
    # Waits keep play below this; a match redrawn again and again can gather more shots.
    if m.shots == seats * SEAT_SHOTS:
        return
    b.ammo -= 1
    b.fire_wait = FIRE_WAIT
    s = &m.shot[m.shots]
    m.shots += 1
    s.x = b.x
    s.y = b.y
    s.vx = order.aim_x * SHOT_SPEED
    s.vy = order.aim_y * SHOT_SPEED
    s.owner = seat
    s.life = SHOT_LIFE


cdef inline void fly(Match* m, int seats, int32_t* hits) noexcept nogil:
    """Move every shot; those that hit, ran out or left the arena are gone."""
    cdef int i, kept = 0
    cdef Shot* s
    for i in range(m.shots):
        s = &m.shot[i]
        s.x += s.vx * TICK
        s.y += s.vy * TICK
        s.life -= 1
        if strike(m, seats, s, hits):
            continue
        if s.life <= 0 or s.x > WALL or s.x < -WALL or s.y > WALL or s.y < -WALL:
            continue
        if kept != i:
            m.shot[kept] = s[0]
        kept += 1
    m.shots = kept


cdef inline bint strike(Match* m, int seats, const Shot* s, int32_t* hits) noexcept nogil:
    """A shot hits the nearest living seat within the hit radius but never its owner."""
    cdef int seat
    cdef double d, nearest = HIT_RADIUS * HIT_RADIUS
    cdef bint found = False
    for seat in range(seats):
        if seat != s.owner and m.body[seat].alive:
            d = square(m.body[seat].x - s.x, m.body[seat].y - s.y)
            if d <= nearest:
                nearest = d
                found = True
    if not found:
        return False
    for seat in range(seats):  # equals are all hit
        if (seat != s.owner and m.body[seat].alive and not shielded(&m.body[seat])
                and square(m.body[seat].x - s.x, m.body[seat].y - s.y) == nearest):
            hits[seat] += 1
            m.body[s.owner].dealt += DAMAGE
    return True


cdef inline void settle(Match* m, const Rules* rules, const int32_t* hits) noexcept nogil:
    """Take hp for hits and for being outside the zone; count the dead and the waits."""
    cdef int seat
    cdef Body* b
    cdef double radius = zone_radius(rules, m.tick), hurt
    for seat in range(rules.seats):
        b = &m.body[seat]
        if not b.alive:
            continue
        hurt = DAMAGE * hits[seat]
        if square(b.x, b.y) > radius * radius:
            hurt = hurt + zone_hurt(rules, m.tick) * TICK
        b.hp -= hurt
        b.fire_wait -= b.fire_wait > 0
        b.dash_wait -= b.dash_wait > 0
        b.shield_wait -= b.shield_wait > 0
        if b.hp <= 0.0:
            b.hp = b.vx = b.vy = 0.0
            b.alive = 0
            b.died = m.tick + 1
            m.alive -= 1


cdef inline void drop_item(Match* m, const Rules* rules) noexcept nogil:
    """Lay one item at random, unless five lie about."""
    cdef int i
    cdef Item* item
    cdef double spread = zone_radius(rules, m.tick)
    if spread > ITEM_SPREAD:
        spread = ITEM_SPREAD
    for i in range(ITEMS):
        item = &m.item[i]
        if item.kind == NOTHING:
            point_in_disc(&m.chance, &item.x, &item.y)
            item.x = item.x * spread
            item.y = item.y * spread
            item.kind = HEALTH_ITEM + <int32_t>below(&m.chance, 2)
            return
