"""The critic of a clone: it knows what the clone's play is worth, and `rl` goes on with it."""

from __future__ import annotations

import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from lanista.games.registry import spec_of
from lanista.learn.imitation.settings import Dagger, Imitation
from lanista.learn.settings import Learning
from lanista.nets.files.policy_file import load_policy
from lanista.nets.policy import Critic
from lanista.nets.settings import Network
from lanista.runs.settings import Rollouts, RunSettings
from lanista.training.critic_file import CRITIC
from lanista.training.imitate import Task, imitate
from lanista.training.loop import train
from lanista.training.observers import Observer

sys.path.insert(0, str(Path(__file__).parents[1] / "learn"))
from kuhn_table import DEALS, PUBLIC, kuhn, place

SMALL = Network("mlp", width=32, layers=1)


def cloned(output: Path, **settings: Any) -> Path:
    """Make a clone of Kuhn's random bot, and its critic."""
    imitation = Imitation(
        epochs=6,
        batch_size=256,
        lr=5e-3,
        value_weight=1.0,
        patience=0,
        dagger=Dagger(matches=20_000, teacher="random"),
    )
    task = Task(
        output=output,
        network=SMALL,
        imitation=replace(imitation, **settings),
        game="kuhn",
        evaluation_matches=0,
        threads=1,
        device="cpu",
    )
    imitate(task)
    return output


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cloned(tmp_path_factory.mktemp("clone") / "clone.safetensors")


def view_of(deal: tuple[int, int], seen: str) -> list[int]:
    """Return what the seat to move sees: who it is, its card, and the moves so far."""
    seat = len(seen) % 2
    view = [0] * 11
    view[seat] = view[2 + deal[seat]] = 1
    for step, move in enumerate(seen):
        view[5 + 2 * step + (move == "b")] = 1
    return view


def test_the_value_critic_says_what_the_clones_play_is_worth(clone: Path) -> None:
    """Against exact values, over all deals and lines of play, at each of Kuhn's 12 views."""
    policy = load_policy(clone).policy
    critic = Critic(spec_of("kuhn"), SMALL, features=32)
    critic.load_state_dict(load_file(folder_of_run(clone) / CRITIC))
    places = {place(deal, seen): (deal, seen) for deal in DEALS for seen in PUBLIC}
    views = torch.tensor([view_of(*places[at]) for at in range(12)], dtype=torch.uint8)
    with torch.no_grad():
        probs = policy(views).double().softmax(-1)
        said = critic(policy.torso(views)).double()
    table = kuhn()
    chance, won = table.chances(probs), table.reward.sum(0)
    for at in range(12):
        through = ((table.place == at) & table.valid).any(0)
        sign = 1.0 if at < 6 else -1.0  # What seat 0 wins, seat 1 loses.
        exact = (chance * won * through).sum() / (chance * through).sum() * sign
        assert float(said[at]) == pytest.approx(float(exact), abs=0.12)


def folder_of_run(output: Path) -> Path:
    return output.with_name(f"{output.name}.run")


def settings_of(start: Path, iterations: int, **learning: Any) -> RunSettings:
    terms = {"policy": 1.0, "value": 0.5, "entropy": 0.01}
    return RunSettings(
        game="kuhn",
        iterations=iterations,
        learning=Learning(lr=3e-3, terms=terms, **learning),
        rollouts=Rollouts(matches=512),
        supervised_checkpoint=str(start),
        device="cpu",
    )


class Hearing(Observer):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def message(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def about_critic(self) -> str:
        (sentence,) = (one for one in self.sentences if one.startswith("The critic"))
        return sentence


def explained(output: Path) -> list[float]:
    with sqlite3.connect(folder_of_run(output) / "run.db") as book:
        rows = book.execute(
            "select value from metrics where name = 'value/explained_variance' "
            "order by update_number"
        )
        return [value for (value,) in rows]


@pytest.mark.parametrize("scale", [None, "running"])
def test_rl_goes_on_with_it_without_another_word(clone: Path, tmp_path: Path, scale: Any) -> None:
    hearing = Hearing()
    settings = settings_of(clone, 1, value_scale=scale)
    train(settings, tmp_path / "policy", observers=[hearing])
    assert explained(tmp_path / "policy")[0] > 0.2
    assert hearing.about_critic() == f"The critic that was trained beside {clone} is taken over."


def test_without_one_that_fits_the_critic_learns_alone_first(tmp_path: Path) -> None:
    clone = cloned(tmp_path / "clone.safetensors", critic="outcome", epochs=1)
    hearing = Hearing()
    train(settings_of(clone, 21), tmp_path / "policy", observers=[hearing])
    assert hearing.about_critic() == (
        f"The critic begins from nothing, since beside {clone} there is none that sees features "
        "(learning.critic_sees) and gives value (learning.critic_output); the policy stays as it "
        "is for 2 updates (learning.critic_warm_up)."
    )
    values = explained(tmp_path / "policy")
    assert values[0] < 0.1 < values[-1]
    with sqlite3.connect(folder_of_run(tmp_path / "policy") / "run.db") as book:
        weights = book.execute(
            "select value from metrics where name = 'policy/weight' order by update_number"
        )
        assert [value for (value,) in weights] == [0.0, 0.0, *[1.0] * 19]


def test_while_the_critic_learns_alone_no_weight_of_the_policy_moves(
    clone: Path, tmp_path: Path
) -> None:
    """The critic is a head on the policy's features, and leaves those as they are."""
    before = load_policy(clone).policy.state_dict()
    for iterations, moves in ((3, False), (4, True)):
        output = tmp_path / f"policy{iterations}"
        train(settings_of(clone, iterations, critic_warm_up=3), output)
        after = load_policy(output).policy.state_dict()
        same = [torch.equal(after[name], tensor) for name, tensor in before.items()]
        assert all(same) is not moves
    first, later = (
        load_file(folder_of_run(path) / CRITIC)["head.weight"]
        for path in (clone, tmp_path / "policy3")
    )
    assert not torch.equal(first, later)


def test_a_run_that_was_stopped_goes_on_with_the_critic_alone(clone: Path, tmp_path: Path) -> None:
    settings = settings_of(clone, 6, critic_warm_up=4)
    train(settings, tmp_path / "whole" / "policy")
    stops = iter([False, True])
    parts = tmp_path / "parts" / "policy"
    assert train(settings, parts, stop=lambda: next(stops, True)) == 130
    assert train(settings, parts, resume=True) == 0
    assert parts.read_bytes() == (tmp_path / "whole" / "policy").read_bytes()
