"""Batched play: the same table whatever the slots and threads, every match to its end."""

import sys

import numpy as np
import pytest
from race_game import Cycling, First, Last, Race, play_alone

from lanista.games import GameError, PythonBot, make, make_bot
from lanista.games.random_bot import RandomBot
from lanista.rollout import RolloutError, Schedule, Table, join, play, play_blocks, rotations


def kuhn_table(slots, seed=3):
    game = make("kuhn", slots=slots, seed=seed)
    return Table(game, (make_bot("kuhn", "random", game.spec, seed), Last(game.spec, seed)))


def race_table(slots, seed=3):
    game = Race(slots=slots, seed=seed)
    spec = game.spec
    return Table(game, (RandomBot(spec, seed), Cycling(spec, seed), Last(spec, seed)))


def columns(results):
    return {
        "returns": results.returns.tolist(),
        "place": results.place.tolist(),
        "score": results.score.tolist(),
        "decisions": results.decisions.tolist(),
        "cut_off": results.cut_off.tolist(),
        "actions": None if results.actions is None else results.actions.tolist(),
        "digests": results.digests,
    }


@pytest.mark.parametrize("table", [kuhn_table, race_table])
def test_the_same_table_comes_out_with_1_7_and_1024_slots(table):
    schedule = rotations(len(table(1).players), 60)
    one, seven, many = (
        columns(play([table(slots)], schedule, record=True)) for slots in (1, 7, 1024)
    )
    assert one == seven == many
    assert len(set(one["decisions"])) > 1  # Lengths differ, or slots could not matter.


@pytest.mark.parametrize("table", [kuhn_table, race_table])
def test_the_same_table_comes_out_with_several_threads(table):
    schedule = rotations(len(table(1).players), 60)
    alone = columns(play([table(7)], schedule, record=True))
    for threads in (2, 5):
        shared = play([table(7) for _ in range(threads)], schedule, record=True)
        assert columns(shared) == alone


def test_more_threads_than_matches_are_no_harm():
    results = play([kuhn_table(4) for _ in range(5)], rotations(2, 2), record=True)
    assert columns(results) == columns(play([kuhn_table(4)], rotations(2, 2), record=True))


def test_each_match_is_what_the_contract_gives_when_it_is_played_alone():
    table = race_table(7)
    schedule = rotations(3, 30, first_match=50, first_deal=20)
    results = play([table], schedule, record=True)
    actions = results.actions_by_match()
    for row in range(len(schedule)):
        alone, _, expected = play_alone(
            lambda slots: Race(slots=slots, seed=3),
            table.players,
            int(schedule.match[row]),
            int(schedule.deal[row]),
            schedule.seating[row],
        )
        assert results.returns[row].tolist() == alone.returns[0].tolist()
        assert results.place[row].tolist() == alone.place[0].tolist()
        assert (
            results.score[row].tolist() == alone.score[0].tolist() != results.returns[row].tolist()
        )
        assert actions[row].tolist() == expected  # By turn, then by seat.
        assert results.decisions[row] == len(expected)
    assert results.total_decisions == sum(map(len, actions))


def test_long_matches_count_as_much_as_short_ones():
    # Stopping at the first N finished matches would favour short ones: all ids must be there.
    schedule = rotations(3, 300)
    batched = play([race_table(256)], schedule)
    alone = play([race_table(1)], schedule)
    assert batched.decisions.mean() == alone.decisions.mean()
    assert batched.place.min() == 1  # Every row was written.
    assert batched.decisions.min() > 0


def test_each_player_answers_exactly_the_decisions_of_its_seats_and_once_a_step():
    table = race_table(1024)
    schedule = rotations(3, 90)
    results = play([table], schedule)
    cycling = table.players[1]
    seat_of = dict(
        zip(schedule.match.tolist(), (schedule.seating == 1).argmax(axis=1).tolist(), strict=True)
    )
    assert cycling.asked
    assert all(seat == seat_of[match] for match, seat in cycling.asked)
    # All matches run side by side, so there are as many steps as the longest has turns.
    assert cycling.calls <= 12
    assert len(cycling.asked) < results.total_decisions


def test_actions_are_not_kept_unless_asked_for():
    results = play([kuhn_table(4)], rotations(2, 4))
    with pytest.raises(RolloutError, match="without recording"):
        results.actions_by_match()
    blocks = list(play_blocks([kuhn_table(4)], rotations(2, 8), block=4))
    assert [block.actions for block in blocks] == [None, None]


