"""The numbers of the vocabulary: the simulator's own dex, none told apart from unknown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from showdown_play import needs_simulator

from lanista.games.showdown.install import HERE, find, find_node
from lanista.games.showdown.protocol.vocabulary import (
    ABILITY_CLASSES,
    DEX,
    FIRST,
    IMMUNE,
    ITEM_CLASSES,
    MOVE_CLASSES,
    NONE,
    OTHER,
    SPECIES_CLASSES,
    UNKNOWN,
    dex,
    effectiveness,
    read_dex,
    to_id,
)


def made(*old: Path) -> str:
    command = [find_node(), str(HERE / "dex.mjs"), str(find()), *map(str, old)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@needs_simulator
def test_the_file_is_what_the_locked_simulator_says() -> None:
    assert made(DEX) == DEX.read_text(encoding="utf-8")


@needs_simulator
def test_what_was_numbered_keeps_its_number_when_something_is_added(tmp_path: Path) -> None:
    now = json.loads(DEX.read_text(encoding="utf-8"))
    fewer = {**now, "moves": [row for row in now["moves"] if row[0] != "absorb"]}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(fewer))
    after = read_dex(made(path))
    assert after.moves["absorb"].number == FIRST + len(fewer["moves"])
    old = {row[0]: number for number, row in enumerate(fewer["moves"], FIRST)}
    assert all(after.moves[name].number == number for name, number in old.items())
    assert after.species == dex().species


def test_none_unknown_and_other_are_told_apart_from_each_other_and_from_the_dex() -> None:
    tables = (
        ({one.number for one in dex().species.values()}, SPECIES_CLASSES),
        ({one.number for one in dex().moves.values()}, MOVE_CLASSES),
        (set(dex().items.values()), ITEM_CLASSES),
        (set(dex().abilities.values()), ABILITY_CLASSES),
    )
    assert len({NONE, UNKNOWN, OTHER}) == 3
    for numbers, classes in tables:
        assert min(numbers) > max(NONE, UNKNOWN, OTHER)
        assert max(numbers) < classes
    assert dex().move_of("nosuchmove").number == OTHER
    assert dex().species_of("nosuchspecies").number == OTHER


def test_a_dex_that_outgrows_its_room_is_refused() -> None:
    told = json.loads(DEX.read_text(encoding="utf-8"))
    told["items"] = [f"item{number}" for number in range(ITEM_CLASSES)]
    with pytest.raises(ValueError, match="items"):
        read_dex(json.dumps(told))


def test_the_dex_says_what_the_rule_book_says() -> None:
    assert dex().species["fluttermane"].types == ("ghost", "fairy")
    assert dex().species["fluttermane"].stats == (55, 55, 55, 135, 135, 135)
    assert dex().moves["fakeout"].priority == 3
    assert dex().moves["grassyglide"].steady is False
    assert dex().moves["protect"].power == 0
    assert dex().species["vivillonpolar"] == dex().species["vivillon"]
    assert {"choicescarf", "prankster", "quickclaw"} <= dex().order
    assert to_id("Farfetch’d-Galar") == "farfetchdgalar"


@pytest.mark.parametrize(
    ("attack", "target", "doublings"),
    [
        ("ground", ("fire", "steel"), 2),
        ("ground", ("steel", "flying"), IMMUNE),
        ("water", ("water", "dragon"), -2),
        ("fire", ("grass", "water"), 0),
        ("normal", ("stellar",), 0),
    ],
)
def test_types_double_halve_and_cancel_as_in_the_type_chart(
    attack: str, target: tuple[str, ...], doublings: int
) -> None:
    assert effectiveness(attack, target) == doublings
