"""Fits the weights of Beasty Bar's bot `distilled` to a strong policy's choices.

The bot judges a move by the sum of its features' weights (`lanista.games.beastybar.distilled`).
This file reads positions from replays, asks the policy what it would do in each, and fits the
weights so that a softmax over the legal moves comes as near to it as a linear judge can:

    lanista play beastybar --seats teacher.safetensors,outcome --matches 4000 --record replays
    python examples/distil_beastybar.py teacher.safetensors replays weights.py

docs/results/measurements.md says which policy and which matches the bot of the package
was fitted to.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag

from lanista import games
from lanista.data import expand, read_replays
from lanista.games.beastybar.distilled import GROUPS, features_of
from lanista.nets.files.policy_file import load_policy

DECISIONS = 600_000
"""Positions to fit to at most, drawn from all that the replays have."""
HELD_OUT = 0.05
EPOCHS, BATCH, LR, DECAY = 6, 4096, 0.03, 1e-6
SCALE = 1000
"""Weights are kept as whole numbers, so many to one unit of a logit."""


def positions(folder: Path, seed: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return views and masks of decisions with a choice, in random order."""
    files = sorted(folder.rglob("*.jsonl.gz"))
    columns = [expand(read_replays(file)) for file in files]
    view = np.concatenate([replay.observation for replay in columns])
    mask = np.concatenate([replay.mask for replay in columns])
    free = np.flatnonzero(mask.sum(1) > 1)
    chosen = np.random.default_rng(seed).permutation(free)[:DECISIONS]
    print(f"{len(files)} files, {len(view):,} decisions, {len(free):,} with a choice")
    return view[chosen], mask[chosen]


@torch.no_grad()
def opinions(teacher: Path, view: NDArray[Any], mask: NDArray[np.bool_]) -> Tensor:
    """Return the policy's probability of every legal move, one after another."""
    loaded = load_policy(teacher, games.make("beastybar").spec)
    print(f"policy {loaded.digest}")
    probabilities = []
    for first in range(0, len(view), BATCH):
        rows = slice(first, first + BATCH)
        legal = torch.from_numpy(mask[rows])
        logits = loaded.policy(torch.from_numpy(view[rows]))
        probabilities.append(loaded.policy.heads.log_probs(logits, legal).exp()[legal])
    return torch.cat(probabilities)


class Moves:
    """The legal moves of all positions: their features and the policy's opinion of each."""

    def __init__(self, view: NDArray[Any], mask: NDArray[np.bool_], opinion: Tensor) -> None:
        offsets, features = features_of(games.make("beastybar").spec, view, mask)
        self.offsets, self.features = torch.from_numpy(offsets), torch.from_numpy(features)
        self.count = torch.from_numpy(mask.sum(1))
        self.first = torch.cat([torch.zeros(1, dtype=torch.long), self.count.cumsum(0)])
        self.opinion = opinion

    def judged(self, weights: Tensor, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Return logits and the policy's probabilities, `[positions, most moves]`."""
        moves = slice(int(self.first[start]), int(self.first[stop]))
        begin, end = int(self.offsets[moves.start]), int(self.offsets[moves.stop])
        score = embedding_bag(
            self.features[begin:end], weights, (self.offsets[moves] - begin).int(), mode="sum"
        )[:, 0]
        count = self.count[start:stop]
        row = torch.repeat_interleave(torch.arange(stop - start), count)
        place = row, torch.arange(len(row)) - (self.first[start:stop] - moves.start)[row]
        logits = torch.full((stop - start, int(count.max())), -1e9)
        shares = torch.zeros_like(logits).index_put(place, self.opinion[moves])
        return logits.index_put(place, score), shares


def fit(moves: Moves, seed: int) -> Tensor:
    """Return weights that minimise the cross-entropy to the policy, by Adam."""
    torch.manual_seed(seed)
    size = sum(int(np.prod(shape)) for shape in GROUPS.values())
    weights = torch.zeros(size, 1, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=LR)
    held_out = int(len(moves.count) * HELD_OUT)
    starts = list(range(held_out, len(moves.count) - BATCH + 1, BATCH))
    if not starts:
        raise SystemExit(f"{len(moves.count):,} positions are too few; record more matches.")
    steps = EPOCHS * len(starts)
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    for epoch in range(EPOCHS):
        for i in torch.randperm(len(starts)).tolist():
            logits, shares = moves.judged(weights, starts[i], starts[i] + BATCH)
            loss = -(shares * logits.log_softmax(1)).sum(1).mean()
            optimiser.zero_grad()
            (loss + DECAY * weights.square().sum()).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            falling.step()
        say(epoch, *moves.judged(weights.detach(), 0, held_out))
    return weights.detach()[:, 0]


def say(epoch: int, logits: Tensor, shares: Tensor) -> None:
    """Print how near the weights are to the policy where they were not fitted."""
    loss = -(shares * logits.log_softmax(1)).sum(1).mean()
    same = (logits.argmax(1) == shares.argmax(1)).float().mean()
    print(f"epoch {epoch + 1}: held-out loss {loss:.4f}, same first choice {same:.3f}")


def table(weights: Tensor) -> str:
    """Return the weights as the module that the bot reads."""
    numbers = (weights * SCALE).round().int().tolist()
    tables = []
    for name, shape in GROUPS.items():
        size = int(np.prod(shape))
        mine, numbers = numbers[:size], numbers[size:]
        lines = (" ".join(map(str, mine[i : i + 16])) for i in range(0, size, 16))
        tables.append(f'    "{name}": """\n' + "\n".join(lines) + '\n""",\n')
    head = '"""The weights of the bot `distilled`, in thousandths, by group of features.\n\n'
    head += (
        "Written by examples/distil_beastybar.py; distilled.pyx has the order of the features.\n"
    )
    head += '"""\n\n'
    return head + "TABLE = {\n" + "".join(tables) + "}\n"


def main(teacher: str, folder: str, output: str, seed: str = "0") -> None:
    """Fit, and write the table to `output`."""
    torch.set_num_threads(1)  # One thread adds in one order.
    view, mask = positions(Path(folder), int(seed))
    moves = Moves(view, mask, opinions(Path(teacher), view, mask))
    Path(output).write_text(table(fit(moves, int(seed))))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        raise SystemExit("usage: distil_beastybar.py POLICY REPLAYS OUTPUT [SEED]")
    main(*sys.argv[1:])
