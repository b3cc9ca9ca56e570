"""Matchmakers against their formulas; floors, the empty, the unknown and the all-beaten case."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchmade import (
    FROZEN,
    LEAGUE,
    bots,
    by_category,
    leagues,
    payoff_of,
    plain,
    previous_weights,
    unhurried,
    weights,
)

from lanista.errors import LanistaError
from lanista.extensions import Entry
from lanista.league import matchmaking, meta_game
from lanista.league.matchmaking import (
    Candidate,
    Meeting,
    effective_floor,
    floored,
    meetings,
    shares_of,
)
from lanista.league.payoff import Outcome, Payoff, fold
from lanista.runs import league_settings as league_settings
from lanista.runs.league_settings import Matchmaking
from lanista.runs.matchmakers import MATCHMAKERS


def test_every_kind_named_in_the_settings_has_a_matchmaker():
    for name, entry in MATCHMAKERS.own.items():
        home = meta_game if name == "psro" else matchmaking
        assert entry.load() is getattr(home, name)
        assert entry.about


@unhurried
@given(
    leagues(60),
    st.sampled_from(sorted(set(MATCHMAKERS.own) - {"main_exploiter"})),
    previous_weights,
    st.sampled_from([0.0, 2.0]),
)
def test_weights_are_shares_of_candidates_whatever_the_scores(league, kind, previous, smoothing):
    found, payoff = league
    chosen = Matchmaking(kind, smoothing=smoothing)
    result = meetings(chosen, "main", found, payoff, previous)
    assert math.fsum(meeting.weight for meeting in result) == pytest.approx(1, abs=1e-12)
    assert all(0 < meeting.weight <= 1 + 1e-12 for meeting in result)
    assert {meeting.opponent for meeting in result} <= {one.name for one in found}
    keys = [(meeting.opponent, meeting.reason) for meeting in result]
    assert len(set(keys)) == len(keys)


@unhurried
@given(
    leagues(30),
    st.sampled_from(["pfsp_hard", "adaptive", "adaptive_by_category", "curriculum", "alphastar"]),
)
def test_the_order_of_candidates_does_not_matter(league, kind):
    found, payoff = league
    chosen = Matchmaking(kind)
    one = weights(meetings(chosen, "main", found, payoff, {}))
    other = weights(meetings(chosen, "main", found[::-1], payoff, {}))
    assert one == pytest.approx(other)


FORMULAS = {
    "pfsp_hard": lambda x, p: (1 - x) ** p,
    "pfsp_var": lambda x, p: x * (1 - x),
    "pfsp_linear": lambda x, p: 1 - x,
}


@unhurried
@given(
    st.sampled_from(sorted(FORMULAS)),
    st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=1, max_size=12),
    st.sampled_from([0.5, 1.0, 2.0, 6.0]),
    st.sampled_from([0.0, 1.0, 10.0]),
    st.integers(0, 40),
)
def test_pfsp_is_its_formula_on_smoothed_scores(kind, results, p, smoothing, minimum):
    names = [f"bot {i}" for i in range(len(results))]
    payoff = payoff_of(dict(zip(names, results, strict=True)))
    raw = []
    for wins, draws, losses in results:
        n = wins + draws + losses
        known = n >= minimum and n > 0
        x = (wins + draws / 2 + smoothing / 2) / (n + smoothing) if known else 0.5
        raw.append(FORMULAS[kind](x, p))
    total = sum(raw)
    expected = [value / total if total else 1 / len(raw) for value in raw]
    chosen = Matchmaking(kind, p=p, smoothing=smoothing, minimum_games=minimum)
    found = weights(meetings(chosen, "main", bots(*names), payoff, {}))
    assert [found.get(name, 0.0) for name in names] == pytest.approx(expected, abs=1e-9)


def test_pfsp_hard_by_hand():
    payoff = payoff_of({"a": (9, 0, 1), "b": (5, 0, 5), "c": (10, 0, 0)})
    found = weights(meetings(plain("pfsp_hard"), "main", bots("a", "b", "c"), payoff, {}))
    assert found == pytest.approx({"a": 0.01 / 0.26, "b": 0.25 / 0.26})
    harder = weights(meetings(plain("pfsp_hard", p=4), "main", bots("a", "b", "c"), payoff, {}))
    assert harder["b"] > found["b"]


@pytest.mark.parametrize("kind", ["pfsp_hard", "pfsp_var", "pfsp_linear", "league_exploiter"])
def test_when_all_are_beaten_everybody_is_met_alike(kind):
    payoff = payoff_of(dict.fromkeys("abcd", (50, 0, 0)))
    found = weights(meetings(plain(kind), "main", bots(*"abcd"), payoff, {}))
    assert found == dict.fromkeys("abcd", 0.25)


@pytest.mark.parametrize("kind", ["pfsp_hard", "pfsp_var", "pfsp_linear", "league_exploiter"])
def test_when_all_are_beaten_they_are_met_by_the_weights_they_were_given(kind):
    payoff = payoff_of(dict.fromkeys("abc", (50, 0, 0)))
    wanted = {"a": 5.0, "b": 2.0, "c": 1.0}
    found = [Candidate(name, "past", weight) for name, weight in wanted.items()]
    result = weights(meetings(plain(kind), "main", found, payoff, {}))
    assert result == pytest.approx({"a": 0.625, "b": 0.25, "c": 0.125})


def test_in_every_part_of_a_mixture_whoever_is_beaten_is_met_by_the_weight_given():
    payoff = payoff_of(dict.fromkeys("ab", (50, 0, 0)))
    frozen = [Candidate("a", "past", 3.0), Candidate("b", "past", 1.0)]
    found = [Candidate("main", "self"), *frozen]
    for kind, part in (("alphastar", 0.2), ("curriculum", None)):
        result = weights(meetings(plain(kind), "main", found, payoff, {}))
        assert result["a"] / result["b"] == pytest.approx(3.0), kind
        if part is not None:
            assert result["a"] + result["b"] == pytest.approx(part)
    others = [Candidate("boss", "self"), *frozen]
    strong = payoff_of({"boss": (0, 0, 50), **dict.fromkeys("ab", (50, 0, 0))})
    result = weights(meetings(plain("main_exploiter"), "main", others, strong, {}))
    assert result == pytest.approx({"a": 0.75, "b": 0.25})


def test_when_all_are_lost_to_var_meets_everybody_alike():
    payoff = payoff_of(dict.fromkeys("abcd", (0, 0, 50)))
    found = weights(meetings(plain("pfsp_var"), "main", bots(*"abcd"), payoff, {}))
    assert found == dict.fromkeys("abcd", 0.25)


@pytest.mark.parametrize("kind", sorted(set(MATCHMAKERS.own) - {"main_exploiter"}))
def test_who_is_unknown_counts_as_an_equal(kind):
    found = weights(meetings(Matchmaking(kind), "main", bots(*"abcd"), Payoff(), {}))
    assert found == pytest.approx(dict.fromkeys("abcd", 0.25))


@pytest.mark.parametrize("kind", MATCHMAKERS.own)
def test_nobody_to_meet_is_refused_with_a_sentence(kind):
    with pytest.raises(LanistaError, match="main has nobody to meet"):
        meetings(Matchmaking(kind), "main", [], Payoff(), {})


def test_fixed_takes_the_weights_given():
    found = [Candidate("main", "self", 2.0), Candidate("a", "bot", 1.5), Candidate("b", "bot", 0.5)]
    result = meetings(Matchmaking("fixed"), "main", found, payoff_of({"a": (9, 0, 1)}), {})
    assert weights(result) == pytest.approx({"main": 0.5, "a": 0.375, "b": 0.125})


def test_weights_multiply_what_scores_say_but_not_uniform():
    found = [Candidate("a", "bot", 3.0), Candidate("b", "bot")]
    payoff = payoff_of({"a": (5, 0, 5), "b": (0, 0, 10)})
    hard = weights(meetings(plain("pfsp_linear"), "main", found, payoff, {}))
    assert hard == pytest.approx({"a": 1.5 / 2.5, "b": 1 / 2.5})
    uniform = weights(meetings(plain("uniform"), "main", found, payoff, {}))
    assert uniform == {"a": 0.5, "b": 0.5}


def test_the_weight_of_an_only_exploiter_counts_against_other_categories():
    found = [Candidate("main", "self"), Candidate("hole", "exploiter", 3.0)]
    for kind in ("adaptive", "adaptive_by_category", "curriculum"):
        result = weights(meetings(Matchmaking(kind), "main", found, Payoff(), {}))
        assert result == pytest.approx({"main": 0.25, "hole": 0.75})


# Adaptive weights, as the plan for Beasty Bar has them

PLAN_TABLE = {
    "random": (93, 4),
    "online": (72, 16),
    "noisy": (72, 16),
    "aggressive": (75, 14),
    "defensive": (78, 13),
    "skunk": (79, 12),
    "heuristic": (81, 11),
    "queue": (82, 10),
}
"""Win rate and share of each opponent in the plan's example, in per cent, rounded down there."""


