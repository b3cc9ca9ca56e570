"""The rate at which two players choose differently on the same decisions."""

import pytest

from lanista.evaluation import disagreement
from lanista.evaluation.differences import everyone_meets
from lanista.games import Facts, Head, PythonBot, PythonGame, View
from lanista.rollout import RolloutError


class Walk(PythonGame):
    """Four turns, by turns; in the last two nothing can be chosen."""

    name = "walk"
    facts = Facts(seats=2, longest=4, zero_sum=True)
    observation = 1
    moves = 3

    def deal(self, rng):
        return {"turn": 0}

    def view(self, state, seat):
        if state["turn"] % 2 != seat:
            return None
        return View([state["turn"]], range(3) if state["turn"] < 2 else [0])

    def apply(self, state, moves, rng):
        state["turn"] += 1
        return [0, 0] if state["turn"] == 4 else None


class Opening(PythonBot):
    """Chooses one number in the first turn, another in the second, and then what it must."""

    def __init__(self, spec, first, second):
        super().__init__(spec, 0)
        self.name, self.choices = f"{first}{second}", (first, second, 0, 0)

    def choose(self, observation, legal, stream):
        return self.choices[int(observation[0])]


def test_the_rate_is_the_share_of_open_decisions_answered_differently():
    game = Walk(slots=8)
    bots = [Opening(game.spec, 1, 2), Opening(game.spec, 1, 1), Opening(game.spec, 0, 1)]
    found = disagreement(game, bots, matches=6)
    assert found.names == ("12", "11", "01")
    assert found.rate[0][1].value == pytest.approx(0.5)  # Same in the first turn only.
    assert found.rate[1][2].value == pytest.approx(0.5)  # Same in the second turn only.
    assert found.rate[0][2].value == pytest.approx(1.0)
    assert found.rate[2][0] == found.rate[0][2]
    # Three pairs, six matches, two open decisions; the forced ones do not count.
    assert found.decisions == 3 * 6 * 2


def test_the_same_bot_twice_never_differs_and_the_interval_still_has_width():
    game = Walk(slots=8)
    found = disagreement(game, [Opening(game.spec, 1, 2), Opening(game.spec, 1, 2)], matches=10)
    assert found.rate[0][1].value == 0
    assert found.rate[0][1].high > 0
    assert found.rate[0][0] is None


def test_a_choice_of_two_parts_is_another_where_either_part_is():
    class Pair(Walk):
        moves = (Head("first", 3), Head("second", 3))

        def view(self, state, seat):
            if state["turn"] % 2 != seat:
                return None
            free = range(3) if state["turn"] < 2 else [0]
            # In the second turn one part is forced, and there is a choice all the same.
            return View([state["turn"]], [free, [0] if state["turn"] else free])

    class Both(Opening):
        def choose(self, observation, legal, stream):
            wanted = self.choices[int(observation[0])]
            return [wanted, min(1, len(legal[1]) - 1)]

    game = Pair(slots=8)
    bots = [Both(game.spec, 1, 2), Both(game.spec, 0, 2)]
    found = disagreement(game, bots, matches=6)
    # The first part alone differs, in the first of two turns with a choice.
    assert (found.rate[0][1].value, found.decisions) == (pytest.approx(0.5), 6 * 2)


def test_whole_units_are_numbered_one_after_another():
    schedule = everyone_meets(2, 3, 5)
    assert schedule.match.tolist() == list(range(18))
    assert schedule.deal.tolist() == [0, 0, 1, 1, 2, 2] * 3


def test_everyone_meets_everyone_in_every_seat():
    schedule = everyone_meets(2, 3, 4)
    seatings = [tuple(row) for row in schedule.seating.tolist()]
    for a in range(3):
        for b in range(3):
            assert seatings.count((a, b)) == (2 if a != b else 0)
    assert schedule.match.tolist() == list(range(12))


def test_too_few_players_for_the_seats_are_refused():
    with pytest.raises(RolloutError, match="do not fill"):
        everyone_meets(3, 2, 4)
