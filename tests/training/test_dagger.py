"""DAgger: the clone plays, its teacher labels; kept whole, resumed exactly, refused in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lanista.errors import LanistaError, RefusedError
from lanista.games.contract import Decisions
from lanista.games.registry import make_bot, spec_of
from lanista.learn.imitation.settings import Dagger, Imitation
from lanista.nets.files.policy_file import load_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.training.dagger import Rounds, rounds_of, score_of
from lanista.training.imitate import Task, imitate
from lanista.training.observers import Observer

SHORT = {"duration": 4.0}
SMALL = Network("mlp", width=16, layers=1, symmetry=8)
FIRE = 4


def rounds_in(folder: Path, **settings: Any) -> Rounds:
    spec = spec_of("arena", **SHORT)
    dagger = Dagger(**{"rounds": 2, "matches": 6, "teacher": "kiter", **settings})
    return rounds_of(Imitation(seed=3, dagger=dagger), "arena", spec, folder, None)


def policy_of(rounds: Rounds) -> Policy:
    torch.manual_seed(0)
    return Policy(rounds.spec, SMALL)


def answers(rounds: Rounds, data: Any, number: int) -> Any:
    """Return what the teacher says to the decisions of a round, asked one by one."""
    bot = make_bot("arena", rounds.teacher, rounds.spec, rounds.seed + 1)
    rows = np.arange(len(data))
    mask = data.mask(rows)
    mask[:, 22:44] = True  # Every aim is legal always.
    decisions = Decisions(
        slot=np.zeros(len(data), np.int32),
        seat=data.per_row(data.seat),
        match=data.per_row(data.match) + number * 2**32,
        turn=data.turn,
        observation=data.observation,
        mask=mask,
    )
    return bot.act(decisions, rows)


def test_every_decision_of_the_clone_is_labelled_with_what_the_teacher_would_do(
    tmp_path: Path,
) -> None:
    rounds = rounds_in(tmp_path)
    data = rounds.play(1, policy_of(rounds))
    assert data.matches == data.trajectories == 6  # The other seat is the teacher's own.
    wanted = answers(rounds, data, 1)
    fires = wanted[:, FIRE] == 1
    assert 0 < fires.sum() < len(data)
    others = [0, 1, 4, 5, 6]
    assert np.array_equal(data.action[:, others], wanted[:, others])
    assert np.array_equal(data.action[fires], wanted[fires])
    # Where nobody fires the aim changes nothing, and one choice is left: nothing is learned of it.
    mask = data.mask(np.arange(len(data)))
    assert (mask[~fires, 22:33].sum(1) == 1).all()
    assert (mask[fires, 22:33].sum(1) == 11).all()


def test_beta_is_how_often_the_teacher_decides(tmp_path: Path) -> None:
    """With chance 1 the round is the teacher's own play, with 0 the clone's alone."""
    rounds = rounds_in(tmp_path, beta=0.0)
    policy = policy_of(rounds)
    other = policy_of(rounds)
    with torch.no_grad():
        other.head.weight.normal_()
    taught = [rounds.play(0, one).observation for one in (policy, other)]  # 0 to the power of 0.
    assert np.array_equal(*taught)
    alone = [rounds.play(1, one).observation for one in (policy, other)]
    assert alone[0].shape != alone[1].shape or not np.array_equal(*alone)
    half = rounds_in(tmp_path, beta=0.5).play(1, policy).observation
    assert not np.array_equal(half[: len(alone[0])], alone[0][: len(half)])


def test_rounds_are_played_on_deals_of_their_own(tmp_path: Path) -> None:
    rounds = rounds_in(tmp_path)
    groups = [set(rounds.play(number, policy_of(rounds)).group.tolist()) for number in (0, 1, 2)]
    assert [len(group) for group in groups] == [6, 6, 6]
    assert len(groups[0] | groups[1] | groups[2]) == 18


def test_the_clone_meets_the_opponents_that_are_named(tmp_path: Path) -> None:
    rounds = rounds_in(tmp_path, opponents=("self", "still"), matches=40)
    data = rounds.play(2, policy_of(rounds))
    seats = np.bincount(np.unique(data.match, return_counts=True)[1])
    assert seats[1] > 5  # Against still, one seat is the clone's;
    assert seats[2] > 5  # against itself, both.
    assert 0.0 <= score_of(data) <= 1.0


def test_a_round_is_read_back_as_it_was_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    rounds = rounds_in(tmp_path)
    data = rounds.play(1, policy_of(rounds))
    rounds.save(1, data)
    back = rounds.load(1)
    assert back.digest() == data.digest()
    assert np.array_equal(back.reward, data.reward)
    assert (back.teachers, back.seeds) == (data.teachers, data.seeds)
    file = tmp_path / "dagger" / "000001" / "arrays.npz"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(RefusedError, match="begin again with another --output"):
        rounds.load(1)
    with pytest.raises(RefusedError, match="missing"):
        rounds.load(2)


def task_of(output: Path, **settings: Any) -> Task:
    dagger = Dagger(rounds=2, matches=6, teacher="kiter", epochs=2)
    return Task(
        output=output,
        network=SMALL,
        imitation=Imitation(epochs=2, batch_size=64, dagger=replace(dagger, **settings)),
        game="arena",
        game_settings=SHORT,
        evaluation_matches=0,
        threads=1,
        device="cpu",
    )


class Stopping(Observer):
    """Stops a run at a point of it."""

    def __init__(self, update: int) -> None:
        self.update, self.stopped = update, False

    def updated(self, update: int, values: Any) -> None:
        self.stopped = self.stopped or update == self.update


@pytest.mark.parametrize("update", [1, 2, 3, 4])
def test_stopped_anywhere_it_goes_on_to_the_same_policy(tmp_path: Path, update: int) -> None:
    """After epoch 2 and after epoch 4 a round is to be played next."""
    whole, parts = tmp_path / "whole" / "clone", tmp_path / "parts" / "clone"
    done = imitate(task_of(whole))
    assert (done.epochs, done.interrupted) == (6, False)
    stopping = Stopping(update)
    first = imitate(task_of(parts), stop=lambda: stopping.stopped, observers=[stopping])
    assert first.interrupted
    assert load_policy(parts).header.step <= update
    second = imitate(task_of(parts), resume=True)
    assert second.history == done.history
    assert parts.read_bytes() == whole.read_bytes()


def test_killed_while_a_round_is_played_nothing_of_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole" / "clone", tmp_path / "parts" / "clone"
    done = imitate(task_of(whole))
    play = Rounds.play

    def killed(self: Rounds, number: int, policy: Policy) -> Any:
        if number == 2:
            raise RuntimeError("killed")
        return play(self, number, policy)

    with monkeypatch.context() as patch:
        patch.setattr(Rounds, "play", killed)
        with pytest.raises(RuntimeError):
            imitate(task_of(parts))
    assert not parts.exists()
    kept = sorted(path.name for path in (tmp_path / "parts" / "clone.run" / "dagger").iterdir())
    assert kept == ["000000", "000001"]
    assert imitate(task_of(parts), resume=True).digest == done.digest


def test_other_rounds_are_not_mixed_in(tmp_path: Path) -> None:
    output = tmp_path / "clone"
    imitate(task_of(output))
    with pytest.raises(RefusedError, match=r"imitation\.dagger"):
        imitate(task_of(output, matches=8), resume=True)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"teacher": "kitter"}, "did you mean 'kiter'"),
        ({"opponents": ("self", "stil")}, "did you mean 'still'"),
    ],
)
def test_an_unknown_bot_is_refused_before_anything_is_played(
    tmp_path: Path, settings: Any, reason: str
) -> None:
    with pytest.raises(LanistaError, match=reason):
        imitate(task_of(tmp_path / "clone", **settings))
    assert list(tmp_path.iterdir()) == []


def test_without_recorded_matches_somebody_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(LanistaError, match="--game and --teacher"):
        imitate(task_of(tmp_path / "clone", teacher=None))


def test_the_best_epoch_is_one_of_the_last_round(tmp_path: Path) -> None:
    """Held-out losses of different rounds are of different decisions."""
    done = imitate(task_of(tmp_path / "clone"))
    assert done.best_epoch in (5, 6)
    losses = {entry["epoch"]: entry["held_out_nll"] for entry in done.history}
    assert losses[done.best_epoch] == min(losses[5], losses[6])
