"""Kuhn poker as a table: every deal and line of play as one column of a joint trajectory.

Written from the rules, for exact expectations; no game of the package is involved.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import torch
from torch import Tensor

LINES = ("pp", "pbp", "pbb", "bp", "bb")
DEALS = tuple(itertools.permutations(range(3), 2))
PUBLIC = ("", "pb", "p", "b")
"""What the actor has seen: seat 0 acts at the first two, seat 1 at the others."""


def payoff(deal: tuple[int, int], line: str) -> float:
    """Return what seat 0 wins: a pass after a bet loses the ante, otherwise the high card wins."""
    if line in ("bp", "pbp"):
        return 1.0 if line == "bp" else -1.0
    stake = 2.0 if line.endswith("bb") else 1.0
    return stake if deal[0] > deal[1] else -stake


def place(deal: tuple[int, int], seen: str) -> int:
    """Return the index of the actor's information state, 0 to 11."""
    return PUBLIC.index(seen) * 3 + deal[len(seen) % 2]


def _columns() -> dict[str, Tensor]:
    pairs = [(deal, line) for deal in DEALS for line in LINES]
    rows: dict[str, list[list[float]]] = {n: [] for n in ("place", "action", "valid", "reward")}
    for step in range(3):
        real = [step < len(line) for _, line in pairs]
        both = list(zip(pairs, real, strict=True))
        rows["valid"].append([float(ok) for ok in real])
        rows["place"].append([place(d, line[:step]) if ok else 0 for (d, line), ok in both])
        rows["action"].append([float(ok and line[step] == "b") for (_, line), ok in both])
        ends = [step == len(line) - 1 for _, line in pairs]
        rows["reward"].append(
            [payoff(*p) if end else 0.0 for p, end in zip(pairs, ends, strict=True)]
        )
    return {name: torch.tensor(row, dtype=torch.float64) for name, row in rows.items()}


@dataclass(frozen=True)
class Table:
    """All 30 lines as `[3, 30]` columns."""

    place: Tensor
    action: Tensor
    valid: Tensor
    reward: Tensor
    """To seat 0; seat 1 gets the opposite."""
    actor: Tensor = field(default_factory=lambda: (torch.arange(3) % 2)[:, None].expand(3, 30))

    def chances(self, probs: Tensor) -> Tensor:
        """Return the chance of each line under `probs` `[12, 2]`, `[30]`."""
        played = probs[self.place].gather(-1, self.action[..., None]).squeeze(-1)
        return torch.where(self.valid, played, 1.0).prod(0) / len(DEALS)

    def value(self, probs: Tensor) -> float:
        """Return what seat 0 wins on average."""
        return (self.chances(probs) * self.reward.sum(0)).sum().item()

    def nash_conv(self, probs: Tensor) -> float:
        """Return what both seats together gain by best responses, over all pure ones."""
        own = {0: range(6), 1: range(6, 12)}
        gains = 0.0
        for seat, sign in ((0, 1.0), (1, -1.0)):
            best = -float("inf")
            for pure in itertools.product((0.0, 1.0), repeat=6):
                answer = probs.clone()
                bets = torch.tensor(pure, dtype=probs.dtype)
                answer[list(own[seat])] = torch.stack([1 - bets, bets], -1)
                best = max(best, sign * self.value(answer))
            gains += best
        return gains


def kuhn() -> Table:
    parts = _columns()
    return Table(parts["place"].long(), parts["action"].long(), parts["valid"] > 0, parts["reward"])
