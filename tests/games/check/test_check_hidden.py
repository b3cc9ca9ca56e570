"""What the search for leaks and the redraws of `hidden` do, and what they tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sound_games import Duel, Signals

from lanista.games import Facts, Field, Head, Observation, Spec, Stream
from lanista.games.check import hidden, leaks
from lanista.games.check.positions import Position
from lanista.games.check.report import NotApplicable
from lanista.games.check.trial import Trial
from lanista.games.contract import Decisions

SPEC = Spec(
    "plain",
    Facts(seats=2, longest=9, zero_sum=True, symmetric=True),
    Observation((Field("card", 1, 6), Field("line", 2, 3), Field("coins"))),
    (Head("move", 2), Head("target", 3)),
)


# Hidden views.


def trial_of(game, effort=2000):
    return Trial(lambda slots, seed: game(slots, seed), 1, 4, effort, False)


def test_a_position_changed_if_its_copies_do_not_all_show_the_same_to_some_seat():
    copies = [Position(0, 0, 0, 0)] * 10
    same = {(slot, 1): b"a" for slot in range(10)}
    assert hidden._changed(copies, same) == 0
    assert hidden._changed(copies, same | {(4, 1): b"b"}) == 1
    assert hidden._changed(copies, same | {(5, 1): b"b"}) == 1
    assert hidden._changed(copies, same | {(0, 1): b"b", (9, 1): b"b"}) == 2
    # Two seats may see different things.
    assert hidden._changed(copies, same | {(3, 0): b"b"}) == 0


def test_every_copy_but_the_first_is_redrawn_from_a_stream_of_its_own():
    streams = []

    class Watched(Duel):
        def resample(self, state, seat, rng):
            streams.append((seat, rng.state))
            super().resample(state, seat, rng)

    trial = trial_of(Watched)
    position = Position(2, 1, 1, 5)
    copies = [position] * hidden.COPIES
    with trial.game(len(copies)) as game:
        hidden.stand(game, copies)
        assert hidden._redraw_and_look(trial, game, copies) in (0, 1)
    assert streams == [
        (1, Stream.keyed(1, 2, 1, "resample", 1 * 5 + copy).state) for copy in (1, 2, 3, 4)
    ]


def test_a_sound_game_is_said_to_be_redrawn_four_times_at_each_decision():
    words = hidden.hidden(trial_of(Duel))
    assert words.startswith("4 redraws at each of 16 decisions left the seat's view as it was")


def test_where_nothing_is_hidden_a_redraw_may_be_refused_or_change_nothing():
    with pytest.raises(NotApplicable, match="nothing is hidden"):
        hidden.hidden(trial_of(Signals))

    class Harmless(Signals):
        def resample(self, state, seat, rng):
            pass

    assert hidden.hidden(trial_of(Harmless)).endswith("and resample_hidden changed no view")


# The search for leaks.


def decisions_of(observation, mask):
    size = len(observation)
    return Decisions(
        np.arange(size, dtype=np.int32), np.zeros(size, np.int32), np.arange(size),
        np.zeros(size, np.int32), np.array(observation, np.float32), np.array(mask, np.bool_),
    )  # fmt: skip


def test_a_change_of_a_view_is_told_by_its_field():
    one = decisions_of([[1, 0, 2, 7]], [[1, 0, 1, 1, 1]])

    def change(observation, mask=(1, 0, 1, 1, 1), at=0):
        return leaks._change(SPEC, one, 0, decisions_of([observation], [mask]), at)

    assert change([1, 0, 2, 7]) == ""
    assert change([1, 0, 2, 7], at=None) == "the seat had nothing to choose any more"
    assert change([1, 0, 2, 7], (1, 1, 1, 1, 1)) == "the mask changed"
    assert change([3, 0, 1, 7]) == "number 0 of 'card' went from 1 to 3"
    assert change([1, 0, 1, 7]) == "number 1 of 'line' went from 2 to 1"
    assert change([1, 1, 2, 8]) == "number 0 of 'line' went from 0 to 1"
    assert change([1, 0, 2, 7.5]) == "number 0 of 'coins' went from 7 to 7.5"


def test_a_value_is_seldom_seen_until_it_came_up_three_times():
    sights = leaks.Sights()
    row = np.array([[1, 2]], np.float32)
    assert [sights.seldom(row).tolist() for _ in range(5)] == [[True]] * 3 + [[False]] * 2
    # The same value of another number is another sight; any one in a row counts.
    assert sights.seldom(np.array([[1, 1], [1, 2], [2, 2]], np.float32)).tolist() == [
        True,
        False,
        True,
    ]
    whole = np.arange(128, dtype=np.float32)[:, None]
    wide = np.tile(whole, (1, 40))
    sights = leaks.Sights()
    sights.seldom(wide)
    # 128 values of 40 numbers lie in 65,536 places, few of them in one another's.
    assert (sights._count > 0).sum() > 0.9 * 128 * 40
    # Rows of one call do not yet count for each other.
    assert leaks.Sights().seldom(np.ones((9, 1), np.float32)).all()


def chosen_by(manners, key, times=600):
    """How often each choice of both heads is taken in a match of this key; the last is illegal."""
    decisions = decisions_of(np.zeros((times, 4)), np.tile([1, 1, 1, 1, 0], (times, 1)))
    actions = manners(decisions, np.full(times, key))
    assert actions.dtype == np.int32
    return np.bincount(actions[:, 0], minlength=2), np.bincount(actions[:, 1], minlength=3)


def test_a_third_of_the_matches_is_played_at_random():
    first, second = chosen_by(leaks.Manners(SPEC, 0), 3)
    assert second[2] == 0
    # 300 each, give or take four standard deviations of √150.
    assert abs(first[0] - 300) < 49
    assert abs(second[0] - 300) < 49


def test_a_third_of_the_matches_takes_what_was_seldom_taken():
    """Log-odds of -2 log(1 + n): after 9 and 0 times the odds are 1 to 100."""
    manners = leaks.Manners(SPEC, 0)
    manners._action_counts[0][:] = [9, 0]
    first, _ = chosen_by(manners, 4)
    assert first[0] < 25
    assert manners._action_counts[0].tolist() == [9 + first[0], first[1]]
    manners._action_counts[0][:] = [0, 9]
    assert chosen_by(manners, 4)[0][1] < 25


def test_a_third_of_the_matches_has_a_habit_of_its_own():
    manners = leaks.Manners(SPEC, 0)
    shares = [chosen_by(manners, 3 * i + 2, 200)[0][0] / 200 for i in range(30)]
    liking = [np.random.default_rng([0, 3 * i + 2]).random(2) * 6 for i in range(30)]
    expected = [1 / (1 + np.exp(other - one)) for one, other in liking]
    # Half a standard error is 0.018 at most.
    assert np.abs(np.array(shares) - expected).max() < 0.15
    assert max(shares) > 0.9
    assert min(shares) < 0.1


def test_the_search_spends_its_budget_on_decisions_and_four_times_on_redraws():
    trial = trial_of(Duel)
    with trial.game(4) as game:
        search = leaks.Search(trial, game)
        looked = search.run(500)
    spent = looked.decisions + 4 * looked.redraws
    # A step takes 4 decisions and redraws of 4 rows, 8 times at the most.
    assert 500 <= spent < 500 + 4 + 4 * 8 * 4
    # Matches of four turns; those under way have begun too.
    assert looked.matches == 4 * (1 + looked.decisions // 16)
    assert search.keys.min() >= 3_000_000
    assert 0 < looked.seldom <= looked.redraws


def test_the_search_redraws_once_or_eight_times_where_a_view_is_seldom_seen():
    calls = []

    class Watched(Duel):
        def resample(self, state, seat, rng):
            calls.append((seat, rng.state))
            super().resample(state, seat, rng)

    trial = trial_of(Watched)
    with trial.game(1) as game:
        search = leaks.Search(trial, game)
        search._begin([0])
        # Of match 3,000,000 seat 0 is watched, of 3,000,002 seat 1.
        search._step()
        key = 3_000_000
        assert calls == [(0, Stream.keyed(1, key, 0, "resample", n).state) for n in range(8)]
        search._step()
        assert len(calls) == 8, "seat 1 is not watched"
        calls.clear()
        search.sights._count[:] = 3
        search._step()
        assert calls == [(0, Stream.keyed(1, key, 0, "resample", 2 * 8).state)]
        assert (search.looked.redraws, search.looked.seldom, search.looked.decisions) == (9, 1, 3)
        watched = []
        for _ in range(17):
            calls.clear()
            search._step()
            watched.append({seat for seat, _ in calls})
    seats = [watched[1 + 4 * match : 5 + 4 * match] for match in range(4)]
    assert seats == [[{0}, set(), {0}, set()]] + 2 * [[set(), {1}, set(), {1}]] + [
        [{0}, set(), {0}, set()]
    ]


def test_a_match_that_never_ends_makes_room_for_another():
    class Endless(Duel):
        facts = replace(Duel.facts, longest=6)

        def start(self, slots, match_ids, options=None):
            self.begun = [*getattr(self, "begun", []), *match_ids]
            super().start(slots, match_ids, options)

        def _advance(self, slot, match):
            match.turn = 0
            super()._advance(slot, match)

        def apply(self, state, moves, rng):
            super().apply(state, moves, rng)
            state.moves = state.moves[-1:]

    trial = trial_of(Endless)
    with trial.game(1) as game:
        search = leaks.Search(trial, game)
        search._begin([0])
        for _ in range(14):
            search._step()
        assert game.begun == [3_000_000, 3_000_001, 3_000_002]


def test_a_search_takes_the_effort_or_a_quarter_of_what_is_replayed(monkeypatch):
    budgets = []
    monkeypatch.setattr(leaks.Search, "run", lambda self, budget: budgets.append(budget))
    trial = trial_of(Duel, effort=100)
    leaks.search(trial)
    trial.__dict__["replayed"] = 2000
    leaks.search(trial)
    assert budgets == [100, 500]
