"""`lanista showdown evaluate`: what is fixed beforehand, how it counts, and a real server."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("poke_env")
sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))

from showdown_play import needs_simulator

from lanista.cli.main import main
from lanista.cli.showdown.score import pokemon_scores, score_of
from lanista.errors import LanistaError
from lanista.evaluation.score import wilson
from lanista.games.showdown.teams.pool import Team
from lanista.live.showdown import gauntlet
from lanista.live.showdown.connection import ServerError
from lanista.live.showdown.gauntlet import Bout, Played, Setting, fielded, fixed_bouts
from lanista.live.showdown.table import Result

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "my_showdown_bot.py")


def played(unit: int, outcome: float | None, *, stalled: bool = False) -> Played:
    bout = Bout(0, unit, "random", None, challenges=True)
    return Played(bout, Result("battle-1", "foe", 0, outcome, 5, ""), stalled)


def test_teams_are_mirrored_in_turn_and_sides_swapped_in_every_pair() -> None:
    teams = [Team("a", "A"), Team("b", "B")]
    bouts = fixed_bouts(["random", "max_base_power"], teams, 6)
    assert [bout.number for bout in bouts] == list(range(24))
    units: dict[int, list[Bout]] = {}
    for bout in bouts:
        units.setdefault(bout.unit, []).append(bout)
    for first, second in units.values():
        assert (first.opponent, first.team) == (second.opponent, second.team)
        assert {first.challenges, second.challenges} == {True, False}
    brought = Counter((bout.opponent, bout.team.name) for bout in bouts if bout.team)
    assert set(brought.values()) == {6}


def test_different_teams_are_exchanged_in_every_pair_and_all_pairs_of_teams_are_met() -> None:
    teams = [Team(name, name.upper()) for name in "abcd"]
    bouts = fixed_bouts(["random"], teams, 12, different=True)
    for first, second in zip(bouts[::2], bouts[1::2], strict=True):
        assert first.unit == second.unit
        assert (first.team, first.their_team) == (second.their_team, second.team)
        assert first.team != first.their_team
        assert (first.challenges, second.challenges) == (True, False)
    met = Counter((bout.team, bout.their_team) for bout in bouts)
    assert len(met) == 4 * 3
    assert set(met.values()) == {2}
    with pytest.raises(LanistaError, match="pool of two or more"):
        fixed_bouts(["random"], teams[:1], 1, different=True)


def test_a_pokemon_counts_where_it_took_the_field_and_where_it_stayed_out() -> None:
    log = [
        "|switch|p1a: Nick|Ogerpon-Wellspring-Tera, L50, F|100/100",
        "|drag|p1b: Rilla|Rillaboom, L50, M|100/100",
        "|switch|p2a: Foe|Incineroar, L50|100/100",
        "|switch|p1a: Nick|Ogerpon-Wellspring-Tera, L50, F|100/100",
    ]
    seen = fielded(log, 0)
    assert seen == ("Ogerpon-Wellspring-Tera", "Rillaboom")
    packed = "]".join(
        f"{name}|||||||||||" for name in ("Ogerpon-Wellspring", "Rillaboom", "Amoonguss")
    )
    bout = Bout(0, 0, "random", Team("a", packed), challenges=True)
    won = Played(bout, Result("battle-1", "foe", 0, 1.0, 5, ""), fielded=seen)
    lost = Played(bout, Result("battle-2", "foe", 0, -1.0, 5, ""), fielded=("Amoonguss",))
    cut = Played(bout, Result("battle-3", "foe", 0, None, 5, ""), fielded=seen)
    scores = pokemon_scores([won, lost, cut])
    assert list(scores) == ["Amoonguss", "Ogerpon-Wellspring", "Rillaboom"]  # The lowest first.
    assert (scores["Rillaboom"].battles, scores["Rillaboom"].fielded) == (2, 1)
    assert scores["Rillaboom"].win_rate == wilson(1, 1)
    assert scores["Rillaboom"].win_rate_without == wilson(0, 1)


def test_a_score_counts_pairs_and_leaves_out_what_has_no_result() -> None:
    battles = [
        *(played(0, 1.0), played(0, -1.0)),  # A pair worth ½.
        *(played(1, 1.0), played(1, 1.0)),  # A pair worth 1.
        *(played(2, 0.0), played(2, None)),  # Its partner was cut off: no pair.
        *(played(3, 1.0), played(3, -1.0, stalled=True)),  # The opponent hung: no pair either.
    ]
    score = score_of(battles)
    assert (score.n, score.wins, score.ties, score.losses, score.cut_off) == (6, 4, 1, 1, 2)
    assert score.score is not None
    assert (score.score.value, score.score.n) == (0.75, 2)
    assert score.win_rate == wilson(4, 6)
    assert score_of([]).score is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--opponents", "simple_heuristic"], "did you mean 'simple_heuristics'?"),
        (["--battles", "0"], "--battles is 0; give a number from 1 to"),
        (["--team", "x", "--team-pool", "y"], "both say what is brought"),
        (["--greedy"], "--greedy is for policies, and heuristic is a bot"),
        (["--team-pool", "no such folder"], "There is no team pool 'no such folder'"),
        (["--belief-pool", "no such folder"], "name a pool with --belief-pool"),
    ],
)
@needs_simulator
def test_what_cannot_be_is_told_before_a_server_starts(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(["showdown", "evaluate", "heuristic", *words]) == 2
    told = capsys.readouterr()
    assert (told.out, sentence in told.err) == ("", True), told.err


@needs_simulator
def test_a_bot_of_ones_own_meets_poke_env_on_a_real_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "numbers.json"
    words = ["--opponents", "random,max_base_power", "--battles", "3", "--concurrency", "3"]
    words += ["--different-teams", "--by-pokemon"]
    assert main(["showdown", "evaluate", EXAMPLE, *words, "--output", str(out)]) == 0
    told = capsys.readouterr().out
    assert "3 battles are no pairs; 4 are played against each." in told
    assert "as p1" in told
    assert "the sides bring different teams" in told
    assert "Incineroar" in told
    found = json.loads(out.read_text())
    assert found["complete"] is True
    assert set(found["opponents"]) == {"random", "max_base_power"}
    assert set(found["teams"]) == set(found["opponents"]["random"]["teams"])
    assert found["versions"]["pokemon-showdown"]
    rows = found["rows"]
    assert [row["number"] for row in rows] == list(range(8))
    for row in rows:
        assert row["seat"] == row["number"] % 2  # Whoever challenges is p1.
        assert row["outcome"] in (1.0, 0.0, -1.0)
        assert (row["given_up"], row["invalid"], row["defaults"]) == ("", 0, 0)
        assert {row["team"], row["their_team"]} == set(found["teams"])
        assert 2 <= len(row["fielded"]) <= 4
    for name, score in found["opponents"].items():
        mine = [row["outcome"] for row in rows if row["opponent"] == name]
        assert (score["n"], score["wins"]) == (4, mine.count(1.0))


@needs_simulator
def test_battles_that_were_played_are_kept_when_the_server_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of_them = gauntlet.play_bouts

    async def two_and_no_more(setting: Setting, bouts: list[Bout], lanes: int) -> None:
        await all_of_them(setting, bouts[:2], lanes)
        raise ServerError("The server is gone.")

    monkeypatch.setattr(gauntlet, "play_bouts", two_and_no_more)
    out = tmp_path / "numbers.json"
    words = ["--opponents", "random", "--battles", "4", "--output", str(out)]
    assert main(["showdown", "evaluate", "heuristic", *words]) == 1
    told = capsys.readouterr()
    assert "The server is gone." in told.err
    assert "as p1" in told.out
    assert ("goodstuff" in told.out, "trick-room" in told.out) == (True, False)
    found = json.loads(out.read_text())
    assert found["complete"] is False
    assert [row["number"] for row in found["rows"]] == [0, 1]
