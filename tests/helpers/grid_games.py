"""Made-up games on grids, and what a network for grids says of them straight from the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d

from lanista.games.contract import Facts, Field, Group, Head, Observation, References, Role, Spec
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

CELLS = Network("unet", width=32, layers=2, readout="cells")
KINDS = ("wait", "up", "down")


def unit_head(cell: int, name: str, kinds: tuple[str, ...] = KINDS) -> Head:
    role = Role("unit", "cell", (cell,) * len(kinds))
    return Head(name, len(kinds), references=(References((role,), kinds),))


def drop_head(cells: int) -> Head:
    """A stone on any cell, from the last to the first, or a pass."""
    entries = (*reversed(range(cells)), -1)
    kinds = (*("stone",) * cells, "pass")
    return Head("drop", cells + 1, references=(References((Role("at", "cell", entries),), kinds),))


def grid_spec(rows: int, columns: int, heads: tuple[Head, ...] | None = None) -> Spec:
    """A game with categories and numbers in cells, planes, and more beside them."""
    cells = rows * columns
    fields = (
        Field("phase", 2, classes=3),
        Field("owner", cells, classes=3, group="cell"),
        Field("strength", cells, scale=4.0, group="cell"),
        Field("clock", scale=10.0),
        Field("unit", cells, classes=2, group="cell"),
        Field("marks", 2 * cells, planes=(2, rows, columns)),
        Field("hand", 2, classes=2, group="hand"),
    )
    observation = Observation(fields, "float32", (Group("cell", grid=(rows, columns)),))
    if heads is None:
        units = tuple(unit_head(cell, f"unit {cell}") for cell in range(cells))
        heads = (drop_head(cells), *units, Head("mood", 2))
    return Spec("grids", Facts(2, 9), observation, heads)


def eager(spec: Spec, network: Network = CELLS, seed: int = 0) -> Policy:
    """Return a policy that prefers some choices, and whose every tensor counts."""
    torch.manual_seed(seed)
    policy = Policy(spec, network)
    for name, parameter in policy.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, std=0.1)
        elif name.startswith("head"):
            nn.init.normal_(parameter, std=0.3)
        elif name.endswith("second.weight"):
            nn.init.orthogonal_(parameter, 0.5)
    return policy


def slow_planes(spec: Spec, view: Any) -> tuple[Tensor, Tensor]:
    """Return one view's planes and what lies beside them, each as the layout says."""
    grids = {group.name: group.grid for group in spec.observation.groups if group.grid}
    rows, columns = next(iter(grids.values()))
    planes: list[Any] = []
    beside: list[Any] = []
    for classes in [*sorted({field.classes for field in spec.observation.fields} - {0}), 0]:
        for field in (one for one in spec.observation.fields if one.classes == classes):
            values = view[spec.observation.slice_of(field.name)]
            if field.group in grids or field.planes:
                stack = [values == k for k in range(classes)] if classes else [values / field.scale]
                planes += [one for board in stack for one in np.reshape(board, (-1, rows, columns))]
            elif classes:
                beside += [float(value == k) for value in values for k in range(classes)]
            else:
                beside += [value / field.scale for value in values]
    return torch.tensor(np.array(planes), dtype=torch.float32), torch.tensor(beside).float()


def slow_torso(torso: Any, spec: Spec, view: Any) -> tuple[Tensor, Tensor]:
    """Return the features and the cells `[channels, rows, columns]`, equation by equation."""

    def around(x: Tensor, layer: nn.Conv2d, stride: int = 1) -> Tensor:
        return conv2d(x[None], layer.weight, layer.bias, stride=stride, padding=1)[0]

    def blocks(x: Tensor, layers: Any) -> Tensor:
        for layer in layers:
            x = torch.relu(x + around(torch.relu(around(x, layer.first)), layer.second))
        return x

    planes, beside = slow_planes(spec, view)
    everywhere = torso.beside(beside)[:, None, None] if len(beside) else 0.0
    x = [blocks(torch.relu(around(planes, torso.into) + everywhere), torso.down[0])]
    for scale, halve in enumerate(torso.halve):
        x.append(blocks(torch.relu(around(x[scale], halve, 2)), torso.down[scale + 1]))
    features = torch.relu(torso.out(x[-1].flatten()))
    y = x[-1]
    for scale in reversed(range(len(torso.halve))):
        weight, bias = torso.project[scale].weight[:, :, 0, 0], torso.project[scale].bias
        sums = x[scale].clone()
        for row in range(sums.shape[1]):
            for column in range(sums.shape[2]):
                sums[:, row, column] += weight @ y[:, row // 2, column // 2] + bias
        y = blocks(torch.relu(sums), torso.up[scale])
    return features, y


@torch.no_grad()
def slow_logits(policy: Any, spec: Spec, view: Any) -> Tensor:
    """Return the logits of one view, choice by choice."""
    features, cells = slow_torso(policy.torso, spec, view)
    cells = cells.flatten(1)
    head, logits, apart, numbered = policy.head, [], 0, 0
    names: list[tuple[str, str, str]] = []
    for one in spec.heads:
        if not one.references:
            logits += head.by_number(features)[numbered : numbered + one.size].tolist()
            numbered += one.size
            continue
        (part,) = one.references
        kinds = part.kinds or ("",) * one.size
        for entry, kind in zip(part.roles[0].entries, kinds, strict=True):
            if entry < 0:
                logits.append(float(head.apart(features)[apart]))
                apart += 1
                continue
            key = (part.roles[0].group, part.roles[0].name, kind)
            names += [] if key in names else [key]
            number = names.index(key)
            weight, bias = head.at_cells.weight[number], head.at_cells.bias[number]
            logits.append(float(weight @ cells[:, entry] + bias))
    return torch.tensor(logits)
