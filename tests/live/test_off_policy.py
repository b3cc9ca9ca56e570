"""Off-policy estimates: exact where every game is listed, cautious where weights are few."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.live.promotion.off_policy import LEAST, opinion, per_game, weigh


def listed_games(behaviour, policy, length, value):
    """Return outcomes and log-probabilities of all games, each as often as `behaviour` plays it.

    `behaviour` chooses action 1 with `behaviour`/4, `policy` with `policy`/4.
    """
    rows = []
    for actions in product((0, 1), repeat=length):
        chance = [behaviour / 4 if action else 1 - behaviour / 4 for action in actions]
        other = [policy / 4 if action else 1 - policy / 4 for action in actions]
        times = round(math.prod(chance) * 4**length)
        rows += [(value(actions), sum(map(math.log, chance)), sum(map(math.log, other)))] * times
    return (np.array(column) for column in zip(*rows, strict=True))


def test_games_listed_as_often_as_they_are_played_give_the_exact_score():
    def value(actions):
        return (sum(actions) % 3) / 2

    outcome, behaviour, policy = listed_games(2, 3, 4, value)
    exact = sum(
        value(a) * math.prod(0.75 if action else 0.25 for action in a)
        for a in product((0, 1), repeat=4)
    )
    found = weigh(outcome, policy - behaviour)
    assert found.value == pytest.approx(exact)
    assert found.mean_weight == pytest.approx(1)
    # E w² = ((¾)²/½ + (¼)²/½)⁴ under behaviour ½.
    assert found.effective == pytest.approx(len(outcome) / 1.25**4)
    assert found.influence.mean() == pytest.approx(0, abs=1e-12)


def test_a_policy_that_played_the_games_has_their_mean_and_all_of_them():
    rng = np.random.default_rng(0)
    outcome, played = rng.choice([0, 0.5, 1], 200), rng.normal(-20, 3, 200)
    found = opinion(outcome, played, played, played)
    assert found.candidate == found.stable == pytest.approx(outcome.mean())
    assert found.effective == pytest.approx(200)
    assert found.verdict == "no_veto"
    assert found.high == pytest.approx(0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.floats(-800, 800)), min_size=1),
    st.floats(-300, 300),
)
def test_weights_are_bounded_and_do_not_depend_on_a_common_factor(games, shift):
    outcome = np.array([outcome for outcome, _ in games])
    ratio = np.array([ratio for _, ratio in games])
    found, shifted = weigh(outcome, ratio), weigh(outcome, ratio + shift)
    assert 1 - 1e-9 <= found.effective <= len(games) + 1e-9
    assert outcome.min() - 1e-12 <= found.value <= outcome.max() + 1e-12
    assert shifted.value == pytest.approx(found.value)
    assert shifted.effective == pytest.approx(found.effective)


def decisions_of(rng, games, length, chance):
    """Return actions of policies that choose 1 with `chance`, and each decision's game."""
    return rng.random((games, length)) < chance, np.repeat(np.arange(games), length)


def log_probs(actions, chance):
    return np.where(actions, math.log(chance), math.log(1 - chance)).ravel()


def simulated(seed, games, length, stable, candidate, value):
    rng = np.random.default_rng(seed)
    actions, game = decisions_of(rng, games, length, stable)
    outcome = (rng.random(games) < value(actions)).astype(float)
    played, other = (per_game(log_probs(actions, p), game, games) for p in (stable, candidate))
    return opinion(outcome, played, other, played)


def test_below_fifty_effective_games_it_cannot_tell_even_of_the_worst():
    found = simulated(0, 400, 30, 0.5, 0.9, lambda actions: 1 - actions.mean(axis=1))
    assert found.effective < LEAST
    assert found.verdict == "cannot_tell"
    assert "50" in found.reason


def _even(actions):
    return 0.5 + 0.4 * actions[:, 0] - 0.4 * actions[:, 1]


def equal_by_other_means(key, count, games, length):
    """Return opinions of candidates whose first action helps as much as the second hurts."""
    return [simulated([key, i], games, length, 0.5, 0.7, _even) for i in range(count)]


def test_a_candidate_as_good_by_other_means_is_rarely_vetoed():
    found = equal_by_other_means(1, 400, 600, 5)
    told = [one for one in found if one.verdict != "cannot_tell"]
    assert len(told) > 300
    assert sum(one.verdict == "veto" for one in told) <= 0.05 * len(told)


@pytest.mark.slow
@pytest.mark.parametrize(("games", "length"), [(600, 5), (300, 8), (2000, 8)])
def test_vetoes_of_equals_are_rare_in_long_simulations(games, length):
    found = equal_by_other_means(10, 2000, games, length)
    vetoes = sum(one.verdict == "veto" for one in found)
    print(f"{vetoes} of 2,000 vetoed with {games} games of {length} decisions")
    assert vetoes <= 0.03 * len(found)


def test_a_clearly_worse_candidate_is_vetoed():
    found = [
        simulated([2, i], 2000, 5, 0.5, 0.7, lambda a: 0.9 - 0.8 * a.mean(axis=1))
        for i in range(40)
    ]
    assert sum(one.verdict == "veto" for one in found) >= 36


