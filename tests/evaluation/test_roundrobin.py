"""Round robin: everybody meets everybody, in both seats, and the table says how it went."""

import pytest

from lanista.evaluation import cross_table, meetings
from lanista.evaluation.score import against_all, smallest_difference
from lanista.games import Facts, PythonBot, PythonGame, Step, View, make
from lanista.rollout import RolloutError, Table


class Highest(PythonGame):
    """Both choose a number at once; the higher wins."""

    name = "highest"
    facts = Facts(seats=2, longest=1, zero_sum=True, simultaneous=True, symmetric=True)
    observation = 1
    moves = 4

    def deal(self, rng):
        return {}

    def view(self, state, seat):
        return View([0], range(4))

    def apply(self, state, moves, rng):
        sign = (moves[0] > moves[1]) - (moves[0] < moves[1])
        return [sign, -sign]


class Fixed(PythonBot):
    """Always chooses the same number."""

    def __init__(self, spec, seed, choice):
        super().__init__(spec, seed)
        self.name, self.choice = f"fixed{choice}", choice

    def choose(self, observation, legal, stream):
        return self.choice


def table(choices, slots=16):
    game = Highest(slots=slots)
    return Table(game, tuple(Fixed(game.spec, 0, choice) for choice in choices))


def test_every_pair_meets_equally_often_in_both_seats_on_the_same_deals():
    played = dict(meetings([table([0, 1, 2, 3])], 10))
    assert set(played) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    ids = []
    for (a, b), results in played.items():
        seating = results.schedule.seating.tolist()
        assert seating.count([a, b]) == seating.count([b, a]) == 5
        assert results.schedule.deal.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
        ids += results.schedule.match.tolist()
    assert len(set(ids)) == len(ids)


def test_the_table_is_ordered_by_mean_score_and_its_sides_add_up_to_one():
    found = cross_table(dict(meetings([table([1, 3, 1, 0])], 10)), ["one", "three", "uno", "zero"])
    assert found.names == ("three", "one", "uno", "zero")
    assert [mean.value for mean in found.mean] == pytest.approx([1, 0.5, 0.5, 0])
    assert found.against[0][3].value == 1
    assert found.against[3][0].value == 0
    assert found.against[1][2].value == 0.5
    for i in range(4):
        assert found.against[i][i] is None
        for j in range(i):
            assert found.against[i][j].value + found.against[j][i].value == pytest.approx(1)
    assert found.first_seat.value == 0.5
    assert found.matches == 60


def test_every_score_has_an_interval_with_width():
    found = cross_table(dict(meetings([table([1, 3, 0])], 10)), "abc")
    for i in range(3):
        assert found.mean[i].half > 0
        for j in range(3):
            assert i == j or found.against[i][j].half > 0
    assert found.smallest_difference > 0


def test_pairs_that_were_not_played_are_unknown():
    played = dict(list(meetings([table([1, 3, 0])], 10))[:1])
    found = cross_table(played, ["one", "three", "zero"])
    assert (found.pairs_played, found.pairs) == (1, 3)
    assert found.names == ("three", "one", "zero")
    assert found.against[0][1].value == 1
    assert found.against[0][2] is None
    assert found.mean[2] is None


def test_nothing_played_is_a_table_of_unknowns():
    found = cross_table({}, ["a", "b"])
    assert found.mean == (None, None)
    assert found.first_seat is None


def test_digests_follow_their_players_into_the_ordered_table():
    made = table([0, 3])
    found = cross_table(dict(meetings([made], 2)), ["zero", "three"])
    assert found.digests == (made.players[1].digest, made.players[0].digest)


def test_a_mean_is_taken_over_deals_that_all_pairs_share():
    game = make("kuhn", slots=64, seed=1)
    bots = tuple(Fixed(game.spec, 1, choice) for choice in (0, 1)) * 2
    found = cross_table(dict(meetings([Table(game, bots)], 40)), "abcd")
    assert all(mean.n == 20 for mean in found.mean)


def test_what_was_broken_off_is_counted_over_all_pairs_and_the_widest_pair_is_told():
    class Breaking(Highest):
        def apply(self, state, moves, rng):
            # Two who choose alike come to no end; a three wins now and then only.
            if moves[0] == moves[1]:
                return Step(cut_off=True)
            if 3 in moves.values() and rng.below(2):
                return [0, 0]
            return super().apply(state, moves, rng)

    game = Breaking(slots=8, seed=1)
    bots = tuple(Fixed(game.spec, 0, choice) for choice in (1, 1, 3, 0))
    played = dict(meetings([Table(game, bots)], 40))
    found = cross_table(played, "abcd")
    # The first pair of six chooses alike.
    assert (found.left_out, found.matches) == (40, 240)
    widths = {}
    for pair in ((0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        units = against_all(played[pair].place)[played[pair].schedule.seating == pair[0]]
        widths[pair] = smallest_difference(units.reshape(-1, 2).mean(1))
    assert len({round(width, 6) for width in widths.values()}) > 1
    assert found.smallest_difference == pytest.approx(max(widths.values()))


def test_games_of_more_seats_and_lone_bots_are_refused():
    game = make("beastybar", slots=4, seats=3)
    bots = tuple(Fixed(game.spec, 0, 0) for _ in range(3))
    with pytest.raises(RolloutError, match="two seats"):
        next(meetings([Table(game, bots)], 2))
    with pytest.raises(RolloutError, match="needs two players"):
        next(meetings([table([1])], 2))
