"""A policy file's tensors as NumPy functions, each tensor given once. Knows no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from lanista.nets.files.header_checks import PolicyFileError

Floats = NDArray[np.float32]
Layer = Callable[[Floats], Floats]
_EPSILON = np.float32(1e-5)


class Weights:
    """A file's tensors by name and shape, each given once."""

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        self.remaining = dict(arrays)

    def take(self, name: str, *shape: int) -> Floats:
        array = self.remaining.pop(name, None)
        if array is None or array.shape != shape:
            actual = None if array is None else array.shape
            raise PolicyFileError(f"its tensor {name!r} has shape {actual}, and {shape} is needed")
        return array

    def layer(self, name: str, inputs: int, outputs: int) -> Layer:
        weight = self.take(f"{name}.weight", outputs, inputs).T
        bias = self.take(f"{name}.bias", outputs)

        def layer(x: Floats) -> Floats:
            out: Floats = x @ weight + bias
            return out

        return layer

    def norm(self, name: str, width: int) -> Layer:
        weight, bias = self.take(f"{name}.weight", width), self.take(f"{name}.bias", width)

        def norm(x: Floats) -> Floats:
            centred = x - x.mean(-1, keepdims=True)
            spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + _EPSILON)
            out: Floats = centred / spread * weight + bias
            return out

        return norm

    def rename(self, former: str, present: str) -> None:
        """Give tensors whose names begin with `former` names that begin with `present`."""
        self.remaining = {
            present + name.removeprefix(former) if name.startswith(former) else name: array
            for name, array in self.remaining.items()
        }

    def refuse_rest(self) -> None:
        if self.remaining:
            raise PolicyFileError(f"its tensor {next(iter(self.remaining))!r:.80} belongs nowhere")


def relu(x: Floats) -> Floats:
    return np.maximum(x, np.float32(0))
