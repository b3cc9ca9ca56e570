"""Requests as a side could have been sent them, made from what a spectator's log reveals.

A side's own team is told as the log has revealed it by the battle's end; what never showed is
called unknown. The party stands in an order of its own: those on the field first, the others as
they first came in, those that never showed last. Whoever is brought in trades places with whoever
leaves, as in the simulator.
"""

from __future__ import annotations

from typing import Any

from lanista.games.showdown.actions.orders import MOVES, PARTY
from lanista.games.showdown.protocol.battle_state import FULL, OWN, Known, Mon, Place
from lanista.games.showdown.protocol.requests import FORCED, PREVIEW, STATS
from lanista.games.showdown.protocol.vocabulary import UNTOLD, dex
from lanista.games.showdown.sim.views import Request
from lanista.games.showdown.spectating.logs import LogError
from lanista.games.showdown.spectating.spectator import (
    BRINGS,
    Decision,
    Move,
    Order,
    Pass,
    Revive,
    Stance,
    Switch,
    Told,
    stands,
)

Position = int | None
"""A Pokémon by its place among the side's `mons`; None for one that never showed itself."""


class Party:
    """One side's team, as the end of the battle knows it."""

    def __init__(self, log_facts: Told, seat: int) -> None:
        side = log_facts.battle.sides[seat]
        self.name = f"p{seat + 1}"
        self.mons = side.mons
        self.born = log_facts.born
        self.positions: list[Position] = [
            side.mons.index(mon) for mon in log_facts.born if mon in side.mons
        ]
        size = side.size or PARTY
        hidden = size - len(self.positions)
        if size > PARTY or hidden < 0:
            raise LogError("shows more Pokémon than a side has")
        self.positions += [None] * hidden

    def request(self, battle: Known, decision: Decision) -> Request:
        """Return what the side was asked, as far as the log tells."""
        if decision.kind == PREVIEW:
            team = [self._mon(battle, at, None, False) for at in range(len(self.mons))]
            return {
                "teamPreview": True,
                "maxChosenTeamSize": BRINGS,
                "side": {"id": self.name, "pokemon": team},
            }
        self._arrange(battle)
        places = battle.sides[OWN].places
        team = []
        for number, at in enumerate(self.positions):
            place = places[number] if number < len(places) else None
            reviving = place is not None and isinstance(decision.orders[number], Revive)
            team.append(self._mon(battle, at, place, reviving))
        request: dict[str, Any] = {"side": {"id": self.name, "pokemon": team}}
        if decision.kind == FORCED:
            request["forceSwitch"] = [
                _must_leave(order, place)
                for order, place in zip(decision.orders, places, strict=True)
            ]
        else:
            request["active"] = [
                self._active(battle, place, order)
                for place, order in zip(places, decision.orders, strict=True)
            ]
        return request

    def place_of(self, mon: int) -> int:
        """Return where in the party a Pokémon stands now, from 0."""
        return self.positions.index(mon)

    def _arrange(self, battle: Known) -> None:
        """Put those on the field first, each in exchange for who was there."""
        side = battle.sides[OWN]
        for number, place in enumerate(side.places):
            if place.mon is not None:
                at = self.positions.index(side.mons.index(place.mon))
                positions = self.positions
                positions[number], positions[at] = positions[at], positions[number]

    def _mon(self, battle: Known, at: Position, place: Place | None, reviving: bool) -> Any:
        if at is None:
            return self._hidden()
        final, mons = self.mons[at], battle.sides[OWN].mons
        now = mons[at] if at < len(mons) else Mon(final.name, "", final.level, final.gender)
        species = now.species if now.appeared else self.born.get(final, final.species)
        gender = f", {final.gender}" if final.gender else ""
        moves = list(final.moves)[:MOVES]
        return {
            "ident": f"{self.name}: {final.name or f'{UNTOLD} {at}'}",
            "details": f"{species}, L{final.level}{gender}",
            "condition": _condition(now),
            "stats": dict.fromkeys(STATS, 0),
            "moves": moves + [UNTOLD] * (MOVES - len(moves)),
            "item": _item(now, final),
            "baseAbility": _ability(now, final, place, species),
            "teraType": final.tera or UNTOLD,
            "terastallized": final.tera if now.terastallized else "",
            "commanding": place is not None and "commanding" in place.volatiles,
            "reviving": reviving,
        }

    def _hidden(self) -> dict[str, Any]:
        """Return a Pokémon of which nothing is known but that it is there."""
        return {
            "ident": f"{self.name}: {UNTOLD}",
            "details": UNTOLD,
            "condition": "100/100",
            "stats": dict.fromkeys(STATS, 0),
            "moves": [UNTOLD] * MOVES,
            "item": UNTOLD,
            "baseAbility": UNTOLD,
            "teraType": UNTOLD,
        }

    def _active(self, battle: Known, place: Place, order: Order) -> dict[str, Any]:
        if place.mon is None or not stands(place):
            return {"moves": []}
        if isinstance(order, Move) and order.alone:
            return {"moves": [{"id": order.move}], "trapped": True}
        final = self.mons[battle.sides[OWN].mons.index(place.mon)]
        stance, moves = Stance.of(place), list(final.moves)[:MOVES]
        offered = [{"id": move, "target": stance.aim(move)} for move in moves]
        active: dict[str, Any] = {
            "moves": offered + [{"id": UNTOLD, "disabled": True}] * (MOVES - len(moves))
        }
        if not battle.sides[OWN].terastallized:
            active["canTerastallize"] = final.tera or UNTOLD
        return active


def _must_leave(order: Order, place: Place) -> bool:
    """Return whether a place had to be filled: it was, or nobody could be found for it."""
    return isinstance(order, Switch | Revive) or (isinstance(order, Pass) and not stands(place))


def _condition(mon: Mon) -> str:
    if mon.hp <= 0:
        return "0 fnt"
    return f"{mon.hp * 100 // FULL}/100{f' {mon.status}' if mon.status else ''}"


def _item(now: Mon, final: Mon) -> str:
    """Return what it held: as seen by then, or what turned out to have been there all along."""
    return now.item if now.item is not None else final.brought or UNTOLD


def _ability(now: Mon, final: Mon, place: Place | None, species: str) -> str:
    shown = (place.ability if place is not None else "") or now.ability or final.ability
    possible = dex().species_of(species).abilities
    return shown or (possible[0] if len(possible) == 1 else UNTOLD)
