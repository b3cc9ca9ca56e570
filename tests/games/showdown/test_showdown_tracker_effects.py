"""What a tracker knows after the minor protocol lines: stages, items, abilities, effects, field."""

from __future__ import annotations

import pytest
from showdown_lines import after_leads, foe, party_member, place

from lanista.games.showdown.protocol.battle_state import BOOSTS, FOE, OWN

ATK, DEF, SPA, SPD = (BOOSTS.index(name) for name in ("atk", "def", "spa", "spd"))
HOLDER = "p2b: Gholdengo"


@pytest.mark.parametrize(
    ("lines", "stages"),
    [
        (["|-boost|X|atk|2", "|-unboost|X|def|1"], {ATK: 2, DEF: -1}),
        (["|-boost|X|atk|5", "|-boost|X|atk|5"], {ATK: 6}),
        (["|-unboost|X|atk|5", "|-unboost|X|atk|5"], {ATK: -6}),
        (["|-setboost|X|atk|6|[from] move: Belly Drum"], {ATK: 6}),
        (["|-boost|X|atk|2", "|-unboost|X|def|1", "|-clearboost|X"], {}),
        (["|-boost|X|atk|2", "|-unboost|X|def|1", "|-clearnegativeboost|X|[silent]"], {ATK: 2}),
        (
            ["|-boost|X|atk|2", "|-unboost|X|def|1", "|-clearpositiveboost|X|p1a: Y|move: Z"],
            {DEF: -1},
        ),
        (["|-boost|X|atk|2", "|-unboost|X|def|1", "|-invertboost|X"], {ATK: -2, DEF: 1}),
        (["|-boost|X|atk|2", "|-clearallboost"], {}),
        (["|-boost|p1a: Y|spa|3", "|-copyboost|X|p1a: Y|[from] move: Psych Up"], {SPA: 3}),
        (["|-boost|p1a: Y|spa|3", "|-swapboost|X|p1a: Y|[from] move: Heart Swap"], {SPA: 3}),
        (
            ["|-boost|p1a: Y|spa|3", "|-boost|X|spd|1", "|-swapboost|X|p1a: Y|def, spd"],
            {},
        ),
    ],
)
def test_stages_go_as_the_lines_say(lines: list[str], stages: dict[int, int]) -> None:
    tracker = after_leads(*(line.replace("X", HOLDER) for line in lines))
    expected = [stages.get(at, 0) for at in range(len(BOOSTS))]
    assert place(tracker, "p2b").boosts == expected


def test_swapped_stages_are_swapped_on_both_sides() -> None:
    tracker = after_leads(
        "|-boost|p1a: Y|spd|3", f"|-boost|{HOLDER}|spd|1", f"|-swapboost|{HOLDER}|p1a: Y|def, spd"
    )
    assert place(tracker, "p1a").boosts[SPD] == 1
    assert place(tracker, "p2b").boosts[SPD] == 3


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("|-heal|X|66/100|[from] item: Leftovers", "leftovers"),
        ("|-damage|X|66/100|[from] item: Life Orb", "lifeorb"),
        ("|-damage|p1a: Incineroar|100/202|[from] item: Rocky Helmet|[of] X", "rockyhelmet"),
        ("|-status|X|brn|[from] item: Flame Orb", "flameorb"),
        ("|-item|X|Air Balloon", "airballoon"),
        ("|-item|X|Leftovers|[from] ability: Frisk|[of] p1a: Incineroar", "leftovers"),
        ("|-activate|X|item: Safety Goggles|Spore", "safetygoggles"),
        ("|-activate|X|move: Poltergeist|Choice Specs", "choicespecs"),
        ("|-fail|X|unboost|[from] item: Clear Amulet|[of] X", "clearamulet"),
    ],
)
def test_an_item_is_known_from_what_it_does(line: str, item: str) -> None:
    mon = foe(after_leads(line.replace("X", HOLDER)), "Gholdengo")
    assert (mon.item, mon.brought) == (item, item)


