"""Saves policies to files and loads them, checked against the game they are to play.

A policy is one safetensors file, whatever its suffix, and its SHA-256 is its digest. The critic
is never in it. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from lanista.files import write_bytes
from lanista.games.contract import Facts, Spec
from lanista.nets.files.policy_format import (
    POLICY,
    PolicyContent,
    PolicyFileError,
    PolicyHeader,
    encode,
    read,
    read_header,
    refuse_nonsense,
    refused,
)
from lanista.nets.policy import Policy

__all__ = [
    "LoadedPolicy",
    "PolicyFileError",
    "PolicyHeader",
    "load_policy",
    "policy_bytes",
    "read_header",
    "refused",
    "save_policy",
]


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy from a file."""

    policy: Policy
    header: PolicyHeader
    digest: str
    """SHA-256 of the file."""


def save_policy(
    path: str | Path,
    policy: Policy,
    spec: Spec,
    *,
    name: str = "",
    parents: Sequence[str] = (),
    step: int = 0,
    extra: Mapping[str, str] | None = None,
) -> str:
    """Write a policy for the game `spec` to `path`, whole or not at all; return its digest."""
    data = policy_bytes(policy, spec, name=name, parents=parents, step=step, extra=extra)
    write_bytes(path, data, POLICY)
    return hashlib.sha256(data).hexdigest()


def policy_bytes(
    policy: Policy,
    spec: Spec,
    *,
    name: str = "",
    parents: Sequence[str] = (),
    step: int = 0,
    extra: Mapping[str, str] | None = None,
) -> bytes:
    """Return the file of a policy: the same bytes for the same policy, wherever it lies."""
    header = PolicyHeader.of(
        spec,
        policy.network,
        name=name,
        parents=tuple(parents),
        step=int(step),
        extra=dict(extra or {}),
    )
    arrays = {
        name: tensor.detach().to("cpu", torch.float32).numpy()
        for name, tensor in policy.state_dict().items()
    }
    try:
        refuse_nonsense(header)
        for tensor_name, array in arrays.items():
            if not torch.from_numpy(array).isfinite().all():
                raise PolicyFileError(
                    f"its tensor {tensor_name!r} holds numbers that are not finite"
                )
        return encode(header, arrays)
    except PolicyFileError as error:
        raise PolicyFileError(f"A policy cannot be saved: {error}.") from error


def load_policy(path: str | Path, spec: Spec | None = None) -> LoadedPolicy:
    """Return the policy in a file; with `spec`, one that does not fit this game is refused."""
    content = read(path)
    try:
        if spec is not None:
            content.header.refuse_other(spec)
        return LoadedPolicy(_policy(content), content.header, content.digest)
    except PolicyFileError as error:
        raise refused(path, error) from error


def _policy(content: PolicyContent) -> Policy:
    header = content.header
    # Built without memory and without drawing a random number, then given the file's tensors.
    with torch.device("meta"), _LeftAsTheyAre():
        policy = Policy(spec_of(header), header.network)
    tensors = {name: torch.from_numpy(array) for name, array in content.arrays.items()}
    policy.load_state_dict(tensors, assign=True)
    return policy.requires_grad_(True)


class _LeftAsTheyAre(TorchFunctionMode):
    """Leaves out what would fill new weights with random numbers."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if getattr(function, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return function(*args, **(kwargs or {}))


def spec_of(header: PolicyHeader) -> Spec:
    """Return as much of a game's description as a network is built from."""
    facts = Facts(
        seats=header.seats,
        longest=1,
        rules_version=header.rules_version,
        observation_version=header.observation_version,
    )
    return Spec(
        header.game,
        facts,
        header.observation,
        header.heads,
        settings=header.settings,
        game_file=header.game_file,
        game_path=header.game_path,
    )
