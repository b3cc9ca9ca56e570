"""What a tracker knows after the major protocol lines, each written by hand."""

from __future__ import annotations

import pytest
from showdown_lines import LEADS, PREVIEW, SINGLES, after_leads, foe, heard, last, place

from lanista.games.contract import GameError
from lanista.games.showdown.protocol.battle_state import (
    DRAGGED,
    FOE,
    FULL,
    KEPT_FROM_MOVING,
    MOVED,
    OWN,
    RESIDUAL,
    SWITCHED,
    read_condition,
    read_details,
)


def test_a_preview_lists_the_opponents_team_in_order_and_hides_formes() -> None:
    side = heard(*PREVIEW).battle.sides[FOE]
    assert [mon.species for mon in side.mons] == ["urshifu", "farigiraf", "gholdengo"]
    assert not any(mon.appeared for mon in side.mons)


def test_a_switch_is_recognised_as_a_previewed_forme() -> None:
    tracker = heard(*PREVIEW, "|switch|p2a: Fist|Urshifu-Rapid-Strike, L50, M|100/100")
    side = tracker.battle.sides[FOE]
    assert len(side.mons) == 3
    assert (side.mons[0].name, side.mons[0].species) == ("Fist", "urshifurapidstrike")
    assert side.mons[0].appeared


def test_a_switch_tells_species_level_gender_and_health() -> None:
    tracker = heard("|switch|p2a: Nick|Landorus, L64, M|47/100 par", format=SINGLES)
    mon = foe(tracker, "Nick")
    assert (mon.species, mon.level, mon.gender) == ("landorus", 64, "M")
    assert (mon.hp, mon.status) == (470, "par")
    assert last(tracker).kind == SWITCHED


def test_a_pokemon_that_comes_back_is_the_same_with_its_stages_gone() -> None:
    tracker = after_leads(
        "|move|p2b: Gholdengo|Nasty Plot|p2b: Gholdengo",
        "|-boost|p2b: Gholdengo|spa|2",
        "|switch|p2b: Ursaluna|Ursaluna, L50, F|100/100",
        "|switch|p2b: Gholdengo|Gholdengo, L50|90/100",
    )
    assert foe(tracker, "Gholdengo").moves == {"nastyplot": 1}
    assert foe(tracker, "Gholdengo").hp == 900
    assert place(tracker, "p2b").boosts == [0] * 7
    assert len(tracker.battle.sides[FOE].mons) == 3


def test_baton_pass_hands_stages_over_and_shed_tail_a_substitute() -> None:
    lines = ("|-boost|p2b: Gholdengo|spa|2", "|-start|p2b: Gholdengo|confusion")
    back = "|switch|p2b: Ursaluna|Ursaluna, L50, F|100/100|[from] "
    passed = place(after_leads(*lines, back + "Baton Pass"), "p2b")
    assert passed.boosts[2] == 2
    assert "confusion" in passed.volatiles
    shed = place(after_leads(*lines, back + "Shed Tail"), "p2b")
    assert shed.boosts[2] == 0
    assert set(shed.volatiles) == {"substitute"}


def test_a_drag_is_told_from_a_switch() -> None:
    tracker = after_leads("|drag|p2a: Ursaluna|Ursaluna, L50, F|100/100")
    assert last(tracker).kind == DRAGGED


def test_a_move_is_remembered_and_counted() -> None:
    line = "|move|p2b: Gholdengo|Shadow Ball|p1a: Incineroar"
    tracker = after_leads(line, line)
    assert foe(tracker, "Gholdengo").moves == {"shadowball": 2}
    assert place(tracker, "p2b").last_move == "shadowball"
    event = last(tracker)
    assert (event.kind, event.actor, event.move, event.target) == (MOVED, 3, "shadowball", 0)


@pytest.mark.parametrize("cause", ["ability: Dancer", "move: Sleep Talk", "ability: Magic Bounce"])
def test_a_move_that_was_called_is_not_taken_for_its_own(cause: str) -> None:
    tracker = after_leads(f"|move|p2b: Gholdengo|Quiver Dance|p2b: Gholdengo|[from] {cause}")
    assert foe(tracker, "Gholdengo").moves == {}
    assert last(tracker).move == "quiverdance"


def test_struggle_is_nobodys_own_move() -> None:
    tracker = after_leads("|move|p2b: Gholdengo|Struggle|p1a: Incineroar")
    assert foe(tracker, "Gholdengo").moves == {}


def test_a_locked_move_uses_no_more_pp() -> None:
    line = "|move|p2b: Gholdengo|Outrage|p1a: Incineroar"
    tracker = after_leads(line, line + "|[from] lockedmove")
    assert foe(tracker, "Gholdengo").moves == {"outrage": 1}
    assert "lockedmove" in place(tracker, "p2b").volatiles


