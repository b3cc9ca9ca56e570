"""A run ends when its time is over: evaluated and saved, however slow its iterations turn out."""

from __future__ import annotations

import pytest
from pipeline_runs import KUHN, Listener, last_state, metrics, same, settings_of

from lanista.nets.files.policy_file import read_header
from lanista.training.loop import train
from lanista.training.time_limit import TimeLimit

TWENTY = {
    **KUHN,
    "iterations": 20,
    "learning": {**KUHN["learning"], "lr": 0.01},
    "evaluation": {"every": 4, "bots": ["random"], "matches": 20},
    "checkpoints": {"save_every": 4},
}


class Clock:
    """Seconds as a test has them."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Scripted(TimeLimit):
    """Says that an iteration is the last one when so many have been asked about."""

    def __init__(self, iterations: int) -> None:
        super().__init__(1e9)
        self.iterations, self.asked_about = iterations, 0
        self.whole: list[bool] = []

    def iterated(self, *, whole: bool) -> None:
        self.whole.append(whole)

    def is_last(self) -> bool:
        self.asked_about += 1
        return self.asked_about == self.iterations


def spent(limit: TimeLimit, clock: Clock, seconds_of_iteration: list[float]) -> float:
    """Iterate until the limit says that it was the last; return the clock at the end."""
    for seconds in seconds_of_iteration:
        last = limit.is_last()
        clock.now += seconds
        limit.iterated(whole=False)
        if last:
            return clock.now
    raise AssertionError("the limit never came")


@pytest.mark.parametrize("pace", [0.1, 1.0, 7.0])
def test_even_iterations_end_in_time_and_not_long_before(pace):
    clock = Clock()
    end = spent(TimeLimit(60.0, clock), clock, [pace] * 1000)
    assert 160.0 - 3 * pace - 1e-9 <= end <= 160.0


def test_the_last_iteration_has_time_for_its_evaluation():
    """Every tenth is evaluated and takes 5 seconds more; the last one is, wherever it falls."""
    clock = Clock()
    limit = TimeLimit(60.0, clock)
    for number in range(1000):
        last = limit.is_last()
        evaluated = number % 10 == 9 or last
        clock.now += 1.0 + 5.0 * evaluated
        limit.iterated(whole=evaluated)
        if last:
            break
    assert 148.0 < clock.now <= 160.0


def test_a_first_iteration_that_loads_everything_does_not_end_the_run_early():
    clock = Clock()
    end = spent(TimeLimit(600.0, clock), clock, [60.0] + [1.0] * 1000)
    assert 696.0 < end <= 700.0


def test_time_between_iterations_is_not_that_of_an_iteration():
    """A round in which an exploiter is trained takes long, and comes seldom."""
    clock = Clock()
    limit = TimeLimit(600.0, clock)
    for number in range(1000):
        clock.now += 150.0 * (number == 40)
        last = limit.is_last()
        clock.now += 1.0
        limit.iterated(whole=False)
        if last:
            break
    assert 696.0 < clock.now <= 700.0


def test_a_machine_that_gets_slower_is_noticed():
    clock = Clock()
    end = spent(TimeLimit(60.0, clock), clock, [0.1] * 200 + [1.0] * 1000)
    assert 155.0 < end <= 160.0


def test_a_time_that_is_over_before_the_first_iteration_leaves_one():
    clock = Clock()
    limit = TimeLimit(5.0, clock)
    clock.now += 6.0
    assert limit.left == -1.0
    assert limit.is_last()


def test_a_run_out_of_time_is_evaluated_saved_and_can_go_on(tmp_path):
    output, heard = tmp_path / "policy.safetensors", Listener()
    assert train(settings_of(TWENTY), output, observers=[heard], limit=Scripted(6)) == 0
    assert read_header(output).step == 6
    assert [row[0] for row in metrics(output) if row[1] == "score/random"] == [4, 6]
    sentence = "The time for this run is over after 6 of its 20 iterations; resumed, it goes on"
    assert any(message.startswith(sentence) for message in heard.sentences)
    assert train(settings_of(TWENTY), output, resume=True) == 0
    unlimited = tmp_path / "unlimited.safetensors"
    train(settings_of(TWENTY), unlimited)
    assert same(last_state(output), last_state(unlimited))


def test_a_limit_hears_which_iterations_were_evaluated_or_saved_too(tmp_path):
    limit = Scripted(6)
    train(settings_of(TWENTY), tmp_path / "policy.safetensors", limit=limit)
    assert limit.whole == [False, False, False, True, False, True]
    assert limit.cut


def test_a_limit_that_never_comes_changes_nothing(tmp_path):
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    train(settings_of(TWENTY), first, limit=TimeLimit(1e9))
    train(settings_of(TWENTY), second)
    assert same(last_state(first), last_state(second))
    assert metrics(first) == metrics(second)
