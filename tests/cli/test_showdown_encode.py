"""`lanista showdown encode`: what a policy sees of a battle log, in words."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

from lanista.cli.main import main
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.nets.policy import Policy
from lanista.nets.policy_file import save_policy
from lanista.nets.settings import Network

sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))
from showdown_logs import opening, turn

SPEC = describe(format_named("gen9vgc2025regi"), "mirror", "", "any", 2)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "battle.log"
    lines = [
        *opening("Dragonite", "Pawmot", "Raichu", "Urshifu"),
        *turn(
            1,
            "|move|p2a: Raichu|Fake Out|p1a: Dragonite",
            "|-damage|p1a: Dragonite|90/100",
            "|cant|p1a: Dragonite|flinch",
            "|move|p1b: Pawmot|Ice Punch|p2b: Urshifu",
            "|-damage|p2b: Urshifu|60/100",
            "|move|p2b: Urshifu|Detect|p2b: Urshifu",
        ),
        *turn(
            2,
            "|move|p1b: Pawmot|Ice Punch|p2b: Urshifu",
            "|-damage|p2b: Urshifu|20/100",
            "|move|p1a: Dragonite|Extreme Speed|p2a: Raichu",
            "|-damage|p2a: Raichu|50/100",
            "|move|p2a: Raichu|Thunderbolt|p1a: Dragonite",
            "|-damage|p1a: Dragonite|50/100",
            "|move|p2b: Urshifu|Wicked Blow|p1b: Pawmot",
            "|-damage|p1b: Pawmot|30/100",
        ),
        "|win|Ann",
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    network = Network("transformer", width=16, layers=1, readout="pointer")
    path = tmp_path / "fresh.safetensors"
    save_policy(path, Policy(SPEC, network), SPEC)
    return path


def test_what_is_seen_is_said_in_words(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["showdown", "encode", str(log)]) == 0
    shown = capsys.readouterr().out
    second = shown.partition("decision 3 of p1")[2]
    token = " ".join(second.partition("foe 2: ")[2].partition("foe 3: ")[0].split())
    assert token.startswith("species urshifu")
    assert "hp 0.6" in token
    assert "turn1_move detect" in token
    orders = "dragonite uses extremespeed on raichu; pawmot uses icepunch on urshifu"
    assert f"chosen: {orders}" in second


def test_a_policys_probabilities_are_listed_in_words_and_sum_to_one(
    log: Path, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--policy", str(policy), "--choices-only", "--top", "5000", "--decision", "3"]
    assert main(["showdown", "encode", str(log), *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "decision 3 of p1"
    chances = [float(words[1]) for line in lines if (words := re.match(r"  (\d\.\d+)  ", line))]
    assert len(chances) == len(lines) - 1
    assert chances == sorted(chances, reverse=True)
    assert sum(chances) == pytest.approx(1, abs=0.001 * len(chances))
    chosen = [line for line in lines if line.endswith("<- chosen")]
    assert len(chosen) == 1
    assert "dragonite uses extremespeed on raichu" in chosen[0]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--seat", "3"], "--seat is 3; give 1 or 2."),
        (["--observation", "3"], "--observation is 3; give 1 or 2."),
        (["--decision", "99"], "under number 99"),
        (["--choices-only"], "name one with --policy"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(
    log: Path, capsys: pytest.CaptureFixture[str], flags: list[str], sentence: str
) -> None:
    assert main(["showdown", "encode", str(log), *flags]) == 2
    assert sentence in capsys.readouterr().err
