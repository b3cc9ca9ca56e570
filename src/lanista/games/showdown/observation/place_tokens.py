"""The parts of a Pokémon's token that hang on where it stands and on what happened lately.

Stages, effects, what it did in the last turns and what was done to it; and the fields without a
group. Places are never named by number, so that left and right have no meaning on the own side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lanista.games.showdown.observation.fields import PARTY
from lanista.games.showdown.observation.token_fields import REMEMBERED_TURNS
from lanista.games.showdown.protocol.battle_state import (
    BOOSTS,
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
_FIRST_VOLATILE = 5 + len(BOOSTS) + len(SINGLE)
_NO_CONDITIONS = [0] * len(SIDE_CONDITIONS)
_NO_TURN = [0] * 8
NOBODY, ITSELF, ITS_ALLY, OTHER_SIDE = range(4)


def write_place(battle: Known, place: Place, out: NDArray[np.int16], *, locked: bool) -> None:
    """Write what holds while a Pokémon stays where it is; `out` is 0 before."""
    turn = battle.turn
    for name, value in place.volatiles.items():
        counted = value if name in COUNTED else min(turn - value + 1, MOST)
        out[_FIRST_VOLATILE + _VOLATILE[name]] = counted
    out[:_FIRST_VOLATILE] = [
        1,
        int(not place.last_move),
        min(turn - place.since, MOST),
        place.protects if place.protected >= turn - 1 else 0,
        int(locked),
        *place.boosts,
        *[name in place.single for name in SINGLE],
    ]


class Turn:
    """What each Pokémon did in a turn that is remembered, and the HP it lost."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.acts: dict[Mon, Event] = {}
        """The last lost turn or switch before a Pokémon's first move, or that move."""
        self.lost: dict[Mon, int] = {}
        for event in events:
            for mon, lost in event.hurt.items():
                self.lost[mon] = self.lost.get(mon, 0) + lost
            actor = event.mon
            if actor is not None and event.kind != RESIDUAL:
                act = self.acts.get(actor)
                if act is None or not act.move:
                    self.acts[actor] = event


def remembered(battle: Known) -> list[Turn]:
    """Return the turns that are remembered, the last first."""
    return [Turn(events) for events in (battle.events, battle.earlier)[:REMEMBERED_TURNS]]


def memory_numbers(turns: Sequence[Turn], mon: Mon, side: int) -> Token | None:
    """Return what a Pokémon did and lost in the last turns; None if nothing."""
    numbers: Token = []
    nothing = True
    for turn in turns:
        act, lost = turn.acts.get(mon), turn.lost.get(mon, 0)
        nothing = nothing and act is None and not lost
        numbers += _turn(act, lost, side)
    return None if nothing else numbers


def _turn(act: Event | None, lost: int, side: int) -> Token:
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
