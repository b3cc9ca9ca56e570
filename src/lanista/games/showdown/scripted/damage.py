"""What a move is expected to do, by the damage formula of the games since the fifth generation.

An estimate for bots, not the rules: those are the simulator's. It knows power, stats and stages,
same-type bonus and Tera, type chart, spread, weather, terrain, screens, burn, the commonest items
and abilities, and the commonest moves whose power is not fixed. What it does not know counts as
ordinary. Knows nothing of battles beyond the fighters it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from lanista.games.showdown.protocol.traits import traits
from lanista.games.showdown.protocol.vocabulary import IMMUNE, Move, dex, effectiveness

ATTACK, DEFENSE, SPECIAL_ATTACK, SPECIAL_DEFENSE, SPEED = range(5)
PHYSICAL, SPECIAL = 1, 2
"""Categories of the vocabulary."""
LEAST_ROLL, MEAN_ROLL = 0.85, 0.925
"""Damage is multiplied by 85 to 100 hundredths."""
MOST_SHARE = 3000
"""Shares of HP are written in thousandths and stop here."""
SPREAD = 0.75
CRITICAL = 1.5
GUESSED_EFFORT = 124
"""Effort points that an opponent is taken to have in each stat: half of the most."""
GUESSED_POWER = 85
"""What an attack is taken to have that was not seen."""
ENOUGH_SHOWN = 3
"""So many moves that were shown say what a Pokémon can do; with fewer its types are guessed by."""
GUESSED_ANSWER_POWER = 60.0
"""What moves that give back what was done to the user are taken to have."""


@dataclass(slots=True)
class Fighter:
    """A Pokémon on the field, as far as its player, or its opponent, knows it.

    Nobody changes one; that it could be is what makes thousands a second of them cheap.
    """

    species: str
    level: int
    types: tuple[str, ...]
    born: tuple[str, ...]
    """Its types before it terastallized."""
    stats: tuple[int, ...]
    """Attack, Defense, Special Attack, Special Defense, Speed, without stages."""
    most_hp: int
    hp: float
    """The share of its HP that is left."""
    boosts: tuple[int, ...] = (0,) * 7
    status: str = ""
    item: str | None = ""
    """None while nobody knows."""
    ability: str = ""
    terastallized: bool = False
    screens: frozenset[str] = field(default_factory=frozenset)
    """Reflect and its like on its side."""
    fallen: int = 0
    """Pokémon of its side that have fainted."""

    def turned(self, tera: str) -> Fighter:
        """Return the fighter once it has terastallized."""
        types = self.types if tera == "stellar" else (tera,)
        return Fighter(
            *(self.species, self.level, types, self.born, self.stats, self.most_hp, self.hp),
            *(self.boosts, self.status, self.item, self.ability, True, self.screens, self.fallen),
        )

    def stat(self, which: int) -> float:
        """Return a stat with its stages."""
        return self.stats[which] * stage_factor(self.boosts[which])


@dataclass(frozen=True)
class Ground:
    """What holds for everybody on the field."""

    weather: str = ""
    terrain: str = ""
    doubles: bool = True


def stage_factor(stage: int) -> float:
    """Return what a stage from -6 to 6 multiplies a stat by."""
    return (2 + stage) / 2 if stage >= 0 else 2 / (2 - stage)


@lru_cache(maxsize=1 << 12)
def guessed_stats(base: tuple[int, ...], level: int) -> tuple[int, tuple[int, ...]]:
    """Return the HP and the five stats of an ordinary Pokémon of these base stats."""
    grown = [(2 * stat + 31 + GUESSED_EFFORT // 4) * level // 100 for stat in base]
    return grown[0] + level + 10, tuple(stat + 5 for stat in grown[1:])


def expected_share(
    attacker: Fighter,
    move: str,
    target: Fighter,
    ground: Ground,
    *,
    spread: bool = False,
    dex_move: Move | None = None,
) -> float:
    """Return the share of the target's whole HP that a move is expected to take if it hits.

    `dex_move` is what the move is like; the dex is asked unless it is given.
    """
    dex_move = dex_move or dex().move_of(move)
    if dex_move.category not in (PHYSICAL, SPECIAL):
        return 0.0
    if move in FIXED:
        kind = effectiveness(dex_move.type, target.types)
        return 0.0 if kind == IMMUNE else FIXED[move](attacker, target) / target.most_hp
    type = type_of(attacker, move, dex_move, ground)
    kind = effectiveness(type, target.types)
    if kind == IMMUNE or is_immune(type, target, ground):
        return 0.0
    power = power_of(attacker, move, dex_move, target)
    attack, defense = _stats(attacker, move, dex_move, target)
    base = (2 * attacker.level // 5 + 2) * power * attack / defense / 50 + 2
    factor = MEAN_ROLL * 2.0**kind * same_type(attacker, type)
    if move in ALWAYS_CRITICAL:
        factor *= CRITICAL
    if spread and ground.doubles:
        factor *= SPREAD
    factor *= _air(type, move, attacker, target, ground) * _wear(attacker, move, dex_move, kind)
    factor *= _shield(attacker, move, dex_move, target, ground, kind)
    return HITS.get(move, 1.0) * base * factor / target.most_hp


def hit_chance(attacker: Fighter, move: str, target: Fighter, ground: Ground) -> float:
    """Return the chance that a move hits by its accuracy and the stages."""
    dex_move = dex().move_of(move)
    if not dex_move.accuracy or "noguard" in (attacker.ability, target.ability):
        return 1.0
    if ground.weather == "raindance" and move in RAIN_SURE:
        return 1.0
    stage = max(-6, min(6, attacker.boosts[5] - target.boosts[6]))
    factor = (3 + stage) / 3 if stage >= 0 else 3 / (3 - stage)
    return min(1.0, dex_move.accuracy / 100 * factor)


def type_of(attacker: Fighter, move: str, dex_move: Move, ground: Ground) -> str:
    """Return the type that a move has when this attacker uses it."""
    if move == "terablast" and attacker.terastallized:
        return attacker.types[0]
    if move == "weatherball":
        return WEATHER_TYPES.get(ground.weather, dex_move.type)
    if move in ("ivycudgel", "ragingbull", "revelationdance") and attacker.born:
        return attacker.born[-1]
    if dex_move.type == "normal" and attacker.ability in SKIN:
        return SKIN[attacker.ability]
    return dex_move.type


def power_of(attacker: Fighter, move: str, dex_move: Move, target: Fighter) -> float:
    """Return the power of one hit of a move."""
    power = float(dex_move.power)
    if move in POWERS:
        power = POWERS[move](attacker, target)
    if attacker.ability == "technician" and dex_move.power <= 60:
        power *= 1.5
    return power


def same_type(attacker: Fighter, type: str) -> float:
    """Return the bonus for an attack of the attacker's own type."""
    born, now = type in attacker.born, type in attacker.types
    if not born and not now:
        return 1.0
    both = attacker.terastallized and born and now
    if attacker.ability == "adaptability":
        return 2.25 if both else 2.0
    return 2.0 if both else 1.5


