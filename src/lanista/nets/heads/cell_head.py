"""A head that reads each choice from the cell of a grid that it is about.

With y_c the cell c of the grid and p the features, the logit of a choice of kind k at cell c is
w_k · y_c + b_k: a 1×1 convolution, whose weights all cells share. A choice of such a head without a
cell (to pass, say) is read from p, and so are the heads that the game does not describe.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lanista.games.contract import Head, Observation
from lanista.nets.heads.cells import by_number, cell_sizes, logits_at
from lanista.nets.heads.choices import Choices


class CellChoices(nn.Module):
    """Features and cells `[N, width + cells · channels]` to a logit for every choice."""

    index: Tensor | None

    def __init__(
        self, width: int, channels: int, observation: Observation, heads: Sequence[Head]
    ) -> None:
        super().__init__()
        sizes, numbered = cell_sizes(observation, heads), by_number(observation, heads)
        self.width, self.channels = width, channels
        self.at_cells = nn.Linear(channels, sizes.kinds)
        self.apart = nn.Linear(width, sizes.apart) if sizes.apart else None
        self.by_number = Choices(width, numbered) if numbered else None
        index = logits_at(observation, heads)
        self.register_buffer(
            "index", None if index is None else torch.from_numpy(index).to("cpu"), False
        )

    def start(self) -> None:
        """Draw first weights with which every choice has about the same probability."""
        nn.init.orthogonal_(self.at_cells.weight, 0.01)
        if self.apart is not None:
            nn.init.orthogonal_(self.apart.weight, 0.01)
        if self.by_number is not None:
            self.by_number.start()

    def forward(self, features: Tensor) -> Tensor:
        # Split once and whole: a slice's gradient is filled up with zeros.
        whole, cells = torch.split(features, [self.width, features.shape[1] - self.width], 1)
        outputs = [self.at_cells(cells.reshape(cells.shape[0], -1, self.channels)).flatten(1)]
        outputs += [self.apart(whole)] if self.apart is not None else []
        outputs += [self.by_number(whole)] if self.by_number is not None else []
        logits = outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)
        return logits if self.index is None else logits.index_select(-1, self.index)
