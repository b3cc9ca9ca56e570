"""Roles: who may be met, when a snapshot is due, where a learner begins anew, when play stalls."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.league.matchmaking import Candidate
from lanista.league.payoff import Outcome, Payoff, fold
from lanista.league.roles import (
    candidates,
    lowest_bound,
    meant_to_beat,
    reset_target,
    snapshot_due,
    stalled,
    thinned,
)
from lanista.runs.league_settings import LeagueExploiter, MainExploiter, Role
from lanista.runs.schema import PlayerRow

unhurried = settings(deadline=None)


def learner(name, role):
    return PlayerRow(0, name, f"learner:{name}", "learner", "self", role)


def snapshot(name, role="main"):
    return PlayerRow(int(name.rpartition("/")[2]), name, "d" + name, "policy", "past", role)


ROSTER = [
    learner("main_1", "main"),
    learner("main_2", "main"),
    learner("main_exploiter_1", "main_exploiter"),
    learner("league_exploiter_1", "league_exploiter"),
    PlayerRow(0, "imitation", "abc", "policy", "imitation"),
    PlayerRow(0, "random", "def", "bot", "bot", weight=0.5),
    snapshot("main_1/000010"),
    snapshot("main_exploiter_1/000020", "main_exploiter"),
    PlayerRow(30, "hole", "eee", "policy", "exploiter", "exploiter", weight=2.0),
    PlayerRow(5, "retired", "fff", "policy", "past", "main", weight=0.0),
]
FROZEN = ["imitation", "random", "main_1/000010", "main_exploiter_1/000020", "hole"]


def names(found):
    return [one.name for one in found]


def test_a_main_may_meet_every_main_and_everybody_frozen():
    found = candidates("main", "main_2", ROSTER, 0)
    assert names(found) == ["main_1", "main_2", *FROZEN]
    assert found[1] == Candidate("main_2", "self")
    assert Candidate("random", "bot", 0.5) in found
    assert Candidate("hole", "exploiter", 2.0) in found


def test_a_main_exploiter_may_meet_mains_and_past_mains():
    found = candidates("main_exploiter", "main_exploiter_1", ROSTER, 0)
    assert names(found) == ["main_1", "main_2", "main_1/000010"]
    assert meant_to_beat("main_exploiter", found) == ["main_1", "main_2"]


def test_a_league_exploiter_may_meet_everybody_frozen_and_the_mains():
    found = candidates("league_exploiter", "league_exploiter_1", ROSTER, 0)
    assert names(found) == ["main_1", "main_2", *FROZEN]
    assert meant_to_beat("league_exploiter", found) == FROZEN


def test_learners_and_roles_that_nobody_knows_are_refused():
    with pytest.raises(LanistaError, match="did you mean 'main_2'"):
        candidates("main", "main_3", ROSTER[1:], 0)
    with pytest.raises(LanistaError, match="no learner 'hole'"):
        candidates("main", "hole", ROSTER, 0)
    with pytest.raises(LanistaError, match="no role 'mian'"):
        candidates("mian", "main_1", ROSTER, 0)


@unhurried
@given(st.integers(0, 60), st.integers(0, 20))
def test_of_many_snapshots_the_newest_and_evenly_spread_older_ones_are_met(count, members):
    past = [snapshot(f"main/{i:06d}") for i in range(count)]
    kept = [row.update for row in thinned(past[::-1], members)]
    assert kept == sorted(set(kept))
    assert len(kept) == (min(count, members) if members else count)
    if members and count > members:
        newest = math.ceil(members / 2)
        assert kept[-newest:] == list(range(count - newest, count))
        older = kept[:-newest]
        if older:
            assert older[0] == 0
            gaps = [b - a for a, b in zip(older, [*older[1:], count - newest], strict=True)]
            assert max(gaps) - min(gaps) <= 1


def test_of_several_mains_the_newest_are_kept_whoever_left_them():
    past = [
        PlayerRow(update, name, "d", "policy", "past", "main")
        for name, update in (("b/1", 2), ("a/3", 6), ("b/2", 4), ("a/1", 1), ("a/2", 3), ("b/3", 5))
    ]
    assert [row.name for row in thinned(past, 0)] == ["a/1", "b/1", "a/2", "b/2", "b/3", "a/3"]
    assert [row.name for row in thinned(past, 4)] == ["a/1", "a/2", "b/3", "a/3"]


def test_only_snapshots_are_thinned_and_the_roster_keeps_its_order():
    roster = [learner("main", "main"), *[snapshot(f"main/{i:06d}") for i in range(9)], ROSTER[5]]
    found = candidates("main", "main", roster, 4)
    expected = ["main/000000", "main/000003", "main/000007", "main/000008"]
    assert names(found) == ["main", *expected, "random"]


def test_a_snapshot_is_due_by_decisions_or_by_score():
    role = MainExploiter(snapshot_decisions=100, snapshot_minimum=20, snapshot_score=0.7)
    assert snapshot_due(role, 99, None) == ""
    assert snapshot_due(role, 100, None) == "decisions"
    assert snapshot_due(role, 20, 0.7) == "score"
    assert snapshot_due(role, 20, 0.69) == ""
    assert snapshot_due(role, 19, 0.99) == ""
    assert snapshot_due(role, 100, 0.99) == "score"


def test_a_main_leaves_snapshots_by_decisions_alone():
    role = Role(snapshot_decisions=100)
    assert snapshot_due(role, 99, 1.0) == ""
    assert snapshot_due(role, 100, 0.0) == "decisions"
    assert snapshot_due(Role(snapshot_decisions=0), 10**9, 1.0) == ""


def test_without_a_number_a_share_of_the_run_is_enough():
    for role, decisions, share in [(Role(), 500_000, 0.1), (MainExploiter(), 1_000_000, 0.2)]:
        assert snapshot_due(role, decisions - 1, None, share - 0.01) == ""
        assert snapshot_due(role, decisions, None, 0.0) == "decisions"
        assert snapshot_due(role, 1, None, share) == "share"
    assert snapshot_due(Role(snapshot_decisions=100), 99, None, 0.9) == ""
    assert snapshot_due(Role(snapshot_decisions=0), 10**9, None, 0.9) == ""


def test_the_score_of_a_snapshot_is_the_lowest_bound_over_all_it_should_beat():
    payoff = fold(
        [Outcome(("x", "a"), ((90, 0, 10),)), Outcome(("b", "x"), ((200, 0, 800),))], math.inf
    )
    low = payoff.interval("x", "b").low
    assert payoff.interval("x", "a").low > low
    assert lowest_bound("x", ["a", "b"], payoff) == low
    assert low < 0.8
    assert lowest_bound("x", ["a", "b", "never met"], payoff) is None
    assert lowest_bound("x", [], Payoff()) is None


def test_a_main_is_never_reset_and_a_main_exploiter_always():
    for update in range(200):
        assert reset_target(Role(), 1, update, "main", [], True) is None
        found = reset_target(MainExploiter(), 1, update, "main_exploiter_1", [], True)
        assert found == "imitation"


def test_a_league_exploiter_is_reset_every_fourth_time():
    found = [
        reset_target(LeagueExploiter(), seed, update, "league_exploiter_1", [], True)
        for seed in range(40)
        for update in range(0, 1000, 10)
    ]
    share = found.count("imitation") / len(found)
    # 4,000 draws: five standard deviations are 0.034.
    assert share == pytest.approx(0.25, abs=0.035)


@unhurried
@given(st.integers(0, 2**62), st.integers(0, 10**7))
def test_a_draw_depends_on_seed_update_and_learner_alone(seed, update):
    role = LeagueExploiter(reset_probability=0.5)
    drawn = [reset_target(role, seed, update, "a", ["x", "y"], True) for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_learners_updates_and_seeds_draw_apart():
    role = LeagueExploiter(reset_probability=0.5)

    def draws(seed, name, step):
        return [reset_target(role, seed, step * i, name, [], True) for i in range(64)]

    kinds = [draws(0, "a", 1), draws(0, "b", 1), draws(1, "a", 1), draws(0, "a", 2)]
    assert all(one != other for i, one in enumerate(kinds) for other in kinds[:i])


def test_a_reset_to_a_past_main_draws_one_of_them():
    role = MainExploiter(reset_to="main")
    past = ["main/000010", "main/000020", "main/000030"]
    found = Counter(reset_target(role, 7, update, "x", past, True) for update in range(600))
    assert set(found) == set(past)
    # 200 each are expected; five standard deviations are 58.
    assert min(found.values()) > 140


@pytest.mark.parametrize(
    ("reset_to", "past", "has_imitation", "expected"),
    [
        ("imitation", ["main/000010"], True, "imitation"),
        ("imitation", ["main/000010"], False, "scratch"),
        ("scratch", ["main/000010"], True, "scratch"),
        ("main", ["main/000010"], False, "main/000010"),
        ("main", [], True, "imitation"),
        ("main", [], False, "scratch"),
    ],
)
def test_a_reset_goes_where_the_role_says_or_to_what_the_run_began_from(
    reset_to, past, has_imitation, expected
):
    role = MainExploiter(reset_to=reset_to)
    assert reset_target(role, 0, 5, "x", past, has_imitation) == expected


@pytest.mark.parametrize(
    ("scores", "evaluations", "expected"),
    [
        ([], 3, False),
        ([0.5, 0.4, 0.3], 3, False),
        ([0.5, 0.4, 0.3, 0.5], 3, True),
        ([0.5, 0.4, 0.3, 0.51], 3, False),
        ([0.1, 0.9, 0.8, 0.7], 2, True),
        ([0.1, 0.2], 1, False),
        ([0.2, 0.1], 1, True),
        ([0.2, 0.1, 0.1], 0, False),
    ],
)
def test_play_has_stalled_when_no_recent_evaluation_beats_the_best_before(
    scores, evaluations, expected
):
    assert stalled(scores, evaluations) is expected
