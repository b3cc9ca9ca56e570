"""A league's books: what one table says follows from the others, recomputed row by row."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise

import pytest
from pipeline_runs import SMALL, settings_of

from lanista.league import population as population_module
from lanista.league.payoff import Outcome, Payoff
from lanista.league.population import Population
from lanista.runs.checkpoints import Checkpoints, read_state
from lanista.runs.database import RunDatabase
from lanista.runs.folder import folder_of, saved_settings
from lanista.training.learner_loop import LearnerLoop
from lanista.training.loop import train

LIMIT = {"main": 90, "main_exploiter": 120, "league_exploiter": 200}
"""Decisions from one snapshot of a role to the next."""
LEAGUE = {
    "game": "kuhn",
    "iterations": 6,
    "learner_updates": 2,
    "network": SMALL,
    "learning": {"lr": 0.02},
    "rollouts": {"matches": 40, "slots": 16, "opponents": ["self", "random=3"]},
    "replay": {"size": 400, "batch": 40},
    "evaluation": {"every": 2, "bots": ["random"], "matches": 20, "pool": 3},
    "checkpoints": {"save_every": 1, "keep_last": 99},
    "league": {
        "round": 1,
        "mains": 2,
        "main_exploiters": 1,
        "league_exploiters": 1,
        "main": {"snapshot_decisions": LIMIT["main"]},
        "main_exploiter": {"snapshot_decisions": LIMIT["main_exploiter"], "reset_to": "scratch"},
        "league_exploiter": {
            "snapshot_decisions": LIMIT["league_exploiter"], "reset_probability": 1.0,
            "reset_to": "main",
        },
        "exploiter_check_interval": 2,
        "exploiter_train_steps": 600,
        "exploiter_games": 20,
        "exploiter_win_threshold": 0.01,
        "exploiter_weight": 2.5,
    },
}  # fmt: skip
LEARNERS = ("main_1", "main_2", "main_exploiter_1", "league_exploiter_1")
UPDATES = 2


def role_of(learner):
    return learner.rpartition("_")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    output = tmp_path_factory.mktemp("books") / "p.pt"
    assert train(settings_of(LEAGUE), output) == 0
    return folder_of(output)


@pytest.fixture(scope="module")
def rows(folder):
    def of(table, what="*"):
        with closing(sqlite3.connect(folder / "run.db")) as database:
            return database.execute(f"SELECT {what} FROM {table}").fetchall()

    return of


def state(folder, iteration):
    """Return the learners as they were after an iteration."""
    return read_state(Checkpoints(folder / "checkpoints").path(iteration))["learners"]


def same(one, other):
    return all(bool((one[name] == other[name]).all()) for name in other)


def test_a_snapshot_is_left_exactly_when_a_learner_has_decided_enough_since_its_last(folder, rows):
    left = {name: json.loads(body) for name, body in rows("players", "name, body")}
    expected = {}
    for learner in LEARNERS:
        last = 0
        for iteration in range(1, 6):  # After the last iteration no round begins.
            decisions = state(folder, iteration)[learner]["decisions"]
            if decisions - last >= LIMIT[role_of(learner)]:
                last = decisions
                expected[f"{learner}/{iteration:06d}"] = decisions
    found = {name: body["decisions"] for name, body in left.items() if "learner" in body}
    assert found == expected
    assert len({name.partition("/")[0] for name in found}) == 4
    assert any(f"{learner}/000002" not in found for learner in LEARNERS)


def test_a_snapshot_s_parent_is_the_one_before_it_or_what_its_learner_began_anew_from(rows):
    resets = {}
    for update, learner, body in rows("events WHERE kind = 'reset'", "update_number, player, body"):
        resets[learner, update] = json.loads(body)["to"]
    parent = dict.fromkeys(LEARNERS, ())
    for update, name, parents, body in rows(
        "players ORDER BY rowid", "update_number, name, parents, body"
    ):
        learner = json.loads(body).get("learner")
        if learner is None:
            continue
        assert tuple(json.loads(parents)) == tuple(parent[learner]), name
        target = resets.pop((learner, update), None)
        parent[learner] = (name,) if target is None else () if target == "scratch" else (target,)
    assert resets == {}
    kinds = {learner: {*()} for learner in LEARNERS}
    for learner, body in rows("events WHERE kind = 'reset'", "player, body"):
        kinds[learner].add(json.loads(body)["to"].partition("/")[0])
    assert kinds["main_1"] == kinds["main_2"] == set()
    assert kinds["main_exploiter_1"] == {"scratch"}
    assert {*kinds["league_exploiter_1"]} <= {"main_1", "main_2"} != set()


def test_what_was_spent_is_that_of_all_learners_and_of_the_exploiters_so_far(rows):
    values = {(update, name): value for update, name, value in rows("metrics")}
    for what in ("decisions", "matches"):
        for update in range(1, 6 * UPDATES + 1):
            mine = sum(values[update, f"{learner}/{what}"] for learner in LEARNERS)
            theirs = sum(
                value or 0.0
                for (at, name), value in values.items()
                if name == f"exploiter/{what}" and at <= update
            )
            assert values[update, what] == mine + theirs
    assert values[6 * UPDATES, "decisions"] > values[6 * UPDATES, "main_1/decisions"] * 4


def test_no_two_learners_play_one_match_and_each_begins_with_weights_of_its_own(folder, rows):
    spans = {learner: [] for learner in LEARNERS}
    for learner, first, last in rows("training_games", "learner, first_match, last_match"):
        spans[learner].append((first, last))
    ranges = sorted((min(a for a, _ in each), max(b for _, b in each)) for each in spans.values())
    assert all(one[1] < other[0] for one, other in pairwise(ranges))
    begun = [state(folder, 0)[learner]["learner"]["policy"] for learner in LEARNERS]
    assert not any(same(one, other) for i, one in enumerate(begun) for other in begun[:i])


def test_training_games_count_updates_as_the_run_does_after_a_reset_too(rows):
    for update, learner, first in rows("training_games", "update_number, learner, first_update"):
        # Whole matches: all of an iteration were begun when it was.
        assert first == update - UPDATES, (update, learner)


def test_every_iteration_s_games_are_its_own(rows):
    played = {}
    for update, learner, matches in rows("training_games", "update_number, learner, matches"):
        played[update, learner] = played.get((update, learner), 0) + matches
    assert played == {(u * UPDATES, learner): 40 for u in range(1, 7) for learner in LEARNERS}


def test_an_admitted_exploiter_is_met_with_its_weight_and_refused_ones_are_not(rows):
    admitted = [name for (name,) in rows("events WHERE kind = 'exploiter_admitted'", "player")]
    weights = dict(rows("players", "name, weight"))
    assert admitted
    assert {weights[name] for name in admitted} == {2.5}
    assert weights["random"] == 3.0
    assert {weights[name] for name in weights if name.startswith("main_1/")} == {1.0}


def test_the_pool_is_the_exploiters_and_then_the_newest(rows):
    entered = {
        name: (category != "exploiter", -update)
        for update, name, category in rows(
            "players WHERE kind = 'policy'", "update_number, name, category"
        )
    }
    for update in (4, 8, 12):
        met = set()
        for (names,) in rows(
            f"lineups WHERE reason = 'pool' AND update_number = {update}", "names"
        ):
            met |= {name for name in json.loads(names) if name not in LEARNERS}
        there = {name: key for name, key in entered.items() if -key[1] <= update}
        ranks = sorted(there.values())[:3]
        assert sorted(there[name] for name in met) == ranks, update


def outcomes(rows, table):
    """Give every outcome of the run with its update, as the definition of a payoff wants them."""
    found = []
    for update, seating, pairs in rows(
        "training_games ORDER BY update_number, learner, seating, reason",
        "update_number, seating, pairs",
    ):
        found.append((update, 1, Outcome(tuple(json.loads(seating)),
                                         tuple(map(tuple, json.loads(pairs))))))  # fmt: skip
    for update, lineup, reason, names in rows(
        "lineups ORDER BY lineup", "update_number, lineup, reason, names"
    ):
        wins = draws = losses = 0
        for (places,) in rows(f"matches WHERE lineup = {lineup} AND NOT cut_off", "places"):
            first, second = json.loads(places)
            wins, draws = wins + (first < second), draws + (first == second)
            losses += first > second
        # An exploiter is tested before the iteration whose update its rows carry is played.
        order = 0 if reason == "exploiter" else 2
        found.append((update, order, Outcome(tuple(json.loads(names)), ((wins, draws, losses),))))
    return found


def test_the_payoff_is_the_sum_of_all_rows_since_a_player_began_anew(folder, rows):
    metrics = RunDatabase(folder / "run.db")
    population = Population(saved_settings(folder), folder, LearnerLoop)
    population.load(state(folder, 6), metrics)
    metrics.close()
    resets = rows("events WHERE kind = 'reset'", "update_number, player")
    for life, payoff in population.payoffs.items():
        expected = Payoff(life)
        # A learner begins anew in the round before the iteration whose updates follow.
        steps = [(update, -1, who) for update, who in resets]
        for _, _, step in sorted([*steps, *outcomes(rows, "")], key=lambda each: each[:2]):
            if isinstance(step, str):
                expected.forget(step)
            else:
                expected.add(step)
        assert payoff.table.keys() == expected.table.keys()
        for pair, counts in expected.table.items():
            assert payoff.table[pair] == pytest.approx(counts), pair
    assert {*population.payoffs} == {
        population.league.rules(role).matchmaking.half_life or float("inf") for role in LIMIT
    }
    population.close()


def test_a_resumed_squad_has_all_that_the_tables_say_of_its_learners(folder, rows):
    metrics = RunDatabase(folder / "run.db")
    population = Population(saved_settings(folder), folder, LearnerLoop)
    population.load(state(folder, 6), metrics)
    metrics.close()
    resets = [who for (who,) in rows("events WHERE kind = 'reset'", "player")]
    assert population.resets == {learner: resets.count(learner) for learner in LEARNERS}
    last = {}
    for (body,) in rows("players ORDER BY rowid", "body"):
        told = json.loads(body)
        if "learner" in told:
            last[told["learner"]] = told["decisions"]
    assert population.snapshot_at == dict.fromkeys(LEARNERS, 0) | last
    spent = rows("metrics WHERE name = 'exploiter/decisions'", "SUM(value)")[0][0]
    assert population.spent["decisions"] == spent > 0
    population.close()


def test_the_next_round_is_told_how_often_each_category_was_met(folder, rows, monkeypatch):
    told, real = {}, population_module.meetings

    def watched(rules, learner, found, payoff, previous):
        told[learner] = dict(previous)
        return real(rules, learner, found, payoff, previous)

    monkeypatch.setattr(population_module, "meetings", watched)
    metrics = RunDatabase(folder / "run.db")
    population = Population(saved_settings(folder), folder, LearnerLoop)
    population.load(state(folder, 6), metrics)
    metrics.close()
    population.matchmake()
    category = dict(rows("players", "name, category"))
    newest = "matchmaking WHERE update_number = (SELECT MAX(update_number) FROM matchmaking)"
    wanted = {learner: {} for learner in LEARNERS}
    for learner, opponent, weight in rows(newest, "learner, opponent, weight"):
        sums = wanted[learner]
        sums[category[opponent]] = sums.get(category[opponent], 0.0) + weight
    for learner in LEARNERS:
        assert told[learner] == pytest.approx(wanted[learner])
        assert sum(told[learner].values()) == pytest.approx(1)
    population.close()


def test_a_reset_from_scratch_is_another_network_every_time(folder):
    population = Population(saved_settings(folder), folder, LearnerLoop)
    population.enter(population.first_rows())
    training = population.trainings["main_exploiter_1"]
    seen = []
    for _ in range(3):
        seen.append({k: v.clone() for k, v in training.learner.policy.state_dict().items()})
        population.reset("main_exploiter_1", "scratch")
    seen.append(training.learner.policy.state_dict())
    assert not any(same(one, other) for i, one in enumerate(seen) for other in seen[:i])
    population.close()
