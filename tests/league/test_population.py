"""A run's learners and players: what a reset leaves, and who stays out."""

from contextlib import ExitStack, closing
from dataclasses import replace

import pytest
from pipeline_runs import SMALL, killed, last_state, settings_of, untrained
from pipeline_runs import same as same_state

from lanista.games import make_bot, registry
from lanista.league.matchmaking import Meeting
from lanista.league.population import Population
from lanista.nets.files.policy_file import load_policy
from lanista.rollout.collector import LEARNER
from lanista.runs.checkpoints import Checkpoints, read_state
from lanista.runs.database import RunDatabase
from lanista.runs.folder import folder_of, saved_settings
from lanista.runs.schema import EventRow, LineupRow, MatchmakingRow, PlayerRow
from lanista.training.learner_loop import LearnerLoop
from lanista.training.loop import train

VALUES = {
    "game": "kuhn",
    "iterations": 2,
    "network": SMALL,
    "learning": {"terms": {"policy": 1.0, "value": 0.5, "anchor_reverse": 0.1}, "lr": 0.01},
    "rollouts": {"matches": 32, "slots": 10, "opponents": ["self", "random"]},
    "replay": {"size": 100, "batch": 20},
    "league": {"round": 1, "main_exploiters": 1, "main": {"snapshot_decisions": 1}},
}
"""A league that leaves a snapshot of its main after the first iteration."""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("population")
    start = untrained({**VALUES, "learning": {}, "league": None}, folder / "start.pt")
    train(settings_of(VALUES, supervised_checkpoint=str(start)), folder / "p.pt")
    return folder_of(folder / "p.pt")


@pytest.fixture
def population(played):
    """Return the learners as the run left them."""
    found, metrics = (
        Population(saved_settings(played), played, LearnerLoop),
        RunDatabase(played / "run.db"),
    )
    found.load(Checkpoints(played / "checkpoints").newest_good()[1]["learners"], metrics)
    metrics.close()
    return found


def same(one, other):
    return all(bool((one[name] == other[name]).all()) for name in other)


@pytest.mark.parametrize("target", ["main/000001", "imitation", "scratch"])
def test_a_reset_learner_begins_from_its_target_with_nothing_else_left(target, population):
    training = population.trainings["main_exploiter_1"]
    anchor = population.main.anchor.state_dict()
    before = training.learner.policy.state_dict()
    assert len(training.replay) > 0
    decisions, following = training.decisions, training.collector.next_match
    population.reset("main_exploiter_1", target)
    after = training.learner.policy.state_dict()
    if target == "scratch":
        assert not same(after, before)
        assert not same(after, anchor)
    else:
        # "imitation" is whatever the run began from.
        digest = population.roster["start" if target == "imitation" else target].digest
        wanted = load_policy(population.folder / "policies" / f"{digest}.safetensors").policy
        assert same(after, wanted.state_dict())
    assert training.learner.update_count == 0
    assert not training.learner.optimiser.state
    assert len(training.replay) == 0
    assert (training.decisions, training.collector.next_match) == (decisions, following)
    # A policy that plays keeps still while its new critic learns; fresh weights need not.
    assert training.warm_up == 0  # The run is too short for one.
    training.settings = replace(training.settings, iterations=60)
    population.reset("main_exploiter_1", target)
    assert training.warm_up == (0 if target == "scratch" else 6)
    # The anchor stays the policy that the run began from, whatever a learner begins anew from.
    assert same(training.learner.references.policies["anchor"].state_dict(), anchor)


