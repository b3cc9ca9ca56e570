"""The observation: every entry written, every category within its classes, own HP exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from showdown_lines import PREVIEW, VGC, after_leads, encoded, heard, party_member, seen
from showdown_play import MAIN_FORMATS, Told, needs_simulator, play, setups

from lanista.games.contract import Observation
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import observation_of
from lanista.games.showdown.observation.fields import (
    ABSENT,
    BENCH,
    FAINTED,
    FIRST_PLACE,
    LEFT_AT_HOME,
    NOT_SHOWN,
    SECOND_PLACE,
)
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import NONE, UNKNOWN, dex
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.teams.pool import EXAMPLES, load_pool

FOE0 = 6
"""The opponent's first Pokémon among the tokens of group `mon`."""
REQUEST = {
    "active": [
        {
            "moves": [
                {"id": "fakeout", "pp": 4, "maxpp": 16, "disabled": False},
                {"id": "flareblitz", "pp": 24, "maxpp": 24, "disabled": True},
                {"id": "knockoff", "pp": 32, "maxpp": 32},
                {"id": "partingshot", "pp": 32, "maxpp": 32},
            ],
            "canTerastallize": "Grass",
        },
        {"moves": [{"id": "outrage"}], "trapped": True},
    ],
    "side": {
        "pokemon": [
            party_member("Incineroar", condition="57/202 brn"),
            party_member("Rillaboom", item="", terastallized="Fire", teraType="Fire"),
            party_member("Tornadus", condition="0 fnt"),
            party_member("Landorus"),
        ]
    },
}


def test_lengths_are_those_the_docs_give() -> None:
    assert observation_of(format_named(VGC)).length == 1382
    assert observation_of(format_named("gen9randombattle")).length == 1066


@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_fields_of_a_group_are_all_of_one_size_and_names_are_unique(format: str) -> None:
    layout = observation_of(format_named(format))
    for group in ("mon", "place", "event"):
        assert len({field.size for field in layout.fields if field.group == group}) == 1
    names = [field.name for field in layout.fields]
    assert len(set(names)) == len(names)


def test_the_own_party_is_told_in_full_and_in_the_order_of_choices() -> None:
    tracker = after_leads()
    tracker.ask(REQUEST)
    assert seen(tracker, "mon.species", 0) == dex().species["incineroar"].number
    assert seen(tracker, "mon.hp_points", 0) == 57
    assert seen(tracker, "mon.hp", 0) == 57 * 1000 // 202
    assert seen(tracker, "mon.status", 0) == 1
    fates = [seen(tracker, "mon.fate", at) for at in range(6)]
    assert fates == [FIRST_PLACE, SECOND_PLACE, FAINTED, BENCH, ABSENT, ABSENT]
    assert seen(tracker, "mon.item", 0) == dex().items["safetygoggles"]
    assert seen(tracker, "mon.item", 1) == NONE
    assert seen(tracker, "mon.type1", 1) == dex().types["fire"], "its type has changed"
    assert [seen(tracker, f"mon.pp{at}", 0) for at in (1, 2)] == [25, 100]
    assert seen(tracker, "mon.spe", 0) == 80


def test_what_a_place_is_asked_stands_with_the_place() -> None:
    tracker = after_leads()
    tracker.ask(REQUEST)
    assert [seen(tracker, "place.asked_can_tera", at) for at in range(4)] == [1, 0, 0, 0]
    assert [seen(tracker, "place.asked_trapped", at) for at in range(4)] == [0, 1, 0, 0]
    assert [seen(tracker, f"place.move{at}_disabled", 0) for at in (1, 2, 3)] == [0, 1, 0]
    assert seen(tracker, "place.move1_type", 1) == dex().types["dragon"], "locked into Outrage"
    # Fake Out is Normal: nothing to Gholdengo's ghost, plain on a half-Normal giraffe.
    assert seen(tracker, "place.move1_on2", 0) < -2
    assert seen(tracker, "place.move1_on1", 0) == 0
    # Knock Off is Dark: double on Psychic and on Ghost.
    assert [seen(tracker, f"place.move3_on{at}", 0) for at in (1, 2)] == [1, 1]


def test_unknown_is_told_apart_from_none() -> None:
    tracker = after_leads("|-enditem|p2a: Farigiraf|Electric Seed")
    assert seen(tracker, "mon.item", FOE0) == NONE
    assert seen(tracker, "mon.lost_item", FOE0) == dex().items["electricseed"]
    assert seen(tracker, "mon.item", FOE0 + 1) == UNKNOWN
    assert seen(tracker, "mon.tera", FOE0) == UNKNOWN
    assert seen(tracker, "mon.move1", FOE0) == UNKNOWN
    assert seen(tracker, "mon.type2", FOE0) == dex().types["psychic"]


