"""League settings: defaults of each role, what is refused, and that files can hold them."""

import math
import re
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
import yaml

from lanista.errors import LanistaError
from lanista.league.matchmaking import Candidate
from lanista.league.payoff import Payoff
from lanista.runs.league_settings import (
    League,
    LeagueExploiter,
    MainExploiter,
    Matchmaking,
    Role,
)
from lanista.runs.matchmakers import MATCHMAKERS
from lanista.runs.serialise import build, plain, sentences


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
    assert (mixture.self_share, mixture.lost_share) == (0.65, 0.15)


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


@pytest.mark.parametrize("kind", MATCHMAKERS.own)
def test_every_kind_of_matchmaking_can_be_asked_for(kind):
    assert Matchmaking(kind).kind == kind


def test_an_unknown_kind_is_refused_and_an_installed_one_is_not(monkeypatch):
    with pytest.raises(LanistaError, match="did you mean 'pfsp_hard'"):
        Matchmaking("pfsp_hrad")
    monkeypatch.setattr(MATCHMAKERS, "added", lambda: {"nemesis": None})
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
        (Matchmaking, {"matrix_unit": "wins"}, "matrix_unit is 'wins'; give score or gain"),
        (Matchmaking, {"matrix_games": -1}, "matchmaking.matrix_games is -1"),
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


PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "league.md").read_text(encoding="utf-8")


def blocks(kind):
    """Return the fenced blocks of the page that are of this kind."""
    fenced = PAGE.split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


def test_every_example_of_league_settings_on_the_page_can_be_read():
    found = [yaml.safe_load(text) for text in blocks("yaml")]
    leagues = [build(League, values["league"]) for values in found if "league" in values]
    assert leagues[0].main_exploiter.reset_to == "main"


def test_the_page_names_every_kind_and_every_setting_of_matchmaking_and_roles():
    names = [
        *MATCHMAKERS.own,
        *(entry.name for cls in (Matchmaking, Role) for entry in fields(cls)),
    ]
    assert [name for name in names if f"`{name}`" not in PAGE and f"{name}:" not in PAGE] == []


def test_the_page_states_the_defaults_of_the_roles():
    roles = (Role(), MainExploiter(), LeagueExploiter())
    for name in ("snapshot_score", "snapshot_minimum", "reset_probability"):
        assert stated_on_the_page(name) == [getattr(role, name) for role in roles]
    assert stated_on_the_page("snapshot_decisions") == [role.usual_decisions for role in roles]
    assert {role.snapshot_decisions for role in roles} == {None}


def stated_on_the_page(name):
    (line,) = re.findall(rf"^\| `{name}` \|(.+)\|$", PAGE, re.MULTILINE)
    return [float(cell.replace(",", "").split()[0]) for cell in line.split("|")]


def test_the_matchmaker_on_the_page_can_be_asked():
    (code,) = (text for text in blocks("python") if "def newest_first" in text)
    names = {}
    exec(code, names)
    past = [Candidate("main/000010", "past"), Candidate("main/000020", "past")]
    found = names["newest_first"](Matchmaking(), "main", past, Payoff(), {})
    assert [(one.opponent, one.weight) for one in found] == [("main/000010", 1), ("main/000020", 2)]


MATCHMAKING = {
    "p": 2.0, "floor": 0.05, "smoothing": 2.0, "minimum_games": 10.0, "keep_old": 0.5,
    "inside": "pfsp_hard", "self_share": None, "lost_share": 0.15, "lost_below": 0.5,
    "too_strong": 0.2, "matrix_games": None, "matrix_unit": None, "half_life": 2000.0,
}  # fmt: skip


def role_of(kind, decisions, score, minimum, probability):
    self_share = 0.65 if kind == "alphastar" else 0.35
    return {
        "matchmaking": {"kind": kind, **MATCHMAKING, "self_share": self_share},
        "snapshot_decisions": decisions,
        "snapshot_score": score,
        "snapshot_minimum": minimum,
        "reset_to": "imitation",
        "reset_probability": probability,
        "every": None,
    }