def test_recorded_actions_are_kept_in_one_byte_each_where_that_is_enough():
    results = play([kuhn_table(4)], rotations(2, 40), record=True)
    assert results.actions.dtype == np.uint8


def test_matches_broken_off_are_marked():
    class Broken(Race):
        cut_deals = (1, 4, 7)

    game = Broken(slots=5, seed=1)
    bots = tuple(First(game.spec, 1) for _ in range(3))
    schedule = rotations(3, 60)
    results = play([Table(game, bots)], schedule)
    expected = [
        play_alone(lambda slots: Broken(slots=slots, seed=1), bots, int(m), int(d), [0, 1, 2])[1]
        for m, d in zip(schedule.match, schedule.deal, strict=True)
    ]
    assert results.cut_off.tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_progress_counts_every_match_once_with_threads_too():
    for threads in (1, 3):
        seen = []
        tables = [kuhn_table(4) for _ in range(threads)]
        play(tables, rotations(2, 50), progress=seen.append)
        assert sum(seen) == 50


def test_blocks_together_are_the_whole_and_each_is_whole_units():
    schedule = rotations(3, 60)
    whole = play([race_table(7)], schedule, record=True)
    blocks = list(play_blocks([race_table(7)], schedule, block=20, record=True))
    assert [len(block) for block in blocks] == [18, 18, 18, 6]
    assert columns(join(blocks)) == columns(whole)
    assert join(blocks).schedule.match.tolist() == schedule.match.tolist()


class Changing(PythonBot):
    """Becomes another player after some decisions."""

    name = "changing"

    def __init__(self, spec, seed):
        super().__init__(spec, seed)
        self.version = 1

    def choose(self, observation, legal, stream):
        self.version = 2
        return 0


def test_a_player_that_changes_during_play_is_refused():
    game = make("kuhn", slots=2, seed=0)
    bots = (Changing(game.spec, 0), First(game.spec, 0))
    with pytest.raises(RolloutError, match="changing changed in the middle"):
        play([Table(game, bots)], rotations(2, 8))


def test_joined_parts_have_actions_only_where_all_have_and_times_that_add_up():
    one, other, silent = (
        play([race_table(4)], rotations(3, 6, first_match=first), record=record)
        for first, record in ((0, True), (6, True), (12, False))
    )
    both = join([one, other])
    assert np.array_equal(both.actions, np.concatenate([one.actions, other.actions]))
    assert both.schedule.match.tolist() == list(range(12))
    assert both.schedule.deal.tolist() == [*one.schedule.deal, *other.schedule.deal]
    assert join([one, silent]).actions is None
    assert both.wall_seconds == one.wall_seconds + other.wall_seconds
    assert both.cpu_seconds == one.cpu_seconds + other.cpu_seconds
    # Parts that were played side by side took as long as the caller says.
    assert join([one, other], wall_seconds=0.5).wall_seconds == 0.5


def test_results_of_different_players_are_not_joined():
    game = make("kuhn", slots=2, seed=0)
    first, last = First(game.spec, 0), Last(game.spec, 0)
    one = play([Table(game, (first, last))], rotations(2, 2))
    other = play([Table(game, (last, first))], rotations(2, 2, first_match=2))
    with pytest.raises(RolloutError, match="different players"):
        join([one, other])


@pytest.mark.parametrize(
    "answer",
    [
        lambda rows: np.zeros(len(rows), np.int32),
        lambda rows: np.zeros((1, 1), np.int32),
        lambda rows: np.full((len(rows), 1), 0.5),
        lambda rows: np.zeros((len(rows), 1)),
        lambda rows: np.full((len(rows), 1), 2**32),
    ],
    ids=["flat", "one for all", "fractions", "whole fractions", "0 when cut to 32 bits"],
)
def test_answers_of_the_wrong_shape_or_kind_are_refused_by_name(answer):
    class Odd(First):
        name = "odd"

        def act(self, decisions, rows):
            return answer(rows)

    game = make("kuhn", slots=4, seed=0)
    with pytest.raises(RolloutError, match="Player odd answered"):
        play([Table(game, (Odd(game.spec, 0), First(game.spec, 0)))], rotations(2, 8))


