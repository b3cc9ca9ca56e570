"""Choices in words: from hand-written requests, and against the simulator's own understanding."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from showdown_play import Told, needs_simulator, odd_setups, play, setups

from lanista.games.showdown.actions.choice_text import read_preview, read_turn
from lanista.games.showdown.actions.orders import PREVIEWS, Doubles, orders_of
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.install import find, find_node
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.sim.views import Request
from lanista.games.streams import Stream

PROBE = Path(__file__).parent / "probe.mjs"
TARGETS = ("", " 1", " 2", " -1", " -2")
HIDDEN = ("maybeTrapped", "maybeDisabled", "maybeLocked")


def mon(name: str, condition: str = "100/100", **more: Any) -> dict[str, Any]:
    return {"ident": f"p1: {name}", "details": f"{name}, L50", "condition": condition, **more}


def asked(*moves: tuple[str, str]) -> dict[str, Any]:
    return {"moves": [{"id": name, "target": target} for name, target in moves]}


def said(request: Request, text: str, foes: tuple[int, ...] = (1, 2), seed: int = 0) -> str | None:
    """Return what words are read as, in the words of a number."""
    orders = Doubles()
    stream = Stream.keyed(seed, 0, 0, "act")
    order = read_turn(request, text, orders.legal(request), foes, stream)
    return None if order is None else orders.text(request, order)


TEAM = [mon("Ada"), mon("Bix"), mon("Cyd"), mon("Dov")]
TURN: Request = {
    "active": [asked(("tackle", "normal"), ("protect", "self")), asked(("howl", "allies"))],
    "side": {"pokemon": TEAM},
}


def test_moves_and_pokemon_are_named() -> None:
    assert said(TURN, "move tackle 2, switch Dov") == "move 1 2, switch 4"
    assert said(TURN, "move protect, move howl") == "move 2, move 1"
    assert said(TURN, "move 1 -2, move 1") == "move 1 -2, move 1"
    tera = {**TURN, "active": [{**TURN["active"][0], "canTerastallize": "Ice"}, TURN["active"][1]]}
    assert said(tera, "move tackle terastallize 1, move howl") == "move 1 1 terastallize, move 1"


@pytest.mark.parametrize(
    "text",
    [
        *("move tackle, move howl", "move tackle -1, move howl", "move protect 1, move howl"),
        *("move fly 1, move howl", "switch Cyd, switch Cyd", "switch Bix, move howl"),
        *("move tackle 1", "move tackle 1, pass", "move protect, move howl, pass", "sing, pass"),
        *("switch Nobody, move howl", "move protect terastallize, move howl"),
    ],
)
def test_what_the_simulator_refuses_is_no_order(text: str) -> None:
    assert said(TURN, text) is None


def test_a_place_with_nothing_to_choose_may_be_left_out() -> None:
    request = {**TURN, "side": {"pokemon": [mon("Ada", "0 fnt"), *TEAM[1:]]}}
    for text in ("move howl", "pass, move howl", "default", "pass, default"):
        assert said(request, text) == "pass, move 1"
    forced = {"forceSwitch": [False, True], "side": {"pokemon": TEAM}}
    assert said(forced, "switch Dov") == said(forced, "pass, switch Dov") == "pass, switch 4"
    assert said(forced, "default") == "pass, switch 3"


def test_a_move_chosen_by_default_is_the_first_and_its_target_is_drawn() -> None:
    first = {said(TURN, "default", seed=seed) for seed in range(40)}
    assert first == {"move 1 1, move 1", "move 1 2, move 1"}
    assert {said(TURN, "default", (2,), seed) for seed in range(9)} == {"move 1 2, move 1"}
    assert said(TURN, "move protect, default") == "move 2, move 1"


def test_a_move_for_the_user_or_its_ally_is_by_default_for_the_user() -> None:
    press = asked(("acupressure", "adjacentAllyOrSelf"))
    request = {"active": [press, press], "side": {"pokemon": TEAM}}
    assert said(request, "default") == "move 1 -1, move 1 -2"


def test_a_locked_move_needs_a_target_by_name_and_none_by_number() -> None:
    locked = {"moves": [{"move": "Outrage", "id": "outrage"}], "trapped": True}
    request = {**TURN, "active": [locked, TURN["active"][1]]}
    assert said(request, "move outrage, move howl") is None
    for text in ("move outrage 2, move howl", "move 1, move howl", "default"):
        assert said(request, text) == "move 1, move 1"


def test_a_preview_is_read_with_its_leaders_in_either_order() -> None:
    for text in ("3142", "1324", "314265"):
        number = read_preview(text, 6)
        assert number is not None
        assert PREVIEWS[number] == (1, 3, 2, 4)
    assert read_preview("3145", 4) is None
    assert read_preview("3143", 6) is None


# From here on against the simulator.


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


def spoken(request: Request, stream: Stream, count: int = 40) -> list[str]:
    """Return choices as a player on a server might write them, many of them wrong."""
    party = [each["ident"][4:] for each in request["side"]["pokemon"]]
    found = ["default", "pass"]
    places = request.get("active") or request["forceSwitch"]
    targets = TARGETS if len(places) > 1 else ("",)
    for _ in range(count):
        pieces = []
        for at in range(len(places)):
            options = [f"switch {stream.choice(party)}", "pass", "default"]
            if "active" in request:
                move = stream.choice(places[at]["moves"])["id"]
                tera = stream.choice(("", "", " terastallize"))
                options += [f"move {move}{tera}{stream.choice(targets)}"] * 4
                options += [f"move {stream.below(4) + 1}{stream.choice(targets)}"] * 2
            pieces.append(stream.choice(options))
        if stream.below(8) == 0:
            pieces = pieces[:1]
        found.append(", ".join(pieces))
    return found


def understood(wanted: list[dict[str, Any]]) -> list[list[str | None]]:
    """Return what the simulator understands the texts of positions as."""
    done = subprocess.run(
        [find_node(), str(PROBE), str(find())],
        input=json.dumps(wanted).encode(),
        capture_output=True,
        check=True,
    )
    answer: list[list[str | None]] = json.loads(done.stdout)
    return answer


def says_maybe(request: Request) -> bool:
    return any(active.get(mark) for active in request.get("active", ()) for mark in HIDDEN)


def untargeted(text: str | None) -> str | None:
    return None if text is None else re.sub(r" [+-][12]", "", text)


def is_rare(request: Request) -> bool:
    marks = ("reviving", "commanding")
    if any(each.get(mark) for each in request["side"]["pokemon"] for mark in marks):
        return True
    return any("target" not in each["moves"][0] for each in request.get("active", ()))


def position(told: Told, stream: Stream) -> tuple[Request, dict[str, Any]]:
    """Return one of a battle's requests, a rare one if there is any, as the probe reads it."""
    asked = [each for each in told.asked if "teamPreview" not in each[1]]
    seat, request, before = stream.choice([each for each in asked if is_rare(each[1])] or asked)
    message = {**told.setup.message(), "choices": told.choices[:before], "seat": seat}
    return request, message


