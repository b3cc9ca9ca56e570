"""Central inference: who was batched with whom changes nothing, and nobody is left waiting."""

import os
import signal
import sys
import time
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle

import numpy as np
import pytest
import torch
from central_tables import (
    NEVER,
    actor_of,
    answering,
    asking_twice,
    both_play,
    collector_of,
    in_thread,
    open_files,
    played,
    playing,
    process_of,
    remotes,
    same_choice,
    same_columns,
    started,
    until,
    waiting,
)

from lanista.data.trajectory import to_arrays
from lanista.errors import LanistaError
from lanista.rollout.inference.client import RemoteActor
from lanista.rollout.inference.server import InferenceServer, Measures, joined, part_of
from lanista.rollout.timing import INFER, WAIT


@pytest.fixture
def centrals():
    """Make centrals that are closed in the end."""
    made = []

    def central(actor, workers=2, *, batch=10**6, deadline=NEVER, **more):
        made.append(InferenceServer(actor, workers, batch=batch, deadline=deadline, **more))
        return made[-1]

    yield central
    for each in made:
        each.close()


@pytest.mark.parametrize(
    ("name", "workers", "more", "rounds"),
    [
        ("kuhn", 1, {"keep_privileged": True}, (8, 20, 8)),
        ("arena", 3, {"keep_log_probs": True}, (3, 6, 3)),
        pytest.param("arena", 3, {"keep_log_probs": True}, (8, 20, 8), marks=pytest.mark.slow),
    ],
)
def test_workers_play_as_they_would_with_an_actor_of_their_own(
    centrals, name, workers, more, rounds
):
    privileged = "keep_privileged" in more
    actor = actor_of(name, critic=True, privileged=privileged)
    central = centrals(actor, workers, batch=6, deadline=0.005)
    members = [
        process_of(playing, central.attach(number), name, number, rounds, more)
        for number in range(workers)
    ]
    for number, (process, pipe) in enumerate(members):
        alone = actor_of(name, critic=True, privileged=privileged)
        for expected in played(collector_of(name, alone, number, **more), rounds):
            same_columns(pipe.recv(), expected)
        wall = pipe.recv()
        assert wall[WAIT] > 0
        assert INFER not in wall
        process.join()
        assert process.exitcode == 0
    until(lambda: not central._lines)
    found = central.measured()
    closings = [found[f"inference/closed_by_{why}"] for why in ("full", "everybody", "deadline")]
    assert found["inference/batches"] == sum(closings) > 0
    assert central.taken()[0][INFER] > 0


def test_workers_with_a_recurrent_policy_play_as_they_would_alone(centrals):
    workers = remotes(centrals(actor_of(kind="lstm", critic=True), 3, batch=6, deadline=0.005), 3)
    collectors = [collector_of("kuhn", remote, number) for number, remote in enumerate(workers)]
    plays = [in_thread(played, each, (8, 20, 8)) for each in collectors]
    for number, play in enumerate(plays):
        alone = collector_of("kuhn", actor_of(kind="lstm", critic=True), number)
        for found, expected in zip(play(), played(alone, (8, 20, 8)), strict=True):
            same_columns(found, expected)


def test_one_inference_answers_all_who_wait(centrals):
    actor = actor_of(critic=True)
    central = centrals(actor)
    first, second = both_play(central)
    asked = []
    actor.policy.torso.register_forward_pre_hook(lambda _, given: asked.append(len(given[0])))
    mine, theirs = started(3, 10), started(5, 20)
    waits = in_thread(first.choose, mine, np.arange(3))
    choice = second.choose(theirs, np.arange(1, 5))
    alone = actor_of(critic=True)
    same_choice(choice, alone.choose(theirs, np.arange(1, 5)))
    same_choice(waits(), alone.choose(mine, np.arange(3)))
    assert len(asked) == 1
    found = central.measured()
    assert found["inference/rows/largest"] == 7
    assert found["inference/rows/to_8"] == found["inference/batches"] == 1


