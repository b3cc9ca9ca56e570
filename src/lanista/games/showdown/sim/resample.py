"""Redraws what a player cannot see of a battle, and proves it by playing the battle again.

A change of the opponent's hidden sets is kept exactly if the same choices tell the player the same
lines and requests, word for word. Redrawn are Tera types, and natures of whatever has not shown its
own; moves, items and spreads stay, so this is for proofs, not for looking ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lanista.games.showdown.actions.orders import PARTY
from lanista.games.showdown.sim.battles import Changes, Setup
from lanista.games.showdown.sim.views import Update, View
from lanista.games.streams import Stream

TYPES = (
    *("Normal", "Fire", "Water", "Electric", "Grass", "Ice", "Fighting", "Poison", "Ground"),
    *("Flying", "Psychic", "Bug", "Rock", "Ghost", "Dragon", "Dark", "Steel", "Fairy"),
)
NATURES = (
    *("Hardy", "Lonely", "Brave", "Adamant", "Naughty", "Bold", "Docile", "Relaxed", "Impish"),
    *("Lax", "Timid", "Hasty", "Serious", "Jolly", "Naive", "Modest", "Mild", "Quiet", "Bashful"),
    *("Rash", "Calm", "Gentle", "Sassy", "Careful", "Quirky"),
)

Replay = Callable[[Setup], list[Update]]
"""Plays the battle again from a setup, with the choices that were made, and leaves it."""


def redraw(setup: Setup, seat: int, stream: Stream, replay: Replay) -> Setup:
    """Return a setup that `seat` cannot tell from `setup` by what it was told so far."""
    foe = 1 - seat
    shown = [update.views[seat] for update in replay(setup)]
    accepted = list(setup.changes.get(foe, ()))
    places = list(range(PARTY))
    stream.shuffle(places)
    candidates = [[(at, _other_set(stream))] for at in places]
    candidates.append([(at, {"teraType": stream.choice(TYPES)}) for at in places])
    for change in candidates:
        tried = _changed(setup, foe, [*accepted, *change])
        if _is_same(replay(tried), seat, shown):
            accepted += change
    return _changed(setup, foe, accepted)


def _changed(setup: Setup, seat: int, changes: Changes) -> Setup:
    return replace(setup, changes={**setup.changes, seat: changes})


def _other_set(stream: Stream) -> dict[str, str]:
    return {"teraType": stream.choice(TYPES), "nature": stream.choice(NATURES)}


def _is_same(updates: Sequence[Update], seat: int, shown: Sequence[View]) -> bool:
    if any(update.cut_off or update.ended for update in updates):
        return False
    return [update.views[seat] for update in updates] == shown
