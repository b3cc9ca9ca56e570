"""docs/guides/showdown.md: its commands run, and its formats, bots, pools and numbers are so."""

from __future__ import annotations

import hashlib
import re
import shlex
from pathlib import Path

from showdown_play import needs_simulator

from lanista.cli import main as cli
from lanista.games.registry import bot_names, entry
from lanista.games.showdown.actions.orders import PREVIEWS, orders_of
from lanista.games.showdown.formats import FORMATS, format_named
from lanista.games.showdown.observation.description import describe, observation_of
from lanista.games.showdown.teams.pool import BUILT_IN, PATTERN
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import load_policy
from lanista.nets.files.policy_format import read_header
from lanista.nets.tokens import layout_of
from lanista.pipeline.recipes import find

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "guides" / "showdown.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    fenced = PAGE.split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


@needs_simulator
def test_every_command_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (lines,) = blocks("sh")
    for line in lines.splitlines():
        program, *given = shlex.split(line)
        assert program == "lanista"
        assert cli.main(given) == 0, line


def test_the_recipes_of_the_page_are_there():
    for name in ("showdown-vgc", "showdown-teams"):
        assert f"`{name}`" in PAGE or f"lanista run {name}" in PAGE
        assert find(name).is_file()


def test_the_policies_of_the_page_play_the_game_as_it_is_now():
    named = {*re.findall(r"artifacts/[\w-]+\.safetensors", PAGE)}
    policies = (
        ("vgc", "mirror", 1),
        ("teams", "cross", 2),
        ("teams-clone", "cross", 2),
        ("champion", "mixed", 2),
    )
    assert named == {f"artifacts/showdown-{name}.safetensors" for name, _, _ in policies}
    for name, mode, observation in policies:
        spec = describe(format_named("gen9vgc2025regi"), mode, "", "", observation)
        policy = load_policy(ROOT / "artifacts" / f"showdown-{name}.safetensors", spec)
        assert policy.header.network.kind == "transformer"


def test_the_champion_is_the_policy_for_any_team_and_the_one_before_comes_from_its_clone():
    champion = policy_file("champion:showdown")
    assert champion.name == "showdown-champion.safetensors"
    before, clone = (
        champion.with_name(f"showdown-teams{end}.safetensors") for end in ("", "-clone")
    )
    digest = hashlib.sha256(clone.read_bytes()).hexdigest()
    assert read_header(before).parents == (digest,)


def test_the_page_names_every_format_every_pool_and_every_bot():
    for name in (*FORMATS, *BUILT_IN):
        assert f"`{name}`" in PAGE
    table = PAGE[PAGE.index("| bots |") : PAGE.index("## What a policy chooses")]
    found = entry("showdown")
    known = {*bot_names(found), *found.missing_bots}
    assert {*re.findall(r"`(\w+)`", table)} == known
    for name in ("held-out", "final"):
        assert len([*BUILT_IN[name].glob(PATTERN)]) == 12
    species = {name: _species(folder) for name, folder in BUILT_IN.items()}
    final = species["final"]
    shared = [len(final & species[name]) for name in ("held-out", "two")]
    assert (
        f"its {len(final)} species, {shared[0]} are in `held-out` and {shared[1]} in `two`" in PAGE
    )


def _species(folder: Path) -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in folder.glob(PATTERN))
    return {species for text in texts for species in re.findall(r"^(.+) @ ", text, re.MULTILINE)}


def test_the_page_counts_choices_and_what_is_seen():
    doubles, singles = format_named("gen9vgc2025regi"), format_named("gen9randombattle")
    assert f"the {len(PREVIEWS)} ways" in PAGE
    assert f"one of {orders_of(doubles).size:,} pairs" in PAGE
    seen = observation_of(doubles)
    assert f"{seen.length:,} whole numbers in doubles" in PAGE
    assert f"({observation_of(singles).length:,} in singles)" in PAGE
    assert f"as {sum(kind.count for kind in layout_of(seen).kinds)} tokens" in PAGE