def test_whoever_is_frozen_or_fought_or_judged_is_the_averaged_policy_of_that_moment(tmp_path):
    """A snapshot, an exploiter's victim, an evaluation and the output are one policy: the average.

    What it was at an iteration is read from that iteration's checkpoint.
    """
    league = {"round": 1, "main_exploiters": 1, "main": {"snapshot_decisions": 1},
              "main_exploiter": {"snapshot_decisions": 1}, "exploiter_check_interval": 2,
              "exploiter_train_steps": 500, "exploiter_games": 20}  # fmt: skip
    learning = {"lr": 0.05, "average": 0.9}
    output = tmp_path / "p.pt"
    settings = settings_of(
        VALUES, iterations=3, learning=learning, replay={}, league=league,
        evaluation={"every": 1, "bots": ["random"], "matches": 4},
        checkpoints={"save_every": 1, "keep_last": 9},
    )  # fmt: skip
    train(settings, output)
    folder = folder_of(output)
    metrics = RunDatabase(folder / "run.db")
    frozen = {row.name: row.digest for row in metrics.rows(PlayerRow) if row.digest}
    (victim,) = {
        row.body["victim_digest"]
        for row in metrics.rows(EventRow)
        if row.kind.startswith("exploiter_")
    }
    judged = {}
    for row in metrics.rows(LineupRow):
        if row.reason == "evaluation":
            judged.setdefault(row.update, set()).add(row.digests[row.names.index("main")])
    metrics.close()
    kept = Checkpoints(folder / "checkpoints")
    for iteration in (1, 2, 3):
        learners = read_state(kept.path(iteration))["learners"]
        average = learners["main"]["learner"]["average"]
        # After one update the average is that update's weights, with no share of the start.
        assert same(average, learners["main"]["learner"]["policy"]) == (iteration == 1)
        (digest,) = judged[iteration]
        assert same(weights_of(folder, digest), average)
        if iteration == 2:
            assert same(weights_of(folder, victim), average)
        if iteration < 3:
            for learner in learners:
                name = f"{learner}/{iteration:06d}"
                wanted = learners[learner]["learner"]["average"]
                assert same(weights_of(folder, frozen[name]), wanted), name


def weights_of(folder, digest):
    return load_policy(folder / "policies" / f"{digest}.safetensors").policy.state_dict()


def test_a_refused_exploiter_stays_out_of_the_pool(tmp_path):
    league = {"exploiter_check_interval": 1, "exploiter_train_steps": 500, "exploiter_games": 20,
              "exploiter_win_threshold": 0.99}  # fmt: skip
    output = tmp_path / "p.pt"
    train(settings_of(VALUES, learning={}, replay={}, league=league), output)
    metrics = RunDatabase(folder_of(output) / "run.db")
    (event,) = metrics.rows(EventRow)
    assert (event.update, event.kind, event.player) == (2, "exploiter_refused", "exploiter/000001")
    assert event.body["low"] <= 0.99
    assert event.player not in [row.name for row in metrics.rows(PlayerRow)]
    assert event.player not in [row.opponent for row in metrics.rows(MatchmakingRow)]
    assert {row.reason for row in metrics.rows(LineupRow)} == {"exploiter"}
    metrics.close()


def test_a_league_that_meets_a_bot_from_the_start_plays_ahead_and_is_resumed(tmp_path):
    rollouts = {**VALUES["rollouts"], "launcher": "threads", "workers": 2, "lag": 1}
    league = {"round": 1, "main": {"snapshot_decisions": 1}}
    settings = settings_of({**VALUES, "iterations": 4, "rollouts": rollouts, "learning": {},
                            "replay": {}, "league": league,
                            "checkpoints": {"save_every": 1}})  # fmt: skip
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    killed(settings, tmp_path / "b" / "p.pt", 3)
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same_state(*(last_state(tmp_path / name / "p.pt") for name in "ab"))


def test_the_logged_lag_is_the_mean_and_the_largest_age_of_the_weights_that_acted(population):
    learner, ages, logs = population.main.learner, [], []
    learn = learner.update

    def watched(unrolls, **alone):
        ages.append(learner.update_count - unrolls.update)
        return learn(unrolls, **alone)

    learner.update = watched
    population.meet(population.matchmake())
    for _ in range(3):
        logs += [log for _, log in population.main.iterate()]
    assert any(age.min() < age.max() for age in ages)
    wanted = [(float(age.mean()), float(age.max())) for age in ages]
    assert [(log["lag/mean"], log["lag/max"]) for log in logs] == wanted