def test_log_probabilities_of_all_choices_are_sent_only_where_they_are_wanted(centrals):
    central, decisions = centrals(actor_of()), started(3)
    wants, does_not = RemoteActor(central.attach(0), log_probs=True), RemoteActor(central.attach(1))
    expected = actor_of().choose(decisions, np.arange(3))
    same_choice(wants.choose(decisions, np.arange(3)), expected)
    wants.rest()
    choice = does_not.choose(decisions, np.arange(3))
    np.testing.assert_array_equal(choice.action, expected.action)
    with pytest.raises(ValueError, match="log_probs=True"):
        _ = choice.log_probs


def test_a_batch_is_closed_when_everybody_waits(centrals):
    central = centrals(actor_of())
    first, second = both_play(central)
    waits = in_thread(first.choose, started(1), np.arange(1))
    until(lambda: waiting(central) == [0])
    second.choose(started(1), np.arange(1))
    waits()
    found = central.measured()
    assert found["inference/closed_by_everybody"] == found["inference/batches"] == 1


def test_a_batch_is_closed_when_enough_rows_wait(centrals):
    central = centrals(actor_of(), batch=4)
    first, second = both_play(central)
    waits = in_thread(first.choose, started(3), np.arange(3))
    until(lambda: waiting(central) == [0])
    assert central.measured()["inference/batches"] == 0
    second.choose(started(1), np.arange(1))
    waits()
    first.choose(started(4), np.arange(4))
    found = central.measured()
    assert found["inference/closed_by_full"] == found["inference/batches"] == 2


def test_a_batch_is_closed_when_the_oldest_request_has_waited_enough(centrals):
    central = centrals(actor_of(), deadline=0.05)
    first, _second = both_play(central)
    began = time.monotonic()
    first.choose(started(1), np.arange(1))
    assert time.monotonic() - began >= 0.05
    found = central.measured()
    assert found["inference/closed_by_deadline"] == found["inference/batches"] == 1


def test_nobody_waits_for_a_worker_that_rests(centrals):
    central = centrals(actor_of())
    first, second = both_play(central)
    second.rest()
    first.choose(started(1), np.arange(1))
    # Back with its next request, and waited for again.
    waits = in_thread(second.choose, started(1), np.arange(1))
    until(lambda: waiting(central) == [1])
    first.choose(started(1), np.arange(1))
    waits()
    waits = in_thread(first.choose, started(1), np.arange(1))
    until(lambda: waiting(central) == [0])
    second.rest()
    waits()


def test_a_worker_killed_while_it_waits_is_dropped_and_the_others_go_on(centrals):
    central = centrals(actor_of())
    here = RemoteActor(central.attach(1), log_probs=True)
    here.choose(started(2), np.arange(2))
    process, pipe = process_of(asking_twice, central.attach(0))
    assert pipe.recv() == "asks"
    until(lambda: waiting(central) == [0])
    here.choose(started(2), np.arange(2))
    assert pipe.recv() == "answered"
    until(lambda: waiting(central) == [0])
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    central.measured()
    same_choice(here.choose(started(2), np.arange(2)), actor_of().choose(started(2), np.arange(2)))
    assert central.measured()["inference/rows/largest"] == 2
    # Another takes its place.
    there = RemoteActor(central.attach(0), log_probs=True)
    waits = in_thread(there.choose, started(3), np.arange(3))
    until(lambda: waiting(central) == [0])
    here.choose(started(2), np.arange(2))
    same_choice(waits(), actor_of().choose(started(3), np.arange(3)))


def test_a_worker_whose_central_was_killed_does_not_hang():
    process, pipe = process_of(answering)
    remote = RemoteActor(Connection(recv_handle(pipe)))
    waits = in_thread(remote.choose, started(2), np.arange(2))
    assert pipe.recv() == "running"
    process.kill()
    process.join()
    error = waits()
    assert isinstance(error, LanistaError)
    assert "gone" in str(error)
    with pytest.raises(LanistaError, match="gone"):
        remote.choose(started(2), np.arange(2))


