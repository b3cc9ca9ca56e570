"""Randomly composed teams: legal, various, and the same again for the same seed."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from showdown_play import needs_simulator

from lanista.games.contract import GameError
from lanista.games.showdown.protocol.vocabulary import OTHER, dex, number_of, to_id
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.teams.pool import load_pool
from lanista.games.showdown.teams.random_teams import MadeTeam, make_teams, write_teams

FORMATS = ("gen9vgc2025regi", "gen9vgc2024regg")
RESTRICTED = re.compile(
    "Mewtwo|Lugia|Ho-Oh|Kyogre|Groudon|Rayquaza|Dialga|Palkia|Giratina|Reshiram|Zekrom|Kyurem|"
    "Cosmog|Cosmoem|Solgaleo|Lunala|Necrozma|Zacian|Zamazenta|Eternatus|Calyrex|Koraidon|"
    "Miraidon|Terapagos"
)
"""What the rulebook restricts, in all its formes."""


@cache
def made(format: str) -> list[MadeTeam]:
    return make_teams(format, 50, seed=1)


@needs_simulator
@pytest.mark.parametrize("format", FORMATS)
def test_every_file_is_a_legal_team_of_six(format: str, tmp_path: Path) -> None:
    write_teams(tmp_path, made(format))
    with Battles() as battles:
        pool = load_pool(tmp_path, format, battles)
    assert not pool.left_out
    assert [team.name for team in pool.teams] == [f"team-{at:04}" for at in range(1, 51)]
    assert all(team.packed.count("]") == 5 for team in pool.teams)


@needs_simulator
@pytest.mark.parametrize("format", FORMATS)
def test_no_two_of_a_team_share_a_species_or_an_item(format: str) -> None:
    for team in made(format):
        items = [each.item for each in team.sets]
        assert len(set(items)) == len(items) == 6
        assert all(items)
        assert len({each.species for each in team.sets}) == 6
        assert all(1 <= len(each.moves) <= 4 for each in team.sets)


@needs_simulator
def test_everybody_has_level_50_and_508_effort_points_in_three_values() -> None:
    for team in made(FORMATS[0]):
        sets = team.text.strip().split("\n\n")
        assert len(sets) == 6
        for each in sets:
            lines = [line.strip() for line in each.split("\n")]
            assert "Level: 50" in lines
            assert any(line.startswith("Tera Type: ") for line in lines)
            assert any(line.endswith(" Nature") for line in lines)
            (effort,) = [line[5:].split(" / ") for line in lines if line.startswith("EVs: ")]
            assert sorted(int(part.split()[0]) for part in effort) == [4, 252, 252]


@needs_simulator
def test_fifty_teams_are_various() -> None:
    teams = made(FORMATS[0])
    sets = [each for team in teams for each in team.sets]
    assert len({each.species for each in sets}) > 100
    assert len({move for each in sets for move in each.moves}) > 150
    casts = [{each.species for each in team.sets} for team in teams]
    assert max(len(one & other) for one, other in combinations(casts, 2)) <= 3


@needs_simulator
def test_a_seed_gives_its_teams_again_and_another_gives_others() -> None:
    assert make_teams(FORMATS[0], 25, seed=1) == made(FORMATS[0])[:25]
    assert not set(make_teams(FORMATS[0], 5, seed=2)) & set(made(FORMATS[0]))


@needs_simulator
def test_restricted_ones_come_no_more_often_than_the_format_allows() -> None:
    for format, most in zip(FORMATS, (2, 1), strict=True):
        counts = [
            sum(bool(RESTRICTED.match(each.species)) for each in team.sets) for team in made(format)
        ]
        assert 1 <= max(counts) <= most


ABILITY, MOVE = r"^Ability: (?:{})\s*$", r"^- (?:{})\s*$"
CORES = (
    (ABILITY.format("Drizzle"), f"{ABILITY.format('Swift Swim|Rain Dish|Hydration')}|"
     f"{MOVE.format('Hurricane|Thunder|Weather Ball')}"),
    (ABILITY.format("Drought|Orichalcum Pulse"),
     ABILITY.format("Chlorophyll|Solar Power|Protosynthesis|Harvest|Flower Gift")),
    (ABILITY.format("Sand Stream"), ABILITY.format("Sand (?:Rush|Force|Veil)")),
    (ABILITY.format("Snow Warning"),
     f"{ABILITY.format('Slush Rush|Snow Cloak|Ice Body')}|{MOVE.format('Blizzard')}"),
    (ABILITY.format("Electric Surge|Hadron Engine"), ABILITY.format("Quark Drive|Surge Surfer")),
    (ABILITY.format("Psychic Surge"), MOVE.format("Expanding Force|Psychic|Psyshock")),
    (ABILITY.format("Grassy Surge"), MOVE.format("Grassy Glide|Wood Hammer|Leaf Storm")),
    (MOVE.format("Trick Room"), None),
    (r"^Dondozo\b", r"^Tatsugiri\b[^@]*@[^\n]*\nAbility: Commander\s*$"),
)  # fmt: skip
"""What the first Pokémon of a core brings, and what the others live on; None: being slow."""
ALONE = 8
"""The core that has one Pokémon beside the first; the others have two."""


def cores_of(team: MadeTeam) -> set[int]:
    """Return the kinds of core with which the first Pokémon of a team agree."""
    sets = team.text.split("\n\n")
    found = set()
    for kind, (brings, lives) in enumerate(CORES):
        mates = range(1, 2 if kind == ALONE else 3)
        fit = all(
            dex().species_of(to_id(team.sets[at].species)).stats[5] <= 50
            if lives is None
            else re.search(lives, sets[at], re.MULTILINE)
            for at in mates
        )
        if fit and re.search(brings, sets[0], re.MULTILINE):
            found.add(kind)
    return found


@needs_simulator
@pytest.mark.parametrize("format", FORMATS)
def test_teams_with_a_core_are_legal_and_begin_with_it(format: str, tmp_path: Path) -> None:
    teams = make_teams(format, 60, seed=1, core_share=1.0)
    write_teams(tmp_path, teams)
    with Battles() as battles:
        assert not load_pool(tmp_path, format, battles).left_out
    kinds = [cores_of(team) for team in teams]
    assert all(kinds)
    assert set.union(*kinds) == set(range(len(CORES)))


@needs_simulator
def test_the_share_with_a_core_is_what_was_asked_for_and_the_others_stay_as_they_were() -> None:
    teams, without = make_teams(FORMATS[0], 24, seed=1, core_share=0.25), made(FORMATS[0])[:24]
    changed = [at for at, team in enumerate(teams) if team != without[at]]
    assert len(changed) == 6
    assert all(cores_of(teams[at]) for at in changed)


@needs_simulator
def test_an_observation_can_name_whatever_stands_in_a_team() -> None:
    for each in (each for team in made(FORMATS[0]) for each in team.sets):
        assert dex().species_of(to_id(each.species)).number > OTHER
        assert number_of(dex().items, to_id(each.item)) > OTHER
        assert all(dex().move_of(to_id(move)).number > OTHER for move in each.moves)


def test_a_format_without_own_teams_a_filled_folder_and_no_teams_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(GameError, match="Nobody brings a team to gen9randombattle; make"):
        make_teams("gen9randombattle", 1, 0)
    with pytest.raises(GameError, match="0 teams cannot be made"):
        make_teams(FORMATS[0], 0, 0)
    with pytest.raises(GameError, match=r"core_share is 1\.5; give a share of the teams"):
        make_teams(FORMATS[0], 1, 0, core_share=1.5)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(GameError, match="is not empty; name a new folder"):
        write_teams(tmp_path, [])
