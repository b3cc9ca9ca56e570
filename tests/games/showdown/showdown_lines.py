"""A tracker that has heard lines written by hand, and names for what it should know."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import observation_of
from lanista.games.showdown.protocol.battle_state import FOE, Event, Mon, Place
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.tracker import Tracker

VGC = "gen9vgc2025regi"
SINGLES = "gen9randombattle"
LEADS = (
    "|switch|p1a: Incineroar|Incineroar, L50, M|202/202",
    "|switch|p1b: Rillaboom|Rillaboom, L50, M|207/207",
    "|switch|p2a: Farigiraf|Farigiraf, L50, M|100/100",
    "|switch|p2b: Gholdengo|Gholdengo, L50|100/100",
    "|turn|1",
)
PREVIEW = (
    *("|clearpoke", "|poke|p1|Incineroar, L50, M|", "|poke|p1|Rillaboom, L50, M|"),
    *("|poke|p2|Urshifu-*, L50, M|", "|poke|p2|Farigiraf, L50, M|", "|poke|p2|Gholdengo, L50|"),
    *("|teampreview|4",),
)


def heard(*lines: str, format: str = VGC, seat: int = 0, belief: Belief | None = None) -> Tracker:
    """Return a tracker that has heard these lines and nothing else."""
    tracker = Tracker(format_named(format), seat, belief)
    tracker.hear(lines)
    return tracker


def after_leads(*lines: str, belief: Belief | None = None) -> Tracker:
    """Return a doubles tracker that has heard the leads come in, and then these lines."""
    return heard(*LEADS, *lines, belief=belief)


def foe(tracker: Tracker, name: str) -> Mon:
    """Return an opponent's Pokémon by its nickname."""
    mon = tracker.battle.sides[FOE].named(name)
    assert mon is not None, f"nobody has seen {name}"
    return mon


def place(tracker: Tracker, name: str) -> Place:
    """Return a place by its name in the protocol, for somebody in seat 0."""
    return tracker.battle.sides[int(name[1]) - 1].places["ab".index(name[2])]


def last(tracker: Tracker) -> Event:
    """Return the newest event."""
    return tracker.battle.events[-1]


def party_member(name: str, **told: Any) -> dict[str, Any]:
    """Return a Pokémon as a request tells of it."""
    return {
        "ident": f"p1: {name}",
        "details": f"{name}, L50, M",
        "condition": "202/202",
        "active": False,
        "stats": {"atk": 136, "def": 110, "spa": 90, "spd": 156, "spe": 80},
        "moves": ["fakeout", "flareblitz", "knockoff", "partingshot"],
        "baseAbility": "intimidate",
        "ability": "intimidate",
        "item": "safetygoggles",
        "teraType": "Grass",
        "terastallized": "",
        **told,
    }


def encoded(tracker: Tracker) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Return the observation, written over a row of rubbish."""
    row = np.full(observation_of(format_named(tracker.format.name)).length, -77, np.int16)
    tracker.encode(row)
    return row


def seen(tracker: Tracker, field: str, at: int = 0) -> int:
    """Return one entry of the observation."""
    layout = observation_of(tracker.format)
    return int(encoded(tracker)[layout.slice_of(field)][at])
