"""What moves take and whether they hit, in C: the numbers of damage.py, bit for bit.

A fighter is read once into a `Sheet`, a set of moves once for ever into an `Arsenal`; damage.py
stays the formula, and is asked for the powers and types that hang on more than the move. Knows
nothing of battles beyond the fighters it is given.
"""

from functools import lru_cache

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport ldexp, nearbyint
from libc.stdint cimport int16_t, uint64_t

from lanista.games.showdown.protocol.vocabulary import IMMUNE, UNTOLD, dex, number_of
from lanista.games.showdown.scripted import damage

cdef enum:
    TYPES = 64
    NO_EFFECT = -4
    VERSUS = 7

cdef enum:  # What a move is.
    FIXED_DAMAGE = 1
    POWER_ASKED = 2
    TYPE_ASKED = 4
    CRITICAL_ALWAYS = 8
    BREAKS_SCREENS = 16
    HITS_DEFENSE = 32
    BODY_PRESS = 64
    FOUL_PLAY = 128
    TERA_BLAST = 256
    SHAKES_GROUND = 512
    SURE_IN_RAIN = 1024
    FACADE = 2048

cdef enum:  # What a fighter has.
    TECHNICIAN = 1
    ADAPTABILITY = 2
    GUTS = 4
    INFILTRATOR = 8
    FUR_COAT = 16
    SCALES = 32
    FILTER = 64
    NO_GUARD = 128
    LIFE_ORB = 256
    CHOICE_BAND = 512
    CHOICE_SPECS = 1024
    EXPERT_BELT = 2048
    AIR_BALLOON = 4096
    ASSAULT_VEST = 8192
    EVIOLITE = 16384
    BURNT = 1 << 15
    AILING = 1 << 16
    TERA = 1 << 17
    REFLECT = 1 << 18
    LIGHT_SCREEN = 1 << 19
    VEIL = 1 << 20
    FLYING = 1 << 21
    HELD_ON = 1 << 22

cdef struct Attack:
    int number, type, category, power, accuracy, flags
    double hits

cdef int _chart[TYPES][TYPES]
cdef Attack* _attacks = NULL
cdef double MEAN_ROLL = damage.MEAN_ROLL
cdef double CRITICAL = damage.CRITICAL
cdef double SPREAD = damage.SPREAD
cdef double LEAST_ROLL = damage.LEAST_ROLL
cdef int MOST_SHARE = damage.MOST_SHARE
cdef int IMMUNE_KIND = IMMUNE
cdef int GROUND_TYPE = dex().types["ground"]
cdef int NORMAL_TYPE = dex().types["normal"]
cdef int DRAGON_TYPE = dex().types["dragon"]
cdef int ENOUGH = damage.ENOUGH_SHOWN
cdef int GUESSED = damage.GUESSED_POWER
_type_numbers = dict(dex().types)
_codes = {}
_names = []
_ABILITY_FLAGS = {
    "technician": TECHNICIAN, "adaptability": ADAPTABILITY, "guts": GUTS,
    "infiltrator": INFILTRATOR, "furcoat": FUR_COAT, "multiscale": SCALES, "shadowshield": SCALES,
    "filter": FILTER, "solidrock": FILTER, "prismarmor": FILTER, "noguard": NO_GUARD,
    "levitate": FLYING, "sturdy": HELD_ON,
}
_ITEM_FLAGS = {
    "lifeorb": LIFE_ORB, "choiceband": CHOICE_BAND, "choicespecs": CHOICE_SPECS,
    "expertbelt": EXPERT_BELT, "airballoon": AIR_BALLOON, "assaultvest": ASSAULT_VEST,
    "eviolite": EVIOLITE, "focussash": HELD_ON,
}


cdef int _type_number(str name) except -1:
    number = _type_numbers.get(name)
    return number_of(_type_numbers, name) if number is None else number


cdef int _flags_of(str name):
    cdef int flags = 0
    pairs = (
        (FIXED_DAMAGE, name in damage.FIXED),
        (POWER_ASKED, name in damage.POWERS),
        (TYPE_ASKED, name in damage.TYPE_CHANGING),
        (CRITICAL_ALWAYS, name in damage.ALWAYS_CRITICAL),
        (BREAKS_SCREENS, name in damage.SCREEN_BREAKERS),
        (HITS_DEFENSE, name in damage.AGAINST_DEFENSE),
        (BODY_PRESS, name == "bodypress"),
        (FOUL_PLAY, name == "foulplay"),
        (TERA_BLAST, name == "terablast"),
        (SHAKES_GROUND, name in damage.SHAKING),
        (SURE_IN_RAIN, name in damage.RAIN_SURE),
        (FACADE, name == "facade"),
    )
    for flag, holds in pairs:
        if holds:
            flags |= flag
    return flags


