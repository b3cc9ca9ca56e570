"""Translates Gymnasium's spaces to our observations and heads, and back.

Both directions are here so that they agree. Knows nothing of environments or matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.adapters import ENVIRONMENTS, missing_extra
from lanista.games.contract import Field, GameError, Head, Observation

MASK = "action_mask"
KEPT_DTYPES = ("uint8", "int8", "int16", "int32", "float32")
"""Observation dtypes that we keep as they are; all others become float32."""


def gymnasium_spaces() -> Any:
    """Return the module `gymnasium.spaces`."""
    try:
        from gymnasium import spaces
    except ModuleNotFoundError as error:
        raise missing_extra("Gymnasium", ENVIRONMENTS) from error
    return spaces


@dataclass(frozen=True)
class Layout:
    """How an observation of some space becomes one row of numbers."""

    space: Any
    fields: tuple[Field, ...]
    dtype: str

    @classmethod
    def of(cls, space: Any, title: str) -> Layout:
        """Return the layout of an observation space; an action mask in it is left out."""
        fields_and_dtypes = _parts(space, "observation", title)
        if not fields_and_dtypes:
            raise GameError(f"{title} has nothing to see in its observation space {space}.")
        one = np.result_type(*(dtype for _, dtype in fields_and_dtypes))
        dtype = "uint8" if one == np.bool_ else one.name
        stored_dtype = dtype if dtype in KEPT_DTYPES else "float32"
        return cls(space, tuple(field for field, _ in fields_and_dtypes), stored_dtype)

    @property
    def shape(self) -> list[tuple[str, int, int]]:
        """What two layouts must share to be one; bounds may differ."""
        return [(field.name, field.size, field.classes) for field in self.fields]

    def flat(self, observation: Any) -> NDArray[Any]:
        """Return an observation as a new row of numbers."""
        return np.concatenate(_values(self.space, observation)).astype(self.dtype)


def _parts(space: Any, name: str, title: str) -> list[tuple[Field, np.dtype[Any]]]:
    spaces = gymnasium_spaces()
    if isinstance(space, spaces.Box):
        largest = float(np.abs([space.low, space.high]).max()) if space.is_bounded() else 1.0
        return [(Field(name, int(np.prod(space.shape)), scale=largest or 1.0), space.dtype)]
    if isinstance(space, spaces.Discrete):
        return [(Field(name, classes=int(space.n)), np.min_scalar_type(int(space.n) - 1))]
    if isinstance(space, spaces.MultiDiscrete):
        sizes = space.nvec.reshape(-1).tolist()
        return [
            (Field(f"{name} {i}", classes=size), np.min_scalar_type(size - 1))
            for i, size in enumerate(sizes)
        ]
    if isinstance(space, spaces.MultiBinary):
        return [(Field(name, int(np.prod(space.shape))), np.dtype(np.uint8))]
    if isinstance(space, spaces.Dict):
        inner = {key: value for key, value in space.spaces.items() if key != MASK}
        return [pair for key, value in inner.items() for pair in _parts(value, str(key), title)]
    raise GameError(
        f"{title} has an observation space {type(space).__name__}; Box, Discrete, MultiDiscrete, "
        "MultiBinary and Dict of them can be played."
    )


def _values(space: Any, observation: Any) -> list[NDArray[Any]]:
    spaces = gymnasium_spaces()
    if isinstance(space, spaces.Dict):
        inner = {key: value for key, value in space.spaces.items() if key != MASK}
        return [row for key, value in inner.items() for row in _values(value, observation[key])]
    row = np.asarray(observation).reshape(-1)
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        return [row - np.asarray(space.start).reshape(-1)]
    return [row]


@dataclass(frozen=True)
class Actions:
    """How a choice for each head becomes an action of some space, and masks the other way."""

    space: Any
    heads: tuple[Head, ...]

    @classmethod
    def of(cls, space: Any, title: str) -> Actions:
        """Return the heads of an action space."""
        spaces = gymnasium_spaces()
        if isinstance(space, spaces.Discrete):
            return cls(space, (Head("action", int(space.n)),))
        if isinstance(space, spaces.MultiDiscrete):
            sizes = space.nvec.reshape(-1).tolist()
            return cls(space, tuple(Head(f"action {i}", size) for i, size in enumerate(sizes)))
        raise GameError(
            f"{title} has an action space {type(space).__name__}; only Discrete and "
            "MultiDiscrete actions can be played."
        )

    def outside(self, move: int | list[int]) -> Any:
        """Return our move as an action of the space."""
        if self.space.shape == ():
            return int(np.asarray(move).reshape(-1)[0]) + int(self.space.start)
        action = np.asarray(move).reshape(self.space.shape) + self.space.start
        return action.astype(self.space.dtype)

    def legal(self, observation: Any, info: Any, title: str) -> list[Any]:
        """Return the legal moves as `View` has them, from the mask beside an observation."""
        action_mask = None
        for source in (observation, info):
            if isinstance(source, Mapping) and source.get(MASK) is not None:
                action_mask = source[MASK]
                break
        size = sum(head.size for head in self.heads)
        if action_mask is None:
            mask = np.ones(size, np.bool_)
        else:
            arrays = action_mask if isinstance(action_mask, tuple | list) else [action_mask]
            mask = np.concatenate([np.asarray(one).reshape(-1) for one in arrays]) != 0
        if len(mask) != size:
            raise GameError(f"{title} has {size} choices and an action mask of {len(mask)}.")
        ends = np.cumsum([head.size for head in self.heads])[:-1]
        legal = [np.flatnonzero(head_mask).tolist() for head_mask in np.split(mask, ends)]
        return legal[0] if len(self.heads) == 1 else legal


def observation_space(observation: Observation) -> Any:
    """Return the Box of one of our observations."""
    spaces = gymnasium_spaces()
    dtype = np.dtype(observation.dtype)
    if dtype.kind == "f":
        low, high = -np.inf, np.inf
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return spaces.Box(low, high, (observation.length,), dtype)


def action_space(heads: tuple[Head, ...]) -> Any:
    """Return Discrete for one head, MultiDiscrete for several."""
    spaces = gymnasium_spaces()
    if len(heads) == 1:
        return spaces.Discrete(heads[0].size)
    return spaces.MultiDiscrete([head.size for head in heads])


def mask_space(heads: tuple[Head, ...]) -> Any:
    """Return the space of `mask_value`."""
    spaces = gymnasium_spaces()
    boxes = [spaces.Box(0, 1, (head.size,), np.int8) for head in heads]
    return boxes[0] if len(heads) == 1 else spaces.Tuple(boxes)


def mask_value(heads: tuple[Head, ...], mask: NDArray[Any]) -> Any:
    """Return a flat mask as `Space.sample` takes it: an array, or with several heads a tuple."""
    ends = np.cumsum([head.size for head in heads])[:-1]
    head_masks = [head_mask.astype(np.int8) for head_mask in np.split(mask, ends)]
    return head_masks[0] if len(heads) == 1 else tuple(head_masks)
