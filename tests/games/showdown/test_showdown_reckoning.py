"""The damage reckoned in C against the formula in Python, over fighters of every kind."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from lanista.games.showdown.protocol.traits import traits
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted import damage, reckoning
from lanista.games.showdown.scripted.damage import Fighter, Ground
from lanista.games.showdown.scripted.fighters import threat
from lanista.games.showdown.scripted.reckoning import Sheet

SPECIAL_MOVES = sorted(
    {*damage.POWERS, *damage.FIXED, *damage.TYPE_CHANGING, *damage.ALWAYS_CRITICAL, *damage.SHAKING}
    | {*damage.SCREEN_BREAKERS, *damage.AGAINST_DEFENSE, *damage.RAIN_SURE, *damage.HITS}
    | {"bodypress", "foulplay", "nobody-knows", "unknown", "recharge", ""}
)
ABILITIES = sorted(
    {*damage.ABSORBED, *damage.SKIN, *(name for name, _ in damage.STRENGTHS)}
    | {"technician", "adaptability", "guts", "infiltrator", "furcoat", "multiscale", "filter"}
    | {"shadowshield", "solidrock", "prismarmor", "noguard", "sturdy", "", "pressure"}
)
ITEMS = sorted(
    {*damage.TYPE_ITEMS, "lifeorb", "choiceband", "choicespecs", "expertbelt", "airballoon"}
    | {"assaultvest", "eviolite", "focussash", "choicescarf", "leftovers", ""}
)
WEATHERS = ("", "raindance", "sunnyday", "sandstorm", "snowscape", "primordialsea", "desolateland")
TERRAINS = ("", "electricterrain", "grassyterrain", "mistyterrain", "psychicterrain")


def fighter(draw: random.Random) -> Fighter:
    tables = dex()
    species = draw.choice(list(tables.species))
    born = tables.species_of(species).types
    types = draw.choice([born, (draw.choice(list(tables.types)),), (*born, "grass"), ("???",)])
    return Fighter(
        species=species,
        level=draw.choice([1, 50, 83, 100]),
        types=types,
        born=born,
        stats=tuple(draw.randint(1, 400) for _ in range(5)),
        most_hp=draw.randint(1, 500),
        hp=draw.choice([1.0, 0.5, 0.013, draw.random()]),
        boosts=tuple(draw.choice([0, 0, draw.randint(-6, 6)]) for _ in range(7)),
        status=draw.choice(["", "", "brn", "par", "slp"]),
        item=draw.choice([None, draw.choice(ITEMS)]),
        ability=draw.choice(ABILITIES),
        terastallized=draw.random() < 0.3,
        screens=frozenset(
            draw.sample(["reflect", "lightscreen", "auroraveil"], draw.randint(0, 2))
        ),
        fallen=draw.randint(0, 3),
    )


def ground(draw: random.Random) -> Ground:
    return Ground(draw.choice(WEATHERS), draw.choice(TERRAINS), draw.random() < 0.7)


@pytest.mark.parametrize("seed", range(4))
def test_every_share_and_chance_is_the_formulas_to_the_last_bit(seed: int) -> None:
    draw = random.Random(seed)
    moves = [*SPECIAL_MOVES, *draw.sample(sorted(dex().moves), 200)]
    some = 0
    for _ in range(60):
        attacker, target, where = fighter(draw), fighter(draw), ground(draw)
        sheets, air = (Sheet(attacker), Sheet(target)), reckoning.air(where)
        for move in moves:
            spread = draw.random() < 0.3
            expected = damage.expected_share(attacker, move, target, where, spread=spread)
            assert reckoning.share(sheets[0], move, sheets[1], air, spread) == expected, move
            chance = damage.hit_chance(attacker, move, target, where)
            assert reckoning.hit_chance(sheets[0], move, sheets[1], air) == chance, move
            some += expected > 0
    assert some > 1000


@pytest.mark.parametrize("shown", [0, 1, 2, 3, 4])
def test_a_threat_is_by_shown_moves_and_by_types_while_few_were_shown(shown: int) -> None:
    draw = random.Random(shown)
    for _ in range(200):
        attacker, target, where = fighter(draw), fighter(draw), ground(draw)
        moves = tuple(draw.sample(sorted(dex().moves), shown))
        sheets, air = (Sheet(attacker), Sheet(target)), reckoning.air(where)
        expected = threat(moves, attacker, target, where)
        assert reckoning.threat(reckoning.arsenal(moves), *sheets, air) == expected
        best = max((damage.expected_share(attacker, m, target, where) for m in moves), default=0.0)
        assert reckoning.best(sheets[0], reckoning.arsenal(moves), sheets[1], air) == best


def test_what_a_move_is_agrees_with_the_dex_and_the_formula() -> None:
    draw = random.Random(7)
    for move in [*SPECIAL_MOVES, *draw.sample(sorted(dex().moves), 100)]:
        attacker, target, where = fighter(draw), fighter(draw), ground(draw)
        dex_move = dex().move_of(move)
        numbers = reckoning.facts(Sheet(attacker), move, Sheet(target), reckoning.air(where))
        attacks = dex_move.category in (1, 2)
        power = 0.0
        if move in damage.FIXED and attacks:
            power = 100 * damage.FIXED[move](attacker, target) / target.most_hp
        elif attacks:
            power = damage.HITS.get(move, 1.0) * damage.power_of(attacker, move, dex_move, target)
        type = damage.type_of(attacker, move, dex_move, where)
        same = round(100 * damage.same_type(attacker, type)) - 100 if attacks else 0
        assert numbers[0] == dex_move.number
        assert numbers[2:] == (
            *(dex_move.category, 1, round(power), dex_move.accuracy or 100),
            *(int(not dex_move.accuracy), same),
        )
        assert numbers[1] == (dex().types.get(type, numbers[1]) if type else 0)


def test_a_sheet_is_another_where_the_fighter_is() -> None:
    """Whatever changes a share in Python changes it here: nothing of a fighter is left unread."""
    draw = random.Random(3)
    changed: set[str] = set()
    fields = [field.name for field in dataclasses.fields(Fighter)]
    moves = [*SPECIAL_MOVES, "earthquake", "hypervoice", "dracometeor", "closecombat"]
    for _ in range(150):
        attacker, target, where = fighter(draw), fighter(draw), ground(draw)
        other = fighter(draw)
        for name in fields:
            for who in ("attacker", "target"):
                pair = {"attacker": attacker, "target": target}
                pair[who] = dataclasses.replace(pair[who], **{name: getattr(other, name)})
                move = draw.choice(moves)
                one = damage.expected_share(attacker, move, target, where)
                two = damage.expected_share(pair["attacker"], move, pair["target"], where)
                sheets = Sheet(pair["attacker"]), Sheet(pair["target"])
                assert reckoning.share(sheets[0], move, sheets[1], reckoning.air(where)) == two
                if one != two:
                    changed.add(f"{who} {name}")
    assert {"attacker stats", "target stats", "attacker types", "target screens"} <= changed
    assert {"attacker item", "target item", "attacker ability", "target ability"} <= changed


def test_written_numbers_are_rounded_like_pythons() -> None:
    draw = random.Random(5)
    for _ in range(100):
        mon, foe, where = fighter(draw), fighter(draw), ground(draw)
        moves = tuple(draw.sample(sorted(traits().moves), 4))
        air, arms = reckoning.air(where), reckoning.arsenal(moves)
        row = np.zeros(7, np.int16)
        danger = reckoning.write_versus_foe(
            *(Sheet(mon), Sheet(mon), arms, Sheet(foe), arms, arms, air), 0.4995, True, row
        )
        best = max(damage.expected_share(mon, move, foe, where) for move in moves)
        assert row[0] == min(3000, round(1000 * best))
        assert danger == threat(moves, foe, mon, where)
        assert row[1] == min(3000, round(1000 * danger))
        assert row[5:].tolist() == [round(1000 * 0.4995), 1]
