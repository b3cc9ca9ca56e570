"""What the checks of results, descriptions and hidden views tell apart, at their bounds."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sound_games import Duel, Signals

from lanista.games import Facts, Field, Head, Observation, Option, Spec, Stream
from lanista.games.check import description, hidden, leaks, outcomes
from lanista.games.check.positions import Position
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Seen
from lanista.games.check.trial import Trial, copied
from lanista.games.contract import Decisions

SPEC = Spec(
    "plain",
    Facts(seats=2, longest=9, zero_sum=True, symmetric=True),
    Observation((Field("card", 1, 6), Field("line", 2, 3), Field("coins"))),
    (Head("move", 2), Head("target", 3)),
)


def trial_with(rows=None, ends=None, spec=SPEC, too_long=(), **more):
    trial = Trial(None, 0, more.pop("matches", 2), 100, more.pop("cut_off_allowed", False))
    base = Seen(rows or {"match": np.zeros(0, np.int64)}, ends or {}, list(too_long))
    trial.__dict__.update(spec=spec, base=base, replayed=100)
    return trial


def ends_of(returns, place=None, **more):
    returns = np.array(returns, np.float32)
    return {
        "match": np.arange(len(returns)) + 30,
        "turn": np.full(len(returns), 4),
        "reward": returns.copy(),
        "returns": returns,
        "place": np.array(place if place is not None else np.ones(returns.shape), np.int32),
        "done": np.ones(returns.shape, np.bool_),
        "cut_off": np.zeros(returns.shape, np.bool_),
        **more,
    }


def rows_of(match, turn, seat, **more):
    size = len(match)
    return {
        "match": np.array(match),
        "turn": np.array(turn),
        "seat": np.array(seat),
        "steps": np.array(turn),
        "reward": np.zeros(size, np.float32),
        "done": np.zeros((size, 2), np.bool_),
        "cut_off": np.zeros((size, 2), np.bool_),
        **more,
    }


# Results.


def test_returns_add_up_to_nothing_but_for_rounding_in_proportion_to_the_largest():
    rows = rows_of([30, 31], [0, 0], [0, 0])
    words = outcomes.zero_sum(trial_with(rows, ends_of([[1, -1], [20000, -20001]])))
    assert words == "the returns of 2 matches add up to 0"
    outcomes.zero_sum(trial_with(rows, ends_of([[0.1, -0.10009], [0, 0]])))
    for returns in ([1, -0.9998], [0.1, -0.0998], [2, -1.9997], [1, 1]):
        told = r"match 31 has returns \[.*\], which do not add up to 0"
        with pytest.raises(Fault, match=told):
            outcomes.zero_sum(trial_with(rows, ends_of([[1, -1], returns])))
    with pytest.raises(NotApplicable, match="do not say zero-sum"):
        facts = replace(SPEC.facts, zero_sum=False)
        outcomes.zero_sum(trial_with(rows, ends_of([[1, 1]]), replace(SPEC, facts=facts)))


def test_rewards_of_decisions_and_of_the_end_add_up_to_the_return():
    rows = rows_of([30, 30, 31], [0, 1, 0], [0, 1, 0])
    rows["reward"] = np.array([2, -1, 0], np.float32)
    ends = ends_of([[3, -3], [5, -5]])
    ends["reward"] = np.array([[1, -2], [5, -5]], np.float32)
    words = outcomes.rewards(trial_with(rows, ends))
    assert words == "rewards add up to returns in 2 matches; 2 came before an end"
    ends["reward"][1, 0] = 4.999
    told = "the rewards of seat 0 in match 31 add up to 4.999, its return is 5"
    with pytest.raises(Fault, match=told):
        outcomes.rewards(trial_with(rows, ends))
    ends["reward"][1, 0] = 4.9996
    outcomes.rewards(trial_with(rows, ends))


@pytest.mark.parametrize(
    ("returns", "place", "right"),
    [
        ([3, 1, 2], [1, 3, 2], True),
        ([3, 3, 2], [1, 1, 3], True),
        ([3, 3, 2], [1, 1, 2], True),
        ([0, 0, 0], [1, 1, 1], True),
        ([3, 1, 2], [1, 2, 3], False),
        ([3, 3, 2], [1, 2, 3], False),
        ([3, 1, 2], [2, 4, 3], False),
        ([3, 1, 2], [1, 4, 2], False),
        ([3, 1, 2], [0, 2, 1], False),
        ([1, 0, 0], [1, 2, 3], False),
    ],
)
def test_places_follow_returns(returns, place, right):
    rows, ends = rows_of([30], [0], [0]), ends_of([returns], [place])
    if right:
        assert outcomes.places(trial_with(rows, ends)) == "places agree with returns in 1 matches"
    else:
        with pytest.raises(Fault, match="match 30 has returns"):
            outcomes.places(trial_with(rows, ends))


def test_ends_take_nothing_back():
    rows = rows_of([30, 30, 31], [0, 1, 0], [0, 0, 1])
    ends = ends_of([[1, -1], [1, -1]])
    words = outcomes.ends(trial_with(rows, ends))
    assert words == "2 matches ended for every seat; 0 decisions came after one was out"
    rows["done"][1] = [False, True]
    words = outcomes.ends(trial_with(rows, ends))
    assert words.endswith("; 1 decisions came after one was out")
    rows["done"][0] = [False, True]
    rows["done"][1] = [False, False]
    with pytest.raises(Fault, match="a seat was done and later not, in match 30"):
        outcomes.ends(trial_with(rows, ends))
    rows["done"][1] = [True, True]
    with pytest.raises(Fault, match="seat 0 was done and had to decide at turn 1 of match 30"):
        outcomes.ends(trial_with(rows, ends))
    rows["done"][:] = False
    rows["cut_off"][2, 1] = True
    with pytest.raises(Fault, match="cut_off was set while"):
        outcomes.ends(trial_with(rows, ends))
    ends["cut_off"][0, 1] = True
    with pytest.raises(Fault, match="cut off for one seat and not for another"):
        outcomes.ends(trial_with(rows, ends))
    ends["done"][1, 1] = False
    with pytest.raises(Fault, match="a seat was not done: seat 1 of match 31"):
        outcomes.ends(trial_with(rows, ends))


def test_a_match_may_take_its_longest_and_not_be_cut_off_there():
    rows = rows_of([30, 30, 31], [0, 1, 0], [0, 0, 1])
    ends = ends_of([[1, -1], [1, -1]])
    ends["turn"] = np.array([4, 9])
    assert outcomes.length(trial_with(rows, ends)) == (
        "the longest of 2 matches took 9 turns of at most 9"
    )
    ends["cut_off"][1] = True
    with pytest.raises(Fault, match="match 31 was still undecided at turn 9"):
        outcomes.length(trial_with(rows, ends))
    outcomes.length(trial_with(rows, ends, cut_off_allowed=True))
    ends["turn"][1] = 8
    outcomes.length(trial_with(rows, ends))
    rows["steps"] = np.array([0, 2, 0])
    with pytest.raises(Fault, match="the turn of match 30 is 1 after 2 advances"):
        outcomes.length(trial_with(rows, ends))
    with pytest.raises(Fault, match="match 7 went on after turn 9"):
        outcomes.length(trial_with(rows, ends, too_long=[7, 8]))


def test_a_seat_is_favoured_beyond_four_and_a_half_standard_errors():
    """k of 400 matches win 1 and the rest lose 1: mean 2 k / 400 - 1."""

    def advantage(wins):
        won = np.where(np.arange(400) < wins, 1.0, -1.0)
        return np.stack([-won, won], 1)

    # 243: 0.215 and 0.04889, 4.40 standard errors; 245: 0.225 and 0.04878, 4.61 of them.
    assert outcomes._level(SPEC, advantage(243)) == (
        "the largest mean advantage of 2 seats over 400 matches is -0.2150, standard error 0.0489"
    )
    told = r"seat 0 gains -0\.2250 \(standard error 0\.0488\) over the others' mean in 400 matches"
    with pytest.raises(Fault, match=told):
        outcomes._level(SPEC, advantage(245))
    assert "is +0.0000, standard error 0.0000" in outcomes._level(SPEC, np.zeros((9, 2)))
    three = np.concatenate([np.zeros((400, 1)), advantage(245)], 1)
    with pytest.raises(Fault, match=r"seat 1 gains -0\.2250"):
        outcomes._level(SPEC, three)


# Descriptions.


def test_a_sound_description_is_taken():
    description._check_spec(SPEC)
    smallest = replace(
        SPEC,
        facts=Facts(seats=1, longest=1),
        observation=Observation((Field("one"), Field("none", 0))),
        heads=(Head("move", 1, ("pass",)),),
        privileged=Observation((Field("one", 1, 2),)),
        options=(Option("a", 0, 0, 1), Option("b", 0, 0, 1)),
    )
    description._check_spec(smallest)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "no name"),
        ({"facts": replace(SPEC.facts, seats=0)}, "0 seats and longest 9"),
        ({"facts": replace(SPEC.facts, longest=0)}, "2 seats and longest 0"),
        ({"facts": replace(SPEC.facts, rules_version=0)}, "count from 1"),
        ({"facts": replace(SPEC.facts, observation_version=0)}, "count from 1"),
        ({"heads": ()}, "no action head"),
        ({"heads": (Head("move", 0),)}, "head move has size 0 and 0 labels"),
        ({"heads": (Head("move", 2, ("a",)),)}, "head move has size 2 and 1 labels"),
        ({"observation": Observation(())}, "at least one number"),
        ({"observation": Observation((Field("a", 2), Field("b", -1)))}, "of positive size"),
        ({"observation": Observation((Field("a", 2, -1),))}, "of positive size"),
        ({"privileged": Observation((Field("a", 0),))}, "at least one number"),
        ({"heads": (Head("a", 2), Head("a", 2))}, "kind head are called 'a'"),
        ({"observation": Observation((Field("a"), Field("a")))}, "observation field are called"),
        ({"options": (Option("a", 0, 0, 1), Option("a", 0, 0, 1))}, "match option are called 'a'"),
    ],
)
def test_a_description_that_is_not_whole_is_told(change, words):
    with pytest.raises(Fault, match=words):
        description._check_spec(replace(SPEC, **change))


def test_a_field_with_classes_holds_whole_numbers_below_their_count():
    sound = np.array([[0, 0, 2, -7.5], [5, 2, 0, 99.0]], np.float32)
    description._check_layout(SPEC.observation, sound, "observation")
    for column, value, words in (
        (0, 6, "field card of the observation runs from 5.0 to 6.0"),
        (0, -1, "within its 6 classes"),
        (1, 3, "field line of the observation"),
        (2, 1.5, "within its 3 classes"),
        (3, np.inf, "not finite"),
    ):
        wrong = sound.copy()
        wrong[0, column] = value
        with pytest.raises(Fault, match=words):
            description._check_layout(SPEC.observation, wrong, "observation")
    with pytest.raises(Fault, match=r"the view has \[3\] numbers, not 4"):
        description._check_layout(SPEC.observation, sound[:, :3], "view")
    with pytest.raises(Fault, match=r"the view has \[\] numbers, not 4"):
        description._check_layout(SPEC.observation, sound[0], "view")


def test_several_seats_at_one_turn_are_simultaneous():
    rows = rows_of([1, 1, 2, 2, 2], [0, 1, 1, 2, 2], [0, 1, 0, 0, 1])
    told = "several seats choose at turn 2 of match 2"
    with pytest.raises(Fault, match=told):
        description._check_turns(SPEC, rows)
    description._check_turns(SPEC, {name: column[:4] for name, column in rows.items()})
    facts = replace(SPEC.facts, simultaneous=True)
    description._check_turns(replace(SPEC, facts=facts), rows)


def test_the_arrays_of_results_are_of_the_contracts_shapes_and_kinds():
    game = Duel(3, 0)
    description._check_results(game)
    for name in ("reward", "shaping", "returns", "score", "done", "cut_off", "place"):
        wrong, right = getattr(game, name)[:2], getattr(game, name)
        setattr(game, name, wrong)
        with pytest.raises(Fault, match=rf"{name} is .* \[2, 2\], not \[3, 2\]"):
            description._check_results(game)
        setattr(game, name, right.astype(np.complex64))
        with pytest.raises(Fault, match=f"{name} is complex64"):
            description._check_results(game)
        setattr(game, name, right)


def shown(**changes):
    """A game of three fresh matches whose decisions are changed."""
    game = Duel(3, 0)
    game.start([0, 1, 2], [0, 1, 2])
    decisions = copied(game.decisions())
    changed = replace(decisions, **{name: change(decisions) for name, change in changes.items()})
    views = game.privileged()
    return SimpleNamespace(spec=game.spec, decisions=lambda: changed, privileged=lambda: views)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("slot", lambda d: d.slot.astype(np.int64), "slot is int64"),
        ("match", lambda d: d.match.astype(np.int32), "match is int32"),
        ("turn", lambda d: d.turn[:, None], r"turn is int32 \[3, 1\]"),
        ("observation", lambda d: d.observation[:, :2], "observation is"),
        ("mask", lambda d: d.mask.astype(np.int8), "mask is int8"),
        ("slot", lambda d: d.slot[::-1].copy(), "by slot and then seat"),
        ("slot", lambda d: d.slot * 0, "by slot and then seat"),
        ("slot", lambda d: d.slot + np.int32(1), "by slot and then seat"),
        ("seat", lambda d: d.seat + np.int32(2), "a seat that is not in 0 to 1"),
        ("seat", lambda d: d.seat - np.int32(1), "a seat that is not in 0 to 1"),
        ("turn", lambda d: d.turn + np.int32([0, 0, 1]), "turn is not 0"),
    ],
)
def test_rows_of_another_shape_kind_or_order_are_told(name, change, words):
    description._check_rows(shown())
    with pytest.raises(Fault, match=words):
        description._check_rows(shown(**{name: change}))


def test_a_privileged_view_has_the_shape_it_says():
    game = shown()
    game.privileged = lambda: np.zeros((3, 3), np.uint8)
    with pytest.raises(Fault, match=r"privileged\(\) is uint8 \[3, 3\], not uint8 \[3, 2\]"):
        description._check_rows(game)


def test_forced_choices_are_counted_and_a_head_without_one_is_named():
    rows = rows_of([30, 31], [0, 4], [0, 1])
    rows["mask"] = np.array([[1, 0, 1, 1, 0], [1, 1, 0, 0, 1]], np.bool_)
    assert description.heads(trial_with(rows)) == "of 4 choices 2 were forced and none was empty"
    rows["mask"][1, 4] = False
    told = "head target has no legal choice at match 31, turn 4, seat 1"
    with pytest.raises(Fault, match=told):
        description.heads(trial_with(rows))
    with pytest.raises(NotApplicable):
        description.heads(trial_with())


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
    manners._taken[0][:] = [9, 0]
    first, _ = chosen_by(manners, 4)
    assert first[0] < 25
    assert manners._taken[0].tolist() == [9 + first[0], first[1]]
    manners._taken[0][:] = [0, 9]
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