def test_the_example_table_of_the_plan():
    payoff = payoff_of({name: (won, 0, 100 - won) for name, (won, _) in PLAN_TABLE.items()})
    shares = weights(meetings(plain("adaptive"), "main", bots(*PLAN_TABLE), payoff, {}))
    for name, (won, share) in PLAN_TABLE.items():
        assert shares[name] == pytest.approx((100 - won) / 168)
        assert math.floor(100 * shares[name]) == share, name


def test_the_floor_of_adaptive_weights_is_that_of_an_opponent_before_scaling():
    payoff = payoff_of({"beaten": (100, 0, 0), "even": (50, 0, 50), "boss": (0, 0, 100)})
    found = [*bots("beaten", "even"), Candidate("boss", "past")]
    shares = weights(meetings(plain("adaptive", floor=0.05), "main", found, payoff, {}))
    assert shares == pytest.approx({"beaten": 0.05 / 1.55, "even": 0.5 / 1.55, "boss": 1 / 1.55})


def test_adaptive_weights_start_as_given_and_win_rates_take_their_place():
    found = [Candidate("main", "self", 5.0), *[Candidate(name, "bot", 2.5) for name in "ab"]]
    start = weights(meetings(plain("adaptive"), "main", found, Payoff(), {}))
    assert start == pytest.approx({"main": 0.5, "a": 0.25, "b": 0.25})
    payoff = payoff_of({"a": (90, 0, 10)})
    later = weights(meetings(plain("adaptive"), "main", found, payoff, {}))
    assert later == pytest.approx({"main": 0.5 / 1.1, "a": 0.1 / 1.1, "b": 0.5 / 1.1})


