"""Equilibria of matrix games: against those that are known, and against best responses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.league.matrix_game import ACCURACY, equilibrium

unhurried = settings(deadline=None, max_examples=60)
entries = st.one_of(st.integers(-3, 3).map(float), st.floats(-50, 50, width=32))
sizes = st.tuples(st.integers(1, 12), st.integers(1, 12))


@st.composite
def matrices(draw):
    rows, columns = draw(sizes)
    flat = draw(st.lists(entries, min_size=rows * columns, max_size=rows * columns))
    return np.array(flat).reshape(rows, columns)


def test_rock_paper_scissors_is_played_evenly():
    solved = equilibrium(np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]))
    assert solved.rows == pytest.approx([1 / 3] * 3)
    assert solved.columns == pytest.approx([1 / 3] * 3)
    assert solved.value == pytest.approx(0)


def test_weighted_rock_paper_scissors_is_played_by_what_the_others_are_worth():
    # Of a game a beats b by x, b beats c by y, c beats a by z: shares y, z, x.
    x, y, z = 1.5, 0.5, 0.5
    solved = equilibrium(np.array([[0, x, -z], [-x, 0, y], [z, -y, 0]]))
    assert solved.rows == pytest.approx(np.array([y, z, x]) / (x + y + z))


def test_two_by_two_games_have_their_textbook_solution():
    # [[a, b], [c, d]] without a saddle point: value (ad - bc)/(a + d - b - c).
    solved = equilibrium(np.array([[3, -1], [-2, 1]]))
    assert solved.rows == pytest.approx([3 / 7, 4 / 7])
    assert solved.columns == pytest.approx([2 / 7, 5 / 7])
    assert solved.value == pytest.approx(1 / 7)


def test_who_is_dominated_is_not_played():
    solved = equilibrium(np.array([[0, -1, 1, 1], [1, 0, -1, 1], [-1, 1, 0, 1], [-1, -1, -1, 0]]))
    assert solved.rows == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


def test_a_saddle_point_is_pure():
    solved = equilibrium(np.array([[4, 2], [1, 0]]))
    assert (solved.rows.tolist(), solved.columns.tolist()) == ([1, 0], [0, 1])
    assert solved.value == 2


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_players_who_are_all_equal_are_mixed_evenly(count):
    assert equilibrium(np.zeros((count, count))).rows == pytest.approx([1 / count] * count)


def test_a_copy_of_a_player_shares_what_the_one_had():
    original = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    twice = [0, 1, 2, 2]
    solved = equilibrium(original[np.ix_(twice, twice)])
    assert solved.rows[:2] == pytest.approx([1 / 3, 1 / 3])
    assert solved.rows[2:].sum() == pytest.approx(1 / 3)
    assert solved.rows[2:].min() > 0


@unhurried
@given(matrices())
def test_no_best_response_gains_anything(matrix):
    solved = equilibrium(matrix)
    for shares in (solved.rows, solved.columns):
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()
    allowed = ACCURACY * max(1.0, np.abs(matrix).max())
    assert (matrix @ solved.columns).max() - (solved.rows @ matrix).min() <= allowed


def test_sixty_players_with_random_gains_are_solved():
    gains = np.random.default_rng(3).normal(size=(60, 60))
    solved = equilibrium(gains - gains.T)
    assert ((gains - gains.T) @ solved.rows).max() <= 1e-9
    assert solved.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("matrix", [np.zeros((0, 0)), np.zeros(3), np.array([[0, np.nan]])])
def test_what_is_no_matrix_of_numbers_is_refused(matrix):
    with pytest.raises(LanistaError, match="payoff matrix of shape"):
        equilibrium(matrix)
