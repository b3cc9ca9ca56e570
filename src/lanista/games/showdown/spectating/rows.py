"""Decisions of a battle log as rows to learn from: what was seen, could be named, and was done.

Every row is made by the tracker and the numbering that play uses, with the requests of
spectator_requests.py. A decision of which a part is unknown gives no row and is counted. Knows
nothing of files and of what rows are used for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError, Spec
from lanista.games.showdown.actions.orders import (
    PASS,
    PREVIEWS,
    SINGLES_PASS,
    SINGLES_SWITCH,
    SINGLES_TERA,
    SLOT_ORDERS,
    SWITCH,
    TERA,
    Flags,
    orders_of,
)
from lanista.games.showdown.formats import Format
from lanista.games.showdown.observation.description import whole_action, write_mask
from lanista.games.showdown.protocol.battle_state import FOE
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.views import SEATS, Request
from lanista.games.showdown.spectating.logs import Log, LogError
from lanista.games.showdown.spectating.requests import Party
from lanista.games.showdown.spectating.sheets import has_sheets
from lanista.games.showdown.spectating.spectator import (
    Bring,
    Decision,
    Move,
    Order,
    Pass,
    Revive,
    Switch,
    Told,
    stands,
)
from lanista.games.showdown.spectating.witness import witness

DISGUISE = "Illusion"
NOT_NAMED = "cannot be numbered"
# What lines that no server writes can bring about in a tracker.
_UNFOLLOWED = (GameError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class Row:
    """One decision; it is known in full unless rows of every decision were asked for."""

    seat: int
    step: int
    """Counts the seat's decisions, those that are not known included."""
    observation: NDArray[Any]
    mask: Flags
    action: list[int]
    """Empty where what was chosen is not known."""
    decision: Decision
    request: Request
    """What the side was asked, as far as the log tells."""


