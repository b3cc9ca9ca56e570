"""Redraws what a seat cannot see. What it does see stays, to the last bit.

Drawn: where unseen enemies are and how they fare, everybody's ammo and waits, unseen shots of
others, unseen items, and the match's own chance. Each of these, taken alone, could have come about
by now. How many unseen shots and items there are stays, and what the seat saw earlier is not
remembered, because the match does not keep it.
Within sight means the same for both layouts, though the classic one shows less of it.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint64_t

from lanista.games.arena.rules cimport inside_walls, point_in_disc, read_order
from lanista.games.arena.state cimport (
    AMMO, BINS, Body, DAMAGE, DASH_SPEED, DASH_TICKS, DASH_WAIT, FIRE_WAIT, HEADS, HEALTH,
    HEALTH_ITEM, ITEMS, ITEM_SPREAD, Item, MOVE_X, MOVE_Y, Match, NOTHING, Order, Rules,
    SHIELD_TICKS, SHIELD_WAIT, SHOT_LIFE, SHOT_SPEED, SIGHT, SPEED, Shot, TICK, dashing, shielded,
    square,
)
from lanista.games.streams cimport below, next_word, uniform

cdef enum:
    TRIES = 64      # after these a thing stays where it is, which is always possible


cdef inline void redraw(Match* m, const Rules* rules, int seat, uint64_t* stream) noexcept nogil:
    cdef const Body* own = &m.body[seat]
    cdef Body* b
    cdef int other, i
    for other in range(rules.seats):
        b = &m.body[other]
        if other == seat or not b.alive:
            continue
        if square(b.x - own.x, b.y - own.y) > SIGHT * SIGHT:
            b.dash_wait = b.shield_wait = 0  # nor can the seat see a dash or a shield there
            redraw_stock(m, b, 1, 1, stream)
            redraw_body(m, rules, own, b, stream)
        else:
            redraw_stock(m, b, DASH_TICKS, SHIELD_TICKS, stream)
    for i in range(m.shots):
        if m.shot[i].owner != seat:
            redraw_shot(m, own, &m.shot[i], stream)
    for i in range(ITEMS):
        if m.item[i].kind != NOTHING:
            redraw_item(own, &m.item[i], stream)
    m.chance = next_word(stream)


cdef inline bint draw_unseen(
    const Body* own, double x, double y, double radius, uint64_t* stream, double* to_x, double* to_y
) noexcept nogil:
    """Draw a place within the walls, out of sight, no further than `radius` from (x, y)."""
    cdef int i
    cdef double u, v
    for i in range(TRIES):
        point_in_disc(stream, &u, &v)
        u = x + u * radius
        v = y + v * radius
        if (inside_walls(u) == u and inside_walls(v) == v
                and square(u - own.x, v - own.y) > SIGHT * SIGHT):
            to_x[0] = u
            to_y[0] = v
            return True
    return False


cdef inline void redraw_body(
    const Match* m, const Rules* rules, const Body* own, Body* b, uint64_t* stream
) noexcept nogil:
    """An unseen enemy is anywhere it can have walked and dashed to, hurt by what can have hit."""
    cdef double dashes = <double>(m.tick / DASH_WAIT + 1)
    cdef double far = SPEED * TICK * m.tick + (DASH_SPEED - SPEED) * TICK * DASH_TICKS * dashes
    cdef double most_lost = DAMAGE * (rules.seats - 1) * (m.tick / FIRE_WAIT)
    cdef int32_t action[HEADS]
    cdef Order order
    cdef int i
    if m.tick == 0:
        return  # everybody stands where the start put them
    draw_unseen(own, b.start_x, b.start_y, far, stream, &b.x, &b.y)
    for i in range(HEADS):
        action[i] = 0
    action[MOVE_X] = <int32_t>below(stream, BINS)
    action[MOVE_Y] = <int32_t>below(stream, BINS)
    read_order(action, &order)
    b.vx = order.move_x * (DASH_SPEED if dashing(b) else SPEED)
    b.vy = order.move_y * (DASH_SPEED if dashing(b) else SPEED)
    b.hp = HEALTH - uniform(stream) * (most_lost if most_lost < HEALTH else HEALTH)


cdef inline int32_t draw_wait(int tick, int wait, int least, uint64_t* stream) noexcept nogil:
    """Draw the ticks left of a wait that began at least `least` ticks ago, or never."""
    cdef int since = least + <int>below(stream, 2 * wait)
    return 0 if since > tick or since >= wait else wait - since


cdef inline void redraw_stock(
    const Match* m, Body* b, int dash_ago, int shield_ago, uint64_t* stream
) noexcept nogil:
    """Ammo and waits are never seen; that a shield is up or a dash under way is, in sight.

    One that is not under way began at least `dash_ago` or `shield_ago` ticks ago.
    """
    cdef int most_spent = (m.tick + FIRE_WAIT - 1) / FIRE_WAIT
    if most_spent > AMMO:
        most_spent = AMMO
    b.ammo = AMMO - <int32_t>below(stream, most_spent + 1)
    b.fire_wait = draw_wait(m.tick, FIRE_WAIT, 1, stream)
    if not dashing(b):
        b.dash_wait = draw_wait(m.tick, DASH_WAIT, dash_ago, stream)
    if not shielded(b):
        b.shield_wait = draw_wait(m.tick, SHIELD_WAIT, shield_ago, stream)


cdef inline void redraw_shot(
    const Match* m, const Body* own, Shot* s, uint64_t* stream
) noexcept nogil:
    """A shot out of sight is anywhere around, on any course, of any age."""
    cdef double x, y, length
    cdef int oldest = m.tick if m.tick < SHOT_LIFE else SHOT_LIFE - 1
    if square(s.x - own.x, s.y - own.y) <= SIGHT * SIGHT:
        return
    draw_unseen(own, own.x, own.y, 3.0 * SIGHT, stream, &s.x, &s.y)
    point_in_disc(stream, &x, &y)
    length = sqrt(square(x, y))
    if length > 0.0:
        s.vx = x / length * SHOT_SPEED
        s.vy = y / length * SHOT_SPEED
    if oldest > 0:
        s.life = SHOT_LIFE - 1 - <int32_t>below(stream, oldest)


cdef inline void redraw_item(const Body* own, Item* item, uint64_t* stream) noexcept nogil:
    if square(item.x - own.x, item.y - own.y) > SIGHT * SIGHT:
        draw_unseen(own, 0.0, 0.0, ITEM_SPREAD, stream, &item.x, &item.y)
        item.kind = HEALTH_ITEM + <int32_t>below(stream, 2)
