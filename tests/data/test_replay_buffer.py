"""Replay: limits of size, reuse and age, and what is drawn how often."""

import numpy as np
import pytest

from lanista.data.replay_buffer import ReplayBuffer
from lanista.data.trajectory import Unrolls, to_arrays
from lanista.errors import LanistaError


def unrolls(ids, *, length=2, update=0, value=0.0, reward=0.0, goes_on=True):
    """Return an unroll for each id; a column of rewards says which is which."""
    lanes, rows = len(ids), len(ids) * length
    index = np.arange(rows, dtype=np.int32).reshape(lanes, length).T
    ended = np.zeros(rows, np.bool_)
    ended[length - 1 :: length] = not goes_on
    return Unrolls(
        observation=np.zeros((rows, 3), np.float32),
        mask=np.ones((rows, 2), np.bool_),
        action=np.zeros((rows, 1), np.int32),
        log_prob=np.zeros(rows, np.float32),
        reward=np.broadcast_to(np.float32(reward), rows).copy(),
        ended=ended,
        seat=np.zeros(rows, np.int32),
        match=np.repeat(np.array(ids, np.int64), length),
        turn=np.tile(np.arange(length, dtype=np.int32), lanes),
        update=np.full(rows, update, np.int32),
        index=np.ascontiguousarray(index),
        goes_on=np.full(lanes, goes_on),
        value=np.broadcast_to(np.float32(value), rows).copy(),
        next_observation=np.ones((lanes, 3), np.float32) if goes_on else None,
        next_mask=np.ones((lanes, 2), np.bool_) if goes_on else None,
        next_value=np.zeros(lanes, np.float32) if goes_on else None,
    )


def drawn(sample):
    return sample.match[sample.index[0]].tolist()


def test_the_oldest_make_room_for_the_newest():
    replay = ReplayBuffer(4)
    replay.add(unrolls([1, 2, 3]))
    replay.add(unrolls([4, 5, 6]))
    assert sorted(drawn(replay.sample(9, 0))) == [3, 4, 5, 6]


def test_nothing_is_drawn_before_the_minimum_is_there():
    replay = ReplayBuffer(8, minimum=3)
    replay.add(unrolls([1, 2]))
    assert not replay.ready(0)
    replay.add(unrolls([3]))
    assert replay.ready(0)


def test_a_sample_has_no_unroll_twice_and_all_come_equally_often():
    replay = ReplayBuffer(10, seed=3)
    replay.add(unrolls(range(10)))
    counts = np.zeros(10)
    for update in range(600):
        found = drawn(replay.sample(3, update))
        assert len({*found}) == 3
        counts[found] += 1
    # Each is expected 180 times with a deviation of about 11.
    assert counts.min() > 130
    assert counts.max() < 230


def test_what_is_drawn_depends_on_the_seed_and_the_update_alone():
    def make(seed):
        replay = ReplayBuffer(50, seed=seed)
        replay.add(unrolls(range(50)))
        return replay

    one, same, other = make(1), make(1), make(2)
    one.sample(5, 0)
    assert drawn(one.sample(8, 7)) == drawn(same.sample(8, 7))
    assert drawn(same.sample(8, 7)) != drawn(same.sample(8, 8))
    assert drawn(same.sample(8, 7)) != drawn(other.sample(8, 7))


def test_an_unroll_is_dropped_after_its_uses():
    replay = ReplayBuffer(8, reuse=2)
    replay.add(unrolls([1, 2]))
    for update in (0, 1):
        assert sorted(drawn(replay.sample(2, update))) == [1, 2]
    assert not replay.ready(2)
    with pytest.raises(LanistaError, match="empty"):
        replay.sample(2, 2)


def test_an_unroll_is_dropped_when_it_is_too_old():
    replay = ReplayBuffer(8, staleness=3)
    replay.add(unrolls([1], update=0))
    replay.add(unrolls([2], update=2))
    assert sorted(drawn(replay.sample(9, 3))) == [1, 2]
    assert drawn(replay.sample(9, 4)) == [2]
    assert not replay.ready(6)


def test_priorities_follow_how_wrong_the_critic_was():
    replay = ReplayBuffer(8, sampling="prioritised", exponent=1.0)
    # r + v' − v: 0 + 1 − 1 = 0 and 0 + 0 − 1 = −1, mean ½; and 3 + 1 − 1 = 3, 3 + 0 − 1 = 2: 2½.
    replay.add(unrolls([0], value=1.0, reward=0.0))
    replay.add(unrolls([1], value=1.0, reward=3.0))
    assert replay.priority == pytest.approx([0.5, 2.5])
    counts = np.zeros(2)
    for update in range(1200):
        counts[drawn(replay.sample(1, update))] += 1
    # One in six against five in six.
    assert counts[0] / 1200 == pytest.approx(1 / 6, abs=0.04)


def test_an_ended_unroll_has_no_next_value_in_its_priority():
    replay = ReplayBuffer(8, sampling="prioritised")
    replay.add(unrolls([0], value=1.0, reward=[0.0, 4.0], goes_on=False))
    assert replay.priority == pytest.approx([(0 + 3) / 2])


def test_prioritised_sampling_without_values_is_refused():
    from dataclasses import replace

    replay = ReplayBuffer(8, sampling="prioritised")
    with pytest.raises(LanistaError, match="critic's values"):
        replay.add(replace(unrolls([1]), value=None))


@pytest.mark.parametrize("sampling", ["uniform", "prioritised"])
def test_a_saved_replay_goes_on_exactly(sampling):
    def make():
        return ReplayBuffer(12, sampling=sampling, reuse=3, staleness=6, seed=5)

    one, other = make(), make()
    one.add(unrolls([1, 2, 3], length=2, reward=2.0))
    one.add(unrolls([4, 5], length=4, value=0.5, goes_on=False))
    one.sample(3, 0)
    other.load(one.save())
    for update in range(1, 5):
        for replay in (one, other):
            replay.add(unrolls([10 * update], length=3, update=update, reward=update))
        first, second = (to_arrays(replay.sample(4, update)) for replay in (one, other))
        assert drawn_equal(first, second)
    assert one.uses == other.uses


def drawn_equal(first, second):
    # Where no match went on, zeros stand for "no next decision" once they have been saved.
    names = [name for name in first if not name.startswith("next_")]
    return all(np.array_equal(first[name], second[name]) for name in names)


def test_an_empty_replay_can_be_saved():
    replay = ReplayBuffer(4)
    replay.load(ReplayBuffer(4).save())
    assert len(replay) == 0


def test_a_minimum_beyond_the_size_is_refused():
    with pytest.raises(LanistaError, match="size 4 cannot hold a minimum of 5"):
        ReplayBuffer(4, minimum=5)
