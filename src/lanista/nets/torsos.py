"""The body of a network: a seat's view in, features out.

Every torso has one shape of call, recurrent or not, so that whoever plays or learns need not ask.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lanista.games.contract import Observation
from lanista.nets.boards import KERNEL, channels_of
from lanista.nets.dropout import Dropout
from lanista.nets.encoders import BoardEncoder, FlatEncoder, TokenEncoder
from lanista.nets.settings import Network
from lanista.nets.tokens import refuse_attention, token_count, token_counts_of
from lanista.nets.torso_table import TORSOS

_FEW_TOKENS = 32
"""Up to so many tokens a GPU attends by plain products: its own kernels are made for long texts."""


class Torso(nn.Module):
    """Base: `forward(observation [N, length])` gives features `[N, width]`."""

    width: int
    """Of the features; those of a torso that shows its tokens begin with so many."""
    state_size: int = 0
    """Numbers of recurrent state a seat carries through its match."""
    token_width: int = 0
    """Of each token or cell that follows the features; 0: none do."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, int] = {}
        """The first token of each group whose tokens or cells follow the features."""

    def start(self) -> None:
        """Draw those first weights that are to be others than every layer's."""

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
        self.dropout = Dropout(network.dropout)

    def forward(self, observation: Tensor) -> Tensor:
        x: Tensor = self.encoder(observation)
        for layer in self.layers:
            # In place: its gradient is read from what it returns.
            x = self.dropout(layer(x).relu_())
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
        self.dropout = Dropout(network.dropout)

    def forward(self, observation: Tensor) -> Tensor:
        x = self.into(self.encoder(observation))
        for block in self.blocks:
            x = x + self.dropout(block(x))
        return torch.relu(self.out(x))