def test_damage_is_put_down_to_the_move_and_to_the_place() -> None:
    tracker = after_leads(
        "|move|p1a: Incineroar|Flare Blitz|p2b: Gholdengo",
        "|-supereffective|p2b: Gholdengo",
        "|-crit|p2b: Gholdengo",
        "|-damage|p2b: Gholdengo|17/100",
        "|-damage|p1a: Incineroar|101/202|[from] Recoil",
    )
    event = last(tracker)
    assert event.damage == [500, 0, 0, 830]
    assert (event.effective, event.crit) == (1, 1)


def test_what_the_end_of_a_turn_does_is_an_event_of_its_own() -> None:
    tracker = after_leads(
        "|",
        "|move|p1a: Incineroar|Flare Blitz|p2b: Gholdengo",
        "|-damage|p2b: Gholdengo|40/100",
        "|",
        "|-heal|p2b: Gholdengo|46/100|[from] item: Leftovers",
        "|upkeep",
        "|turn|2",
    )
    assert [event.kind for event in tracker.battle.events] == [MOVED, RESIDUAL]
    assert tracker.battle.events[1].damage == [0, 0, 0, -60]
    assert foe(tracker, "Gholdengo").item == "leftovers"


def test_events_of_a_turn_stay_until_the_next_turn_brings_one() -> None:
    move = "|move|p1a: Incineroar|Fake Out|p2b: Gholdengo"
    tracker = after_leads(move, "|turn|2")
    assert [event.kind for event in tracker.battle.events] == [MOVED]
    tracker.hear(["|", "|cant|p2b: Gholdengo|flinch"])
    assert [event.kind for event in tracker.battle.events] == [KEPT_FROM_MOVING]


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("|-miss|p1a: Incineroar|p2b: Gholdengo", "missed"),
        ("|-fail|p2b: Gholdengo", "failed"),
        ("|-notarget|p1a: Incineroar", "failed"),
        ("|-immune|p2b: Gholdengo", "immune"),
        ("|-activate|p2b: Gholdengo|move: Protect", "blocked"),
        ("|-block|p2b: Gholdengo|ability: Sweet Veil|[of] p2a: Farigiraf", "blocked"),
    ],
)
def test_a_move_that_comes_to_nothing_says_how(line: str, flag: str) -> None:
    tracker = after_leads("|move|p1a: Incineroar|Fake Out|p2b: Gholdengo", line)
    assert getattr(last(tracker), flag) == 1


def test_a_resisted_move_counts_the_other_way() -> None:
    tracker = after_leads(
        "|move|p1a: Incineroar|Fake Out|p2b: Gholdengo", "|-resisted|p2b: Gholdengo"
    )
    assert last(tracker).effective == -1


def test_a_faint_empties_health_and_ends_effects() -> None:
    tracker = after_leads(
        "|-start|p2b: Gholdengo|confusion",
        "|-terastallize|p2b: Gholdengo|Steel",
        "|-damage|p2b: Gholdengo|0 fnt",
        "|faint|p2b: Gholdengo",
    )
    mon = foe(tracker, "Gholdengo")
    assert (mon.hp, mon.terastallized) == (0, False)
    assert place(tracker, "p2b").volatiles == {}
    assert last(tracker).fell == [0, 0, 0, 1]
    assert tracker.battle.sides[FOE].terastallized, "the one change of type is used up"


def test_a_revived_pokemon_on_the_bench_has_health_again() -> None:
    tracker = after_leads(
        "|faint|p2b: Gholdengo",
        "|switch|p2b: Ursaluna|Ursaluna, L50, F|100/100",
        "|-heal|p2: Gholdengo|50/100|[from] move: Revival Blessing",
    )
    assert foe(tracker, "Gholdengo").hp == FULL // 2


def test_lost_turns_count_sleep_and_reveal_moves_and_abilities() -> None:
    tracker = after_leads(
        "|-status|p2b: Gholdengo|slp|[from] move: Spore",
        "|cant|p2b: Gholdengo|slp",
        "|cant|p2b: Gholdengo|slp",
        "|cant|p2b: Gholdengo|move: Taunt|Protect",
        "|cant|p2a: Farigiraf|ability: Armor Tail|Fake Out|[of] p1a: Incineroar",
    )
    mon = foe(tracker, "Gholdengo")
    assert (mon.status, mon.slept, mon.moves) == ("slp", 2, {"protect": 0})
    assert foe(tracker, "Farigiraf").ability == "armortail"
    assert foe(tracker, "Farigiraf").moves == {}
    assert (last(tracker).actor, last(tracker).move) == (0, "fakeout")
    tracker.hear(["|-curestatus|p2b: Gholdengo|slp|[msg]"])
    assert (mon.status, mon.slept) == ("", 0)


