"""A policy that points is the same in its file, in NumPy and in ONNX, without its game."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from described_games import DISCARD, MOOD, PAIR, POINTER, eager, layout, spec, views

from lanista.games import registry
from lanista.games.contract import Group, Head, References, Role
from lanista.nets.files.policy_file import PolicyFileError, load_policy, policy_bytes, save_policy
from lanista.nets.heads import pointers
from lanista.nets.policy import Policy
from lanista.nets.portable.export import TOLERANCE, export_policy, onnx_bytes
from lanista.nets.portable.onnx_runtime import onnx_runner
from lanista.nets.portable.runtime import load_portable


def _masks(rows: int, choices: int) -> Any:
    mask = np.random.default_rng(3).random((rows, choices)) < 0.5
    mask[:, [0, 10, 13]] = True
    return mask


def _log_probs(policy: Policy, rows: Any, mask: Any) -> Any:
    with torch.no_grad():
        logits = policy(torch.from_numpy(rows))
        return policy.heads.log_probs(logits, torch.from_numpy(mask)).numpy()


def _refuse_difference(actual: Any, expected: Any, mask: Any) -> None:
    """Refuse more than an export may differ by: a share of the largest log-probability."""
    largest = max(1.0, np.abs(expected[mask]).max())
    np.testing.assert_allclose(actual[mask], expected[mask], rtol=0, atol=TOLERANCE * largest)


def test_a_file_brings_its_references_along(tmp_path: Path) -> None:
    game = spec()
    policy = eager(game)
    save_policy(tmp_path / "p", policy, game)
    loaded = load_policy(tmp_path / "p", game)
    rows = torch.from_numpy(views(9))
    torch.testing.assert_close(loaded.policy(rows), policy(rows), rtol=0, atol=0)
    assert loaded.header.observation.groups == game.observation.groups
    assert [head.references for head in loaded.header.heads] == [
        head.references for head in game.heads
    ]
    assert policy_bytes(loaded.policy, game) == (tmp_path / "p").read_bytes()


@pytest.mark.parametrize("looked_up", [False, True])
@pytest.mark.parametrize("rows", [1, 40])
def test_numpy_says_what_torch_says(
    tmp_path: Path, looked_up: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if looked_up:
        monkeypatch.setattr(pointers, "_DENSE", 0)
    game = spec()
    policy = eager(game)
    save_policy(tmp_path / "p", policy, game)
    seen, mask = views(rows), _masks(rows, game.choices)
    expected = _log_probs(policy, seen, mask)
    assert np.abs(expected[mask]).max() > 3
    log_probs, _ = load_portable(tmp_path / "p").log_probs(seen, mask)
    _refuse_difference(log_probs, expected, mask)


def test_numpy_joins_three_parts_as_torch_does(tmp_path: Path) -> None:
    card = References((Role("card", "hand", (0, 1, 2)),))
    foe = References((Role("target", "foe", (2, -1)),), ("hit", "rest"))
    bare = References((), ("soft", "hard"))
    game = spec(heads=(Head("volley", 12, parts=(3, 2, 2), references=(card, foe, bare)),))
    policy = eager(game)
    save_policy(tmp_path / "p", policy, game)
    mask = np.ones((9, 12), np.bool_)
    log_probs, _ = load_portable(tmp_path / "p").log_probs(views(9), mask)
    _refuse_difference(log_probs, _log_probs(policy, views(9), mask), mask)


@pytest.mark.parametrize("looked_up", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_onnx_says_what_torch_says(
    tmp_path: Path, looked_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(module)
    if looked_up:
        monkeypatch.setattr(pointers, "_DENSE", 0)
    game = spec()
    save_policy(tmp_path / "p", eager(game), game)
    loaded = load_policy(tmp_path / "p", game)
    run = onnx_runner(onnx_bytes(loaded))
    for rows in (1, 40):
        seen, mask = views(rows), _masks(rows, game.choices)
        log_probs, _ = run(seen, mask, np.zeros((rows, 0), np.float32))
        expected = _log_probs(loaded.policy, seen, mask)
        _refuse_difference(log_probs, expected, mask)


def test_without_a_readout_the_file_of_a_described_game_is_as_it_was() -> None:
    network = replace(POINTER, readout=None)
    policy = Policy(spec(), network)
    plain = spec(
        in_order=True,
        heads=tuple(Head(h.name, h.size, parts=h.parts) for h in (DISCARD, MOOD, PAIR)),
    )
    data = policy_bytes(policy, spec())
    assert data == policy_bytes(policy, plain)
    assert b"readout" not in data


def test_a_game_that_describes_its_choices_otherwise_is_refused(tmp_path: Path) -> None:
    game = spec()
    save_policy(tmp_path / "p", eager(game), game)
    part = replace(PAIR.references[0], kinds=("all",) * 36)
    other = spec(heads=(DISCARD, MOOD, replace(PAIR, references=(part, part))))
    ordered = replace(layout(), groups=(Group("hand", (0, 0, 0, 0, 0)),))
    for another in (other, replace(game, observation=ordered)):
        for load in (load_policy, load_portable):
            with pytest.raises(PolicyFileError, match="describes them otherwise now"):
                load(tmp_path / "p", another)


@pytest.mark.parametrize("target", ["numpy", pytest.param("onnx", marks=pytest.mark.slow)])
def test_an_export_says_the_same_on_real_play_of_beasty_bar(tmp_path: Path, target: Any) -> None:
    game = registry.make("beastybar", slots=64)
    policy = eager(game.spec)
    save_policy(tmp_path / "p", policy, game.spec)
    loaded = load_policy(tmp_path / "p", game.spec)
    exported = export_policy(tmp_path / "out", loaded, game, target)
    assert exported.positions >= 1000
    assert exported.difference <= TOLERANCE
