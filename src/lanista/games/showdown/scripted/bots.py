"""Bots of ours for Showdown, each with nothing but what its seat's tracker knows.

`max_power` takes the strongest move by the dex, `damage` what is expected to take most HP. They put
a value on every order of a place and take the pair of orders with the highest sum; equals are
drawn. heuristic.py has one that thinks of what comes back, and tells equals apart by what they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import bot_digest
from lanista.games.contract import Decisions, Ints, Spec
from lanista.games.showdown.actions.options import MOVE, PASS, SWITCH, Option, options_of
from lanista.games.showdown.actions.orders import PREVIEWS, SINGLES_ORDERS, SLOT_ORDERS
from lanista.games.showdown.game import sight_of
from lanista.games.showdown.protocol.battle_state import FOE
from lanista.games.showdown.protocol.requests import FORCED, PREVIEW
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.bot_view import Standing, air_of, foe_sheet, foes, own_sheet
from lanista.games.showdown.scripted.reckoning import Air, Sheet, arsenal, best, hit_chance, share
from lanista.games.streams import Stream

Values = NDArray[np.float64]
NEVER = -1e6
KILL = 0.6
"""What a kill is worth beside the HP it takes, in whole Pokémon."""
ALMOST = 1e-9
"""Values that differ by less are equal."""


class SightBot:
    """Values the orders of each place, adds them up, and takes the best that is legal."""

    name = ""
    version = 1
    reads_observation = False

    def __init__(self, spec: Spec, seed: int) -> None:
        self.spec, self.seed = spec, seed
        self.digest = bot_digest(spec.name, self.name, self.version)

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        sight = sight_of(decisions, self.name)
        actions = np.zeros((len(rows), len(self.spec.heads)), np.int32)
        for number, row in enumerate(rows):
            key = (int(decisions.match[row]), int(decisions.seat[row]))
            stream = Stream.keyed(self.seed, *key, "act", int(decisions.turn[row]))
            tracker, mask = sight.trackers[row], sight.mask[row]
            if tracker.own.kind == PREVIEW:
                equals = best_of(self.value_previews(tracker), mask[: len(PREVIEWS)])
                actions[number, 0] = self.choose(tracker, equals, stream)
            else:
                values = self.value_turn(tracker)
                equals = best_of(values, mask[-len(values) :])
                actions[number, -1] = self.choose(tracker, equals, stream)
        return actions

    def choose(self, tracker: Tracker, equals: Ints, stream: Stream) -> int:
        """Return one of several choices of equal value: any."""
        return int(equals[stream.below(len(equals))])

    def value_previews(self, tracker: Tracker) -> Values:
        """Return a value for each of the 90 previews; leaders count double."""
        worth = self.value_party(tracker)
        return np.array(
            [sum(worth[at - 1] * (2 if i < 2 else 1) for i, at in enumerate(chosen))
             for chosen in PREVIEWS]
        )  # fmt: skip

    def value_turn(self, tracker: Tracker) -> Values:
        """Return a value for each turn order."""
        places = tracker.battle.sides[0].places
        hp = [foe.fighter.hp if foe else 0.0 for foe in foes(tracker)]
        size = SLOT_ORDERS if len(places) > 1 else SINGLES_ORDERS
        worth = np.full((len(places), size), NEVER)
        harm = np.zeros((len(places), size, len(hp)))
        for slot in range(len(places)):
            self.value_slot(tracker, slot, worth[slot], harm[slot])
        if len(places) == 1:
            alone: Values = worth[0] + _gain(harm[0], hp)
            return alone
        joint = harm[0][:, None] + harm[1][None]
        total: Values = worth[0][:, None] + worth[1][None] + _gain(joint, hp)
        return total.reshape(-1)

    def value_party(self, tracker: Tracker) -> list[float]:
        """Return what each Pokémon of the six is worth against the opponent's team."""
        return [0.0] * len(tracker.own.party)

    def value_slot(self, tracker: Tracker, slot: int, worth: Values, harm: Values) -> None:
        """Write, by order, a value, and the share of each opponent's HP that it takes."""
        raise NotImplementedError


