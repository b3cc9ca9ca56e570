"""How large a step of both seats may be beside the pull to uniform play, without any noise.

All values are exact, so what is left is the step itself: in a table of logits, and in a network
that takes one gradient step or is fitted to the step's goals. Owns these runs. The exact side is
`histories`; what training does by samples is the learner's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bench.histories import Histories, histories_of
from lanista.evaluation.evaluator import exact_nash_conv
from lanista.learn import losses
from lanista.nets.distribution import Heads

Table = NDArray[np.float64]
LOOKS = 4
TABLES: tuple[dict[str, Any], ...] = (
    {"step": 0.1, "pull": 0.2},
    {"step": 0.03, "pull": 0.2},
    {"step": 0.01, "pull": 0.2},
    {"step": 0.1, "pull": 0.2, "in_turn": True},
    {"step": 0.03, "pull": 0.05, "first_pull": 0.5},
)
NETWORKS: tuple[dict[str, Any], ...] = (
    {"fit_steps": 0, "lr": (1e-3, 5e-5), "iterations": 1200},
    {"fit_steps": 3, "step": 0.1, "iterations": 1200},
    {"fit_steps": 10, "step": 0.03, "iterations": 1000},
    {"fit_steps": 10, "step": 0.03, "iterations": 1000, "weight": "equal"},
)


@dataclass(frozen=True)
class Values:
    """A game's information states with the exact values of a profile."""

    game: str
    histories: Histories

    @property
    def mask(self) -> NDArray[np.bool_]:
        return self.histories.mask

    def probabilities(self, logits: Table) -> Table:
        """Return softmax over legal choices."""
        shifted = np.where(self.mask, logits, -np.inf)
        shares: Table = np.exp(shifted - shifted.max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True)

    def seats(self) -> NDArray[np.int64]:
        """Return whose decision each information state is."""
        out = np.zeros(len(self.mask), np.int64)
        for level in self.histories.levels:
            out[level.state] = level.seat
        return out

    def advantages(self, policy: Table) -> Table:
        """Return A(s, a), each history by how chance and the other seat lead there."""
        values = self.histories.action_values(policy)
        mean = self.histories.by_state(values, self._others_reach(policy))
        out: Table = (mean - (policy * mean).sum(1, keepdims=True)) * self.mask
        return out

    def visits(self, policy: Table) -> Table:
        """Return how often each information state comes, `[states]`."""
        states = np.concatenate([level.state for level in self.histories.levels])
        reach = np.concatenate(self.histories.reach(policy))
        out: Table = np.bincount(states, reach, len(self.mask))
        return out

    def nash_conv(self, policy: Table) -> float:
        """Return the exact NashConv by the instrument that runs are measured with."""
        state = self.histories.state_of_row

        def function(observation: NDArray[Any], mask: NDArray[np.bool_]) -> Table:
            return policy[[state[row.tobytes()] for row in observation]]

        return exact_nash_conv(self.game, function)

    def _others_reach(self, policy: Table) -> list[Table]:
        count = len(self.histories.levels[0].seat)
        reach, out = np.full((count, 2), 1 / count), []
        for level in self.histories.levels:
            out.append(reach[np.arange(len(reach)), level.seat])
            on = level.child >= 0
            after = np.zeros((int(level.child.max()) + 1, 2))
            for seat in (0, 1):
                own = np.where((level.seat == seat)[:, None], 1.0, policy[level.state])
                after[level.child[on], seat] = (reach[:, seat, None] * own)[on]
            reach = after
        return out


def table_run(
    values: Values,
    *,
    step: float,
    pull: float,
    first_pull: float | None = None,
    in_turn: bool = False,
    iterations: int = 1000,
) -> list[float]:
    """Return NashConv on the way of magnetic mirror descent on a table of logits."""
    logits, seats, looks = np.zeros(values.mask.shape), values.seats(), []
    for number in range(iterations):
        alpha = _between(first_pull or pull, pull, number / iterations)
        advantage = values.advantages(values.probabilities(logits))
        moved = (logits + step * advantage) / (1 + step * alpha)
        moves = seats == number % 2 if in_turn else np.ones(len(seats), np.bool_)
        logits = np.where(moves[:, None], moved, logits)
        if (number + 1) % (iterations // LOOKS) == 0:
            looks.append(round(values.nash_conv(values.probabilities(logits)), 3))
    return looks


def network_run(
    values: Values,
    *,
    fit_steps: int,
    iterations: int,
    step: float = 0.0,
    pull: float = 0.2,
    lr: tuple[float, float] = (2e-3, 2e-4),
    weight: str = "root",
) -> list[float]:
    """Return NashConv on the way of a network; with no fit_steps, one step of NeuRD's loss."""
    torch.manual_seed(0)
    rows, mask = torch.from_numpy(values.histories.rows).float(), torch.from_numpy(values.mask)
    heads = Heads((mask.shape[1],))
    network = nn.Sequential(
        nn.Linear(rows.shape[1], 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
        nn.Linear(128, mask.shape[1]),
    )  # fmt: skip
    with torch.no_grad():
        network[4].weight.mul_(0.01)
    optimiser, looks = torch.optim.Adam(network.parameters()), []

    def profile() -> tuple[Tensor, Table]:
        with torch.no_grad():
            logits: Tensor = network(rows)
            return logits, values.probabilities(logits.double().numpy())

    for number in range(iterations):
        optimiser.param_groups[0]["lr"] = _between(*lr, number / iterations)
        logits, policy = profile()
        pulled = heads.log_probs(logits, mask) - heads.uniform_log_probs(mask)
        force = torch.from_numpy(values.advantages(policy)).float() - pull * pulled
        force = losses.advantages(heads, heads.log_probs(logits, mask), force, mask)
        visits = values.visits(policy)
        share = torch.from_numpy(np.ones_like(visits) if weight == "equal" else visits**0.5)
        share = (share / share.sum()).float()
        goal = losses.centred_logits(heads, logits, mask) + step * force
        goal = goal.clamp(-5, 5)
        for _ in range(max(1, fit_steps)):
            optimiser.zero_grad()
            if fit_steps:
                loss = losses.logit_fit(heads, network(rows), goal, mask, share)
            else:
                weighted, everything = force * share[:, None] * len(share), torch.ones(len(share))
                loss = losses.neurd(heads, network(rows), weighted, mask, everything).loss
            loss.backward()
            optimiser.step()
        if (number + 1) % (iterations // LOOKS) == 0:
            looks.append(round(values.nash_conv(profile()[1]), 3))
    return looks


def _between(start: float, end: float, share: float) -> float:
    return start * (end / start) ** share


def mirror_steps() -> Iterator[dict[str, Any]]:
    """Measure both on Leduc."""
    values = Values("leduc", histories_of("leduc"))
    for kind, run, cases in (
        ("table", table_run, TABLES),
        ("network", network_run, NETWORKS),
    ):
        for case in cases:
            before = time.process_time()
            looks = run(values, **case)
            spent = round(time.process_time() - before, 1)
            yield {"game": "leduc", "kind": kind, **case, "nash_conv": looks, "cpu_seconds": spent}
