"""Numbers of a view less their running mean, over their running deviation, before a torso.

The running numbers are tensors of the policy, so a policy file says the same wherever it is run.
Only learning moves them. Categories stay as they are. Knows nothing of how a torso goes on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lanista.games.contract import Observation
from lanista.nets import torsos
from lanista.nets.normal_columns import LEAST, REMEMBERED, number_scales
from lanista.nets.settings import Network
from lanista.nets.torsos import Torso


class NormalisedTorso(Torso):
    """A torso that sees numbers brought to mean 0 and deviation 1, and cut off beyond a bound."""

    mean: Tensor
    deviation: Tensor
    seen: Tensor
    scale: Tensor
    number: Tensor

    def __init__(self, inner: Torso, observation: Observation, bound: float) -> None:
        super().__init__()
        self.inner, self.bound = inner, bound
        self.width, self.state_size = inner.width, inner.state_size
        self.shown, self.token_width = inner.shown, inner.token_width
        scale = number_scales(observation)
        number = torch.from_numpy(scale > 0).to("cpu")
        scales = torch.from_numpy(np.where(scale > 0, scale, 1.0).astype(np.float32)).to("cpu")
        # Until something was seen, a number is divided by its scale, as without this.
        self.register_buffer("mean", torch.zeros(len(scales)))
        self.register_buffer("deviation", scales.clone())
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("scale", scales, False)
        self.register_buffer("number", number, False)

    def normal(self, observation: Tensor) -> Tensor:
        """Return views whose numbers, once divided by their scales, are normalised."""
        view = observation.float()
        numbers = ((view - self.mean) / self.deviation).clamp(-self.bound, self.bound)
        return torch.where(self.number, numbers * self.scale, view)

    def forward(self, observation: Tensor) -> Tensor:
        features: Tensor = self.inner(self.normal(observation))
        return features

    def step(self, observation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.inner.step(self.normal(observation), state)

    def unroll(self, observation: Tensor, state: Tensor, fresh: Tensor) -> Tensor:
        return self.inner.unroll(self.normal(observation), state, fresh)

    @torch.no_grad()
    def observe(self, observation: Tensor) -> None:
        """Take further views `[N, length]` into the running mean and deviation.

        Sums are joined as by Welford and Chan et al. (1979). Beyond `REMEMBERED` decisions older
        ones count less and less.
        """
        before, count = float(self.seen), len(observation)
        share = count / (before + count)
        variance, mean = torch.var_mean(observation.float(), 0, correction=0)
        apart = mean.double() - self.mean.double()
        # While nothing was seen yet the share is 1, and what stood there counts for nothing.
        variance = (
            (1 - share) * self.deviation.double().square()
            + share * variance.double()
            + share * (1 - share) * apart.square()
        )
        deviation = torch.maximum(variance.sqrt().float(), LEAST * self.scale)
        moved = (self.mean.double() + share * apart).float()
        self.mean.copy_(torch.where(self.number, moved, 0.0))
        self.deviation.copy_(torch.where(self.number, deviation, 1.0))
        self.seen.fill_(min(before + count, REMEMBERED))


def make_torso(observation: Observation, network: Network) -> Torso:
    """Return the torso that the settings ask for, normalised where they do."""
    torso, bound = torsos.make_torso(observation, network), network.normalise_observations
    return torso if bound is None else NormalisedTorso(torso, observation, bound)


def observe(network: nn.Module, observation: Tensor) -> None:
    """Let the normalised torso of a policy or critic take in views, turned as it sees them."""
    torso: Any = network.torso
    if hasattr(torso, "turned"):
        observation, torso = torso.turned(observation), torso.inner
    if isinstance(torso, NormalisedTorso):
        torso.observe(observation)


def copy_running(target: nn.Module, source: nn.Module) -> None:
    """Give a network the running numbers of another one of its shape."""
    with torch.no_grad():
        for to, of in zip(target.modules(), source.modules(), strict=True):
            if isinstance(to, NormalisedTorso) and isinstance(of, NormalisedTorso):
                for name in ("mean", "deviation", "seen"):
                    to.get_buffer(name).copy_(of.get_buffer(name))
