"""The memory of rows: weighted means of equal ones, and a fair choice of those that stay."""

import numpy as np
import pytest

from lanista.data.traversals import ChoiceRows
from lanista.learn.regret.memory import RowMemory


def rows_of(numbers, values, choices=2):
    observation = np.array(numbers, np.int16)[:, None].repeat(3, 1)
    mask = np.ones((len(numbers), choices), np.bool_)
    return ChoiceRows(observation, mask, np.array(values, np.float64))


def memory_of(capacity=100):
    return RowMemory(3, 2, "int16", capacity)


def test_equal_rows_become_their_weighted_mean():
    rng = np.random.default_rng(0)
    memory, sums, weights = memory_of(), {}, {}
    for iteration in range(1, 20):
        numbers, values = rng.integers(0, 30, 25), rng.normal(size=(25, 2))
        memory.add(rows_of(numbers, values), float(iteration), rng)
        for number, value in zip(numbers.tolist(), values, strict=True):
            sums[number] = sums.get(number, 0) + iteration * value
            weights[number] = weights.get(number, 0) + iteration
    assert sorted(memory.observation[: len(memory), 0].tolist()) == sorted(sums)
    for row, mean, weight in zip(memory.observation, memory.means(), memory.weight, strict=False):
        np.testing.assert_allclose(mean, sums[row[0]] / weights[row[0]])
        assert weight == weights[row[0]]


def test_rows_that_may_choose_differently_are_different():
    memory, rows = memory_of(), rows_of([4, 4], [[1.0, 0], [3.0, 0]])
    rows.mask[1, 1] = False
    memory.add(rows, 1.0, np.random.default_rng(0))
    assert len(memory) == 2


def test_a_full_memory_keeps_all_rows_with_the_same_chance():
    kept = np.zeros(40)
    for seed in range(1500):
        memory, rng = memory_of(8), np.random.default_rng(seed)
        for start in range(0, 40, 5):
            numbers = np.arange(start, start + 5)
            memory.add(rows_of(numbers, np.stack([numbers, -numbers], 1)), 2.0, rng)
        assert len(memory) == 8
        np.testing.assert_array_equal(memory.means()[:, 0], memory.observation[:8, 0])
        assert (memory.weight[:8] == 2.0).all()
        kept[memory.observation[:8, 0]] += 1
    # Each of 40 rows stays with chance 1/5.
    assert abs(kept / 1500 - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 1500)


@pytest.mark.parametrize("capacity", [6, 100])
def test_a_memory_that_was_saved_goes_on_as_if_it_had_not(capacity):
    def batch(rng):
        return rows_of(rng.integers(0, 30, 10), rng.normal(size=(10, 2)))

    memory, rng = memory_of(capacity), np.random.default_rng(3)
    for _ in range(4):
        memory.add(batch(rng), 1.0, rng)
    other = memory_of(capacity)
    other.load_state(memory.state())
    again = np.random.default_rng(0)
    again.bit_generator.state = rng.bit_generator.state
    for _ in range(4):
        memory.add(batch(rng), 2.0, rng)
        other.add(batch(again), 2.0, again)
    one, two = memory.state(), other.state()
    assert one["different"] == two["different"]
    for name in ("observation", "mask", "weight", "total"):
        np.testing.assert_array_equal(one[name], two[name])


def test_an_empty_memory_that_was_saved_takes_rows():
    memory = memory_of()
    memory.load_state(memory_of().state())
    memory.add(rows_of([1], [[1.0, 2.0]]), 1.0, np.random.default_rng(0))
    assert len(memory) == 1
