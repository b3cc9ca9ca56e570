"""The parts of a Pokémon's token that hang on where it stands and on what happened lately.

Stages, effects, what it did in the last turns and what was done to it; and the fields without a
group. Places are never named by number, so that left and right have no meaning on the own side.
"""

from __future__ import annotations

from lanista.games.showdown.observation.fields import PARTY
from lanista.games.showdown.observation.token_fields import REMEMBERED_TURNS
from lanista.games.showdown.protocol.battle_state import (
    OWN,
    RESIDUAL,
    Event,
    Known,
    Mon,
    Place,
)
from lanista.games.showdown.protocol.effects import (
    COUNTED,
    LAYERED,
    ROOMS,
    SIDE_CONDITIONS,
    SINGLE,
    TERRAINS,
    VOLATILES,
    WEATHERS,
)
from lanista.games.showdown.protocol.requests import Own, OwnMon
from lanista.games.showdown.protocol.vocabulary import NONE, dex

Token = list[int]
MOST = 20
"""Where counts that could grow for ever stop."""
_VOLATILE = {name: at for at, name in enumerate(VOLATILES)}
_WEATHER = {"": 0} | {name: at for at, name in enumerate(WEATHERS, 1)}
_TERRAIN = {"": 0} | {name: at for at, name in enumerate(TERRAINS, 1)}
_NO_CONDITIONS = [0] * len(SIDE_CONDITIONS)
_NO_TURN = [0] * 8
NOBODY, ITSELF, ITS_ALLY, OTHER_SIDE = range(4)


def place_numbers(battle: Known, place: Place, *, locked: bool) -> Token:
    """Return what holds while a Pokémon stays where it is."""
    turn = battle.turn
    volatiles = [0] * len(VOLATILES)
    for name, value in place.volatiles.items():
        volatiles[_VOLATILE[name]] = value if name in COUNTED else min(turn - value + 1, MOST)
    return [
        1,
        int(not place.last_move),
        min(turn - place.since, MOST),
        place.protects if place.protected >= turn - 1 else 0,
        int(locked),
        *place.boosts,
        *(int(name in place.single) for name in SINGLE),
        *volatiles,
    ]


def lately_seen(battle: Known) -> set[Mon]:
    """Return the Pokémon that did something or were hurt in the turns that are remembered."""
    seen: set[Mon] = set()
    for events in (battle.events, battle.earlier)[:REMEMBERED_TURNS]:
        for event in events:
            seen.update(event.hurt)
            if event.mon is not None:
                seen.add(event.mon)
    return seen


def memory_numbers(battle: Known, mon: Mon, side: int) -> Token | None:
    """Return what a Pokémon did and lost in the last turns; None if nothing."""
    turns = (battle.events, battle.earlier)[:REMEMBERED_TURNS]
    numbers: Token = []
    for events in turns:
        numbers += _turn(battle, events, mon, side)
    return numbers if any(numbers) else None


def _turn(battle: Known, events: list[Event], mon: Mon, side: int) -> Token:
    act: Event | None = None
    lost = 0
    for event in events:
        lost += event.hurt.get(mon, 0)
        if event.mon is mon and event.kind != RESIDUAL and (act is None or not act.move):
            act = event
    if act is None:
        return [0, NONE, 0, 0, lost, 0, 0, 0] if lost else _NO_TURN
    half = len(act.damage) // 2
    others = act.damage[half:] if side == OWN else act.damage[:half]
    return [
        act.kind,
        dex().move_of(act.move).number if act.move else NONE,
        _aim(act, half),
        sum(others),
        lost,
        act.missed,
        int(act.failed or act.blocked or act.immune),
        act.crit,
    ]


def _aim(event: Event, half: int) -> int:
    if not event.move or event.target < 0:
        return NOBODY
    if event.target == event.actor:
        return ITSELF
    return ITS_ALLY if (event.target < half) == (event.actor < half) else OTHER_SIDE


def request_flags(own: Own, mon: OwnMon, at: int) -> Token:
    """Return what the request says of a Pokémon on the field."""
    active = own.active[at] if at < len(own.active) else {}
    forced = at < len(own.forced) and own.forced[at]
    return [
        int(bool(active.get("canTerastallize"))),
        int(bool(active.get("trapped"))),
        int(bool(active.get("maybeTrapped"))),
        int(bool(active.get("maybeDisabled"))),
        int(bool(active.get("maybeLocked"))),
        int(bool(forced)),
        int(mon.reviving),
        int(mon.commanding),
    ]


def field_numbers(battle: Known, own: Own) -> Token:
    """Return the fields without a group."""
    turn, (mine, theirs) = battle.turn, battle.sides
    size = theirs.size or PARTY
    fallen = sum(mon.appeared and mon.hp <= 0 for mon in theirs.mons)
    hidden = max(0, size - theirs.brought())
    return [
        own.kind,
        _WEATHER.get(battle.weather, len(_WEATHER)),
        _TERRAIN.get(battle.terrain, len(_TERRAIN)),
        min(turn, 99),
        min(turn - battle.weather_since + 1, MOST) if battle.weather else 0,
        min(turn - battle.terrain_since + 1, MOST) if battle.terrain else 0,
        *(_age(battle.rooms, name, turn) for name in ROOMS),
        *_ages(mine.conditions, turn),
        *_ages(theirs.conditions, turn),
        sum(not mon.fainted for mon in own.party),
        *(size - fallen, size, theirs.brought()),
        *(int(mine.terastallized), int(theirs.terastallized)),
        sum(mon.hp for mon in own.party),
        sum(mon.hp for mon in theirs.mons if mon.appeared) + 1000 * hidden,
    ]


def _age(begun: dict[str, int], name: str, turn: int) -> int:
    """Return layers, or turns since it began, counting the first; 0 if it is not there."""
    if name not in begun:
        return 0
    return begun[name] if name in LAYERED else min(turn - begun[name] + 1, MOST)


def _ages(begun: dict[str, int], turn: int) -> Token:
    """Return the ages of all that a side can have."""
    return [_age(begun, name, turn) for name in SIDE_CONDITIONS] if begun else _NO_CONDITIONS
