"""A policy: observation and mask in, action probabilities out. The critic is a module of its own.

Knows nothing of how either is trained, of games' rules, or of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from lanista.games.contract import Head, Observation, Spec
from lanista.nets.distribution import Heads
from lanista.nets.settings import Network
from lanista.nets.torsos import Torso, make_torso

CriticOutput = Literal["value", "outcome", "q"]


class Choices(nn.Linear):
    """One linear layer with all heads' choices.

    Where a head's choices are made of parts, a choice's weights are the sum of its own and those
    of its parts: what is learned of a part in one choice holds in all.
    """

    def __init__(self, width: int, heads: Sequence[Head]) -> None:
        super().__init__(width, sum(head.size for head in heads))
        self.sizes = [(head.size, head.parts) for head in heads]
        # Without such heads there is no further tensor, in files either.
        count = sum(sum(head.parts) for head in heads)
        self.parts = nn.Parameter(torch.zeros(count, width)) if count else None

    def forward(self, features: Tensor) -> Tensor:
        return linear(features, self.whole(), self.bias)

    def whole(self) -> Tensor:
        """Return the weights `[choices, width]` of a plain layer that does the same."""
        if self.parts is None:
            return self.weight
        pieces, at = [], 0
        owns = torch.split(self.weight, [size for size, _ in self.sizes])
        for own, (_, part_sizes) in zip(owns, self.sizes, strict=True):
            piece = own.view(*(part_sizes or (len(own),)), -1)
            for axis, size in enumerate(part_sizes):
                shape = [size if axis == other else 1 for other in range(len(part_sizes))]
                piece = piece + self.parts[at : at + size].view(*shape, -1)
                at += size
            pieces.append(piece.flatten(0, -2))
        return torch.cat(pieces)


class Policy(nn.Module):
    """A torso and one linear layer with all heads' choices."""

    def __init__(self, spec: Spec, network: Network) -> None:
        super().__init__()
        self.network = network
        self.heads = Heads(tuple(head.size for head in spec.heads))
        self.torso: Torso = make_torso(spec.observation, network)
        self.head = Choices(self.torso.width, spec.heads)
        _start(self)
        # A policy that starts near uniform explores everything the rules allow.
        nn.init.orthogonal_(self.head.weight, 0.01)

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
    ) -> None:
        super().__init__()
        self.output, self.heads = output, len(spec.heads)
        self.torso = None if features else make_torso(observation or spec.observation, network)
        width = features or (self.torso.width if self.torso else 0)
        self.head = nn.Linear(width, {"value": 1, "outcome": 3, "q": spec.choices}[output])
        _start(self)
        nn.init.zeros_(self.head.weight)

    def forward(self, view: Tensor) -> Tensor:
        """Return `[N]` for V, `[N, 3]` for win/draw/loss logits, `[N, choices]` for Q."""
        out: Tensor = self.head(view if self.torso is None else self.torso(view))
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
        return out


def _start(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, 2**0.5)
            nn.init.zeros_(layer.bias)


def parameter_count(module: nn.Module) -> int:
    """Return how many numbers a module learns."""
    return sum(parameter.numel() for parameter in module.parameters())


@torch.no_grad()
def ema_update(average: nn.Module, current: nn.Module, decay: float) -> None:
    """Move `average` towards `current`: average ← decay·average + (1 − decay)·current."""
    for a, b in zip(average.parameters(), current.parameters(), strict=True):
        a.lerp_(b.detach().to(a.dtype), 1.0 - decay)
