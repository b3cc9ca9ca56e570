"""Matches counted by seating, against a dictionary filled straight from the definition."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanista.rollout.outcome_counts import Count, Tally, pair_results

COLUMNS = ("seated", "place", "returns", "match", "update")
NUMBERS = st.one_of(st.integers(0, 3), st.integers(0, 2**31 - 1))


@st.composite
def parts(draw):
    """Some parts of matches of one number of seats, each a list of matches."""
    seats = draw(st.integers(2, 4))
    ids = st.integers(-(2**62), 2**62)
    match = st.tuples(
        st.tuples(*[NUMBERS] * seats),
        st.tuples(*[st.integers(1, seats)] * seats),
        st.tuples(*[st.floats(width=32, allow_nan=False, allow_infinity=False)] * seats),
        ids,
        ids,
    )
    return seats, draw(st.lists(st.lists(match, max_size=8), max_size=5))


def columns(matches, seats):
    shapes = ((-1, seats),) * 3 + ((-1,),) * 2
    kinds = (np.int32, np.int32, np.float32, np.int64, np.int64)
    values = list(zip(*matches, strict=True)) or [()] * 5
    return {
        name: np.array(given, kind).reshape(shape)
        for name, given, kind, shape in zip(COLUMNS, values, kinds, shapes, strict=True)
    }


def reference(matches):
    """Return the counts by seating, one match after another."""
    found = {}
    for seating, place, returns, match, update in matches:
        one = found.setdefault(
            seating,
            {"pairs": {}, "returns": [0.0] * len(seating), "ids": [], "updates": []},
        )
        for a, b in combinations(range(len(seating)), 2):
            pair = one["pairs"].setdefault((a, b), [0, 0, 0])
            pair[0 if place[a] < place[b] else 1 if place[a] == place[b] else 2] += 1
        for seat, got in enumerate(returns):
            one["returns"][seat] += got  # Python's floats are float64.
        one["ids"].append(match)
        one["updates"].append(update)
    return [
        Count(
            seating, len(one["ids"]), tuple(tuple(p) for _, p in sorted(one["pairs"].items())),
            tuple(one["returns"]), min(one["ids"]), max(one["ids"]), min(one["updates"]),
        )
        for seating, one in sorted(found.items())
    ]  # fmt: skip


@given(parts(), st.data())
def test_counts_are_those_of_the_definition_in_any_order_of_add_extend_and_asking(made, data):
    seats, given_parts = made
    tally, so_far = Tally(seats), []
    for part in given_parts:
        rows = columns(part, seats)
        if data.draw(st.booleans()):
            tally.add(**rows)
        else:
            elsewhere = Tally(seats)
            cut = data.draw(st.integers(0, len(part)))
            for some in (slice(0, cut), slice(cut, None)):
                elsewhere.add(*(column[some] for column in rows.values()))
            if data.draw(st.booleans()):
                elsewhere.counts()
            tally.extend(elsewhere.rows())
        so_far += part
        if data.draw(st.booleans()):
            assert tally.counts() == reference(so_far)
    assert tally.counts() == reference(so_far) == tally.counts()
    assert tally.matches == len(so_far)


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_sums_of_many_returns_are_those_of_numpy_bit_for_bit(seats):
    rng = np.random.default_rng(seats)
    n = 20_000
    seated = rng.integers(0, 3, (n, seats)).astype(np.int32)
    returns = (rng.normal(size=(n, seats)) * 10.0 ** rng.integers(-6, 6, (n, 1))).astype(np.float32)
    place = rng.integers(1, 3, (n, seats)).astype(np.int32)
    tally = Tally(seats)
    for some in np.array_split(np.arange(n), 7):
        tally.add(seated[some], place[some], returns[some], some, some)
    counts = tally.counts()
    assert [count.seating for count in counts] == sorted(set(map(tuple, seated.tolist())))
    for count in counts:
        own = (seated == count.seating).all(1)
        assert count.returns == tuple(returns[own].sum(0, dtype=np.float64))
        assert count.pairs == pair_results(place[own])
        assert (count.first_match, count.last_match) == (*np.flatnonzero(own)[[0, -1]],)


def test_more_seatings_than_there_is_room_for_at_first_are_all_kept():
    rng = np.random.default_rng(0)
    matches = [
        (tuple(int(n) for n in rng.integers(0, 40, 3)), (1, 2, 2), (1.0, 0.5, -1.5), at, 0)
        for at in range(3_000)
    ]
    tally = Tally(3)
    tally.add(**columns(matches, 3))
    assert tally.counts() == reference(matches)


def test_a_cleared_tally_begins_with_nothing():
    tally = Tally(2)
    assert tally.counts() == []
    assert tally.rows() == {}
    tally.add(**columns([((0, 1), (1, 2), (1.0, -1.0), 5, 0)], 2))
    assert tally.counts()
    tally.clear()
    assert (tally.counts(), tally.rows(), tally.matches) == ([], {}, 0)
    later = [((1, 0), (1, 1), (0.25, 0.25), 6, 3)]
    tally.add(**columns(later, 2))
    assert tally.counts() == reference(later)


def test_columns_that_only_look_at_others_are_counted_alike():
    matches = [((0, n % 3), (1, 2), (n / 8, -n / 8), 10 - n, n) for n in range(9)]
    rows = columns(matches, 2)
    frozen = {name: np.repeat(column, 2, axis=0)[::2] for name, column in rows.items()}
    for column in frozen.values():
        column.flags.writeable = False
    tally = Tally(2)
    tally.add(**frozen)
    assert tally.counts() == reference(matches)


def test_columns_of_another_length_or_number_of_seats_are_refused():
    rows = columns([((0, 1), (1, 2), (1.0, -1.0), 5, 0)] * 2, 2)
    for name in COLUMNS:
        tally = Tally(2)
        tally.add(**rows | {name: rows[name][:1]})
        with pytest.raises(ValueError, match="matches of 2 seats came as"):
            tally.counts()
    tally = Tally(3)
    tally.add(**rows)
    with pytest.raises(ValueError, match="of 3 seats"):
        tally.counts()