@dataclass
class Battle:
    """What came of one log."""

    log: Log
    rows: list[Row] = field(default_factory=list)
    segments: list[list[str]] = field(default_factory=list)
    """The log's lines, cut where everybody had chosen."""
    open_sheets: bool = False
    """Both players' team sheets are in the log."""
    fully_known: int = 0
    partly: int = 0
    """Decisions of which one place's order is known and the other's is not."""
    unknown: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Why decisions are not known: one count for each part."""


def read_battle(
    log: Log,
    format: Format,
    spec: Spec,
    belief: Belief | None,
    seats: tuple[int, ...] = (0, 1),
    *,
    every: bool = False,
) -> Battle:
    """Return the decisions of `seats` in a log; a log that cannot be followed is refused.

    With `every`, there is a row also where what was chosen did not show: its action is empty.
    """
    battle = Battle(log)
    try:
        log_facts = witness(format, log.lines)
        if not log_facts.decisions:
            raise LogError("ended before anybody chose anything")
        battle.segments = log_facts.segments
        battle.open_sheets = has_sheets(log, SEATS)
        for seat in seats:
            _Side(battle, log_facts, seat, format, spec, belief, every).read()
    except _UNFOLLOWED as error:
        raise LogError(f"has lines that cannot be followed: {error}") from error
    return battle


class _Side:
    """One seat's way through a battle."""

    def __init__(
        self,
        battle: Battle,
        log_facts: Told,
        seat: int,
        format: Format,
        spec: Spec,
        belief: Belief | None,
        every: bool,
    ) -> None:
        self.every = every
        self.battle, self.log_facts, self.seat, self.spec = battle, log_facts, seat, spec
        self.tracker = Tracker(format, seat, belief, spec.facts.observation_version)
        self.orders = orders_of(format)
        self.doubles = format.doubles
        self.previews = spec.heads[0].size if len(spec.heads) > 1 else 0
        self.party = Party(log_facts, seat)

    def read(self) -> None:
        segments_read = 0
        decisions = [
            candidate for candidate in self.log_facts.decisions if candidate.seat == self.seat
        ]
        for step, decision in enumerate(decisions):
            for lines in self.log_facts.segments[segments_read : decision.segment + 1]:
                self.tracker.hear(lines)
            segments_read = decision.segment + 1
            unknown = decision.unknown
            if self.log_facts.disguised[self.seat]:
                unknown = [DISGUISE] * len(decision.orders)
            if not unknown:
                row = self._row(step, decision)
                if row is not None:
                    self.battle.fully_known += 1
                    self.battle.rows.append(row)
                    continue
                unknown = [NOT_NAMED]
            elif self.every and not self.log_facts.disguised[self.seat]:
                self.battle.rows.append(self._view(step, decision))
            self.battle.reasons.update(unknown)
            if len(unknown) < len(decision.orders):
                self.battle.partly += 1
            else:
                self.battle.unknown += 1

    def _row(self, step: int, decision: Decision) -> Row | None:
        """Return a decision that is known; None where its order has no number or is not legal."""
        view = self._view(step, decision)
        request, choice = view.request, self._number(decision, view.request)
        if choice is None:
            return None
        if not view.mask[choice + (0 if request.get("teamPreview") else self.previews)]:
            return None
        return replace(view, action=whole_action(self.spec.heads, request, choice))

    def _view(self, step: int, decision: Decision) -> Row:
        """Return what the side saw and could name, without what it chose."""
        request = self.party.request(self.tracker.battle, decision)
        self.tracker.ask(request)
        for mon in self.tracker.own.party:
            # A spectator sees shares of HP, and no PP.
            mon.points, mon.pp = 0, []
        mask = np.zeros(self.spec.choices, np.bool_)
        write_mask(request, self.orders, self.previews, mask)
        if not request.get("teamPreview"):
            self._narrow(mask[self.previews :])
        observation = np.zeros(self.spec.observation.length, self.spec.observation.dtype)
        self.tracker.encode(observation)
        return Row(self.seat, step, observation, mask, [], decision, request)

    def _number(self, decision: Decision, request: Request) -> int | None:
        """Return the order's number, or None where the party has no such thing."""
        first = decision.orders[0]
        if isinstance(first, Bring):
            chosen = tuple(at + 1 for at in (*sorted(first.leaders), *sorted(first.others)))
            return PREVIEWS.index(chosen) if chosen in PREVIEWS else None
        numbers = [
            self._slot_number(order, slot, request) for slot, order in enumerate(decision.orders)
        ]
        total = 0
        for number in numbers:
            if number is None:
                return None
            total = total * SLOT_ORDERS + number
        return total

    def _slot_number(self, order: Order, slot: int, request: Request) -> int | None:
        if isinstance(order, Pass):
            return PASS if self.doubles else SINGLES_PASS
        if isinstance(order, Move):
            offered = [move["id"] for move in request["active"][slot]["moves"]]
            if order.move not in offered:
                return None
            at = offered.index(order.move)
            if not self.doubles:
                return at + SINGLES_TERA * order.tera
            return 5 * at + order.target + 2 + TERA * order.tera
        if isinstance(order, Switch | Revive):
            at = self.party.place_of(order.mon)
            if not self.doubles:
                return SINGLES_SWITCH + at - 1 if at else None
            if at < 2:
                return 1 - at if isinstance(order, Revive) else None
            return SWITCH + at - 2
        return None

    def _narrow(self, mask: Flags) -> None:
        """Leave out what nobody can have meant: who never showed, and places that are empty."""
        first = SWITCH - 2 if self.doubles else SINGLES_SWITCH - 1
        places = 2 if self.doubles else 1
        orders = [
            first + at
            for at, who in enumerate(self.party.positions)
            if who is None and at >= places
        ]
        if not self.doubles:
            mask[orders] = False
            return
        filled = [stands(place) for place in self.tracker.battle.sides[FOE].places]
        if any(filled):
            orders += [
                5 * move + target + 2
                for move in range(8)
                for target, stood in enumerate(filled, 1)
                if not stood
            ]
        joint = mask.reshape(SLOT_ORDERS, SLOT_ORDERS)
        joint[orders, :] = False
        joint[:, orders] = False


__all__ = ["SEATS", "Battle", "Row", "read_battle"]
