"""The critic that goes with a policy file: written beside it, for runs that begin from there.

A critic from nothing misleads a policy that already plays well. A file that does not fit is left
where it is: the critic then begins from nothing, as without one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as save_tensors

from lanista.files import write_bytes
from lanista.nets.policy import Critic
from lanista.runs.folder import folder_of
from lanista.runs.settings import RunSettings

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


def take_over(settings: RunSettings, critics: Iterable[Critic]) -> None:
    """Let learners that begin from a policy go on with its critic too, where that fits."""
    start = settings.supervised_checkpoint
    if start is None:
        return
    sees, digest = settings.learning.critic_sees, settings.supervised_digest
    for critic in critics:
        take_critic(folder_of(Path(start)), critic, sees, digest)


def notice(settings: RunSettings, critic: Critic) -> str:
    """Return a sentence about the critic of a run that begins from a policy."""
    start = settings.supervised_checkpoint
    if start is None:
        return ""
    if bool(critic.head.weight.any()):  # A new one's are all 0.
        return f"The critic that was trained beside {start} is taken over."
    return (
        f"The critic begins from nothing: beside {start} there is none that sees "
        f"{settings.learning.critic_sees} (learning.critic_sees) and gives "
        f"{settings.learning.critic_output} (learning.critic_output)."
    )
