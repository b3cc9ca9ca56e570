"""The critic that goes with a policy file: written beside it, for runs that begin from there.

A critic from nothing misleads a policy that already plays well. A file that does not fit is left
where it is: the critic then begins from nothing, as without one.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as save_tensors

from lanista.files import write_bytes
from lanista.nets.policy import Critic

CRITIC = "critic.safetensors"


def write_critic(folder: Path, critic: Critic, sees: str, digest: str) -> None:
    """Write the critic of the policy with this digest into its run's folder."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in critic.state_dict().items()}
    about = {"policy": digest, "output": critic.output, "sees": sees}
    write_bytes(folder / CRITIC, save_tensors(tensors, about))


def take_critic(folder: Path, critic: Critic, sees: str, digest: str) -> bool:
    """Give `critic` the weights in a policy's run folder; return whether any fitted."""
    path = folder / CRITIC
    if not path.is_file() or path.is_symlink():
        return False
    try:
        with safe_open(path, framework="pt") as file:
            if file.metadata() != {"policy": digest, "output": critic.output, "sees": sees}:
                return False
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, json.JSONDecodeError):
        return False
    shapes = {name: tensor.shape for name, tensor in critic.state_dict().items()}
    if shapes != {name: tensor.shape for name, tensor in tensors.items()}:
        return False
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values()):
        return False
    critic.load_state_dict(tensors)
    return True
