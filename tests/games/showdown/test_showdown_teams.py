"""Team pools: the simulator says what is legal, our streams say who plays what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from showdown_play import needs_simulator

from lanista.games.contract import GameError
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.teams.pool import (
    BUILT_IN,
    EXAMPLES,
    Part,
    Pool,
    Team,
    load_pool,
    load_pools,
    pool_folder,
)
from lanista.games.streams import Stream

RECIPES = Path(__file__).parents[3] / "recipes"
NAMES_THE_FINAL_POOL = re.compile(
    r"""\w*_pool\w*["']?\s*[:=]\s*["']?final\b|\bfinal_teams\b""", re.IGNORECASE
)


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


def pool(count: int) -> Pool:
    return Pool("gen9vgc2025regi", tuple(Team(f"t{at}", f"packed{at}") for at in range(count)))


def drawn(count: int, mode: str) -> list[tuple[str, str]]:
    found = []
    for match in range(300):
        first, second = pool(count).draw(Stream.keyed(1, match, 0, "chance"), mode)
        found.append((first.name, second.name))
    return found


def test_mirrored_teams_are_equal_and_crossed_ones_differ() -> None:
    assert set(drawn(3, "mirror")) == {(f"t{at}", f"t{at}") for at in range(3)}
    assert set(drawn(3, "cross")) == {
        (f"t{a}", f"t{b}") for a in range(3) for b in range(3) if a != b
    }
    assert set(drawn(1, "cross")) == {("t0", "t0")}
    assert drawn(3, "cross") == drawn(3, "cross")


def test_mixed_teams_are_mirrored_and_crossed_alike_often() -> None:
    mirrored = [first == second for first, second in drawn(5, "mixed")]
    assert 0.4 < sum(mirrored) / len(mirrored) < 0.6


def test_both_teams_of_a_battle_come_from_one_part_as_often_as_its_weight_says() -> None:
    teams = tuple(Team(f"t{at}", f"packed{at}") for at in range(6))
    parts = (Part(0, 2, 1), Part(2, 6, 3))
    pool = Pool("gen9vgc2025regi", teams, {}, parts)
    pairs = [pool.draw(Stream.keyed(1, match, 0, "chance")) for match in range(2000)]
    of_first = [(first in teams[:2], second in teams[:2]) for first, second in pairs]
    assert all(one == two for one, two in of_first)
    assert 0.22 < sum(one for one, _ in of_first) / len(pairs) < 0.28
    assert {team for pair in pairs for team in pair} == set(teams)