@needs_simulator
@pytest.mark.parametrize("kind", ["odd teams", "gen9randomdoublesbattle", "gen9randombattle"])
def test_words_are_read_as_the_simulator_reads_them(battles: Battles, kind: str) -> None:
    wanted = odd_setups(battles, 20) if kind == "odd teams" else setups(battles, kind, 4)
    stream = Stream.keyed(5, 0, 0, "act")
    cases, positions = [], []
    for told in play(battles, wanted):
        request, message = position(told, stream)
        orders = orders_of(format_named(told.setup.format))
        mask, texts = orders.legal(request), spoken(request, stream)
        numbers = [read_turn(request, text, mask, (1, 2), stream) for text in texts]
        ours = ["" if number is None else orders.text(request, number) for number in numbers]
        cases.append((request, texts, numbers))
        positions.append({**message, "texts": texts + ours})
    taken = refused = 0
    for (request, texts, numbers), answers in zip(cases, understood(positions), strict=True):
        half = len(texts)
        for text, number, theirs, same in zip(
            texts, numbers, answers[:half], answers[half:], strict=True
        ):
            if says_maybe(request) and theirs is None:
                continue
            assert (number is None) == (theirs is None), (text, theirs, request)
            if "default" in text:
                assert untargeted(theirs) == untargeted(same)
            elif number is not None:
                assert theirs == same
            taken, refused = taken + (number is not None), refused + (number is None)
    assert min(taken, refused) > 20
