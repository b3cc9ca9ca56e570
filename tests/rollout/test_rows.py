"""What is done to a step's rows at once: against the plain way of saying it with numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanista.games.contract import Decisions
from lanista.games.streams import uniforms
from lanista.rollout.rows import by_player, copy_rows, draws


def decisions_of(rng: np.random.Generator, n: int, slots: int = 9, seats: int = 3) -> Decisions:
    return Decisions(
        slot=rng.integers(0, slots, n, np.int32),
        seat=rng.integers(0, seats, n, np.int32),
        match=rng.integers(0, 1 << 40, n),
        turn=rng.integers(0, 50, n, np.int32),
        observation=rng.integers(0, 255, (n, 5), np.uint8),
        mask=rng.random((n, 4)) < 0.5,
    )


@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 1 << 30))
def test_rows_of_a_player_are_those_whose_seat_it_has_in_order(n, players, seed):
    rng = np.random.default_rng(seed)
    decisions = decisions_of(rng, n)
    player_of = rng.integers(0, players, 8)
    seated = rng.integers(0, 8, (9, 3), np.int32)
    order, start = by_player(decisions, seated, player_of, players)
    who = player_of[seated[decisions.slot, decisions.seat]]
    assert start[0] == 0
    assert start[players] == n
    for player in range(players):
        rows = order[start[player] : start[player + 1]]
        assert rows.tolist() == np.flatnonzero(who == player).tolist()


@pytest.mark.parametrize("number", [-1, 2, 3])
def test_a_seat_of_nobody_known_is_refused(number):
    decisions = decisions_of(np.random.default_rng(0), 5)
    with pytest.raises(IndexError, match="nobody known"):
        by_player(decisions, np.full((9, 3), number, np.int32), np.array([0, 1, 7]), 2)


@pytest.mark.parametrize("change", [{"slot": 9}, {"slot": -1}, {"seat": 3}, {"seat": -1}])
def test_a_decision_of_no_slot_or_seat_is_refused(change):
    decisions = decisions_of(np.random.default_rng(0), 5)
    ((name, value),) = change.items()
    decisions = replace(decisions, **{name: np.full(5, value, np.int32)})
    with pytest.raises(IndexError):
        by_player(decisions, np.zeros((9, 3), np.int32), np.array([0]), 1)


SHAPES = st.sampled_from([(), (1,), (5,), (2, 3), (0,)])
TYPES = st.sampled_from([np.uint8, np.bool_, np.int32, np.float32, np.float64, np.int64])


@given(
    st.lists(st.tuples(SHAPES, TYPES, st.sampled_from(["plain", "strided", "turned", "cast"]))),
    st.integers(0, 12),
    st.integers(0, 3),
    st.booleans(),
    st.integers(0, 1 << 30),
)
def test_rows_are_copied_as_numpy_would(columns, n, first, some, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n, rng.integers(0, 20)) if some and n else None
    many = n if rows is None else len(rows)
    pairs, wanted = [], []
    for shape, dtype, kind in columns[:8]:
        source = (rng.random((n, *shape)) * 9).astype(np.int16 if kind == "cast" else dtype)
        if kind == "strided":
            source = np.repeat(source, 2, 0)[::2]
        if kind == "turned":
            source = np.asfortranarray(source)
        target = (rng.random((first + many + 2, *shape)) * 9).astype(dtype)
        after = target.copy()
        after[first : first + many] = source if rows is None else source[rows]
        pairs.append((source, target))
        wanted.append(after)
    copy_rows(pairs, rows, first)
    for (_, target), after in zip(pairs, wanted, strict=True):
        assert np.array_equal(target, after)


def test_what_cannot_be_written_to_is_not():
    target = np.zeros((4, 2))
    target.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        copy_rows([(np.ones((4, 2)), target)])


@pytest.mark.parametrize(
    ("rows", "first", "shape"),
    [([0, 3], 0, (2,)), ([-1], 0, (2,)), ([0], -1, (2,)), ([0, 1], 3, (2,)), ([0], 0, (3,))],
)
def test_rows_that_are_not_there_or_do_not_fit_are_refused(rows, first, shape):
    target = np.zeros((4, 2))
    with pytest.raises((IndexError, ValueError)):
        copy_rows([(np.ones((3, *shape)), target)], np.array(rows), first)
    assert not target.any()


def test_columns_of_different_length_are_refused():
    with pytest.raises(IndexError):
        copy_rows([(np.ones(n), np.zeros(9)) for n in (4, 3)])


@given(st.integers(0, 30), st.integers(1, 3), st.integers(0, 1 << 62))
def test_draws_are_those_of_each_decisions_stream(n, heads, seed):
    rng = np.random.default_rng(seed)
    decisions = decisions_of(rng, n)
    rows = rng.permutation(n)[: n // 2]
    out = np.empty((len(rows), heads), np.float32)
    draws(seed, decisions, rows, out)
    told = (each[rows] for each in (decisions.match, decisions.seat, decisions.turn))
    assert np.array_equal(out, uniforms(seed, *told, heads))


@pytest.mark.parametrize(("rows", "room"), [([0, 5], 2), ([-1], 1), ([0, 1], 1)])
def test_draws_for_rows_that_are_not_there_are_refused(rows, room):
    decisions = decisions_of(np.random.default_rng(0), 5)
    with pytest.raises(IndexError):
        draws(3, decisions, np.array(rows), np.empty((room, 1), np.float32))