def is_immune(type: str, target: Fighter, ground: Ground) -> bool:
    """Return whether an ability or an item keeps a type from doing anything."""
    if type == "ground" and target.item == "airballoon":
        return True
    return type in ABSORBED.get(target.ability, ())


def _stats(attacker: Fighter, move: str, dex_move: Move, target: Fighter) -> tuple[float, float]:
    physical = dex_move.category == PHYSICAL
    if move == "terablast" and attacker.stat(ATTACK) > attacker.stat(SPECIAL_ATTACK):
        physical = True
    using = ATTACK if physical else SPECIAL_ATTACK
    attack = attacker.stat(using)
    if move == "bodypress":
        attack = attacker.stat(DEFENSE)
    elif move == "foulplay":
        attack = target.stat(ATTACK)
    against = DEFENSE if physical or move in AGAINST_DEFENSE else SPECIAL_DEFENSE
    defense = target.stat(against)
    if move in ALWAYS_CRITICAL:
        defense = min(defense, float(target.stats[against]))
    if target.item == "assaultvest" and against == SPECIAL_DEFENSE:
        defense *= 1.5
    if target.item == "eviolite":
        defense *= 1.5
    if physical and target.ability == "furcoat":
        defense *= 2
    return attack * STRENGTHS.get((attacker.ability, physical), 1.0), max(defense, 1.0)


def _air(type: str, move: str, attacker: Fighter, target: Fighter, ground: Ground) -> float:
    factor = WEATHER_FACTORS.get((ground.weather, type), 1.0)
    flying = "flying" in attacker.types or attacker.ability == "levitate"
    if TERRAIN_TYPES.get(ground.terrain) == type and not flying:
        factor *= 1.3
    if ground.terrain == "mistyterrain" and type == "dragon":
        factor *= 0.5
    if ground.terrain == "grassyterrain" and move in SHAKING:
        factor *= 0.5
    return factor


