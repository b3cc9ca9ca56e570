"""Improves a policy from unrolls: targets, loss, gradient, step. Never imports a game's rules.

One object holds all that an update depends on; `state` and `load_state` give and take the whole.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.games.contract import Spec
from lanista.learn.batch import Batch
from lanista.learn.forward import Views, forward
from lanista.learn.losses import Term
from lanista.learn.memory import keep_freed_memory
from lanista.learn.references import References
from lanista.learn.regularisers import behaviour_kl_sampled
from lanista.learn.schedules import initial_states, observe_all, parse_schedule, values_at
from lanista.learn.settings import PULLS, Learning
from lanista.learn.targets import known_of, scaled, scales
from lanista.learn.terms import FILTERED, Known, term, weighted
from lanista.nets.policy import Critic, Policy, ema_update
from lanista.nets.settings import Network

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class BrokenLossError(LanistaError):
    """A loss or a gradient is not a number; the weights were not touched."""

    exit_code = 1


class Learner:
    """A policy that learns, its critic, and everything that lies between two updates."""

    def __init__(
        self,
        spec: Spec,
        network: Network,
        settings: Learning,
        *,
        updates: int,
        seed: int = 0,
        device: str = "cpu",
        start: Policy | None = None,
        anchor: Policy | None = None,
    ) -> None:
        self.spec, self.network, self.settings, self.updates = spec, network, settings, updates
        self.device = torch.device(device)
        if settings.precision == "fp16" and self.device.type == "cpu":
            raise LanistaError("precision fp16 needs a GPU; choose bf16 or fp32 on the CPU.")
        if settings.rnad and not (spec.seats == 2 and spec.facts.zero_sum):
            raise LanistaError(
                f"eta bends the rewards of two seats that play for each other's loss, and "
                f"{spec.name} is not such a game; set eta to 0."
            )
        if self.device.type == "cpu":
            keep_freed_memory()
        torch.manual_seed(seed)
        self.policy = Policy(spec, network).to(self.device)
        if start is not None:
            self.policy.load_state_dict(start.state_dict())
        self.critic = _critic(spec, network, settings, self.policy).to(self.device)
        self.average = copy.deepcopy(self.policy) if self._averages else None
        self.references = References(self.policy, settings, anchor=anchor or start)
        self.slow_critic = copy.deepcopy(self.critic) if settings.rnad else None
        """R-NaD's averaged critic, whose values its targets are made of."""
        self.parameters = [*self.policy.parameters(), *self.critic.parameters()]
        self.optimiser = torch.optim.Adam(
            self.parameters, lr=1.0, betas=settings.adam_betas, fused=True
        )
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=settings.precision == "fp16")
        self.schedules = {
            "lr": parse_schedule(settings.lr),
            "temperature": parse_schedule(settings.temperature),
            **{name: parse_schedule(value) for name, value in settings.terms.items()},
        }
        self.schedule_states = initial_states(self.schedules)
        self.order = np.random.Generator(np.random.PCG64(seed))
        self.update_count = 0
        if settings.compile:
            self.policy.torso.compile()
            self.critic.compile()

    @property
    def _averages(self) -> bool:
        return bool(self.settings.average or self.settings.average_share)

    @property
    def best(self) -> Policy:
        """The policy to evaluate and to save: the averaged one where there is one."""
        return self.average or self.policy

    def scheduled(self) -> dict[str, float]:
        """Return every scheduled number as it is for the coming update."""
        return values_at(self.schedules, self.update_count, self.updates, self.schedule_states)

    def evaluated(self, score: float) -> None:
        """Tell how strong the policy was found: plateau schedules and the portfolio go by it."""
        self.schedule_states = observe_all(self.schedules, self.schedule_states, score)
        self.references.score = score

    def update(self, unrolls: Unrolls, only: Collection[str] | None = None) -> dict[str, float]:
        """Learn from `unrolls`; return the numbers worth a line in the log.

        `only` these terms count, if given: a critic that knows nothing misleads a policy.
        """
        settings, values = self.settings, self.scheduled()
        for group in self.optimiser.param_groups:
            group["lr"] = values["lr"]
        weights = {
            name: values[name] if only is None or name in only else 0.0 for name in settings.terms
        }
        self._renew_references(unrolls)
        log: dict[str, float] = {}
        losses, seen = 0.0, 0
        for epoch in range(settings.epochs):
            for part in self._minibatches(unrolls):
                log = self._step(part, weights)
                losses, seen = losses + log["loss"] * part.decisions, seen + part.decisions
            if settings.target_kl and log.get("policy/approx_kl", 0.0) > settings.target_kl:
                log["stopped_after_epoch"] = epoch + 1
                break
        # The rest is of the last step; this is the mean over all of them.
        log["loss"] = losses / max(seen, 1)
        log["staleness"] = float(self.update_count - unrolls.update.mean())
        self.update_count += 1
        self._follow()
        return log | {"lr": values["lr"]} | {f"{k}/weight": v for k, v in weights.items()}

    def return_to(self, policy: Policy) -> None:
        """Go back to the weights of `policy`, with an optimiser that remembers nothing."""
        self.policy.load_state_dict(policy.state_dict())
        if self.average is not None:
            self.average.load_state_dict(policy.state_dict())
        self.optimiser.state.clear()

    def _renew_references(self, unrolls: Unrolls) -> None:
        settings = self.settings
        self.references.renew(
            self.policy, self.update_count, lambda: Views(Batch(unrolls, self.device), settings)
        )

    def _minibatches(self, unrolls: Unrolls) -> Iterator[Unrolls]:
        parts = self.settings.minibatches
        if parts == 1:
            yield unrolls
            return
        for lanes in self._shuffled(unrolls, parts):
            if len(lanes):
                yield unrolls.take(lanes)

    def _shuffled(self, unrolls: Unrolls, parts: int) -> list[NDArray[np.int64]]:
        """Return the unrolls in a new order, cut into parts; R-NaD's matches are kept whole."""
        if not self.settings.rnad:
            return np.array_split(self.order.permutation(len(unrolls)), parts)
        match = unrolls.match[unrolls.index[0]]
        _, number = np.unique(match, return_inverse=True)
        place = self.order.permutation(int(number.max()) + 1)[number]
        order = np.argsort(place, kind="stable")
        cuts = np.linspace(0, place.max() + 1, parts + 1)[1:-1]
        return np.split(order, np.searchsorted(place[order], cuts))

    def _step(self, unrolls: Unrolls, weights: dict[str, float]) -> dict[str, float]:
        """Take one optimiser step over `unrolls`, in `accumulate` pieces."""
        self.optimiser.zero_grad(set_to_none=True)
        pieces = self._pieces(unrolls)
        log: dict[str, float] = {}
        for piece, known in zip(pieces, self._known(pieces, weights), strict=True):
            found = self._terms(known, weights)
            # A piece's means count by how many of the step's rows they were taken over.
            rows = piece.decisions / unrolls.decisions
            shares = dict.fromkeys(found, rows)
            if known.kept_share is not None:
                shares |= {name: known.kept_share for name in found if name in FILTERED}
            loss = weighted(found, {name: weights[name] * shares[name] for name in found})
            self._refuse_broken(loss, found)
            _add_terms(log, found, shares)
            _add(log, "policy", _acting(known), rows)
            log["loss"] = log.get("loss", 0.0) + float(loss.detach())
            if self._shares_due:
                log |= self._gradient_shares(found, weights)
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        return log | self._apply_gradient()

    def _pieces(self, unrolls: Unrolls) -> list[Unrolls]:
        """Cut a step's unrolls to save memory; matches are kept whole, as R-NaD needs them."""
        parts = self.settings.accumulate
        if parts == 1:
            return [unrolls]
        number = np.unique(unrolls.match[unrolls.index[0]], return_inverse=True)[1]
        groups = np.array_split(np.arange(int(number.max()) + 1), parts)
        lanes = [np.flatnonzero(np.isin(number, group)) for group in groups]
        return [unrolls.take(some) for some in lanes if len(some)]

    def _known(self, pieces: list[Unrolls], weights: dict[str, float]) -> Iterator[Known]:
        """Give what is known of each piece; advantages are scaled and chosen over all of them."""
        if len(pieces) == 1 or not scales(self.settings):
            for piece in pieces:
                yield scaled(self.settings, [self._seen(piece, weights)])[0]
            return
        with torch.no_grad():
            seen = [self._seen(piece, weights) for piece in pieces]
        for piece, ready in zip(pieces, scaled(self.settings, seen), strict=True):
            known = self._seen(piece, weights)
            yield replace(
                known,
                advantage=ready.advantage,
                valid=ready.valid,
                kept_share=ready.kept_share,
            )

    def _seen(self, unrolls: Unrolls, weights: dict[str, float]) -> Known:
        batch = Batch(unrolls, self.device)
        views = Views(batch, self.settings)
        precision = PRECISIONS[self.settings.precision]
        temperature = self.scheduled()["temperature"]
        found = forward(self.policy, self.critic, views, precision, self.slow_critic, temperature)
        references = self.references.log_probs(views, self.update_count)
        return known_of(self.policy.heads, self.settings, batch, found, references, weights)

    def _terms(self, known: Known, weights: dict[str, float]) -> dict[str, Term]:
        inside = PULLS if self.settings.policy == "neurd" else ()
        used = [name for name, weight in weights.items() if weight and name not in inside]
        return {name: term(name)(known) for name in used}

    def _apply_gradient(self) -> dict[str, float]:
        """Clip both networks' gradients, each for itself, and take the step.

        Together, a critic that is far off would shorten the policy's steps.
        """
        self.scaler.unscale_(self.optimiser)
        limit = self.settings.max_grad_norm or math.inf
        log = {}
        for name, network in (("policy", self.policy), ("critic", self.critic)):
            parameters = list(network.parameters())
            before = float(nn.utils.clip_grad_norm_(parameters, limit))
            if not math.isfinite(before) and not self.scaler.is_enabled():
                raise BrokenLossError(
                    f"The {name}'s gradient of update {self.update_count} is {before}, so the "
                    "weights were left as they are; lower the learning rate or use fp32."
                )
            log[f"gradient_norm/{name}"] = before
            log[f"gradient_norm_clipped/{name}"] = _norm([p.grad for p in parameters])
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return log

    def _refuse_broken(self, loss: Tensor, found: dict[str, Term]) -> None:
        if bool(torch.isfinite(loss)):
            return
        for name, entry in found.items():
            if not bool(torch.isfinite(entry.loss)):
                raise BrokenLossError(
                    f"The loss term {name} is {entry.loss.item()} at update {self.update_count}; "
                    "the weights were left as they are."
                )
        raise BrokenLossError(
            f"The loss of update {self.update_count} is {loss.item()} though each of its terms is "
            "finite, so the weights were left as they are; lower the terms' weights."
        )

    @property
    def _shares_due(self) -> bool:
        every = self.settings.term_gradients_every
        return bool(every) and self.update_count % every == 0

    def _gradient_shares(
        self, found: dict[str, Term], weights: dict[str, float]
    ) -> dict[str, float]:
        """Return the norm of each term's own gradient, as a share of their sum."""
        norms = {}
        for name, entry in found.items():
            gradients = torch.autograd.grad(
                weights[name] * entry.loss, self.parameters, retain_graph=True, allow_unused=True
            )
            norms[name] = _norm(gradients)
        total = sum(norms.values()) or 1.0
        return {f"{name}/gradient_share": norm / total for name, norm in norms.items()}

    def _follow(self) -> None:
        """Move the averaged weights after an update."""
        self.references.follow(self.policy)
        if self.slow_critic is not None:
            ema_update(self.slow_critic, self.critic, 1 - self.settings.target_average)
        if self.average is None:
            return
        decay = self.settings.average
        if self.settings.average_share:
            decay = 1 - 1 / max(1.0, self.settings.average_share * self.update_count)
        ema_update(self.average, self.policy, decay)

    def state(self) -> dict[str, Any]:
        """Return everything an update depends on, as nested plain values and tensors."""
        return {
            "policy": self.policy.state_dict(),
            "critic": self.critic.state_dict(),
            "slow_critic": self.slow_critic.state_dict() if self.slow_critic else {},
            "average": self.average.state_dict() if self.average else {},
            "references": self.references.state(),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
            "schedules": self.schedule_states,
            "order": self.order.bit_generator.state,
            "update_count": self.update_count,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self.policy.load_state_dict(state["policy"])
        self.critic.load_state_dict(state["critic"])
        if self.slow_critic is not None:
            self.slow_critic.load_state_dict(state["slow_critic"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        self.references.load_state(state["references"], self.policy)
        self.optimiser.load_state_dict(state["optimiser"])
        self.scaler.load_state_dict(state["scaler"])
        self.schedule_states = state["schedules"]
        self.order.bit_generator.state = state["order"]
        self.update_count = state["update_count"]


def _critic(spec: Spec, network: Network, settings: Learning, policy: Policy) -> Critic:
    network = settings.critic_network or network
    if settings.critic_sees == "features":
        return Critic(spec, network, settings.critic_output, features=policy.torso.width)
    if settings.critic_sees == "privileged" and spec.privileged is None:
        raise LanistaError(f"{spec.name} has no privileged view; set critic_sees to seat.")
    view = spec.privileged if settings.critic_sees == "privileged" else spec.observation
    return Critic(spec, network, settings.critic_output, observation=view)


@torch.no_grad()
def _acting(known: Known) -> dict[str, Tensor]:
    """Return what is logged of a policy whatever its loss."""
    kl = behaviour_kl_sampled(known.chosen, known.behaviour, known.everything).loss
    return {"behaviour_kl": kl, "entropy": known.heads.entropy(known.log_probs, known.mask).mean(0)}


def _add_terms(log: dict[str, float], found: dict[str, Term], shares: dict[str, float]) -> None:
    for name, entry in found.items():
        _add(log, name, {"loss": entry.loss.detach(), **entry.statistics}, shares[name])


def _add(log: dict[str, float], name: str, numbers: dict[str, Tensor], share: float) -> None:
    """Add a share of `numbers` to the log; one with several parts gets a name for each."""
    for key, value in numbers.items():
        parts = {"": value} if value.dim() == 0 else {f"/{i}": p for i, p in enumerate(value)}
        for part, number in parts.items():
            whole = f"{name}/{key}{part}"
            log[whole] = log.get(whole, 0.0) + share * float(number)


def _norm(gradients: Iterable[Tensor | None]) -> float:
    given = [gradient for gradient in gradients if gradient is not None]
    if not given:
        return 0.0
    return float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(given))))
