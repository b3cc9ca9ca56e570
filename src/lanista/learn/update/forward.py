"""Runs the networks over a batch: each kind of position once, recurrent ones step by step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lanista.data.trajectory import Unrolls, to_tensor
from lanista.learn.forecast import Forecast
from lanista.learn.settings import Learning
from lanista.learn.update.batch import Batch, Kinds, kinds_of
from lanista.nets.policy import Critic, Policy


@dataclass(frozen=True)
class Forward:
    """What the networks say about every row of a batch."""

    logits: Tensor
    log_probs: Tensor
    """`[N, choices]`."""
    acting: Tensor
    """`[N, choices]`: the same at the temperature of the acting policy."""
    chosen: Tensor
    """`[N]`: log-probability of what was done, at the temperature of the acting policy."""
    entropy: Tensor
    """`[N, heads]`."""
    critic: Tensor
    """The critic's raw output."""
    value: Tensor
    """`[N]`, without gradient."""
    next_value: Tensor
    """`[B]`, without gradient: at the decision after each unroll, 0 where the match ended."""
    forecast: Tensor | None = None
    """`[N]`: how wrong each seat's next view was predicted; 0 where it has none here."""


class Views:
    """A batch's positions, arranged so that networks need not look twice at equal ones."""

    def __init__(self, batch: Batch, settings: Learning) -> None:
        self.batch, self.settings = batch, settings
        unrolls = batch.unrolls
        self.mask = batch.tensor("mask")
        self.seat = kinds_of(unrolls.observation, batch.device, unrolls.mask)
        self.seat_mask = self.mask if self.seat.first is None else self.mask[self.seat.first]
        self.privileged: Kinds | None = None
        if settings.critic_sees == "privileged":
            if unrolls.privileged is None:
                raise ValueError("The critic sees the privileged view, and the data has none.")
            self.privileged = kinds_of(unrolls.privileged, batch.device)

    def policy(self, policy: Policy) -> tuple[Tensor, Tensor]:
        """Return logits and features of every row."""
        if policy.state_size:
            unrolls = self.batch.unrolls
            has_state = unrolls.state is not None and unrolls.state.shape[1] == policy.state_size
            features = _unroll(
                policy, self.batch, self.batch.tensor("state") if has_state else None
            )
        else:
            features = policy.torso(self.seat.view)
        return policy.head(features), features

    def log_probs(self, policy: Policy) -> Tensor:
        """Return the log-probabilities of every row under another policy, without gradient.

        A recurrent one remembers what it would have seen itself: it begins afresh at the first
        decision of a match that is in the batch, since the stored states are the learner's.
        """
        with torch.no_grad():
            if policy.state_size:
                features = _unroll(policy, self.batch.by_seat, None)
                return policy.heads.log_probs(policy.head(features).float(), self.mask)
            logits, _ = self.policy(policy)
            return self.seat.spread(policy.heads.log_probs(logits.float(), self.seat_mask))


def _unroll(policy: Policy, batch: Batch, state: Tensor | None) -> Tensor:
    """Return the features of every row, the lanes of `batch` begun in `state` or afresh."""
    observation = batch.steps(batch.tensor("observation"))
    steps, lanes = observation.shape[:2]
    if state is None:
        state = torch.zeros((lanes, policy.state_size), device=batch.device)
    fresh = torch.zeros((steps, lanes), dtype=torch.bool, device=batch.device)
    return batch.rows(policy.torso.unroll(observation, state, fresh))


def forward(
    policy: Policy,
    critic: Critic,
    views: Views,
    precision: torch.dtype,
    slow_critic: Critic | None = None,
    temperature: float | Tensor = 1.0,
    predicts: Forecast | None = None,
) -> Forward:
    """Run both networks over all rows; `slow_critic` gives the values where there is one.

    What `predicts` the next views reads the policy's features.
    """
    batch = views.batch
    action = batch.tensor("action").long()
    with _autocast(batch.device, precision):
        logits, features = views.policy(policy)
        out = _critic_output(critic, views, features, bool(policy.state_size))
        forecast = None
        if predicts is not None:
            forecast = _forecast(predicts, views, features, bool(policy.state_size))
    logits, out = logits.float(), out.float()
    if not policy.state_size:
        logits = views.seat.spread(logits)
    log_probs, chosen, entropy = policy.heads.judge(logits, views.mask, action)
    with torch.no_grad():
        judged = out
        if slow_critic is not None:
            # Outside autocast, so what comes from inside has to be as wide as its weights.
            wide = features.float()
            judged = _critic_output(slow_critic, views, wide, bool(policy.state_size)).float()
        # Only Q is weighed by the policy; exponentials of every row cost time.
        probabilities = log_probs.exp() if critic.output == "q" else None
        value = critic.value_of(judged, probabilities)
        next_value = _next_value(policy, critic, batch.unrolls, batch.device, precision)
    acting = log_probs
    if isinstance(temperature, Tensor) or temperature != 1.0:
        # What acts is what gets better: otherwise ratios would not begin at 1, and PPO would clip
        # what was merely played at another temperature.
        acting = policy.heads.log_probs(logits, views.mask, temperature)
        chosen = policy.heads.joint(acting, action)
    return Forward(logits, log_probs, acting, chosen, entropy, out, value, next_value, forecast)


def _forecast(predicts: Forecast, views: Views, features: Tensor, rows: bool) -> Tensor:
    after, has_next = views.batch.following()
    wrong: Tensor = predicts(features if rows else views.seat.spread(features), after)
    return torch.where(has_next, wrong, 0.0)


def _critic_output(critic: Critic, views: Views, features: Tensor, rows: bool) -> Tensor:
    if critic.torso is None:
        out: Tensor = critic(features)
        return out if rows else views.seat.spread(out)
    kinds = views.privileged or views.seat
    return kinds.spread(critic(kinds.view))


def _next_value(
    policy: Policy, critic: Critic, unrolls: Unrolls, device: torch.device, precision: torch.dtype
) -> Tensor:
    if unrolls.next_observation is None:
        return torch.zeros(len(unrolls), device=device)
    if policy.state_size and unrolls.next_value is not None:
        # A recurrent state at that decision is not kept; the acting side's own value is.
        return to_tensor(unrolls.next_value, device)
    assert unrolls.next_mask is not None
    goes_on = to_tensor(unrolls.goes_on, device)
    mask = to_tensor(unrolls.next_mask, device) | ~goes_on[:, None]
    observation = to_tensor(unrolls.next_observation, device)
    view = (
        observation
        if unrolls.next_privileged is None
        else to_tensor(unrolls.next_privileged, device)
    )
    with _autocast(device, precision):
        features = (
            policy.torso(observation) if critic.torso is None or critic.output == "q" else None
        )
        out = critic(features if critic.torso is None else view)
        logits = policy.head(features) if critic.output == "q" else None
    probabilities = None
    if logits is not None:
        probabilities = policy.heads.log_probs(logits.float(), mask).exp()
    return torch.where(goes_on, critic.value_of(out.float(), probabilities), 0.0)


def _autocast(device: torch.device, precision: torch.dtype) -> torch.autocast:
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)
