"""Who sits where in training: units of all seats, every other seat drawn on its own by weight."""

import math
import pickle
from collections import Counter

import numpy as np
import pytest

from lanista.games.streams import uniforms
from lanista.rollout import opponent_sampler
from lanista.rollout.collector import LEARNER
from lanista.rollout.opponent_sampler import seating_of

MANY = 30_000


def near(count, n, share):
    """Whether a count of `n` draws is within five standard deviations of its share."""
    return abs(count - n * share) < 5 * math.sqrt(n * share * (1 - share)) + 1


@pytest.mark.parametrize("seats", [1, 2, 3, 5])
def test_a_unit_is_one_company_with_the_learner_in_each_seat_once(seats):
    table = seating_of([1, 2, 3], [1.0, 2.0, 3.0], seats, 7)(np.arange(seats * 50))
    companies = set()
    for unit in table.reshape(50, seats, seats).tolist():
        turned = []
        for own, row in enumerate(unit):
            assert row[own] == LEARNER
            assert row.count(LEARNER) == 1
            # The others take the seats after the learner's, in one order.
            turned.append(tuple(row[own + 1 :] + row[:own]))
        assert len({*turned}) == 1
        companies.add(turned[0])
    assert len(companies) > 1 or seats == 1


@pytest.mark.parametrize("weights", [(3.0, 1.0), (0.75, 0.25), (600.0, 200.0)])
def test_opponents_are_met_as_often_as_their_weights_say(weights):
    table = seating_of([LEARNER, 4], weights, 2, 3)(np.arange(2 * MANY))
    assert table[0::2, 0].max() == table[1::2, 1].max() == LEARNER
    assert near(int((table[0::2, 1] == 4).sum()), MANY, 0.25)


def test_every_other_seat_is_drawn_on_its_own():
    table = seating_of([1, 2], [0.7, 0.3], 3, 5)(np.arange(0, 3 * MANY, 3))
    counted = Counter(map(tuple, table[:, 1:].tolist()))
    for pair, share in {(1, 1): 0.49, (1, 2): 0.21, (2, 1): 0.21, (2, 2): 0.09}.items():
        assert near(counted[pair], MANY, share), pair


def test_a_seating_is_a_function_of_the_match_alone():
    seating = seating_of([0, 1, 2], [1.0, 1.0, 1.0], 3, 9)
    ids = np.random.default_rng(0).permutation(900)
    assert np.array_equal(seating(ids), seating(np.arange(900))[ids])
    assert np.array_equal(pickle.loads(pickle.dumps(seating))(ids), seating(ids))
    high = ids.astype(np.int64) + (1 << 40)
    assert not np.array_equal(seating(high), seating(ids))


def test_other_seeds_and_units_draw_otherwise():
    one, other = (seating_of([1, 2], [1.0, 1.0], 2, seed)(np.arange(2 * MANY)) for seed in (1, 2))
    same = int((one[0::2] == other[0::2]).all(1).sum())
    assert near(same, MANY, 0.5)
    following = int((one[0:-2:2] == one[2::2]).all(1).sum())
    assert near(following, MANY - 1, 0.5)


@pytest.mark.parametrize("seat", [0, 1])
def test_who_is_met_says_nothing_of_what_is_then_drawn_in_play(seat):
    table = seating_of([1, 2], [1.0, 1.0], 2, 1)(np.arange(MANY))
    met = np.where(table == LEARNER, 0, table).sum(1)
    for ids in (np.arange(MANY), np.arange(MANY) // 2):
        told = np.full(MANY, seat, np.int32), np.zeros(MANY, np.int32)
        drawn = uniforms(1, ids, *told, 1)[:, 0]
        # Two matches of a unit have one company, so there are half as many draws.
        agreeing = int(((drawn >= 0.5) == (met == 2))[::2].sum())
        assert near(agreeing, MANY // 2, 0.5)


def test_a_draw_on_the_border_is_the_next_one_s_and_weight_0_is_never_met(monkeypatch):
    drawn = np.array([[0.0], [0.25], [0.49], [0.5], [0.99]], np.float32)
    monkeypatch.setattr(opponent_sampler, "uniforms", lambda seed, unit, *_: drawn[unit])
    met = seating_of([1, 2, 3, 4], [0.0, 0.25, 0.25, 0.5], 2, 0)(np.arange(0, 10, 2))[:, 1]
    assert met.tolist() == [2, 3, 3, 4, 4]


def test_the_company_takes_the_seats_after_the_learner_s_in_the_order_drawn(monkeypatch):
    drawn = np.array([[0.1, 0.4, 0.9]], np.float32)
    monkeypatch.setattr(opponent_sampler, "uniforms", lambda seed, unit, *_: drawn[unit])
    table = seating_of([5, 6, 7], [1.0, 1.0, 1.0], 4, 0)(np.arange(4))
    assert table.tolist() == [[0, 5, 6, 7], [7, 0, 5, 6], [6, 7, 0, 5], [5, 6, 7, 0]]


def test_seats_are_drawn_from_the_unit_s_stream_before_the_first_turn():
    """Another stream would seat others in a run that is repeated."""
    units, seats = np.arange(50), np.zeros(50, np.int32)
    drawn = uniforms(7, units, seats, np.full(50, -1, np.int32), 2)
    expected = 1 + (drawn >= 1 / 6) + (drawn >= 1 / 2)
    table = seating_of([1, 2, 3], [1.0, 2.0, 3.0], 3, 7)(3 * units)
    assert table[:, 1:].tolist() == expected.tolist()