def test_wrong_log_probabilities_are_noticed_by_their_mean_weight():
    rng = np.random.default_rng(3)
    actions, game = decisions_of(rng, 1000, 5, 0.5)
    outcome = rng.random(1000)
    played = per_game(log_probs(actions, 0.5), game, 1000)
    found = opinion(outcome, played, played + 0.5, played)
    assert found.verdict == "cannot_tell"
    assert "mean weight" in found.reason


def test_a_candidate_that_could_not_have_played_any_game_cannot_be_told():
    nothing = np.full(100, -np.inf)
    found = opinion(np.ones(100), np.zeros(100), nothing, np.zeros(100))
    assert found.verdict == "cannot_tell"
    assert found.candidate is None
    assert opinion(*[np.zeros(0)] * 4).verdict == "cannot_tell"


def test_decisions_are_summed_by_game_and_a_game_without_any_weighs_one():
    sums = per_game(np.array([-1.0, -2.0, -4.0]), np.array([2, 0, 2]), 4)
    assert sums.tolist() == [-2, 0, -5, 0]


@pytest.mark.parametrize(
    ("outcome", "behaviour", "candidate", "match"),
    [([1.0, 0.0], [0.0], [0.0], "lengths"), ([np.nan], [0.0], [0.0], "finite"),
     ([1.0], [-np.inf], [0.0], "finite"), ([1.0], [0.0], [np.nan], "not a number"),
     ([1.0], [0.0], [np.inf], "not a number")],
)  # fmt: skip
def test_numbers_that_mean_nothing_are_refused(outcome, behaviour, candidate, match):
    with pytest.raises(LanistaError, match=match):
        opinion(*map(np.array, (outcome, behaviour, candidate, behaviour)))


def test_decisions_without_their_game_are_refused():
    with pytest.raises(LanistaError, match="game numbers"):
        per_game(np.zeros(3), np.zeros(2, int), 1)
    with pytest.raises(LanistaError, match="numbered 0 to 4"):
        per_game(np.zeros(2), np.array([0, 4]), 3)


def test_the_upper_end_and_both_scores_are_those_of_the_formula():
    rng = np.random.default_rng(6)
    outcome = rng.choice([0.0, 0.5, 1.0], 400)
    played = rng.normal(-3, 0.3, 400)
    new, old = played + rng.normal(-0.02, 0.2, 400), played + rng.normal(-0.005, 0.1, 400)
    found = opinion(outcome, played, new, old)

    def weighed(log_probs):
        weights = np.exp(log_probs - played)
        value = (weights * outcome).sum() / weights.sum()
        return value, weights.sum() ** 2 / (weights**2).sum(), weights / weights.mean()

    (one, one_effective, one_share), (other, other_effective, other_share) = map(
        weighed, (new, old)
    )
    assert found.candidate == pytest.approx(one)
    assert found.stable == pytest.approx(other)
    assert one_effective < other_effective
    assert found.effective == pytest.approx(one_effective)
    # Both scores come from the same games, so their errors partly cancel out.
    errors = one_share * (outcome - one) - other_share * (outcome - other)
    spread = errors.std() / np.sqrt(399)
    assert found.high == pytest.approx(one - other + 2.3263 * spread, abs=1e-5)


@pytest.mark.parametrize(("errors", "verdict"), [(2.5, "no_veto"), (3.5, "cannot_tell")])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_mean_weight_beyond_three_standard_errors_of_1_cannot_be_told(sign, errors, verdict):
    rng = np.random.default_rng(2)
    drawn = rng.normal(0, 0.3, 400)
    # A common factor moves the mean weight by so many of its standard errors.
    drawn -= np.log(np.exp(drawn).mean())
    factor = 1 / (1 - sign * errors * np.exp(drawn).std() / 20)
    outcome, played = rng.choice([0.0, 1.0], 400), np.zeros(400)
    assert opinion(outcome, played, drawn + np.log(factor), played).verdict == verdict


def test_the_smaller_of_both_effective_samples_counts():
    """Of a stable policy that did not play the games itself they may say less."""
    rng = np.random.default_rng(8)
    outcome, played = rng.choice([0.0, 1.0], 400), np.zeros(400)
    near, far = rng.normal(0, 0.05, 400), rng.normal(0, 2.5, 400)
    least = weigh(outcome, far).effective
    assert least < LEAST < weigh(outcome, near).effective
    for one, other in ((near, far), (far, near)):
        found = opinion(outcome, played, one, other)
        assert found.effective == pytest.approx(least)
        assert found.verdict == "cannot_tell"
        assert f"worth {least:.0f} of" in found.reason


@pytest.mark.parametrize(("games", "verdict"), [(49, "cannot_tell"), (50, "no_veto")])
def test_fifty_games_of_the_policies_themselves_are_enough(games, verdict):
    outcome, played = np.arange(games) % 2.0, np.zeros(games)
    assert opinion(outcome, played, played, played).verdict == verdict


def test_weights_and_their_error_are_those_of_the_formula():
    rng = np.random.default_rng(9)
    outcome, ratio = rng.random(30), rng.normal(0, 1, 30)
    found, weight = weigh(outcome, ratio), np.exp(ratio)
    value = (weight * outcome).sum() / weight.sum()
    assert found.value == pytest.approx(value)
    assert found.mean_weight == pytest.approx(weight.mean())
    assert found.weight_error == pytest.approx(weight.std() / math.sqrt(30))
    assert found.effective == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert found.influence == pytest.approx(weight / weight.mean() * (outcome - value))
