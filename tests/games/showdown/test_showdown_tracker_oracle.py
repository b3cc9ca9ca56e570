"""What a tracker knows against poke-env's battle object, field by field where both have it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from showdown_play import MAIN_FORMATS, Told, needs_simulator, odd_setups, play, setups

from lanista.games.showdown.formats import format_named
from lanista.games.showdown.protocol.battle_state import BOOSTS, FOE, OWN, Known, Place, base_of
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.sim.battles import Battles

oracle = pytest.importorskip("poke_env.battle", reason="poke-env, the oracle, is not installed")
pytestmark = needs_simulator
# What poke-env's battle object does not take, or its player class handles.
NOT_FOR_IT = frozenset(
    (
        *("", "win", "tie", "t:", "request", "gametype", "gen", "tier", "rule", "uhtml"),
        *("uhtmlchange", "html", "teampreview", "start", "-hint", "-message", "upkeep", "rated"),
    )
)

UNTYPED = "threequestionmarks"
TREATED_APART = frozenset(("revivalblessing", "struggle", "recharge", "transform"))
"""Moves that poke-env forgets at a revival, lists as own, or takes from an ability."""


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


def names(found: Any) -> set[str]:
    return {to_id(each.name) for each in found}


def compare_field(known: Known, other: Any) -> None:
    assert known.turn == other.turn
    assert ({known.weather} if known.weather else set()) == names(other.weather)
    assert ({known.terrain} if known.terrain else set()) | set(known.rooms) == names(other.fields)
    # poke-env has no side condition for a foreseen attack.
    sides = [set(side.conditions) - {"futuresight"} for side in known.sides]
    assert sides == [names(other.side_conditions), names(other.opponent_side_conditions)]


def compare_place(place: Place, other: Any, found: Counter[str], side: int) -> None:
    mon = place.mon
    if mon is None or mon.hp <= 0:
        return
    found["places"] += 1
    # poke-env names a Pokémon by what it was brought as, whatever forme it has taken.
    assert mon.base == base_of(to_id(other.base_species))
    assert dict(zip(BOOSTS, place.boosts, strict=True)) == dict(other.boosts)
    assert mon.status == (to_id(other.status.name) if other.status else "")
    compare_types(place, other, found)
    if side == FOE:
        compare_held(place, other, found)
        assert mon.hp == 10 * other.current_hp
        assert mon.level == other.level
        # One that is revived has its own type again; poke-env keeps the other.
        assert mon.terastallized <= other.is_terastallized <= bool(mon.tera)
        if place.moves is None:
            # poke-env learns no move from a turn that was lost with it.
            used = {move for move, uses in mon.moves.items() if uses}
            theirs = set(other.moves) - TREATED_APART
            assert used - TREATED_APART <= theirs <= set(mon.moves)


def compare_types(place: Place, other: Any, found: Counter[str]) -> None:
    mon = place.mon
    assert mon is not None
    # poke-env keeps the type of one that is revived, calls Stellar a type like others, and leaves
    # Meloetta in the forme it had when it went. Some species of the odd teams are in no format,
    # and so not in our vocabulary.
    odd = other.is_terastallized != mon.terastallized or mon.tera == "stellar"
    if not odd and mon.base != "meloetta" and place.current_types():
        theirs = {to_id(each.name) for each in other.types if each}
        # Whoever has used up its type has one without a name, "???".
        assert set(place.current_types()) == {"" if t == UNTYPED else t for t in theirs}
        found["types"] += 1


def compare_held(place: Place, other: Any, found: Counter[str]) -> None:
    """Compare an opponent's ability and item where both know them.

    poke-env takes the only ability of a species for known; here that is for others to conclude.
    """
    assert place.mon is not None
    ability = place.ability or place.mon.ability
    # Of one that has transformed poke-env may still tell its own ability.
    if ability and other.ability and place.moves is None:
        assert ability == to_id(other.ability)
        found["abilities"] += 1
    if place.mon.item is not None and other.item != "unknown_item":
        assert place.mon.item == (other.item or "")
        found["items"] += 1


def follow(told: Told, seat: int, found: Counter[str]) -> None:
    format = format_named(told.setup.format)
    tracker = Tracker(format, seat)
    kind = oracle.DoubleBattle if format.doubles else oracle.Battle
    other = kind("battle-1", f"Player {seat + 1}", logging.getLogger("oracle"), gen=9)
    other._player_role = f"p{seat + 1}"
    for update in told.updates:
        view = update.views[seat]
        tracker.hear(view.lines)
        for line in view.lines:
            parts = line.split("|")
            if parts[1] not in NOT_FOR_IT:
                other.parse_message(parts)
        if view.request is None:
            continue
        tracker.ask(view.request)
        other.parse_request(dict(view.request))
        found["views"] += 1
        compare_field(tracker.battle, other)
        for side, active in ((OWN, other.active_pokemon), (FOE, other.opponent_active_pokemon)):
            standing = active if isinstance(active, list) else [active]
            for place, mon in zip(tracker.battle.sides[side].places, standing, strict=False):
                compare_place(place, mon, found, side)


def check(battles: Battles, kind: str, views: int, seed: int) -> None:
    """Compare both seats' trackers with poke-env's battle objects after every update."""
    count = views // 16
    odd = kind == "odd teams"
    wanted = odd_setups(battles, count) if odd else setups(battles, kind, count, seed)
    found: Counter[str] = Counter()
    for told in play(battles, wanted):
        # Who was taken for whom under an Illusion is guesswork, and the two guess differently.
        if not any("'illusion'" in str(request) for _, request, _ in told.asked):
            follow(told, 0, found)
            follow(told, 1, found)
        if found["views"] >= views:
            break
    assert found["views"] >= views
    assert min(found["places"], found["types"]) >= views
    assert min(found["abilities"], found["items"]) >= views // 20


@pytest.mark.parametrize("kind", [*MAIN_FORMATS, "odd teams"])
def test_a_tracker_agrees_with_poke_env_over_some_views(battles: Battles, kind: str) -> None:
    check(battles, kind, 400, seed=41)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*MAIN_FORMATS, "odd teams"])
def test_a_tracker_agrees_with_poke_env_over_ten_thousand_views(
    battles: Battles, kind: str
) -> None:
    check(battles, kind, 10_000, seed=42)
