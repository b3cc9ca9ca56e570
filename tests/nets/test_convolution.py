"""A convolution sees boards: the same in torch, NumPy and ONNX, and shifted where boards are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from positions import anything, eager_policy

from lanista.errors import LanistaError
from lanista.games.contract import Facts, Field, GameError, Head, Observation, Spec
from lanista.nets.boards import board_columns, board_of
from lanista.nets.files.policy_file import PolicyFileError, load_policy, save_policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network

FIELDS = (
    Field("phase", 2, classes=3),
    Field("stones", 2 * 4 * 5, planes=(2, 4, 5)),
    Field("clock", 1, scale=10),
    Field("marks", 4 * 5, planes=(1, 4, 5)),
)
NETWORK = Network("convolution", width=32, layers=2)


def spec_with(*fields: Field) -> Spec:
    return Spec("boards", Facts(2, 9), Observation(fields), (Head("move", 7),))


def test_planes_of_all_fields_lie_one_above_the_other_and_the_rest_beside() -> None:
    observation = spec_with(*FIELDS).observation
    assert board_of(observation) == (3, 4, 5)
    on_board, beside = board_columns(observation)
    # Six columns of two categories first, then the numbers in their order.
    assert on_board == [*range(6, 46), *range(47, 67)]
    assert beside == [*range(6), 46]


@pytest.mark.parametrize("fields", [FIELDS, FIELDS[1:2]], ids=["with more", "planes alone"])
def test_numpy_says_what_torch_says_of_boards(tmp_path: Path, fields: tuple[Field, ...]) -> None:
    spec = spec_with(*fields)
    policy = eager_policy(spec, NETWORK)
    save_policy(tmp_path / "p", policy, spec)
    observation = anything(spec)
    mask = np.ones((len(observation), 7), np.bool_)
    with torch.no_grad():
        wanted = policy.heads.log_probs(
            policy(torch.from_numpy(observation)), torch.from_numpy(mask)
        )
    log_probs, _ = load_portable(tmp_path / "p", spec).log_probs(observation, mask)
    # As an export: a share of the largest log-probability.
    largest = max(1.0, float(wanted.abs().max()))
    np.testing.assert_allclose(log_probs, wanted.numpy(), rtol=0, atol=1e-5 * largest)
    again = load_policy(tmp_path / "p", spec)
    assert [field.planes for field in again.header.observation.fields] == [
        field.planes for field in fields
    ]


def test_a_block_sees_a_stone_wherever_it_lies() -> None:
    """What a convolution makes of a stone moves with the stone, away from the border."""
    spec = spec_with(Field("stones", 7 * 7, planes=(1, 7, 7)))
    torso = eager_policy(spec, Network("convolution", width=32, layers=1)).torso
    boards = torch.zeros(2, 1, 7, 7)
    boards[0, 0, 3, 3] = boards[1, 0, 2, 4] = 1.0
    with torch.no_grad():
        made = torso.into(boards)  # type: ignore[operator]
    near = made[0, :, 2:5, 2:5]
    assert torch.allclose(near, made[1, :, 1:4, 3:6], atol=1e-6)
    assert not torch.allclose(near, made[1, :, 2:5, 2:5], atol=1e-3)


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)
def test_onnx_says_what_torch_says_of_boards(tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    from lanista.games import registry
    from lanista.nets.portable import export

    name = "openspiel:breakthrough(rows=4,columns=4)"
    spec = registry.spec_of(name)
    save_policy(tmp_path / "p", eager_policy(spec, NETWORK), spec)
    loaded = load_policy(tmp_path / "p", spec)
    table = registry.make(name, slots=export.SLOTS)
    exported = export.export_policy(tmp_path / "p.onnx", loaded, table, "onnx")
    assert exported.positions >= 1000
    assert exported.difference <= 1e-5


def test_planes_that_do_not_make_a_field_are_refused() -> None:
    with pytest.raises(GameError, match=r"has 12 numbers and planes \(1, 3, 3\)"):
        Field("stones", 12, planes=(1, 3, 3))


@pytest.mark.parametrize(
    "fields",
    [(Field("cards", 4),), (FIELDS[1], Field("other", 9, planes=(1, 3, 3)))],
    ids=["none", "two sizes"],
)
def test_a_convolution_without_one_board_is_refused(fields: tuple[Field, ...]) -> None:
    with pytest.raises(LanistaError, match="needs fields with planes"):
        eager_policy(spec_with(*fields), NETWORK)


def test_a_file_whose_planes_are_another_board_is_refused(tmp_path: Path) -> None:
    spec = spec_with(FIELDS[1])
    save_policy(tmp_path / "p", eager_policy(spec, NETWORK), spec)
    data = (tmp_path / "p").read_bytes().replace(b"[2,4,5]", b"[4,2,5]")
    (tmp_path / "p").write_bytes(data)
    with pytest.raises(PolicyFileError, match=r"is refused"):
        load_policy(tmp_path / "p")
