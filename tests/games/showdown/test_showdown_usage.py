"""Usage statistics: how they are read, counted, and what a player then believes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from showdown_logs import opening
from showdown_play import needs_simulator

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.games.showdown.protocol.battle_state import Mon
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.likely import USAGE_SURPRISE, likely
from lanista.games.showdown.protocol.traits import traits
from lanista.games.showdown.protocol.usage import count_usage, read_usage
from lanista.games.showdown.teams.sets import unpack

FLUTTER = {
    "Raw count": 100,
    "Abilities": {"protosynthesis": 80.0},
    "Items": {"boosterenergy": 60.0, "choicespecs": 20.0, "noitemofthisname": 5.0},
    "Tera Types": {"fairy": 40.0, "ghost": 40.0},
    "Moves": {"moonblast": 80.0, "shadowball": 72.0, "protect": 56.0, "": 3.0},
    "Spreads": {"Timid:0/0/0/252/4/252": 80.0},
}
SHEET = "Pawmot||focussash|ironfist|icepunch,fakeout,revivalblessing,protect||||||50|,,,,,Fire"


def written(folder: Path, data: Any) -> Path:
    path = folder / "usage.json"
    path.write_text(json.dumps({"info": {}, "data": data}))
    return path


def test_weights_become_shares_of_a_species_sets(tmp_path: Path) -> None:
    table = read_usage(written(tmp_path, {"Flutter Mane": FLUTTER, "Nobody": FLUTTER}))
    assert list(table) == ["fluttermane"]
    usage = table["fluttermane"]
    assert usage.items == {"boosterenergy": 0.75, "choicespecs": 0.25}
    assert usage.teras == {"fairy": 0.5, "ghost": 0.5}
    assert usage.moves == {"moonblast": 1.0, "shadowball": 0.9, "protect": 0.7}


def test_what_players_bring_stands_in_the_place_of_the_prior(tmp_path: Path) -> None:
    told = Belief((), read_usage(written(tmp_path, {"Flutter Mane": FLUTTER})))
    mon = Mon("", "fluttermane", 50, "")
    chances = likely(mon, told)
    general = traits().any_usage
    for item, share in (("boosterenergy", 0.75), ("choicespecs", 0.25)):
        expected = (1 - USAGE_SURPRISE) * share + USAGE_SURPRISE * general.items.get(item, 0)
        assert chances.items[item] == pytest.approx(expected)
    assert next(iter(chances.moves)) == "moonblast"
    assert likely(mon, None).items != chances.items
    # A species that the statistics do not have keeps the prior it has without them.
    other = Mon("", "incineroar", 50, "")
    assert likely(other, told).items == likely(other, None).items


def test_counting_sets_and_reading_them_gives_their_shares(tmp_path: Path) -> None:
    sets = unpack(SHEET) + unpack(SHEET.replace("focussash", "leftovers").replace("Fire", "Ghost"))
    path = tmp_path / "usage.json"
    path.write_text(json.dumps(count_usage(sets)))
    usage = read_usage(path)["pawmot"]
    assert usage.items == {"focussash": 0.5, "leftovers": 0.5}
    assert usage.abilities == {"ironfist": 1.0}
    assert usage.teras == {"fire": 0.5, "ghost": 0.5}
    assert usage.moves == dict.fromkeys(("icepunch", "fakeout", "revivalblessing", "protect"), 1.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "is no JSON"),
        ("[]", "has no table 'data'"),
        ('{"data": {}}', "tells of no species"),
        ('{"data": {"Pawmot": {"Abilities": {"ironfist": "many"}}}}', "tells of no species"),
        ('{"data": {"Pawmot": {"Abilities": {"ironfist": 1e999}}}}', "tells of no species"),
        ('{"data": {"Pawmot": {"Abilities": {"ironfist": 1%s}}}}' % ("0" * 400), "no species"),
        ('{"data": {"Pawmot": [1, 2]}}', "tells of no species"),
    ],
)
def test_a_file_that_says_nothing_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "usage.json"
    path.write_text(text)
    with pytest.raises(LanistaError, match=words):
        read_usage(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="There are no pipes here.")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "usage.json")
    with pytest.raises(LanistaError, match="is no file"):
        read_usage(tmp_path / "usage.json")


def test_sheets_of_logs_are_counted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        *opening("Dragonite", "Pawmot", "Raichu", "Urshifu", format="[Gen 9] VGC 2025 Reg I (Bo3)"),
        f"|showteam|p1|{SHEET}",
        "|showteam|p2|nonsense",
        "|win|Ann",
    ]
    for name in ("one.log", "again.log"):
        (tmp_path / name).write_text("\n".join(lines))
    out = tmp_path / "usage.json"
    assert main(["showdown", "usage", str(tmp_path), "--output", str(out)]) == 0
    assert "1 sets of 1 species" in capsys.readouterr().out
    assert list(read_usage(out)) == ["pawmot"]
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "a.log").write_text("\n".join(line for line in lines if "showteam" not in line))
    assert main(["showdown", "usage", str(closed), "--output", str(out)]) == 2
    assert "open team sheets" in capsys.readouterr().err


@needs_simulator
def test_a_pool_is_counted_and_believed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "usage.json"
    assert main(["showdown", "usage", "two", "--teams", "--output", str(out)]) == 0
    assert "12 sets of 12 species" in capsys.readouterr().out
    words = ["showdown", "evaluate", "heuristic", "--usage", str(out), "--battles", "2"]
    assert main(words) == 2
    assert "--usage is for players that read observation 2" in capsys.readouterr().err
    assert main([*words[:2], "champion:showdown", *words[3:], "--belief-pool", "two"]) == 2
    assert "both say what others bring" in capsys.readouterr().err
    played = ["--opponents", "random", "--concurrency", "2", "--output", str(tmp_path / "o.json")]
    assert main([*words[:2], "champion:showdown", *words[3:], *played]) == 0
    assert json.loads((tmp_path / "o.json").read_text())["belief_pool"] == str(out)
