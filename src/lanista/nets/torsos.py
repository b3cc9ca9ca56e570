"""The body of a network: a seat's view in, features out.

Every torso has one shape of call, recurrent or not, so that whoever plays or learns need not ask.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lanista.games.contract import Observation
from lanista.nets.encoders import FlatEncoder, TokenEncoder
from lanista.nets.settings import Network
from lanista.nets.tokens import refuse_attention
from lanista.nets.torso_table import TORSOS

_FEW_TOKENS = 32
"""Up to so many tokens a GPU attends by plain products: its own kernels are made for long texts."""


class Torso(nn.Module):
    """Base: `forward(observation [N, length])` gives features `[N, width]`."""

    width: int
    state_size: int = 0
    """Numbers of recurrent state a seat carries through its match."""

    def forward(self, observation: Tensor) -> Tensor:
        raise NotImplementedError

    def step(self, observation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Advance one decision: features `[N, width]` and the new state `[N, state_size]`."""
        return self(observation), state

    def unroll(self, observation: Tensor, state: Tensor, fresh: Tensor) -> Tensor:
        """Run `[T, B, length]` from `state [B, state_size]`, reset where `fresh [T, B]`."""
        steps, lanes = observation.shape[:2]
        features: Tensor = self(observation.flatten(0, 1))
        return features.view(steps, lanes, -1)


class MLP(Torso):
    """Plain layers with ReLU."""

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.encoder = FlatEncoder(observation)
        self.width = network.resolved_width
        sizes = [self.encoder.width, *[self.width] * network.resolved_layers]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))

    def forward(self, observation: Tensor) -> Tensor:
        x: Tensor = self.encoder(observation)
        for layer in self.layers:
            x = layer(x).relu_()  # In place: its gradient is read from what it returns.
        return x


class Residual(Torso):
    """Blocks of two layers around a skip, normalised on the way in."""

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.encoder = FlatEncoder(observation)
        self.width = network.resolved_width
        self.into = nn.Linear(self.encoder.width, self.width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(self.width),
                nn.Linear(self.width, self.width),
                nn.ReLU(),
                nn.Linear(self.width, self.width),
            )
            for _ in range(network.resolved_layers)
        )
        self.out = nn.LayerNorm(self.width)

    def forward(self, observation: Tensor) -> Tensor:
        x = self.into(self.encoder(observation))
        for block in self.blocks:
            x = x + block(x)
        return torch.relu(self.out(x))


class Block(nn.Module):
    """One block of a transformer: attention, then two layers, each around a skip."""

    def __init__(self, width: int, attention_heads: int) -> None:
        super().__init__()
        self.attention_heads = attention_heads
        self.before_mixing = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.mixed = nn.Linear(width, width)
        self.before_layers = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return `[N, tokens, width]` for `[N, tokens, width]`."""
        projected = self.queries_keys_values(self.before_mixing(tokens))
        split = projected.unflatten(-1, (3, self.attention_heads, -1)).permute(2, 0, 3, 1, 4)
        attended = _attended(split[0], split[1], split[2])
        tokens = tokens + self.mixed(attended.transpose(1, 2).flatten(-2))
        hidden = torch.relu(self.up(self.before_layers(tokens)))
        tokens = tokens + self.down(hidden)
        return tokens


def _attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return what each token takes from the others, all `[N, heads, tokens, width]`."""
    few = queries.is_cuda and queries.shape[-2] <= _FEW_TOKENS
    attend = plain_attention if few else scaled_dot_product_attention
    return attend(queries, keys, values)


def plain_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the same by plain products."""
    # Scaled before the product: in half precision large scores would overflow.
    scores = (queries * queries.shape[-1] ** -0.5) @ keys.mT
    mixed: Tensor = scores.float().softmax(-1).to(values.dtype) @ values
    return mixed


class Transformer(Torso):
    """Self-attention over the observation's tokens; features are the mean token."""

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.width = network.resolved_width
        self.encoder = TokenEncoder(observation, self.width)
        tokens = sum(len(place) for place in self.encoder.places)
        refuse_attention(tokens, network.resolved_attention_heads)
        self.blocks = nn.ModuleList(
            Block(self.width, network.resolved_attention_heads)
            for _ in range(network.resolved_layers)
        )
        self.out = nn.LayerNorm(self.width)

    def forward(self, observation: Tensor) -> Tensor:
        tokens = self.encoder(observation)
        for block in self.blocks:
            tokens = block(tokens)
        features: Tensor = self.out(tokens.mean(-2))
        return features


class LSTM(Torso):
    """A layer in, then LSTM cells; each seat carries hidden and cell through its match."""

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.encoder = FlatEncoder(observation)
        self.width = network.resolved_width
        self.into = nn.Linear(self.encoder.width, self.width)
        self.cells = nn.ModuleList(
            nn.LSTMCell(self.width, self.width) for _ in range(network.resolved_layers)
        )
        self.state_size = 2 * self.width * len(self.cells)

    def forward(self, observation: Tensor) -> Tensor:
        state = observation.new_zeros((len(observation), self.state_size), dtype=torch.float32)
        return self.step(observation, state)[0]

    def step(self, observation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self._cells(torch.relu(self.into(self.encoder(observation))), state)

    def unroll(self, observation: Tensor, state: Tensor, fresh: Tensor) -> Tensor:
        inputs = torch.relu(self.into(self.encoder(observation)))
        outputs = []
        for t in range(len(inputs)):
            state = torch.where(fresh[t].unsqueeze(-1), torch.zeros_like(state), state)
            features, state = self._cells(inputs[t], state)
            outputs.append(features)
        return torch.stack(outputs)

    def _cells(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        states = torch.split(state.to(x.dtype), self.width, -1)
        new = []
        for number, cell in enumerate(self.cells):
            hidden, memory = cell(x, (states[2 * number], states[2 * number + 1]))
            new += [hidden, memory]
            x = hidden
        return x, torch.cat(new, -1).to(state.dtype)


def make_torso(observation: Observation, network: Network) -> Torso:
    """Return the torso that the settings ask for."""
    torso: Torso = TORSOS.load(network.kind)(observation, network)
    return torso
