import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recorded_league import DIGEST, POOL, make_league

from lanista.errors import LanistaError
from lanista.evaluation.score import mean_score, wilson
from lanista.report.pairs import Pair, counted, entrants, first_seat_units, linked
from lanista.report.reading import read_run
from lanista.report.run_record import Lineup, Match, Member
from lanista.report.summary import summarise


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return read_run(make_league(tmp_path_factory.mktemp("leagues") / "league"))


@pytest.fixture(scope="module")
def summary(record):
    return summarise(record)


def pair_of(summary, first, second, key="pairs"):
    for row in summary[key]:
        if (row["first"], row["second"]) == (first, second):
            return row
    raise AssertionError(f"{first} and {second} did not meet in this order")


def played(match, names, places, *, deal=0, digests=None, update=1, cut_off=False):
    """A match between players whose digests are their names unless given."""
    lineup = Lineup(update, "pool", tuple(names), tuple(digests or names), 5, 1, 1)
    returns = tuple(float(-place) for place in places)
    return Match(update, match, lineup, deal, returns, tuple(places), cut_off)


def told(record, matches):
    """The record with other matches, between players that are bots unless it knows them."""
    names = {name for match in matches for name in match.lineup.names}
    known = {player.name for player in record.players}
    more = [Member(n, "", "bot", "bot", "", (), 1.0, 0, {}) for n in sorted(names - known)]
    return replace(record, players=(*record.players, *more), matches=tuple(matches))


def test_players_are_linked_over_any_number_of_steps():
    def met(first, second, games=2):
        return Pair(first, second, games, 0, 0, np.ones(1))

    chain = [met("a", "b"), met("c", "d"), met("b", "c")]
    assert linked(chain) == {"a", "b", "c", "d"}
    assert linked([*chain, met("x", "y", 5)]) == {"a", "b", "c", "d"}
    assert linked([*chain, met("x", "y", 7)]) == {"x", "y"}
    assert linked([*chain, met("x", "y", 7)], "a") == {"a", "b", "c", "d"}
    assert linked([]) == set()


def test_a_summary_is_plain_json_without_nan(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)).keys() == summary.keys()


def test_players_are_told_apart_by_digest(summary):
    labels = {row["player"]: row for row in summary["players"]}
    assert {*labels} == {*POOL, "main@30"}
    assert labels["main@30"]["name"] == labels["main@30"]["learner"] == "main"
    assert labels["main/000020"]["learner"] == "main"
    assert labels["hunter"]["learner"] == ""
    assert labels["random"]["category"] == "bot"


def test_a_learner_evaluated_as_it_is_when_snapped_is_that_snapshot(record):
    snapped = DIGEST["main/000020"]
    matches = [
        played(0, ("main", "random"), (1, 2), digests=(snapped, "r"), update=20),
        played(1, ("main", "random"), (1, 2), digests=(f"{snapped}:greedy", "r"), update=20),
        played(2, ("main", "random"), (1, 2), digests=("d" * 64, "r"), update=21),
        played(3, ("main", "random"), (1, 2), digests=("e" * 64, "r"), update=21),
    ]
    labels = [each.label for each in entrants(told(record, matches)).values()]
    assert labels == [
        "main/000020", "random", "main/000020 (greedy)", "main@21", f"main@21 {'e' * 8}",
    ]  # fmt: skip


def test_a_pair_has_counts_score_by_units_and_wilson(record, summary):
    row = pair_of(summary, "main/000020", "hunter")
    results = {}
    for match in record.matches:
        if {*match.lineup.names} == {"main/000020", "hunter"}:
            mine = match.lineup.names.index("main/000020")
            place, other = match.places[mine], match.places[1 - mine]
            results.setdefault(match.deal, []).append(
                1.0 if place < other else 0.5 if place == other else 0.0
            )
    flat = [result for deal in results.values() for result in deal]
    assert (row["n"], row["wins"], row["draws"]) == (80, flat.count(1.0), flat.count(0.5))
    assert row["wins"] + row["draws"] + row["losses"] == 80
    score = mean_score(np.array([np.mean(deal) for deal in results.values()]))
    assert row["score"] == pytest.approx(
        {"value": score.value, "low": score.low, "high": score.high, "n": 40}
    )
    rate = wilson(row["wins"], 80)
    assert row["win_rate"]["low"] == pytest.approx(rate.low)
    assert summary["win_rates"]["hunter"]["main/000020"] == row["losses"] / 80
    assert summary["scores"]["main/000020"]["hunter"] == pytest.approx(score.value)


