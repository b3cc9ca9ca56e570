"""A network with a game's symmetry plays turned positions alike, wherever it runs."""

from pathlib import Path

import numpy as np
import pytest
import torch
from positions import eager_policy, positions, spec_of

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.files.policy_format import PolicyFileError
from lanista.nets.policy import Policy
from lanista.nets.portable.export import export_policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network

TURNED = Network("mlp", width=16, layers=2, symmetry=8)


@pytest.mark.parametrize("kind", ["mlp", "residual", "transformer"])
@pytest.mark.parametrize("observation", ["rich", "classic19"])
def test_a_turned_view_gets_turned_logits(kind: str, observation: str) -> None:
    spec = spec_of("arena", observation=observation)
    policy = eager_policy(spec, Network(kind, width=16, layers=1, symmetry=8))
    symmetry = spec.symmetry
    assert symmetry is not None
    view = torch.from_numpy(positions("arena", observation=observation)[0])
    logits = policy(view)
    assert logits.std() > 0
    for turn in range(len(symmetry)):
        turned = view[:, list(symmetry.columns[turn])] * torch.tensor(symmetry.signs[turn])
        back = policy(turned)[:, list(symmetry.choices[turn])]
        torch.testing.assert_close(back, logits, rtol=0, atol=0)


def test_a_network_without_it_does_not() -> None:
    spec = spec_of("arena")
    policy = eager_policy(spec, Network("mlp", width=16, layers=2))
    symmetry = spec.symmetry
    assert symmetry is not None
    view = torch.from_numpy(positions("arena")[0])
    turned = view[:, list(symmetry.columns[3])] * torch.tensor(symmetry.signs[3])
    assert not torch.allclose(policy(turned)[:, list(symmetry.choices[3])], policy(view))


def test_a_file_brings_its_turns_along_and_numpy_says_the_same(tmp_path: Path) -> None:
    spec = spec_of("arena")
    policy = eager_policy(spec, TURNED)
    save_policy(tmp_path / "p", policy, spec)
    observation, mask = positions("arena")
    expected = policy.heads.log_probs(policy(torch.from_numpy(observation)), torch.from_numpy(mask))
    loaded = load_policy(tmp_path / "p", spec).policy
    torch.testing.assert_close(
        loaded(torch.from_numpy(observation)), policy(torch.from_numpy(observation))
    )
    log_probs, _ = load_portable(tmp_path / "p", spec).log_probs(observation, mask)
    np.testing.assert_allclose(log_probs, expected.detach().numpy(), atol=1e-5)


def test_an_onnx_model_says_the_same_on_real_play(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    game = registry.make("arena", slots=8, duration=10.0)
    save_policy(tmp_path / "p", eager_policy(game.spec, TURNED), game.spec)
    loaded = load_policy(tmp_path / "p", game.spec)
    exported = export_policy(tmp_path / "p.onnx", loaded, game, "onnx")
    assert exported.difference < 1e-4


def test_turns_that_are_none_are_refused(tmp_path: Path) -> None:
    spec = spec_of("arena")
    policy = eager_policy(spec, TURNED)
    policy.torso.columns[1, 0] = 5.0
    save_policy(tmp_path / "p", policy, spec)
    with pytest.raises(PolicyFileError, match="no permutation"):
        load_policy(tmp_path / "p", spec)
    with pytest.raises(PolicyFileError, match="no permutation"):
        load_portable(tmp_path / "p", spec)


def test_a_wrong_number_of_turns_and_a_network_with_memory_are_refused() -> None:
    with pytest.raises(LanistaError, match=r"symmetry is 4, and arena has 8 turns"):
        Policy(spec_of("arena"), Network("mlp", width=16, layers=1, symmetry=4))
    with pytest.raises(LanistaError, match="lstm remembers"):
        Network("lstm", symmetry=8)
    with pytest.raises(LanistaError, match="symmetry is 0"):
        Network("mlp", symmetry=0)
