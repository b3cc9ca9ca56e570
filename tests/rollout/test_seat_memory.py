"""Recurrent states of all seats: each seat's own, through its match, and nobody else's."""

from types import SimpleNamespace

import numpy as np

from lanista.rollout.inference.recurrent_state import Memory


def asked(*rows):
    """Return decisions from (slot, seat, match, turn) of each."""
    slot, seat, match, turn = (np.array(column) for column in zip(*rows, strict=True))
    decisions = SimpleNamespace(slot=slot, seat=seat, match=match, turn=turn)
    return decisions, np.arange(len(slot))


def state(*values):
    return np.array([[value, -value] for value in values], np.float32)


def recalled(memory, *rows):
    return memory.recall(*asked(*rows))[:, 0].tolist()


def test_a_state_is_that_of_the_seat_and_goes_through_its_match():
    memory = Memory(2)
    assert recalled(memory, (0, 0, 7, 0), (0, 1, 7, 0), (1, 0, 8, 0)) == [0, 0, 0]
    memory.remember(*asked((0, 0, 7, 0), (0, 1, 7, 0), (1, 0, 8, 0)), state(1, 2, 3))
    assert recalled(memory, (1, 0, 8, 1), (0, 1, 7, 1), (0, 0, 7, 1)) == [3, 2, 1]
    # Another match in the slot begins without one; so does the same one begun again.
    assert recalled(memory, (0, 0, 9, 1), (0, 1, 7, 0), (1, 1, 8, 1)) == [0, 0, 0]


def test_room_for_more_slots_and_seats_keeps_all_that_was_there():
    memory = Memory(2)
    memory.remember(*asked((0, 0, 7, 5), (1, 0, 8, 2)), state(1, 2))
    memory.remember(*asked((4, 2, 9, 0)), state(3))
    assert recalled(memory, (0, 0, 7, 6), (1, 0, 8, 3), (4, 2, 9, 1)) == [1, 2, 3]
    # A turn before the last one: the same match begun again, in a slot from before the growth.
    assert recalled(memory, (0, 0, 7, 3), (0, 0, 7, 5)) == [0, 0]


def test_what_is_recalled_and_saved_does_not_change_with_what_comes_after():
    memory = Memory(2)
    memory.remember(*asked((0, 0, 7, 0)), state(1))
    held, saved = memory.recall(*asked((0, 0, 7, 1))), memory.save()
    memory.remember(*asked((0, 0, 7, 1)), state(5))
    assert held[:, 0].tolist() == [1]
    other = Memory(2)
    other.load(saved)
    assert recalled(other, (0, 0, 7, 1)) == [1]
    assert recalled(other, (0, 0, 7, 0)) == [0]
    other.remember(*asked((0, 0, 7, 1)), state(9))
    assert saved["state"][0, 0].tolist() == [1, -1]
    assert (saved["match"][0, 0], saved["turn"][0, 0]) == (7, 0)


def test_an_empty_memory_saves_nothing_and_loading_nothing_empties_one():
    memory = Memory(2)
    assert memory.save() == {}
    memory.remember(*asked((0, 0, 7, 0)), state(1))
    memory.load({})
    assert recalled(memory, (0, 0, 7, 1)) == [0]
