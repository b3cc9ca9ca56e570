"""What a Python bot draws, and what names it: the stream of its decision, its digest."""

from __future__ import annotations

import numpy as np
import pytest
from sound_games import Duel

from lanista.games.bots import PythonBot
from lanista.games.contract import Decisions
from lanista.games.streams import Stream


class Noting(PythonBot):
    """Takes the last legal choice, and notes the streams that it was given."""

    name = "noting"

    def __init__(self, spec, seed):
        super().__init__(spec, seed)
        self.states = []

    def choose(self, observation, legal, stream):
        self.states.append((stream.state, int(observation[0])))
        return legal[0][-1]


def test_a_bots_chance_is_that_of_its_seed_match_seat_and_turn():
    spec = Duel().spec
    rows = 4
    decisions = Decisions(
        slot=np.arange(rows, dtype=np.int32),
        seat=np.array([0, 1, 1, 0], np.int32),
        match=np.array([7, 7, 8, 9], np.int64),
        turn=np.array([0, 1, 1, 2], np.int32),
        observation=np.arange(rows * 5, dtype=np.uint8).reshape(rows, 5),
        mask=np.array([[1, 1], [1, 0], [1, 1], [0, 1]], np.bool_),
    )
    bot = Noting(spec, 5)
    actions = bot.act(decisions, np.array([3, 0, 2, 1]))
    assert actions.tolist() == [[1], [1], [1], [0]]
    named = [(9, 0, 2), (7, 0, 0), (8, 1, 1), (7, 1, 1)]
    expected = [Stream.keyed(5, match, seat, "act", turn).state for match, seat, turn in named]
    assert bot.states == list(zip(expected, [15, 0, 10, 5], strict=True))


@pytest.mark.parametrize("changed", [{"version": 2}, {"name": "other"}])
def test_bots_that_can_differ_have_different_digests(changed):
    other = type("Other", (Noting,), changed)
    spec = Duel().spec
    assert Noting(spec, 1).digest == Noting(spec, 2).digest
    assert Noting(spec, 1).digest != other(spec, 1).digest
