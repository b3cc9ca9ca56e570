"""Schedules: every deal in all seatings, every match id once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.rollout import Schedule, rotations

seat_counts = st.integers(2, 6)
match_counts = st.integers(1, 50)


def test_two_players_swap_seats_on_the_same_deal():
    schedule = rotations(2, 4)
    assert schedule.seating.tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]
    assert schedule.deal.tolist() == [0, 0, 1, 1]
    assert schedule.match.tolist() == [0, 1, 2, 3]


def test_in_the_next_match_of_a_unit_everybody_has_moved_one_seat_up():
    schedule = rotations([5, 6, 7], 3)
    assert schedule.seating.tolist() == [[5, 6, 7], [7, 5, 6], [6, 7, 5]]


@given(seat_counts, match_counts)
def test_every_player_sits_in_every_seat_once_on_each_deal(seats, matches):
    schedule = rotations(seats, matches)
    for deal in np.unique(schedule.deal):
        seating = schedule.seating[schedule.deal == deal]
        assert len(seating) == seats
        for column in seating.T:
            assert sorted(column) == list(range(seats))
        for row in seating:
            assert sorted(row) == list(range(seats))


@given(seat_counts, match_counts)
def test_matches_are_rounded_up_to_whole_units_and_no_further(seats, matches):
    count = len(rotations(seats, matches))
    assert matches <= count < matches + seats
    assert count % seats == 0


def test_numbers_of_players_and_first_ids_are_kept():
    schedule = rotations([4, 7], 3, first_match=100, first_deal=9)
    assert schedule.seating.tolist() == [[4, 7], [7, 4]] * 2
    assert schedule.match.tolist() == [100, 101, 102, 103]
    assert schedule.deal.tolist() == [9, 9, 10, 10]


@given(seat_counts, match_counts, st.integers(1, 20))
def test_blocks_hold_whole_units_and_shards_all_rows_in_order(seats, matches, size):
    schedule = rotations(seats, matches)
    blocks = schedule.blocks(size)
    assert np.concatenate([block.match for block in blocks]).tolist() == schedule.match.tolist()
    for block in blocks:
        assert len(block) % seats == 0
        assert len(block) <= max(size, seats)
    shards = schedule.shards(size)
    assert len(shards) == size
    assert np.concatenate([shard.match for shard in shards]).tolist() == schedule.match.tolist()
    lengths = [len(shard) for shard in shards]
    assert max(lengths) - min(lengths) <= 1


def test_blocks_of_a_long_schedule_double_up_to_their_limit():
    lengths = [len(block) for block in rotations(2, 20_000).blocks(5000)]
    assert lengths == [32, 64, 128, 256, 512, 1024, 2048, 4096, 5000, 5000, 1840]


@given(st.integers(1, 5000))
def test_whoever_stops_a_long_schedule_keeps_about_half_of_what_was_played(played):
    ends = np.cumsum([len(block) for block in rotations(2, 5000).blocks(10_000)])
    kept = max((end for end in ends.tolist() if end <= played), default=0)
    assert kept >= played // 2 - 32


def test_a_match_id_given_twice_is_refused():
    with pytest.raises(LanistaError, match="twice"):
        Schedule(np.array([3, 1, 3]), np.array([0, 0, 1]), np.zeros((3, 2), np.int32))


def test_match_ids_need_not_rise():
    schedule = Schedule(np.array([3, 1, 2]), np.array([0, 0, 1]), np.zeros((3, 2), np.int32))
    assert len(schedule) == 3


def test_columns_of_different_length_are_refused():
    with pytest.raises(LanistaError, match="3 match ids, 2 deals"):
        Schedule(np.arange(3), np.arange(2), np.zeros((3, 2), np.int32))


@pytest.mark.parametrize(("players", "matches"), [(2, 0), (0, 4)])
def test_nothing_to_play_is_refused(players, matches):
    with pytest.raises(LanistaError, match="cannot be scheduled"):
        rotations(players, matches)