class MaxPower(SightBot):
    """Takes the move with the highest base power, aimed at a foe; otherwise draws."""

    name = "max_power"

    def value_slot(self, tracker: Tracker, slot: int, worth: Values, harm: Values) -> None:
        """Value moves by their power; a switch only where nothing else is left."""
        standing = foes(tracker)
        for option in options_of(tracker, slot):
            value = -1.0
            if option.kind == MOVE:
                value = dex().move_of(option.move).power / 100 - (1e-3 if option.tera else 0)
                if not any(standing[at] for at in option.foes):
                    value = min(value, 0.0) - (0.5 if option.ally else 0)
            worth[option.order] = max(worth[option.order], value)


class Damage(SightBot):
    """Takes what is expected to cost the opponent most HP; kills count extra."""

    name = "damage"
    version = 2
    tera_cost = 0.15
    out_of_reach = -0.4
    """What a switch is worth by choice, before what comes in is looked at."""

    def value_party(self, tracker: Tracker) -> list[float]:
        """Return the mean over the opponent's team of the best attack on each."""
        air, battle = air_of(tracker), tracker.battle
        against = [foe_sheet(battle, mon) for mon in battle.sides[FOE].mons]
        return [self._prowess(tracker, at, against, air) for at in range(len(tracker.own.party))]

    def value_slot(self, tracker: Tracker, slot: int, worth: Values, harm: Values) -> None:
        """Value moves by their damage, and whom to bring in by what it could do."""
        air, standing = air_of(tracker), foes(tracker)
        against = [foe.sheet for foe in standing if foe]
        own = own_sheet(tracker, slot)
        users = {"": own}
        for option in options_of(tracker, slot):
            worth[option.order] = max(worth[option.order], 0.0)
            if option.kind == SWITCH:
                forced = tracker.own.kind == FORCED
                prowess = self._prowess(tracker, option.party, against, air)
                worth[option.order] = prowess + (0.0 if forced else self.out_of_reach - 0.5)
            elif option.kind == PASS:
                worth[option.order] = -0.1
            else:
                if option.tera not in users:
                    users[option.tera] = Sheet(own.fighter.turned(option.tera))
                user = users[option.tera]
                self._write_harm(option, user, standing, air, harm)
                price = self.tera_cost if option.tera else 0.0
                worth[option.order] = -price - _friendly_fire(tracker, slot, option, user, air)

    def _write_harm(
        self,
        option: Option,
        user: Sheet,
        standing: list[Standing | None],
        air: Air,
        harm: Values,
    ) -> None:
        there = [at for at in option.foes if standing[at]]
        spread = option.spread and len(there) + option.ally > 1
        for at in there:
            target = standing[at]
            assert target is not None
            damage = share(user, option.move, target.sheet, air, spread)
            damage *= hit_chance(user, option.move, target.sheet, air)
            harm[option.order, at] = damage if option.spread else damage / len(there)

    def _prowess(self, tracker: Tracker, party: int, against: list[Sheet], air: Air) -> float:
        """Return the mean over opponents of the best that one of the party could do to each."""
        sheet, moves = own_sheet(tracker, party), arsenal(tuple(tracker.own.party[party].moves))
        shares = [min(1.0, best(sheet, moves, foe, air)) for foe in against]
        return sum(shares) / len(shares) if shares else 0.0


def _friendly_fire(tracker: Tracker, slot: int, option: Option, user: Sheet, air: Air) -> float:
    """Return what hitting the own ally costs."""
    if not option.ally:
        return 0.0
    ally = 1 - slot
    if ally >= len(tracker.own.party) or tracker.own.party[ally].fainted:
        return 0.0
    target = own_sheet(tracker, ally)
    harm = share(user, option.move, target, air, option.spread)
    lost = float(_gain(np.array([[harm]]), [target.fighter.hp])[0])
    return lost + (0 if option.foes else 0.5)


def _gain(harm: Values, hp: list[float]) -> Values:
    """Return what harm is worth: the HP that was there to lose, and something for each kill."""
    remaining = np.array(hp)
    kill = (harm >= remaining) & (remaining > 0)
    gain: Values = (np.minimum(harm, remaining) + KILL * kill).sum(-1)
    return gain


def best_of(values: Values, mask: NDArray[np.bool_]) -> Ints:
    """Return the legal choices of the highest value, in order."""
    legal = np.where(mask, values, -np.inf)
    return np.flatnonzero(legal >= legal.max() - ALMOST).astype(np.int32)
