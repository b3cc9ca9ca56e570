"""Which answers are tried, what is saved, and how findings are reported."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sound_games import Duel, OneTurn

from lanista.games import GameError, Head
from lanista.games.check import determinism, legality, saving
from lanista.games.check.positions import Position
from lanista.games.check.report import Check, Checkup, Fault
from lanista.games.check.trial import Answers, Play, Trial, copied


def trial_of(make_game, matches=5, seed=2, effort=1000):
    return Trial(make_game, seed, matches, effort, False)


def plain(game):
    return lambda slots, seed: game(slots, seed)


def test_allowed_actions_take_every_choice_of_every_head_up_to_sixteen():
    spec = replace(Duel(1).spec, heads=(Head("move", 3), Head("target", 20)))
    mask = np.array([1, 0, 1] + [1] * 5 + [0] * 15, np.bool_)
    actions = legality._allowed(spec, mask, Position(1, 2, 0, 0))
    assert len(actions) == 5
    assert sorted(target for _, target in actions) == [0, 1, 2, 3, 4]
    assert {move for move, _ in actions} == {0, 2}
    many = legality._allowed(spec, np.ones(23, np.bool_), Position(1, 2, 0, 0))
    assert len(many) == len({target for _, target in many}) == 16
    orders = {
        tuple(target for _, target in legality._allowed(spec, mask, Position(m, t, s, 0)))
        for m, t, s in itertools.product(range(3), range(3), range(2))
    }
    assert len(orders) > 9


def test_wrong_answers_take_up_to_four_refused_choices_of_each_head_and_those_beyond_it():
    spec = replace(Duel(1).spec, heads=(Head("a", 2), Head("b", 3), Head("c", 7)))
    mask = np.array([1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], np.bool_)
    bad = legality.WrongAnswers(0)._bad_actions(spec, mask, np.array([0, 1, 6]))
    assert {tuple(action) for action in bad if action[1:] == [1, 6]} == {
        (1, 1, 6), (-1, 1, 6), (2, 1, 6)}  # fmt: skip
    assert {action[1] for action in bad if action[0] == 0 and action[2] == 6} == {0, 2, -1, 3}
    third = [action[2] for action in bad if action[:2] == [0, 1]]
    assert len(third) == 6
    assert third[-2:] == [-1, 7]
    assert set(third[:4]) < set(range(6))
    assert len(bad) == 3 + 4 + 6


def test_wrong_answers_are_tried_in_the_first_three_hundred_steps():
    class Never:
        def act(self, rows, actions):
            raise GameError("refused")

    wrong = legality.WrongAnswers(0)
    game = Duel(2, 0)
    game.start([0, 1], [0, 1])
    decisions = copied(game.decisions())
    play = Play(game, [])
    play.game = Never()
    rows = np.array([0])
    actions = Answers(game.spec)(decisions, rows, decisions.match)
    for _ in range(300):
        before = wrong.tried
        wrong(play, decisions, rows, actions)
        # Nothing is refused by the mask; two numbers beyond it, a row beyond, and one row twice.
        assert wrong.tried == before + 4
    wrong(play, decisions, rows, actions)
    assert wrong.tried == 1200
    assert wrong.fault == ""


@pytest.mark.parametrize("game", [Duel, OneTurn])
def test_wrong_answers_are_counted_and_change_nothing(game):
    words = legality.illegal(trial_of(plain(game)))
    assert int(words.split()[0]) >= 4 + 8, "at a step, and in eight matches answered again"
    assert words.endswith(" wrong answers were refused and changed nothing")


def test_every_allowed_action_of_every_position_is_tried():
    """Seats may raise once: the actions are the masks' ones."""
    trial = trial_of(plain(Duel))
    allowed = int(trial.base.rows["mask"].sum())
    assert legality.legal(trial) == f"{allowed} actions in 20 positions were accepted"


# Saving.


def test_matches_are_saved_at_every_step_while_the_effort_lasts():
    live = []
    with trial_of(plain(Duel)).game(3) as game:
        Play(
            game, [0, 1, 2, 3, 4], batches=determinism.in_parts(2, 2),
            probe=lambda play, *_: live.append(len(play.live)),
        ).run()  # fmt: skip
    words = saving.save(trial_of(plain(Duel), effort=10**6))
    assert words == (f"{sum(live)} matches, saved at {len(live)} steps, went on the same elsewhere")
    few = saving.save(trial_of(plain(Duel), matches=40, effort=400))
    assert 1 <= int(few.split()[4]) < 60


def test_a_step_is_saved_as_often_as_the_effort_has_decisions_for():
    """Every step of m matches of d decisions costs 3 d each: 3 * 20 * 20 / 5 = 240 for all."""
    with trial_of(plain(Duel)).game(9) as second:
        assert saving.Saver(trial_of(plain(Duel), effort=60), second)._share == 60 / 240
        free = saving.Saver(trial_of(plain(Duel)), second)._free
        assert sorted(free) == list(range(9))


def test_what_was_saved_comes_back_from_a_file_and_objects_do_not():
    saved = {"a": np.arange(3, dtype=np.int32), "b": np.zeros((2, 0), np.float32)}
    back = saving._through_a_file(saved)
    assert {n: (a.dtype, a.shape, a.tolist()) for n, a in back.items()} == {
        n: (a.dtype, a.shape, a.tolist()) for n, a in saved.items()
    }
    with pytest.raises(Fault, match="gives 'c' as Python objects"):
        saving._through_a_file({"c": np.array([None])})


# Reports.


def test_a_checkup_says_what_failed():
    sound = Check("plays", "Matches end.", "passed", "4 matches ended")
    broken = Check("zero_sum", "Returns add up to 0.", "failed", "returns are [1, 1]")
    silent = Check("hidden", "Nothing shows.", "not applicable", "nothing is hidden")
    checkup = Checkup("duel", (sound, broken, silent))
    assert checkup.failures == (broken,)
    assert not checkup.passed
    assert Checkup("duel", (sound, silent)).passed
    assert checkup["hidden"] is silent
    with pytest.raises(KeyError):
        checkup["hiding"]
    assert str(checkup).splitlines() == [
        "passed         plays        4 matches ended",
        "failed         zero_sum     returns are [1, 1]",
        "not applicable hidden       nothing is hidden",
    ]
