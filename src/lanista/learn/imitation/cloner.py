"""Teaches a policy to choose as the demonstrations did, and its critic how matches end.

Whole deals are held out; the epoch with the best held-out loss is what is kept. Demonstrations may
grow in rounds: losses are compared within a round only. One object holds all that an epoch depends
on: `state` and `load_state` give and take the whole. Never imports a game's rules.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lanista.data.demonstrations import UNKNOWN, Demonstrations, Indices
from lanista.data.trajectory import to_tensor
from lanista.games.contract import Spec
from lanista.games.streams import uniforms
from lanista.learn.forecast import LAST, Forecast, next_rows
from lanista.learn.imitation.settings import Imitation
from lanista.learn.learner import BrokenLossError
from lanista.learn.losses import imitation, outcome_loss, value_loss
from lanista.nets.dropout import dropping
from lanista.nets.normalise import observe
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network

JUDGED_AT_ONCE = 8192
"""Decisions shown to the networks at once where nothing is learned."""


@dataclass(frozen=True)
class Shown:
    """Some demonstrated decisions, and what the networks say about them."""

    log_probs: Tensor
    """`[N, choices]`."""
    critic_output: Tensor | None
    """`[N]` values, or `[N, 3]` logits of win, draw, loss; None: there is no critic."""
    action: Tensor
    """`[N, heads]`: what was done."""
    mask: Tensor
    outcome: Tensor
    """`[N]`: 0 win, 1 draw, 2 loss; -1 where it is not known."""
    returns: Tensor
    """`[N]`: what a value critic should say; NaN where the outcome is not known."""
    match: NDArray[np.int64]
    """`[N]`."""
    forecast: Tensor | None = None
    """`[N]`: how wrong the next view was predicted; NaN where there is none. None: it was not."""


class Cloner:
    """A policy that imitates, its critic, and everything that lies between two epochs."""

    def __init__(
        self, spec: Spec, network: Network, settings: Imitation, *, device: str = "cpu"
    ) -> None:
        self.settings = settings
        self.device = torch.device(device)
        network.refuse_training()
        torch.manual_seed(settings.seed)
        self.policy = Policy(spec, network).to(self.device)
        self.critic: Critic | None = None
        if settings.value_weight:
            width = self.policy.torso.width
            self.critic = Critic(spec, network, settings.critic, features=width).to(self.device)
        self.forecast: Forecast | None = None
        """Predicts fields of the next view; it shapes the torso and is not kept."""
        if settings.forecast and settings.forecast_weight:
            forecast = Forecast(spec.observation, settings.forecast, self.policy.torso)
            self.forecast = forecast.to(self.device)
        self.parameters = [
            parameter for module in self._modules().values() for parameter in module.parameters()
        ]
        # The rate is set before every step.
        self.optimiser = torch.optim.AdamW(
            self.parameters, weight_decay=settings.weight_decay, fused=True
        )
        self.epoch = 0
        self.best_epoch = 0
        self.round = 0
        """The round of demonstrations that is learned from; 0: those there were at first."""
        self.round_began = 0
        """The epoch after which the round began."""
        self.history: list[dict[str, float]] = []
        """One entry an epoch, of what was learned from and what was held out."""
        self._best = self._weights()

    @property
    def round_finished(self) -> bool:
        """Whether all epochs of the round are over, or none has been better for too long."""
        settings = self.settings
        planned = settings.epochs_before(self.round + 1) - settings.epochs_before(self.round)
        waited = self.epoch - max(self.best_epoch, self.round_began)
        done = self.epoch - self.round_began
        return done >= planned or 0 < settings.patience <= waited

    @property
    def finished(self) -> bool:
        """Whether all rounds are over."""
        return self.round_finished and self.round >= self.settings.dagger.rounds

    def begin_round(self) -> None:
        """Go on with more demonstrations."""
        self.round, self.round_began = self.round + 1, self.epoch

    def train_epoch(
        self,
        data: Demonstrations,
        learned: Indices,
        held_out: Indices,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, float]:
        """Go once over the trajectories `learned`, judge on `held_out`, and return both losses."""
        self.policy.train()
        total, done = len(data.rows(learned)), 0
        sums: dict[str, float] = {}
        for trajectories, rows in self._shuffled(data, learned):
            self._set_lr(done / total)
            with dropping(self.device, self.settings.seed, self.epoch, done):
                losses = self._step(data, trajectories, rows)
            for name, value in losses.items():
                sums[name] = sums.get(name, 0.0) + value * len(rows)
            done += len(rows)
            if progress:
                progress(len(rows))
        entry = {f"learned_{name}": value / total for name, value in sums.items()}
        entry |= {f"held_out_{name}": value for name, value in self.losses(data, held_out).items()}
        self.epoch += 1
        entry["epoch"] = self.epoch
        first_of_round = self.best_epoch <= self.round_began
        if first_of_round or entry["held_out_nll"] < self._best_loss:
            self.best_epoch, self._best = self.epoch, self._weights()
        self.history.append(entry)
        return entry

    @property
    def _best_loss(self) -> float:
        return self.history[self.best_epoch - 1]["held_out_nll"]

    def best(self) -> tuple[Policy, Critic | None]:
        """Return copies of policy and critic as they were after the best epoch."""
        policy, critic = copy.deepcopy(self.policy), copy.deepcopy(self.critic)
        policy.load_state_dict(self._best["policy"])
        if critic is not None:
            critic.load_state_dict(self._best["critic"])
        return policy.eval(), critic

    def losses(self, data: Demonstrations, trajectories: Indices) -> dict[str, float]:
        """Return the mean losses over the decisions of `trajectories`; nothing is learned."""
        sums, total = {"nll": 0.0, "value": 0.0, "forecast": 0.0}, 0
        forecast = self.forecast
        for shown in judged(
            self.policy, self.critic, data, trajectories, self.settings.gamma, forecast
        ):
            for name, value in self._terms(shown).items():
                sums[name] += float(value) * len(shown.match)
            total += len(shown.match)
        return {name: sums[name] / total for name in self._named_losses}

    @property
    def _named_losses(self) -> list[str]:
        present = {"nll": True, "value": self.critic is not None, "forecast": self.forecast}
        return [name for name, there in present.items() if there]

    def state(self) -> dict[str, Any]:
        """Return all that the coming epochs depend on."""
        return {
            "weights": self._weights(),
            "optimiser": self.optimiser.state_dict()["state"],
            "best": self._best,
            "epoch": self.epoch,
            "best_epoch": self.best_epoch,
            "round": self.round,
            "round_began": self.round_began,
            "history": self.history,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        for name, module in self._modules().items():
            module.load_state_dict(state["weights"][name])
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state["optimiser"], "param_groups": groups})
        self._best = state["best"]
        self.epoch, self.best_epoch = state["epoch"], state["best_epoch"]
        # Absent in runs of an older version, which had no rounds.
        self.round, self.round_began = state.get("round", 0), state.get("round_began", 0)
        self.history = list(state["history"])

    def _modules(self) -> dict[str, nn.Module]:
        modules = {"policy": self.policy, "critic": self.critic, "forecast": self.forecast}
        return {name: module for name, module in modules.items() if module is not None}

    def _weights(self) -> dict[str, dict[str, Tensor]]:
        return {
            name: {key: tensor.detach().clone() for key, tensor in module.state_dict().items()}
            for name, module in self._modules().items()
        }

    def _shuffled(
        self, data: Demonstrations, learned: Indices
    ) -> Iterator[tuple[Indices | None, Indices]]:
        """Yield batches in the order of this epoch, which follows from the seed alone."""
        size = self.settings.batch_size
        if not self.policy.state_size:
            rows = self._ordered(data.rows(learned))
            for start in range(0, len(rows), size):
                yield None, rows[start : start + size]
            return
        order = self._ordered(learned)
        yield from _packed(data, order, size)

    def _ordered(self, numbers: Indices) -> Indices:
        none = np.zeros(len(numbers), np.int32)
        drawn = uniforms(self.settings.seed, numbers, none, none + self.epoch, 1)[:, 0]
        return numbers[np.argsort(drawn, kind="stable")]

    def _step(
        self, data: Demonstrations, trajectories: Indices | None, rows: Indices
    ) -> dict[str, float]:
        gamma = self.settings.gamma
        shown = show(
            self.policy, self.critic, data, rows, trajectories, gamma=gamma, forecast=self.forecast
        )
        terms = self._terms(shown)
        loss = terms["nll"] + self.settings.value_weight * terms["value"]
        loss = loss + self.settings.forecast_weight * terms["forecast"]
        if not bool(torch.isfinite(loss)):
            raise BrokenLossError(
                f"The loss is {float(loss.detach())} in epoch {self.epoch + 1}; try a smaller lr."
            )
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if self.settings.max_grad_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.settings.max_grad_norm)
        self.optimiser.step()
        if self.policy.network.normalise_observations is not None:
            device = next(self.policy.parameters()).device
            observe(self.policy, to_tensor(data.observation[rows], device))
        return {name: float(terms[name].detach()) for name in self._named_losses}

    def _terms(self, shown: Shown) -> dict[str, Tensor]:
        """Return the losses: of the choices, of the critic where the outcome is known, and of what
        was predicted."""
        valid = torch.ones(len(shown.action), dtype=torch.bool, device=shown.action.device)
        heads, shared = self.policy.heads, self.settings.heads == "mean"
        nll = imitation(heads, shown.log_probs, shown.action, shown.mask, valid, shared=shared).loss
        return {"nll": nll, "value": _critic_loss(shown), "forecast": _forecast_loss(shown)}

    def _set_lr(self, of_epoch: float) -> None:
        """Set the learning rate for this share of the epoch."""
        settings = self.settings
        epochs = settings.epochs_before(self.round) + self.epoch - self.round_began + of_epoch
        done = epochs / settings.all_epochs
        share = settings.lr_end + (1 - settings.lr_end) * (1 + math.cos(math.pi * done)) / 2
        for group in self.optimiser.param_groups:
            group["lr"] = settings.lr * share


def show(
    policy: Policy,
    critic: Critic | None,
    data: Demonstrations,
    rows: Indices,
    trajectories: Indices | None = None,
    *,
    gamma: float = 1.0,
    forecast: Forecast | None = None,
) -> Shown:
    """Show `rows` to the networks; a recurrent policy needs their whole `trajectories`."""
    device = next(policy.parameters()).device
    observation = to_tensor(data.observation[rows], device)
    mask = to_tensor(data.mask(rows), device)
    if policy.state_size:
        if trajectories is None:
            raise ValueError("A recurrent policy is shown whole trajectories.")
        features = _unrolled(
            policy, observation, to_tensor(data.index(trajectories), device).long()
        )
    else:
        features = policy.torso(observation)
    owner = np.searchsorted(data.first, rows, side="right") - 1
    return Shown(
        log_probs=policy.heads.log_probs(policy.head(features), mask),
        critic_output=None if critic is None else critic(features),
        action=to_tensor(data.action[rows].astype(np.int64), device),
        mask=mask,
        outcome=to_tensor(data.outcome[owner].astype(np.int64), device),
        returns=to_tensor(data.returns(gamma)[rows], device),
        match=data.match[owner],
        forecast=None if forecast is None else _forecast(forecast, features, data, rows),
    )


def _forecast(forecast: Forecast, features: Tensor, data: Demonstrations, rows: Indices) -> Tensor:
    """Return how wrong the next views are predicted, `[N]`; NaN where there is none."""
    after = next_rows(data, rows)
    view = to_tensor(data.observation[np.maximum(after, 0)], features.device)
    has_next = to_tensor(after != LAST, features.device)
    losses: Tensor = forecast(features, view)
    return losses.masked_fill(~has_next, math.nan)


def judged(
    policy: Policy,
    critic: Critic | None,
    data: Demonstrations,
    trajectories: Indices,
    gamma: float = 1.0,
    forecast: Forecast | None = None,
) -> Iterator[Shown]:
    """Yield all decisions of `trajectories` with what the networks say, without a gradient."""
    policy.eval()
    with torch.no_grad():
        for batch, rows in _packed(data, trajectories, JUDGED_AT_ONCE):
            yield show(policy, critic, data, rows, batch, gamma=gamma, forecast=forecast)


def _packed(
    data: Demonstrations, trajectories: Indices, size: int
) -> Iterator[tuple[Indices, Indices]]:
    """Yield whole trajectories of about `size` decisions together, and their rows."""
    ends = np.cumsum(np.diff(data.first)[trajectories])
    batch = np.maximum(ends - 1, 0) // size
    for trajectories_together in np.split(trajectories, np.flatnonzero(np.diff(batch)) + 1):
        if len(trajectories_together):
            yield trajectories_together, data.rows(trajectories_together)


def _unrolled(policy: Policy, observation: Tensor, index: Tensor) -> Tensor:
    """Return the features of rows `[N, width]`, each trajectory run from its start."""
    steps = observation[index]  # Padding, -1, is some row, and is left out below.
    state = torch.zeros((index.shape[1], policy.state_size), device=observation.device)
    fresh = torch.zeros(index.shape, dtype=torch.bool, device=observation.device)
    features = policy.torso.unroll(steps, state, fresh)
    valid = index >= 0
    order = index[valid].argsort()
    return features[valid][order]


def _critic_loss(shown: Shown) -> Tensor:
    has_outcome, out = shown.outcome != UNKNOWN, shown.critic_output
    if out is None or not bool(has_outcome.any()):
        return shown.log_probs.new_zeros(())
    if out.dim() == 1:
        return value_loss(out, shown.returns, has_outcome).loss
    return outcome_loss(out, shown.outcome.clamp(min=0), has_outcome).loss


def _forecast_loss(shown: Shown) -> Tensor:
    losses = shown.forecast
    has_next = None if losses is None else ~losses.isnan()
    if losses is None or has_next is None or not bool(has_next.any()):
        return shown.log_probs.new_zeros(())
    return losses[has_next].mean()
