"""The way over a device and back, run on the CPU: the same choices, and memory that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from test_actor import KINDS, policy_of, started, walk

from lanista.nets.policy import Critic
from lanista.rollout.actor import Actor
from lanista.rollout.collect import Collector
from lanista.rollout.device import Lane
from lanista.rollout.phases import BATCH, INFER, SAMPLE, TRANSFER

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def far(actor: Actor) -> Actor:
    """Let an actor go the way of a device."""
    actor._far = True
    return actor


def same(one: Any, other: Any) -> None:
    assert np.array_equal(one.action, other.action)
    assert one.action.dtype == other.action.dtype == np.int32
    for name in ("log_prob", "value", "state", "log_probs"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None), name
        if mine is not None:
            assert mine.dtype == theirs.dtype == np.float32
            np.testing.assert_allclose(mine, theirs, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["beastybar", "arena", "kuhn"])
def test_choices_over_a_device_are_those_of_the_host(kind: str, name: str) -> None:
    game = started(name)
    policy = policy_of(game, kind)
    critic = Critic(game.spec, policy.network, "value", features=policy.torso.width)
    torch.nn.init.orthogonal_(critic.head.weight)
    here, there = Actor(policy, 4, critic), far(Actor(policy, 4, critic))
    for step, (decisions, rows) in enumerate(walk(game, 6)):
        some = rows[:: 1 + step % 2]  # Fewer rows than before, and more again.
        same(here.choose(decisions, some), there.choose(decisions, some))
    for one, other in zip(here.memory().values(), there.memory().values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(
    "manner", [{"greedy": True}, {"temperature": 0.5}, {"precision": torch.bfloat16}]
)
def test_the_manner_of_choosing_is_kept_over_a_device(manner: dict[str, Any]) -> None:
    game = started("arena")
    policy = policy_of(game)
    here, there = Actor(policy, 4, **manner), far(Actor(policy, 4, **manner))
    for decisions, rows in walk(game, 3):
        one, other = here.choose(decisions, rows), there.choose(decisions, rows)
        same(one, other)
        assert one.value is other.value is None


@pytest.mark.parametrize("output", ["value", "outcome", "q"])
@pytest.mark.parametrize("sees", ["seat", "privileged"])
def test_a_critic_of_its_own_judges_over_a_device(output: Any, sees: str) -> None:
    game = started("kuhn", slots=50)
    policy = policy_of(game)
    view = game.spec.privileged if sees == "privileged" else None
    critic = Critic(game.spec, policy.network, output, observation=view)
    torch.nn.init.orthogonal_(critic.head.weight)
    decisions, rows = next(walk(game, 1))
    privileged = game.privileged().copy() if view else None
    one = Actor(policy, 4, critic).choose(decisions, rows, privileged)
    same(one, far(Actor(policy, 4, critic)).choose(decisions, rows, privileged))


def test_whole_matches_over_a_device_are_those_of_the_host() -> None:
    played = []
    for change in (lambda actor: actor, far):
        game = started("leduc", slots=32)
        policy = policy_of(game)
        critic = Critic(game.spec, policy.network, "value", features=policy.torso.width)
        actor = change(Actor(policy, 4, critic))
        collector = Collector(game, actor, unroll_length=8, keep_log_probs=True)
        played.append((collector.whole_matches(64), actor.phases.taken()[0]))
    (here, _), (there, times) = played
    for name in ("observation", "action", "reward", "ended", "index"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
    for name in ("log_prob", "log_probs", "value"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), atol=1e-5)
    assert {BATCH, INFER, SAMPLE, TRANSFER} <= set(times)


def test_no_rows_are_no_trouble_over_a_device() -> None:
    game = started("leduc")
    actor = far(Actor(policy_of(game), 4))
    assert actor.choose(game.decisions(), np.arange(0)).action.shape == (0, 1)


def test_memory_is_kept_and_grows_with_what_is_gathered() -> None:
    lane = Lane(CPU)
    source = np.arange(40, dtype=np.int16).reshape(20, 2)
    rows = np.array([3, 1, 19])
    first = lane.gather("x", source, rows)
    assert first.numpy().tolist() == source[rows].tolist()
    again = lane.gather("x", source, rows[:2])
    assert again.data_ptr() == first.data_ptr()
    assert again.numpy().tolist() == source[rows[:2]].tolist()
    assert lane.gather("x", source).numpy().tolist() == source.tolist()
    other = lane.gather("x", source.astype(np.float32), rows)
    assert other.dtype == torch.float32
