"""docs/results/champion.md and its recipe: what is typed can be read, and what is claimed is so."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

from lanista.cli.main import main, parse
from lanista.games import registry
from lanista.nets.policy import Policy
from lanista.pipeline.recipe import load_recipe, read_recipe, with_overrides
from lanista.pipeline.recipes import find
from lanista.pipeline.resolve_recipe import settled
from lanista.rollout.parallel_collector import PATIENCE

PAGE = (Path(__file__).parents[2] / "docs" / "results" / "champion.md").read_text(encoding="utf-8")


def lines():
    """Return the words after `lanista` of every command in the page."""
    fenced = PAGE.split("```")[1::2]
    found = [line.partition("lanista ") for text in fenced for line in text.splitlines()]
    return [shlex.split(rest) for before, word, rest in found if word]


def champion(overrides=()):
    return settled(load_recipe(with_overrides(read_recipe(find("beastybar-champion")), overrides)))


def test_every_line_of_the_page_can_be_read_and_fits_the_recipe():
    found = lines()
    assert len(found) == 19
    assert sum(words[0] == "run" and "--set" in words for words in found) > 1
    for words in found:
        parse(words)
        if words[0] == "run" and "--set" in words:
            overrides = words[words.index("--set") + 1 :]
            assert champion(overrides) != champion()


MOVED = """
game: kuhn
device: cpu
stages:
  league:
    iterations: 1
    network: {width: 8, layers: 1}
    rollouts: {matches: 8}
    league: {round: 1}
    checkpoints: {slim: true}
  evaluate: {opponents: [random], games: 2}
  report:
"""


def test_a_complete_run_moved_by_the_pages_lines_is_not_evaluated_again(tmp_path, capsys):
    here, there = tmp_path / "here" / "small", tmp_path / "there" / "small"
    there.mkdir(parents=True)
    (tmp_path / "small.yaml").write_text(MOVED)
    assert main(["run", str(tmp_path / "small.yaml"), "--output-dir", str(here)]) == 0
    moving = next(text for text in PAGE.split("```sh\n") if "needed.txt -T" in text)
    packing, unpacking = moving.partition("```")[0].split("# There,")
    packing = packing.replace("runs/beastybar-champion", str(here))
    subprocess.run(packing, shell=True, check=True, capture_output=True)
    shutil.copytree(here.parent, there.parent, dirs_exist_ok=True, ignore=lambda *_: ["small"])
    subprocess.run(unpacking.partition("\n")[2], shell=True, check=True, cwd=there)
    shutil.rmtree(here.parent)
    capsys.readouterr()
    assert main(["run", str(there)]) == 0
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert "league: done before" in said
    assert "evaluate: done before" in said
    assert (there / "report" / "report.html").is_file()


def test_the_page_says_how_long_a_second_signal_may_wait_for_the_workers():
    signals = " ".join(PAGE.split("A second signal")[1].split("\n- ")[0].split())
    assert f"up to {PATIENCE:.0f} seconds" in signals
    assert "at once" not in signals


def test_the_network_is_as_large_as_the_page_and_the_recipe_say():
    network = champion().stages.imitate.network
    policy = Policy(registry.spec_of("beastybar"), network)
    parameters = sum(each.numel() for each in policy.parameters())
    assert parameters <= 3_000_000
    for text in (PAGE, find("beastybar-champion").read_text()):
        assert f"{parameters:,} parameters" in text


def test_the_recipe_has_every_part_that_the_page_names():
    story = champion()
    assert story.stages.names == ["record", "imitate", "league", "evaluate", "report"]
    assert story.stages.imitate.players == ("outcome",)
    settings = story.run_settings("league")
    bots = set(registry.bot_names(registry.entry("beastybar")))
    assert set(settings.opponents) == {"self", *bots}
    assert set(settings.evaluation.bots) == bots
    assert settings.learning.uses("behaviour")
    assert settings.league.main.matchmaking.kind == "adaptive_by_category"
    assert (story.stages.evaluate.games, story.stages.evaluate.greedy) == (10_000, True)


def test_the_table_has_every_bot_and_its_numbers_fit_together():
    rows = re.findall(
        r"^\| `(\w+)` \| ([\d,]+) \| (\d+[\d,]*) \| ([\d,]+) \| (0\.\d+) \[", PAGE, re.M
    )
    assert {row[0] for row in rows} == set(registry.bot_names(registry.entry("beastybar")))
    for _, *counts, rate in rows:
        wins, draws, losses = (int(each.replace(",", "")) for each in counts)
        assert wins + draws + losses == 10_000
        assert abs(wins / 10_000 - float(rate)) <= 0.0005 + 1e-9


def test_the_page_has_the_numbers_of_the_recipe():
    settings = champion().run_settings("league")
    page = " ".join(PAGE.split())
    assert f"An iteration plays {settings.rollouts.matches:,} matches" in page
    assert f"{settings.iterations:,} iterations make" in page
    assert f"an exploiter every {settings.league.exploiter_check_interval:,} iterations" in page