def test_an_illusion_gives_back_what_was_never_its_own() -> None:
    tracker = heard(
        "|switch|p2a: Tyranitar|Tyranitar, L80, M|60/100",
        "|turn|1",
        "|move|p2a: Tyranitar|Rock Slide|p1a: X",
        "|switch|p2a: Furret|Furret, L90, F|100/100",
        "|switch|p2a: Tyranitar|Tyranitar, L80, M|100/100",
        "|turn|2",
        "|move|p2a: Tyranitar|Nasty Plot|p2a: Tyranitar",
        "|-boost|p2a: Tyranitar|spa|2",
        "|-damage|p2a: Tyranitar|70/100",
        "|replace|p2a: Zoroark|Zoroark, L83, F",
        "|-end|p2a: Zoroark|Illusion",
        format=SINGLES,
    )
    shown, real = foe(tracker, "Tyranitar"), foe(tracker, "Zoroark")
    assert (shown.hp, shown.moves) == (600, {"rockslide": 1})
    assert (real.hp, real.moves, real.ability) == (700, {"nastyplot": 1}, "illusion")
    assert place(tracker, "p2a").mon is real
    assert place(tracker, "p2a").boosts[2] == 2


def test_ally_switch_swaps_places_with_all_that_belongs_to_them() -> None:
    tracker = after_leads(
        "|-boost|p2b: Gholdengo|spa|2", "|swap|p2a: Farigiraf|1|[from] move: Ally Switch"
    )
    left, right = place(tracker, "p2a"), place(tracker, "p2b")
    assert (left.species, left.index, left.boosts[2]) == ("gholdengo", 2, 2)
    assert (right.species, right.index) == ("farigiraf", 3)
    assert tracker.battle.places[2] is left
    assert tracker.battle.places[3] is right


def test_a_forme_for_good_stays_and_one_for_now_goes() -> None:
    tracker = heard(
        "|switch|p2a: Palafin|Palafin, L77, M|100/100",
        "|detailschange|p2a: Palafin|Palafin-Hero, L77, M",
        "|switch|p2a: Morpeko|Morpeko, L77, M|100/100",
        "|-formechange|p2a: Morpeko|Morpeko-Hangry||[from] ability: Hunger Switch",
        format=SINGLES,
    )
    assert foe(tracker, "Palafin").species == "palafinhero"
    assert foe(tracker, "Morpeko").species == "morpeko"
    assert foe(tracker, "Morpeko").ability == "hungerswitch"
    assert place(tracker, "p2a").species == "morpekohangry"
    tracker.hear(["|switch|p2a: Palafin|Palafin-Hero, L77, M|100/100"])
    assert len(tracker.battle.sides[FOE].mons) == 2
    tracker.hear(["|detailschange|p2: Morpeko|Morpeko-Hangry, L77, M|[silent]"])
    assert foe(tracker, "Morpeko").species == "morpekohangry", "on the bench too"
    assert len(tracker.battle.sides[FOE].mons) == 2


def test_a_team_sheet_shows_all_but_the_stats() -> None:
    sheet = (
        "Fist|urshifurapidstrike|choicescarf|unseenfist|surgingstrikes,aquajet||||||50|,,,,,Water]"
        "Gholdengo||leftovers|goodasgold|shadowball,protect||||||50|,,,,,Steel"
    )
    tracker = heard(*PREVIEW, f"|showteam|p2|{sheet}")
    urshifu, _, gholdengo = tracker.battle.sides[FOE].mons
    assert (urshifu.item, urshifu.ability, urshifu.tera) == ("choicescarf", "unseenfist", "water")
    assert gholdengo.moves == {"shadowball": 0, "protect": 0}
    assert not gholdengo.terastallized


def test_a_terastallized_pokemon_that_comes_back_keeps_its_type() -> None:
    tracker = heard("|switch|p2a: Malamar|Malamar, L82, F, tera:Fighting|40/100", format=SINGLES)
    mon = foe(tracker, "Malamar")
    assert (mon.tera, mon.terastallized) == ("fighting", True)
    assert place(tracker, "p2a").current_types() == ("fighting",)


def test_seats_see_the_same_lines_from_their_own_side() -> None:
    tracker = heard(*LEADS, seat=1)
    assert [mon.species for mon in tracker.battle.sides[OWN].mons] == ["farigiraf", "gholdengo"]
    assert [mon.species for mon in tracker.battle.sides[FOE].mons] == ["incineroar", "rillaboom"]


def test_an_unknown_kind_of_line_is_ignored_and_counted() -> None:
    tracker = after_leads("|-nonsense|p2a: Farigiraf", "|-start|p2a: Farigiraf|Nonsense", "chat")
    assert tracker.strange == {"-nonsense": 1, "effect nonsense": 1}


@pytest.mark.parametrize("line", ["|switch|p2a: X", "|turn|soon", "|move|p9a: X|Tackle|p1a: Y"])
def test_a_line_that_cannot_be_read_is_refused_and_named(line: str) -> None:
    with pytest.raises(GameError, match="cannot be read"):
        after_leads(line)


def test_conditions_and_details_are_read_as_the_protocol_writes_them() -> None:
    assert read_condition("57/165 par") == (345, 57, 165, "par")
    assert read_condition("1/404") == (2, 1, 404, "")
    assert read_condition("1/5000")[0] == 1, "alive is never shown as fainted"
    assert read_condition("0 fnt") == (0, 0, 0, "fnt")
    assert read_details("Gholdengo") == ("gholdengo", 100, "")
    assert read_details("Landorus, L50, M, shiny") == ("landorus", 50, "M")