def test_nobody_knows_an_item_before_it_shows() -> None:
    assert foe(after_leads(), "Gholdengo").item is None


def test_an_eaten_berry_leaves_nothing_and_is_not_held_again() -> None:
    tracker = after_leads(
        f"|-enditem|{HOLDER}|Sitrus Berry|[eat]",
        f"|-heal|{HOLDER}|80/100|[from] item: Sitrus Berry",
    )
    mon = foe(tracker, "Gholdengo")
    assert (mon.item, mon.lost_item, mon.brought) == ("", "sitrusberry", "sitrusberry")


def test_a_trick_changes_what_is_held_but_not_what_was_brought() -> None:
    tracker = after_leads(
        f"|-activate|p1a: Incineroar|move: Trick|[of] {HOLDER}",
        f"|-item|{HOLDER}|Choice Scarf|[from] move: Trick",
    )
    mon = foe(tracker, "Gholdengo")
    assert (mon.item, mon.brought) == ("choicescarf", "")


def test_an_item_that_is_used_as_it_arrives_is_gone() -> None:
    tracker = after_leads(
        f"|move|{HOLDER}|Trick|p1a: Incineroar",
        "|-item|p1a: Incineroar|Leftovers|[from] move: Trick",
        f"|-enditem|{HOLDER}|White Herb",
        f"|-clearnegativeboost|{HOLDER}|[silent]",
        f"|-item|{HOLDER}|White Herb|[from] move: Trick",
    )
    assert foe(tracker, "Gholdengo").item == ""


def test_a_berry_that_grows_again_is_held_again() -> None:
    tracker = after_leads(
        "|",
        f"|-enditem|{HOLDER}|Sitrus Berry|[eat]",
        f"|-item|{HOLDER}|Sitrus Berry|[from] ability: Harvest",
    )
    assert foe(tracker, "Gholdengo").item == "sitrusberry"


def test_a_thiefs_ability_is_not_taken_for_its_victims() -> None:
    tracker = after_leads(
        f"|-enditem|{HOLDER}|Leftovers|[silent]|[from] ability: Pickpocket|[of] {HOLDER}",
        f"|-item|p2a: Farigiraf|Leftovers|[from] ability: Pickpocket|[of] {HOLDER}",
    )
    assert foe(tracker, "Gholdengo").ability == ""
    assert foe(tracker, "Farigiraf").ability == "pickpocket"
    assert foe(tracker, "Farigiraf").item == "leftovers"


def test_symbiosis_hands_an_item_on() -> None:
    tracker = after_leads(f"|-activate|p2a: Farigiraf|ability: Symbiosis|Leftovers|[of] {HOLDER}")
    assert foe(tracker, "Farigiraf").item == ""
    assert foe(tracker, "Gholdengo").item == "leftovers"


@pytest.mark.parametrize(
    ("line", "ability"),
    [
        ("|-ability|X|Intimidate|boost", "intimidate"),
        ("|-immune|X|[from] ability: Good as Gold", "goodasgold"),
        ("|-activate|X|ability: Protosynthesis", "protosynthesis"),
        ("|-damage|p1a: Incineroar|90/202|[from] ability: Rough Skin|[of] X", "roughskin"),
        ("|-heal|X|90/100|[from] ability: Water Absorb|[of] p1a: Incineroar", "waterabsorb"),
        ("|-heal|p2a: Farigiraf|90/100|[from] ability: Hospitality|[of] X", "hospitality"),
        ("|-weather|RainDance|[from] ability: Drizzle|[of] X", "drizzle"),
        ("|-fieldstart|move: Grassy Terrain|[from] ability: Grassy Surge|[of] X", "grassysurge"),
        ("|-start|X|ability: Flash Fire", "flashfire"),
        ("|-block|p2a: Farigiraf|ability: Sweet Veil|[of] X", "sweetveil"),
        ("|move|X|Taunt|p1a: Incineroar|[from] ability: Magic Bounce", "magicbounce"),
    ],
)
def test_an_ability_is_known_from_what_it_does(line: str, ability: str) -> None:
    tracker = after_leads(line.replace("X", HOLDER))
    assert foe(tracker, "Gholdengo").ability == ability
    assert foe(tracker, "Farigiraf").ability == ""