def test_an_exploiter_keeps_its_factor_in_adaptive_weights():
    found = [*bots("a"), Candidate("hole", "exploiter", 3.0)]
    payoff = payoff_of({"a": (50, 0, 50), "hole": (50, 0, 50)})
    shares = weights(meetings(plain("adaptive"), "main", found, payoff, {}))
    assert shares == pytest.approx({"a": 0.25, "hole": 0.75})


# Floors


@unhurried
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60).filter(any),
    st.sampled_from([0.0, 0.01, 0.05, 0.3, 1.0]),
)
def test_floored_shares_are_the_scaled_ones_with_the_floor_under_them(raw, floor):
    shares = shares_of(raw)
    least = effective_floor(floor, len(raw))
    low, high = 0.0, 1.0  # The scale at which Σ max(floor, scale · share) is 1, by halving.
    for _ in range(100):
        scale = (low + high) / 2
        total = math.fsum(max(least, scale * value) for value in shares)
        low, high = (scale, high) if total < 1 else (low, scale)
    expected = [max(least, scale * value) for value in shares]
    assert floored(shares, floor) == pytest.approx(expected, abs=1e-9)


@unhurried
@given(st.integers(1, 500), st.sampled_from([0.0, 0.05, 0.5, 1.0]))
def test_the_effective_floor_leaves_half_to_differ(count, floor):
    assert effective_floor(floor, count) == min(floor, 0.5 / count)
    assert effective_floor(floor, count) * count <= 0.5


def assert_floors_hold(result, found, floor):
    groups = {}
    for one in found:
        groups.setdefault(one.category, []).append(one.name)
    category, each = by_category(result, found), weights(result)
    for name, members in groups.items():
        assert category[name] >= min(floor, 0.5 / len(groups)) * (1 - 1e-9)
        least = min(floor, 0.5 / len(members))
        for member in members:
            assert each.get(member, 0.0) >= category[name] * least * (1 - 1e-9)