cdef void _read_tables() except *:
    """Read the type chart and every move of the dex; what it lacks has the code 0."""
    global _attacks
    cdef int code
    tables = dex()
    for (attack, target), effect in tables.weak.items():
        _chart[_type_number(attack)][_type_number(target)] = effect
    _names.extend(("", UNTOLD, *tables.moves))
    _attacks = <Attack*>PyMem_Malloc(len(_names) * sizeof(Attack))
    for code, name in enumerate(_names):
        move = tables.move_of(name)
        _codes[name] = code
        _attacks[code] = Attack(
            move.number, _type_number(move.type), move.category, move.power, move.accuracy,
            _flags_of(name), damage.HITS.get(name, 1.0),
        )
    del _codes[""]


_read_tables()


cdef class Arsenal:
    """Moves by their codes."""

    cdef readonly tuple names
    cdef int count
    cdef int* codes

    def __cinit__(self, tuple names):
        self.names, self.count = names, len(names)
        self.codes = <int*>PyMem_Malloc(max(1, self.count) * sizeof(int))
        for at, name in enumerate(names):
            self.codes[at] = _codes.get(name, 0)

    def __dealloc__(self):
        PyMem_Free(self.codes)


@lru_cache(maxsize=1 << 14)
def arsenal(names):
    """Return moves as they are reckoned with."""
    return Arsenal(names)


cdef class Air:
    """Weather and terrain as factors."""

    cdef readonly object ground
    cdef double weather[TYPES]
    cdef int terrain_type
    cdef bint misty, grassy, rain, doubles

    def __init__(self, ground):
        cdef int type
        self.ground = ground
        for type in range(TYPES):
            self.weather[type] = 1.0
        for (weather, name), factor in damage.WEATHER_FACTORS.items():
            if weather == ground.weather:
                self.weather[_type_number(name)] = factor
        terrain = damage.TERRAIN_TYPES.get(ground.terrain)
        self.terrain_type = _type_number(terrain) if terrain else -1
        self.misty = ground.terrain == "mistyterrain"
        self.grassy = ground.terrain == "grassyterrain"
        self.rain = ground.weather == "raindance"
        self.doubles = ground.doubles


@lru_cache(maxsize=256)
def air(ground):
    """Return what holds for everybody, as it is reckoned with."""
    return Air(ground)


cdef class Sheet:
    """A fighter as numbers."""

    cdef readonly object fighter
    cdef int types[8]
    cdef int count, flags, skin, item_type, aim, dodge
    cdef uint64_t now, born, absorbed
    cdef double level_factor, hp, most_hp
    cdef double stats[5]
    cdef double plain[5]
    cdef double strength[2]

    def __init__(self, fighter):
        cdef int at, stage
        self.fighter = fighter
        ability, item = fighter.ability, fighter.item or ""
        self._read_types(fighter)
        self.flags |= _ABILITY_FLAGS.get(ability, 0) | _ITEM_FLAGS.get(item, 0)
        self.level_factor = 2 * fighter.level // 5 + 2
        self.hp, self.most_hp = fighter.hp, fighter.most_hp
        stats, boosts = fighter.stats, fighter.boosts
        for at in range(5):
            stage = boosts[at]
            self.plain[at] = stats[at]
            self.stats[at] = self.plain[at] * (
                (2.0 + stage) / 2.0 if stage >= 0 else 2.0 / (2.0 - stage)
            )
        self.aim, self.dodge = boosts[5], boosts[6]
        skin, held = damage.SKIN.get(ability), damage.TYPE_ITEMS.get(item)
        self.skin = _type_number(skin) if skin else -1
        self.item_type = _type_number(held) if held else -1
        for name in damage.ABSORBED.get(ability, ()):
            self.absorbed |= (<uint64_t>1) << _type_number(name)
        self.strength[0] = damage.STRENGTHS.get((ability, False), 1.0)
        self.strength[1] = damage.STRENGTHS.get((ability, True), 1.0)
        if fighter.status:
            self.flags |= AILING | (BURNT if fighter.status == "brn" else 0)
        if fighter.terastallized:
            self.flags |= TERA
        if fighter.screens:
            self._read_screens(fighter.screens)

    cdef void _read_types(self, fighter) except *:
        for at, name in enumerate(fighter.types[:8]):
            self.types[at] = _type_number(name)
            self.now |= (<uint64_t>1) << self.types[at]
            self.count += 1
            if name == "flying":
                self.flags |= FLYING
        for name in fighter.born:
            self.born |= (<uint64_t>1) << _type_number(name)

    cdef void _read_screens(self, screens) except *:
        for name, flag in (("reflect", REFLECT), ("lightscreen", LIGHT_SCREEN), ("auroraveil", VEIL)):
            if name in screens:
                self.flags |= flag


