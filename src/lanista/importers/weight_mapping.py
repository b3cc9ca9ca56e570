"""A policy of ours from another program's tensors: a mapping file says which is which.

The mapping names the game, the network and, for each tensor of that network, where its numbers
come from. Nothing is guessed: a tensor that is left out, one that is not there and a shape that
does not fit are refused with both names. Knows nothing of how checkpoints are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.errors import LanistaError, nearest
from lanista.games import registry
from lanista.games.contract import Spec
from lanista.nets.files.tensor_shapes import tensor_shapes
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.runs.serialise import build
from lanista.yaml_text import read_yaml

Array = NDArray[Any]


@dataclass(frozen=True)
class WeightMapping:
    """A mapping file."""

    game: str
    """The game that the policy plays."""
    network: Network
    """The network of ours that has the same shape as theirs."""
    tensors: dict[str, Any]
    """By the name of our tensor: the name of theirs, or keys `from`, `rows`, `columns`,
    `transpose`, or `fill`."""
    game_settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the game."""
    prefix: str = ""
    """What all of their names begin with, such as model_state_dict."""


@dataclass(frozen=True)
class Source:
    """Where the numbers of one tensor come from."""

    names: tuple[str, ...] = ()
    """Theirs; several are put one below the other."""
    transpose: bool = False
    """Swap rows and columns, for layers that multiply from the other side."""
    rows: tuple[int, ...] | None = None
    """Which of their rows, in our order: actions that are numbered otherwise."""
    columns: tuple[int, ...] | None = None
    """Which of their columns, in our order: inputs that are arranged otherwise."""
    fill: float | None = None
    """One number everywhere, for what they do not have, such as a bias."""


def read_mapping(path: Path) -> WeightMapping:
    """Return a mapping file; an unknown key is refused and the nearest named."""
    return build(WeightMapping, read_yaml(path))


def mapped_policy(
    mapping: WeightMapping, shapes: Mapping[str, tuple[int, ...]], tensor: Callable[[str], Array]
) -> tuple[Policy, Spec]:
    """Return a policy with the tensors of a checkpoint, and the game it plays.

    `shapes` are those of their tensors by name, `tensor` gives the numbers of one.
    """
    spec = registry.spec_of(mapping.game, **mapping.game_settings)
    expected = tensor_shapes(spec.observation, spec.heads, mapping.network)
    for name in mapping.tensors:
        if name not in expected:
            raise LanistaError(f"The network has no tensor {name!r}; {nearest(name, expected)}")
    weights = {}
    for name, shape in expected.items():
        if name not in mapping.tensors:
            raise LanistaError(
                f"The mapping has no line for {name!r} of shape {list(shape)}; name theirs, or "
                "give `{fill: 0}`."
            )
        source = _source(name, mapping.tensors[name])
        weights[name] = torch.from_numpy(_numbers(name, shape, source, mapping, shapes, tensor))
    policy = Policy(spec, mapping.network)
    policy.load_state_dict(weights)
    return policy, spec


def _source(name: str, value: Any) -> Source:
    if isinstance(value, str):
        return Source((value,))
    if not isinstance(value, dict):
        raise LanistaError(f"{name} is {value!r}; give a name of theirs, or keys from, rows, fill.")
    values = dict(value)
    names = values.pop("from", [])
    values["names"] = [names] if isinstance(names, str) else names
    source = build(Source, values)
    if bool(source.names) == (source.fill is not None):
        raise LanistaError(f"{name} needs either `from` or `fill`, and one of them alone.")
    return source


def _numbers(
    name: str,
    shape: tuple[int, ...],
    source: Source,
    mapping: WeightMapping,
    shapes: Mapping[str, tuple[int, ...]],
    tensor: Callable[[str], Array],
) -> NDArray[np.float32]:
    if source.fill is not None:
        return np.full(shape, source.fill, np.float32)
    theirs = [f"{mapping.prefix}.{word}" if mapping.prefix else word for word in source.names]
    for word in theirs:
        if word not in shapes:
            raise LanistaError(
                f"The checkpoint has no tensor {word!r}, which {name} is to come from; "
                f"{nearest(word, shapes)}"
            )
    try:
        numbers = _arranged([tensor(word) for word in theirs], source)
    except (IndexError, ValueError) as error:
        raise LanistaError(f"{', '.join(theirs)} cannot become {name}: {error}.") from error
    if numbers.shape != shape:
        raise LanistaError(
            f"{', '.join(theirs)} has the shape {list(numbers.shape)} as mapped, and {name} needs "
            f"{list(shape)}; transpose it, choose rows or columns, or take another network."
        )
    if not np.isfinite(numbers).all():
        raise LanistaError(f"{', '.join(theirs)} holds numbers that are not finite.")
    return numbers


def _arranged(parts: list[Array], source: Source) -> NDArray[np.float32]:
    numbers = parts[0] if len(parts) == 1 else np.concatenate(parts, 0)
    numbers = numbers.T if source.transpose else numbers
    if source.rows is not None:
        numbers = numbers[list(source.rows)]
    if source.columns is not None:
        numbers = numbers[:, list(source.columns)]
    return np.ascontiguousarray(numbers, np.float32)
