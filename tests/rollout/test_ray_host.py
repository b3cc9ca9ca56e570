"""A machine's queue of answers, what it remembers of a shard, what it says it is; without Ray."""

import os
import threading
from types import SimpleNamespace

import numpy as np

from lanista.cluster.identity import identity
from lanista.rollout.chunks import MachineError
from lanista.rollout.launchers.ray_host import (
    Answer,
    Chunk,
    Host,
    HostedWeights,
    Outgoing,
    Question,
)
from lanista.rollout.launchers.ray_shard import ShardState


def answer(number, size):
    chunk = Chunk({"obs": np.zeros(size, np.uint8)}, {}, ())
    return Answer(0, number, True, chunk, 0.0)


def put(queue, *answers):
    for _ in answers:
        queue.begin()
    for one in answers:
        queue.put(one)


def test_small_answers_leave_together_and_in_order():
    queue = Outgoing(piece=1000, wait=1000.0)
    put(queue, answer(1, 10), answer(2, 10), answer(3, 10))
    assert [one.ticket for one in queue.take()] == [1, 2, 3]


def test_a_piece_waits_for_what_is_worked_on_until_it_is_large_enough():
    queue, taken = Outgoing(piece=1000, wait=1000.0), []
    for _ in range(3):
        queue.begin()
    taker = threading.Thread(target=lambda: taken.append(queue.take()))
    taker.start()
    queue.put(answer(1, 400))
    assert not taken
    queue.put(answer(2, 700))  # The third is still worked on.
    taker.join()
    assert [one.ticket for one in taken[0]] == [1, 2]


def test_nobody_waits_longer_than_allowed_for_company():
    queue = Outgoing(piece=1 << 30, wait=0.0)
    queue.begin()
    queue.begin()
    queue.put(answer(1, 10))
    assert [one.ticket for one in queue.take()] == [1]


def test_a_full_queue_keeps_workers_waiting_until_somebody_takes():
    queue, added = Outgoing(room=100, piece=1), threading.Event()
    put(queue, answer(1, 100))
    queue.begin()

    def add():
        queue.put(answer(2, 100))
        added.set()

    worker = threading.Thread(target=add)
    worker.start()
    assert not added.wait(0.05)
    assert [one.ticket for one in queue.take()] == [1]
    worker.join()
    assert [one.ticket for one in queue.take()] == [2]


def test_an_answer_larger_than_the_queue_still_passes():
    queue = Outgoing(room=10, piece=1)
    put(queue, answer(1, 1000))
    assert len(queue.take()) == 1


def test_a_closed_queue_gives_an_empty_piece_and_lets_workers_go():
    queue = Outgoing(room=1, piece=1)
    put(queue, answer(1, 10))
    queue.begin()
    worker = threading.Thread(target=queue.put, args=(answer(2, 10),))
    worker.start()
    queue.close()
    worker.join()
    queue.take()
    assert queue.take() == []


def test_weights_of_the_last_versions_are_kept_and_an_older_one_may_come_late():
    weights = HostedWeights(lag=1, processes=False)
    for version in (3, 4, 2):
        weights.take(version, {"0:bias": np.array([float(version)])})
    assert [weights.weights(version)[0]["bias"].item() for version in (3, 4)] == [3.0, 4.0]
    weights.take(5, {"0:bias": np.array([5.0])})
    assert sorted(weights._arrays) == [4, 5]


def test_a_shard_is_brought_to_where_its_last_answer_left_it():
    state = ShardState()
    assert state.messages() == []
    state.answered("build", "how", None)
    state.answered("go_on_from", 7, None)
    state.answered("meet", "company", None)
    assert state.messages() == [("build", "how"), ("go_on_from", 7), ("meet", "company")]
    state.answered("load", "matches", True)
    assert state.messages()[-1] == ("load", "matches")
    state.answered("collect", "order", SimpleNamespace(next_match=19))
    assert state.messages() == [("build", "how"), ("go_on_from", 19), ("meet", "company")]
    assert state.messages(saved="in flight")[-1] == ("load", "in flight")


def test_questions_that_cannot_be_handed_on_are_answered_by_what_went_wrong(monkeypatch):
    def no_room(version, arrays):
        raise OSError("no room for weights")

    host = Host(0, "threads", {})
    monkeypatch.setattr(host._weights, "take", no_room)
    questions = [Question(shard, 5 + shard, "collect", None) for shard in (0, 1)]
    host.ask(questions, {1: {}})
    answers = host.outgoing.take()
    assert [(one.shard, one.ticket) for one in answers] == [(0, 5), (1, 6)]
    assert not any(one.fine for one in answers)
    assert {one.value for one in answers} == {(MachineError, "OSError: no room for weights")}


def test_a_machine_that_was_compared_is_compared_again_once_its_files_are_others():
    host = Host(0, "threads", {})
    first, stamp, pid = host.identity()
    assert first == identity()
    assert pid == os.getpid()
    assert host.identity(stamp)[0] is None
    assert host.identity("of other files")[0] == identity()
