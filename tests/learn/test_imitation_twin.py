"""An epoch of imitation against a slow twin: loss, clipping, decay and learning rate by hand."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from demonstrated import SPEC, demonstrate

from lanista.data.demonstrations import UNKNOWN
from lanista.learn.imitation.cloner import Cloner
from lanista.learn.imitation.settings import Imitation
from lanista.nets.settings import Network

SMALL = Network(width=12, layers=1)


def slow_losses(policy: Any, critic: Any, data: Any, rows: Any) -> tuple[Any, Any]:
    """Return the mean negative log-likelihood, and the critic's loss where outcomes are known."""
    seen = torch.from_numpy(data.observation[rows].copy())
    features = policy.torso(seen)
    logits = policy.head(features).double().log_softmax(-1)
    nll = torch.stack([-logits[n, int(data.action[row, 0])] for n, row in enumerate(rows)]).mean()
    out = critic(features).double()
    losses = []
    for n, row in enumerate(rows):
        owner = max(t for t in range(len(data.outcome)) if data.first[t] <= row)
        if data.outcome[owner] == UNKNOWN:
            continue
        if critic.output == "outcome":
            losses.append(-out[n].log_softmax(-1)[int(data.outcome[owner])])
        else:
            rewards = data.reward[row : data.first[owner + 1]]
            came = sum(0.9**k * float(reward) for k, reward in enumerate(rewards))
            losses.append((out[n] - came) ** 2 / 2)
    return nll, torch.stack(losses).mean()


@pytest.mark.parametrize(("limit", "kind"), [(0.0, "value"), (0.05, "value"), (0.05, "outcome")])
def test_an_epoch_is_what_the_equations_say(limit: float, kind: Any) -> None:
    data = demonstrate(40, seed=2)
    data.outcome[::5] = UNKNOWN
    settings = Imitation(
        epochs=3, batch_size=16, lr=0.02, lr_end=0.3, weight_decay=0.1, max_grad_norm=limit,
        value_weight=0.4, patience=0, critic=kind, gamma=0.9,
    )  # fmt: skip
    cloner = Cloner(SPEC, SMALL, settings)
    with torch.no_grad():
        for parameter in cloner.parameters:
            parameter.add_(
                0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
            )
    twin, critic = copy.deepcopy(cloner.policy), copy.deepcopy(cloner.critic)
    assert critic is not None
    parameters = [*twin.parameters(), *critic.parameters()]
    first, second = ([torch.zeros_like(p).double() for p in parameters] for _ in range(2))
    everything, held = np.arange(36), np.arange(36, 40)
    total, number = len(data.rows(everything)), 0
    for epoch in range(2):
        done, sums = 0, [0.0, 0.0]
        batches = [rows for _, rows in cloner._shuffled(data, everything)]
        assert sorted(row for rows in batches for row in rows) == sorted(data.rows(everything))
        assert len(batches) > 3
        for rows in batches:
            number += 1
            along = (epoch + done / total) / 3
            rate = 0.02 * (0.3 + 0.7 * (1 + math.cos(math.pi * along)) / 2)
            nll, value = slow_losses(twin, critic, data, rows)
            gradients = torch.autograd.grad(nll + 0.4 * value, parameters)
            norm = float(torch.stack([g.square().sum() for g in gradients]).sum().sqrt())
            scale = min(1.0, limit / norm) if limit else 1.0
            with torch.no_grad():
                for n, (parameter, slope) in enumerate(zip(parameters, gradients, strict=True)):
                    slope = slope.double() * scale
                    first[n] = 0.9 * first[n] + 0.1 * slope
                    second[n] = 0.999 * second[n] + 0.001 * slope**2
                    mean = first[n] / (1 - 0.9**number)
                    spread = (second[n] / (1 - 0.999**number)).sqrt()
                    kept = parameter.double() * (1 - rate * 0.1)
                    parameter.copy_(kept - rate * mean / (spread + 1e-8))
            done += len(rows)
            sums = [
                s + float(t.detach()) * len(rows) for s, t in zip(sums, (nll, value), strict=True)
            ]
        entry = cloner.train_epoch(data, everything, held)
        assert entry["learned_nll"] == pytest.approx(sums[0] / total, rel=1e-3)
        assert entry["learned_value"] == pytest.approx(sums[1] / total, rel=1e-3)
        for mine, slow in zip(cloner.parameters, parameters, strict=True):
            torch.testing.assert_close(mine.detach(), slow.detach(), rtol=2e-3, atol=2e-4)
        with torch.no_grad():
            nll, _ = slow_losses(twin, critic, data, data.rows(held))
        assert entry["held_out_nll"] == pytest.approx(float(nll), rel=1e-3)
