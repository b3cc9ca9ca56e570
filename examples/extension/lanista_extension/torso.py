"""A torso: a seat's view in, features out."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from lanista.games.contract import Observation
from lanista.nets.encoders import FlatEncoder
from lanista.nets.settings import Network
from lanista.nets.torsos import Torso


class Gated(Torso):
    """Layers of two halves, one of which gates the other."""

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.encoder = FlatEncoder(observation)
        self.width = network.resolved_width
        sizes = [self.encoder.width, *[self.width] * network.resolved_layers]
        self.layers = nn.ModuleList(nn.Linear(a, 2 * b) for a, b in pairwise(sizes))

    def forward(self, observation: Tensor) -> Tensor:
        x: Tensor = self.encoder(observation)
        for layer in self.layers:
            x = nn.functional.glu(layer(x))
        return x
