"""What a tracker knows of an opponent against the opponent's own request: never a contradiction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from showdown_play import MAIN_FORMATS, Told, needs_simulator, odd_setups, play, setups

from lanista.games.showdown.formats import format_named
from lanista.games.showdown.protocol.battle_state import (
    FOE,
    Mon,
    Place,
    Side,
    base_of,
    read_condition,
    read_details,
)
from lanista.games.showdown.protocol.speeds import bounds
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.sim.battles import Battles

pytestmark = needs_simulator
KINDS = (*MAIN_FORMATS, "odd teams")


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


def check_battle(told: Told, found: Counter[str]) -> None:
    format = format_named(told.setup.format)
    trackers = (Tracker(format, 0), Tracker(format, 1))
    for update in told.updates:
        for tracker, view in zip(trackers, update.views, strict=True):
            tracker.hear(view.lines)
            if view.request is not None:
                tracker.ask(view.request)
        for seat, tracker in enumerate(trackers):
            request = update.views[1 - seat].request
            if request is not None:
                check_side(tracker.battle.sides[FOE], request["side"]["pokemon"], found)
    for tracker in trackers:
        assert not tracker.strange


def check_side(side: Side, party: list[dict[str, Any]], found: Counter[str]) -> None:
    # Under an Illusion a player is meant to believe what is not so.
    if any(each["baseAbility"] == "illusion" for each in party):
        return
    truth = {each["ident"].partition(": ")[2]: each for each in party}
    places = {place.mon: place for place in side.places if place.mon is not None}
    for mon in side.mons:
        # What falls or leaves a forme turns back unseen.
        if mon.appeared and mon.hp > 0 and not (mon in places and places[mon].forme):
            check_mon(mon, places.get(mon), truth[mon.name], found)


def check_mon(mon: Mon, place: Place | None, truth: dict[str, Any], found: Counter[str]) -> None:
    found["seen"] += 1
    _, points, most, status = read_condition(truth["condition"])
    if place is not None:
        share = min(-(-100 * points // most), 100 if points == most else 99)
        assert mon.hp == 10 * share
        assert (place.ability or mon.ability or truth["ability"]) == truth["ability"]
    assert mon.status == status
    species = read_details(truth["details"])[0]
    # A forme that lasts until it leaves can become one for good without a line.
    assert mon.species == species if place is not None else mon.base == base_of(species)
    assert set(mon.moves) <= set(truth["moves"])
    assert (mon.ability or truth["baseAbility"]) == truth["baseAbility"]
    assert (mon.tera or to_id(truth["teraType"])) == to_id(truth["teraType"])
    assert mon.terastallized == bool(truth["terastallized"])
    if mon.item is not None:
        found["item"] += 1
        assert mon.item == truth["item"]
    factor = {"choicescarf": 1.5, "ironball": 0.5}.get(truth["item"], 1.0)
    low, high = bounds(mon)
    if high:
        assert low <= int(truth["stats"]["spe"] * factor) <= high
    found["speed"] += bool(mon.speed_low or mon.speed_high)


def check(battles: Battles, kind: str, count: int) -> None:
    odd = kind == "odd teams"
    wanted = odd_setups(battles, count) if odd else setups(battles, kind, count, seed=31)
    found: Counter[str] = Counter()
    for told in play(battles, wanted):
        check_battle(told, found)
    # The check would hold for a tracker that never knows anything.
    assert found["seen"] > 20 * count
    assert found["item"] > count
    assert found["speed"] > count


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_known_of_an_opponent_is_wrong(battles: Battles, kind: str) -> None:
    check(battles, kind, 5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_known_is_wrong_over_two_hundred_battles(
    battles: Battles, kind: str
) -> None:
    check(battles, kind, 200)
