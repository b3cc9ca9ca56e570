"""Tells choices of equal value apart by what they are, never by their number.

A bot whose equals are drawn cannot be imitated beyond chance, and one that takes the first can only
be imitated by somebody who counts as it does. Here the same Pokémon, moves and targets give the
same choice, however a team is written down.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanista.games.showdown.actions.options import MOVE, SWITCH, Option, options_of
from lanista.games.showdown.actions.orders import PREVIEWS, SLOT_ORDERS
from lanista.games.showdown.protocol.requests import PREVIEW
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.bot_view import air_of, foes, own_sheet
from lanista.games.showdown.scripted.reckoning import Sheet, hit_chance, share

Rank = tuple[float, ...]


def preferred(tracker: Tracker, equals: Sequence[int]) -> int:
    """Return the choice of the highest rank."""
    if len(equals) == 1:
        return int(equals[0])
    if tracker.own.kind == PREVIEW:
        return int(max(equals, key=lambda choice: _preview_rank(tracker, choice)))
    places = len(tracker.battle.sides[0].places)
    ranks = [
        {option.order: _rank(tracker, place, option) for option in options_of(tracker, place)}
        for place in range(min(places, len(tracker.own.party)))
    ]

    def rank(choice: int) -> Rank:
        orders = divmod(choice, SLOT_ORDERS) if places > 1 else (choice,)
        parts = [table.get(order, ()) for table, order in zip(ranks, orders, strict=False)]
        # Sorted, so that left and right have no meaning; what counts first is summed.
        first = [sum(part[at] for part in parts if part) for at in range(_SUMMED)]
        return (*first, *(number for part in sorted(parts) for number in part))

    return int(max(equals, key=rank))


_SUMMED = 3
"""How many numbers of a rank count for both places together."""


def _preview_rank(tracker: Tracker, choice: int) -> Rank:
    numbers = [-_species(tracker.own.party[at - 1].species) for at in PREVIEWS[choice]]
    return (*sorted(numbers[:2]), *sorted(numbers[2:]))


def _rank(tracker: Tracker, place: int, option: Option) -> Rank:
    """Return: keeps its type, harm beyond what is left, surety, then what it is by number."""
    actor = -_species(tracker.own.party[place].species)
    if option.kind == SWITCH:
        return 0.0, 0.0, 0.0, -_species(tracker.own.party[option.party].species), actor
    if option.kind != MOVE:
        return 0.0, 0.0, 0.0, 0.0, actor
    user, standing, air = own_sheet(tracker, place), foes(tracker), air_of(tracker)
    if option.tera:
        user = Sheet(user.fighter.turned(option.tera))
    harm, surety, aimed = 0.0, 0.0, 0
    for at in option.foes:
        target = standing[at]
        if target is not None:
            chance = hit_chance(user, option.move, target.sheet, air)
            harm += share(user, option.move, target.sheet, air) * chance
            surety += chance
            aimed += _species(target.fighter.species)
    kept = 0.0 if option.tera else 1.0
    # Rounded: what differs by a hair would be told apart by the order of sums.
    return (
        *(kept, round(harm, 6), round(surety, 6)),
        *(-dex().move_of(option.move).number, -aimed, float(not option.ally), actor),
    )


def _species(name: str) -> int:
    return dex().species_of(name).number