def _wear(attacker: Fighter, move: str, dex_move: Move, kind: int) -> float:
    """Return what the attacker's condition and item make of the damage."""
    factor, physical = 1.0, dex_move.category == PHYSICAL
    burnt = attacker.status == "brn" and physical
    if burnt and attacker.ability != "guts" and move != "facade":
        factor *= 0.5
    if attacker.status and attacker.ability == "guts" and physical:
        factor *= 1.5
    item = attacker.item or ""
    if item == "lifeorb":
        factor *= 1.3
    elif item == ("choiceband" if physical else "choicespecs"):
        factor *= 1.5
    elif TYPE_ITEMS.get(item) == dex_move.type or (item == "expertbelt" and kind > 0):
        factor *= 1.2
    return factor


def _shield(
    attacker: Fighter, move: str, dex_move: Move, target: Fighter, ground: Ground, kind: int
) -> float:
    """Return what screens and the target's ability make of the damage."""
    factor = 1.0
    screen = "reflect" if dex_move.category == PHYSICAL else "lightscreen"
    covered = screen in target.screens or "auroraveil" in target.screens
    pierced = (
        move in SCREEN_BREAKERS or move in ALWAYS_CRITICAL or attacker.ability == "infiltrator"
    )
    if covered and not pierced:
        factor *= 2 / 3 if ground.doubles else 0.5
    if target.ability in ("multiscale", "shadowshield") and target.hp >= 1:
        factor *= 0.5
    if target.ability in ("filter", "solidrock", "prismarmor") and kind > 0:
        factor *= 0.75
    return factor


WEATHER_TYPES = {"raindance": "water", "sunnyday": "fire", "sandstorm": "rock", "snowscape": "ice"}
WEATHER_FACTORS = {
    ("raindance", "water"): 1.5,
    ("raindance", "fire"): 0.5,
    ("sunnyday", "fire"): 1.5,
    ("sunnyday", "water"): 0.5,
    ("primordialsea", "water"): 1.5,
    ("primordialsea", "fire"): 0.0,
    ("desolateland", "fire"): 1.5,
    ("desolateland", "water"): 0.0,
}
TERRAIN_TYPES = {
    "electricterrain": "electric",
    "grassyterrain": "grass",
    "psychicterrain": "psychic",
}
ABSORBED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("levitate", "eartheater"), ("ground",)),
    **dict.fromkeys(("flashfire", "wellbakedbody"), ("fire",)),
    **dict.fromkeys(("waterabsorb", "stormdrain", "dryskin"), ("water",)),
    **dict.fromkeys(("voltabsorb", "lightningrod", "motordrive"), ("electric",)),
    "sapsipper": ("grass",),
}
SKIN = {"aerilate": "flying", "pixilate": "fairy", "refrigerate": "ice", "galvanize": "electric"}
STRENGTHS = {
    **{("hugepower", True): 2.0, ("purepower", True): 2.0, ("gorillatactics", True): 1.5},
    **{("hustle", True): 1.5, ("sheerforce", True): 1.2, ("sheerforce", False): 1.2},
}
TYPE_ITEMS = {
    **{"blackglasses": "dark", "mysticwater": "water", "charcoal": "fire", "magnet": "electric"},
    **{"miracleseed": "grass", "nevermeltice": "ice", "blackbelt": "fighting"},
    **{"poisonbarb": "poison", "softsand": "ground", "sharpbeak": "flying", "silkscarf": "normal"},
    **{"twistedspoon": "psychic", "silverpowder": "bug", "hardstone": "rock", "metalcoat": "steel"},
    **{"spelltag": "ghost", "dragonfang": "dragon", "fairyfeather": "fairy"},
}
SHAKING = frozenset(("earthquake", "bulldoze", "magnitude"))
"""Moves that grass on the ground takes half from."""
TYPE_CHANGING = frozenset(
    ("terablast", "weatherball", "ivycudgel", "ragingbull", "revelationdance")
)
"""Moves whose type hangs on their user or on the weather."""
AGAINST_DEFENSE = frozenset(("psyshock", "psystrike", "secretsword"))
ALWAYS_CRITICAL = frozenset(
    ("surgingstrikes", "wickedblow", "frostbreath", "stormthrow", "flowertrick", "zippyzap")
)
SCREEN_BREAKERS = frozenset(("brickbreak", "psychicfangs", "ragingbull"))
RAIN_SURE = frozenset(("thunder", "hurricane", "bleakwindstorm", "wildboltstorm", "sandsearstorm"))
HITS: Mapping[str, float] = {
    **dict.fromkeys(("bulletseed", "rockblast", "iciclespear", "pinmissile", "tailslap"), 3.1),
    **dict.fromkeys(("scaleshot", "furyswipes", "bonerush", "watershuriken"), 3.1),
    **dict.fromkeys(("armthrust", "furyattack"), 3.1),
    **dict.fromkeys(("dragondarts", "doublehit", "dualwingbeat", "twinbeam", "doublekick"), 2.0),
    **dict.fromkeys(("geargrind", "dualchop", "doubleironbash"), 2.0),
    **{"surgingstrikes": 3.0, "tripleaxel": 6.0, "tripledive": 3.0, "populationbomb": 9.0},
    **{"tachyoncutter": 2.0, "triplekick": 6.0, "beatup": 4.0},
}
Sized = Callable[[Fighter, Fighter], float]


