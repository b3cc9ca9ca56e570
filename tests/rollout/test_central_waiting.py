"""How long central inference waits and for whom, and what it leaves to those who asked."""

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from central_tables import NEVER, actor_of, both_play, open_files, remotes, started

from lanista.rollout.inference import server as module
from lanista.rollout.inference.client import CHOOSE, Note, RemoteActor
from lanista.rollout.inference.server import InferenceServer


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


def line(asked=None, rows=1, playing=True):
    """Return a worker as the central side sees it, whose request of so many rows waits."""
    request = (Note(CHOOSE, sent_at=asked), {"slot": np.zeros(rows)})
    return SimpleNamespace(request=None if asked is None else request, playing=playing)


def at(monkeypatch, now, *lines, batch=10, deadline=5.0):
    """Return for how long these workers may wait at this time, and why they need not."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    some = SimpleNamespace(_lines=dict(enumerate(lines)), batch=batch, deadline=deadline)
    return InferenceServer._patience(some), InferenceServer._closing(some)


def test_the_oldest_request_waits_until_its_deadline_and_no_longer(monkeypatch):
    lines = line(103.0), line(101.0), line(102.0), line()
    assert at(monkeypatch, 104.0, *lines) == (2.0, "")
    assert at(monkeypatch, 105.75, *lines) == (0.25, "")
    assert at(monkeypatch, 106.0, *lines) == (0.0, "deadline")
    assert at(monkeypatch, 106.5, *lines) == (-0.5, "deadline")
    assert at(monkeypatch, 107.5, *lines, deadline=7.0) == (0.5, "")


def test_a_batch_is_full_with_as_many_rows_as_it_has(monkeypatch):
    lines = line(100.0, rows=4), line(100.0, rows=5), line()
    assert at(monkeypatch, 101.0, *lines) == (4.0, "")
    assert at(monkeypatch, 101.0, *lines, batch=9) == (4.0, "full")
    assert at(monkeypatch, 101.0, *lines, batch=8) == (4.0, "full")


def test_who_does_not_play_is_not_waited_for(monkeypatch):
    assert at(monkeypatch, 101.0, line(100.0), line(playing=False)) == (4.0, "everybody")
    assert at(monkeypatch, 101.0, line(100.0), line()) == (4.0, "")
    assert at(monkeypatch, 101.0, line(), line(playing=False)) == (None, "")


def test_the_thread_sleeps_until_a_deadline(centrals):
    central = centrals(actor_of(), deadline=0.1)
    first, _second = both_play(central)
    turns, turn = [], central._turn

    def counted(phases):
        turns.append(1)
        turn(phases)

    central._turn = counted
    first.choose(started(1), np.arange(1))
    # The request, the deadline, perhaps a moment before it; not one after another meanwhile.
    assert 1 <= len(turns) <= 5


def test_whose_place_is_taken_is_let_go(centrals):
    central = centrals(actor_of())
    before = central.attach(0)
    after = RemoteActor(central.attach(0))
    assert after.memory() == {}  # It is connected by now.
    assert before.poll()
    with pytest.raises(EOFError):
        before.recv()


def test_a_memory_stays_as_it_was_when_the_match_goes_on(centrals):
    (remote,) = remotes(centrals(actor_of(kind="lstm"), 1), 1)
    remote.choose(started(3), np.arange(3))
    memory = remote.memory()
    before = {name: array.copy() for name, array in memory.items()}
    remote.choose(started(3, 10), np.arange(3))
    after = remote.memory()
    for name in ("match", "state"):
        np.testing.assert_array_equal(memory[name], before[name])
        assert not np.array_equal(after[name], before[name])


def test_a_restored_memory_is_not_written_over_by_the_next_request(centrals):
    central = centrals(actor_of(kind="lstm"), 1)
    (remote,) = remotes(central, 1)
    remote.choose(started(3), np.arange(3))
    memory = remote.memory()
    remote.restore(memory)
    remote.restore({})
    assert remote.memory() == {}
    remote.restore(memory)
    remote.restore({name: array[:1] for name, array in memory.items()})
    assert {name: len(array) for name, array in remote.memory().items()} == dict.fromkeys(memory, 1)
    for name, array in remote.memory().items():
        np.testing.assert_array_equal(array, memory[name][:1])


@pytest.mark.skipif(sys.platform != "linux", reason="counts through /proc")
def test_asking_again_takes_no_more_memory(centrals):
    (remote,) = remotes(centrals(actor_of(), 1), 1)
    remote.choose(started(3), np.arange(3))
    before = open_files()
    for _ in range(3):
        remote.choose(started(3), np.arange(3))
    assert open_files() == before


def test_the_thread_has_a_name_ends_with_the_program_and_leaves_the_learner_s_autocast(centrals):
    actor, seen = actor_of(), []
    central = centrals(actor, 1)
    (remote,) = remotes(central, 1)

    def look(*_):
        thread = threading.current_thread()
        cached = torch.is_autocast_cache_enabled()
        seen.append((thread.name, thread.daemon, torch.is_autocast_enabled("cpu"), cached))

    actor.policy.torso.register_forward_pre_hook(look)
    remote.choose(started(1), np.arange(1))
    assert seen == [("central", True, False, False)]
