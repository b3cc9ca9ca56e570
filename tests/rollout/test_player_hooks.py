"""Players with state are told when their matches start and end; planners get their copies."""

from pathlib import Path

import numpy as np
import pytest
import torch
from race_game import Race

from lanista.games import GameError, PlanningBot, StatefulBot, make, make_bot
from lanista.games.bot_files import bot_from_file
from lanista.games.random_bot import RandomBot
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import Table, play, rotations
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "planning_bot.py")


class Counting(StatefulBot):
    """Chooses by how many decisions it had in this match, and notes what it is told."""

    name = "counting"

    def __init__(self, spec, seed):
        super().__init__(spec, seed)
        self.log = []

    def begin(self, seat):
        return [0]

    def choose_with(self, state, observation, legal, stream):
        state[0] += 1
        return legal[0][state[0] % len(legal[0])]

    def match_started(self, slot, seat, match):
        self.log.append(("started", slot, seat, match))
        super().match_started(slot, seat, match)

    def match_ended(self, slot, seat, match):
        self.log.append(("ended", slot, seat, match))
        super().match_ended(slot, seat, match)


def race(slots, bot=Counting):
    game = Race(slots=slots, seed=3)
    players = (bot(game.spec, 1), RandomBot(game.spec, 2), RandomBot(game.spec, 3))
    return Table(game, players)


def test_a_player_is_told_of_each_of_its_matches_once_and_keeps_state_by_slot():
    schedule = rotations(3, 30)
    one, many = race(1), race(7)
    results = [play([table], schedule, record=True) for table in (one, many)]
    assert results[0].actions.tolist() == results[1].actions.tolist()
    for table in (one, many):
        log = table.players[0].log
        for what in ("started", "ended"):
            told = sorted((match, seat) for kind, _, seat, match in log if kind == what)
            seats = [row.index(0) for row in schedule.seating.tolist()]
            assert told == sorted(zip(schedule.match.tolist(), seats, strict=True))
        assert table.players[0]._states == {}


def test_state_begins_afresh_where_nobody_says_that_matches_begin():
    schedule = rotations(3, 30)
    told = play([race(5)], schedule, record=True)

    class Silent(Counting):
        match_ended = None

    table = race(5, Silent)
    assert play([table], schedule, record=True).actions.tolist() == told.actions.tolist()


def collector(game, opponents, seating):
    torch.manual_seed(0)
    actor = Actor(Policy(game.spec, Network(width=8, layers=1)), 0)
    return Collector(game, actor, opponents, seating, unroll_length=8)


def against(matches):
    """Seat the learner and the first opponent in turn."""
    first = (matches % 2).astype(np.int32)
    return np.stack([first, 1 - first], axis=1)


def test_a_collector_tells_opponents_and_lets_them_plan():
    game = make("leduc", slots=4, seed=0)
    counting = Counting(game.spec, 1)
    with_state = collector(game, [counting], against)
    with_state.whole_matches(12)
    assert sorted({match for _, _, _, match in counting.log}) == [*range(12)]
    assert len(counting.log) == 24
    assert counting._states == {}
    planning = bot_from_file(EXAMPLE, game.spec, 1)
    planning.copies = 12
    unrolls = collector(make("leduc", slots=4, seed=0), [planning], against).whole_matches(12)
    assert len(unrolls)


@pytest.mark.parametrize(("name", "matches"), [("leduc", 300), ("beastybar", 60)])
def test_the_example_that_plans_beats_random(name, matches):
    game = make(name, slots=10, seed=5)
    players = (bot_from_file(EXAMPLE, game.spec, 1), make_bot(name, "random", game.spec, 2))
    results = play([Table(game, players)], rotations(2, matches))
    own = results.schedule.seating == 0
    gained = results.returns[own]
    mean, error = gained.mean(), gained.std() / np.sqrt(len(gained))
    assert mean > 3 * error


def test_whoever_plans_is_refused_where_nobody_gives_copies():
    game = make("kuhn", slots=1, seed=0)
    game.start([0], [0])
    bot = bot_from_file(EXAMPLE, game.spec, 1)
    with pytest.raises(GameError, match="'flat_monte_carlo' looks ahead, and whoever plays here"):
        bot.act(game.decisions(), np.array([0]))


def test_a_planner_may_not_look_for_another_seat():
    class Peeking(PlanningBot):
        def act(self, decisions, rows):
            wrong = decisions.__class__(**{**vars(decisions), "seat": 1 - decisions.seat})
            self._planner.copies(wrong, int(rows[0]), None, 1)

    game = make("kuhn", slots=1, seed=0)
    players = (Peeking(game.spec, 0), RandomBot(game.spec, 0))
    with pytest.raises(GameError, match="is not asked for a decision now"):
        play([Table(game, players)], rotations(2, 2))
