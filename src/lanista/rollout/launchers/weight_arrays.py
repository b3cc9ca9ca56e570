"""Weights as arrays with names, as processes and machines hand them on.

Knows nothing of versions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.rollout.chunks import Weights
from lanista.rollout.collect_worker import weights_of
from lanista.rollout.inference.actor import Actor


def arrays_of(actor: Actor) -> dict[str, NDArray[Any]]:
    """Return an actor's weights as arrays on the CPU; they may be the weights themselves."""
    return {
        f"{number}:{name}": tensor.cpu().numpy()
        for number, state in enumerate(weights_of(actor))
        for name, tensor in state.items()
    }


def weights_from(arrays: Mapping[str, NDArray[Any]]) -> Weights:
    """Return what `arrays_of` made arrays of."""
    states: list[dict[str, torch.Tensor]] = []
    for key, array in arrays.items():
        number, _, name = key.partition(":")
        if int(number) == len(states):
            states.append({})
        # It is only read, and may lie where nobody can write.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            states[int(number)][name] = torch.from_numpy(np.asarray(array))
    return states