def test_a_worker_whose_central_was_closed_does_not_hang(centrals):
    central = centrals(actor_of())
    first, _second = both_play(central)
    waits = in_thread(first.choose, started(2), np.arange(2))
    until(lambda: waiting(central) == [0])
    central.close()
    central.close()
    assert isinstance(waits(), LanistaError)
    with pytest.raises(ValueError, match="closed"):
        central.attach(0)


@pytest.mark.skipif(sys.platform != "linux", reason="counts through /proc")
def test_a_closed_central_leaves_no_file_open(centrals):
    before = open_files()
    for _ in range(2):
        central = centrals(actor_of())
        workers = remotes(central)
        workers[0].choose(started(2), np.arange(2))
        workers[0].memory()
        for worker in workers:
            worker.close()
        central.close()
    assert open_files() == before


def test_a_failed_inference_is_told_to_those_who_asked_and_the_next_one_runs(centrals):
    actor = actor_of()
    (remote,) = remotes(centrals(actor, 1), 1)
    decisions = started(2)

    def fail(*_):
        raise RuntimeError("no memory left on the device")

    hook = actor.policy.torso.register_forward_pre_hook(fail)
    with pytest.raises(LanistaError, match="no memory left on the device"):
        remote.choose(decisions, np.arange(2))
    hook.remove()
    same_choice(remote.choose(decisions, np.arange(2)), actor_of().choose(decisions, np.arange(2)))


def test_what_ends_the_thread_is_told_by_the_next_call(centrals):
    actor = actor_of(kind="lstm")
    central = centrals(actor, 1)
    (remote,) = remotes(central, 1)
    remote.memory()

    def fail():
        raise RuntimeError("broken")

    actor.memory = fail
    with pytest.raises(LanistaError, match="broken"):
        remote.memory()
    until(lambda: not central._thread.is_alive())
    with pytest.raises(LanistaError, match="gone"):
        remote.memory()
    with pytest.raises(LanistaError, match="broken"):
        central.measured()
    with pytest.raises(LanistaError, match="broken"):
        central.attach(0)


@pytest.mark.parametrize("heat", [0.5, 1.0])
def test_each_request_is_answered_with_the_weights_and_temperature_it_names(heat, centrals):
    actor = actor_of()
    loaded = []

    def prepare(version):
        loaded.append(version)
        with torch.no_grad():
            actor.policy.head.bias.copy_(torch.tensor([float(version), 0.0]))

    central = centrals(actor, prepare=prepare)
    first, second = both_play(central)
    first.version, first.temperature = 3, heat
    second.version = 2
    decisions = started(4)
    waits = in_thread(first.choose, decisions, np.arange(4))
    until(lambda: waiting(central) == [0])
    found = {2: second.choose(decisions, np.arange(4)), 3: waits()}
    second.version, second.temperature = 2, 2.0
    first.rest()
    again = second.choose(decisions, np.arange(4))
    assert loaded == [0, 3, 2]
    for choice, version, temperature in ((found[2], 2, 1), (found[3], 3, heat), (again, 2, 2)):
        alone = actor_of()
        alone.temperature = temperature
        with torch.no_grad():
            alone.policy.head.bias.copy_(torch.tensor([float(version), 0.0]))
        same_choice(choice, alone.choose(decisions, np.arange(4)))