def test_matches_broken_off_take_their_whole_unit_with_them(summary):
    assert summary["left_out"] == 2
    assert summary["matches"] == 21 * 80 - 2
    broken = pair_of(summary, "main@30", "aggressive")
    assert (broken["n"], broken["score"]["n"]) == (78, 39)


def test_a_break_off_leaves_other_players_units_on_the_deal_alone():
    matches = [
        played(0, ("a", "b"), (1, 2)),
        played(1, ("b", "a"), (1, 2), cut_off=True),
        played(2, ("a", "c"), (1, 2)),
        played(3, ("a", "b"), (1, 2), deal=1),
    ]
    assert [match.match for match in counted(matches)] == [2, 3]


def test_by_name_a_learners_states_are_one_player(record):
    matches = [
        played(0, ("main", "random"), (1, 2), digests=("d" * 64, "r"), update=1),
        played(1, ("main", "random"), (2, 1), digests=("e" * 64, "r"), update=2),
    ]
    found = summarise(told(record, matches))
    assert len(found["pairs"]) == 2
    row = pair_of(found, "main", "random", "pairs_by_name")
    assert (row["wins"], row["losses"]) == (1, 1)
    # Both were played on deal 0, so they are one unit.
    assert row["score"]["n"] == 1


def test_ratings_rank_the_players_as_they_were_made(summary):
    ratings = {row["player"]: row for row in summary["bradley_terry"]["ratings"]}
    assert summary["bradley_terry"]["ratings"][0]["player"] == "main@30"
    assert summary["bradley_terry"]["ratings"][-1]["player"] == "random"
    assert sum(row["value"] for row in ratings.values()) == pytest.approx(0, abs=1e-6)
    assert summary["bradley_terry"]["anchor"] is None
    distance = ratings["main@30"]["value"] - ratings["random"]["value"]
    assert 300 < distance < 600
    assert {*summary["elo"]["ratings"]} == {*ratings}
    assert max(summary["elo"]["ratings"], key=summary["elo"]["ratings"].get) != "random"
    assert summary["openskill"][-1]["player"] == "random"
    row = pair_of(summary, "main@30", "random")
    assert row["expected"] == pytest.approx(1 / (1 + 10 ** (-distance / 400)))


def test_the_fixed_point_can_be_chosen(record):
    found = summarise(record, anchor="random")["bradley_terry"]
    assert found["anchor"] == "random"
    assert [row["value"] for row in found["ratings"] if row["player"] == "random"] == [0]
    with pytest.raises(LanistaError, match="'nobody' played no match"):
        summarise(record, anchor="nobody")


def test_an_exploiter_out_of_line_is_unexplained_beyond_chance(summary):
    missed = summary["unexplained"]
    assert missed["share"] > missed["by_chance"]
    assert missed["beyond_chance"] == pytest.approx(missed["share"] - missed["by_chance"])


def test_rock_paper_scissors_is_a_circle_and_half_unexplained(record):
    matches = [
        played(40 * number + deal, who, (1, 2), deal=deal)
        for number, who in enumerate((("r", "s"), ("s", "p"), ("p", "r")))
        for deal in range(40)
    ]
    found = summarise(told(record, matches))
    assert found["circles"] == [("p", "r", "s")]
    assert found["unexplained"]["share"] == pytest.approx(0.5)


def test_only_fixed_digests_are_rated(record, summary):
    without = summarise(replace(record, training=()))
    for key in ("elo", "bradley_terry", "openskill", "pairs", "unexplained", "first_seat"):
        assert without[key] == summary[key]
    assert without["training_matches"] == 0
    assert summary["training_matches"] == 100


def test_the_exploitability_proxy_is_the_lowest_win_rate_over_past_players(summary):
    found = summary["exploitability_proxy"]["main"]
    assert found["player"] == "main@30"
    past = {name: summary["win_rates"]["main@30"][name] for name in ("main/000010", "main/000020")}
    assert found["win_rate"]["value"] == min(past.values())
    assert past[found["opponent"]] == min(past.values())
    assert summary["exploitability_proxy"]["main_exploiter_1"] is None
    lowest = summary["lowest_over_pool"]["main"]
    assert lowest["win_rate"]["value"] == min(summary["win_rates"]["main@30"].values())


