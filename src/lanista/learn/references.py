"""The policies that a learner is held to: the anchor, the reference, the portfolio, R-NaD's two.

The anchor never changes during a run. The others are snapshots of the learner itself, taken at
the updates the settings say.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lanista.errors import LanistaError
from lanista.learn.portfolio import Portfolio, Reference
from lanista.learn.rnad import FixedPoint, interpolate
from lanista.learn.settings import Learning
from lanista.learn.update.forward import Views
from lanista.nets.normalise import copy_running
from lanista.nets.policy import Policy, ema_update

FIRST_SCORE = -sys.float_info.max
TARGET, CURRENT, PREVIOUS = "rnad target", "rnad current", "rnad previous"


class References:
    """Frozen copies of policies, by the use they have."""

    def __init__(self, policy: Policy, settings: Learning, anchor: Policy | None) -> None:
        self.settings = settings
        self.policies: dict[str, Policy] = {}
        self.version = 0
        """Changes when any of them lies elsewhere than before."""
        self.portfolio = Portfolio(
            size=settings.portfolio_size,
            strategy=settings.portfolio_keeps,
            add_every=settings.portfolio_every,
        )
        self.score: float | None = None
        """How strong the learner was last found to be; the strategy `best` goes by it."""
        if settings.needs("anchor"):
            if anchor is None:
                raise LanistaError(
                    "A term pulls to the anchor and the run has none; "
                    "give --supervised-checkpoint or drop the term."
                )
            self.policies["anchor"] = frozen(anchor)
        if settings.needs("reference"):
            self.policies["reference"] = frozen(policy)
        self.fixed_point = FixedPoint(tuple(settings.fixed_point))
        if settings.rnad:
            for name in (TARGET, CURRENT, PREVIOUS):
                self.policies[name] = frozen(policy)

    def renew(self, policy: Policy, update: int, views: Callable[[], Views]) -> None:
        """Take the snapshots that are due before `update`; `views` are looked at if need be."""
        if (
            self.settings.needs("reference")
            and not self.settings.reference_average
            and update
            and not update % self.settings.reference_every
        ):
            # In place: recorded work reads it where it lies.
            self.policies["reference"].load_state_dict(policy.state_dict())
        if self.settings.needs("portfolio") and self.portfolio.due(update):
            self._add(policy, update, views())
        if self.settings.rnad and self.fixed_point.at(update).update:
            self.policies[PREVIOUS] = self.policies[CURRENT]
            self.policies[CURRENT] = frozen(self.policies[TARGET])

    def follow(self, policy: Policy) -> None:
        """Move the references that follow the weights, after an update."""
        moving = {}
        if self.settings.rnad:
            moving[TARGET] = self.settings.target_average
        if self.settings.needs("reference") and self.settings.reference_average:
            moving["reference"] = self.settings.reference_average
        for name, share in moving.items():
            ema_update(self.policies[name], policy, 1 - share)
            copy_running(self.policies[name], policy)

    def regularised(self, views: Views, update: int) -> Tensor:
        """Return the log-probabilities of R-NaD's reference between its two policies."""
        return interpolate(
            views.log_probs(self.policies[CURRENT]),
            views.log_probs(self.policies[PREVIOUS]),
            self.fixed_point.at(update).alpha,
        )

    def _add(self, policy: Policy, update: int, views: Views) -> None:
        name, self.version = f"update-{update}", self.version + 1
        candidates = {**self._members(), name: frozen(policy)}
        log_probs = {key: views.log_probs(member) for key, member in candidates.items()}
        heads, mask = policy.heads, views.mask

        def distance(one: str, other: str) -> float:
            both = heads.kl(log_probs[one], log_probs[other], mask) + heads.kl(
                log_probs[other], log_probs[one], mask
            )
            return float(both.sum(-1).mean())

        # The first member comes before any evaluation: it is the weakest until shown otherwise.
        score = FIRST_SCORE if self.score is None and not self._members() else self.score
        self.portfolio = self.portfolio.add(Reference(name, update, score), distance)
        members = {reference.digest for reference in self.portfolio.references}
        for key in list(self._members()):
            if key not in members:
                del self.policies[key]
        if name in members:
            self.policies[name] = candidates[name]

    def _members(self) -> dict[str, Policy]:
        return {key: p for key, p in self.policies.items() if key.startswith("update-")}

    def log_probs(self, views: Views, update: int) -> dict[str, Tensor]:
        """Return what each reference says about the rows of a batch."""
        log_probs: dict[str, Tensor] = {
            name: views.log_probs(self.policies[name])
            for name in ("anchor", "reference")
            if name in self.policies
        }
        members = [self.policies[r.digest] for r in self.portfolio.references]
        if members:
            log_probs["portfolio"] = torch.stack([views.log_probs(member) for member in members])
        if self.settings.rnad:
            log_probs["rnad"] = self.regularised(views, update)
        return log_probs

    def state(self) -> dict[str, Any]:
        """Return everything that changes, as nested plain values and tensors."""
        return {
            "policies": {name: policy.state_dict() for name, policy in self.policies.items()},
            "portfolio": self.portfolio.state(),
            "score": self.score,
        }

    def load_state(self, state: dict[str, Any], like: Policy) -> None:
        """Restore what `state` gave."""
        self.policies, self.version = {}, self.version + 1
        for name, weights in state["policies"].items():
            policy = frozen(like)
            policy.load_state_dict(weights)
            self.policies[name] = policy
        self.portfolio = self.portfolio.restored(state["portfolio"])
        self.score = state["score"]


def frozen(policy: Policy) -> Policy:
    """Return a copy that learns nothing."""
    return copy.deepcopy(policy).requires_grad_(False)
