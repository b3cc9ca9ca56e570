"""Torsos that remember over tokens: the same in torch, NumPy and ONNX, and small where ids are."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from described_games import POINTER, spec, views

from lanista.errors import LanistaError
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.policy import Policy, parameter_count
from lanista.nets.portable.export import TOLERANCE, onnx_bytes
from lanista.nets.portable.onnx_runtime import onnx_runner
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network

needs_onnx = pytest.mark.skipif(
    not all(find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)
REMEMBERING = [
    Network("lstm", width=16, layers=2, embedding=4),
    Network("transformer_lstm", width=16, layers=2, embedding=4),
    replace(POINTER, kind="transformer_lstm"),
]


def eager(network: Network) -> Policy:
    """Return a policy whose choices differ."""
    torch.manual_seed(0)
    policy = Policy(spec(), network).eval()
    for parameter in policy.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    return policy


@pytest.mark.parametrize(
    ("network", "target"),
    [
        *((network, "numpy") for network in REMEMBERING),
        pytest.param(REMEMBERING[0], "onnx", marks=[needs_onnx, pytest.mark.slow]),
        pytest.param(REMEMBERING[1], "onnx", marks=[needs_onnx, pytest.mark.slow]),
        pytest.param(REMEMBERING[2], "onnx", marks=needs_onnx),
    ],
)
def test_numpy_and_onnx_remember_what_torch_remembers(
    tmp_path: Path, network: Network, target: str
) -> None:
    game, policy = spec(), eager(network)
    save_policy(tmp_path / "p", policy, game)
    run = load_portable(tmp_path / "p").log_probs
    if target == "onnx":
        run = onnx_runner(onnx_bytes(load_policy(tmp_path / "p", game)))
    mask = np.ones((5, game.choices), np.bool_)
    state = theirs = np.zeros((5, policy.state_size), np.float32)
    for seen in np.split(views(20), 4):
        with torch.no_grad():
            logits, _, after = policy.step(torch.from_numpy(seen), torch.from_numpy(state))
            expected = policy.heads.log_probs(logits, torch.from_numpy(mask)).numpy()
        log_probs, theirs = run(seen, mask, theirs)
        largest = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(log_probs, expected, atol=TOLERANCE * largest)
        np.testing.assert_allclose(theirs, after.numpy(), atol=TOLERANCE)
        state = after.numpy()
    assert np.abs(state).max() > 0.01


@pytest.mark.parametrize("network", REMEMBERING)
def test_what_was_seen_before_changes_what_is_chosen_now(network: Network) -> None:
    policy, seen = eager(network), torch.from_numpy(views(2))
    none = torch.zeros(1, policy.state_size)
    with torch.no_grad():
        fresh, _, _ = policy.step(seen[1:], none)
        _, _, state = policy.step(seen[:1], none)
        remembering, _, _ = policy.step(seen[1:], state)
    assert (fresh - remembering).abs().max() > 1e-3


def test_an_lstm_with_an_embedding_has_no_column_for_every_species_and_move() -> None:
    game = describe(format_named("gen9vgc2025regi"), "mirror", "", "any", 1)
    one_hot = sum(field.size * (field.classes or 1) for field in game.observation.fields)
    embedded = Policy(game, Network("lstm", width=64, embedding=8))
    assert one_hot > 140_000
    head = 64 * (game.choices + 90)
    assert parameter_count(embedded) < 64 * one_hot / 10 + head
    assert embedded.torso.into.in_features == 27 * 64  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "lstm", "readout": "pointer"}, "a lstm has no tokens to point at"),
        ({"kind": "lstm", "id_dropout": 0.1}, "an lstm with an embedding"),
        ({"kind": "transformer_lstm", "symmetry": 4}, "a transformer_lstm remembers"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(LanistaError, match=words):
        Network(**settings)  # type: ignore[arg-type]