def test_two_abilities_as_one_are_one() -> None:
    tracker = after_leads(
        "|switch|p2b: Calyrex|Calyrex-Shadow, L50|100/100",
        "|-ability|p2b: Calyrex|As One",
        "|-ability|p2b: Calyrex|Unnerve",
    )
    assert foe(tracker, "Calyrex").ability == "asonespectrier"


def test_a_traced_ability_tells_of_both() -> None:
    tracker = after_leads(
        f"|-ability|{HOLDER}|Intimidate|[from] ability: Trace|[of] p1a: Incineroar"
    )
    assert foe(tracker, "Gholdengo").ability == "trace"
    assert place(tracker, "p2b").ability == "intimidate"


def test_skill_swap_changes_what_acts_and_tells_what_was_brought() -> None:
    line = f"|-activate|p1a: Incineroar|Skill Swap|Good as Gold|Intimidate|[of] {HOLDER}"
    tracker = after_leads(line)
    assert foe(tracker, "Gholdengo").ability == "goodasgold"
    assert place(tracker, "p2b").ability == "intimidate"
    assert place(tracker, "p1a").ability == "goodasgold"


def test_effects_begin_and_end() -> None:
    starts = ("Encore", "move: Taunt", "confusion", "Substitute", "move: Leech Seed", "Salt Cure")
    tracker = after_leads(*(f"|-start|{HOLDER}|{name}" for name in starts))
    names = {"encore", "taunt", "confusion", "substitute", "leechseed", "saltcure"}
    assert set(place(tracker, "p2b").volatiles) == names
    tracker.hear([f"|-end|{HOLDER}|{name}" for name in starts])
    assert place(tracker, "p2b").volatiles == {}
    assert not tracker.strange


def test_effects_with_a_number_keep_it() -> None:
    tracker = after_leads(
        f"|-start|{HOLDER}|perish3",
        f"|-start|{HOLDER}|stockpile2",
        f"|-start|{HOLDER}|fallen4|[silent]",
        f"|-start|{HOLDER}|protosynthesisspe",
    )
    told = place(tracker, "p2b").volatiles
    assert told == {"perish": 1, "stockpile": 2, "fallen": 4, "boosted": 5}
    tracker.hear([f"|-end|{HOLDER}|Protosynthesis", f"|-end|{HOLDER}|Stockpile"])
    assert set(place(tracker, "p2b").volatiles) == {"perish", "fallen"}


def test_a_partial_trap_holds_and_lets_go() -> None:
    tracker = after_leads(f"|-activate|{HOLDER}|move: Whirlpool|[of] p1a: Incineroar")
    assert "partiallytrapped" in place(tracker, "p2b").volatiles
    tracker.hear([f"|-end|{HOLDER}|Whirlpool|[partiallytrapped]"])
    assert place(tracker, "p2b").volatiles == {}


def test_what_holds_until_the_next_move_ends_with_it() -> None:
    tracker = after_leads(
        f"|-singlemove|{HOLDER}|Destiny Bond",
        f"|-prepare|{HOLDER}|Fly",
        f"|-mustrecharge|{HOLDER}",
    )
    assert set(place(tracker, "p2b").volatiles) == {"destinybond", "prepare", "mustrecharge"}
    tracker.hear([f"|cant|{HOLDER}|recharge", f"|move|{HOLDER}|Fly|p1a: Incineroar"])
    assert place(tracker, "p2b").volatiles == {}


def test_protections_in_a_row_are_counted_and_a_break_begins_anew() -> None:
    protect = f"|-singleturn|{HOLDER}|Protect"
    tracker = after_leads(protect, "|turn|2", protect)
    assert place(tracker, "p2b").protects == 2
    assert place(tracker, "p2b").single == {"protect"}
    tracker.hear(["|turn|3", "|turn|4", protect])
    assert place(tracker, "p2b").protects == 1


