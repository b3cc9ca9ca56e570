"""Which policy a league hands out: the newest whose worst case is not surely worse."""

import json

from lanista.evaluation.evaluator import Judgement
from lanista.evaluation.promotion import Champion
from lanista.evaluation.score import Estimate
from lanista.runs.database import RunDatabase
from lanista.runs.schema import EventRow


def judged(digest, values=(), **scores):
    found = {name: Estimate(score, score - 0.1, score + 0.1, 50) for name, score in scores.items()}
    return Judgement(dict(values), digest, scores=found)


def crowned(*judgements):
    """Return the champion after some judgements, and the digests that were promoted."""
    champion, promoted = Champion(), []
    for judgement in judgements:
        body = champion.challenged(judgement)
        if body is not None:
            champion.crowned(json.loads(json.dumps(body)))
            promoted.append(judgement.digest)
    return champion, promoted


def test_the_first_that_played_is_promoted_and_one_that_did_not_is_not():
    assert crowned(judged(""), judged("a", random=0.3))[1] == ["a"]


def test_the_lowest_score_decides_and_not_the_mean():
    _, promoted = crowned(judged("a", random=0.6, hard=0.5), judged("b", random=0.9, hard=0.2))
    assert promoted == ["a"]
    _, promoted = crowned(judged("a", random=0.9, hard=0.2), judged("b", random=0.6, hard=0.5))
    assert promoted == ["a", "b"]


def test_one_that_may_be_as_good_takes_over_and_one_that_is_surely_worse_does_not():
    # The interval is 0.1 to either side, and wider for the lowest of two.
    _, promoted = crowned(judged("a", random=0.5), judged("b", random=0.42))
    assert promoted == ["a", "b"]
    _, promoted = crowned(judged("a", random=0.5), judged("b", random=0.38))
    assert promoted == ["a"]


def test_two_are_compared_over_those_that_both_have_met():
    # Against whom the champion never played, its challenger may be as weak as it likes.
    _, promoted = crowned(judged("a", random=0.6, old=0.1), judged("b", random=0.7, new=0.2))
    assert promoted == ["a", "b"]


def test_an_exact_measure_goes_before_play():
    first = judged("a", {"exact/nash_conv": 0.5}, random=0.9)
    better, worse = (judged(d, {"exact/nash_conv": v}, random=0.1) for d, v in
                     (("b", 0.4), ("c", 0.45)))  # fmt: skip
    assert crowned(first, better, worse)[1] == ["a", "b"]


def test_an_exploiter_of_the_champion_counts_against_it():
    champion, _ = crowned(judged("a", random=0.6))
    body = {"victim_digest": "a", "score": 0.8, "low": 0.75, "high": 0.85, "games": 100}
    champion.tested("exploiter/000002", body | {"victim_digest": "another"})
    assert list(champion.scores) == ["random"]
    champion.tested("exploiter/000002", body)
    successor = judged("b", random=0.5, **{"exploiter/000002": 0.4})
    promotion = champion.challenged(successor)
    assert promotion["before"]["value"] == 1 - 0.8
    assert promotion["before"]["against"] == "exploiter/000002"


def test_an_exploiter_s_test_is_seen_from_the_victim_s_side():
    champion, _ = crowned(judged("a", random=0.6))
    body = {"victim_digest": "a", "score": 0.7, "low": 0.6, "high": 0.75, "games": 100}
    champion.tested("exploiter/000002", body)
    found = champion.scores["exploiter/000002"]
    assert (found.value, found.low, found.high, found.n) == (1 - 0.7, 1 - 0.75, 1 - 0.6, 50)
    champion.tested("exploiter/000003", body | {"low": None})  # Nothing sure was found.
    assert "exploiter/000003" not in champion.scores


def test_what_was_known_of_a_champion_is_not_held_against_the_next():
    champion, _ = crowned(judged("a", random=0.6, old=0.1))
    body = {"victim_digest": "a", "score": 0.9, "low": 0.85, "high": 0.95, "games": 100}
    champion.tested("exploiter/000002", body)
    champion.crowned(champion.challenged(judged("b", random=0.55)))
    assert (champion.digest, list(champion.scores)) == ("b", ["random"])
    # A third one that loses to the exploiter of the first was never worse than the second there.
    assert champion.challenged(judged("c", random=0.55, **{"exploiter/000002": 0.0})) is not None


def test_a_challenger_is_read_over_the_same_opponents_as_the_champion():
    champion, _ = crowned(judged("a", random=0.6, old=0.1))
    promotion = champion.challenged(judged("b", random=0.55, new=0.2))
    assert (promotion["before"]["value"], promotion["before"]["against"]) == (0.6, "random")
    assert (promotion["reading"]["value"], promotion["reading"]["against"]) == (0.55, "random")


def test_a_champion_is_a_fold_over_the_events(tmp_path):
    grown, _ = crowned(judged("a", random=0.6))
    body = {"victim_digest": "a", "score": 0.8, "low": 0.75, "high": 0.85, "games": 100}
    metrics = RunDatabase(tmp_path / "run.db")
    promotion = Champion().challenged(judged("a", random=0.6))
    metrics.add_rows([EventRow(2, "promotion", "main", promotion)])
    metrics.add_rows([EventRow(3, "exploiter_refused", "exploiter/000002", body)])
    metrics.flush()
    grown.tested("exploiter/000002", body)
    again = Champion()
    again.load(metrics)
    metrics.close()
    assert again == grown
