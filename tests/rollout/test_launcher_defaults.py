"""What holds where nothing else is said: the defaults of rollouts, and their fixed sizes."""

import inspect
from types import SimpleNamespace

import torch

from lanista.games import make
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import play as play_matches
from lanista.rollout import replay_recorder, schedule
from lanista.rollout.chunks import Played
from lanista.rollout.collect_worker import CollectWorker
from lanista.rollout.collector import LEARNER, Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.client import Note, RemoteActor
from lanista.rollout.inference.policy_players import EnsemblePlayer, ensemble_player, policy_player
from lanista.rollout.inference.server import Measures
from lanista.rollout.launchers import restarts, shared_memory
from lanista.rollout.launchers.processes import PATIENCE, WorkerError
from lanista.rollout.match_runner import Results, play_blocks
from lanista.rollout.parallel_collector import ParallelCollector
from lanista.rollout.schedule import rotations


def defaults(call):
    """Return the defaults of a call by name; those that are None are left out."""
    told = inspect.signature(call).parameters.values()
    return {
        each.name: each.default
        for each in told
        if each.default is not inspect.Parameter.empty and each.default is not None
    }


def test_an_actor_samples_at_temperature_1_in_full_precision_and_without_blocks():
    assert defaults(Actor) == {
        "temperature": 1.0, "greedy": False, "precision": torch.float32, "block": 0,
        "graphs": False, "log_probs": False,
    }  # fmt: skip


def test_players_sample_at_temperature_1_and_those_of_files_in_blocks():
    assert defaults(EnsemblePlayer) == {"greedy": False, "temperature": 1.0}
    assert defaults(ensemble_player) == {"greedy": False, "temperature": 1.0}
    of_a_file = {"greedy": False, "temperature": 1.0, "block": 64, "device": "cpu"}
    assert defaults(policy_player) == of_a_file


def test_a_collector_keeps_what_is_needed_and_begins_with_match_0():
    assert defaults(Collector) == {
        "opponents": (), "shaping_scale": 0.0, "keep_log_probs": False, "keep_privileged": False,
        "first_match": 0, "stagger": 0, "keep_opponents": False, "keep_frozen": False,
        "lost_again": 0.0,
    }  # fmt: skip
    game = make("kuhn", slots=2, seed=0)
    collector = Collector(game, Actor(Policy(game.spec, Network()), 0), unroll_length=4)
    assert (collector.update, collector.streaming, collector.next_match) == (0, False, 0)
    assert LEARNER == 0


def test_a_request_is_for_the_first_weights_at_temperature_1():
    assert Note("choose") == ("choose", 0, 1.0, False, 0.0, None)
    assert defaults(RemoteActor) == {"log_probs": False}
    remote = RemoteActor(SimpleNamespace())
    assert (remote.temperature, remote.version, remote.log_probs) == (1.0, 0, False)


def test_a_fleet_plays_in_turn_and_without_lag():
    assert defaults(ParallelCollector) == {"launcher": "serial", "lag": 0, "sends": False}
    assert defaults(CollectWorker.collect) == {"sends": False}
    assert defaults(Played) == {"cpu_seconds": 0.0}
    game = make("kuhn", slots=2, seed=0)
    fleet = ParallelCollector([], [], Actor(Policy(game.spec, Network()), 0), 2)
    assert (fleet.update, fleet.cpu_seconds, fleet.streaming) == (0, 0.0, False)
    assert (PATIENCE, WorkerError("It died.").exit_code) == (10.0, 1)
    assert (restarts.MOST_BARREN, restarts.FIRST_PAUSE) == (5, 0.25)


def test_schedules_begin_at_0_and_results_without_times_have_none():
    assert defaults(rotations) == {"first_match": 0, "first_deal": 0}
    assert defaults(play_blocks) == {"block": 10_000, "record": False}
    assert defaults(play_matches) == {"record": False}
    assert defaults(Results) == {"wall_seconds": 0.0, "cpu_seconds": 0.0}
    assert schedule.FIRST_BLOCK == 32
    assert (replay_recorder.MOST_MATCHES, replay_recorder.MOST_CHOICES) == (10_000, 10_000_000)


def test_shared_memory_lies_in_cache_lines_and_segments_of_64_kib_at_least():
    assert (shared_memory.ALIGN, shared_memory.SMALLEST) == (64, 65536)
    assert defaults(shared_memory.Outbox) == {"slots": 2}


def test_rows_of_an_inference_are_counted_from_1_to_65536():
    measures = Measures()
    for rows in (1, 2, 65536, 65537):
        measures.rows.add(rows)
    found = measures.flat()
    for place in ("to_1", "to_2", "to_65536", "over_65536"):
        assert found[f"inference/rows/{place}"] == 1
    assert found["inference/closed_by_full"] == 0
