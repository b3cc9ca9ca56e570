"""What a caller hands to a game is read at its bounds, and refused one beyond them."""

from __future__ import annotations

import numpy as np
import pytest

from lanista.games import Facts, Field, GameError, Head, Observation, Option, Spec
from lanista.games.arguments import (
    DEAL,
    MOST_SLOTS,
    read_actions,
    read_match_ids,
    read_options,
    read_seed,
    read_size,
    read_slots,
    whole_numbers,
)

SPEC = Spec(
    "plain",
    Facts(seats=2, longest=9),
    Observation((Field("card"),)),
    (Head("move", 2),),
    options=(Option("bonus", 3, 1, 5), Option("depth", -1, -2, 2)),
)
LARGEST = 2**63 - 1


def test_slots_and_seed_are_whole_numbers_within_their_bounds():
    assert MOST_SLOTS == 1 << 24
    assert read_size(1, 0) == (1, 0)
    assert read_size(np.int16(MOST_SLOTS >> 10), LARGEST) == (1 << 14, LARGEST)
    assert read_size(MOST_SLOTS, 5) == (MOST_SLOTS, 5)
    for slots in (0, -1, MOST_SLOTS + 1):
        with pytest.raises(GameError, match=f"slots is {slots}; give a number from 1 to 16777216"):
            read_size(slots, 0)
    for seed in (-1, 2**63):
        with pytest.raises(GameError, match=f"seed is {seed}; give a number from 0 to"):
            read_size(1, seed)
        with pytest.raises(GameError, match=f"seed is {seed}; give a number from 0 to"):
            read_seed(seed)
    for wrong in ((1.0, 0), ("1", 0), (1, 0.5), (None, 0)):
        with pytest.raises(GameError, match="give whole numbers"):
            read_size(*wrong)
    with pytest.raises(GameError, match=r"seed is 1\.5; give a whole number"):
        read_seed(1.5)


def test_whole_numbers_come_flat_and_fractions_and_flags_do_not():
    assert whole_numbers("rows", [[1, 2], [3, 4]]).tolist() == [1, 2, 3, 4]
    assert whole_numbers("rows", 7).tolist() == [7]
    assert whole_numbers("rows", []).tolist() == []
    assert whole_numbers("rows", np.array([3], np.uint8)).dtype == np.int64
    assert whole_numbers("rows", [2**63]).tolist() == [-(2**63)], "which every caller refuses"
    for wrong in ([1.0], [True], ["1"]):
        with pytest.raises(GameError, match=r"rows are .*; give whole numbers"):
            whole_numbers("rows", wrong)


def test_slots_are_those_that_the_game_has():
    assert read_slots([2, 0], 3).tolist() == [2, 0]
    assert read_slots([], 3).tolist() == []
    for slots, wrong in (([0, 3], 3), ([-1, 1], -1), ([1, 7, -2], 7)):
        with pytest.raises(GameError, match=f"Slot {wrong} is not in 0 to 2"):
            read_slots(slots, 3)


def test_every_slot_has_one_match_id_of_at_least_0():
    assert read_match_ids([0, LARGEST], 2).tolist() == [0, LARGEST]
    assert read_match_ids([], 0).tolist() == []
    for ids, slots in (([1], 2), ([1, 2, 3], 2), ([0, -1], 2), ([], 1)):
        with pytest.raises(GameError, match=f"{slots} slots were started with {len(ids)} match"):
            read_match_ids(ids, slots)


def options(**given):
    return read_options(SPEC, np.array([4, 9]), given or None).tolist()


def test_options_lie_beside_the_deal_which_is_the_match_id_unless_given():
    assert options() == [[4, 3, -1], [9, 3, -1]]
    assert options(bonus=5) == [[4, 5, -1], [9, 5, -1]]
    assert options(bonus=[1, 5], depth=None, deal=7) == [[7, 1, -1], [7, 5, -1]]
    assert options(deal=[LARGEST, 0], depth=[2, -2]) == [[LARGEST, 3, 2], [0, 3, -2]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bonus": 0}, "bonus must lie in 1 to 5"),
        ({"bonus": [5, 6]}, "bonus must lie in 1 to 5"),
        ({"bonus": [0, 5]}, "bonus must lie in 1 to 5"),
        ({"depth": -3}, "depth must lie in -2 to 2"),
        ({"deal": -1}, "deal must lie in 0 to 9223372036854775807"),
        ({"bonus": [1, 2, 3]}, "bonus has 3 values for 2 matches"),
        ({"bonus": []}, "bonus has 0 values for 2 matches"),
        ({"bonus": 1.0}, "match option bonus are float64"),
        ({"size": 1, "extra": 2}, "plain has no match option 'extra'"),
    ],
)
def test_an_option_beyond_its_bounds_is_refused(given, words):
    with pytest.raises(GameError, match=words):
        options(**given)


def test_the_deal_takes_any_match_id():
    assert (DEAL.name, DEAL.low, DEAL.high) == ("deal", 0, LARGEST)


def test_actions_are_one_number_for_each_decision_and_head():
    assert read_actions([1, 2, 3, 4], 2, 2).tolist() == [[1, 2], [3, 4]]
    assert read_actions([[1], [2]], 2, 1).dtype == np.int32
    assert read_actions([], 0, 3).shape == (0, 3)
    large = read_actions(np.array([2**32, -(2**32), 2**31 - 1, 2**31, -1, 5]), 6, 1)
    most = 2**31 - 1
    assert large.ravel().tolist() == [most, -1, most, most, -1, 5]
    assert read_actions(np.array([2**64 - 1], np.uint64), 1, 1).tolist() == [[most]]
    assert read_actions(np.array([-7], np.int32), 1, 1).tolist() == [[-7]]
    for actions, rows in (([1.0, 2.0], 1), ([1, 2, 3], 1), ([1], 1), ([True, False], 1), ([], 1)):
        with pytest.raises(GameError, match="1 decisions with 2 heads were answered with"):
            read_actions(actions, rows, 2)
