"""A run that begins from a policy goes on with the critic that was trained beside it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from lanista.games.registry import spec_of
from lanista.learn.settings import Learning
from lanista.nets.files.policy_file import load_policy
from lanista.nets.policy import Critic
from lanista.nets.settings import Network
from lanista.report.reading import read_run
from lanista.runs.settings import Checkpoints, Rollouts, RunSettings
from lanista.training.critic_file import CRITIC, take_critic, write_critic
from lanista.training.loop import train

SMALL = Network("mlp", width=16, layers=1)


def settings_of(iterations: int, start: Path | None = None) -> RunSettings:
    return RunSettings(
        game="kuhn",
        iterations=iterations,
        network=SMALL,
        learning=Learning(lr=3e-3, terms={"policy": 1.0, "value": 0.5}),
        rollouts=Rollouts(matches=256),
        supervised_checkpoint=None if start is None else str(start),
        device="cpu",
    )


def explained(output: Path) -> list[float]:
    with sqlite3.connect(f"{output}.run/run.db") as book:
        rows = book.execute(
            "select value from metrics where name = 'value/explained_variance' "
            "order by update_number"
        )
        return [value for (value,) in rows]


def test_the_first_explained_variance_is_that_of_the_critic_before(tmp_path: Path) -> None:
    first, second, alone = (tmp_path / name for name in ("first", "second", "alone"))
    train(settings_of(60), first)
    assert explained(first)[-1] > 0.1 > explained(first)[0]
    train(settings_of(1, first), second)
    assert explained(second)[0] > 0.1
    (tmp_path / "first.run" / CRITIC).unlink()
    train(settings_of(1, first), alone)
    assert explained(alone)[0] < 0.1


def test_a_critic_of_another_policy_or_another_shape_is_left_alone(tmp_path: Path) -> None:
    spec = spec_of("kuhn")
    torch.manual_seed(0)
    trained = Critic(spec, SMALL, features=16)
    torch.nn.init.normal_(trained.head.weight)
    write_critic(tmp_path, trained, "features", "a" * 64, 1.0)
    fresh = Critic(spec, SMALL, features=16)
    assert not take_critic(tmp_path, fresh, "features", "b" * 64)
    assert not take_critic(tmp_path, fresh, "seat", "a" * 64)
    assert not take_critic(tmp_path, Critic(spec, SMALL, features=8), "features", "a" * 64)
    assert not take_critic(
        tmp_path, Critic(spec, SMALL, "outcome", features=16), "features", "a" * 64
    )
    assert (fresh.head.weight == 0).all()
    assert take_critic(tmp_path, fresh, "features", "a" * 64)
    assert torch.equal(fresh.head.weight, trained.head.weight)


@pytest.mark.parametrize("damage", ["cut", "text", "nan"])
def test_a_damaged_critic_is_as_good_as_none(tmp_path: Path, damage: str) -> None:
    critic = Critic(spec_of("kuhn"), SMALL, features=16)
    write_critic(tmp_path, critic, "features", "a" * 64, 1.0)
    path = tmp_path / CRITIC
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-3])
    elif damage == "text":
        path.write_text("no tensors")
    else:
        tensors = {name: tensor * float("nan") for name, tensor in load_file(path).items()}
        about = {"policy": "a" * 64, "output": "value", "sees": "features"}
        save_file(tensors, path, about)
    assert not take_critic(tmp_path, critic, "features", "a" * 64)
    assert torch.isfinite(critic.head.weight).all()


def test_a_head_on_features_is_not_filed_with_other_weights(tmp_path: Path) -> None:
    """An averaged policy has other features than those the critic's head was trained on."""
    averaged = settings_of(4)
    averaged = replace(averaged, learning=replace(averaged.learning, average=0.9))
    train(averaged, tmp_path / "averaged")
    assert not (tmp_path / "averaged.run" / CRITIC).exists()
    own = replace(averaged, learning=replace(averaged.learning, critic_sees="seat"))
    train(own, tmp_path / "own")
    assert (tmp_path / "own.run" / CRITIC).is_file()


def test_a_taught_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    """A stream's unfinished unrolls keep what the teacher would have done."""
    taught = RunSettings(
        game="arena",
        game_settings={"duration": 6.0},
        iterations=4,
        network=replace(SMALL, symmetry=8),
        learning=Learning(lr=3e-3, terms={"policy": 1.0, "value": 0.5, "teacher": 1.0}),
        rollouts=Rollouts(mode="stream", unrolls=8, unroll_length=12, teacher="kiter"),
        checkpoints=Checkpoints(save_every=1),
        device="cpu",
    )
    train(taught, tmp_path / "whole")
    stops = iter([False, True])
    assert train(taught, tmp_path / "parts", stop=lambda: next(stops, True)) == 130
    assert train(taught, tmp_path / "parts", resume=True) == 0
    whole, parts = (load_policy(tmp_path / name).policy for name in ("whole", "parts"))
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, parts.state_dict()[name])


@pytest.mark.parametrize(
    ("gamma", "sentence"),
    [(1.0, "is taken over."), (0.995, "its discount was 1.0 and this run's is 0.995")],
)
def test_a_critic_of_another_discount_is_taken_over_and_that_is_said(
    tmp_path: Path, gamma: float, sentence: str
) -> None:
    train(settings_of(2), tmp_path / "first")
    begun = settings_of(1, tmp_path / "first")
    begun = replace(begun, learning=replace(begun.learning, gamma=gamma))
    train(begun, tmp_path / "second")
    notices = [words for _, words in read_run(tmp_path / "second.run").notices]
    assert sentence in next(words for words in notices if words.startswith("The critic"))
