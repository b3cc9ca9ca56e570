"""A shard that moves while machines are lost; none of it needs Ray."""

from collections import deque
from types import SimpleNamespace

from lanista.errors import UnfitMachineError
from lanista.rollout.chunks import MachineError, Order
from lanista.rollout.launchers.ray_cluster import Fleet
from lanista.rollout.launchers.ray_host import Answer
from lanista.rollout.launchers.ray_worker import RayWorker, Station

ORDER = Order("whole_matches", 1, 0, 1.0, 0.0, 1)
CHUNK = SimpleNamespace(next_match=1)
"""As much of a chunk as a shard looks at."""


def station(machine):
    return Station(machine, machine, 1.0, Actor(), None, 0.0, ready=True)


class Actor:
    """Remembers what it was asked."""

    def __init__(self):
        self.asked = []

        class Ask:
            remote = staticmethod(lambda questions, weights: self.asked.extend(questions))

        self.ask = Ask


class Machines:
    """Answers what is sent; a machine can be lost while an answer is waited for."""

    def __init__(self):
        self.counts = dict.fromkeys(("moved", "dropped", "again"), 0)
        self.sent, self.flushed = [], 0
        self.given = []
        """Answers that come before all others."""
        self.lost_meanwhile = None
        self.refused = []

    def sendable(self, method, argument):
        return argument

    def send(self, worker, questions):
        self.sent += [(worker.station.machine, question) for question in questions]

    def send_all(self):
        self.flushed = len(self.sent)

    def lose(self, station, end):
        station.dead = end

    def refuse(self, station, sentence):
        station.dead = sentence
        self.refused.append(sentence)

    def next_answer(self, worker):
        if self.given:
            return self.given.pop(0)
        if worker.station.dead:
            worker.restart_at(station("spare"))
        if self.lost_meanwhile is not None:
            self.lost_meanwhile.dead = "RayActorError"
        question = worker.sent()[0]
        value = CHUNK if question.method == "collect" else f"{question.method}ed"
        return Answer(worker.number, question.ticket, True, value, 0.1)


def built(machines, place):
    worker = RayWorker(machines, 0)
    worker.station = place
    worker.ask("build", "a game")
    worker.answer()
    machines.sent.clear()
    return worker


def asked(machines):
    return [(machine, question.method) for machine, question in machines.sent]


def test_a_shard_takes_its_matches_along_before_it_is_asked_at_the_other_machine():
    machines, one, two = Machines(), station("one"), station("two")
    worker = built(machines, one)
    worker.go_to(two)
    worker.ask("collect", ORDER)
    first = [("one", "save"), ("one", "leave"), ("two", "build"), ("two", "load")]
    assert asked(machines) == [*first, ("two", "collect")]
    assert machines.counts["moved"] == 1


def test_a_shard_stays_when_the_machine_it_goes_to_is_lost_while_it_is_saved():
    machines, one, two = Machines(), station("one"), station("two")
    worker = built(machines, one)
    worker.go_to(two)
    machines.lost_meanwhile = two
    worker.ask("collect", ORDER)
    assert asked(machines) == [("one", "save"), ("one", "collect")]
    assert worker.station is one
    assert machines.counts["moved"] == 0


def test_what_was_held_back_is_sent_when_the_shard_stays_after_all():
    machines, one, two = Machines(), station("one"), station("two")
    worker = built(machines, one)
    worker.ask("collect", ORDER)
    worker.go_to(two)
    worker.ask("collect", ORDER)  # Held until the first is answered.
    worker.go_to(one)
    assert asked(machines) == [("one", "collect")] * 2
    assert len(worker.sent()) == 2


def test_what_waits_for_a_move_is_sent_at_once_when_the_last_answer_before_it_came():
    machines, one, two = Machines(), station("one"), station("two")
    worker = built(machines, one)
    worker.ask("collect", ORDER)
    worker.go_to(two)
    worker.ask("collect", ORDER)
    assert worker.answer() is CHUNK
    assert asked(machines)[-1] == ("two", "collect")
    assert machines.flushed == len(machines.sent)


def test_a_question_that_could_not_be_handed_on_is_asked_elsewhere_though_an_older_one_is_open():
    """What fails to be handed on is answered at once, before the chunk that is being played."""
    machines, one = Machines(), station("one")
    worker = built(machines, one)
    worker.ask("collect", ORDER)
    worker.ask("collect", ORDER)
    second = worker.sent()[1]
    failed = MachineError, "OSError: the store is full"
    machines.given = [Answer(0, second.ticket, False, failed, 0.0)]
    assert [worker.answer(), worker.answer()] == [CHUNK] * 2
    assert one.dead == "OSError: the store is full"
    assert [method for machine, method in asked(machines) if machine == "spare"] == [
        "build", "collect", "collect",
    ]  # fmt: skip
    assert machines.counts == {"moved": 0, "dropped": 0, "again": 2}


def test_a_machine_that_answers_that_it_is_unfit_is_refused_and_another_one_is_asked():
    machines, one = Machines(), station("one")
    worker = built(machines, one)
    worker.ask("collect", ORDER)
    unfit = UnfitMachineError, "Machine one is refused."
    machines.given = [Answer(0, worker.sent()[0].ticket, False, unfit, 0.0)]
    assert worker.answer() is CHUNK
    assert machines.refused == ["Machine one is refused."]
    assert [method for machine, method in asked(machines) if machine == "spare"] == [
        "build", "collect",
    ]  # fmt: skip


def timed(name, seconds):
    place = station(name)
    place.seconds = seconds
    return place


def test_a_machine_that_was_left_for_being_slow_is_tried_again_but_never_thought_the_fastest():
    left, quick, slow = timed("left", 10.0), timed("quick", 1.0), timed("slow", 4.0)
    fleet = Watched(left, quick, slow)
    fleet.workers = [RayWorker(fleet, number) for number in range(2)]
    fleet.workers[0].station, fleet.workers[1].station = quick, slow
    for _ in range(100):
        fleet._forget_slowness()
    assert 1.0 < left.seconds < 4.0
    for _ in range(1000):
        fleet._forget_slowness()
    assert (left.seconds, quick.seconds, slow.seconds) == (1.0, 1.0, 4.0)


class Weights:
    newest = 0

    def __init__(self):
        self.sendable = {0: {}, 1: {}}


class Watched(Fleet):
    """A fleet whose machines are given; Ray is not asked."""

    def __init__(self, *stations):
        self.stations = {station.machine: station for station in stations}
        self.workers = [RayWorker(self, 0)]
        self.weights = Weights()
        self._answers = {0: deque()}


def test_what_a_lost_actor_was_not_sent_keeps_nothing_from_the_next_actor_of_its_machine():
    before, after = station("one"), station("one")
    fleet = Watched(after)
    before.dead = "RayActorError"
    lost, worker = RayWorker(fleet, 1), fleet.workers[0]
    lost.station, worker.station = before, after
    lost.ask("collect", ORDER)
    worker.ask("collect", ORDER)
    assert [question.shard for question in after.actor.asked] == [0]
    assert before.actor.asked == []
