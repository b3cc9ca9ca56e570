"""Orders as numbers: from hand-written requests, and against the simulator's own word."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from showdown_play import MAIN_FORMATS, Told, needs_simulator, odd_setups, play, setups

from lanista.games.contract import GameError
from lanista.games.showdown.actions.orders import (
    PASS,
    PREVIEWS,
    SWITCH,
    TERA,
    TURN_ORDERS,
    Doubles,
    Singles,
    fainted,
    legal_previews,
    orders_of,
    preview_text,
    reviving,
    slot_text,
)
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.install import find, find_node
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.sim.views import Request

PROBE = Path(__file__).parent / "probe.mjs"


def mon(condition: str = "100/100", **more: Any) -> dict[str, Any]:
    return {"condition": condition, **more}


FALLEN = mon("0 fnt")


def asked(*targets: str, **more: Any) -> dict[str, Any]:
    return {"moves": [{"id": "x", "target": target} for target in targets], **more}


def turn(*active: dict[str, Any], party: list[dict[str, Any]]) -> Request:
    return {"active": list(active), "side": {"pokemon": party}}


def forced(*flags: bool, party: list[dict[str, Any]]) -> Request:
    return {"forceSwitch": list(flags), "side": {"pokemon": party}}


def texts(request: Request, orders: Doubles | Singles | None = None) -> set[str]:
    orders = orders or Doubles()
    legal = orders.legal(request).nonzero()[0]
    found = {orders.text(request, int(order)) for order in legal}
    assert len(found) == len(legal)
    return found


def test_every_slot_order_has_its_own_text() -> None:
    said = [slot_text(order) for order in range(45)]
    assert len(set(said)) == 45
    assert said[0] == "move 1 -2"
    assert said[2] == "move 1"
    assert said[TERA + 5 * 3 + 4] == "move 4 2 terastallize"
    assert said[SWITCH : PASS + 1] == ["switch 3", "switch 4", "switch 5", "switch 6", "pass"]


def test_a_target_is_chosen_where_the_move_has_a_choice() -> None:
    party = [mon(), mon()]
    wait = asked("self")
    for kind, left, right in (
        ("normal", {"1", "2", "-2"}, {"1", "2", "-1"}),
        ("any", {"1", "2", "-2"}, {"1", "2", "-1"}),
        ("adjacentFoe", {"1", "2"}, {"1", "2"}),
        ("adjacentAlly", {"-2"}, {"-1"}),
        ("adjacentAllyOrSelf", {"-1", "-2"}, {"-1", "-2"}),
    ):
        first = texts(turn(asked(kind), wait, party=party))
        assert first == {f"move 1 {target}, move 1" for target in left}
        second = texts(turn(wait, asked(kind), party=party))
        assert second == {f"move 1, move 1 {target}" for target in right}
    for kind in ("self", "allAdjacentFoes", "randomNormal", "foeSide", "scripted"):
        assert texts(turn(asked(kind), wait, party=party)) == {"move 1, move 1"}


def test_nobody_switches_to_the_same_pokemon_twice_or_to_a_fallen_one() -> None:
    both = asked("self")
    party = [mon(), mon(), mon(), FALLEN, mon()]
    switches = {"move 1", "switch 3", "switch 5"}
    expected = {f"{a}, {b}" for a in switches for b in switches if a != b or a == "move 1"}
    assert texts(turn(both, both, party=party)) == expected


def test_one_of_two_terastallizes_at_most() -> None:
    both = asked("self", canTerastallize="Fire")
    assert texts(turn(both, both, party=[mon(), mon()])) == {
        "move 1, move 1",
        "move 1 terastallize, move 1",
        "move 1, move 1 terastallize",
    }


def test_the_trapped_stay_and_the_disabled_move_is_not_chosen() -> None:
    first = {**asked("self", "self"), "trapped": True}
    first["moves"][0]["disabled"] = True
    party = [mon(), mon(), mon()]
    assert texts(turn(first, asked("self"), party=party)) == {
        "move 2, move 1",
        "move 2, switch 3",
    }


def test_a_locked_move_is_chosen_without_a_target() -> None:
    locked = {"moves": [{"move": "Outrage", "id": "outrage"}], "trapped": True}
    struggle = {"moves": [{"id": "struggle", "target": "randomNormal", "disabled": False}]}
    assert texts(turn(locked, struggle, party=[mon(), mon()])) == {"move 1, move 1"}


def test_the_fallen_and_the_commanding_pass() -> None:
    moves = asked("self")
    assert texts(turn(moves, moves, party=[FALLEN, mon()])) == {"pass, move 1"}
    assert texts(turn(moves, moves, party=[mon(), mon(commanding=True)])) == {"move 1, pass"}


def test_a_forced_switch_fills_what_can_be_filled() -> None:
    party = [FALLEN, FALLEN, mon(), mon()]
    assert texts(forced(True, True, party=party)) == {"switch 3, switch 4", "switch 4, switch 3"}
    assert texts(forced(True, True, party=[*party[:3], FALLEN])) == {
        "switch 3, pass",
        "pass, switch 3",
    }
    assert texts(forced(False, True, party=[mon(), *party[1:]])) == {
        "pass, switch 3",
        "pass, switch 4",
    }


def test_a_revival_chooses_among_the_fallen_wherever_they_lie() -> None:
    party = [mon(reviving=True), FALLEN, FALLEN, mon(), FALLEN, FALLEN]
    assert texts(forced(True, False, party=party)) == {
        "switch 2, pass",
        "switch 3, pass",
        "switch 5, pass",
        "switch 6, pass",
    }
    party = [FALLEN, mon(reviving=True), FALLEN]
    assert texts(forced(False, True, party=party)) == {
        *("pass, switch 1", "pass, switch 3", "pass, pass")
    }


def test_a_revival_beside_a_forced_switch_takes_the_simulators_count() -> None:
    left = [mon(reviving=True), FALLEN, mon(), FALLEN]
    assert texts(forced(True, True, party=left)) == {
        *("switch 2, pass", "switch 4, pass", "pass, switch 3")
    }
    right = [FALLEN, mon(reviving=True), mon(), FALLEN]
    assert texts(forced(True, True, party=right)) == {
        *("switch 3, switch 1", "switch 3, switch 4", "switch 3, pass"),
        *("pass, switch 1", "pass, switch 4"),
    }


def test_singles_have_fourteen_orders() -> None:
    moves = asked("normal", "self", "any", "foeSide", canTerastallize="Ice")
    request = turn(moves, party=[mon()] * 6)
    assert Singles().legal(request).sum() == 13
    assert texts(request, Singles()) == {
        *(f"move {at}" for at in range(1, 5)),
        *(f"move {at} terastallize" for at in range(1, 5)),
        *(f"switch {at}" for at in range(2, 7)),
    }
    reviver = [mon(reviving=True), FALLEN, mon()]
    assert texts(forced(True, party=reviver), Singles()) == {"switch 2"}
    assert texts(forced(True, party=[reviver[0], FALLEN, FALLEN]), Singles()) == {
        *("switch 2", "switch 3", "pass")
    }
    trapped = turn({**asked("self"), "trapped": True}, party=[mon(), mon()])
    assert texts(trapped, Singles()) == {"move 1"}


def test_ninety_previews_are_all_leaders_with_all_followers() -> None:
    assert len(set(PREVIEWS)) == 90
    pairs = {(frozenset(chosen[:2]), frozenset(chosen[2:])) for chosen in PREVIEWS}
    assert len(pairs) == 90
    assert all(len(lead | back) == 4 for lead, back in pairs)
    assert preview_text(0) == "team 1234"
    request = {"teamPreview": True, "maxChosenTeamSize": 4, "side": {"pokemon": [mon()] * 6}}
    assert legal_previews(request).all()
    request["side"] = {"pokemon": [mon()] * 4}
    legal = legal_previews(request).nonzero()[0]
    assert {PREVIEWS[at] for at in legal} == {at for at in PREVIEWS if max(at) <= 4}


def test_a_preview_that_cannot_be_numbered_is_refused() -> None:
    with pytest.raises(GameError, match="preview of None out of 6"):
        legal_previews({"teamPreview": True, "side": {"pokemon": [mon()] * 6}})


# From here on against the simulator.


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


@pytest.fixture(scope="module")
def odd(battles: Battles) -> list[Told]:
    return list(play(battles, odd_setups(battles, 60)))


def says_maybe(request: Request) -> bool:
    marks = ("maybeTrapped", "maybeDisabled", "maybeLocked")
    return any(active.get(mark) for active in request.get("active", ()) for mark in marks)


def check_taken(told: Told) -> int:
    """Check that every choice was taken, or refused for what was hidden; return how many."""
    assert not told.end.cut_off, told.end.reason
    assert told.end.ended
    last: dict[int, Request] = {}
    for update in told.updates:
        for seat, view in enumerate(update.views):
            if view.refused:
                assert view.refused.startswith("[Unavailable choice]")
                assert says_maybe(last[seat])
                assert not view.lines
            if view.request is not None:
                last[seat] = view.request
    return len(told.choices)


QUICK = dict(zip(MAIN_FORMATS, (24, 16, 8, 12), strict=True))


@needs_simulator
@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_random_legal_choices_are_taken(battles: Battles, format: str) -> None:
    for told in play(battles, setups(battles, format, QUICK[format])):
        check_taken(told)


@needs_simulator
@pytest.mark.slow
@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_a_hundred_thousand_random_choices_are_taken(battles: Battles, format: str) -> None:
    taken = 0
    for told in play(battles, setups(battles, format, 5000, seed=2)):
        taken += check_taken(told)
        if taken >= 100_000:
            return
    raise AssertionError(f"Only {taken} choices were made.")


@needs_simulator
def test_odd_teams_find_every_kind_of_request_and_their_choices_are_taken(
    odd: list[Told],
) -> None:
    seen = dict.fromkeys(KINDS, 0)
    for told in odd:
        check_taken(told)
        for _, request, _ in told.asked:
            for name, is_kind in KINDS.items():
                seen[name] += is_kind(request)
    assert all(seen.values()), seen


def actives(request: Request) -> list[dict[str, Any]]:
    return list(request.get("active", ()))


def on_field(request: Request) -> list[dict[str, Any]]:
    return list(request["side"]["pokemon"][:2])


KINDS: dict[str, Callable[[Request], bool]] = {
    "preview": lambda r: "teamPreview" in r,
    "both switch": lambda r: r.get("forceSwitch") == [True, True],
    "one switches": lambda r: sum(r.get("forceSwitch", ())) == 1,
    "revival": lambda r: any(reviving(each) for each in on_field(r)),
    "commanding": lambda r: any(each.get("commanding") for each in on_field(r)),
    "trapped": lambda r: any(each.get("trapped") for each in actives(r)),
    "maybe trapped": lambda r: any(each.get("maybeTrapped") for each in actives(r)),
    "maybe disabled": lambda r: any(each.get("maybeDisabled") for each in actives(r)),
    "struggle": lambda r: any(each["moves"][0]["id"] == "struggle" for each in actives(r)),
    "locked": lambda r: any("target" not in each["moves"][0] for each in actives(r)),
    "one left": lambda r: "active" in r and any(fainted(each) for each in on_field(r)),
    "tera for two": lambda r: sum("canTerastallize" in each for each in actives(r)) == 2,
}


Position = tuple[Told, int, Request, int]
"""A battle, whose turn it is, the request, and how many choices came before."""


def probe(positions: list[Position]) -> list[list[str | None]]:
    """Try every order on the simulator in each position."""
    wanted = []
    for told, seat, request, before in positions:
        orders = orders_of(format_named(told.setup.format))
        tried = [orders.text(request, order) for order in range(orders.size)]
        choices = told.choices[:before]
        wanted.append({**told.setup.message(), "choices": choices, "seat": seat, "texts": tried})
    done = subprocess.run(
        [find_node(), str(PROBE), str(find())],
        input=json.dumps(wanted).encode(),
        capture_output=True,
        check=True,
    )
    answer: list[list[str | None]] = json.loads(done.stdout)
    return answer


def check_exact(positions: list[Position]) -> None:
    """Check that the mask holds each order the simulator takes, once, and no other.

    Several texts can mean one order to the simulator (it drops "terastallize" from a locked move),
    so what it understood is compared.
    """
    for (told, _, request, _), understood in zip(positions, probe(positions), strict=True):
        legal = orders_of(format_named(told.setup.format)).legal(request)
        allowed = [understood[at] for at in legal.nonzero()[0]]
        taken = {order for order in understood if order is not None}
        if not says_maybe(request):
            assert None not in allowed, request
            assert len(set(allowed)) == len(allowed), request
        assert taken == {order for order in allowed if order is not None}, request


def some_of_each_kind(found: list[Told], count: int) -> list[Position]:
    turns = [(told, *asked) for told in found for asked in told.asked]
    chosen = []
    for name, is_kind in KINDS.items():
        if name != "preview":
            of_kind = [position for position in turns if is_kind(position[2])]
            chosen += of_kind[:: max(1, len(of_kind) // count)][:count]
    return chosen


def some_of_each_battle(found: list[Told], count: int) -> list[Position]:
    chosen = []
    for told in found:
        turns = [asked for asked in told.asked if "teamPreview" not in asked[1]]
        chosen += [(told, *asked) for asked in turns[:: max(1, len(turns) // count)][:count]]
    return chosen


@needs_simulator
def test_the_mask_is_what_the_simulator_takes_in_odd_positions(odd: list[Told]) -> None:
    check_exact(some_of_each_kind(odd, 3))


@needs_simulator
def test_the_mask_is_what_the_simulator_takes(battles: Battles) -> None:
    found = [
        told
        for format in MAIN_FORMATS
        for told in play(battles, setups(battles, format, 3, seed=5))
    ]
    check_exact(some_of_each_battle(found, 4))


@needs_simulator
@pytest.mark.slow
def test_the_mask_is_what_the_simulator_takes_in_many_odd_positions(odd: list[Told]) -> None:
    check_exact(some_of_each_kind(odd, 60))


@needs_simulator
@pytest.mark.slow
@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_the_mask_is_what_the_simulator_takes_in_many_positions(
    battles: Battles, format: str
) -> None:
    check_exact(some_of_each_battle(list(play(battles, setups(battles, format, 60, seed=6))), 8))


def test_a_mask_has_as_many_entries_as_there_are_orders() -> None:
    request = turn(asked("self"), asked("self"), party=[mon(), mon()])
    assert Doubles().legal(request).shape == (TURN_ORDERS,) == (2025,)
    assert Doubles().legal(request).dtype == np.bool_
