"""A policy: observation and mask in, action probabilities out. The critic is a module of its own.

Knows nothing of how either is trained, of games' rules, or of files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from lanista.errors import LanistaError
from lanista.games.contract import Observation, Spec, Symmetry
from lanista.nets.distribution import Heads
from lanista.nets.heads.cell_head import CellChoices
from lanista.nets.heads.choices import Choices
from lanista.nets.heads.pointer_head import PointerChoices
from lanista.nets.normalise import make_torso
from lanista.nets.settings import Network
from lanista.nets.symmetry import TurnedChoices, TurnedTorso
from lanista.nets.torsos import Torso

CriticOutput = Literal["value", "outcome", "q"]


class Policy(nn.Module):
    """A torso and a head with all choices: one linear layer, or one that reads tokens or cells."""

    def __init__(self, spec: Spec, network: Network) -> None:
        super().__init__()
        self.network = network
        self.heads = Heads(tuple(head.size for head in spec.heads), network.finish)
        self.torso: Torso = make_torso(spec.observation, network)
        self.head: Choices | PointerChoices | CellChoices = _head(spec, network, self.torso)
        if network.symmetry:
            symmetry = _symmetry(spec, network)
            self.torso = TurnedTorso(self.torso, symmetry, spec.observation.length)
            self.head = TurnedChoices(self.torso.width, spec.heads, symmetry)
        _start(self)
        # A policy that starts near uniform explores everything the rules allow.
        self.head.start()

    @property
    def state_size(self) -> int:
        return self.torso.state_size

    def forward(self, observation: Tensor) -> Tensor:
        """Return logits `[N, choices]`, from a fresh state if the policy is recurrent."""
        logits: Tensor = self.head(self.torso(observation))
        return logits

    def step(self, observation: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, features and the new state of one decision a row."""
        features, state = self.torso.step(observation, state)
        return self.head(features), features, state


class Critic(nn.Module):
    """Judges a position: V, win/draw/loss, or Q of every choice.

    `view` is what it sees: the seat's own view, the privileged one, or the policy's features
    (a head on the policy's torso, the cheapest).
    """

    def __init__(
        self,
        spec: Spec,
        network: Network,
        output: CriticOutput = "value",
        observation: Observation | None = None,
        features: int = 0,
        scaled: bool = False,
    ) -> None:
        """`scaled`: the output is a value divided by a scale that is moved from time to time."""
        super().__init__()
        self.output, self.heads = output, len(spec.heads)
        self.scale: Tensor | None
        self.register_buffer("scale", torch.ones(()) if scaled else None)
        if network.readout == "cells":  # Nothing is read from cells here.
            network = replace(network, readout=None)
        self.torso = None if features else make_torso(observation or spec.observation, network)
        width = features or (self.torso.width if self.torso else 0)
        self.head = nn.Linear(width, {"value": 1, "outcome": 3, "q": spec.choices}[output])
        _start(self)
        nn.init.zeros_(self.head.weight)

    def forward(self, view: Tensor) -> Tensor:
        """Return `[N]` for V, `[N, 3]` for win/draw/loss logits, `[N, choices]` for Q."""
        features = view if self.torso is None else self.torso(view)
        # A torso that shows its tokens has them after its features.
        out: Tensor = self.head(features[..., : self.head.in_features])
        return out.squeeze(-1) if self.output == "value" else out

    def value_of(self, out: Tensor, probabilities: Tensor | None = None) -> Tensor:
        """Turn the output into values `[N]`; Q needs the policy's `probabilities`."""
        if self.output == "outcome":
            win, _, loss = out.softmax(-1).unbind(-1)
            return win - loss
        if self.output == "q":
            if probabilities is None:
                raise ValueError("A Q critic's value needs the policy's probabilities.")
            # Every head's choices are judged by the whole return, so the heads are averaged.
            return (out * probabilities).sum(-1) / self.heads
        return out if self.scale is None else out * self.scale

    @torch.no_grad()
    def rescale(self, scale: float) -> None:
        """Divide by another scale from now on; the values stay what they are (PopArt, 2016)."""
        assert self.scale is not None
        for parameter in (self.head.weight, self.head.bias):
            parameter.mul_(self.scale / scale)
        self.scale.fill_(scale)


def _head(spec: Spec, network: Network, torso: Torso) -> Choices | PointerChoices | CellChoices:
    if network.readout is None:
        return Choices(torso.width, spec.heads)
    if network.readout == "cells":
        return CellChoices(torso.width, torso.token_width, spec.observation, spec.heads)
    return PointerChoices(torso.width, spec.observation, spec.heads)


def _symmetry(spec: Spec, network: Network) -> Symmetry | int:
    """Return the turns of a game; of a policy file's, which brings them along, how many."""
    assert network.symmetry is not None
    turns = spec.symmetry
    if turns is not None and len(turns) != network.symmetry:
        raise LanistaError(
            f"network.symmetry is {network.symmetry}, and {spec.name} has {len(turns)} turns; "
            f"give {len(turns)}, or leave it out."
        )
    return turns or network.symmetry


def _start(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(layer.weight, 2**0.5)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
    for layer in module.modules():
        if isinstance(layer, Torso):
            layer.start()


def parameter_count(module: nn.Module) -> int:
    """Return how many numbers a module learns."""
    return sum(parameter.numel() for parameter in module.parameters())


@torch.no_grad()
def ema_update(average: nn.Module, current: nn.Module, decay: float) -> None:
    """Move `average` towards `current`: average ← decay·average + (1 − decay)·current."""
    for a, b in zip(average.parameters(), current.parameters(), strict=True):
        a.lerp_(b.detach().to(a.dtype), 1.0 - decay)
