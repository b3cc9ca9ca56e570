"""The value of positions that goes with a policy file, for players that search.

It is a critic with a network of its own that sees what the seat sees, so it fits whichever weights
of a run were handed over. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from lanista.errors import LanistaError
from lanista.games.contract import Spec
from lanista.nets.files.policy_format import VALUE as VALUE
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network, network_from

_SCALE = "scale"
_ABOUT = "value"


@dataclass(frozen=True)
class LoadedValue:
    """A value from a file."""

    critic: Critic
    digest: str
    """SHA-256 of the file."""


def value_bytes(
    critic: Critic, policy: Policy, network: Network, digest: str, gamma: float
) -> bytes | None:
    """Return the file of the value that `critic` gives, for the policy with this digest.

    `policy` is the one it was trained beside, and `network` its own where it has one. None: it
    looks at something that nobody has who plays.
    """
    tensors = {name: tensor for name, tensor in critic.state_dict().items() if name != _SCALE}
    if critic.torso is None:
        network = policy.network
        if network.symmetry:
            return None
        torso = policy.torso.state_dict()
        tensors |= {f"torso.{name}": tensor for name, tensor in torso.items()}
    if network.recurrent:
        return None
    if critic.scale is not None and critic.output == "value":
        for name in ("head.weight", "head.bias"):
            tensors[name] = tensors[name] * critic.scale
    about = {
        "policy": digest,
        "output": critic.output,
        "network": asdict(network.resolved),
        "gamma": str(gamma),
    }
    whole = {name: tensor.detach().cpu().float().contiguous() for name, tensor in tensors.items()}
    # One key: with several, their order in the file, and so its digest, would be left to chance.
    return save(whole, {_ABOUT: json.dumps(about, sort_keys=True)})


def load_value(path: Path, spec: Spec, policy_digest: str) -> LoadedValue:
    """Return the value in a file; one of another policy, or that does not fit, is refused."""
    data = path.read_bytes()
    try:
        about, tensors = _metadata(data), load(data)
        if about["policy"] != policy_digest:
            raise _ValueFileError("it was written for another policy")
        critic = _critic(spec, about, tensors)
    except (SafetensorError, KeyError, ValueError, TypeError, LanistaError) as error:
        reason = str(error) if isinstance(error, LanistaError) else "it is damaged"
        raise LanistaError(
            f"{str(path)!r} is refused: {reason.rstrip('.')}; put back the file that was written "
            "with the policy, or play without search."
        ) from error
    return LoadedValue(critic, hashlib.sha256(data).hexdigest())


class _ValueFileError(LanistaError):
    """A file does not hold the value that it should."""


def _metadata(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    return dict(json.loads(json.loads(data[8 : 8 + length])["__metadata__"][_ABOUT]))


def _critic(spec: Spec, about: dict[str, Any], tensors: dict[str, Tensor]) -> Critic:
    if about["output"] not in ("value", "outcome", "q"):
        raise _ValueFileError(f"its output is {about['output']!r}")
    network = network_from(about["network"])
    with torch.device("meta"):
        critic = Critic(spec, network, about["output"], observation=spec.observation)
    shapes = {name: tensor.shape for name, tensor in critic.state_dict().items()}
    if shapes != {name: tensor.shape for name, tensor in tensors.items()}:
        raise _ValueFileError(f"its tensors do not fit a {network.kind} for {spec.name}")
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values()):
        raise _ValueFileError("it holds numbers that are not finite")
    critic.load_state_dict(tensors, assign=True)
    return critic.requires_grad_(False)
