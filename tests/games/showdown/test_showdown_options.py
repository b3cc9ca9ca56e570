"""Whom an order hits, from the rules of doubles: targets 1 and 2 are foes, -1 and -2 one's own."""

from __future__ import annotations

from typing import Any

from showdown_lines import SINGLES, after_leads, heard, party_member

from lanista.games.showdown.actions.options import MOVE, PASS, SWITCH, Option, options_of
from lanista.games.showdown.actions.orders import Singles, slot_text
from lanista.games.showdown.protocol.tracker import Tracker

Hit = tuple[tuple[int, ...], bool, bool, str]
"""Foes' places from 0, whether all of them, whether the ally, and the new type."""


def asked(**targets: str) -> list[dict[str, str]]:
    return [{"id": move, "target": target} for move, target in targets.items()]


def party(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("Incineroar", "Rillaboom", "Tornadus", "Landorus", "Urshifu", "Gholdengo")
    told = [*changes, *({} for _ in names[len(changes) :])]
    return [party_member(name, **change) for name, change in zip(names, told, strict=True)]


def doubles() -> Tracker:
    tracker = after_leads()
    first = asked(
        fakeout="normal", earthquake="allAdjacent", rockslide="allAdjacentFoes", protect="self"
    )
    second = asked(
        helpinghand="adjacentAlly",
        acupressure="adjacentAllyOrSelf",
        tailwind="allySide",
        outrage="randomNormal",
    )
    tracker.ask(
        {
            "active": [
                {"moves": first, "canTerastallize": "Grass"},
                {"moves": second, "canTerastallize": "Water"},
            ],
            "side": {"pokemon": party({}, {"teraType": "Water"})},
        }
    )
    return tracker


def hits(tracker: Tracker, slot: int) -> dict[str, Hit]:
    return {
        slot_text(option.order): (option.foes, option.spread, option.ally, option.tera)
        for option in options_of(tracker, slot)
        if option.kind == MOVE
    }


def with_tera(plain: dict[str, Hit], type: str) -> dict[str, Hit]:
    turned = {f"{text} terastallize": (*hit[:3], type) for text, hit in plain.items()}
    return plain | turned


def test_the_left_pokemon_hits_whom_its_order_names() -> None:
    assert hits(doubles(), 0) == with_tera(
        {
            "move 1 1": ((0,), False, False, ""),
            "move 1 2": ((1,), False, False, ""),
            "move 1 -2": ((), False, True, ""),
            "move 2": ((0, 1), True, True, ""),
            "move 3": ((0, 1), True, False, ""),
            "move 4": ((), False, False, ""),
        },
        "grass",
    )


def test_the_right_pokemon_has_its_ally_on_the_left() -> None:
    assert hits(doubles(), 1) == with_tera(
        {
            "move 1 -1": ((), False, True, ""),
            "move 2 -1": ((), False, True, ""),
            "move 2 -2": ((), False, False, ""),
            "move 3": ((), False, False, ""),
            "move 4": ((0, 1), False, False, ""),
        },
        "water",
    )


def brought(tracker: Tracker, slot: int, revive: bool = False) -> dict[str, int]:
    return {
        slot_text(option.order, revive): option.party
        for option in options_of(tracker, slot)
        if option.kind == SWITCH
    }


def test_a_switch_brings_in_whom_its_order_names() -> None:
    bench = {"switch 3": 2, "switch 4": 3, "switch 5": 4, "switch 6": 5}
    for slot in range(2):
        assert brought(doubles(), slot) == bench
        (waits,) = [each for each in options_of(doubles(), slot) if each.kind == PASS]
        assert slot_text(waits.order) == "pass"


def test_a_revival_raises_whom_its_order_names_in_the_place_that_revives() -> None:
    for slot in range(2):
        tracker = after_leads()
        changes = [{"reviving": True} if at == slot else {"condition": "0 fnt"} for at in range(2)]
        forced = [at == slot for at in range(2)]
        tracker.ask({"forceSwitch": forced, "side": {"pokemon": party(*changes)}})
        bench = {"switch 3": 2, "switch 4": 3, "switch 5": 4, "switch 6": 5}
        assert brought(tracker, slot, revive=True) == {"switch 1": 0, "switch 2": 1} | bench
        assert brought(tracker, 1 - slot) == bench
        assert not any(option.kind == MOVE for option in options_of(tracker, slot))


def test_in_singles_there_is_one_foe() -> None:
    tracker = heard(
        "|switch|p1a: Incineroar|Incineroar, L50, M|202/202",
        "|switch|p2a: Farigiraf|Farigiraf, L50, M|100/100",
        "|turn|1",
        format=SINGLES,
    )
    moves = asked(fakeout="normal", protect="self")
    request = {
        "active": [{"moves": moves, "canTerastallize": "Grass"}],
        "side": {"pokemon": party()},
    }
    tracker.ask(request)
    options: list[Option] = list(options_of(tracker, 0))
    text = {Singles().text(request, option.order): option for option in options}
    assert {words: each.foes for words, each in text.items() if each.kind == MOVE} == {
        "move 1": (0,),
        "move 1 terastallize": (0,),
        "move 2": (),
        "move 2 terastallize": (),
    }
    assert {each.tera for words, each in text.items() if "terastallize" in words} == {"grass"}
    assert {words: each.party for words, each in text.items() if each.kind == SWITCH} == {
        f"switch {at + 1}": at for at in range(1, 6)
    }
