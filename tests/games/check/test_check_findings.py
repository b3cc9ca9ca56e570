"""What the checks of results and descriptions tell apart, at their bounds."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sound_games import Duel

from lanista.games import Facts, Field, GameError, Head, Observation, Option, Spec
from lanista.games.check import description, outcomes
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Seen
from lanista.games.check.trial import Trial, copied

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
    outcomes.zero_sum(trial_with(rows, ends_of([[20000, 0, -20001]])))
    for returns in ([1, -0.9998], [0.1, -0.0998], [2, -1.9997], [1, 1]):
        told = r"match 31 has returns \[.*\], which do not add up to 0"
        with pytest.raises(Fault, match=told):
            outcomes.zero_sum(trial_with(rows, ends_of([[1, -1], returns])))
    facts = replace(SPEC.facts, zero_sum=False)
    with pytest.raises(NotApplicable, match="do not say zero-sum"):
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
    rows["mask"] = np.array([[1, 0, 1, 0, 0], [1, 1, 0, 0, 1]], np.bool_)
    assert description.heads(trial_with(rows)) == "of 4 choices 3 were forced and none was empty"
    rows["mask"][1, 4] = False
    told = "head target has no legal choice at match 31, turn 4, seat 1"
    with pytest.raises(Fault, match=told):
        description.heads(trial_with(rows))
    with pytest.raises(NotApplicable):
        description.heads(trial_with())


class Lending(Duel):
    """Hands out the arrays it goes by itself when it is first asked, and copies later."""

    lent = None

    def decisions(self):
        decisions = super().decisions()
        if self.lent is None:
            self.lent = decisions
        return decisions

    def act(self, rows, actions):
        if not self.lent.mask.any():
            raise GameError("Nothing is legal.")
        return super().act(rows, actions)


def test_a_match_is_answered_after_its_decisions_were_written_to():
    for game in (Duel(3, 0), Lending(3, 0)):
        game.start([0, 1, 2], [0, 1, 2])
        if isinstance(game, Lending):
            with pytest.raises(GameError, match="Nothing is legal"):
                description._check_own_memory(game)
        else:
            description._check_own_memory(game)
            assert set(game.decisions().turn) == {1}


@pytest.mark.parametrize("name", ["observation", "mask", "seat"])
def test_decisions_that_share_memory_with_the_game_are_reported(name):
    game = Duel(3, 0)
    game.start([0, 1, 2], [0, 1, 2])
    shared = replace(copied(game.decisions()))
    assert getattr(shared, name).any() or name == "seat"
    if name == "seat":
        shared.seat[1] = 1

    def decisions():
        return replace(copied(shared), **{name: getattr(shared, name)})

    with pytest.raises(Fault, match="after its arrays were written to"):
        description._check_own_memory(SimpleNamespace(spec=game.spec, decisions=decisions))
