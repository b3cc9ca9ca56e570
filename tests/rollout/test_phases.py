"""Seconds by phase: exclusive, joined, and of the thread that spends them."""

import contextlib
import time

from lanista.rollout.timing import REST, Phases, add_up


class Clock:
    """A clock that is told the time."""

    def __init__(self, monkeypatch):
        self.wall = self.cpu = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.wall)
        monkeypatch.setattr(time, "thread_time", lambda: self.cpu)

    def pass_by(self, wall, cpu):
        self.wall += wall
        self.cpu += cpu


def test_a_phase_within_another_pauses_it(monkeypatch):
    clock = Clock(monkeypatch)
    phases = Phases()
    clock.pass_by(1, 1)
    with phases("outer"):
        clock.pass_by(2, 1)
        with phases("inner"):
            clock.pass_by(4, 3)
        clock.pass_by(8, 0)
    clock.pass_by(16, 2)
    wall, cpu = phases.taken()
    assert wall == {REST: 17, "outer": 10, "inner": 4}
    assert cpu == {REST: 3, "outer": 1, "inner": 3}


def test_what_was_taken_is_not_given_again_and_a_phase_goes_on(monkeypatch):
    clock = Clock(monkeypatch)
    phases = Phases()
    with phases("long"):
        clock.pass_by(1, 1)
        assert phases.taken()[0]["long"] == 1
        clock.pass_by(2, 2)
    assert phases.taken()[0]["long"] == 2


def test_a_phase_that_fails_is_left(monkeypatch):
    clock = Clock(monkeypatch)
    phases = Phases()
    with contextlib.suppress(ValueError), phases("broken"):
        clock.pass_by(1, 1)
        raise ValueError("it")
    clock.pass_by(5, 5)
    assert phases.taken()[0] == {REST: 5, "broken": 1}


def test_those_of_several_threads_are_joined():
    mine = {"play": 1.0}
    add_up(mine, {"play": 3.0, "own": 2.0})
    assert mine == {"play": 4.0, "own": 2.0}


def test_a_device_is_waited_for_at_every_change():
    waited = []
    phases = Phases(settle=lambda: waited.append(1))
    with phases("infer"):
        assert len(waited) == 1
    assert len(waited) == 2


def test_where_nobody_measures_the_clock_alone_is_read(monkeypatch):
    monkeypatch.setattr(Phases, "counts_cpu", False)
    phases = Phases()
    with phases("a"):
        sum(range(1000))
    wall, cpu = phases.taken()
    assert wall["a"] > 0
    assert cpu == {}
