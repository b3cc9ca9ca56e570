"""Normalised observations by their formula: running numbers, bounds, files, other runtimes."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from positions import KINDS, anything, eager_policy, positions, small, spec_of

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.nets.files.policy_file import PolicyFileError, load_policy, save_policy
from lanista.nets.files.tensor_shapes import tensor_shapes
from lanista.nets.normal_columns import LEAST, REMEMBERED, number_scales
from lanista.nets.normalise import NormalisedTorso, copy_running, observe
from lanista.nets.policy import Critic, Policy
from lanista.nets.portable import export
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network

ARENA = spec_of("arena")
NUMBERS = number_scales(ARENA.observation) > 0


def normal(kind: str = "mlp", bound: float = 5.0, **more: Any) -> Network:
    return replace(small(kind), normalise_observations=bound, **more)


def torso_of(policy: Policy) -> NormalisedTorso:
    torso = policy.torso.inner if policy.network.symmetry else policy.torso
    assert isinstance(torso, NormalisedTorso)
    return torso


def views(seed: int, rows: int) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(seed)
    length = ARENA.observation.length
    spread = torch.linspace(0.5, 3.0, length)
    return torch.randn(rows, length, generator=drawn) * spread + spread


def test_running_numbers_are_those_of_all_views_together() -> None:
    torso = torso_of(Policy(ARENA, normal()))
    pieces = [views(1, 40), views(2, 7) + 3, views(3, 100)]
    for piece in pieces:
        torso.observe(piece)
    everything = torch.cat(pieces)[:, NUMBERS].double()
    mean, variance = everything.mean(0), everything.var(0, correction=0)
    torch.testing.assert_close(torso.mean[NUMBERS].double(), mean, rtol=1e-5, atol=1e-6)
    deviation = torso.deviation[NUMBERS].double()
    torch.testing.assert_close(deviation, variance.sqrt(), rtol=1e-5, atol=1e-6)
    assert float(torso.seen) == 147


def test_numbers_become_deviations_from_the_mean_within_the_bound_and_categories_stay() -> None:
    spec = spec_of("beastybar")
    scale = number_scales(spec.observation)
    torso = torso_of(Policy(spec, normal(bound=1.5)))
    observation = torch.from_numpy(anything(spec))
    torso.observe(observation)
    seen = torso.normal(observation)
    numbers = torch.from_numpy(scale > 0)
    assert numbers.any()
    assert not numbers.all()
    assert torch.equal(seen[:, ~numbers], observation[:, ~numbers].float())
    wanted = observation.double()
    wanted = (wanted - wanted.mean(0)) / wanted.std(0, correction=0)
    wanted = wanted.clamp(-1.5, 1.5) * torch.from_numpy(scale)
    torch.testing.assert_close(seen[:, numbers].double(), wanted[:, numbers], rtol=1e-4, atol=1e-5)


def test_before_anything_was_seen_a_network_is_what_it_is_without() -> None:
    torch.manual_seed(0)
    plain = Policy(ARENA, small("mlp"))
    torch.manual_seed(0)
    policy = Policy(ARENA, normal(bound=1000.0))
    observation = torch.from_numpy(positions("arena")[0])
    torch.testing.assert_close(policy(observation), plain(observation))


def test_what_never_changes_is_divided_by_a_share_of_its_scale() -> None:
    torso = torso_of(Policy(ARENA, normal()))
    torso.observe(torch.ones(10, ARENA.observation.length))
    least = LEAST * torch.from_numpy(number_scales(ARENA.observation)).float()
    torch.testing.assert_close(torso.deviation[NUMBERS], least[NUMBERS])
    assert torch.equal(torso.normal(torch.ones(1, ARENA.observation.length))[0, NUMBERS] == 0,
                       torch.ones(int(NUMBERS.sum()), dtype=torch.bool))  # fmt: skip


def test_beyond_what_is_remembered_older_views_count_less() -> None:
    torso = torso_of(Policy(ARENA, normal()))
    torso.observe(torch.zeros(4, ARENA.observation.length))
    torso.seen.fill_(REMEMBERED)
    torso.observe(torch.ones(1000, ARENA.observation.length))
    share = 1000 / (REMEMBERED + 1000)
    torch.testing.assert_close(torso.mean[NUMBERS], torch.full_like(torso.mean[NUMBERS], share))
    assert float(torso.seen) == REMEMBERED


def test_views_are_taken_in_as_the_network_sees_them_turned() -> None:
    policy = Policy(ARENA, normal(symmetry=8))
    observation = torch.from_numpy(positions("arena")[0])
    observe(policy, observation)
    turned: Any = policy.torso
    wanted = turned.turned(observation).double()[:, NUMBERS]
    torso = torso_of(policy)
    torch.testing.assert_close(torso.mean[NUMBERS].double(), wanted.mean(0), rtol=1e-4, atol=1e-5)


def test_the_average_takes_over_the_running_numbers() -> None:
    policy, average = Policy(ARENA, normal()), Policy(ARENA, normal())
    observe(policy, views(4, 20))
    copy_running(average, policy)
    assert torch.equal(torso_of(average).mean, torso_of(policy).mean)
    assert torch.equal(torso_of(average).deviation, torso_of(policy).deviation)


def test_a_critic_with_a_network_of_its_own_normalises_what_it_sees() -> None:
    critic = Critic(ARENA, normal(), observation=ARENA.privileged)
    assert ARENA.privileged is not None
    view = torch.randn(12, ARENA.privileged.length) + 4
    observe(critic, view)
    torso: Any = critic.torso
    numbers = number_scales(ARENA.privileged) > 0
    torch.testing.assert_close(torso.mean[numbers], view.mean(0)[numbers], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", ["arena", "beastybar"])
def test_a_policy_file_says_the_same_in_torch_and_in_numpy(
    kind: str, game: str, tmp_path: Path
) -> None:
    spec = spec_of(game)
    policy = eager_policy(spec, normal(kind))
    observation, mask = positions(game)
    observe(policy, torch.from_numpy(observation))
    save_policy(tmp_path / "p", policy, spec)
    loaded = load_policy(tmp_path / "p", spec)
    assert loaded.header.network.normalise_observations == 5.0
    state = torch.zeros(len(mask), policy.state_size)
    with torch.no_grad():
        logits = loaded.policy.step(torch.from_numpy(observation), state)[0]
        assert torch.equal(logits, policy.step(torch.from_numpy(observation), state)[0])
    wanted = policy.heads.log_probs(logits, torch.from_numpy(mask)).numpy()
    log_probs, _ = load_portable(tmp_path / "p").log_probs(observation, mask)
    np.testing.assert_allclose(log_probs[mask], wanted[mask], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("target", "symmetry"), [("numpy", None), ("numpy", 8), ("onnx", 8)])
def test_an_exported_policy_says_what_torch_says(
    target: export.Target, symmetry: int | None, tmp_path: Path
) -> None:
    if target == "onnx" and not importlib.util.find_spec("onnxruntime"):
        pytest.skip("the extra `onnx` is not installed")
    policy = eager_policy(ARENA, normal(symmetry=symmetry))
    observe(policy, torch.from_numpy(positions("arena")[0]))
    save_policy(tmp_path / "p", policy, ARENA)
    game = registry.make("arena", slots=export.SLOTS)
    loaded = load_policy(tmp_path / "p", ARENA)
    assert export.exported_policy(loaded, game, target).difference <= 1e-5


@pytest.mark.parametrize("symmetry", [None, 8])
def test_the_tensors_of_a_file_are_known_from_its_header(symmetry: int | None) -> None:
    network = normal(symmetry=symmetry)
    shapes = tensor_shapes(ARENA.observation, ARENA.heads, network)
    state = Policy(ARENA, network).state_dict()
    assert shapes == {name: tuple(tensor.shape) for name, tensor in state.items()}


def test_a_file_whose_deviations_cannot_be_divided_by_is_refused(tmp_path: Path) -> None:
    policy = Policy(ARENA, normal())
    torso_of(policy).deviation[3] = 0.0
    save_policy(tmp_path / "p", policy, ARENA)
    with pytest.raises(PolicyFileError, match=r"'torso.deviation' has numbers that are not above"):
        load_policy(tmp_path / "p", ARENA)


def test_a_policy_without_it_has_the_bytes_that_it_always_had(tmp_path: Path) -> None:
    save_policy(tmp_path / "p", eager_policy(ARENA, small("mlp")), ARENA)
    assert b"normalise" not in (tmp_path / "p").read_bytes()[:8000]


@pytest.mark.parametrize("bound", [0.0, -1.0, 1e6, float("nan")])
def test_a_bound_that_leaves_nothing_or_everything_is_refused(bound: float) -> None:
    with pytest.raises(LanistaError, match="normalise_observations is"):
        Network(normalise_observations=bound)
