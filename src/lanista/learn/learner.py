"""Improves a policy from unrolls: targets, loss, gradient, step. Never imports a game's rules.

One object holds all that an update depends on; `state` and `load_state` give and take the whole.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lanista.data.trajectory import ALL, Unrolls, moved
from lanista.errors import LanistaError
from lanista.games.contract import Spec
from lanista.learn.critic import critic_network, follow_targets, make_critic
from lanista.learn.forecast import Forecast
from lanista.learn.loss_terms import LossInputs, Weights, counts, term, weighted
from lanista.learn.losses import Term
from lanista.learn.references import References
from lanista.learn.refusals import refuse_unusable
from lanista.learn.schedule_kinds import Schedule
from lanista.learn.schedules import (
    initial_states,
    moved_all,
    observe_all,
    parse_schedule,
    values_at,
)
from lanista.learn.settings import FIT_STEPS, Learning
from lanista.learn.term_table import PULLS, term_entry
from lanista.learn.update.acting_metrics import acting_metrics
from lanista.learn.update.batch import Batch, to_device
from lanista.learn.update.fitting import ChoiceTargets, LogitGoals
from lanista.learn.update.forward import Forward, Views, forward
from lanista.learn.update.gradient_noise import PARTS, NoiseScale, noise_of, square_of
from lanista.learn.update.malloc import keep_freed_memory
from lanista.learn.update.minibatches import Minibatch, cut, cut_there, records
from lanista.learn.update.optimiser_step import BrokenLossError as BrokenLossError
from lanista.learn.update.optimiser_step import Descent, shares_of
from lanista.learn.update.ranks import Ranks, checksum
from lanista.learn.update.recorded import RecordedUpdate
from lanista.learn.update.shards import (
    Gradients,
    Threads,
    added,
    by_decisions,
    by_matches,
    gradients_of,
    shuffled,
)
from lanista.learn.update.step_metrics import Packed, Readings, mean_of, pack, read, read_packed
from lanista.learn.update.targets import loss_inputs, ready_targets, scales, with_advantage
from lanista.learn.update.together import Learned, results_of, scaled_together
from lanista.nets.dropout import dropping
from lanista.nets.normalise import copy_running, observe
from lanista.nets.policy import Policy, ema_update
from lanista.nets.settings import Network

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


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
        threads: int = 1,
        ranks: Ranks | None = None,
    ) -> None:
        """`threads` and `ranks` work on a step's shards at once; no number depends on how many."""
        self.spec, self.network, self.settings, self.updates = spec, network, settings, updates
        self.seed = seed
        self.device = torch.device(device)
        self.ranks = ranks or Ranks()
        self.ranks.device = self.device
        refuse_unusable(spec, network, settings, self.device, self.ranks.size)
        network.refuse_training()
        keep_freed_memory()
        torch.manual_seed(seed)
        self.policy = Policy(spec, network).to(self.device)
        if start is not None:
            self.policy.load_state_dict(start.state_dict())
        self.critic = make_critic(spec, network, settings, self.policy).to(self.device)
        self.forecast: Forecast | None = None
        """Predicts next views beside the policy, and is thrown away with the learner."""
        if settings.needs("forecast"):
            assert settings.forecast is not None
            forecast = Forecast(spec.observation, settings.forecast, self.policy.torso)
            self.forecast = forecast.to(self.device)
        self.average = copy.deepcopy(self.policy) if self._averages else None
        self.references = References(self.policy, settings, anchor=anchor or start)
        averaged = settings.rnad and settings.q_trace is None
        self.slow_critic = copy.deepcopy(self.critic) if averaged else None
        """R-NaD's averaged critic, whose values its targets are made of. Action values are
        corrected by returns; a critic that lags behind would only make corrections larger."""
        self.descent = Descent(
            self.networks,
            settings.adam_betas,
            self.device,
            scaled=settings.precision == "fp16",
            apart=settings.critic_lr is not None,
        )
        self.optimiser, self.parameters = self.descent.optimiser, self.descent.parameters
        self.threads = Threads(threads)
        self.schedules = _schedules(settings)
        self.schedule_states = initial_states(self.schedules)
        self.order = np.random.Generator(np.random.PCG64(seed))
        self.update_count = 0
        self.noise = NoiseScale()
        self.recorded = self._recorder() if records(settings, network, self.device) else None
        self._temperature: Tensor | None = None
        """Where a recorded update finds it, if it is not always 1; None: as scheduled."""
        self._first_step = False
        """Whether the step under way is an update's first."""
        self._frozen = False
        """Whether the update under way leaves the policy as it is."""
        self._shard_count = 0
        """Shards of this update that the networks have seen."""
        self._goals: tuple[LogitGoals | None, ChoiceTargets | None] = None, None
        """What the networks are fitted to after the step under way."""
        if settings.compile:
            # In place: the names of the weights stay as they are, and copies are not compiled.
            for module in (self.policy.torso, self.policy.head, self.critic):
                module.compile()

    @property
    def networks(self) -> dict[str, nn.Module]:
        """All that learns, in the order of the gradient's parts."""
        networks: dict[str, nn.Module] = {"policy": self.policy, "critic": self.critic}
        return networks if self.forecast is None else networks | {"forecast": self.forecast}

    def _recorder(self) -> RecordedUpdate:
        return RecordedUpdate(self._recorded_step, self.schedules, self.device, self.descent)

    def _recorded_step(self, unrolls: Unrolls, weights: Weights, measured: bool) -> Readings:
        return self._step(unrolls, weights, measured=measured)

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
        self.ranks.tell("evaluated", score)
        self.schedule_states = observe_all(self.schedules, self.schedule_states, score)
        self.references.score = score

    def update(
        self,
        unrolls: Unrolls,
        only: Collection[str] | None = None,
        *,
        critic_alone: bool = False,
    ) -> dict[str, float]:
        """Learn from `unrolls`; return the numbers worth a line in the log.

        `only` these terms count, if given: a critic that knows nothing misleads a policy. With
        `critic_alone` no weight of the policy moves, those under a critic's head included.
        """
        if not self.ranks.alone and not self.ranks.rank:
            self.ranks.tell("update", self._order_for(unrolls, only, critic_alone))
        self._frozen = critic_alone
        only = ("value",) if critic_alone else only
        settings, values = self.settings, self.scheduled()
        unrolls = to_device(unrolls, self.device, whole=cut_there(settings, self.network))
        rates = [values[name] for name in ("lr", "critic_lr") if name in values]
        if self.forecast is not None and len(rates) > 1:
            rates.append(values["lr"])
        self.descent.begin(*rates)
        self._shard_count = 0
        weights = {
            name: values[name] if only is None or name in only else 0.0 for name in settings.terms
        }
        self._renew_references(unrolls)
        packs: list[Packed] = []
        stopped: dict[str, float] = {}
        self._first_step = True
        take_epoch = self._epochs(unrolls, weights, values["temperature"])
        for epoch in range(settings.epochs):
            packs.append(take_epoch(self._minibatches(unrolls)))
            if settings.target_kl and self._has_moved(packs[-1]):
                stopped["stopped_after_epoch"] = epoch + 1
                break
        logs = self._read(packs, weights)
        log = mean_of(logs, [rows for packed in packs for rows in packed.rows]) | stopped
        if math.isnan(log.get("policy/frozen_ratio", 0.0)):
            del log["policy/frozen_ratio"]  # Nobody was frozen.
        self._follow_noise(log)
        log["lag/mean"], log["lag/max"] = unrolls.age(self.update_count)
        if only is None:
            self._moved(logs[-1]["policy/behaviour_kl"])
        self.update_count += 1
        self._observe(unrolls)
        self._follow(log)
        log |= {name: values[name] for name in self.schedules if name not in settings.terms}
        return log | {f"{name}/weight": weight for name, weight in weights.items()}

    def _order_for(
        self, unrolls: Unrolls, only: Collection[str] | None, critic_alone: bool
    ) -> dict[str, Any]:
        """Return all that another rank needs to make the same update."""
        columns = {name: getattr(unrolls, name) for name in ALL}
        names = None if only is None else sorted(only)
        check = checksum(self.parameters)
        return {"unrolls": columns, "only": names, "critic_alone": critic_alone, "check": check}

    def follow(self, order: dict[str, Any]) -> None:
        """Make the update that the first rank makes."""
        if checksum(self.parameters) != order["check"]:
            raise LanistaError(
                f"Rank {self.ranks.rank} has other weights than rank 0 at update "
                f"{self.update_count}: its machine rounds otherwise; use machines of one kind."
            )
        unrolls = Unrolls(**order["unrolls"])
        self.update(unrolls, order["only"], critic_alone=order["critic_alone"])

    def _epochs(
        self, unrolls: Unrolls, weights: dict[str, float], temperature: float
    ) -> Callable[[list[Minibatch]], Packed]:
        """Return what takes the steps of an epoch: as they come, or recorded."""
        self._temperature = None
        recorded = None if self._shares_due else self.recorded
        if recorded is None:
            return partial(self._epoch, unrolls, weights)
        recorded.load(*ready_targets(self.settings, moved(unrolls, self.device), self.device))
        recorded.numbers.set({**weights, "temperature": temperature})
        if self.settings.temperature != 1.0:
            self._temperature = recorded.numbers["temperature"]
        used = tuple(name for name, weight in weights.items() if weight)
        key = self._frozen, self.references.version
        return partial(recorded.epoch, terms=used, key=key)

    def _epoch(
        self, unrolls: Unrolls, weights: dict[str, float], minibatches: list[Minibatch]
    ) -> Packed:
        steps = []
        for number, minibatch in enumerate(cut(unrolls, minibatches), start=1):
            steps.append(self._step(minibatch, weights, measured=number == len(minibatches)))
        return pack(steps)

    def _has_moved(self, packed: Packed) -> bool:
        log = read_packed([packed])[-1]
        return log.get("policy/approx_kl", 0.0) > self.settings.target_kl

    def _read(self, packs: list[Packed], weights: dict[str, float]) -> list[dict[str, float]]:
        """Return the numbers of every step."""
        logs = read_packed(packs)
        for log in logs if self.descent.late else ():
            self.descent.refuse_broken(log, weights, self.update_count)
        return logs

    def _moved(self, kl: float) -> None:
        """Let schedules know how far the policy is from the one that acted, at the last step."""
        self.schedule_states = moved_all(
            self.schedules, self.schedule_states, kl, self.update_count, self.updates
        )

    def close(self) -> None:
        """End the threads."""
        self.threads.close()

    def return_to(self, policy: Policy) -> None:
        """Go back to the weights of `policy`, with an optimiser that remembers nothing."""
        self.policy.load_state_dict(policy.state_dict())
        if self.average is not None:
            self.average.load_state_dict(policy.state_dict())
        self.optimiser.state.clear()
        self._forget_recorded()

    def _renew_references(self, unrolls: Unrolls) -> None:
        settings = self.settings
        self.references.renew(
            self.policy, self.update_count, lambda: Views(Batch(unrolls, self.device), settings)
        )

    def _minibatch_count(self, decisions: int) -> int:
        """Return how many minibatches an epoch has: as set, or by the noise so far."""
        most = self.settings.minibatches_by_noise
        if most is None or not self.noise.updates:
            return self.settings.minibatches
        return self.noise.minibatches(decisions, most)

    def _follow_noise(self, log: dict[str, float]) -> None:
        if self.settings.minibatches_by_noise is None or "gradient_noise/trace" not in log:
            return
        self.noise.follow(log["gradient_noise/trace"], log["gradient_noise/square"])
        if math.isfinite(self.noise.decisions):
            log["gradient_noise/scale"] = self.noise.decisions

    def _minibatches(self, unrolls: Unrolls) -> list[Minibatch]:
        """Return the minibatches of an epoch."""
        count = self._minibatch_count(unrolls.decisions)
        if count == 1:
            return [None]
        if self.settings.joint:  # It needs both seats of a match together.
            parted = shuffled(unrolls, count, self.order)
        else:
            parted = np.array_split(self.order.permutation(len(unrolls)), count)
        return [lanes for lanes in parted if len(lanes)]

    def _forget_recorded(self) -> None:
        if self.recorded is not None:
            self.recorded.forget()

    def _step(self, unrolls: Unrolls, weights: Weights, *, measured: bool = True) -> Readings:
        """Take one optimiser step over `unrolls`, in `accumulate` pieces of `shards` each.

        Numbers that nobody needs but the log are worked out where it is to be `measured`.
        """
        readings, total, losses = Readings(unrolls.decisions), Gradients(), []
        own: dict[str, Gradients] = {}
        squares: list[Tensor] = []
        pieces = self._pieces(unrolls)
        sizes = [shard.decisions for piece in pieces for shard in piece]
        # The parts of a step have the same weights, so they tell how noisy gradients are.
        noisy = self._first_step and len(sizes) > 1 and not self.descent.scaler.is_enabled()
        learned = partial(self._learned, weights, measured)
        for shards, inputs_by_shard in zip(pieces, self._loss_inputs(pieces, weights), strict=True):
            # A shard's means count by how many of the step's rows they were taken over.
            rows = [shard.decisions / unrolls.decisions for shard in shards]
            for result in results_of(self.ranks, self.threads, learned, inputs_by_shard, rows):
                readings.extend(result.readings)
                losses.append(result.loss)
                if noisy:
                    squares.append(square_of(result.gradients))
                total = added(total, result.gradients)
                own = {name: added(own.get(name, []), mine) for name, mine in result.own.items()}
        if own:
            readings.add("", shares_of(own, self.device))
        if noisy:
            readings.add("gradient_noise", noise_of(squares, sizes, square_of(total)))
        self._first_step = False
        if self._frozen:
            policy = len(list(self.policy.parameters()))
            total = [*[None] * policy, *total[policy:]]
        loss, limit = torch.stack(losses).sum(), self.settings.max_grad_norm
        step_arguments = (total, loss, limit, self.update_count)
        readings.extend(self.descent.step(*step_arguments, measured=measured))
        if self.settings.fits:
            readings.extend(self._fit(weights))
        return readings

    def _fit(self, weights: Weights) -> Readings:
        """Take the further steps of an update, towards the goals that it has set."""
        readings, (goals, targets) = Readings(), self._goals
        self._goals = None, None
        policy = len(list(self.policy.parameters()))
        if goals is not None and counts(weights.get("policy", 0.0)) and not self._frozen:
            for number in range(self.settings.fit_steps or FIT_STEPS):
                loss = goals.loss(self.policy)
                if not number:
                    readings.add("policy", {"loss": loss})
                gradients = gradients_of(weights["policy"] * loss, self.parameters[:policy])
                self._fit_step([*gradients, *[None] * (len(self.parameters) - policy)], loss)
            with torch.no_grad():
                readings.add("policy", {"fit_error": (2 * goals.loss(self.policy)).sqrt()})
        for _ in range((self.settings.critic_steps or 1) - 1):
            assert targets is not None
            loss = targets.loss(self.critic)
            gradients = gradients_of(weights["value"] * loss, self.parameters[policy:])
            self._fit_step([*[None] * policy, *gradients], loss)
        return readings

    def _fit_step(self, gradients: Gradients, loss: Tensor) -> None:
        limit, update = self.settings.max_grad_norm, self.update_count
        self.descent.step(gradients, loss.detach(), limit, update, measured=False)

    def _pieces(self, unrolls: Unrolls) -> list[list[Unrolls]]:
        """Cut a step into pieces, to save memory, and each into shards, to share the work."""
        accumulate, shards = self.settings.accumulate, self.settings.shards
        if self._first_step and self.settings.minibatches_by_noise:
            shards = max(shards, PARTS)
        if accumulate == shards == 1:
            return [[unrolls]]
        pieces = [None] if accumulate == 1 else by_matches(unrolls, accumulate)
        parted = [[p] if shards == 1 else by_decisions(unrolls, shards, p) for p in pieces]
        cut_shards = iter(
            self.threads.map(unrolls.take, [lanes for piece in parted for lanes in piece])
        )
        return [[next(cut_shards) for _ in piece] for piece in parted]

    def _loss_inputs(
        self, pieces: list[list[Unrolls]], weights: Weights
    ) -> Iterator[list[LossInputs | None]]:
        """Give the loss inputs of each piece; advantages are scaled and chosen over all of them.

        None stands for a shard that another rank works on.
        """
        if len(pieces) == 1 or not scales(self.settings):
            for piece in pieces:
                yield scaled_together(self.ranks, self.settings, self._all_inputs(piece, weights))
            return
        unscaled = [self._all_inputs(piece, weights, learns=False) for piece in pieces]
        every = [inputs for piece in unscaled for inputs in piece]
        ready = iter(scaled_together(self.ranks, self.settings, every))
        for piece in pieces:
            yield [
                None if inputs is None or first is None else with_advantage(inputs, first)
                for inputs, first in zip(self._all_inputs(piece, weights), ready, strict=False)
            ]

    def _all_inputs(
        self, shards: list[Unrolls], weights: Weights, *, learns: bool = True
    ) -> list[LossInputs | None]:
        def inputs_of(shard: Unrolls, number: int) -> LossInputs:
            # Both hold for the thread that they were set in.
            with torch.set_grad_enabled(learns), self._alone():
                return self._inputs(shard, weights, number)

        own, first = self.ranks.own(len(shards)), self._shard_count
        self._shard_count += len(shards)
        inputs_by_number = dict(
            zip(
                own,
                self.threads.map(inputs_of, [shards[at] for at in own], [first + at for at in own]),
                strict=True,
            )
        )
        return [inputs_by_number.get(at) for at in range(len(shards))]

    def _alone(self) -> AbstractContextManager[Any]:
        """Keep a shard from taking over weights that autocast converted for another one.

        It keeps those for all threads together and drops them when any of these is done, so how a
        gradient is rounded would depend on who is faster.
        """
        if self.settings.shards == 1 and not self.settings.minibatches_by_noise:
            return nullcontext()
        return torch.autocast(self.device.type, enabled=False, cache_enabled=False)

    def _inputs(self, unrolls: Unrolls, weights: Weights, number: int = 0) -> LossInputs:
        batch = Batch(unrolls, self.device)
        views = Views(batch, self.settings)
        precision = PRECISIONS[self.settings.precision]
        networks = self.policy, self.critic, views, precision, self.slow_critic
        temperature: float | Tensor = self.scheduled()["temperature"]
        if self._temperature is not None:
            temperature = self._temperature
        predicts = self.forecast if counts(weights.get("forecast", 0.0)) else None
        run = partial(forward, *networks, temperature, predicts)
        outputs = self._dropped(run, number) if self._drops else run()
        references = self.references.log_probs(views, self.update_count)
        inputs = loss_inputs(
            self.policy.heads, self.settings, batch, outputs, references, weights, views.seat.group
        )
        if self.settings.fits:
            self._goals = self._goals_of(inputs, views)
        return replace(inputs, value_scale=self.critic.scale)

    def _goals_of(
        self, inputs: LossInputs, views: Views
    ) -> tuple[LogitGoals | None, ChoiceTargets | None]:
        goals = targets = None
        if self.settings.neurd_step is not None:
            goals = LogitGoals.of(inputs, views.seat, self.scheduled()["neurd_step"])
        if (self.settings.critic_steps or 1) > 1:
            assert views.privileged is not None
            targets = ChoiceTargets.of(inputs, views.privileged)
        return goals, targets

    @property
    def _drops(self) -> bool:
        networks = self.network, critic_network(self.network, self.settings)
        return any(network.dropout or network.id_dropout for network in networks)

    def _dropped(self, run: Callable[[], Forward], number: int) -> Forward:
        """Run the networks with units dropped; what targets are made of comes from the whole."""
        with torch.no_grad():
            whole = run()
        with dropping(self.device, self.seed, self.update_count, number):
            return replace(run(), value=whole.value, next_value=whole.next_value)

    def _terms(self, inputs: LossInputs, weights: Weights) -> dict[str, Term]:
        inside = PULLS if self.settings.pulls_in_advantage else ()
        if self.settings.neurd_step is not None:
            inside = (*inside, "policy")
        used = [name for name, weight in weights.items() if counts(weight) and name not in inside]
        return {name: term(name)(inputs) for name in used}

    def _learned(
        self, weights: Weights, measured: bool, inputs: LossInputs, rows: float
    ) -> Learned:
        """Return the gradient of a shard that has this share of the step's rows."""
        terms = self._terms(inputs, weights)
        shares = dict.fromkeys(terms, rows)
        if inputs.kept_share is not None:
            shares |= {name: inputs.kept_share for name in terms if term_entry(name).filtered}
        loss = weighted(terms, {name: _part(weights[name], shares[name]) for name in terms})
        readings = Readings()
        for name, entry in terms.items():
            readings.add(name, {"loss": entry.loss}, shares[name])
            if measured:
                readings.add(name, entry.statistics, shares[name])
        if measured:
            readings.add("policy", acting_metrics(inputs), rows)
        readings.add("", {"loss": loss})
        if not (self.descent.late or bool(torch.isfinite(loss))):
            self.descent.refuse_broken(read([readings])[0], terms, self.update_count)
        own = {}
        if self._shares_due:
            own = {
                name: gradients_of(
                    weights[name] * shares[name] * entry.loss, self.parameters, keep=True
                )
                for name, entry in terms.items()
            }
        gradients = gradients_of(self.descent.scaler.scale(loss), self.parameters)
        return Learned(readings, loss.detach(), gradients, own)

    @property
    def _shares_due(self) -> bool:
        every = self.settings.term_gradients_every
        return bool(every) and self.update_count % every == 0

    def _observe(self, unrolls: Unrolls) -> None:
        """Move the running numbers of observations, once the update they were seen in is over.

        So an update begins with the networks that acted, and ratios at 1.
        """
        batch = Batch(unrolls, self.device)
        if not self._frozen and self.network.normalise_observations is not None:
            observe(self.policy, batch.tensor("observation"))
        if critic_network(self.network, self.settings).normalise_observations is not None:
            privileged = self.settings.critic_sees == "privileged"
            observe(self.critic, batch.tensor("privileged" if privileged else "observation"))

    def _follow(self, log: dict[str, float]) -> None:
        """Move the averaged weights, and the scale of values, after an update."""
        self.references.follow(self.policy)
        if self.critic.scale is not None and "value/target_square" in log:
            follow_targets(self.critic, log["value/target_square"], self.update_count)
            log["value/scale"] = float(self.critic.scale)
        if self.slow_critic is not None:
            ema_update(self.slow_critic, self.critic, 1 - self.settings.target_average)
            copy_running(self.slow_critic, self.critic)
        if self.average is None:
            return
        ema_update(self.average, self.policy, self.settings.average_decay(self.update_count))
        copy_running(self.average, self.policy)

    def state(self) -> dict[str, Any]:
        """Return everything an update depends on, as nested plain values and tensors."""
        return {
            "policy": self.policy.state_dict(),
            "critic": self.critic.state_dict(),
            "slow_critic": self.slow_critic.state_dict() if self.slow_critic else {},
            "average": self.average.state_dict() if self.average else {},
            **({"forecast": self.forecast.state_dict()} if self.forecast is not None else {}),
            "references": self.references.state(),
            "optimiser": self.descent.state(),
            "scaler": self.descent.scaler.state_dict(),
            "schedules": self.schedule_states,
            "order": self.order.bit_generator.state,
            "update_count": self.update_count,
            **({"noise": self.noise.state()} if self.settings.minibatches_by_noise else {}),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` gave."""
        self.ranks.tell("load", state)
        self.policy.load_state_dict(state["policy"])
        self.critic.load_state_dict(state["critic"])
        if self.slow_critic is not None:
            self.slow_critic.load_state_dict(state["slow_critic"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        if self.forecast is not None:
            self.forecast.load_state_dict(state["forecast"])
        self.references.load_state(state["references"], self.policy)
        self.descent.load_state(state["optimiser"])
        self._forget_recorded()
        self.descent.scaler.load_state_dict(state["scaler"])
        self.schedule_states = state["schedules"]
        self.order.bit_generator.state = state["order"]
        self.update_count = state["update_count"]
        if self.settings.minibatches_by_noise:
            self.noise.load_state(state["noise"])


def _schedules(settings: Learning) -> dict[str, Schedule]:
    """Return every number that a schedule may change, by its name."""
    values = {"lr": settings.lr, "temperature": settings.temperature, **settings.terms}
    optional = {"critic_lr": settings.critic_lr, "neurd_step": settings.neurd_step}
    values |= {name: value for name, value in optional.items() if value is not None}
    return {name: parse_schedule(value) for name, value in values.items()}


def _part(weight: float | Tensor, share: float) -> float | Tensor:
    return weight if share == 1.0 else weight * share
