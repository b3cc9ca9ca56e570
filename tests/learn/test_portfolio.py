"""Which references stay: every strategy past its size limit, and the add interval."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.learn.portfolio import STRATEGIES, Portfolio, Reference


def places(positions: dict[str, float]):
    return lambda a, b: abs(positions[a] - positions[b])


@given(
    st.sampled_from(sorted(STRATEGIES)),
    st.integers(1, 5),
    st.lists(st.floats(-10, 10), min_size=1, max_size=14),
)
def test_every_strategy_runs_past_the_size_limit(
    strategy: str, size: int, scores: list[float]
) -> None:
    positions = {f"d{i}": score for i, score in enumerate(scores)}
    portfolio = Portfolio(size=size, strategy=strategy, add_every=10)
    for step, (digest, score) in enumerate(positions.items()):
        portfolio = portfolio.add(Reference(digest, step * 10, score), places(positions))
    kept = portfolio.references
    assert len(kept) == min(size, len(scores))
    assert len({reference.digest for reference in kept}) == len(kept)
    assert [reference.step for reference in kept] == sorted(reference.step for reference in kept)


def filled(strategy: str, positions: list[float], size: int) -> list[str]:
    places_by_digest = {f"d{i}": p for i, p in enumerate(positions)}
    portfolio = Portfolio(size=size, strategy=strategy, add_every=1)
    for step, (digest, score) in enumerate(places_by_digest.items()):
        portfolio = portfolio.add(Reference(digest, step, score), places(places_by_digest))
    return [reference.digest for reference in portfolio.references]


def test_recent_keeps_the_newest() -> None:
    assert filled("recent", [9.0, 1.0, 5.0, 2.0], 2) == ["d2", "d3"]


def test_best_keeps_the_highest_scores_and_of_equals_the_newer() -> None:
    assert filled("best", [9.0, 1.0, 5.0, 2.0], 2) == ["d0", "d2"]
    assert filled("best", [3.0, 3.0, 3.0], 2) == ["d1", "d2"]


def test_diverse_keeps_the_newest_and_those_farthest_from_it_and_each_other() -> None:
    # After d3 at 9: newest 9, farthest from it 0, then 4 (4 from 0, 5 from 9) rather than 8.
    assert filled("diverse", [0.0, 8.0, 4.0, 9.0], 3) == ["d0", "d2", "d3"]


def test_a_reference_is_due_at_the_start_and_then_every_interval() -> None:
    portfolio = Portfolio(add_every=100)
    assert portfolio.due(0)
    portfolio = portfolio.add(Reference("a", 0))
    assert not portfolio.due(99)
    assert portfolio.due(100)
    weak = Portfolio(size=1, strategy="best", add_every=100)
    weak = weak.add(Reference("a", 0, 1.0)).add(Reference("b", 100, 0.0))
    assert [reference.digest for reference in weak.references] == ["a"]
    assert not weak.due(150)


def test_the_same_digest_is_kept_once() -> None:
    portfolio = Portfolio().add(Reference("a", 0, 1.0)).add(Reference("a", 5, 2.0))
    assert portfolio.references == (Reference("a", 5, 2.0),)


def test_a_portfolio_comes_back_from_plain_values() -> None:
    portfolio = Portfolio(size=3).add(Reference("a", 0)).add(Reference("b", 7000, 0.5))
    state = json.loads(json.dumps(portfolio.state()))
    assert Portfolio(size=3).restored(state) == portfolio


def test_what_a_strategy_lacks_is_named() -> None:
    with pytest.raises(LanistaError, match="score"):
        Portfolio(strategy="best").add(Reference("a", 0))
    with pytest.raises(LanistaError, match="distance"):
        Portfolio(strategy="diverse").add(Reference("a", 0))
    with pytest.raises(LanistaError, match="diverse"):
        Portfolio(strategy="divers")
    with pytest.raises(LanistaError, match="at least 1"):
        Portfolio(size=0)


def test_a_portfolio_that_is_told_nothing_keeps_the_last_five_of_every_5000_steps() -> None:
    portfolio = Portfolio()
    for number in range(7):
        portfolio = portfolio.add(Reference(f"d{number}", number, 0.0))
    assert [kept.digest for kept in portfolio.references] == [f"d{n}" for n in range(2, 7)]
    assert [portfolio.due(step) for step in (5005, 5006)] == [False, True]
