"""The shards of a step, worked on by all ranks and threads, their results in one order.

None stands for a shard that another rank works on. Knows nothing of networks and of optimisers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from lanista.learn.loss_terms import LossInputs
from lanista.learn.settings import Learning
from lanista.learn.update.optimiser_step import BrokenLossError
from lanista.learn.update.ranks import BrokenRankError, Ranks, merged
from lanista.learn.update.shards import Gradients, Threads
from lanista.learn.update.step_metrics import Readings
from lanista.learn.update.targets import AdvantageRows, scaled, scales, with_advantage

Inputs = Sequence[LossInputs | None]


@dataclass
class Learned:
    """What a shard of a step gives."""

    readings: Readings
    loss: Tensor
    gradients: Gradients
    own: dict[str, Gradients] = field(default_factory=dict)
    """Each term's own gradient, where it is asked for."""

    def sent(self) -> dict[str, Any]:
        """Return it as plain values and tensors, for other ranks."""
        readings = self.readings.entries()
        return {"readings": readings, "loss": self.loss} | {
            "gradients": self.gradients,
            "own": self.own,
        }

    @classmethod
    def received(cls, sent: dict[str, Any]) -> Learned:
        """Return what `sent` gave."""
        return cls(**sent | {"readings": Readings.of(sent["readings"])})


def results_of(
    ranks: Ranks,
    threads: Threads,
    learned: Callable[[LossInputs, float], Learned],
    inputs_by_shard: Inputs,
    rows: Sequence[float],
) -> list[Learned]:
    """Return what every shard gives, in order; `rows` are their shares of the step's rows."""

    def own_results() -> list[Learned | None]:
        pairs = zip(inputs_by_shard, rows, strict=True)
        own = [(inputs, share) for inputs, share in pairs if inputs is not None]
        results = iter(threads.map(learned, *zip(*own, strict=True)) if own else [])
        return [None if inputs is None else next(results) for inputs in inputs_by_shard]

    if ranks.alone:
        return [result for result in own_results() if result is not None]

    def sent() -> list[dict[str, Any] | None]:
        return [None if result is None else result.sent() for result in own_results()]

    try:
        return [Learned.received(entry) for entry in merged(ranks, sent, len(rows))]
    except BrokenRankError as error:
        raise BrokenLossError(str(error)) from error


def scaled_together(
    ranks: Ranks, settings: Learning, inputs_by_shard: Inputs
) -> list[LossInputs | None]:
    """Return the shards with advantages that are scaled and chosen over those of all ranks."""
    if ranks.alone:
        return [*scaled(settings, [inputs for inputs in inputs_by_shard if inputs is not None])]
    if not scales(settings):
        return list(inputs_by_shard)
    sent = [None if one is None else AdvantageRows.of(one).sent() for one in inputs_by_shard]
    every = [AdvantageRows(**entry) for entry in ranks.exchanged(sent)]
    return [
        None if inputs is None else with_advantage(inputs, ready)
        for inputs, ready in zip(inputs_by_shard, scaled(settings, every), strict=True)
    ]
