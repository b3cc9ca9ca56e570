"""Matchmaking of AlphaStar's roles: mixtures of self-play and PFSP, and exploiters' own."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matchmade import LEAGUE, bots, payoff_of, plain, share, unhurried, weights

from lanista.errors import LanistaError
from lanista.league.matchmaking import Candidate, Meeting, meetings
from lanista.league.payoff import Payoff
from lanista.runs.league_settings import Matchmaking


def test_a_main_that_forgot_nothing_plays_itself_most_of_the_time():
    result = meetings(Matchmaking("alphastar"), "main", LEAGUE, Payoff(), {})
    assert share(result, "self_play") == pytest.approx(0.8)
    assert share(result, "pfsp") == pytest.approx(0.2)
    assert share(result, "lost") == 0


def test_a_main_meets_those_it_has_come_to_lose_to():
    results = {
        "clone": (0, 0, 20),
        "main/000010": (8, 0, 12),
        "main/000020": (12, 0, 8),
        "hole": (4, 0, 16),
        "random": (0, 0, 20),
    }
    result = meetings(plain("alphastar"), "main", LEAGUE, payoff_of(results), {})
    assert share(result, "self_play") == pytest.approx(0.65)
    assert share(result, "pfsp") == pytest.approx(0.2)
    assert share(result, "lost") == pytest.approx(0.15)
    lost = {one.opponent: one.weight / 0.15 for one in result if one.reason == "lost"}
    # Past players and exploiters alone, by (1 - x)^2; clones and bots were never beaten.
    assert lost == pytest.approx({"main/000010": 0.36, "hole": 0.64})
    pfsp = {one.opponent: one.weight / 0.2 for one in result if one.reason == "pfsp"}
    hard = {"clone": 1, "main/000010": 0.36, "main/000020": 0.16, "hole": 0.64, "random": 1}
    assert pfsp == pytest.approx({name: value / 3.16 for name, value in hard.items()})


def test_a_defeat_in_a_few_games_is_not_yet_forgetting():
    payoff = payoff_of({"main/000010": (0, 0, 9)})
    few = meetings(Matchmaking("alphastar", minimum_games=10), "main", LEAGUE, payoff, {})
    assert share(few, "lost") == 0
    enough = meetings(Matchmaking("alphastar", minimum_games=9), "main", LEAGUE, payoff, {})
    assert share(enough, "lost") == pytest.approx(0.15)


@pytest.mark.parametrize(("games", "minimum"), [(9, 10), (0, 0)])
def test_who_is_unknown_is_never_lost_to_nor_too_strong(games, minimum):
    given = {"minimum_games": minimum, "lost_below": 1.0, "too_strong": 1.0}
    main = payoff_of({"main/000010": (0, 0, games)})
    result = meetings(Matchmaking("alphastar", **given), "main", LEAGUE, main, {})
    assert share(result, "lost") == 0
    exploiter = payoff_of({"main_1": (0, 0, games)}, learner="x")
    chosen = Matchmaking("main_exploiter", **given)
    assert share(meetings(chosen, "x", MAINS, exploiter, {}), "main") == 1


def test_the_level_of_having_lost_can_be_chosen():
    payoff = payoff_of({"main/000010": (13, 0, 7)})
    half = meetings(plain("alphastar"), "main", LEAGUE, payoff, {})
    assert share(half, "lost") == 0
    higher = meetings(plain("alphastar", lost_below=0.7), "main", LEAGUE, payoff, {})
    assert share(higher, "lost") == pytest.approx(0.15)


def test_several_mains_share_self_play_alike():
    found = [Candidate("main_1", "self"), Candidate("main_2", "self"), *bots("random")]
    payoff = payoff_of({"main_2": (0, 0, 50)}, learner="main_1")
    result = meetings(plain("alphastar"), "main_1", found, payoff, {})
    assert weights(result) == pytest.approx({"main_1": 0.4, "main_2": 0.4, "random": 0.2})


def test_a_main_alone_plays_itself_and_one_without_itself_plays_the_rest():
    alone = meetings(Matchmaking("alphastar"), "main", LEAGUE[:1], Payoff(), {})
    assert alone == [Meeting("main", 1.0, "self_play")]
    rest = meetings(Matchmaking("alphastar"), "main", LEAGUE[1:], Payoff(), {})
    assert share(rest, "pfsp") == pytest.approx(1)
    lost = payoff_of({"hole": (0, 0, 50)})
    both = meetings(plain("alphastar"), "main", LEAGUE[1:], lost, {})
    assert (share(both, "pfsp"), share(both, "lost")) == pytest.approx((0.85, 0.15))


@unhurried
@given(st.floats(0, 1), st.booleans(), st.booleans())
def test_any_two_shares_that_fit_give_a_mixture(part, with_self, losing):
    chosen = plain("alphastar", self_share=part, lost_share=1 - part)
    payoff = payoff_of({"hole": (0, 0, 50)}) if losing else Payoff()
    found = LEAGUE if with_self else LEAGUE[1:]
    result = meetings(chosen, "main", found, payoff, {})
    assert math.fsum(one.weight for one in result) == pytest.approx(1)


MAINS = [
    Candidate("main_1", "self"),
    Candidate("main_2", "self"),
    Candidate("main_1/000010", "past"),
    Candidate("main_2/000010", "past"),
]


def exploit(results, found=MAINS):
    payoff = payoff_of(results, learner="main_exploiter_1")
    return meetings(plain("main_exploiter"), "main_exploiter_1", found, payoff, {})


def test_a_main_exploiter_plays_the_current_mains():
    assert exploit({}) == [Meeting("main_1", 0.5, "main"), Meeting("main_2", 0.5, "main")]
    assert share(exploit({"main_1": (20, 0, 80), "main_2": (100, 0, 0)}), "main") == 1


def test_a_main_exploiter_turns_to_past_mains_where_it_wins_too_rarely():
    results = {"main_1": (19, 0, 81), "main_1/000010": (1, 0, 9), "main_2/000010": (4, 0, 6)}
    result = exploit(results)
    assert weights(result) == pytest.approx(
        {"main_2": 0.5, "main_1/000010": 0.5 * 0.09 / 0.33, "main_2/000010": 0.5 * 0.24 / 0.33}
    )
    assert share(result, "past_mains") == pytest.approx(0.5)


def test_the_shares_of_all_mains_that_are_too_strong_go_to_past_mains():
    found = [*(Candidate(name, "self") for name in "abc"), Candidate("old", "past")]
    payoff = payoff_of({"a": (0, 0, 50), "b": (0, 0, 50), "c": (25, 0, 25)}, "hunter")
    result = weights(meetings(plain("main_exploiter"), "hunter", found, payoff, {}))
    assert result == pytest.approx({"c": 1 / 3, "old": 2 / 3})


def test_a_main_exploiter_without_past_mains_goes_on_against_the_strong_one():
    assert exploit({"main_1": (0, 0, 100)}, MAINS[:1]) == [Meeting("main_1", 1.0, "main")]
    assert share(exploit({}, MAINS[2:]), "past_mains") == pytest.approx(1)


def test_a_main_exploiter_without_any_main_is_refused():
    with pytest.raises(LanistaError, match="main_exploiter_1 has no main to meet"):
        exploit({}, [Candidate("main_exploiter_1", "self"), *bots("random")])


def test_a_league_exploiter_meets_everybody_frozen():
    payoff = payoff_of({"random": (9, 0, 1), "clone": (4, 0, 6)}, learner="league_exploiter_1")
    found = [LEAGUE[0], LEAGUE[1], LEAGUE[5]]
    result = meetings(plain("league_exploiter"), "league_exploiter_1", found, payoff, {})
    assert weights(result) == pytest.approx({"clone": 0.36 / 0.37, "random": 0.01 / 0.37})
    early = meetings(plain("league_exploiter"), "league_exploiter_1", found[:1], payoff, {})
    assert weights(early) == {"main": 1.0}
