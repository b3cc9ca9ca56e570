"""Drift of features: exact on few games, and right for many features at once."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.live.diagnosis.drift import drift


def played(rng, games, length, features, shift=0.0):
    """Return features that depend on their game and on each other, and each decision's game."""
    own = rng.normal(size=(games, 1, features)) + rng.normal(size=(games, 1, 1))
    values = own + 0.3 * rng.normal(size=(games, length, features)) + shift
    return values.reshape(-1, features), np.repeat(np.arange(games), length)


def slow_distance(one, other):
    """Return the distance of Kolmogorov and Smirnov, straight from its definition."""
    both = np.append(one, other)
    return max(abs((one <= x).mean() - (other <= x).mean()) for x in both)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
def test_few_games_are_exchanged_in_every_way(seed, features, coarse):
    rng = np.random.default_rng(seed)
    old, old_game = played(rng, 3, 2, features)
    new, new_game = played(rng, 3, 3, features, shift=1.0)
    if coarse:
        old, new = np.round(old), np.round(new)
    values, games = [old[old_game == g] for g in range(3)], 3
    values += [new[new_game == g] for g in range(games)]
    ways = list(combinations(range(6), 3))
    table = np.array([
        [slow_distance(np.concatenate([values[g][:, f] for g in range(6) if g not in way]),
                       np.concatenate([values[g][:, f] for g in way])) for f in range(features)]
        for way in ways
    ])  # fmt: skip
    deviation = table.std(axis=0)
    standard = np.where(deviation > 1e-12, (table - table.mean(axis=0)) / (deviation + 1e-300), 0)
    truth = ways.index((3, 4, 5))
    found = drift(old, old_game, new, new_game)
    for f, feature in enumerate(found.features):
        assert feature.distance == pytest.approx(table[truth, f])
        share = (standard.max(axis=1) >= standard[truth, f] - 1e-9).mean()
        assert feature.chance == pytest.approx(share)
    assert found.smallest_chance == pytest.approx(1 / 20)


def test_too_few_games_cannot_tell():
    rng = np.random.default_rng(0)
    found = drift(*played(rng, 2, 50, 4), *played(rng, 2, 50, 4, shift=100.0))
    assert not found.can_tell
    assert not found.drifted
    assert found.features[0].distance == 1
    assert drift(*played(rng, 30, 5, 4), *played(rng, 30, 5, 4)).can_tell


def test_among_equal_games_any_feature_drifts_by_error_once_in_20():
    alarms = 0
    for number in range(200):
        rng = np.random.default_rng([1, number])
        found = drift(
            *played(rng, 20, 6, 10), *played(rng, 12, 6, 10),
            least=0.0, exchanges=199, seed=number,
        )  # fmt: skip
        alarms += bool(found.drifted)
    # 5 % of 200 is 10; 21 or more have a chance below 1 in 1,000.
    assert alarms <= 20


def test_decisions_taken_for_games_would_cry_wolf():
    alarms = 0
    for number in range(12):
        rng = np.random.default_rng([2, number])
        (old, _), (new, _) = played(rng, 10, 10, 4), played(rng, 10, 10, 4)
        found = drift(old, np.arange(100), new, np.arange(100), least=0.0, exchanges=99)
        alarms += bool(found.drifted)
    assert alarms >= 6


def test_planted_faults_are_found_by_name_among_many_features():
    rng = np.random.default_rng(3)
    old, old_game = played(rng, 60, 10, 100)
    new, new_game = played(rng, 60, 10, 100)
    new[:, 7] = 0.0
    new[:, 50] *= 100
    new[:, 93] += 3
    names = [f"feature_{i}" for i in range(100)]
    found = drift(old, old_game, new, new_game, names=names)
    assert {f.name for f in found.drifted} == {"feature_7", "feature_50", "feature_93"}
    assert found.features[7].constant
    assert not found.features[8].constant
    assert found.features[50].outside > 0.5
    assert found.features[50].spread[1] > 50 * found.features[50].spread[0]
    assert found.features[93].median[1] - found.features[93].median[0] == pytest.approx(3, abs=1)


def test_a_sure_but_small_difference_does_not_matter():
    rng = np.random.default_rng(4)
    old, new = rng.normal(size=(4000, 1)), rng.normal(size=(4000, 1)) + 0.15
    found = drift(old, np.arange(4000), new, np.arange(4000), exchanges=59)
    assert found.features[0].chance == pytest.approx(1 / 60)
    assert 0.03 < found.features[0].distance < 0.1
    assert not found.features[0].drifted


def test_features_that_are_the_same_everywhere_have_no_drift():
    found = drift(np.ones((40, 2)), np.arange(40), np.ones((40, 2)), np.arange(40), exchanges=99)
    assert [f.distance for f in found.features] == [0, 0]
    assert [f.chance for f in found.features] == [1, 1]
    assert not found.features[0].constant


def test_values_beyond_what_training_showed_are_counted_on_both_sides():
    old = np.linspace(0, 1, 50)[:, None]
    new = np.array([-0.1, 0.0, 0.5, 1.0, 1.1, 2.0, 3.0, 0.2])[:, None]
    (feature,) = drift(old, np.arange(50), new, np.arange(8), exchanges=19).features
    assert feature.outside == 4 / 8
    (same,) = drift(old, np.arange(50), np.full((8, 1), 0.5), np.arange(8), exchanges=19).features
    assert same.constant
    assert same.outside == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 1000.0]))
def test_scale_and_order_of_features_do_not_matter(seed, scale):
    rng = np.random.default_rng(seed)
    old, old_game = played(rng, 10, 4, 3)
    new, new_game = played(rng, 8, 4, 3, shift=0.5)
    one = drift(old, old_game, new, new_game, exchanges=99)
    other = drift(-scale * old[:, ::-1], old_game, -scale * new[:, ::-1], new_game, exchanges=99)
    assert [f.distance for f in one.features] == pytest.approx(
        [f.distance for f in other.features][::-1], abs=0.1
    )
    assert all(0 < f.chance <= 1 and 0 <= f.distance <= 1 for f in one.features)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [(np.zeros((3, 2)), np.zeros((3, 4)), "same features"), (np.zeros((0, 2)), np.zeros((3, 2)),
     "empty"), (np.zeros((3, 2)), np.full((3, 2), math.nan), "'0' of the recorded games")],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(old, new, match):
    with pytest.raises(LanistaError, match=match):
        drift(old, np.arange(len(old)), new, np.arange(len(new)))


def test_names_and_game_numbers_must_fit():
    values = np.zeros((3, 2))
    with pytest.raises(LanistaError, match="names"):
        drift(values, np.arange(3), values, np.arange(3), names=["a"])
    with pytest.raises(LanistaError, match="game numbers"):
        drift(values, np.arange(2), values, np.arange(3))