cdef int _kind(int type, Sheet target) noexcept:
    cdef int at, total = 0, effect
    for at in range(target.count):
        effect = _chart[type][target.types[at]]
        if effect == IMMUNE_KIND:
            return IMMUNE_KIND
        total += effect
    return total


cdef int _type_of(Sheet attacker, Attack* attack, str name, Air air) except -1:
    if attack.flags & TYPE_ASKED:
        return _type_number(
            damage.type_of(attacker.fighter, name, dex().move_of(name), air.ground)
        )
    if attack.type == NORMAL_TYPE and attacker.skin >= 0:
        return attacker.skin
    return attack.type


cdef double _power(Sheet attacker, Attack* attack, str name, Sheet target) except -1:
    cdef double power = attack.power
    if attack.flags & POWER_ASKED:
        power = damage.POWERS[name](attacker.fighter, target.fighter)
    if attacker.flags & TECHNICIAN and attack.power <= 60:
        power *= 1.5
    return power


cdef double _same_type(Sheet attacker, int type) noexcept:
    cdef bint born = (attacker.born >> type) & 1, now = (attacker.now >> type) & 1, both
    if not born and not now:
        return 1.0
    both = attacker.flags & TERA and born and now
    if attacker.flags & ADAPTABILITY:
        return 2.25 if both else 2.0
    return 2.0 if both else 1.5


cdef double _defense(Sheet attacker, Attack* attack, Sheet target, double* strength) noexcept:
    """Return the defense that a move meets, and write the strength that it comes with."""
    cdef bint physical = attack.category == 1
    cdef double strong, defense
    cdef int against
    if attack.flags & TERA_BLAST and attacker.stats[0] > attacker.stats[2]:
        physical = True
    strong = attacker.stats[0 if physical else 2]
    if attack.flags & BODY_PRESS:
        strong = attacker.stats[1]
    elif attack.flags & FOUL_PLAY:
        strong = target.stats[0]
    against = 1 if physical or attack.flags & HITS_DEFENSE else 3
    defense = target.stats[against]
    if attack.flags & CRITICAL_ALWAYS and target.plain[against] < defense:
        defense = target.plain[against]
    if target.flags & ASSAULT_VEST and against == 3:
        defense *= 1.5
    if target.flags & EVIOLITE:
        defense *= 1.5
    if physical and target.flags & FUR_COAT:
        defense *= 2
    strength[0] = strong * attacker.strength[physical]
    return max(defense, 1.0)


cdef double _air_factor(int type, Attack* attack, Sheet attacker, Air air) noexcept:
    cdef double factor = air.weather[type]
    if air.terrain_type == type and not attacker.flags & FLYING:
        factor *= 1.3
    if air.misty and type == DRAGON_TYPE:
        factor *= 0.5
    if air.grassy and attack.flags & SHAKES_GROUND:
        factor *= 0.5
    return factor


cdef double _wear(Sheet attacker, Attack* attack, int kind) noexcept:
    cdef double factor = 1.0
    cdef bint physical = attack.category == 1, guts = (attacker.flags & GUTS) != 0
    if attacker.flags & BURNT and physical and not guts and not attack.flags & FACADE:
        factor *= 0.5
    if attacker.flags & AILING and guts and physical:
        factor *= 1.5
    if attacker.flags & LIFE_ORB:
        factor *= 1.3
    elif attacker.flags & (CHOICE_BAND if physical else CHOICE_SPECS):
        factor *= 1.5
    elif attacker.item_type == attack.type or (attacker.flags & EXPERT_BELT and kind > 0):
        factor *= 1.2
    return factor