def test_the_defaults_of_a_league_are_those_that_are_documented():
    assert asdict(League()) == {
        "round": 10,
        "mains": 1,
        "main_exploiters": 0,
        "league_exploiters": 0,
        "main": role_of("alphastar", None, 0.0, 0, 0.0),
        "main_exploiter": role_of("main_exploiter", None, 0.7, 200_000, 1.0),
        "league_exploiter": role_of("league_exploiter", None, 0.7, 200_000, 0.25),
        "past_members": 0,
        "exploiter_check_interval": 0,
        "exploiter_train_steps": 500_000,
        "exploiter_win_threshold": 0.55,
        "exploiter_unit": "score",
        "exploiter_from": "victim",
        "exploiter_beside": None,
        "exploiter_games": 1000,
        "exploiter_weight": 1.0,
        "stall_evaluations": 0,
    }


LIMITS = [
    (Matchmaking, "p", [0, 100.1], [1e-9, 100]),
    *((Matchmaking, name, [-0.1, math.inf], [0, 10]) for name in ("smoothing", "minimum_games")),
    (Matchmaking, "half_life", [-1, math.inf], [0, 10]),
    *((Matchmaking, name, [-0.01, 1.01], [0, 0.5])
      for name in ("floor", "keep_old", "self_share", "lost_share", "lost_below", "too_strong")),
    *((Role, name, [-1, math.inf], [0, 1]) for name in ("snapshot_decisions", "snapshot_minimum")),
    *((Role, name, [-0.01, 1.01], [0, 1]) for name in ("snapshot_score", "reset_probability")),
    *((League, name, [0], [1])
      for name in ("round", "mains", "exploiter_train_steps", "exploiter_games")),
    *((League, name, [-1, math.inf], [0])
      for name in ("main_exploiters", "league_exploiters", "past_members",
                   "exploiter_check_interval", "stall_evaluations")),
    (League, "exploiter_win_threshold", [-0.01, 1], [0, 0.99]),
    (League, "exploiter_weight", [0, math.inf], [1e-9, 100]),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "name", "refused", "taken"), LIMITS)
def test_numbers_out_of_range_are_refused_and_those_at_its_ends_taken(cls, name, refused, taken):
    for value in refused:
        with pytest.raises(LanistaError, match=rf"{name} is {re.escape(str(value))}; give "):
            cls(**{name: value})
    for value in taken:
        assert getattr(cls(**{name: value}), name) == value


def test_shares_that_make_up_all_are_taken_and_more_refused():
    assert Matchmaking(self_share=0.75, lost_share=0.25).lost_share == 0.25
    with pytest.raises(LanistaError, match="more than 1 together"):
        Matchmaking(self_share=0.75, lost_share=0.26)
    given = Matchmaking("alphastar")
    with pytest.raises(LanistaError, match=r"self_share is 0.65 and lost_share 0.5, .* to null"):
        replace(given, lost_share=0.5)
    assert replace(given, lost_share=0.5, self_share=None).self_share == 0.5


@pytest.mark.parametrize(
    ("kind", "lost", "self_play"),
    [("alphastar", 0.15, 0.65), ("psro", 0.15, 0.65), ("alphastar", 0.35, 0.65),
     ("alphastar", 0.5, 0.5), ("adaptive", 0.15, 0.35), ("league_exploiter", 0.15, 0.35)],
)  # fmt: skip
def test_without_a_number_two_thirds_are_self_play_and_what_reads_no_share_stays(
    kind, lost, self_play
):
    assert Role(Matchmaking(kind, lost_share=lost)).matchmaking.self_share == self_play
    assert Matchmaking(kind, lost_share=lost).self_share == self_play


def test_an_installed_matchmaker_is_told_two_thirds(monkeypatch):
    monkeypatch.setattr(MATCHMAKERS, "added", lambda: {"nemesis": None})
    assert Matchmaking("nemesis").self_share == 0.65


def test_a_share_that_an_earlier_run_wrote_down_is_the_one_it_goes_on_with():
    role = {"matchmaking": {"kind": "alphastar", "self_share": 0.35, "lost_share": 0.15}}
    assert build(League, {"main": role}).main.matchmaking.self_share == 0.35


def test_a_half_life_in_which_nobody_becomes_known_is_refused():
    assert Matchmaking(minimum_games=50, half_life=50).half_life == 50
    assert Matchmaking(minimum_games=50, half_life=0).half_life == 0
    with pytest.raises(LanistaError, match="nobody might ever be known"):
        Matchmaking(minimum_games=50, half_life=49.9)
