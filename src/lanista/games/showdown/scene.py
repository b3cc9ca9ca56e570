"""A battle of Showdown as plain values for a page: both sides, the field, and the log in words.

A side is shown as its own player knows it to its own eyes, and as the opponent knows it to others.
Knows nothing of how it is drawn.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from lanista.games.contract import Game, Spec
from lanista.games.scenes import Board, Eyes, Facts, Scene
from lanista.games.showdown.actions.order_words import choice_words
from lanista.games.showdown.log_words import line_words
from lanista.games.showdown.protocol.battle_state import FOE, FULL, Mon, read_condition
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import dex, to_id
from lanista.games.showdown.sim.match import Match

SEATS = 2


def scene(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return what the eyes know of a battle."""
    match = match_in(game, slot)
    watcher = min(eyes) if eyes else 0
    battle = match.tracker(watcher).battle
    field = [name for name in (battle.weather, battle.terrain, *battle.rooms) if name]
    return {
        "kind": "showdown",
        "format": match.setup.format,
        "turn": int(battle.turn),
        "over": not match.playing,
        "field": field,
        "sides": [_side(match, seat, seat in eyes) for seat in range(SEATS)],
        "log": _log(match, watcher) if eyes else [],
    }


def match_in(game: Any, slot: int) -> Match:
    """Return the battle in a slot."""
    match: Match = game.match_in(slot)
    return match


def _side(match: Match, seat: int, own: bool) -> dict[str, Any]:
    conditions = match.tracker(1 - seat).battle.sides[FOE].conditions
    mons = _own_team(match, seat) if own else _known_team(match.tracker(1 - seat))
    return {"mons": mons, "conditions": sorted(conditions), "known": own}


def _own_team(match: Match, seat: int) -> list[dict[str, Any]]:
    request = match.requests[seat]
    return [_own_mon(mon) for mon in request.get("side", {}).get("pokemon", ())]


def _own_mon(mon: dict[str, Any]) -> dict[str, Any]:
    species = mon["details"].partition(",")[0]
    thousandths, now, most, status = read_condition(mon["condition"])
    return {
        "name": species,
        "types": list(dex().species_of(to_id(species)).types),
        "hp": thousandths / FULL,
        "points": f"{now}/{most}" if most else "0",
        "status": status,
        "active": bool(mon["active"]),
        "item": mon.get("item", ""),
        "ability": mon.get("baseAbility", ""),
        "moves": list(mon.get("moves", ())),
        "tera": mon.get("teraType", ""),
        "terastallized": bool(mon.get("terastallized")),
    }


def _known_team(tracker: Tracker) -> list[dict[str, Any]]:
    side = tracker.battle.sides[FOE]
    places = {id(place.mon) for place in side.places if place.mon is not None}
    return [_known_mon(mon, id(mon) in places) for mon in side.mons]


def _known_mon(mon: Mon, active: bool) -> dict[str, Any]:
    entry = dex().species_of(mon.species)
    return {
        "name": mon.species,
        "types": list(entry.types),
        "hp": mon.hp / FULL,
        "points": f"{mon.hp * 100 // FULL} %",
        "status": "fnt" if mon.hp == 0 else mon.status,
        "active": active and mon.hp > 0,
        "item": mon.item or "",
        "ability": mon.ability,
        "moves": list(mon.moves),
        "tera": mon.tera if mon.terastallized else "",
        "terastallized": mon.terastallized,
    }


def _log(match: Match, seat: int) -> list[str]:
    """Return what happened since the last decision, in words."""
    views = match.transcripts[seat].views
    lines = views[-1].lines if views else ()
    return [words for line in lines if (words := line_words(line))]


def words(game: Game, slot: int, seat: int, head: int, choice: int) -> str:
    """Return an order in words, as the seat that gives it knows the names."""
    match = match_in(game, slot)
    places = match.tracker(seat).battle.sides[FOE].places
    foes = [f"the opponent's {place.species}" if place.species else "nobody" for place in places]
    return choice_words(match.requests[seat], choice, foes)


def seen(spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return how much of the observation is filled; the board shows what it says."""
    filled = int((observation != 0).sum())
    return [("observation", f"{filled:,} of {len(observation):,} numbers are not 0")]


BOARD = Board(scene, words, seen=seen)