cdef double _shield(Sheet attacker, Attack* attack, Sheet target, Air air, int kind) noexcept:
    cdef double factor = 1.0
    cdef int screen = REFLECT if attack.category == 1 else LIGHT_SCREEN
    cdef bint pierced = (
        attack.flags & (BREAKS_SCREENS | CRITICAL_ALWAYS) or attacker.flags & INFILTRATOR
    )
    if target.flags & (screen | VEIL) and not pierced:
        factor *= 2.0 / 3.0 if air.doubles else 0.5
    if target.flags & SCALES and target.hp >= 1:
        factor *= 0.5
    if target.flags & FILTER and kind > 0:
        factor *= 0.75
    return factor


cdef double _share(
    Sheet attacker, Attack* attack, str name, Sheet target, Air air, bint spread
) except -1:
    cdef int type, kind
    cdef double power, defense, strength, base, factor
    if attack.category != 1 and attack.category != 2:
        return 0.0
    if attack.flags & FIXED_DAMAGE:
        if _kind(attack.type, target) == IMMUNE_KIND:
            return 0.0
        return damage.FIXED[name](attacker.fighter, target.fighter) / target.most_hp
    type = _type_of(attacker, attack, name, air)
    kind = _kind(type, target)
    if kind == IMMUNE_KIND or (target.absorbed >> type) & 1:
        return 0.0
    if type == GROUND_TYPE and target.flags & AIR_BALLOON:
        return 0.0
    power = _power(attacker, attack, name, target)
    defense = _defense(attacker, attack, target, &strength)
    base = attacker.level_factor * power * strength / defense / 50 + 2
    factor = MEAN_ROLL * ldexp(1.0, kind) * _same_type(attacker, type)
    if attack.flags & CRITICAL_ALWAYS:
        factor *= CRITICAL
    if spread and air.doubles:
        factor *= SPREAD
    factor *= _air_factor(type, attack, attacker, air) * _wear(attacker, attack, kind)
    factor *= _shield(attacker, attack, target, air, kind)
    return attack.hits * base * factor / target.most_hp


cdef double _best(Sheet attacker, Arsenal moves, Sheet target, Air air) except -1:
    cdef double most = 0.0, share
    cdef int at
    for at in range(moves.count):
        share = _share(attacker, &_attacks[moves.codes[at]], moves.names[at], target, air, False)
        if share > most:
            most = share
    return most


cdef double _threat(Sheet attacker, Arsenal moves, Sheet target, Air air) except -1:
    cdef double most = _best(attacker, moves, target, air), share
    cdef Attack like
    cdef int at
    if moves.count < ENOUGH:
        for at in range(attacker.count):
            like = Attack(
                0, attacker.types[at], 1 if attacker.plain[0] >= attacker.plain[2] else 2,
                GUESSED, 100, 0, 1.0,
            )
            share = _share(attacker, &like, "", target, air, False)
            if share > most:
                most = share
    return most


def share(Sheet attacker, str move, Sheet target, Air air, bint spread=False):
    """Return what `damage.expected_share` does."""
    return _share(attacker, &_attacks[_codes.get(move, 0)], move, target, air, spread)


def best(Sheet attacker, Arsenal moves, Sheet target, Air air):
    """Return the largest share of a target's HP that one of the moves is expected to take."""
    return _best(attacker, moves, target, air)


def threat(Arsenal moves, Sheet attacker, Sheet target, Air air):
    """Return what an attacker with these moves, and with those its types suggest, can take."""
    return _threat(attacker, moves, target, air)


cdef int _thousandths(double share) noexcept:
    cdef double rounded = nearbyint(1000 * share)
    return MOST_SHARE if rounded > MOST_SHARE else <int>rounded


cdef double _knock_out(double share, Sheet target) noexcept:
    cdef double chance
    if share <= 0:
        return 0.0
    if target.hp >= 1 and target.flags & HELD_ON:
        return 0.0
    chance = (1 - target.hp * MEAN_ROLL / share) / (1 - LEAST_ROLL)
    return min(1.0, max(0.0, chance))


cdef double _hit_chance(Sheet attacker, Attack* attack, Sheet target, Air air) noexcept:
    cdef int stage
    cdef double factor
    if not attack.accuracy or (attacker.flags | target.flags) & NO_GUARD:
        return 1.0
    if air.rain and attack.flags & SURE_IN_RAIN:
        return 1.0
    stage = max(-6, min(6, attacker.aim - target.dodge))
    factor = (3.0 + stage) / 3.0 if stage >= 0 else 3.0 / (3.0 - stage)
    return min(1.0, attack.accuracy / 100.0 * factor)


