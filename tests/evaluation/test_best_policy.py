"""The best policy: lower bounds and NashConv choose it, ties go to the newest, events carry it."""

from lanista.evaluation.best_policy import BEST, OUTPUT, BestPolicy, Strength, best_body
from lanista.runs.schema import EventRow


def score(value, half=0.05):
    return Strength("score", value, value - half, value + half)


def nash_conv(value):
    return Strength("nash_conv", value, value, value)


def test_the_highest_lower_bound_or_the_lowest_nash_conv_is_the_best():
    best = BestPolicy(digest="a", strength=score(0.5))
    assert best.challenged(score(0.5))
    assert best.challenged(score(0.48, half=0.01))
    assert not best.challenged(score(0.49))
    assert not best.challenged(score(0.6, half=0.3))
    exact = BestPolicy(digest="a", strength=nash_conv(0.5))
    assert exact.challenged(nash_conv(0.5))
    assert not exact.challenged(nash_conv(0.51))


def test_the_newest_is_outdone_only_when_it_is_surely_weaker():
    best = BestPolicy(digest="a", strength=score(0.5))
    assert best.outdone(score(0.44)) is False
    assert best.outdone(score(0.44, half=0.01)) is True
    assert best.outdone(Strength("score", 0.1, None, None)) is False
    assert best.outdone(nash_conv(3.0)) is False  # Judged in another way from here on.
    exact = BestPolicy(digest="a", strength=nash_conv(0.5))
    assert (exact.outdone(nash_conv(0.504)), exact.outdone(nash_conv(0.51))) == (False, True)


def test_events_say_what_is_handed_over():
    best = BestPolicy()
    best.apply(EventRow(10, BEST, "main", best_body("a", score(0.5))))
    assert (best.digest, best.update, best.strength) == ("a", 10, score(0.5))
    best.apply(EventRow(20, OUTPUT, "main", {"digest": "a"}))
    assert best.handed_over
    best.apply(EventRow(30, "finding", "main", {"name": "score_fell"}))
    assert best.handed_over
    best.apply(EventRow(40, OUTPUT, "main", {"digest": ""}))
    assert not best.handed_over
    best.apply(EventRow(50, OUTPUT, "main", {"digest": "a"}))
    best.apply(EventRow(60, BEST, "main", best_body("b", score(0.6))))
    assert (best.digest, best.handed_over) == ("b", False)
