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
from lanista.games.open_positions import reason_against_search
from lanista.learn.critic import critic_network
from lanista.learn.learner import Learner
from lanista.nets.files.value_file import VALUE, value_bytes
from lanista.nets.policy import Critic
from lanista.runs.folder import folder_of
from lanista.runs.settings import RunSettings

CRITIC = "critic.safetensors"
_WARM_UP = 20
"""Updates, at most, in which a critic from nothing learns alone; at most a tenth of a run."""


def write_critic(folder: Path, critic: Critic, sees: str, digest: str, gamma: float) -> None:
    """Write the critic of the policy with this digest, and its discount, into its run's folder."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in critic.state_dict().items()}
    about = {"policy": digest, "output": critic.output, "sees": sees, "gamma": str(gamma)}
    write_bytes(folder / CRITIC, save_tensors(tensors, about))


def file_value(folder: Path, learner: Learner, digest: str) -> None:
    """Write what a learner's critic says of positions, for those who search with its policy.

    Nothing is written of a game that cannot be searched, or by a critic that sees more than a seat.
    """
    spec, settings = learner.spec, learner.settings
    if reason_against_search(spec) or settings.critic_sees == "privileged":
        return
    network = critic_network(learner.network, settings)
    data = value_bytes(learner.critic, learner.policy, network, digest, settings.gamma)
    if data is not None:
        write_bytes(folder / VALUE, data)


def take_critic(folder: Path, critic: Critic, sees: str, digest: str) -> bool:
    """Give `critic` the weights in a policy's run folder; return whether any fitted."""
    path = folder / CRITIC
    if not path.is_file() or path.is_symlink():
        return False
    try:
        with safe_open(path, framework="pt") as file:
            about = dict(file.metadata() or {})
            about.pop("gamma", None)  # Another discount is better than beginning from nothing.
            if about != {"policy": digest, "output": critic.output, "sees": sees}:
                return False
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, json.JSONDecodeError):
        return False
    if critic.scale is not None:
        tensors.setdefault("scale", torch.ones(()))  # Values as they are.
    shapes = {name: tensor.shape for name, tensor in critic.state_dict().items()}
    if shapes != {name: tensor.shape for name, tensor in tensors.items()}:
        return False
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values()):
        return False
    critic.load_state_dict(tensors)
    return True


def _gamma(folder: Path) -> str | None:
    """Return the discount that a critic which was taken over learned with, where its file says."""
    with safe_open(folder / CRITIC, framework="pt") as file:
        return (file.metadata() or {}).get("gamma")


def take_over(settings: RunSettings, critic: Critic) -> int:
    """Let a learner that begins from a policy go on with its critic too, where that fits.

    Returns for how many updates the critic is to learn alone.
    """
    start, learning = settings.supervised_checkpoint, settings.learning
    fits = start is not None and take_critic(
        folder_of(Path(start)), critic, learning.critic_sees, settings.supervised_digest
    )
    if learning.critic_warm_up is None and (start is None or fits):
        return 0
    return warm_up(settings)


def warm_up(settings: RunSettings) -> int:
    """Return for how many updates a critic from nothing learns alone beside a policy that plays."""
    learning = settings.learning
    if learning.critic_warm_up is not None:
        return learning.critic_warm_up
    # In a run of fewer than ten updates the policy would hardly move, or not at all.
    return min(_WARM_UP, settings.updates // 10) if learning.uses("value") else 0


def notice(settings: RunSettings, critic: Critic, updates: int) -> str:
    """Return a sentence about the critic of a run that begins, alone for so many `updates`."""
    start, learning = settings.supervised_checkpoint, settings.learning
    alone = f"the policy stays as it is for {updates} updates (learning.critic_warm_up)"
    if start is None:
        return f"The critic learns first: {alone}." if updates else ""
    after = f"; {alone}" if updates else ""
    if bool(critic.head.weight.any()):  # A new one's are all 0.
        gamma = _gamma(folder_of(Path(start)))
        other = (
            f"; its discount was {gamma} and this run's is {learning.gamma} (learning.gamma)"
            if gamma not in (None, str(learning.gamma))
            else ""
        )
        return f"The critic that was trained beside {start} is taken over{other}{after}."
    return (
        f"The critic begins from nothing, since beside {start} there is none that sees "
        f"{learning.critic_sees} (learning.critic_sees) and gives {learning.critic_output} "
        f"(learning.critic_output){after}."
    )