def test_meter_readings_come_from_exact_numbers_and_exploiters_tests(summary):
    (exact,) = [row for row in summary["meter"] if row["instrument"] == "exact"]
    assert (exact["value"], exact["unit"], exact["subject"]) == (0.25, "nash_conv", "main")
    admitted, refused = [row for row in summary["meter"] if row["instrument"] == "learned"]
    assert (admitted["subject"], admitted["unit"]) == ("main/000020", "score")
    assert (admitted["value"], admitted["low"], admitted["budget_decisions"]) == (0.61, 0.57, 5000)
    assert (admitted["digest"], admitted["response"]) == (DIGEST["main/000020"], "hunter")
    assert admitted["lower_bound"] is True
    assert refused["value"] == 0.5


def test_the_leagues_test_of_an_exploiter_stands_before_its_practice(record):
    practice = {"instrument": "learned", "unit": "gain", "value": 9.0, "rising": False,
                "lower_bound": False, "curve": [{"decisions": 1, "value": 0.4}]}  # fmt: skip
    body = {**record.events[1].body, "reading": practice}
    changed = replace(record, events=(replace(record.events[1], body=body),))
    (found,) = [row for row in summarise(changed)["meter"] if row["instrument"] == "learned"]
    assert (found["value"], found["unit"], found["lower_bound"]) == (0.61, "score", False)
    assert found["curve"] == practice["curve"]


def test_every_state_of_a_learner_has_a_pool_reading(summary):
    found = {row["subject"]: row for row in summary["meter"] if row["instrument"] == "pool"}
    assert {*found} == {"main/000010", "main/000020", "main@30"}
    newest = found["main@30"]
    assert newest["value"] == pytest.approx(min(summary["scores"]["main@30"].values()))
    assert newest["low"] < newest["value"]
    assert newest["update"] == 30


def test_the_first_seat_counts_units_in_which_everybody_sat_first():
    swapped = [
        played(0, ("a", "b"), (1, 2)),
        played(1, ("b", "a"), (1, 2)),
        played(2, ("a", "b"), (1, 1), deal=1),
        played(3, ("b", "a"), (2, 1), deal=1),
    ]
    assert first_seat_units(swapped).tolist() == [1.0, 0.25]
    one_sided = played(4, ("a", "b"), (1, 2), deal=2)
    with_itself = played(5, ("a", "a"), (2, 1), deal=3)
    assert first_seat_units([*swapped, one_sided, with_itself]).tolist() == [1.0, 0.25, 0.0]
    three = [played(6, ("a", "b", "b"), (2, 1, 3)), played(7, ("b", "a", "b"), (1, 2, 3)),
             played(8, ("b", "b", "a"), (1, 2, 3))]  # fmt: skip
    assert first_seat_units(three).tolist() == pytest.approx([(0.5 + 1 + 1) / 3])


def test_categories_count_training_games_seen_from_the_learner(summary):
    found = summary["categories"]["main"]
    past = found["past"]
    assert (past["wins"], past["draws"], past["losses"]) == (11 + 13, 1 + 2, 8 + 5)
    assert past["score"] == pytest.approx((24 + 1.5) / 40)
    assert found["self"]["n"] == 60
    assert found["self"]["score"] == pytest.approx((33 + 1.5) / 60)


def test_exploiters_are_listed_with_victim_budget_and_result(summary):
    (hunter,) = summary["exploiters"]
    assert hunter["name"] == "hunter"
    assert hunter["victim_digest"] == DIGEST["main/000020"]
    assert hunter["score"] == 0.61


def test_three_seats_are_rated_by_pairwise_results(record):
    matches = [
        played(deal, ("a", "b", "c"), (1, 2, 3) if deal % 3 else (2, 1, 3), deal=deal)
        for deal in range(30)
    ]
    found = summarise(told(record, matches))
    row = pair_of(found, "a", "b")
    assert (row["n"], row["wins"]) == (30, 20)
    assert [r["player"] for r in found["bradley_terry"]["ratings"]] == ["a", "b", "c"]
    assert math.isfinite(found["elo"]["ratings"]["c"])


@pytest.mark.parametrize(
    "matches", [[], [played(0, ("a", "a"), (1, 2))], [played(0, ("a",), (1,))]]
)
def test_without_meetings_ratings_are_unknown_and_why_is_said(record, matches):
    found = summarise(told(record, matches))
    assert found["elo"] is found["bradley_terry"] is found["openskill"] is None
    assert found["unexplained"] is None
    assert found["not_rated"].startswith("No two players met")
    assert found["exploitability_proxy"] == {"main": None, "main_exploiter_1": None}


def test_the_page_of_the_docs_names_every_number(summary):
    page = Path(__file__).parents[2] / "docs" / "reference" / "report.md"
    text = page.read_text(encoding="utf-8")
    assert [key for key in summary if key != "version" and f"`{key}`" not in text] == []
