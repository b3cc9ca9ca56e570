"""League settings: defaults of each role, what is refused, and that files can hold them."""

import math
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from lanista.errors import LanistaError
from lanista.league import settings
from lanista.league.matchmaking import Candidate
from lanista.league.payoff import Payoff
from lanista.league.settings import (
    KINDS,
    League,
    LeagueExploiter,
    MainExploiter,
    Matchmaking,
    Role,
)
from lanista.pipeline.plain import build, plain, sentences


def test_every_role_has_its_own_defaults():
    league = League()
    assert league.main.matchmaking.kind == "alphastar"
    assert (league.main.snapshot_score, league.main.reset_probability) == (0, 0)
    assert league.main_exploiter.matchmaking.kind == "main_exploiter"
    assert (league.main_exploiter.snapshot_score, league.main_exploiter.reset_probability) == (
        0.7,
        1.0,
    )
    assert league.league_exploiter.matchmaking.kind == "league_exploiter"
    assert (league.league_exploiter.snapshot_score, league.league_exploiter.reset_probability) == (
        0.7,
        0.25,
    )
    mixture = league.main.matchmaking
    assert (mixture.self_share, mixture.lost_share) == (0.35, 0.15)


def test_a_file_that_changes_one_setting_of_a_role_keeps_the_others():
    given = {"main_exploiter": {"matchmaking": {"p": 3}, "reset_to": "main"}}
    found = build(League, given).main_exploiter
    assert found.matchmaking == Matchmaking(kind="main_exploiter", p=3.0)
    assert (found.reset_to, found.reset_probability, found.snapshot_score) == ("main", 1.0, 0.7)


def test_settings_come_back_from_plain_values():
    league = League(mains=2, main=Role(matchmaking=Matchmaking("adaptive", floor=0.1)))
    assert build(League, plain(league)) == league


@pytest.mark.parametrize("cls", [Matchmaking, Role, MainExploiter, LeagueExploiter, League])
def test_every_setting_has_its_sentence(cls):
    assert [entry.name for entry in fields(cls) if not sentences(cls).get(entry.name)] == []


def test_learners_are_named_by_role_and_number():
    assert League().learners == {"main": "main"}
    assert League(mains=2, main_exploiters=1, league_exploiters=2).learners == {
        "main_1": "main",
        "main_2": "main",
        "main_exploiter_1": "main_exploiter",
        "league_exploiter_1": "league_exploiter",
        "league_exploiter_2": "league_exploiter",
    }


def test_rules_of_an_unknown_role_are_refused_and_the_nearest_is_named():
    assert League().rules("main_exploiter") == MainExploiter()
    with pytest.raises(LanistaError, match="did you mean 'main_exploiter'"):
        League().rules("main_exploter")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_matchmaking_can_be_asked_for(kind):
    assert Matchmaking(kind).kind == kind


def test_an_unknown_kind_is_refused_and_an_installed_one_is_not(monkeypatch):
    with pytest.raises(LanistaError, match="did you mean 'pfsp_hard'"):
        Matchmaking("pfsp_hrad")
    monkeypatch.setattr(settings, "added_matchmakers", lambda: {"nemesis": None})
    assert Matchmaking("nemesis").kind == "nemesis"


@pytest.mark.parametrize(
    ("cls", "given", "named"),
    [
        (Matchmaking, {"p": 0}, "matchmaking.p is 0"),
        (Matchmaking, {"p": math.inf}, "matchmaking.p is inf"),
        (Matchmaking, {"floor": 1.5}, "matchmaking.floor is 1.5"),
        (Matchmaking, {"floor": math.nan}, "matchmaking.floor is nan"),
        (Matchmaking, {"smoothing": -1}, "matchmaking.smoothing is -1"),
        (Matchmaking, {"minimum_games": -1}, "matchmaking.minimum_games is -1"),
        (Matchmaking, {"keep_old": -0.1}, "matchmaking.keep_old is -0.1"),
        (Matchmaking, {"half_life": -5}, "matchmaking.half_life is -5"),
        (Matchmaking, {"half_life": 5}, "minimum_games is 10.0 and half_life 5"),
        (Matchmaking, {"self_share": 0.9}, "self_share is 0.9 and lost_share 0.15"),
        (Matchmaking, {"inside": "fixed"}, "matchmaking.inside is 'fixed'"),
        (Role, {"snapshot_score": 1.2}, "snapshot_score is 1.2"),
        (Role, {"snapshot_decisions": -1}, "snapshot_decisions is -1"),
        (Role, {"reset_probability": 2}, "reset_probability is 2"),
        (Role, {"reset_to": "victim"}, "reset_to is 'victim'"),
        (League, {"round": 0}, "league.round is 0"),
        (League, {"mains": 0}, "league.mains is 0"),
        (League, {"main_exploiters": -1}, "league.main_exploiters is -1"),
        (League, {"exploiter_win_threshold": 1.0}, "league.exploiter_win_threshold is 1.0"),
        (League, {"exploiter_weight": 0}, "league.exploiter_weight is 0"),
        (League, {"exploiter_from": "main"}, "league.exploiter_from is 'main'"),
        (League, {"exploiter_games": 0}, "league.exploiter_games is 0"),
        (League, {"past_members": -1}, "league.past_members is -1"),
        (League, {"stall_evaluations": -1}, "league.stall_evaluations is -1"),
    ],
)
def test_nonsense_is_refused_with_a_sentence_that_names_it(cls, given, named):
    with pytest.raises(LanistaError) as caught:
        cls(**given)
    sentence = str(caught.value)
    assert named in sentence
    assert sentence.endswith(".")


PAGE = (Path(__file__).parents[2] / "docs" / "league.md").read_text(encoding="utf-8")


def blocks(kind):
    """Return the fenced blocks of the page that are of this kind."""
    fenced = PAGE.split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


def test_every_example_of_league_settings_on_the_page_can_be_read():
    found = [yaml.safe_load(text) for text in blocks("yaml")]
    leagues = [build(League, values["league"]) for values in found if "league" in values]
    assert leagues[0].main_exploiter.reset_to == "main"


def test_the_page_names_every_kind_and_every_setting_of_matchmaking_and_roles():
    names = [*KINDS, *(entry.name for cls in (Matchmaking, Role) for entry in fields(cls))]
    assert [name for name in names if f"`{name}`" not in PAGE and f"{name}:" not in PAGE] == []


def test_the_page_states_the_defaults_of_the_roles():
    for name in ("snapshot_decisions", "snapshot_score", "snapshot_minimum", "reset_probability"):
        (line,) = re.findall(rf"^\| `{name}` \|(.+)\|$", PAGE, re.MULTILINE)
        stated = [float(cell.replace(",", "").split()[0]) for cell in line.split("|")]
        roles = (Role(), MainExploiter(), LeagueExploiter())
        assert stated == [getattr(role, name) for role in roles]


def test_the_matchmaker_on_the_page_can_be_asked():
    (code,) = (text for text in blocks("python") if "def newest_first" in text)
    names = {}
    exec(code, names)
    past = [Candidate("main/000010", "past"), Candidate("main/000020", "past")]
    found = names["newest_first"](Matchmaking(), "main", past, Payoff(), {})
    assert [(one.opponent, one.weight) for one in found] == [("main/000010", 1), ("main/000020", 2)]