@unhurried
@given(
    leagues(),
    st.sampled_from(["adaptive_by_category", "curriculum"]),
    st.sampled_from([0.01, 0.05, 0.2, 1.0]),
    previous_weights,
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from(["pfsp_hard", "uniform"]),
)
def test_after_normalising_nobody_is_under_the_floor(
    league, kind, floor, previous, keep_old, inside
):
    found, payoff = league
    chosen = plain(kind, floor=floor, keep_old=keep_old, inside=inside)
    assert_floors_hold(meetings(chosen, "main", found, payoff, previous), found, floor)


def test_one_hard_opponent_among_up_to_500_beaten_does_not_starve_them():
    payoff = payoff_of({f"bot {i}": (1000 if i else 0, 0, 0 if i else 1000) for i in range(500)})
    for count in range(1, 501):
        found = bots(*(f"bot {i}" for i in range(count)))
        result = meetings(plain("adaptive_by_category"), "main", found, payoff, {})
        assert_floors_hold(result, found, 0.05)
        assert result[0].weight == max(one.weight for one in result)


@pytest.mark.parametrize("kind", ["adaptive_by_category", "curriculum"])
def test_a_beaten_category_keeps_its_floor_beside_five_that_win(kind):
    found = [Candidate(name, name) for name in FROZEN] + [Candidate("main", "self")]
    payoff = payoff_of({name: (100 * (name == "bot"), 0, 100 * (name != "bot")) for name in FROZEN})
    result = weights(meetings(plain(kind), "main", found, payoff, {}))
    assert result["bot"] == pytest.approx(0.05)
    assert result["past"] == pytest.approx(0.95 * 1 / 4.5)


def test_adaptive_by_category_by_hand():
    payoff = payoff_of({"a": (9, 0, 1), "b": (6, 0, 4), "c": (100, 0, 0), "mine": (15, 0, 5)})
    found = [*bots("a", "b", "c"), Candidate("mine", "past")]
    result = meetings(plain("adaptive_by_category"), "main", found, payoff, {})
    # Bots together: 115 of 120, so 1 - x is 5/120, under the floor of 0.05; past: 1/4.
    past = 0.25 / (0.25 + 0.05)
    assert by_category(result, found) == pytest.approx({"past": past, "bot": 1 - past})
    # Inside: 0.1, 0.4 and the floor 0.05, over 0.55; all above the effective floor.
    inside = {"a": 0.1 / 0.55, "b": 0.4 / 0.55, "c": 0.05 / 0.55}
    each = weights(result)
    assert {name: each[name] / (1 - past) for name in inside} == pytest.approx(inside)


def test_self_play_counts_as_an_equal_in_the_curriculum():
    found = [Candidate("main", "self"), Candidate("clone", "imitation")]
    payoff = fold(
        [Outcome(("main", "main"), ((90, 0, 10),)), Outcome(("main", "clone"), ((75, 0, 25),))]
    )
    result = meetings(plain("curriculum"), "main", found, payoff, {})
    assert weights(result) == pytest.approx({"main": 0.5 / 0.75, "clone": 0.25 / 0.75})


def test_games_against_oneself_do_not_make_other_mains_known():
    found = [Candidate("main_1", "self"), Candidate("main_2", "self"), *bots("random")]
    games = [
        Outcome(("main_1", "main_1"), ((50, 0, 50),)),
        Outcome(("main_1", "main_2"), ((0, 0, 9),)),
    ]
    result = meetings(Matchmaking("curriculum"), "main_1", found, fold(games), {})
    assert by_category(result, found) == pytest.approx({"self": 0.5, "bot": 0.5})


def test_the_curriculum_keeps_half_of_the_old_weights():
    found = [Candidate("clone", "imitation"), Candidate("bot", "bot")]
    payoff = payoff_of({"clone": (50, 0, 50), "bot": (75, 0, 25)})
    previous = {"imitation": 0.2, "bot": 0.8}
    for keep_old in (0.0, 0.5, 1.0):
        chosen = plain("curriculum", keep_old=keep_old)
        result = by_category(meetings(chosen, "main", found, payoff, previous), found)
        expected = keep_old * 0.2 + (1 - keep_old) * 2 / 3
        assert result == pytest.approx({"imitation": expected, "bot": 1 - expected})


