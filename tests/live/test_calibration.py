"""Calibration by bins, against its formula and against predictions whose truth is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.live.promotion.calibration import calibration


def test_the_error_is_the_weighted_mean_gap_of_the_bins():
    found = calibration([0.1, 0.3, 0.8, 1.0], [0.0, 1.0, 1.0, 0.5], bins=2)
    # Gaps: ½ − 0.2 in the first half, 0.75 − 0.9 in the second, two of four predictions each.
    assert found.error == pytest.approx(0.5 * 0.3 + 0.5 * 0.15)
    assert [b.count for b in found.bins] == [2, 2]
    assert found.bins[1].predicted == pytest.approx(0.9)
    assert found.bins[1].outcome == pytest.approx(0.75)
    assert (found.games, found.predictions) == (4, 4)


def test_bins_divide_0_to_1_evenly():
    for predicted in ([0.95], [0.05], [0.5]):
        bins = calibration(predicted, [1.0], bins=4).bins
        assert [(one.low, one.high) for one in bins] == [
            (0.0, 0.25),
            (0.25, 0.5),
            (0.5, 0.75),
            (0.75, 1.0),
        ]
    assert [one.count for one in calibration([0.25, 0.5, 1.0], [1.0] * 3, bins=4).bins] == [
        0,
        1,
        1,
        1,
    ]


def test_empty_bins_are_unknown_and_no_predictions_are_none():
    found = calibration([0.95], [1.0])
    assert found.bins[0].predicted is None
    assert found.bins[0].outcome is None
    assert calibration([], []) is None


numbers = st.floats(0, 1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 5)), min_size=1, max_size=60))
def test_the_error_lies_in_its_interval_and_order_does_not_matter(rows):
    predicted, outcome, game = (np.array(part) for part in zip(*rows, strict=True))
    found = calibration(predicted, outcome, game)
    assert 0 <= found.low <= found.error + 1e-12
    assert found.error <= found.high + 1e-12
    assert found.high <= 1
    turned = calibration(predicted[::-1], outcome[::-1], game[::-1])
    assert turned.error == pytest.approx(found.error)
    assert turned.noise == pytest.approx(found.noise, abs=1e-7)
    one = calibration(predicted, outcome, game, bins=1)
    assert one.error == pytest.approx(abs(outcome.mean() - predicted.mean()), abs=1e-12)


def urns(rng, games, length):
    """Return true chances of winning during games (Pólya's urn), and how each game ended."""
    white, black = np.full(games, 2.0), np.full(games, 1.0)
    chances = []
    for _ in range(length):
        chances.append(white / (white + black))
        drawn = rng.random(games) < chances[-1]
        white, black = white + drawn, black + ~drawn
    won = rng.random(games) < white / (white + black)
    return np.array(chances).T, won.astype(float)


def flat(chances, won):
    games, length = chances.shape
    return chances.ravel(), np.repeat(won, length), np.repeat(np.arange(games), length)


def test_perfect_predictions_are_called_calibrated_19_times_in_20():
    rng = np.random.default_rng(0)
    found = [calibration(*flat(*urns(rng, 150, 12))) for _ in range(300)]
    # 95 % of 300 is 285; 274 or fewer have a chance below 1 in 1,000.
    assert sum(one.calibrated for one in found) >= 275
    assert all(one.error > 0 for one in found)


def test_predictions_of_one_game_are_not_independent():
    chances, outcome, game = flat(*urns(np.random.default_rng(1), 100, 20))
    assert calibration(chances, outcome, game).noise > 2 * calibration(chances, outcome).noise


@pytest.mark.parametrize("tilt", [0.0, 0.05, 0.15])
def test_the_interval_holds_the_true_error_19_times_in_20(tilt):
    rng, inside = np.random.default_rng(2), 0
    for _ in range(300):
        chances, outcome, game = flat(*urns(rng, 150, 8))
        told = np.clip(chances + tilt, 0, 1)
        found = calibration(told, outcome, game)
        place = np.minimum((told * 10).astype(int), 9)
        truth = np.abs(np.bincount(place, chances - told)).sum() / len(told)
        inside += found.low <= truth <= found.high
    assert inside >= 275


def test_overconfidence_is_found():
    chances, outcome, game = flat(*urns(np.random.default_rng(3), 600, 8))
    found = calibration((chances > 0.5) * 0.9 + 0.05, outcome, game)
    assert not found.calibrated
    assert found.low > 0.03


def test_wrong_input_is_refused():
    with pytest.raises(LanistaError, match="outside 0 to 1"):
        calibration([1.2], [1.0])
    with pytest.raises(LanistaError, match="outside 0 to 1"):
        calibration([0.5], [np.nan])
    with pytest.raises(LanistaError, match="came with"):
        calibration([0.5], [1.0, 0.0])
    with pytest.raises(LanistaError, match="bins"):
        calibration([0.5], [1.0], bins=0)
    with pytest.raises(LanistaError, match="game numbers"):
        calibration([0.5], [1.0], np.zeros(2))