def test_an_ability_is_inferred_where_a_species_has_one_and_listed_where_it_has_more() -> None:
    tracker = after_leads()
    possible = [seen(tracker, f"mon.ability{at}", FOE0) for at in (1, 2, 3)]
    expected = [dex().abilities[name] for name in dex().species["farigiraf"].abilities]
    assert possible == expected
    assert seen(tracker, "mon.ability1", FOE0 + 1) == dex().abilities["goodasgold"]
    assert seen(tracker, "mon.ability2", FOE0 + 1) == NONE
    tracker.hear(["|-ability|p2a: Farigiraf|Cud Chew"])
    assert seen(tracker, "mon.ability1", FOE0) == dex().abilities["cudchew"]
    assert seen(tracker, "mon.ability2", FOE0) == NONE


def test_those_left_at_home_are_known_once_all_others_have_shown_themselves() -> None:
    tracker = heard(*PREVIEW, "|teamsize|p2|2", "|switch|p2a: Farigiraf|Farigiraf, L50, M|100/100")
    assert [seen(tracker, "mon.fate", FOE0 + at) for at in range(4)] == [
        *(NOT_SHOWN, FIRST_PLACE, NOT_SHOWN, ABSENT),
    ]
    tracker.hear(["|switch|p2b: Gholdengo|Gholdengo, L50|100/100"])
    assert [seen(tracker, "mon.fate", FOE0 + at) for at in range(3)] == [
        *(LEFT_AT_HOME, FIRST_PLACE, SECOND_PLACE),
    ]


def test_a_team_that_is_not_shown_is_there_but_unknown() -> None:
    tracker = heard("|teamsize|p2|6", format="gen9randombattle")
    assert seen(tracker, "mon.species", FOE0 + 5) == UNKNOWN
    assert seen(tracker, "mon.fate", FOE0 + 5) == NOT_SHOWN


def test_turns_since_something_began_are_counted_from_one() -> None:
    tracker = after_leads(
        "|-weather|RainDance",
        "|-sidestart|p2: Player 2|move: Tailwind",
        "|-sidestart|p1: Player 1|Spikes",
        "|-start|p2a: Farigiraf|move: Taunt",
    )
    assert seen(tracker, "weather_turns") == 1
    tracker.hear(["|turn|2", "|turn|3"])
    assert (seen(tracker, "weather_turns"), seen(tracker, "foe_tailwind")) == (3, 3)
    assert (seen(tracker, "own_spikes"), seen(tracker, "own_tailwind")) == (1, 0)
    assert seen(tracker, "place.taunt", 2) == 3
    assert seen(tracker, "turn") == 3


def test_a_pokemon_is_written_anew_whenever_something_about_it_changed() -> None:
    tracker = after_leads()
    tracker.ask(REQUEST)
    assert seen(tracker, "mon.slept", 0) == 0
    tracker.hear(["|cant|p1a: Incineroar|slp"])
    tracker.ask(REQUEST)
    assert seen(tracker, "mon.slept", 0) == 1
    for times in (1, 2):
        tracker.hear(["|move|p2b: Gholdengo|Shadow Ball|p1a: Incineroar"])
        assert seen(tracker, "mon.uses1", FOE0 + 1) == times
    tracker.hear(["|-status|p2b: Gholdengo|par", "|-damage|p2b: Gholdengo|31/100 par"])
    assert (seen(tracker, "mon.status", FOE0 + 1), seen(tracker, "mon.hp", FOE0 + 1)) == (2, 310)
    tracker.hear(["|-terastallize|p2b: Gholdengo|Water"])
    assert seen(tracker, "mon.type1", FOE0 + 1) == dex().types["water"]
    assert (seen(tracker, "own_tera_used"), seen(tracker, "foe_tera_used")) == (0, 1)