class Failing(First):
    """Breaks down in one match."""

    def act(self, decisions, rows):
        if (decisions.match[rows] == 70).any():
            raise ZeroDivisionError("in match 70")
        return super().act(decisions, rows)


def test_a_failure_in_one_thread_is_the_failure_of_all():
    tables = []
    for _ in range(3):
        game = make("kuhn", slots=4, seed=0)
        tables.append(Table(game, (Failing(game.spec, 0), First(game.spec, 0))))
    with pytest.raises(ZeroDivisionError, match="in match 70"):
        play(tables, rotations(2, 3000))


def test_an_illegal_action_is_refused():
    class Outside(First):
        def choose(self, observation, legal, stream):
            return 2

    game = make("kuhn", slots=4, seed=0)
    with pytest.raises(GameError, match="not legal"):
        play([Table(game, (Outside(game.spec, 0), First(game.spec, 0)))], rotations(2, 8))


def test_a_schedule_for_other_seats_or_players_is_refused():
    with pytest.raises(RolloutError, match="has 2 seats"):
        play([kuhn_table(4)], rotations(3, 3))
    with pytest.raises(RolloutError, match="seats player 2"):
        play([kuhn_table(4)], rotations([0, 2], 2))


def test_a_game_that_waits_for_nobody_is_an_error_and_no_endless_loop():
    class Stuck:
        def __init__(self, game):
            self.game = game

        def __getattr__(self, name):
            return getattr(self.game, name)

        def start(self, slots, match_ids, options=None):
            pass

    table = kuhn_table(4)
    with pytest.raises(RolloutError, match="waits for nobody"):
        play([Table(Stuck(table.game), table.players)], rotations(2, 4))


def test_options_reach_every_match():
    def first_seat(first):
        game = make("beastybar", slots=8, seed=0)
        seen = []

        class Watching(First):
            def act(self, decisions, rows):
                opening = decisions.turn[rows] == 0
                seen.extend(decisions.seat[rows][opening].tolist())
                return super().act(decisions, rows)

        bots = (Watching(game.spec, 0), Watching(game.spec, 0))
        play([Table(game, bots)], rotations(2, 20), options={"first": first})
        return set(seen)

    assert first_seat(0) == {0}
    assert first_seat(1) == {1}


def test_match_ids_in_any_order_are_played():
    match = np.array([9, 2, 5])
    schedule = Schedule(match, np.zeros(3, np.int64), np.array([[0, 1]] * 3, np.int32))
    results = play([kuhn_table(2)], schedule, record=True)
    single = [
        play(
            [kuhn_table(1)],
            Schedule(match[i : i + 1], np.zeros(1, np.int64), np.array([[0, 1]], np.int32)),
        ).returns[0]
        for i in range(3)
    ]
    assert results.returns.tolist() == [returns.tolist() for returns in single]


def test_results_say_how_long_playing_took_on_the_wall_and_in_all_threads():
    for threads in (1, 3):
        results = play([race_table(4) for _ in range(threads)], rotations(3, 30))
        assert results.cpu_seconds > 0
        assert results.wall_seconds > 0


def test_blocks_are_played_as_asked_and_hold_10000_matches_at_most(monkeypatch):
    asked = []

    def noted(tables, part, **told):
        asked.append((len(part), told))
        return len(part)

    monkeypatch.setattr(sys.modules[play.__module__], "play", noted)
    told = {"options": {"first": 1}, "record": True, "progress": print}
    assert sum(play_blocks([], rotations(2, 40_000), **told)) == 40_000
    assert [size for size, _ in asked[:3]] == [32, 64, 128]
    assert max(size for size, _ in asked) == 10_000
    assert all(each == told for _, each in asked)
    asked.clear()
    assert list(play_blocks([], rotations(2, 6))) == [6]
    assert asked == [(6, {"options": None, "record": False, "progress": None})]


@pytest.mark.parametrize("number", [-1, 2])
def test_a_player_who_is_not_at_the_table_is_refused_by_number(number):
    seating = np.array([[0, 1], [number, 1]], np.int32)
    schedule = Schedule(np.arange(2), np.zeros(2, np.int64), seating)
    with pytest.raises(RolloutError, match="players 0 to 1 are at the table"):
        play([kuhn_table(4)], schedule)
