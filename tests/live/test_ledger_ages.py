"""What the learner's book says about policies and updates, from rows written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_deployment import ROW

from lanista.live.learner.ledger import BatchRow, Ledger

BATCH = BatchRow(
    update_number=1, games=4, learned=3, samples=10, passes=1, loss=1.0, repeated=0, seconds=1.0,
    cpu_seconds=0.5, waiting=0, at=1.0,
)  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "learn.db", write=True)


def test_weights_were_last_a_policys_when_they_last_returned_to_it(ledger: Ledger) -> None:
    ledger.add_policy(0, "a", None)
    ledger.add_policy(3, "b", "a")
    ledger.add_policy(7, "a", None)
    assert [ledger.update_of(policy) for policy in ("a", "b", "c")] == [7, 3, None]
    assert ledger.policies() == {"a": (0, None), "b": (3, "a")}
    ledger.forget_after(3)
    assert ledger.update_of("a") == 0
    assert ledger.update_of("b") == 3
    ledger.close()


def test_updates_count_as_age_only_if_they_learned_from_something(ledger: Ledger) -> None:
    for number, learned in ((1, 3), (2, 0), (3, 1), (4, 0), (5, 2)):
        ledger.add_batch(replace(BATCH, update_number=number, learned=learned))
    assert [ledger.learned_since(update) for update in range(6)] == [3, 2, 2, 1, 1, 0]
    ledger.close()


def test_numbers_under_a_former_name_are_read_under_the_one_of_now(ledger: Ledger) -> None:
    ledger.add_metrics(1, {"staleness": 3.0, "loss": 1.0})
    ledger.add_metrics(2, {"lag/mean": 4.0})
    assert ledger.metrics("lag/mean") == [(1, 3.0), (2, 4.0)]
    assert ledger.metric_names() == ["lag/mean", "loss"]
    ledger.close()


def test_totals_weigh_a_loss_by_what_was_trained_on(ledger: Ledger) -> None:
    ledger.add_batch(replace(BATCH, update_number=1, samples=10, passes=3, loss=2.0))
    ledger.add_batch(replace(BATCH, update_number=2, samples=30, passes=1, loss=4.0, repeated=5))
    ledger.add_batch(replace(BATCH, update_number=3, samples=7, passes=2, loss=None, learned=0))
    totals = ledger.totals()
    assert totals.loss == pytest.approx((2.0 * 30 + 4.0 * 30) / 60)
    assert (totals.games, totals.learned, totals.repeated, totals.batches) == (12, 6, 5, 3)
    assert (totals.samples, totals.trained) == (47, 30 + 30 + 14)
    assert (totals.seconds, totals.cpu_seconds) == (3.0, 1.5)
    ledger.close()


def test_games_come_in_the_order_they_took_effect_and_the_last_are_the_newest(
    ledger: Ledger,
) -> None:
    for number, content in ((2, "c"), (1, "a"), (2, "d"), (1, "b")):
        at = float("abcd".index(content))
        use = "stale" if content == "b" else "learned"
        ledger.add_games([replace(ROW, update_number=number, content=content, at=at, use=use)])
    assert [row.content for row in ledger.games()] == ["a", "b", "c", "d"]
    assert [row.content for row in ledger.games(last=2)] == ["c", "d"]
    assert sorted(ledger.learned()) == ["a", "c", "d"]
    assert sorted(ledger.newer_than(1)) == ["c", "d"]
    assert ledger.totals().stale == 1
    ledger.forget_after(1)
    assert [row.content for row in ledger.games()] == ["a", "b"]
    assert (ledger.knows("a"), ledger.knows("c"), ledger.count()) == (True, False, 2)
    ledger.close()


def test_a_block_that_fails_leaves_nothing_of_itself(ledger: Ledger) -> None:
    def fail() -> None:
        with ledger.writing():
            ledger.add_batch(BATCH)
            ledger.add_games([replace(ROW, content="a")])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert ledger.count() == 0
    assert ledger.batches() == []
    ledger.close()