def test_types_change_and_change_back() -> None:
    tracker = after_leads(f"|-start|{HOLDER}|typechange|Water/Dragon")
    target = place(tracker, "p2b")
    assert target.current_types() == ("water", "dragon")
    tracker.hear([f"|-start|{HOLDER}|typeadd|Ghost|[from] move: Trick-or-Treat"])
    assert target.current_types() == ("water", "dragon", "ghost")
    tracker.hear([f"|-terastallize|{HOLDER}|Fairy"])
    assert target.current_types() == ("fairy",)
    copied = after_leads(
        f"|-start|{HOLDER}|typechange|[from] move: Reflect Type|[of] p1a: Incineroar"
    )
    assert place(copied, "p2b").current_types() == ("fire", "dark")


def test_a_transformed_pokemon_has_the_others_moves_and_stages_but_keeps_its_own() -> None:
    tracker = after_leads()
    tracker.ask({"side": {"pokemon": [party_member("Incineroar"), party_member("Rillaboom")]}})
    tracker.hear(
        [
            "|-boost|p1a: Incineroar|atk|1",
            "|switch|p2b: Ditto|Ditto, L50|100/100",
            "|-transform|p2b: Ditto|p1a: Incineroar|[from] ability: Imposter",
            "|move|p2b: Ditto|Fake Out|p1a: Incineroar",
        ]
    )
    there = place(tracker, "p2b")
    assert (there.species, there.boosts[ATK]) == ("incineroar", 1)
    assert there.moves == {"fakeout": 1, "flareblitz": 0, "knockoff": 0, "partingshot": 0}
    assert foe(tracker, "Ditto").moves == {}
    assert foe(tracker, "Ditto").ability == "imposter"


def test_a_commander_is_gone_with_its_dondozo() -> None:
    tracker = after_leads(f"|-activate|{HOLDER}|ability: Commander|[of] p2a: Farigiraf")
    assert "commanding" in place(tracker, "p2b").volatiles
    assert "commanded" in place(tracker, "p2a").volatiles
    tracker.hear(["|faint|p2a: Farigiraf"])
    assert place(tracker, "p2b").volatiles == {}


def test_weather_terrain_and_rooms_begin_and_end() -> None:
    tracker = after_leads(
        "|-weather|RainDance",
        "|-fieldstart|move: Psychic Terrain",
        "|-fieldstart|move: Trick Room|[of] p2a: Farigiraf",
        "|turn|2",
        "|-weather|RainDance|[upkeep]",
    )
    known = tracker.battle
    assert (known.weather, known.weather_since) == ("raindance", 1)
    assert (known.terrain, known.rooms) == ("psychicterrain", {"trickroom": 1})
    tracker.hear(
        ["|-weather|none", "|-fieldend|move: Psychic Terrain", "|-fieldend|move: Trick Room"]
    )
    assert (known.weather, known.terrain, known.rooms) == ("", "", {})


def test_sides_hold_screens_and_layers_and_can_be_swapped() -> None:
    tracker = after_leads(
        "|-sidestart|p2: Player 2|move: Tailwind",
        "|-sidestart|p1: Player 1|Spikes",
        "|-sidestart|p1: Player 1|Spikes",
        "|-start|p2a: Farigiraf|move: Future Sight",
    )
    own, theirs = tracker.battle.sides[OWN], tracker.battle.sides[FOE]
    assert own.conditions == {"spikes": 2, "futuresight": 1}
    assert theirs.conditions == {"tailwind": 1}
    tracker.hear(["|-swapsideconditions"])
    assert own.conditions == {"tailwind": 1, "futuresight": 1}
    assert theirs.conditions == {"spikes": 2}
    tracker.hear(["|-sideend|p2: Player 2|Spikes", "|-end|p1a: Incineroar|move: Future Sight"])
    assert own.conditions == {"tailwind": 1}
    assert theirs.conditions == {}
