"""A policy that is a table: views in, the logits that stand there out. Nothing in it is learned.

`lanista solve` fills it. The head of a policy lies behind it and changes nothing.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.games.contract import Observation, Spec
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.nets.table_rows import DIGITS, TableRows, sorted_table
from lanista.nets.torsos import Torso

NEVER = -200.0
"""The logit of a choice with probability 0: in float32 its softmax is exactly 0."""


class Table(Torso):
    """Gives what the table has for each view, and zeros for a view it does not have."""

    keys: Tensor
    logits: Tensor

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        rows = network.rows or 0
        self.width = network.resolved_width
        self.register_buffer("keys", torch.zeros(rows, DIGITS))
        self.register_buffer("logits", torch.zeros(rows, self.width))
        self._rows: tuple[Tensor, TableRows] | None = None
        # Loading writes into the same tensors.
        self.register_load_state_dict_post_hook(_forget_rows)  # type: ignore[no-untyped-call]

    def forward(self, observation: Tensor) -> Tensor:
        rows = self._table().find(observation.detach().cpu().numpy())
        return torch.from_numpy(rows).to(observation.device)

    def _table(self) -> TableRows:
        # Read off once, and again where there are other tensors.
        if self._rows is None or self._rows[0] is not self.logits:
            rows = TableRows(self.keys.cpu().numpy(), self.logits.cpu().numpy())
            self._rows = (self.logits, rows)
        return self._rows[1]


def _forget_rows(table: torch.nn.Module, keys: object) -> None:
    assert isinstance(table, Table)
    table._rows = None


def table_policy(spec: Spec, rows: NDArray[np.generic], probability: NDArray[np.float64]) -> Policy:
    """Return a policy that plays `probability` `[n, choices]` at the views `rows` `[n, length]`."""
    with np.errstate(divide="ignore"):
        logits = np.maximum(np.log(probability), NEVER)
    digits, logits = sorted_table(rows, logits.astype(np.float32))
    network = Network(kind="table", width=spec.choices, layers=1, rows=len(digits))
    policy = Policy(spec, network)
    with torch.no_grad():
        policy.torso.get_buffer("keys").copy_(torch.from_numpy(digits))
        policy.torso.get_buffer("logits").copy_(torch.from_numpy(logits))
        torch.nn.init.eye_(policy.head.get_parameter("weight"))
    return policy