def test_latency_is_what_the_worker_waited(centrals):
    actor = actor_of()
    central = centrals(actor, 1)
    (remote,) = remotes(central, 1)
    actor.policy.torso.register_forward_pre_hook(lambda *_: time.sleep(0.02))
    for _ in range(3):
        remote.choose(started(5), np.arange(5))
    remote.rest()
    remote.memory()  # Answered after the rest was heard.
    found = central.measured()
    assert sum(n for name, n in found.items() if name.startswith("inference/latency_ms/to_")) == 3
    assert found["inference/latency_ms/mean"] >= 20
    assert found["inference/latency_ms/p50"] >= 20
    assert found["inference/latency_ms/p95"] >= found["inference/latency_ms/p50"]
    assert found["inference/batches"] == found["inference/rows/to_8"] == 3
    assert found["inference/rows/p50"] == found["inference/rows/mean"] == 5
    remote.rest()
    empty = central.measured()
    assert set(empty.values()) == {0.0}
    assert "inference/rows/p50" not in empty


def test_latencies_are_counted_from_a_sixteenth_of_a_millisecond_to_about_a_minute():
    measures = Measures()
    for milliseconds in (0.01, 2.0**-4, 0.07, 2.0**16, 2.0**16 + 1, 2.0**17 + 1):
        measures.latency.add(milliseconds)
    counts = {
        name.rpartition("/")[2]: count
        for name, count in measures.flat().items()
        if "latency_ms/to_" in name or "latency_ms/over_" in name
    }
    assert counts == {"to_0.0625": 2, "to_0.125": 1, "to_65536": 1, "over_65536": 2}


def test_a_worker_has_the_memory_that_an_actor_of_its_own_would_have(centrals):
    central = centrals(actor_of(kind="lstm"), 3, deadline=0.0)
    workers = remotes(central, 3)
    locals_ = [actor_of(kind="lstm") for _ in workers]
    for number, (remote, local) in enumerate(zip(workers, locals_, strict=True)):
        decisions = started(2 + 3 * number, 10 * number)
        rows = np.arange(len(decisions) - number)
        assert remote.memory() == {} == local.memory()
        same_choice(remote.choose(decisions, rows), local.choose(decisions, rows))
    for remote, local in zip(workers, locals_, strict=True):
        found, expected = remote.memory(), local.memory()
        assert list(found) == list(expected)
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], atol=1e-6)
    # A worker's memory is replaced, and nobody else's with it.
    kept = workers[1].memory()
    workers[1].restore({})
    assert workers[1].memory() == {}
    workers[1].restore(kept)
    workers.append(RemoteActor(central.attach(0)))
    assert workers[3].memory() == {}
    for number in (1, 2):
        for name, array in workers[number].memory().items():
            np.testing.assert_allclose(array, locals_[number].memory()[name], atol=1e-6)


def test_a_stream_of_a_recurrent_policy_goes_on_after_save_and_load(centrals):
    """In another worker, with another central: the states come along."""
    (remote,) = remotes(centrals(actor_of(kind="lstm"), 1), 1)
    one = collector_of("kuhn", remote, 0)
    one.unrolls(10)
    saved = one.save()
    assert "memory" in saved
    others = remotes(centrals(actor_of(kind="lstm"), 2), 2)
    two = collector_of("kuhn", others[1], 0)
    two.load(saved)
    same_columns(to_arrays(two.unrolls(10)), to_arrays(one.unrolls(10)))


def test_parts_of_a_memory_are_joined_and_found_again():
    def memory(slots, seats, first):
        match = np.arange(first, first + slots * seats).reshape(slots, seats)
        state = np.arange(slots * seats * 2, dtype=np.float32).reshape(slots, seats, 2) + first
        return {"match": match, "turn": match.astype(np.int32) + 1, "state": state}

    parts = [memory(3, 1, 10), {}, memory(2, 2, 50)]
    whole = joined(parts)
    assert whole["match"].shape == (9, 2)
    assert whole["match"][:, 0].tolist() == [10, -1, 50, 11, -1, 52, 12, -1, -1]
    for number, part in enumerate(parts):
        found = part_of(whole, number, 3)
        assert list(found) == list(part)
        for name in part:
            np.testing.assert_array_equal(found[name], part[name])
    assert joined([{}, {}]) == {} == part_of({}, 1, 2)
