"""A network for grids: what its equations say, the same in torch, NumPy and ONNX."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from grid_games import CELLS, drop_head, eager, grid_spec, slow_logits, unit_head
from positions import anything

from lanista.errors import LanistaError
from lanista.games.contract import (
    Facts,
    Field,
    GameError,
    Group,
    Head,
    Observation,
    References,
    Role,
    Spec,
)
from lanista.nets.files.policy_file import PolicyFileError, load_policy, policy_bytes, save_policy
from lanista.nets.files.tensor_shapes import tensor_shapes
from lanista.nets.grids import scales_of
from lanista.nets.policy import Critic, Policy
from lanista.nets.portable.export import TOLERANCE, onnx_bytes
from lanista.nets.portable.onnx_runtime import onnx_runner
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network

SIDES = [(8, 8), (16, 16), (5, 7), (3, 2), (4, 9), (1, 6)]
by_sides = pytest.mark.parametrize("sides", SIDES, ids=lambda sides: f"{sides[0]}x{sides[1]}")
NO_READOUT = replace(CELLS, readout=None)


def log_probs_of(policy: Policy, observation: Any, mask: Any) -> Any:
    with torch.no_grad():
        logits = policy(torch.from_numpy(observation))
        return policy.heads.log_probs(logits, torch.from_numpy(mask)).numpy()


def refuse_difference(actual: Any, expected: Any) -> None:
    """Refuse more than an export may differ by: a share of the largest log-probability."""
    largest = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE * largest)


@by_sides
def test_logits_are_what_the_equations_say(sides: tuple[int, int]) -> None:
    spec = grid_spec(*sides)
    policy = eager(spec)
    observation = anything(spec, rows=3)
    logits = policy(torch.from_numpy(observation)).detach()
    for row, view in enumerate(observation):
        expected = slow_logits(policy, spec, view)
        torch.testing.assert_close(logits[row], expected, rtol=1e-4, atol=1e-4)
    assert logits.std() > 0.3


def test_sides_are_halved_upwards_while_they_are_long_enough() -> None:
    assert scales_of(8, 8) == [(8, 8), (4, 4), (2, 2)]
    assert scales_of(16, 64) == [(16, 64), (8, 32), (4, 16)]
    assert scales_of(5, 7) == [(5, 7), (3, 4)]
    assert scales_of(3, 40) == [(3, 40)]


def test_logits_of_cells_move_with_what_lies_on_the_grid() -> None:
    """Shifted by as many cells as the coarsest has, what is far from the borders shifts along."""
    side, step = 96, 4
    cells = side * side
    fields = (Field("unit", cells, classes=4, group="cell"), Field("clock", 3, scale=2.0))
    observation = Observation(fields, "float32", (Group("cell", grid=(side, side)),))
    heads = tuple(unit_head(cell, f"{cell}") for cell in range(cells))
    spec = Spec("field", Facts(2, 9), observation, heads)
    policy = eager(spec, replace(CELLS, width=32, layers=1))
    board = np.random.default_rng(1).integers(0, 4, (side, side))
    shifted = np.roll(board, (step, 2 * step), (0, 1))
    views = np.stack([np.r_[one.ravel(), [1, 5, 2]] for one in (board, shifted)])
    with torch.no_grad():
        logits = policy(torch.from_numpy(views.astype(np.float32))).view(2, side, side, 3)
    # A cell sees 3 cells far at the first scale, 1 + 4 further at the second, 2 + 8 at the third,
    # then, on the way back, 3 + 4 and 1 + 2: within 28 of it is no border, nor what came around.
    inside = slice(28 + 2 * step, side - 28)
    moved = torch.roll(logits[0], (step, 2 * step), (0, 1))
    torch.testing.assert_close(moved[inside, inside], logits[1, inside, inside])
    assert not torch.allclose(logits[0, inside, inside], logits[1, inside, inside], atol=1e-2)
    border = (moved - logits[1])[:2].abs().max()
    assert border > 1e-3


@by_sides
@pytest.mark.parametrize("network", [CELLS, NO_READOUT], ids=["cells", "by number"])
def test_numpy_says_what_torch_says(
    tmp_path: Path, sides: tuple[int, int], network: Network
) -> None:
    spec = grid_spec(*sides)
    policy = eager(spec, network)
    save_policy(tmp_path / "p", policy, spec)
    observation = anything(spec)
    mask = np.ones((len(observation), spec.choices), np.bool_)
    expected = log_probs_of(policy, observation, mask)
    actual, _ = load_portable(tmp_path / "p", spec).log_probs(observation, mask)
    refuse_difference(actual, expected)
    assert expected.std() > 0.1


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)
@pytest.mark.parametrize("sides", [(8, 8), (5, 7)], ids=["8x8", "5x7"])
def test_onnx_says_what_torch_says(tmp_path: Path, sides: tuple[int, int]) -> None:
    spec = grid_spec(*sides)
    save_policy(tmp_path / "p", eager(spec), spec)
    loaded = load_policy(tmp_path / "p", spec)
    run = onnx_runner(onnx_bytes(loaded))
    for rows in (1, 40):
        observation = anything(spec, rows)
        mask = np.ones((rows, spec.choices), np.bool_)
        actual, _ = run(observation, mask, np.zeros((rows, 0), np.float32))
        refuse_difference(actual, log_probs_of(loaded.policy, observation, mask))


@by_sides
@pytest.mark.parametrize("network", [CELLS, NO_READOUT], ids=["cells", "by number"])
def test_shapes_worked_out_from_a_header_are_those_of_the_network(
    sides: tuple[int, int], network: Network
) -> None:
    spec = grid_spec(*sides)
    with torch.device("meta"):
        state = Policy(spec, network).state_dict()
    assert tensor_shapes(spec.observation, spec.heads, network) == {
        name: tuple(tensor.shape) for name, tensor in state.items()
    }


def two_grids(head: Head, *heads: Head) -> Spec:
    """A game in which own ships and shots lie on grids of their own."""
    fields = tuple(Field(name, 4, classes=2, group=name) for name in ("own", "foe"))
    groups = tuple(Group(name, grid=(2, 2)) for name in ("own", "foe"))
    return Spec("two", Facts(2, 9), Observation(fields, groups=groups), (head, *heads))


def test_cells_of_two_grids_have_weights_of_their_own() -> None:
    def anywhere(group: str) -> Head:
        return Head(group, 4, references=(References((Role("at", group, (0, 1, 2, 3)),)),))

    spec = two_grids(anywhere("own"), anywhere("foe"))
    policy, observation = eager(spec), anything(spec)
    logits = policy(torch.from_numpy(observation)).detach()
    assert (logits[:, :4] - logits[:, 4:]).abs().min() > 1e-3
    torch.testing.assert_close(logits[0], slow_logits(policy, spec, observation[0]))


def test_choices_that_only_a_second_role_tells_apart_are_refused() -> None:
    start, end = Role("from", "own", (0, 0, 1)), Role("to", "own", (1, 2, 2))
    moves = Head("move", 3, references=(References((start, end)),))
    with pytest.raises(
        LanistaError, match=r"choice 1 of the head 'move' has the cell and the kind"
    ):
        Policy(two_grids(moves), CELLS)
    kinds = ("right", "down", "down")
    told_apart = Head("move", 3, references=(References((start, end), kinds),))
    assert Policy(two_grids(told_apart), CELLS).head.at_cells.out_features == 2


def test_a_critic_of_its_own_has_no_weights_for_cells_that_nobody_reads() -> None:
    spec = grid_spec(8, 8)
    torso = Policy(spec, CELLS).torso.state_dict()
    critic = Critic(spec, CELLS, "q", spec.observation).torso.state_dict()
    unread = {name for name in torso if name.startswith(("project.", "up."))}
    assert unread
    assert critic.keys() == torso.keys() - unread


def test_every_weight_is_learned() -> None:
    spec = grid_spec(8, 8)
    for network in (CELLS, NO_READOUT):
        policy = eager(spec, network)
        policy(torch.from_numpy(anything(spec))).square().sum().backward()
        for name, parameter in policy.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name


def test_a_fresh_policy_is_near_uniform_and_may_drop_units_and_normalise() -> None:
    spec = grid_spec(8, 8)
    network = replace(CELLS, dropout=0.1, normalise_observations=5.0)
    policy = Policy(spec, network)
    observation = anything(spec)
    mask = np.ones((len(observation), spec.choices), np.bool_)
    log_probs = torch.from_numpy(log_probs_of(policy, observation, mask))
    uniform = policy.heads.uniform_log_probs(torch.from_numpy(mask))
    assert (log_probs - uniform).abs().max() < 0.2
    assert policy.torso.shown == {"cell": 0}


def test_a_grid_of_planes_alone_is_read_by_number() -> None:
    spec = Spec(
        "planes",
        Facts(2, 9),
        Observation((Field("stones", 2 * 20, planes=(2, 4, 5)),)),
        (Head("move", 20),),
    )
    policy = eager(spec, NO_READOUT)
    assert policy(torch.from_numpy(anything(spec))).shape == (64, 20)
    with pytest.raises(LanistaError, match="references, in one part, to the cells"):
        eager(spec)


@pytest.mark.parametrize(
    ("observation", "listed"),
    [
        (Observation((Field("cards", 4),)), "has none"),
        (Observation((Field("cells", 4, group="cell"),)), "has none"),
        (
            Observation(
                (Field("a", 4, group="a"), Field("b", 9, planes=(1, 3, 3))),
                groups=(Group("a", grid=(2, 2)),),
            ),
            "has 2 x 2, 3 x 3",
        ),
    ],
)
def test_a_game_without_one_grid_is_refused(observation: Observation, listed: str) -> None:
    spec = Spec("other", Facts(2, 9), observation, (Head("move", 3),))
    with pytest.raises(LanistaError, match=f"says that it is a grid .*{listed}; take another"):
        Policy(spec, NO_READOUT)


def test_a_grid_too_large_is_refused_before_anything_is_made() -> None:
    field = Field("unit", 1 << 16, classes=1 << 30, group="cell")
    observation = Observation((field,), "int32", (Group("cell", grid=(256, 256)),))
    with pytest.raises(LanistaError, match="1,048,576 numbers are the most"):
        Policy(Spec("huge", Facts(2, 9), observation, (Head("move", 3),)), NO_READOUT)


def test_more_outputs_than_anybody_reads_are_refused_before_anything_is_made() -> None:
    """A thousand kinds of choice at one cell would be a thousand outputs at each of a million."""
    field = Field("unit", 1 << 20, group="cell")
    observation = Observation((field,), "float32", (Group("cell", grid=(1024, 1024)),))
    head = unit_head(0, "unit", tuple(f"kind {number}" for number in range(1000)))
    with pytest.raises(LanistaError, match=r"1,048,576,000 outputs .* 4,194,304 are the most"):
        Policy(Spec("huge", Facts(2, 9), observation, (head,)), CELLS)


@pytest.mark.parametrize("grid", [(2, 3), (4,), (0, 4), (-2, -2), (2.0, 2.0), (1, 2, 2)], ids=str)
def test_rows_and_columns_that_do_not_make_a_group_are_refused(grid: Any) -> None:
    with pytest.raises(GameError, match=r"'cell' has 4 entries and the grid .*give rows and"):
        Observation((Field("unit", 4, group="cell"),), groups=(Group("cell", grid=grid),))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kind": "mlp", "readout": "cells"}, "a mlp has no cells to read from; take the kind"),
        ({"kind": "unet", "readout": "pointer"}, "a unet has no tokens to point at"),
        ({"kind": "unet", "readout": "cell"}, "give 'pointer' or 'cells', or leave it out"),
        ({"kind": "unet", "readout": "cells", "symmetry": 8}, "'cells', and symmetry turns"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    settings: dict[str, Any], reason: str
) -> None:
    with pytest.raises(LanistaError, match=reason):
        Network(**settings)


def test_a_grid_and_what_choices_are_about_are_no_part_of_a_spec() -> None:
    spec = grid_spec(4, 4)
    plain = replace(
        spec,
        observation=replace(spec.observation, groups=()),
        heads=tuple(Head(head.name, head.size) for head in spec.heads),
    )
    assert spec == plain
    policy = Policy(spec, Network("mlp", width=16, layers=1))
    assert policy_bytes(policy, spec) == policy_bytes(policy, plain)
    # What points at tokens knows of no grid.
    pointing = Policy(spec, Network("transformer", width=16, layers=1, readout="pointer"))
    gridless = replace(spec, observation=replace(spec.observation, groups=()))
    assert policy_bytes(pointing, spec) == policy_bytes(pointing, gridless)


def test_a_file_brings_its_grid_along_and_fits_no_other(tmp_path: Path) -> None:
    spec = grid_spec(4, 9)
    for network in (CELLS, NO_READOUT):
        policy = eager(spec, network)
        save_policy(tmp_path / "p", policy, spec)
        loaded = load_policy(tmp_path / "p", spec)
        seen = torch.from_numpy(anything(spec))
        torch.testing.assert_close(loaded.policy(seen), policy(seen), rtol=0, atol=0)
        assert loaded.header.observation.groups == spec.observation.groups
        assert policy_bytes(loaded.policy, spec) == (tmp_path / "p").read_bytes()
        turned = replace(spec.observation, groups=(Group("cell", grid=(9, 4)),))
        for load in (load_policy, load_portable):
            with pytest.raises(PolicyFileError, match="describes them otherwise now"):
                load(tmp_path / "p", replace(spec, observation=turned))


def test_cells_without_choices_and_heads_in_any_order_are_read_as_described() -> None:
    heads = (
        unit_head(5, "a"), Head("mood", 2), unit_head(0, "b", ("down", "wait")),
        drop_head(20), Head("pair", 4, parts=(2, 2)),
    )  # fmt: skip
    spec = grid_spec(4, 5, heads)
    policy = eager(spec)
    view = anything(spec, 1)
    logits = policy(torch.from_numpy(view))[0].detach()
    torch.testing.assert_close(logits, slow_logits(policy, spec, view[0]))


@pytest.mark.parametrize(
    "field",
    [
        Field("ship", 9, group="cell"),
        Field("ship", 4, group="cell", planes=(1, 2, 2)),
    ],
    ids=["another size", "planes"],
)
def test_a_field_that_does_not_lie_on_its_grid_is_refused(field: Field) -> None:
    groups = (Group("cell", grid=(2, 2)),)
    with pytest.raises(GameError, match=r"group 'cell' is a grid of 2 x 2 cells; give it an entry"):
        Observation((field, Field("unit", 4, group="cell")), groups=groups)


def test_categories_have_no_planes() -> None:
    with pytest.raises(GameError, match="3 classes and planes, which are of numbers"):
        Field("ship", 4, classes=3, planes=(1, 2, 2))
