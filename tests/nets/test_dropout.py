"""Dropout by its formula: on where somebody learns, by key, off for whoever plays; embeddings."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from positions import KINDS, eager_policy, positions, small, spec_of

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.nets.dropout import Dropout, dropping
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.files.tensor_shapes import tensor_shapes
from lanista.nets.policy import Policy
from lanista.nets.portable import export
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network
from lanista.nets.torsos import Block

CPU = torch.device("cpu")
SPEC = spec_of("beastybar")


def with_dropout(kind: str, rate: float, **settings: int) -> Network:
    plain = small(kind)
    return Network(
        kind, width=plain.resolved_width, layers=plain.resolved_layers, dropout=rate, **settings
    )


def test_units_are_dropped_at_the_rate_and_the_others_scaled_to_keep_the_mean() -> None:
    x = torch.full((400, 500), 3.0)
    with dropping(CPU, 1):
        out = Dropout(0.1)(x)
    assert set(out.unique().tolist()) == {0.0, float(torch.tensor(3.0) / 0.9)}
    # Five standard deviations of a share of 200,000.
    assert float((out == 0).float().mean()) == pytest.approx(0.1, abs=5 * (0.09 / 200_000) ** 0.5)


def test_the_same_key_drops_the_same_units_and_another_others() -> None:
    x = torch.ones(64, 64)
    outputs = []
    for key in ((7, 1, 0), (7, 1, 0), (7, 1, 1), (7, 2, 0), (8, 1, 0)):
        with dropping(CPU, *key):
            outputs.append(Dropout(0.5)(x))
    assert torch.equal(outputs[0], outputs[1])
    assert not any(torch.equal(outputs[0], other) for other in outputs[2:])


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_plays_drops_nothing_whatever_mode_the_modules_are_in(kind: str) -> None:
    policy = eager_policy(SPEC, with_dropout(kind, 0.5))
    plain = Policy(SPEC, small(kind))
    plain.load_state_dict(policy.state_dict())
    observation = torch.from_numpy(positions("beastybar")[0])
    with torch.no_grad():
        for mode in (True, False):
            assert torch.equal(policy.train(mode)(observation), plain(observation))
        with dropping(CPU, 1):
            assert not torch.equal(policy(observation), plain(observation))


def test_a_block_whose_every_unit_is_dropped_is_its_skip() -> None:
    torch.manual_seed(1)
    block, tokens = Block(8, 2, 1 - 1e-9), torch.randn(3, 5, 8)
    with dropping(CPU, 1), torch.no_grad():
        torch.testing.assert_close(block(tokens), tokens)


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_file_keeps_the_dropout_it_was_trained_with(kind: str, tmp_path: Path) -> None:
    policy = eager_policy(SPEC, with_dropout(kind, 0.1))
    save_policy(tmp_path / "p", policy, SPEC)
    loaded = load_policy(tmp_path / "p", SPEC)
    assert loaded.header.network.dropout == 0.1
    observation, mask = positions("beastybar")
    state = torch.zeros(len(mask), policy.state_size)
    with torch.no_grad():
        logits = loaded.policy.step(torch.from_numpy(observation), state)[0]
    wanted = policy.heads.log_probs(logits, torch.from_numpy(mask)).numpy()
    log_probs, _ = load_portable(tmp_path / "p").log_probs(observation, mask)
    np.testing.assert_allclose(log_probs[mask], wanted[mask], atol=1e-5)


@pytest.mark.parametrize("target", ["numpy", "onnx"])
def test_an_exported_policy_with_dropout_and_embedding_says_what_torch_says(
    target: export.Target, tmp_path: Path
) -> None:
    if target == "onnx" and not importlib.util.find_spec("onnxruntime"):
        pytest.skip("the extra `onnx` is not installed")
    network = with_dropout("transformer", 0.3, embedding=7)
    save_policy(tmp_path / "p", eager_policy(SPEC, network), SPEC)
    loaded = load_policy(tmp_path / "p", SPEC)
    game = registry.make("beastybar", slots=export.SLOTS)
    assert export.exported_policy(loaded, game, target).difference <= 1e-5


def test_a_policy_without_dropout_and_embedding_has_the_bytes_that_it_always_had(
    tmp_path: Path,
) -> None:
    save_policy(tmp_path / "p", eager_policy(SPEC, small("transformer")), SPEC)
    header = (tmp_path / "p").read_bytes()[:4000]
    assert b"dropout" not in header
    assert b'\\"embedding\\"' not in header


@pytest.mark.parametrize("embedding", [1, 64])
def test_a_category_has_as_many_numbers_as_the_embedding_says(embedding: int) -> None:
    network = Network("transformer", width=32, layers=1, embedding=embedding)
    state = Policy(SPEC, network).state_dict()
    assert state["torso.encoder.embedding.weight"].shape[1] == embedding
    assert tensor_shapes(SPEC.observation, SPEC.heads, network) == {
        name: tuple(tensor.shape) for name, tensor in state.items()
    }


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"dropout": 1.0}, "dropout is 1.0; give a number from 0 to below 1"),
        ({"dropout": -0.1}, "dropout is -0.1"),
        ({"kind": "transformer", "embedding": 0}, "embedding is 0; give a whole number"),
        ({"kind": "mlp", "embedding": 8}, "a mlp embeds no categories"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(LanistaError, match=sentence):
        Network(**settings)  # type: ignore[arg-type]