class Convolution(Torso):
    """Residual blocks of convolutions over the observation's planes, then a layer over all."""

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.encoder = BoardEncoder(observation)
        self.width = network.resolved_width
        planes, rows, columns = self.encoder.planes
        channels = channels_of(self.width)
        self.into = nn.Conv2d(planes, channels, KERNEL, padding=KERNEL // 2)
        self.beside = nn.Linear(self.encoder.beside, channels) if self.encoder.beside else None
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(channels, channels, KERNEL, padding=KERNEL // 2),
                nn.ReLU(),
                nn.Conv2d(channels, channels, KERNEL, padding=KERNEL // 2),
            )
            for _ in range(network.resolved_layers)
        )
        self.out = nn.Linear(channels * rows * columns, self.width)
        self.dropout = Dropout(network.dropout)

    def forward(self, observation: Tensor) -> Tensor:
        board, rest = self.encoder(observation)
        x = self.into(board)
        if self.beside is not None:
            x = x + self.beside(rest)[..., None, None]
        x = torch.relu(x)
        for block in self.blocks:
            x = torch.relu(x + block(x))
        features: Tensor = self.dropout(torch.relu(self.out(x.flatten(1))))
        return features


class Block(nn.Module):
    """One block of a transformer: attention, then two layers, each around a skip."""

    def __init__(self, width: int, attention_heads: int, dropout: float | None = None) -> None:
        super().__init__()
        self.attention_heads = attention_heads
        self.before_mixing = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.mixed = nn.Linear(width, width)
        self.before_layers = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return `[N, tokens, width]` for `[N, tokens, width]`."""
        projected = self.queries_keys_values(self.before_mixing(tokens))
        split = projected.unflatten(-1, (3, self.attention_heads, -1)).permute(2, 0, 3, 1, 4)
        attended = self._attended(split[0], split[1], split[2])
        tokens = tokens + self.dropout(self.mixed(attended.transpose(1, 2).flatten(-2)))
        hidden = self.dropout(torch.relu(self.up(self.before_layers(tokens))))
        tokens = tokens + self.dropout(self.down(hidden))
        return tokens

    def _attended(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Return what each token takes from the others, all `[N, heads, tokens, width]`."""
        few = queries.is_cuda and queries.shape[-2] <= _FEW_TOKENS
        if few or self.dropout.drops:
            return plain_attention(queries, keys, values, self.dropout)
        return scaled_dot_product_attention(queries, keys, values)


def plain_attention(
    queries: Tensor, keys: Tensor, values: Tensor, dropout: Dropout | None = None
) -> Tensor:
    """Return the same by plain products."""
    # Scaled before the product: in half precision large scores would overflow.
    scores = (queries * queries.shape[-1] ** -0.5) @ keys.mT
    shares = scores.float().softmax(-1).to(values.dtype)
    mixed: Tensor = (shares if dropout is None else dropout(shares)) @ values
    return mixed


class Transformer(Torso):
    """Self-attention over the observation's tokens; features are the mean token.

    With a readout that points at tokens, all tokens follow it: `[N, width + tokens · width]`.
    """

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.width = network.resolved_width
        refuse_attention(token_count(observation), network.resolved_attention_heads)
        self.encoder = TokenEncoder(
            observation, self.width, network.embedding, network.readout, network.id_dropout
        )
        self.shows_tokens = network.readout is not None
        self.blocks = nn.ModuleList(
            Block(self.width, network.resolved_attention_heads, network.dropout)
            for _ in range(network.resolved_layers)
        )
        self.out = nn.LayerNorm(self.width)

    def forward(self, observation: Tensor) -> Tensor:
        tokens = self.encoder(observation)
        for block in self.blocks:
            tokens = block(tokens)
        features: Tensor = self.out(tokens.mean(-2))
        return torch.cat([features, tokens.flatten(-2)], -1) if self.shows_tokens else features


class LSTM(Torso):
    """A layer in, then LSTM cells; each seat carries hidden and cell through its match.

    With an embedding the layer reads the observation's tokens, otherwise one-hot categories.
    """

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.width = network.resolved_width
        self.encoder: FlatEncoder | TokenEncoder = FlatEncoder(observation)
        inputs = self.encoder.width
        if network.embedding is not None:
            self.encoder = TokenEncoder(
                observation, self.width, network.embedding, id_dropout=network.id_dropout
            )
            inputs = token_count(observation) * self.width
        self.embeds = network.embedding is not None
        self.into = nn.Linear(inputs, self.width)
        self.cells = _lstm_cells(self.width, network.resolved_layers)
        self.state_size = 2 * self.width * len(self.cells)
        self.dropout = Dropout(network.dropout)

    def forward(self, observation: Tensor) -> Tensor:
        return self.step(observation, _zeros(observation, self.state_size))[0]

    def step(self, observation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return _through(self.cells, self._inputs(observation), state, self.dropout)

    def unroll(self, observation: Tensor, state: Tensor, fresh: Tensor) -> Tensor:
        steps, lanes = observation.shape[:2]
        inputs = self._inputs(observation.flatten(0, 1)).view(steps, lanes, -1)
        return _unrolled(self.cells, inputs, state, fresh, self.dropout)

    def _inputs(self, observation: Tensor) -> Tensor:
        """Return what the first cell reads, `[N, width]`."""
        x: Tensor = self.encoder(observation)
        if self.embeds:
            x = torch.relu(x).flatten(-2)
        return torch.relu(self.into(x))


class TransformerLSTM(Transformer):
    """A transformer whose features pass through LSTM cells, around a skip: memory over tokens.

    As many cells as blocks. Tokens are those of the view alone, so choices that point at them are
    scored by what is seen now and by features that remember.
    """

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__(observation, network)
        self.cells = _lstm_cells(self.width, network.resolved_layers)
        self.state_size = 2 * self.width * len(self.cells)
        self.dropout = Dropout(network.dropout)

    def forward(self, observation: Tensor) -> Tensor:
        return self.step(observation, _zeros(observation, self.state_size))[0]

    def step(self, observation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        features, tokens = self._split(super().forward(observation))
        remembered, state = _through(self.cells, features, state, self.dropout)
        return torch.cat([features + remembered, tokens], -1), state

    def unroll(self, observation: Tensor, state: Tensor, fresh: Tensor) -> Tensor:
        steps, lanes = observation.shape[:2]
        whole = super().forward(observation.flatten(0, 1)).view(steps, lanes, -1)
        features, tokens = self._split(whole)
        remembered = _unrolled(self.cells, features, state, fresh, self.dropout)
        return torch.cat([features + remembered, tokens], -1)

    def _split(self, whole: Tensor) -> list[Tensor]:
        """Return the features, and the tokens that follow them; none without a readout."""
        return list(torch.split(whole, [self.width, whole.shape[-1] - self.width], -1))


def _lstm_cells(width: int, layers: int) -> nn.ModuleList:
    return nn.ModuleList(nn.LSTMCell(width, width) for _ in range(layers))


def _zeros(observation: Tensor, state_size: int) -> Tensor:
    return observation.new_zeros((len(observation), state_size), dtype=torch.float32)


def _through(
    cells: nn.ModuleList, x: Tensor, state: Tensor, dropout: Dropout
) -> tuple[Tensor, Tensor]:
    """Run cells one after the other on `x [N, width]`; the state has hidden and cell of each."""
    states = torch.split(state.to(x.dtype), x.shape[-1], -1)
    new = []
    for number, cell in enumerate(cells):
        remembered = (states[2 * number], states[2 * number + 1])
        hidden, memory = cell(dropout(x), remembered)
        new += [hidden, memory]
        x = hidden
    return x, torch.cat(new, -1).to(state.dtype)


def _unrolled(
    cells: nn.ModuleList, inputs: Tensor, state: Tensor, fresh: Tensor, dropout: Dropout
) -> Tensor:
    """Run cells along `[T, B, width]`, the state reset where `fresh [T, B]`."""
    outputs = []
    for t in range(len(inputs)):
        state = torch.where(fresh[t].unsqueeze(-1), torch.zeros_like(state), state)
        features, state = _through(cells, inputs[t], state, dropout)
        outputs.append(features)
    return torch.stack(outputs)


def make_torso(observation: Observation, network: Network) -> Torso:
    """Return the torso that the settings ask for."""
    torso: Torso = TORSOS.load(network.kind)(observation, network)
    if network.readout == "pointer":
        # Whoever shows tokens shows those of nets/tokens, in their order.
        counts = token_counts_of(observation)
        starts = accumulate(counts.values(), initial=0)
        torso.shown, torso.token_width = dict(zip(counts, starts, strict=False)), torso.width
    return torso
