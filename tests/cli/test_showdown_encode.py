"""`lanista showdown encode`: what a policy sees of a battle log, in words."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

from lanista.cli.main import main
from lanista.games.showdown.formats import FORMATS, format_named
from lanista.games.showdown.observation.description import describe
from lanista.games.showdown.observation.words import observation_words
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.spectating.logs import Log, read_logs
from lanista.games.showdown.spectating.rows import read_battle
from lanista.games.showdown.teams.pool import EXAMPLES, load_pool
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))
from showdown_logs import opening, turn
from showdown_play import needs_simulator

FORMAT = format_named("gen9vgc2025regi")
SPEC = describe(FORMAT, "mirror", "", "any", 2)


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


@needs_simulator
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
        (["--decision", "99"], "no decision 99 of p1 that can be read; it shows 3."),
        (["--choices-only"], "name one with --policy"),
        (["--belief-pool", "teams"], "--belief-pool is a policy's; name one with --policy."),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(
    log: Path, capsys: pytest.CaptureFixture[str], flags: list[str], sentence: str
) -> None:
    assert main(["showdown", "encode", str(log), *flags]) == 2
    assert sentence in capsys.readouterr().err


def test_a_format_that_is_not_played_is_answered_with_those_that_are(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = log.with_name("other.log")
    other.write_text(log.read_text().replace("Reg I", "Reg Z").replace("regi", "regz"))
    assert main(["showdown", "encode", str(other)]) == 2
    sentence = capsys.readouterr().err
    assert all(name in sentence for name in FORMATS)


def test_a_policy_that_remembers_is_answered_with_how_to_see_the_observation(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "remembers.safetensors"
    save_policy(path, Policy(SPEC, Network("lstm", width=16, layers=1)), SPEC)
    assert main(["showdown", "encode", str(log), "--policy", str(path)]) == 2
    assert "leave --policy out and give --observation 2" in capsys.readouterr().err


@needs_simulator
def test_a_policy_is_shown_what_its_pool_makes_likely(
    log: Path, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ((_, battle),) = read_logs(log)
    assert isinstance(battle, Log)
    with Battles(1) as battles:
        pool = load_pool(EXAMPLES, FORMAT.name, battles)
    belief = Belief.of_teams(team.packed for team in pool.teams)
    last, blank = (read_battle(battle, FORMAT, SPEC, one, (0,)).rows[-1] for one in (belief, None))
    assert (last.observation != blank.observation).any(), "the pool says something of this team"
    flags = ["--policy", str(policy), "--decision", str(last.step + 1)]
    assert main(["showdown", "encode", str(log), *flags]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for token in observation_words(SPEC.observation, last.observation):
        text = ", ".join(f"{name} {value}" for name, value in token.values)
        assert f"{token.name}: {text}" in shown


@needs_simulator
def test_a_page_shows_both_players_decisions_with_bars_and_needs_no_network(
    log: Path, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "battle.html"
    text = log.read_text().replace("|player|p1|Ann|", "|player|p1|<b>Ann|").replace("Ann", "<b>Ann")
    log.write_text(text.replace("<b><b>", "<b>"))
    flags = ["--policy", str(policy), "--page", str(page), "--top", "3"]
    assert main(["showdown", "encode", str(log), *flags]) == 0
    # Previews, two turns and the third, which ended before anything showed, of both sides.
    assert capsys.readouterr().out == f"{page}: 8 decisions\n"
    html = page.read_text(encoding="utf-8")
    assert "<b>Ann" not in html
    assert "&lt;b&gt;Ann" in html
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", html)
    assert html.count('<ol class="bars">') == 8
    assert "Dragonite (p1) uses Extreme Speed on Raichu (p2)" in html
    marked = re.findall(r'<li class="marked">.*?</li>', html)
    assert any("dragonite uses extremespeed on raichu" in bar for bar in marked)
    assert "What was chosen did not show." in html
    for bars in re.findall(r'<ol class="bars">(.*?)</ol>', html):
        shares = [float(share) for share in re.findall(r'"share">([\d.]+)<', bars)]
        assert 1 <= len(shares) <= 4
        assert sum(shares) <= 1.002
    # A page of ours may be replaced, a file of somebody else's not.
    assert main(["showdown", "encode", str(log), *flags]) == 0
    page.write_text("mine")
    assert main(["showdown", "encode", str(log), *flags]) != 0
    assert page.read_text() == "mine"


def test_a_page_without_a_policy_is_refused(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["showdown", "encode", str(log), "--page", str(tmp_path / "b.html")]) == 2
    assert "name one with --policy" in capsys.readouterr().err
