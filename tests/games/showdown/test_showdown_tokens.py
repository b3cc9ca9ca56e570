"""Observation version 2: what its tokens say, what choices refer to, and who may read it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from showdown_lines import LEADS, PREVIEW, party_member
from showdown_play import needs_simulator

from lanista.games.showdown.actions.orders import PASS, SLOT_ORDERS, SWITCH
from lanista.games.showdown.actions.references import preview_references, turn_references
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.game import Showdown
from lanista.games.showdown.install import HERE, find, find_node
from lanista.games.showdown.observation.description import describe, observation_of
from lanista.games.showdown.observation.matchups import Matchups
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.likely import likely
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.traits import TRAITS, traits
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.damage import (
    FIXED,
    LEAST_ROLL,
    MEAN_ROLL,
    Fighter,
    Ground,
    expected_share,
    power_of,
)
from lanista.games.showdown.scripted.fighters import fighter_of_foe, fighter_of_party
from lanista.nets.files.policy_format import PolicyFileError, PolicyHeader, read_header
from lanista.nets.settings import Network

REGI, REGG, REGC = "gen9vgc2025regi", "gen9vgc2024regg", "gen9vgc2023regc"
FORMAT = format_named(REGI)
LAYOUT = observation_of(FORMAT, 2)
ARTIFACT = Path(__file__).parents[3] / "artifacts" / "showdown-vgc.safetensors"


def request(**told: Any) -> dict[str, Any]:
    """Return a request for a turn of Incineroar and Rillaboom."""
    rillaboom = party_member(
        "Rillaboom", moves=["fakeout", "woodhammer", "grassyglide", "protect"], item="choiceband"
    )
    party = [
        party_member("Incineroar"),
        rillaboom,
        party_member("Urshifu"),
        party_member("Amoonguss"),
    ]
    active = [
        {
            "moves": [
                {"id": move, "target": "normal", "pp": 8, "maxpp": 16} for move in mon["moves"]
            ],
            "canTerastallize": "Grass",
        }
        for mon in party[:2]
    ]
    return {"active": active, "side": {"id": "p1", "pokemon": party}, **told}


def asked(*lines: str, **told: Any) -> Tracker:
    tracker = Tracker(FORMAT, 0, None, 2)
    tracker.hear((*PREVIEW, *LEADS, *lines))
    tracker.ask(request(**told))
    return tracker


def row_of(tracker: Tracker) -> np.ndarray[Any, np.dtype[np.int16]]:
    row = np.full(LAYOUT.length, -77, np.int16)
    tracker.encode(row)
    return row


def seen(tracker: Tracker, field: str, at: int) -> int:
    return int(row_of(tracker)[LAYOUT.slice_of(field)][at])


FLARE_BLITZ, WOOD_HAMMER, GLIDE = 1, 5, 6
"""Entries of move tokens: four of Incineroar's, then four of Rillaboom's."""
FARIGIRAF, GHOLDENGO = 0, 1
"""Entries of foes: by the places they stand in."""


def test_a_moves_token_has_the_damage_that_the_formula_gives() -> None:
    tracker = asked()
    battle, own = tracker.battle, tracker.own
    for foe, place in enumerate(battle.sides[1].places, 1):
        assert place.mon is not None
        share = expected_share(
            fighter_of_party(battle, own, 1),
            "woodhammer",
            fighter_of_foe(battle, place.mon, place),
            Ground(),
        )
        assert share > 0.1
        least, most = (
            seen(tracker, f"move.{name}{foe}", WOOD_HAMMER) for name in ("least", "most")
        )
        assert least == round(1000 * share * LEAST_ROLL / MEAN_ROLL)
        assert most == round(1000 * share / MEAN_ROLL)
    # Grass does half to Steel, Fire doubly.
    assert seen(tracker, "move.effective2", WOOD_HAMMER) == -1
    assert seen(tracker, "move.effective2", FLARE_BLITZ) == 1


def test_a_hit_that_takes_more_than_is_left_knocks_out_as_often_as_it_hits() -> None:
    tracker = asked("|-damage|p2b: Gholdengo|5/100")
    assert seen(tracker, "move.knocks_out2", FLARE_BLITZ) == 1000
    assert seen(tracker, "move.knocks_out1", FLARE_BLITZ) == 0


def test_who_acts_first_hangs_on_priority_and_trick_room() -> None:
    fake_out = 0
    assert seen(asked(), "move.acts_before1", fake_out) == 1000
    before = seen(asked(), "move.acts_before1", FLARE_BLITZ)
    turned = asked("|-fieldstart|move: Trick Room|[of] p2a: Farigiraf")
    assert seen(turned, "move.acts_before1", FLARE_BLITZ) == 1000 - before
    grassy = asked("|-fieldstart|move: Grassy Terrain")
    assert seen(grassy, "move.priority", GLIDE) == 1
    assert seen(asked(), "move.priority", GLIDE) == 0


def test_in_trick_room_a_bot_reckons_the_slower_to_be_first() -> None:
    turned = asked("|-fieldstart|move: Trick Room|[of] p2a: Farigiraf")
    for own in (0, 1):
        for foe in ("own.faster_than1", "own.faster_than2"):
            assert {seen(asked(), foe, own), seen(turned, foe, own)} == {0, 1}


def test_a_paralysed_foe_is_half_as_fast_and_one_in_a_tailwind_twice() -> None:
    def bounds_of(*lines: str) -> tuple[float, float]:
        tracker = asked(*lines)
        foe = Matchups(tracker.battle, tracker.own).foes[GHOLDENGO]
        assert foe is not None
        return foe.slowest, foe.fastest

    slowest, fastest = bounds_of()
    assert bounds_of("|-status|p2b: Gholdengo|par") == (slowest / 2, fastest / 2)
    assert bounds_of("|-sidestart|p2: B|move: Tailwind") == (slowest * 2, fastest * 2)


def test_an_own_pokemon_whose_speed_is_raised_by_its_ability_is_half_as_fast_again() -> None:
    plain, boosted = asked(), asked("|-start|p1a: Incineroar|quarkdrivespe")
    assert seen(boosted, "own.pace", 0) == round(1.5 * seen(plain, "own.pace", 0))
    assert seen(boosted, "own.pace", 1) == seen(plain, "own.pace", 1)
    for field in ("own.acts_before2", "move.acts_before2"):
        at = 0 if field.startswith("own") else FLARE_BLITZ
        assert seen(boosted, field, at) > seen(plain, field, at)
    attack = asked("|-start|p1a: Incineroar|quarkdriveatk")
    assert seen(attack, "own.pace", 0) == seen(plain, "own.pace", 0)


def test_a_place_remembers_two_turns_and_a_pokemon_keeps_them_on_the_bench() -> None:
    first = ("|move|p2b: Gholdengo|Shadow Ball|p1a: Incineroar", "|-damage|p1a: Incineroar|100/202")
    tracker = asked(*first, "|turn|2")
    ball = dex().move_of("shadowball").number
    assert seen(tracker, "foe.turn1_move", GHOLDENGO) == ball
    assert seen(tracker, "own.turn1_lost", 0) == 1000 - 100 * 1000 // 202
    second = ("|move|p2b: Gholdengo|Protect|p2b: Gholdengo", "|turn|3")
    tracker = asked(*first, "|turn|2", *second)
    assert seen(tracker, "foe.turn1_move", GHOLDENGO) == dex().move_of("protect").number
    assert seen(tracker, "foe.turn2_move", GHOLDENGO) == ball
    away = ("|switch|p2b: Urshifu|Urshifu, L50, M|100/100", "|turn|4")
    tracker = asked(*first, "|turn|2", *second, *away)
    moves = row_of(tracker)[LAYOUT.slice_of("foe.turn2_move")]
    assert dex().move_of("protect").number in moves[2:]


@pytest.mark.parametrize("pool", [None, Belief.of_teams([])])
def test_the_order_that_moves_were_shown_in_makes_no_second_answer(pool: Belief | None) -> None:
    mon = asked().battle.sides[1].mons[0]
    answers = []
    for moves in (("protect", "psychic"), ("psychic", "protect"), ("psychic",)):
        mon.moves = dict.fromkeys(moves, 1)
        answers.append(likely(mon, pool))
    assert answers[0] is answers[1]
    assert answers[0] is not answers[2]


def test_an_opponent_of_whom_nothing_is_known_has_a_prior() -> None:
    tracker = asked()
    for mon in tracker.battle.sides[1].mons:
        chances = likely(mon, None)
        # Some sets hold nothing.
        assert sum(chances.items.values()) == pytest.approx(1, abs=0.01)
        assert sum(chances.moves.values()) == pytest.approx(4, abs=0.05)
    assert seen(tracker, "foe.likely_move_chance1", GHOLDENGO) > 500
    # A species that no set is known of.
    mon = tracker.battle.sides[1].mons[0]
    mon.species, mon.base = "pichu", "pichu"
    assert likely(mon, None).items
    assert set(likely(mon, None).abilities) == {"static", "lightningrod"}


def test_what_is_revealed_is_certain_and_leaves_less_room() -> None:
    tracker = asked(
        "|move|p2b: Gholdengo|Shadow Ball|p1a: Incineroar",
        "|-enditem|p2b: Gholdengo|Air Balloon",
        "|turn|2",
    )
    mon = tracker.battle.sides[1].named("Gholdengo")
    assert mon is not None
    chances = likely(mon, None)
    assert not chances.items
    assert "shadowball" not in chances.moves
    assert sum(chances.moves.values()) <= 3.001


def test_every_attack_but_spit_up_has_a_power() -> None:
    user = Fighter("incineroar", 50, ("fire",), ("fire",), (100,) * 5, 200, 0.5)
    target = Fighter("rillaboom", 50, ("grass",), ("grass",), (100,) * 5, 200, 1.0)
    powerless = {
        name
        for name, move in dex().moves.items()
        if move.category in (1, 2)
        and not (FIXED[name](user, target) if name in FIXED else power_of(user, name, move, target))
    }
    assert powerless == {"spitup"}


@pytest.mark.parametrize("place", [0, 1])
def test_an_order_refers_to_what_its_words_say(place: int) -> None:
    spec = describe(FORMAT, "mirror", "", "any", 2)
    references = turn_references(doubles=True)[place]
    roles = {role.name: role.entries for role in references.roles}
    for order in range(SLOT_ORDERS):
        text = spec.heads[1].labels[SLOT_ORDERS * order + PASS].partition(",")[0]
        move, target, switch = (
            re.search(words, text) for words in (r"move (\d)", r"move \d (-?\d)", r"switch (\d)")
        )
        aim = int(target[1]) if target else 0
        assert roles["actor"][order] == place
        assert roles["move"][order] == (4 * place + int(move[1]) - 1 if move else -1)
        assert roles["target"][order] == (aim - 1 if aim > 0 else -1)
        assert roles["ally"][order] == (-aim - 1 if aim < 0 else -1)
        assert roles["switch"][order] == (int(switch[1]) - 1 if switch else -1)
        assert ("terastallize" in references.kinds[order]) == ("terastallize" in text)
    assert references.kinds[PASS] == "pass"
    assert references.kinds[SWITCH] == "switch"


def test_a_preview_refers_to_its_leaders_and_followers() -> None:
    labels = describe(FORMAT, "mirror", "", "any", 2).heads[0].labels
    roles = preview_references()[0].roles
    assert [role.name for role in roles] == ["lead", "lead", "back", "back"]
    for number, label in enumerate(labels):
        assert label == "team " + "".join(str(role.entries[number] + 1) for role in roles)


def test_a_policy_plays_every_regulation_whose_layout_is_equal() -> None:
    for version in (1, 2):
        learnt = describe(format_named(REGC), "mirror", "", "any", version)
        header = PolicyHeader.of(learnt, Network())
        for name in (REGI, REGG):
            header.refuse_other(describe(format_named(name), "cross", "held-out", "any", version))
        for name in ("gen9randombattle", "gen9randomdoublesbattle"):
            with pytest.raises(PolicyFileError):
                header.refuse_other(describe(format_named(name), "mirror", "", "any", version))
    with pytest.raises(PolicyFileError, match="observation"):
        header.refuse_other(describe(FORMAT, "mirror", "", "any", 1))


def test_the_policy_that_ships_is_one_of_version_1() -> None:
    header = read_header(ARTIFACT)
    header.refuse_other(describe(FORMAT, "mirror", "", "any"))
    assert "observation" not in describe(FORMAT, "mirror", "", "any").settings


@needs_simulator
def test_traits_are_what_the_locked_simulator_says() -> None:
    command = [find_node(), str(HERE / "traits.mjs"), str(find())]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert made == TRAITS.read_text(encoding="utf-8")


def test_traits_of_well_known_moves_items_and_abilities() -> None:
    facts = traits()
    assert facts.move_trait("fakeout", "first_turn") == 100
    assert facts.move_trait("icywind", "change_spe") == -100
    assert facts.move_trait("bodyslam", "par") == 30
    assert facts.move_trait("bulletseed", "hits") == 310
    items = dict(zip(facts.item_names, facts.items["choicescarf"], strict=True))
    assert items["choice"] == items["speed"] == 1000
    abilities = dict(zip(facts.ability_names, facts.abilities["drizzle"], strict=True))
    assert abilities["sets_rain"] == 1000
    assert abilities["sets_sun"] == 0


@pytest.fixture(scope="module")
def game() -> Iterator[Showdown]:
    made = Showdown(4, 3, mode="cross", observation=2)
    yield made
    made.close()


@needs_simulator
def test_the_privileged_view_has_the_other_seats_own_tokens(game: Showdown) -> None:
    game.start(range(4), range(4))
    assert game.spec.privileged is not None
    for _ in range(3):
        decisions, view = game.decisions(), game.privileged()
        row = {
            (int(slot), int(seat)): at
            for at, (slot, seat) in enumerate(zip(decisions.slot, decisions.seat, strict=True))
        }
        for (slot, seat), at in row.items():
            length = game.spec.observation.length
            np.testing.assert_array_equal(view[at, :length], decisions.observation[at])
            other = row.get((slot, 1 - seat))
            if other is None:
                continue
            for name in ("species", "item", "hp", "spe", "best_on1"):
                hidden = view[at, game.spec.privileged.slice_of(f"other.{name}")]
                own = decisions.observation[other, game.spec.observation.slice_of(f"own.{name}")]
                np.testing.assert_array_equal(hidden, own)
        actions = np.zeros((len(decisions), 2), np.int32)
        for at in range(len(decisions)):
            actions[at] = [
                np.flatnonzero(decisions.mask[at, :90])[0],
                np.flatnonzero(decisions.mask[at, 90:])[0],
            ]
        game.act(np.arange(len(decisions)), actions)


def test_version_1_has_no_privileged_view() -> None:
    assert describe(FORMAT, "mirror", "", "any").privileged is None
    assert replace(describe(FORMAT, "mirror", "", "any", 2)).privileged is not None