@needs_simulator
def test_several_pools_are_read_with_their_weights_and_judged_once(
    battles: Battles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.txt").write_text((pool_folder("held-out") / "sun.txt").read_text() + "\n")
    path = f"{tmp_path}=3,two=1"
    pool = load_pools(path, "gen9vgc2025regi", battles)
    assert pool.teams[0].name == "own"
    assert pool.parts == (Part(0, 1, 3), Part(1, len(pool.teams), 1))
    monkeypatch.setattr(battles, "validate", lambda *_: pytest.fail("asked again"))
    assert load_pools(path, "gen9vgc2025regi", battles) == pool
    monkeypatch.undo()
    (tmp_path / "own.txt").write_text("")
    with pytest.raises(GameError, match="No team"):
        load_pools(path, "gen9vgc2025regi", battles)


@pytest.mark.parametrize("path", ["two=0", "two=1,held-out", "=2", "two=half"])
def test_a_weight_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(GameError, match="FOLDER=WEIGHT"):
        load_pools(path, "gen9vgc2025regi", None)  # type: ignore[arg-type]


def test_an_unknown_mode_or_format_is_refused() -> None:
    with pytest.raises(GameError, match="not 'both'"):
        pool(2).draw(Stream(1), "both")
    with pytest.raises(GameError, match="did you mean 'gen9vgc2025regi'"):
        format_named("gen9vgc2025regh")


@needs_simulator
@pytest.mark.parametrize(
    ("name", "format"),
    [
        *((name, "gen9vgc2025regi") for name in BUILT_IN),
        *((name, "gen9vgc2024regg") for name in ("two", "held-out")),
    ],
)
def test_the_teams_that_come_along_are_legal(battles: Battles, name: str, format: str) -> None:
    folder = pool_folder(name)
    found = load_pool(folder, format, battles)
    assert not found.left_out
    assert len(found.teams) == len(list(folder.glob("*.txt")))
    assert all(team.packed.count("]") == 5 for team in found.teams)


def texts_of(name: str) -> dict[str, str]:
    return {path.stem: path.read_text() for path in pool_folder(name).glob("*.txt")}


def sets_of(name: str) -> list[str]:
    return [entry for text in texts_of(name).values() for entry in text.strip().split("\n\n")]


def species_of(name: str) -> set[str]:
    return {entry.split(" @ ")[0] for entry in sets_of(name)}


@pytest.mark.parametrize(
    ("name", "others"), [("held-out", ["two"]), ("final", ["two", "held-out"])]
)
def test_teams_for_judging_are_twelve_of_their_own_with_six_species_items_and_four_moves(
    name: str, others: list[str]
) -> None:
    texts = texts_of(name)
    assert len(texts) == 12
    for other in others:
        assert not set(texts) & set(texts_of(other))
    for text in texts.values():
        sets = text.strip().split("\n\n")
        heads = [each.split("\n")[0].split(" @ ") for each in sets]
        assert len({species for species, _ in heads}) == len({item for _, item in heads}) == 6
        for each in sets:
            assert each.count("\n- ") == 4
            assert all(f"\n{word}: " in each for word in ("Ability", "Tera Type", "EVs"))
    leads = {text.split(" @ ")[0] for text in texts.values()}
    assert len(leads) == len(texts)


def test_the_final_pool_repeats_no_set_and_few_species_of_the_other_pools() -> None:
    final = species_of("final")
    for other in ("two", "held-out"):
        assert not set(sets_of("final")) & set(sets_of(other))
        assert len(final & species_of(other)) <= len(final) / 6


@pytest.mark.parametrize(
    "line",
    ["team_pool_path: final", "team_pool_path: 'final'", "- game_settings.team_pool_path=final",
     "belief_pool: final", "team_pool_path: src/lanista/games/showdown/final_teams"],
)  # fmt: skip
def test_a_recipe_that_named_the_final_pool_would_be_noticed(line: str) -> None:
    assert NAMES_THE_FINAL_POOL.search(f"game: showdown\n  {line}\nseed: 0\n")
    assert not NAMES_THE_FINAL_POOL.search("team_pool_path: teams # the final stage\n")


def test_no_recipe_names_the_final_pool() -> None:
    recipes = [*RECIPES.rglob("*.yaml")]
    assert RECIPES / "showdown-vgc.yaml" in recipes
    naming = [path.name for path in recipes if NAMES_THE_FINAL_POOL.search(path.read_text())]
    assert naming == []


def test_a_pool_is_a_folder_or_the_name_of_one_that_comes_along(tmp_path: Path) -> None:
    assert pool_folder("") == pool_folder("two") == EXAMPLES
    assert pool_folder(str(tmp_path)) == tmp_path
    with pytest.raises(GameError, match=r"no team pool 'heldout'; .* two, held-out, final"):
        pool_folder("heldout")


@needs_simulator
def test_files_that_are_no_legal_team_are_named_and_left_out(
    battles: Battles, tmp_path: Path
) -> None:
    good = (EXAMPLES / "goodstuff.txt").read_text()
    (tmp_path / "good.txt").write_text(good)
    (tmp_path / "spore.txt").write_text(good.replace("- Flare Blitz", "- Spore"))
    (tmp_path / "prose.txt").write_text("")
    (tmp_path / "notes.md").write_text("not a team")
    found = load_pool(tmp_path, "gen9vgc2025regi", battles)
    assert [team.name for team in found.teams] == ["good"]
    assert set(found.left_out) == {"spore.txt", "prose.txt"}
    assert "Spore" in found.left_out["spore.txt"]


@needs_simulator
def test_a_pool_without_a_legal_team_is_refused(battles: Battles, tmp_path: Path) -> None:
    with pytest.raises(GameError, match="no team"):
        load_pool(tmp_path, "gen9vgc2025regi", battles)
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(GameError, match=r"No team in .* is legal .*empty.txt"):
        load_pool(tmp_path, "gen9vgc2025regi", battles)
    with pytest.raises(GameError, match="Nobody brings a team"):
        load_pool(EXAMPLES, "gen9randombattle", battles)