def hit_chance(Sheet attacker, str move, Sheet target, Air air):
    """Return what `damage.hit_chance` does."""
    return _hit_chance(attacker, &_attacks[_codes.get(move, 0)], target, air)


def write_versus_foe(
    Sheet mon, Sheet turned, Arsenal moves, Sheet foe, Arsenal shown, Arsenal likely, Air air,
    double before, bint faster, int16_t[::1] out,
):
    """Write what an own Pokémon does to an opponent on the field and what that threatens.

    Seven numbers: its best attack, the threat, that after it has terastallized, the threat by
    likely attacks, the chance of a knock-out, of acting before, whether it is faster. Returns the
    threat.
    """
    cdef double most = _best(mon, moves, foe, air), danger = _threat(foe, shown, mon, air)
    out[0] = _thousandths(most)
    out[1] = _thousandths(danger)
    out[2] = out[1] if turned is mon else _thousandths(_threat(foe, shown, turned, air))
    out[3] = _thousandths(_best(foe, likely, mon, air))
    out[4] = <int16_t>nearbyint(1000 * _knock_out(most, foe))
    out[5] = <int16_t>nearbyint(1000 * before)
    out[6] = faster
    return danger


def write_moves_versus_foe(
    Sheet attacker, Sheet turned, Arsenal moves, Sheet foe, Air air, spread, priorities,
    double before, int16_t[:, :] out,
):
    """Write what each move does to an opponent on the field, a row a move.

    Seven numbers: effectiveness, least and most damage, damage after terastallizing, the chances
    of a knock-out, of hitting and of acting before.
    """
    cdef int row, priority, kind
    cdef double factor, now, after, chance
    cdef Attack* attack
    for row in range(moves.count):
        attack, name = &_attacks[moves.codes[row]], moves.names[row]
        factor = SPREAD if spread[row] else 1.0
        now = _share(attacker, attack, name, foe, air, False)
        after = now if turned is attacker else _share(turned, attack, name, foe, air, False)
        now, after = now * factor, after * factor
        chance, priority = _hit_chance(attacker, attack, foe, air), priorities[row]
        if attack.category == 1 or attack.category == 2:
            kind = _kind(_type_of(attacker, attack, name, air), foe)
            out[row, 0] = NO_EFFECT if kind == IMMUNE_KIND else kind
        out[row, 1] = _thousandths(now * LEAST_ROLL / MEAN_ROLL)
        out[row, 2] = _thousandths(now / MEAN_ROLL)
        out[row, 3] = _thousandths(after)
        out[row, 4] = <int16_t>nearbyint(1000 * _knock_out(now, foe) * chance)
        out[row, 5] = <int16_t>nearbyint(1000 * chance)
        out[row, 6] = <int16_t>nearbyint(
            1000 * (before if not priority else <double>(priority > 0))
        )


def facts(Sheet attacker, str move, Sheet target, Air air):
    """Return a move's number, type, category, presence, power, accuracy and surety, and the bonus
    for an attack of its user's own type, in hundredths."""
    cdef Attack* attack = &_attacks[_codes.get(move, 0)]
    cdef int type = _type_of(attacker, attack, move, air) if attack != _attacks else 0
    cdef bint attacks = attack.category == 1 or attack.category == 2
    cdef double power = 0.0
    if attack.flags & FIXED_DAMAGE:
        power = 100 * damage.FIXED[move](attacker.fighter, target.fighter) / target.most_hp
    elif attacks:
        power = attack.hits * _power(attacker, attack, move, target)
    return (
        attack.number, type, attack.category, 1, <int>nearbyint(power), attack.accuracy or 100,
        <int>(not attack.accuracy),
        <int>nearbyint(100 * _same_type(attacker, type)) - 100 if attacks else 0,
    )


def versus_team(Sheet mon, Arsenal moves, list team, Air air):
    """Return what a Pokémon does to a team, sheets and shown moves, and what that threatens: the
    means of at most the whole HP."""
    cdef double best = 0.0, danger = 0.0
    cdef Sheet foe
    if not team:
        return 0.0, 0.0
    for foe, shown in team:
        best += min(1.0, _best(mon, moves, foe, air))
    for foe, shown in team:
        danger += min(1.0, _threat(foe, shown, mon, air))
    return best / len(team), danger / len(team)