def test_a_new_category_takes_its_new_weight_and_one_that_is_gone_leaves_none():
    found = [Candidate("clone", "imitation"), Candidate("hole", "exploiter")]
    previous = {"imitation": 0.5, "past": 0.5}
    result = meetings(plain("curriculum"), "main", found, Payoff(), previous)
    assert weights(result) == pytest.approx({"clone": 0.5, "hole": 0.5})


def test_a_category_with_few_games_counts_as_an_equal():
    found = [Candidate("clone", "imitation"), Candidate("bot", "bot")]
    payoff = payoff_of({"clone": (9, 0, 0), "bot": (0, 0, 9)})
    unknown = meetings(Matchmaking("curriculum", minimum_games=10), "main", found, payoff, {})
    assert weights(unknown) == pytest.approx({"clone": 0.5, "bot": 0.5})
    known = meetings(Matchmaking("curriculum", minimum_games=9), "main", found, payoff, {})
    assert weights(known)["bot"] > 0.8


@pytest.mark.parametrize(("inside", "expected"), [("uniform", 0.5), ("pfsp_hard", 0.64 / 0.68)])
def test_the_curriculum_weighs_within_a_category_as_asked(inside, expected):
    payoff = payoff_of({"a": (2, 0, 8), "b": (8, 0, 2)})
    found = meetings(plain("curriculum", inside=inside), "main", bots("a", "b"), payoff, {})
    assert weights(found)["a"] == pytest.approx(expected)


# Names nobody knows, and matchmakers of other packages


def test_names_that_nobody_knows_are_refused():
    with pytest.raises(LanistaError, match="did you mean 'past'"):
        Candidate("main/000010", "pasts")
    with pytest.raises(LanistaError, match="did you mean 'exploiter'"):
        meetings(Matchmaking("curriculum"), "main", LEAGUE, Payoff(), {"exploiters": 0.5})
    with pytest.raises(LanistaError, match="no matchmaking 'role'"):
        meetings(Matchmaking(), "main", LEAGUE, Payoff(), {})


def test_a_name_given_twice_is_refused():
    with pytest.raises(LanistaError, match="random is twice among the candidates of main"):
        meetings(Matchmaking("uniform"), "main", bots("random", "random"), Payoff(), {})


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan])
def test_weights_that_are_none_are_refused(weight):
    with pytest.raises(LanistaError, match="weight of random"):
        Candidate("random", "bot", weight)


@pytest.mark.parametrize("weight", [-0.1, math.inf, math.nan])
def test_old_weights_that_are_none_are_refused(weight):
    with pytest.raises(LanistaError, match="last weight of bot"):
        meetings(Matchmaking("curriculum"), "main", LEAGUE, Payoff(), {"bot": weight})


@pytest.fixture
def install(monkeypatch):
    def put(matchmaker):
        monkeypatch.setitem(MATCHMAKERS, "own", Entry("of a test", matchmaker))
        return Matchmaking("own")

    return put


def test_a_matchmaker_of_another_package_is_asked_and_its_weights_are_scaled(install):
    seen = []

    def own(*given):
        seen.append(given)
        return [Meeting("random", 3, "why not"), Meeting("hole", 1, ""), Meeting("clone", 0, "")]

    chosen, payoff = install(own), Payoff()
    result = meetings(chosen, "main", LEAGUE, payoff, {"bot": 1.0})
    assert result == [Meeting("random", 0.75, "why not"), Meeting("hole", 0.25, "")]
    assert seen == [(chosen, "main", LEAGUE, payoff, {"bot": 1.0})]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([Meeting("randon", 1.0, "")], "did you mean 'random'"),
        ([Meeting("random", -1.0, "")], "weight -1.0"),
        ([Meeting("random", math.nan, "")], "weight nan"),
        ([Meeting("random", 0.0, "")], "nobody a weight above 0"),
        ([], "nobody a weight above 0"),
        ([Meeting("random", 1.0, "a"), Meeting("random", 2.0, "a")], "random twice"),
    ],
)
def test_a_matchmaker_of_another_package_cannot_answer_nonsense(install, answer, sentence):
    with pytest.raises(LanistaError, match=sentence):
        meetings(install(lambda *given: answer), "main", LEAGUE, Payoff(), {})
