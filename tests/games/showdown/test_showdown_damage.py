"""What damage is expected, from the games' formula and the rules of items, abilities and moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.damage import (
    Fighter,
    Ground,
    expected_share,
    guessed_stats,
    hit_chance,
)

DOUBLES, SINGLES = Ground(), Ground(doubles=False)


def ordinary(species: str, **more: Any) -> Fighter:
    told = dex().species_of(species)
    most, stats = guessed_stats(told.stats, 50)
    return Fighter(species, 50, told.types, told.types, stats, most, 1.0, **more)


HANDS, MOUSE, WHALE = ordinary("ironhands"), ordinary("maushold"), ordinary("dondozo")


def share(attacker: Fighter, move: str, target: Fighter, ground: Ground = DOUBLES) -> float:
    return expected_share(attacker, move, target, ground)


def by_formula(attacker: Fighter, power: float, attack: float, defense: float) -> float:
    """Return the formula's base damage with the mean of its sixteen rolls, nothing else at work."""
    return ((2 * attacker.level // 5 + 2) * power * attack / defense / 50 + 2) * 0.925


def test_the_formula_is_the_games() -> None:
    # Body Slam: Normal, physical, power 85; Iron Hands is Fighting and Electric, Dondozo Water.
    expected = by_formula(HANDS, 85, HANDS.stats[0], WHALE.stats[1]) / WHALE.most_hp
    assert share(HANDS, "bodyslam", WHALE) == pytest.approx(expected)


def test_a_screen_stops_its_own_kind_by_a_third_in_doubles_and_by_half_in_singles() -> None:
    for move, screen, other in (
        ("bodyslam", "reflect", "lightscreen"),
        ("hypervoice", "lightscreen", "reflect"),
    ):
        plain = share(HANDS, move, WHALE)
        behind = replace(WHALE, screens=frozenset((screen,)))
        assert share(HANDS, move, behind) == pytest.approx(plain * 2 / 3)
        assert share(HANDS, move, behind, SINGLES) == pytest.approx(plain / 2)
        assert share(HANDS, move, replace(WHALE, screens=frozenset((other,)))) == plain
        veiled = replace(WHALE, screens=frozenset(("auroraveil",)))
        assert share(HANDS, move, veiled) == pytest.approx(plain * 2 / 3)


def test_foul_play_hits_with_the_targets_attack() -> None:
    plain = share(HANDS, "foulplay", WHALE)
    stronger = replace(HANDS, boosts=(2, 0, 0, 0, 0, 0, 0))
    assert share(stronger, "foulplay", WHALE) == plain
    raised = replace(WHALE, boosts=(2, 0, 0, 0, 0, 0, 0))
    assert share(HANDS, "foulplay", raised) == pytest.approx(
        by_formula(HANDS, 95, 2 * WHALE.stats[0], WHALE.stats[1]) / WHALE.most_hp
    )


def test_an_assault_vest_is_worn_against_special_moves_alone() -> None:
    vest = replace(WHALE, item="assaultvest")
    assert share(HANDS, "bodyslam", vest) == share(HANDS, "bodyslam", WHALE)
    expected = by_formula(HANDS, 90, HANDS.stats[2], 1.5 * WHALE.stats[3]) / WHALE.most_hp
    assert share(HANDS, "hypervoice", vest) == pytest.approx(expected)


def test_terrain_lifts_the_attacks_of_those_who_stand_on_it() -> None:
    ground = Ground(terrain="psychicterrain")
    plain = share(MOUSE, "psychic", WHALE)
    assert share(MOUSE, "psychic", WHALE, ground) == pytest.approx(1.3 * plain)
    flying = replace(WHALE, types=("water", "flying"))
    assert share(MOUSE, "psychic", flying, ground) == pytest.approx(1.3 * plain)
    bird = replace(MOUSE, types=("flying",))
    assert share(bird, "psychic", WHALE, ground) == pytest.approx(plain)


def test_multiscale_guards_one_that_is_whole() -> None:
    plain = share(HANDS, "bodyslam", WHALE)
    scaled = replace(WHALE, ability="multiscale")
    assert share(HANDS, "bodyslam", scaled) == pytest.approx(plain / 2)
    assert share(HANDS, "bodyslam", replace(scaled, hp=0.99)) == pytest.approx(plain)


def test_moves_whose_power_depends_have_the_power_of_the_rules() -> None:
    def power(move: str, attacker: Fighter, target: Fighter, special: bool) -> float:
        """Return the power that the formula says was used."""
        attack, defense = (2, 3) if special else (0, 1)
        unit = by_formula(attacker, 1, attacker.stats[attack], target.stats[defense]) - 2 * 0.925
        return (share(attacker, move, target) * target.most_hp - 2 * 0.925) / unit

    ill = replace(WHALE, status="par")
    assert power("hex", HANDS, WHALE, True) == pytest.approx(65)
    assert power("hex", HANDS, ill, True) == pytest.approx(130)
    assert power("hex", replace(HANDS, status="par"), WHALE, True) == pytest.approx(65)
    for item, expected in ((None, 97.5), ("leftovers", 97.5), ("", 65)):
        assert power("knockoff", HANDS, replace(WHALE, item=item), False) == pytest.approx(expected)
    for fallen in (0, 2):
        attacker = replace(HANDS, fallen=fallen)
        assert power("lastrespects", attacker, replace(WHALE, fallen=5), False) == pytest.approx(
            50 + 50 * fallen
        )
    slow = 25 * WHALE.stats[4] / HANDS.stats[4] + 1
    plain = replace(WHALE, types=("normal",))  # Water resists Steel.
    assert power("gyroball", HANDS, plain, False) == pytest.approx(slow)


def test_fixed_damage_is_what_the_rules_fix() -> None:
    assert share(HANDS, "seismictoss", WHALE) == pytest.approx(50 / WHALE.most_hp)
    hurt = replace(HANDS, hp=0.5)
    assert share(hurt, "finalgambit", WHALE) == pytest.approx(0.5 * HANDS.most_hp / WHALE.most_hp)
    assert share(HANDS, "superfang", replace(WHALE, hp=0.4)) == pytest.approx(0.2)


def test_technician_lifts_what_has_a_power_of_sixty_or_less() -> None:
    skilled = replace(HANDS, ability="technician")
    # Aerial Ace has 60, Facade 70; both are of no type of the attacker's.
    expected = by_formula(HANDS, 90, HANDS.stats[0], WHALE.stats[1]) / WHALE.most_hp
    assert share(skilled, "aerialace", WHALE) == pytest.approx(expected)
    assert share(skilled, "facade", WHALE) == share(HANDS, "facade", WHALE)


@pytest.mark.parametrize(
    ("accuracy", "evasion", "chance"),
    [(0, 0, 0.3), (1, 0, 0.4), (0, 1, 0.3 * 3 / 4), (2, 2, 0.3), (6, 0, 0.9), (0, 6, 0.1)],
)
def test_stages_of_accuracy_and_evasion_count_against_each_other(
    accuracy: int, evasion: int, chance: float
) -> None:
    attacker = replace(HANDS, boosts=(0, 0, 0, 0, 0, accuracy, 0))
    target = replace(WHALE, boosts=(0, 0, 0, 0, 0, 0, evasion))
    assert hit_chance(attacker, "fissure", target, DOUBLES) == pytest.approx(chance)
