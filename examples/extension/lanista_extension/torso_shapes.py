"""Which tensors the torso has: a policy file is checked against them before it is built."""

from __future__ import annotations

from collections.abc import Iterator

from lanista.games.contract import Observation
from lanista.nets.files.tensor_shapes import columns


def gated(
    observation: Observation, width: int, layers: int
) -> Iterator[tuple[str, tuple[int, ...]]]:
    for number in range(layers):
        yield (
            f"torso.layers.{number}.weight",
            (2 * width, width if number else columns(observation)),
        )
        yield f"torso.layers.{number}.bias", (2 * width,)
