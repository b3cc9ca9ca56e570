"""A league's run: players join, are met as the record says, and survive a kill to the last bit."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from itertools import combinations

import pytest
import torch
from pipeline_runs import SMALL, Listener, killed, settings_of, untrained

from lanista.errors import LanistaError, RefusedError
from lanista.files import write_bytes
from lanista.games import registry
from lanista.league.population import Population
from lanista.learn.learner import Learner
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.runs.checkpoints import Checkpoints, read_state
from lanista.runs.database import RunDatabase
from lanista.runs.folder import folder_of
from lanista.runs.resolve import resolve
from lanista.runs.schema import TABLES
from lanista.runs.settings import Evaluation
from lanista.training import loop
from lanista.training.learner_loop import LearnerLoop
from lanista.training.loop import train

LEAGUE = {
    "game": "kuhn",
    "iterations": 8,
    "network": SMALL,
    "learning": {"terms": {"policy": 1.0, "value": 0.5, "entropy": 0.01}, "lr": 0.01},
    "rollouts": {"matches": 48, "slots": 20, "opponents": ["self", "random"]},
    "evaluation": {"every": 2, "bots": ["random"], "matches": 40},
    "checkpoints": {"save_every": 3, "keep_last": 9},
    "league": {
        "round": 2,
        "main_exploiters": 1,
        "league_exploiters": 1,
        "main": {"snapshot_decisions": 100},
        "main_exploiter": {"snapshot_decisions": 250},
        "league_exploiter": {"snapshot_decisions": 250, "reset_probability": 0.5,
                             "reset_to": "main"},
        "exploiter_check_interval": 5,
        "exploiter_train_steps": 3000,
        "exploiter_games": 100,
        "exploiter_win_threshold": 0.2,
    },
}  # fmt: skip
STREAM = {
    "game": "arena",
    "game_settings": {"duration": 6.0, "seats": 3},
    "iterations": 6,
    "learner_updates": 2,
    "network": {"kind": "lstm", **SMALL},
    "learning": {"policy": "vtrace", "terms": {"policy": 1.0, "value": 0.5, "entropy": 0.01}},
    "rollouts": {"mode": "stream", "unrolls": 12, "unroll_length": 7, "slots": 4,
                 "opponents": ["self", "rusher"]},
    "replay": {"size": 40, "minimum": 8, "batch": 6},
    "checkpoints": {"save_every": 2},
    "league": {
        "round": 1,
        "main_exploiters": 1,
        "main": {"snapshot_decisions": 60},
        "main_exploiter": {"snapshot_decisions": 100, "reset_to": "scratch"},
    },
}  # fmt: skip


SLOW_EXPLOITERS = {
    **LEAGUE,
    "league": {
        **LEAGUE["league"],
        "main_exploiter": {"snapshot_decisions": 250, "every": 2},
        "league_exploiter": {"snapshot_decisions": 250, "every": 3},
    },
}
SLOW_STREAM = {
    **STREAM,
    "league": {**STREAM["league"], "main_exploiter": {"snapshot_decisions": 100, "every": 2}},
}


PSRO = {
    **LEAGUE,
    "league": {
        "round": 2,
        "main": {
            "snapshot_decisions": 100,
            "matchmaking": {"kind": "psro", "matrix_games": 60, "matrix_unit": "gain"},
        },
    },
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    output = tmp_path_factory.mktemp("league") / "p.pt"
    assert train(settings_of(LEAGUE), output) == 0
    return output


def rows(output, table, what="*"):
    with closing(sqlite3.connect(folder_of(output) / "run.db")) as database:
        return database.execute(f"SELECT {what} FROM {table}").fetchall()


def tables(output):
    """Return all that was recorded, clocks and what was said aside."""
    found = {name: rows(output, name) for name in TABLES if name != "notices"}
    found["metrics"] = [row for row in found["metrics"] if not row[1].endswith("seconds")]
    return found


def weights(output):
    state = Checkpoints(folder_of(output) / "checkpoints").newest_good()[1]
    return {name: each["learner"]["policy"] for name, each in state["learners"].items()}


def same_weights(one, other):
    one, other = weights(one), weights(other)
    return one.keys() == other.keys() and all(
        bool((one[name][key] == other[name][key]).all()) for name in one for key in one[name]
    )


@pytest.mark.parametrize(
    ("values", "update"),
    [
        (LEAGUE, 5),
        (LEAGUE, 8),
        (STREAM, 11),
        (SLOW_EXPLOITERS, 5),
        (SLOW_STREAM, 11),
        (PSRO, 5),
        (PSRO, 8),
    ],
)
def test_killed_between_checkpoints_and_resumed_equals_the_unbroken_league(
    values, update, tmp_path
):
    settings, output = settings_of(values), tmp_path / "b" / "p.pt"
    train(settings, tmp_path / "a" / "p.pt")
    killed(settings, output, update)
    assert train(settings, output, resume=True) == 0
    assert tables(output) == tables(tmp_path / "a" / "p.pt")
    assert same_weights(output, tmp_path / "a" / "p.pt")
    assert output.read_bytes() == (tmp_path / "a" / "p.pt").read_bytes()


def test_exploiters_take_part_in_every_so_many_iterations(tmp_path):
    train(settings_of(SLOW_EXPLOITERS), tmp_path / "p.pt")
    state = Checkpoints(folder_of(tmp_path / "p.pt") / "checkpoints").newest_good()[1]
    updates = {name: one["learner"]["update_count"] for name, one in state["learners"].items()}
    # Of iterations 0 to 7: each, the even ones, and 0, 3 and 6; less where a reset counts from 0.
    assert updates["main"] == 8
    played = {
        learner: sorted(
            {row[0] for row in rows(tmp_path / "p.pt", "training_games") if row[1] == learner}
        )
        for learner in state["learners"]
    }
    assert played["main_exploiter_1"] == [1, 3, 5, 7]
    assert played["league_exploiter_1"] == [1, 4, 7]
    spent = [row[2] for row in sorted(rows(tmp_path / "p.pt", "metrics")) if row[1] == "decisions"]
    assert spent == sorted(spent)  # What a resting learner spent is not forgotten.


def test_every_two_of_a_pool_have_played_once_before_its_matrix_is_solved(tmp_path):
    output = tmp_path / "p.pt"
    train(settings_of(PSRO), output)
    lineups = rows(output, "lineups WHERE reason = 'meta_game'", "update_number, names, lineup")
    pairs = [frozenset(json.loads(names)) for _, names, _ in lineups]
    pool = ["random", *(f"main/{number:06d}" for number in (2, 4, 6))]
    assert set(pairs) == {frozenset(pair) for pair in combinations(pool, 2)}
    # One line-up for each order of seats.
    assert all(pairs.count(pair) == 2 for pair in pairs)
    played = rows(output, "matches", "lineup")
    assert all(played.count((lineup,)) == 30 for _, _, lineup in lineups)
    joined = dict(rows(output, "players", "name, update_number"))
    for update, names, _ in lineups:
        assert update == max(joined[name] for name in json.loads(names))


def test_the_time_of_matches_among_frozen_players_counts_as_the_runs(tmp_path):
    output = tmp_path / "p.pt"
    train(settings_of(PSRO), output)
    metrics = rows(output, "metrics", "update_number, name, value")
    spent = sum(value for _, name, value in metrics if name == "meta_game/cpu_seconds")
    last = {name: value for update, name, value in metrics if update == 8}
    assert spent > 0
    assert last["cpu_seconds"] == pytest.approx(last["main/cpu_seconds"] + spent)
    assert last["matches"] == last["main/matches"] + 60 * 6


def test_a_mixture_of_policies_has_a_nash_conv_and_one_with_a_scripted_player_has_none(tmp_path):
    alone = {**PSRO, "rollouts": {**PSRO["rollouts"], "opponents": ["self"]}}
    train(settings_of(alone), tmp_path / "policies.pt")
    last = dict(rows(tmp_path / "policies.pt", "metrics WHERE update_number = 8", "name, value"))
    assert 0 < last["meta_strategy/nash_conv"] < 3
    assert 1 <= last["meta_strategy/players"] <= 3
    assert last["meta_strategy/unknown_pairs"] == 0
    train(settings_of({**PSRO, "iterations": 2}), tmp_path / "bot.pt")
    # Before the first snapshot the bot is all there is.
    first = dict(rows(tmp_path / "bot.pt", "metrics WHERE update_number = 2", "name, value"))
    assert first["meta_strategy/players"] == 1
    assert "meta_strategy/nash_conv" not in first


def test_gains_in_a_matrix_need_two_seats_that_play_for_each_others_loss(tmp_path):
    league = {"main": {"matchmaking": {"kind": "psro", "matrix_unit": "gain"}}}
    with pytest.raises(LanistaError, match=r"main\.matchmaking\.matrix_unit is gain, and arena"):
        train(settings_of({**STREAM, "league": league}), tmp_path / "p.pt")


def test_a_main_does_not_rest():
    with pytest.raises(LanistaError, match=r"league\.main\.every is 2"):
        settings_of({**LEAGUE, "league": {"main": {"every": 2}}})


def test_a_payoff_rebuilt_from_the_tables_is_the_one_that_grew_with_the_run(tmp_path, monkeypatch):
    grown = []
    count = Population.count
    monkeypatch.setattr(Population, "count", lambda self, *given: (count(self, *given),
                                                              grown.append(self))[0])  # fmt: skip
    output = tmp_path / "p.pt"
    train(settings_of(LEAGUE), output)
    population = grown[-1]
    again = Population(settings_of(LEAGUE), folder_of(output), LearnerLoop)
    metrics = RunDatabase(folder_of(output) / "run.db")
    again.load(population.state(), metrics)
    metrics.close()
    assert again.roster == population.roster
    (life,) = population.payoffs
    before, after = population.payoffs[life], again.payoffs[life]
    assert before.names == after.names
    pairs = [(a, b) for a in before.names for b in before.names]
    assert [before.counts(*pair) for pair in pairs] == [after.counts(*pair) for pair in pairs]
    assert before.games("main", "random") > 0


def test_every_player_met_in_training_stands_in_the_record_with_its_digest(finished):
    digests = dict(rows(finished, "players", "name, digest"))
    met = {
        (update, learner, who)
        for update, learner, who in rows(
            finished, "matchmaking", "update_number, learner, opponent"
        )
    }
    rounds = sorted({update for update, _, _ in met})
    games = rows(finished, "training_games", "update_number, learner, seating, digests")
    assert {learner for _, learner, *_ in games} == {
        "main", "main_exploiter_1", "league_exploiter_1",
    }  # fmt: skip
    for update, learner, seating, played in games:
        at = max(number for number in rounds if number <= update)
        for who, digest in zip(json.loads(seating), json.loads(played), strict=True):
            assert who == learner or (at, learner, who) in met
            assert digest == (digests[who] or f"learner:{who}")


def test_both_seats_are_played_equally_against_every_opponent(finished):
    games = {}
    for seating, matches in rows(finished, "training_games", "seating, matches"):
        seats = tuple(json.loads(seating))
        games[seats] = games.get(seats, 0) + matches
    assert len({frozenset(seats) for seats in games if len({*seats}) > 1}) > 5
    assert all(games[seats[::-1]] == matches for seats, matches in games.items())


def test_snapshots_join_and_exploiters_begin_anew_as_recorded(finished):
    players = {row[0]: row[1:] for row in rows(finished, "players", "name, category, role, kind")}
    assert players["main/000002"] == ("past", "main", "policy")
    assert any(name.startswith("main_exploiter_1/") for name in players)
    resets = rows(finished, "events WHERE kind = 'reset'", "player, body")
    assert ("main_exploiter_1", '{"to": "scratch"}') in resets
    parents = dict(rows(finished, "players", "name, parents"))
    assert parents["main/000004"] == '["main/000002"]'
    again = [name for name in parents if name.startswith("main_exploiter_1/")]
    assert {parents[name] for name in again} == {"[]"}
    for name, digest in rows(finished, "players WHERE kind = 'policy'", "name, digest"):
        assert load_policy(folder_of(finished) / "policies" / f"{digest}.safetensors"), name


def test_an_admitted_exploiter_is_met_from_the_next_iteration_on(finished):
    (event,) = rows(finished, "events WHERE kind = 'exploiter_admitted'", "update_number, body")
    update, body = event[0], json.loads(event[1])
    assert update == 6
    assert body["low"] > body["threshold"]
    assert body["budget_decisions"] >= 2500
    met = rows(finished, f"matchmaking WHERE update_number = {update}", "learner, opponent")
    assert ("main", "exploiter/000005") in met
    (lineups,) = rows(finished, "lineups WHERE reason = 'exploiter'", "COUNT(*)")
    assert lineups == (2,)


def test_the_policy_handed_out_is_the_last_that_was_promoted(finished):
    bodies = [json.loads(b) for (b,) in rows(finished, "events WHERE kind = 'promotion'", "body")]
    assert bodies
    assert load_policy(finished).digest == bodies[-1]["digest"]
    exact = [body["nash_conv"] for body in bodies]
    assert exact == sorted(exact, reverse=True)


def test_metrics_tell_of_categories_and_of_weights(finished):
    names = {name for (name,) in rows(finished, "metrics", "DISTINCT name")}
    assert {"win_rate/self", "win_rate/past", "win_rate/exploiter", "win_rate/bot"} <= names
    assert {"matchmaking/self", "matchmaking/past", "matchmaking/bot"} <= names
    assert {"main_exploiter_1/policy/loss", "main_exploiter_1/win_rate/main"} <= names
    for update in range(1, 9):
        shares = rows(
            finished,
            f"metrics WHERE update_number = {update} AND name LIKE 'matchmaking/%'",
            "value",
        )
        assert sum(value for (value,) in shares) == pytest.approx(1)


def test_swapping_two_opponents_files_swaps_their_results(tmp_path):
    strong, weak = (untrained(LEAGUE, tmp_path / f"{n}.pt", seed=n) for n in (3, 4))

    def returns(first, second, at):
        (tmp_path / at).mkdir()
        for name, file in (("a.pt", first), ("b.pt", second)):
            shutil.copy(file, tmp_path / at / name)
        settings = settings_of(
            LEAGUE, iterations=1, league=None,
            rollouts={"matches": 400, "opponents": [str(tmp_path / at / n) for n in
                                                    ("a.pt", "b.pt")]},
        )  # fmt: skip
        train(settings, tmp_path / at / "p.pt")
        found = rows(tmp_path / at / "p.pt", "training_games", "digests, first_match, returns")
        return {(d, f): r for d, f, r in found}

    one, other = returns(strong, weak, "one"), returns(weak, strong, "other")
    digests = {digest for key in one for digest in json.loads(key[0])}
    assert {load_policy(strong).digest, load_policy(weak).digest} < digests
    # The same seats and ids are drawn; who sits there is what was swapped.
    swap = {load_policy(strong).digest: load_policy(weak).digest}
    swap |= {new: old for old, new in swap.items()}
    turned = {(json.dumps([swap.get(d, d) for d in json.loads(k)]), f) for k, f in other}
    assert turned == set(one)
    assert one != other


def test_a_leagues_anchor_is_the_policy_it_began_from_to_the_end(tmp_path, monkeypatch):
    """Looked at where it is used: in the learners that played, at every one of their updates."""
    start = untrained(LEAGUE, tmp_path / "sup.pt")
    settings = settings_of(
        LEAGUE, supervised_checkpoint=str(start),
        learning={"terms": {"policy": 1.0, "value": 0.5, "anchor_reverse": 0.1}, "lr": 0.01},
    )  # fmt: skip
    output, updated, wanted = tmp_path / "p.pt", [], load_policy(start).policy.state_dict()
    learn = Learner.update

    def watched(learner, unrolls, **alone):
        if "anchor" in learner.references.policies:  # An exploiter's own run has none.
            anchor = learner.references.policies["anchor"].state_dict()
            assert all(bool((anchor[key] == wanted[key]).all()) for key in wanted)
            policy = learner.policy.state_dict()
            moved = not all(bool((policy[key] == wanted[key]).all()) for key in wanted)
            updated.append((learner, moved))
        return learn(learner, unrolls, **alone)

    monkeypatch.setattr(Learner, "update", watched)
    killed(settings, output, 5)
    assert train(settings, output, resume=True) == 0
    ((name, found),) = rows(output, "players WHERE category = 'start'", "name, digest")
    assert (name, found) == ("start", load_policy(start).digest)
    # Three learners before the kill, three after it, and those that began anew; all have moved.
    assert len({id(learner) for learner, _ in updated}) > 6
    assert len({id(learner) for learner, moved in updated if moved}) > 5
    assert len(updated) >= 3 * (5 + 5)


def test_imitation_is_the_name_of_a_clone_and_of_nothing_else(tmp_path):
    def clone(path, **about):
        loaded = load_policy(untrained(LEAGUE, path))
        save_policy(path, loaded.policy, registry.spec_of(LEAGUE["game"]), **about)
        return str(path)

    def players(name, **settings):
        folder = tmp_path / f"{name}.run"
        run = resolve(settings_of(LEAGUE, **settings))
        (folder / "policies").mkdir(parents=True)
        for file, data in run[1].items():
            (folder / "policies" / file).write_bytes(data)
        with closing(Population(run[0], folder, LearnerLoop)) as population:
            population.enter(rows := population.first_rows())
            main = population.frozen(population.main).row
        return {row.name: row.category for row in rows if row.kind == "policy"}, main.parents

    copy = clone(tmp_path / "copy.pt", extra={"imitates": "sound"})
    trained = clone(tmp_path / "trained.pt", name="trained")
    assert players("a", supervised_checkpoint=copy) == ({"imitation": "imitation"}, ("imitation",))
    assert players("b", supervised_checkpoint=trained) == ({"start": "start"}, ("start",))
    both = {
        "supervised_checkpoint": trained,
        "rollouts": {"matches": 8, "opponents": ["self", copy]},
    }
    assert players("c", **both) == ({copy: "imitation", "start": "start"}, ("start",))


def test_a_league_goes_by_its_tables_and_refuses_damaged_ones(tmp_path):
    output = tmp_path / "p.pt"
    settings = settings_of(LEAGUE, iterations=4)
    train(settings, output)
    with closing(sqlite3.connect(folder_of(output) / "run.db")) as database:
        database.execute("DELETE FROM training_games WHERE update_number = 2")
        database.commit()
    with pytest.raises(RefusedError, match="The league goes by them"):
        train(settings_of(LEAGUE, iterations=5), output, resume=True)


TURNS = {
    **LEAGUE,
    "iterations": 4,
    "evaluation": {},
    "checkpoints": {"save_every": 1, "keep_last": 9},
    "league": {"mains": 2, "round": 9, "exploiter_check_interval": 1, "exploiter_games": 8,
               "exploiter_train_steps": 300, "exploiter_win_threshold": 0.0},
}  # fmt: skip


def victims_in_turn(output):
    """Return each exploiter's victim, in order, and whether it was that main's policy then."""
    mains = []
    for player, body in rows(output, "events WHERE kind LIKE 'exploiter_%'", "player, body"):
        body, iteration = json.loads(body), int(player.rpartition("/")[2])
        path = Checkpoints(folder_of(output) / "checkpoints").path(iteration)
        policy = read_state(path)["learners"][body["victim"]]["learner"]["policy"]
        digest = body["victim_digest"]
        frozen = load_policy(folder_of(output) / "policies" / f"{digest}.safetensors").policy
        same = all(bool((policy[key] == each).all()) for key, each in frozen.state_dict().items())
        mains.append((body["victim"], same))
    return mains


def test_several_mains_are_exploited_in_turn_also_by_a_resumed_league(tmp_path):
    settings, heard = settings_of(TURNS), Listener()
    whole, broken = tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt"
    train(settings, whole, observers=[heard])
    assert victims_in_turn(whole) == [("main_1", True), ("main_2", True), ("main_1", True)]
    sentences = [sentence for sentence in heard.sentences if sentence.startswith("An exploiter of")]
    assert [each.split()[3] for each in sentences] == ["main_1", "main_2", "main_1"]
    names = rows(whole, "lineups WHERE reason = 'exploiter'", "names")
    assert {who for (text,) in names for who in json.loads(text)} >= {"main_1", "main_2"}
    parents = dict(rows(whole, "players WHERE category = 'exploiter'", "name, parents"))
    assert json.loads(parents["exploiter/000002"]) == ["main_2"]
    killed(settings, broken, 2)
    assert train(settings, broken, resume=True) == 0
    assert tables(broken) == tables(whole)


def test_several_mains_each_have_their_numbers(tmp_path):
    output = tmp_path / "p.pt"
    league = {"mains": 2, "round": 2, "main": {"snapshot_decisions": 100}}
    assert train(settings_of(LEAGUE, iterations=4, league=league), output) == 0
    names = {name for (name,) in rows(output, "players", "name")}
    assert {"main_1", "main_2", "main_1/000002", "main_2/000002"} <= names
    metrics = {name for (name,) in rows(output, "metrics", "DISTINCT name")}
    assert {"score/random", "main_2/score/random"} <= metrics


def test_a_league_of_three_seats_draws_every_seat_on_its_own(tmp_path):
    output = tmp_path / "p.pt"
    settings = settings_of(
        STREAM, iterations=1, learner_updates=1, replay={}, network=SMALL,
        rollouts={"matches": 60, "opponents": ["self", "rusher", "kiter", "random"]},
        league={"main": {"matchmaking": {"kind": "uniform"}}},
    )  # fmt: skip
    train(settings, output)
    seatings = {tuple(json.loads(s)) for (s,) in rows(output, "training_games", "seating")}
    assert all(len(seating) == 3 for seating in seatings)
    assert any(len(set(seating)) == 3 for seating in seatings)
    for pairs, matches in rows(output, "training_games", "pairs, matches"):
        assert [sum(pair) for pair in json.loads(pairs)] == [matches] * 3


def test_an_exploiter_from_an_imitation_that_is_not_there_is_refused_in_a_sentence(tmp_path):
    league = {**LEAGUE["league"], "exploiter_from": "imitation"}
    with pytest.raises(LanistaError, match="no imitation policy"):
        train(settings_of(LEAGUE, league=league), tmp_path / "p.pt")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_beside_an_exploiter_is_removed(tmp_path):
    settings, output = settings_of(LEAGUE), tmp_path / "p.pt"
    killed(settings, output, 7)
    folder = folder_of(output) / "exploiters"
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    left = folder / f".tmp-{int(gone.stdout)}-{'0' * 16}.part"
    left.write_bytes(b"half")
    assert train(settings, output, resume=True) == 0
    assert folder.is_dir()
    assert not left.exists()


def test_a_stopped_exploiter_is_gone_on_with(tmp_path):
    settings, output = settings_of(LEAGUE), tmp_path / "b" / "p.pt"
    train(settings, tmp_path / "a" / "p.pt")
    asked = []

    def stop():
        asked.append(1)
        return len(asked) == 8  # Five iterations of the league, then some of the exploiter's.

    listener = Listener()
    assert train(settings, output, stop=stop, observers=[listener]) == 130
    assert (folder_of(output) / "exploiters").is_dir()
    assert not rows(output, "events WHERE kind LIKE 'exploiter%'")
    assert train(settings, output, resume=True) == 0
    assert tables(output) == tables(tmp_path / "a" / "p.pt")


def test_a_stopped_exploiter_is_gone_on_with_where_players_joined_before_it(tmp_path):
    league = {**LEAGUE["league"], "exploiter_check_interval": 2, "exploiter_train_steps": 1000}
    settings = settings_of(
        LEAGUE, iterations=3, league=league, evaluation={}, checkpoints={"save_every": 9}
    )
    unbroken, output = tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt"
    train(settings, unbroken)
    assert rows(unbroken, "events WHERE kind IN ('snapshot', 'reset') AND update_number = 3")
    begun = folder_of(output) / "exploiters"
    assert train(settings, output, stop=begun.exists) == 130
    assert train(settings, output, resume=True) == 0
    assert tables(output) == tables(unbroken)
    assert same_weights(output, unbroken)


def test_a_policy_that_could_not_be_kept_is_not_handed_out(tmp_path, monkeypatch):
    def full(path, data):
        if path.parent.name == "policies":
            raise OSError(28, "No space left on device")
        write_bytes(path, data)

    monkeypatch.setattr(loop, "write_bytes", full)
    output, listener = tmp_path / "p.pt", Listener()
    settings = settings_of(LEAGUE, iterations=2, league={})
    assert train(settings, output, observers=[listener]) == 0
    assert any("could not be kept" in sentence for sentence in listener.sentences)
    assert not rows(output, "events WHERE kind = 'promotion'")
    assert load_policy(output)


@pytest.fixture
def exploited(tmp_path):
    """Return settings of a small league with an exploiter at iteration 2, and its run."""
    league = {**LEAGUE["league"], "round": 1, "exploiter_check_interval": 2,
              "exploiter_train_steps": 1000,
              "main": {"matchmaking": {"kind": "pfsp_hard", "p": 60.0}}}  # fmt: skip
    settings = settings_of(
        LEAGUE, iterations=3, league=league, checkpoints={"save_every": 1, "keep_last": 9},
        evaluation={"every": 1, "bots": ["random"], "matches": 400},
    )  # fmt: skip
    output = tmp_path / "p.pt"
    train(settings, output)
    return settings, output


def victims(output):
    bodies = rows(output, "events WHERE kind LIKE 'exploiter%'", "body")
    return [json.loads(body)["victim_digest"] for (body,) in bodies]


def test_an_exploiter_of_a_future_that_was_given_up_is_trained_anew(exploited, tmp_path):
    settings, output = exploited
    before = victims(output)
    # Meeting nobody in evaluation, the league goes by other results.
    settings = replace(settings, evaluation=Evaluation())
    train(settings, output, checkpoint=folder_of(output) / "checkpoints" / "000000")
    anew = tmp_path / "anew" / "p.pt"
    train(settings, anew)
    assert tables(output) == tables(anew)
    assert victims(output) != before


def test_a_damaged_exploiter_is_refused_and_left_where_it_is(exploited):
    settings, output = exploited
    (database,) = folder_of(output).glob("exploiters/*.run/*.run/run.db")
    database.write_bytes(b"no database")
    with pytest.raises(RefusedError, match="is damaged"):
        train(settings, output, checkpoint=folder_of(output) / "checkpoints" / "000002")
    assert database.read_bytes() == b"no database"


def test_after_an_exploiter_a_league_has_its_threads_again(tmp_path):
    class Counter(Listener):
        def updated(self, update, values):
            self.updates.append(torch.get_num_threads())

    league = {"exploiter_check_interval": 1, "exploiter_train_steps": 500, "exploiter_games": 20}
    settings = settings_of(LEAGUE, iterations=2, league=league, evaluation={}, threads=2)
    counter = Counter()
    try:
        train(settings, tmp_path / "p.pt", observers=[counter])
    finally:
        torch.set_num_threads(1)
    assert counter.updates == [2, 2]
