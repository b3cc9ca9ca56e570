"""Learns regrets and the average strategy from traversals: Single Deep CFR with linear weights.

One network predicts the regrets of every choice, by which all seats play the next traversals;
another is fitted to the average of all iterations' strategies, and is the policy. One object holds
all that an iteration depends on. Never imports a game's rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lanista.data.equal_rows import kinds
from lanista.data.traversals import ChoiceRows, Outcomes
from lanista.errors import LanistaError
from lanista.games.contract import Spec
from lanista.learn.regret.matching import regret_loss, regret_matching, strategy_loss
from lanista.learn.regret.memory import RowMemory
from lanista.learn.regret.settings import Regret
from lanista.learn.schedules import initial_states, observe_all, parse_schedule, values_at
from lanista.learn.settings import Learning
from lanista.learn.update.malloc import keep_freed_memory
from lanista.learn.update.optimiser_step import BrokenLossError
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network

Rows = tuple[Tensor, Tensor, Tensor, Tensor]
"""Observations, masks, targets and weights of an optimiser step."""
_ROWS_AT_ONCE = 1 << 15
"""Decisions that the network is asked about at once."""


class RegretLearner:
    """Two networks, what they are fitted to, and everything that lies between two iterations."""

    critic = None

    def __init__(
        self,
        spec: Spec,
        network: Network,
        settings: Learning,
        *,
        updates: int,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        network.refuse_training()
        refuse_network(network)
        self.spec, self.network, self.settings, self.updates = spec, network, settings, updates
        self.regret = settings.regret or Regret()
        self.device = torch.device(device)
        keep_freed_memory()
        torch.manual_seed(seed)
        self.regrets = Policy(spec, network).to(self.device)
        """What it says of a choice is its mean regret, up to a factor that all rows share."""
        self.policy = Policy(spec, network).to(self.device)
        """The average strategy."""
        # The optimisers of both networks take the same steps on every machine.
        self.optimisers = {name: self._optimiser(module) for name, module in self._networks()}
        self.baseline: Critic | None = None
        """Guesses what choices earn, where one match tells of one choice alone."""
        if self.regret.sampling == "outcome":
            view = spec.privileged or spec.observation
            self.baseline = Critic(spec, network, "q", view).to(self.device)
            self.optimisers["baseline"] = self._optimiser(self.baseline)
        observation = spec.observation
        self.memories = {
            name: RowMemory(observation.length, spec.choices, observation.dtype, self.regret.memory)
            for name, _ in self._networks()
        }
        self.schedules = {"lr": parse_schedule(settings.lr)}
        self.schedule_states = initial_states(self.schedules)
        self.rng = np.random.Generator(np.random.PCG64(seed))
        """Draws rows for steps, and says which rows are kept."""
        self.update_count = 0
        self.scale = 1.0
        """What the network's regrets are to be multiplied by."""

    def _networks(self) -> Iterator[tuple[str, Policy]]:
        yield "regrets", self.regrets
        yield "policy", self.policy

    def modules(self) -> Iterator[tuple[str, nn.Module]]:
        """Give every network that learns, by name."""
        yield from self._networks()
        if self.baseline is not None:
            yield "baseline", self.baseline

    def _optimiser(self, module: nn.Module) -> torch.optim.Adam:
        return torch.optim.Adam(module.parameters(), lr=1.0, betas=self.settings.adam_betas)

    @property
    def best(self) -> Policy:
        """The policy to evaluate and to save."""
        return self.policy

    def evaluated(self, score: float) -> None:
        """Tell how strong the policy was found: plateau schedules go by it."""
        self.schedule_states = observe_all(self.schedules, self.schedule_states, score)

    @property
    def weight(self) -> float:
        """What the coming iteration counts."""
        return math.pow(self.update_count + 1, self.regret.weight_power)

    @torch.no_grad()
    def strategy(self, observation: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the probabilities by which all seats play now; at first all choices alike."""
        if not len(self.memories["regrets"]):
            uniform: NDArray[np.float64] = mask / mask.sum(1, keepdims=True)
            return uniform
        if (groups := kinds(observation, mask)) is not None:
            first, kind = groups
            return self._matched(observation[first], mask[first])[kind]
        return self._matched(observation, mask)

    def _matched(self, observation: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        parts = []
        for at in range(0, len(observation), _ROWS_AT_ONCE):
            rows = torch.from_numpy(observation[at : at + _ROWS_AT_ONCE]).to(self.device)
            parts.append(self.regrets(rows).float().cpu().numpy())
        regrets = np.concatenate(parts).astype(np.float64)
        if self.regret.recall is not None:
            regrets = self._recalling(regrets, observation, mask, self.regret.recall)
        return regret_matching(regrets, mask)

    def _recalling(
        self,
        regrets: NDArray[np.float64],
        observation: NDArray[Any],
        mask: NDArray[np.bool_],
        samples: float,
    ) -> NDArray[np.float64]:
        """Return the mean of what was sampled and what the network says, as `samples` samples."""
        weight, total = self.memories["regrets"].recalled(observation, mask)
        # In samples of this iteration, and in the network's unit.
        count, total = weight / self.weight, total / (self.weight * self.scale)
        mean: NDArray[np.float64] = (total + samples * regrets) / np.maximum(
            count + samples, 1e-12
        )[:, None]
        return mean

    def learn_regrets(self, rows: ChoiceRows) -> dict[str, float]:
        """Add a seat's regrets and fit the network to the means of all iterations."""
        memory = self.memories["regrets"]
        memory.add(rows, self.weight, self.rng)
        if not len(memory):
            return {}
        means, weight = memory.means(), memory.weight[: len(memory)]
        square = float(((means**2).sum(1) * weight).sum() / weight.sum())
        # Regret matching does not see a factor; targets of one size suit one learning rate.
        self.scale = max(math.sqrt(square), 1e-12)
        loss = self._fit("regrets", means / self.scale, self.regret.steps, self._regret_loss)
        return {"regret/loss": loss, "regret/size": self.scale}

    @torch.no_grad()
    def guess(self, view: NDArray[Any]) -> NDArray[np.float64]:
        """Return what the baseline says of every choice, `[rows, choices]`."""
        assert self.baseline is not None
        guess: NDArray[np.float64] = (
            self.baseline(torch.from_numpy(view).to(self.device)).double().cpu().numpy()
        )
        return guess

    def learn_baseline(self, outcomes: Outcomes) -> dict[str, float]:
        """Fit the baseline to what came of choices in the last traversals."""
        if not len(outcomes):
            return {}
        view = torch.from_numpy(outcomes.view).to(self.device)
        action = torch.from_numpy(outcomes.action).to(self.device)
        value = torch.from_numpy(outcomes.value.astype(np.float32)).to(self.device)
        losses = []
        self._set_lr("baseline")
        for _ in range(self.regret.baseline_steps):
            drawn = self.rng.integers(len(outcomes), size=min(self.regret.batch, len(outcomes)))
            places = torch.from_numpy(drawn).to(self.device)
            assert self.baseline is not None
            predicted = self.baseline(view[places]).gather(1, action[places, None]).squeeze(1)
            losses.append(self._descend("baseline", (predicted - value[places]).square().mean()))
        return {"baseline/loss": sum(losses) / len(losses)}

    def learn_average(self, rows: ChoiceRows) -> dict[str, float]:
        """Add strategies of an iteration, fit the policy to their average, end the iteration."""
        memory = self.memories["policy"]
        memory.add(rows, self.weight, self.rng)
        log = {}
        if len(memory):
            steps = self.regret.average_steps
            log["average/loss"] = self._fit("policy", memory.means(), steps, self._strategy_loss)
        log |= {"regret/rows": len(self.memories["regrets"]), "average/rows": len(memory)}
        log["lr"] = self._lr()
        self.update_count += 1
        return log

    def _lr(self) -> float:
        states = self.schedule_states
        return values_at(self.schedules, self.update_count, self.updates, states)["lr"]

    def _regret_loss(self, rows: Rows) -> Tensor:
        observation, mask, target, weight = rows
        return regret_loss(self.regrets(observation), target, mask, weight)

    def _strategy_loss(self, rows: Rows) -> Tensor:
        observation, mask, target, weight = rows
        log_probs = self.policy.heads.log_probs(self.policy(observation), mask)
        return strategy_loss(log_probs, target, mask, weight)

    def _fit(
        self,
        name: str,
        targets: NDArray[np.float64],
        steps: int,
        loss_of: Callable[[Rows], Tensor],
    ) -> float:
        """Take optimiser steps; return the mean loss of them."""
        self._set_lr(name)
        batches = self._batches(self.memories[name], targets, steps)
        return sum(self._descend(name, loss_of(rows)) for rows in batches) / steps

    def _set_lr(self, name: str) -> None:
        for group in self.optimisers[name].param_groups:
            group["lr"] = self._lr()

    def _descend(self, name: str, loss: Tensor) -> float:
        """Take one optimiser step; return the loss before it."""
        optimiser = self.optimisers[name]
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        limit = self.settings.max_grad_norm or math.inf
        norm = float(nn.utils.clip_grad_norm_(parameters, limit))
        if not math.isfinite(norm):
            raise BrokenLossError(
                f"The gradient of {name} is not finite at update {self.update_count}; lower the "
                "learning rate."
            )
        optimiser.step()
        return float(loss.detach())

    def _batches(
        self, memory: RowMemory, targets: NDArray[np.float64], steps: int
    ) -> Iterator[Rows]:
        """Give the rows of every step: all that are kept, or some that are drawn.

        Rows are drawn and weighted by the root of their weight each, so that the mean is the one
        over all, with less noise than by either alone.
        """
        size, batch = len(memory), self.regret.batch
        weight = memory.weight[:size] / memory.weight[:size].mean()
        if size <= batch:
            rows = self._rows(memory, targets, weight, slice(0, size))
            for _ in range(steps):
                yield rows
            return
        root = np.sqrt(weight)
        running = np.cumsum(root)
        for _ in range(steps):
            drawn = np.searchsorted(running, self.rng.random(batch) * running[-1], side="right")
            yield self._rows(memory, targets, root, np.minimum(drawn, size - 1))

    def _rows(
        self,
        memory: RowMemory,
        targets: NDArray[np.float64],
        weight: NDArray[np.float64],
        places: slice | NDArray[np.intp],
    ) -> Rows:
        arrays = (
            memory.observation[places],
            memory.mask[places],
            targets[places].astype(np.float32),
            weight[places].astype(np.float32),
        )
        observation, mask, target, scale = (torch.from_numpy(a).to(self.device) for a in arrays)
        return observation, mask, target, scale

    def close(self) -> None:
        """End what it started: nothing."""

    def state(self) -> dict[str, Any]:
        """Return everything an iteration depends on, as nested plain values, arrays and tensors."""
        optimisers = {name: opt.state_dict()["state"] for name, opt in self.optimisers.items()}
        return {
            "networks": {name: module.state_dict() for name, module in self.modules()},
            "optimisers": optimisers,
            "memories": {name: memory.state() for name, memory in self.memories.items()},
            "schedules": self.schedule_states,
            "rng": self.rng.bit_generator.state,
            "update_count": self.update_count,
            "scale": self.scale,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` gave."""
        for name, memory in self.memories.items():
            memory.load_state(state["memories"][name])
        for name, module in self.modules():
            module.load_state_dict(state["networks"][name])
            optimiser = self.optimisers[name]
            optimiser.load_state_dict(
                {**optimiser.state_dict(), "state": state["optimisers"][name]}
            )
        self.schedule_states = state["schedules"]
        self.rng.bit_generator.state = state["rng"]
        self.update_count = int(state["update_count"])
        self.scale = float(state["scale"])


def refuse_network(network: Network) -> None:
    """Refuse a network that regrets cannot be fitted with."""
    if network.recurrent:
        raise LanistaError(
            f"learning.policy is regret, which fits decisions one by one, and a {network.kind} "
            "remembers earlier ones; take another kind."
        )
    for name in ("dropout", "id_dropout", "normalise_observations"):
        if getattr(network, name):
            raise LanistaError(
                f"network.{name} is {getattr(network, name)}, which learning.policy regret does "
                "not use; leave it out."
            )