def random_bot(name, device):
    return make_bot("kuhn", "random", registry.spec_of("kuhn"), 0)


@pytest.fixture
def training_of(tmp_path):
    """Make learners that are closed in the end."""
    with ExitStack() as stack:

        def make(rollouts, find=random_bot):
            values = {"game": "kuhn", "network": SMALL, "rollouts": {"slots": 7, **rollouts}}
            return stack.enter_context(closing(LearnerLoop(settings_of(values), tmp_path, find)))

        yield make


def iterate(training):
    for _ in training.iterate():
        pass


def test_a_match_in_flight_is_counted_under_the_reason_for_which_it_began(training_of):
    training = training_of({"mode": "stream", "unrolls": 9, "unroll_length": 2})
    training.meet([Meeting("a", 1.0, "first", "bot")])
    iterate(training)
    training.meet([Meeting("b", 1.0, "second", "bot")])
    following = training.collector.next_match
    iterate(training)
    reasons = set()
    for row in training.games(1):
        began_before = row.reason == "first"
        assert (row.first_match < following) == (row.last_match < following) == began_before
        assert ("a" in row.seating) == began_before
        reasons.add(row.reason)
    assert reasons == {"first", "second"}


def test_after_whole_matches_those_who_are_met_no_more_are_let_go(training_of):
    training = training_of({"matches": 20})
    training.meet([Meeting("a", 1.0, "first", "bot")])
    iterate(training)
    training.meet([Meeting("b", 1.0, "second", "bot")])
    assert list(training.players) == ["b"]
    assert training.chairs == [("b", "second")]
    iterate(training)
    assert {row.reason for row in training.games(1)} == {"second"}


def test_players_are_made_in_the_same_order_in_every_process(training_of):
    """So that of several that cannot be read, always the same one is named."""
    names, made = list("hgfedcba"), []

    def find(name, device):
        made.append(name)
        return random_bot(name, device)

    training = training_of({"matches": 20}, find)
    training.meet([Meeting(name, 1.0, "a reason", "bot") for name in names])
    assert made == sorted(names)


def test_a_chair_that_nobody_sits_on_any_more_is_given_to_whoever_comes(training_of):
    training = training_of({"mode": "stream", "unrolls": 9, "unroll_length": 2})
    training.meet([Meeting("a", 1.0, "first", "bot"), Meeting("b", 1.0, "first", "bot")])
    iterate(training)
    training.meet([Meeting("b", 1.0, "first", "bot")])
    for _ in range(10):  # Until no match with a is left.
        iterate(training)
    training.meet([Meeting("b", 1.0, "first", "bot"), Meeting("c", 1.0, "third", "bot")])
    assert training.chairs == [("c", "third"), ("b", "first")]
    training.meet([Meeting("b", 1.0, "first", "bot"), Meeting("d", 1.0, "third", "bot")])
    iterate(training)
    assert {row.reason for row in training.games(1)} >= {"first", "third"}


def test_whoever_stays_keeps_a_chair_that_no_match_in_flight_needs(training_of):
    training = training_of({"mode": "stream", "unrolls": 9, "unroll_length": 2})
    seldom = {"a": 1.0, "b": 1e-12, "c": 1e-12}
    training.meet([Meeting(name, weight, "first", "bot") for name, weight in seldom.items()])
    iterate(training)
    assert training.collector.in_flight() <= {LEARNER, 1}
    training.meet([Meeting(name, 1.0, "first", "bot") for name in "bde"])
    assert [name for name, _ in training.chairs] == ["a", "b", "d", "e"]


def test_players_of_a_league_are_found_on_the_device_that_is_asked_for(population):
    where = {
        device: next(population.find("main/000001", device).actor.policy.parameters()).device.type
        for device in ("cpu", "meta")
    }
    assert where == {"cpu": "cpu", "meta": "meta"}