def test_an_event_names_places_from_the_own_left_to_the_opponents_right() -> None:
    tracker = after_leads(
        "|",
        "|move|p2a: Farigiraf|Psychic|p1b: Rillaboom",
        "|-damage|p1b: Rillaboom|107/207",
        "|move|p1a: Incineroar|Knock Off|p2b: Gholdengo",
        "|-damage|p2b: Gholdengo|0 fnt",
        "|faint|p2b: Gholdengo",
    )
    events = [at for at in range(10) if seen(tracker, "event.move", at)]
    assert [seen(tracker, "event.actor", at) for at in events] == [3, 1]
    assert [seen(tracker, "event.target", at) for at in events] == [2, 4]
    first, second = events
    damage = [seen(tracker, f"event.damage{place}", first) for place in range(1, 5)]
    assert damage == [0, 1000 - 107 * 1000 // 207, 0, 0]
    assert [seen(tracker, f"event.damage{place}", second) for place in range(1, 5)] == [
        *(0, 0, 0, 1000),
    ]
    assert [seen(tracker, f"event.fell{place}", second) for place in range(1, 5)] == [0, 0, 0, 1]
    assert (seen(tracker, "foe_left"), seen(tracker, "foe_size")) == (5, 6)


def test_terrain_and_weather_are_as_old_as_each_is() -> None:
    tracker = after_leads("|-weather|RainDance", "|turn|2", "|turn|3", "|turn|4")
    tracker.hear(["|-fieldstart|move: Grassy Terrain", "|turn|5"])
    assert (seen(tracker, "weather_turns"), seen(tracker, "terrain_turns")) == (5, 2)


def test_protections_in_a_row_count_until_a_turn_goes_by_without() -> None:
    tracker = after_leads("|-singleturn|p2a: Farigiraf|Protect", "|turn|2")
    assert [seen(tracker, "place.protects", at) for at in range(4)] == [0, 0, 1, 0]
    tracker.hear(["|turn|3"])
    assert seen(tracker, "place.protects", 2) == 0


def test_belief_counts_the_sets_of_the_pool_that_agree() -> None:
    team = (
        "Gholdengo||leftovers|goodasgold|shadowball,protect,nastyplot,makeitrain|modest|"
        ",,,252,,4||||50|,,,,,Steel]"
    )
    other = team.replace("leftovers", "choicespecs").replace("protect", "trick")
    belief = Belief.of_teams([team, team, team, other])
    tracker = after_leads(belief=belief)
    gholdengo = FOE0 + 1
    assert seen(tracker, "mon.likely_item1", gholdengo) == dex().items["leftovers"]
    assert seen(tracker, "mon.likely_item_chance1", gholdengo) == 750
    assert seen(tracker, "mon.likely_item_chance2", gholdengo) == 250
    assert seen(tracker, "mon.likely_sets", gholdengo) == 1000
    assert seen(tracker, "mon.likely_sets", FOE0) == 0, "no set of it in the pool"
    # 2 * 84 + 31 + 4 / 4 = 200, halved at level 50, and 5.
    assert seen(tracker, "mon.likely_speed_low", gholdengo) == 105
    tracker.hear(["|move|p2b: Gholdengo|Trick|p1a: Incineroar"])
    assert seen(tracker, "mon.likely_item1", gholdengo) == dex().items["choicespecs"]
    assert seen(tracker, "mon.likely_item_chance1", gholdengo) == 1000
    assert seen(tracker, "mon.likely_sets", gholdengo) == 250
    trick = dex().moves["trick"].number
    likely = [seen(tracker, f"mon.likely_move{at}", gholdengo) for at in range(1, 5)]
    assert trick not in likely
    assert likely[3] == NONE
    tracker.hear(["|move|p2b: Gholdengo|Protect|p2b: Gholdengo"])
    assert seen(tracker, "mon.likely_sets", gholdengo) == 0, "no set has both"


def test_without_a_pool_belief_is_nothing() -> None:
    layout, row = observation_of(format_named(VGC)), encoded(after_leads())
    likely = [field.name for field in layout.fields if ".likely_" in field.name]
    assert len(likely) == 19
    assert not any(row[layout.slice_of(name)].any() for name in likely)


def within_classes(layout: Observation, rows: np.ndarray) -> None:  # type: ignore[type-arg]
    start = 0
    for field in layout.fields:
        part = rows[:, start : start + field.size]
        start += field.size
        if field.classes:
            assert part.min() >= 0, field.name
            assert part.max() < field.classes, field.name
        else:
            assert np.abs(part / field.scale).max() <= 20, field.name


def check_rows(told: Told, belief: Belief | None, version: int = 1) -> None:
    format = format_named(told.setup.format)
    layout, rows = observation_of(format, version), []
    trackers = [Tracker(format, seat, belief, version) for seat in (0, 1)]
    for update in told.updates:
        for tracker, view in zip(trackers, update.views, strict=True):
            tracker.hear(view.lines)
            if view.request is None:
                continue
            tracker.ask(view.request)
            row, again = np.full((2, layout.length), [[-77], [99]], np.int16)
            tracker.encode(row)
            tracker.encode(again)
            assert (row == again).all(), "an entry is not written"
            points = [
                int(each["condition"].split("/")[0].split(" ")[0])
                for each in view.request["side"]["pokemon"]
            ]
            if version == 1:
                assert row[layout.slice_of("mon.hp_points")][: len(points)].tolist() == points
            rows.append(row)
    within_classes(layout, np.array(rows))


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


def check_battles(battles: Battles, format: str, count: int, version: int = 1) -> None:
    belief = None
    if format_named(format).brings_team:
        pool = load_pool(EXAMPLES, format, battles)
        belief = Belief.of_teams(team.packed for team in pool.teams)
    for told in play(battles, setups(battles, format, count, seed=12)):
        check_rows(told, belief, version)


@needs_simulator
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_random_battles_are_written_within_their_classes(
    battles: Battles, format: str, version: int
) -> None:
    check_battles(battles, format, 4, version)


@pytest.mark.slow
@needs_simulator
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_two_hundred_battles_are_written_within_their_classes(
    battles: Battles, format: str, version: int
) -> None:
    check_battles(battles, format, 200, version)