def _by_hp(most: float) -> Sized:
    return lambda attacker, target: max(1.0, most * attacker.hp)


def _stages(attacker: Fighter) -> int:
    return sum(stage for stage in attacker.boosts if stage > 0)


def _answers(attacker: Fighter, target: Fighter) -> float:
    return GUESSED_ANSWER_POWER


def _by_weight(attacker: Fighter, target: Fighter) -> float:
    """Return the power of a move that is the stronger, the heavier the target."""
    weight = traits().weights.get(target.species, 50.0)
    steps = ((200, 120.0), (100, 100.0), (50, 80.0), (25, 60.0), (10, 40.0))
    return next((power for least, power in steps if weight >= least), 20.0)


def _by_ratio(attacker: Fighter, target: Fighter) -> float:
    """Return the power of a move that is the stronger, the more the user outweighs the target."""
    weights = traits().weights
    ratio = weights.get(attacker.species, 50.0) / max(weights.get(target.species, 50.0), 0.1)
    steps = ((5, 120.0), (4, 100.0), (3, 80.0), (2, 60.0))
    return next((power for least, power in steps if ratio >= least), 40.0)


def _desperate(attacker: Fighter, target: Fighter) -> float:
    """Return the power of a move that is the stronger, the less HP the user has."""
    forty_eighths = int(48 * attacker.hp)
    steps = ((33, 20.0), (17, 40.0), (10, 80.0), (5, 100.0), (2, 150.0))
    return next((power for least, power in steps if forty_eighths >= least), 200.0)


POWERS: Mapping[str, Sized] = {
    **dict.fromkeys(("heavyslam", "heatcrash"), _by_ratio),
    **dict.fromkeys(("lowkick", "grassknot"), _by_weight),
    **dict.fromkeys(("flail", "reversal"), _desperate),
    **dict.fromkeys(("counter", "mirrorcoat", "metalburst", "comeuppance"), _answers),
    **{"fling": lambda attacker, target: 30.0, "present": lambda attacker, target: 52.0},
    "beatup": lambda attacker, target: 15.0,
    "infernalparade": lambda attacker, target: 120.0 if target.status else 60.0,
    **dict.fromkeys(("eruption", "waterspout", "dragonenergy"), _by_hp(150)),
    **dict.fromkeys(
        ("storedpower", "powertrip"), lambda attacker, target: 20.0 + 20 * _stages(attacker)
    ),
    "facade": lambda attacker, target: 140.0 if attacker.status else 70.0,
    "hex": lambda attacker, target: 130.0 if target.status else 65.0,
    "knockoff": lambda attacker, target: 65.0 if target.item == "" else 97.5,
    "acrobatics": lambda attacker, target: 55.0 if attacker.item else 110.0,
    "lastrespects": lambda attacker, target: 50.0 + 50 * attacker.fallen,
    "gyroball": lambda attacker, target: min(
        150.0, 25 * target.stat(SPEED) / max(attacker.stat(SPEED), 1) + 1
    ),
    "electroball": lambda attacker, target: min(
        150.0, 40 * attacker.stat(SPEED) / max(target.stat(SPEED), 1) + 20
    ),
    "crushgrip": lambda attacker, target: 120 * target.hp,
    "hardpress": lambda attacker, target: 100 * target.hp,
}
FIXED: Mapping[str, Sized] = {
    **dict.fromkeys(("seismictoss", "nightshade"), lambda attacker, target: attacker.level),
    **dict.fromkeys(
        ("superfang", "naturesmadness", "ruination"),
        lambda attacker, target: target.hp * target.most_hp / 2,
    ),
    "finalgambit": lambda attacker, target: attacker.hp * attacker.most_hp,
    "endeavor": lambda attacker, target: max(
        0.0, target.hp * target.most_hp - attacker.hp * attacker.most_hp
    ),
    **dict.fromkeys(
        ("fissure", "guillotine", "horndrill", "sheercold"), lambda attacker, target: target.most_hp
    ),
}
