"""How strong a clone is said to be: against whom, on which deals, and beside its teacher."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lanista.errors import LanistaError
from lanista.evaluation.clone_strength import _difference, imitated, manners, measure, meetings_of
from lanista.evaluation.standings import summarise
from lanista.games import registry
from lanista.games.beastybar.game import BeastyBar
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import Results, Schedule, Table, play, rotations
from lanista.rollout.inference.policy_players import policy_player

SPEC = registry.spec_of("beastybar")


def results_of(first_places, cut_off=()):
    """Return matches in pairs of seats; player 0's place in each, deal by deal."""
    n = len(first_places)
    seating = np.array([[0, 1], [1, 0]] * (n // 2), np.int32)
    mine = np.array(first_places)
    place = np.stack([mine, np.where(mine == 1, 2, 1)], 1)
    place[1::2] = place[1::2, ::-1]
    cut = np.zeros(n, np.bool_)
    cut[list(cut_off)] = True
    return Results(
        schedule=Schedule(np.arange(n), np.arange(n) // 2, seating),
        returns=np.zeros((n, 2), np.float32), place=place.astype(np.int32),
        score=np.zeros((n, 2), np.float32), decisions=np.ones(n, np.int32), cut_off=cut,
        digests=("a", "b"),
    )  # fmt: skip


def test_the_difference_is_the_clones_score_less_the_teachers_deal_by_deal():
    clone, teacher = results_of([1, 1, 1, 2, 2, 2]), results_of([2, 2, 1, 2, 1, 2])
    # Unit scores 1, ½, 0 against 0, ½, ½.
    found = _difference(clone, teacher)
    assert (found.value, found.n) == (pytest.approx((1 + 0 - 0.5) / 3), 3)
    assert _difference(teacher, clone).value == pytest.approx(-found.value)


def test_only_deals_that_both_completed_are_compared():
    clone = results_of([1, 1, 1, 2, 2, 2, 1, 1], cut_off=[1])
    teacher = results_of([2, 2, 1, 2, 1, 2, 2, 2], cut_off=[4])
    # Deals 1 and 3 are left: ½ against ½, and 1 against 0.
    found = _difference(clone, teacher)
    assert (found.value, found.n) == (pytest.approx(0.5), 2)


def test_a_clone_is_played_as_it_samples_greedily_and_at_a_temperature_if_asked():
    assert manners(None) == {"sampled": {}, "greedy": {"greedy": True}}
    assert manners(0.5) == manners(None) | {"temperature 0.5": {"temperature": 0.5}}


def told(*teachers, seeds=(3, 8)):
    """Return demonstrations of these names; one that is no bot's is somebody else's."""
    known = registry.bot_names(registry.entry("beastybar"))
    found = [
        SimpleNamespace(
            name=name,
            digest=registry.make_bot("beastybar", name, SPEC, 9).digest if name in known else "f00",
        )
        for name in teachers
    ]
    return SimpleNamespace(teachers=tuple(found), seeds=seeds, spec=SPEC)


def test_who_was_imitated_is_found_by_name_and_digest():
    data = told("queue", "person", "queue")
    other = SimpleNamespace(name="random", digest="0" * 64)
    data.teachers = (*data.teachers, other)
    found, left_out = imitated(data, "beastybar", 9)
    assert found == ["queue"]
    assert len(left_out) == 2
    assert "person is no bot" in left_out[0]
    assert "random of these matches (000000000000) is not the bot" in left_out[1]


@pytest.mark.parametrize("teachers", [("queue",), ("queue", "heuristic"), ()])
def test_a_clone_and_its_only_teacher_meet_the_same_opponents_on_fresh_deals(teachers, tmp_path):
    path = tmp_path / "clone.safetensors"
    torch.manual_seed(1)
    save_policy(path, Policy(SPEC, Network(width=8, layers=1)), SPEC)
    data, ended = told(*teachers), []
    asked = {"game": "beastybar", "opponents": ("random", "queue")}
    found = measure(path, data, matches=20, progress=ended.append, **asked)
    assert found.seed == 9  # One that no demonstration was recorded with.
    assert found.teacher == (teachers[0] if len(teachers) == 1 else None)
    names = list(dict.fromkeys([*teachers, "random", "queue"]))
    assert [(each.opponent, each.manner) for each in found.meetings] == [
        (name, manner) for manner in ("sampled", "greedy") for name in names
    ]
    assert sum(ended) == 20 * meetings_of(data, "beastybar", ("random", "queue"), None)
    game = registry.make("beastybar", slots=20, seed=9)

    def met(one, name):
        other = registry.make_bot("beastybar", name, game.spec, 9)
        return play([Table(game, (one, other))], rotations(2, 20))

    for each in found.meetings:
        greedy = each.manner == "greedy"
        clone = met(policy_player(path, game.spec, 9, greedy=greedy), each.opponent)
        assert each.clone.score == summarise(clone, ("clone", "x")).standings[0].score
        if len(teachers) != 1 or each.opponent == teachers[0]:
            assert each.teacher is each.difference is None
            continue
        beside = met(registry.make_bot("beastybar", teachers[0], game.spec, 9), each.opponent)
        assert each.teacher.score == summarise(beside, ("t", "x")).standings[0].score
        wanted = each.clone.score.value - each.teacher.score.value
        assert each.difference.value == pytest.approx(wanted)


@pytest.mark.parametrize("fails", [False, True])
def test_the_game_is_closed_whether_or_not_the_clone_could_be_measured(
    fails, tmp_path, monkeypatch
):
    ended = []

    class Watched(BeastyBar):
        def close(self):
            ended.append("closed")

    path = tmp_path / "clone.safetensors"
    torch.manual_seed(0)
    save_policy(path, Policy(SPEC, Network(width=8, layers=1)), SPEC)
    data, asked = told("random"), {"game": "beastybar", "matches": 2}
    with monkeypatch.context() as patched:
        patched.setattr(registry, "make", lambda name, **settings: Watched(**settings))
        if fails:
            with pytest.raises(LanistaError):
                measure(tmp_path / "none.safetensors", data, **asked)
        else:
            measure(path, data, progress=lambda matches: ended.append("played"), **asked)
    assert ended[-1] == "closed"
    assert ended.count("closed") == 1
