"""What a learner cannot do with a game, a network or a device, each refused in a sentence.

Settings refuse by themselves what fits no learner; here is what shows once the rest is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from lanista.errors import LanistaError
from lanista.games.contract import Spec
from lanista.learn.critic import critic_network
from lanista.learn.settings import Learning
from lanista.nets.settings import Network


def refuse_unusable(
    spec: Spec, network: Network, settings: Learning, device: torch.device, ranks: int
) -> None:
    """Refuse settings that cannot be used for this game with these networks on this device."""
    networks = network, critic_network(network, settings)
    if settings.precision == "fp16" and device.type == "cpu":
        raise LanistaError("precision fp16 needs a GPU; choose bf16 or fp32 on the CPU.")
    if settings.shards < ranks:
        raise LanistaError(
            f"learning.shards is {settings.shards}, and {ranks} ranks learn; give a shard or more "
            "to each."
        )
    if settings.compile and any(one.dropout or one.id_dropout for one in networks):
        raise LanistaError(
            "learning.compile is on, and dropout draws in a way that cannot be compiled; leave one "
            "of them out."
        )
    _refuse_game(spec, settings)
    _refuse_unfit(settings, networks, device)


def _refuse_game(spec: Spec, settings: Learning) -> None:
    """Refuse a game that the settings cannot be used for."""
    if settings.rnad and not (spec.seats == 2 and spec.facts.zero_sum):
        raise LanistaError(
            f"eta regularises the rewards of two seats that play for each other's loss, and "
            f"{spec.name} is not such a game; set eta to 0."
        )
    if settings.q_trace != "joint":
        return
    if not (spec.seats == 2 and spec.facts.zero_sum):
        raise LanistaError(
            f"q_trace joint takes what one of two seats wins for what the other loses, and "
            f"{spec.name} is not such a game; leave q_trace out."
        )
    if spec.facts.simultaneous:
        raise LanistaError(
            f"q_trace joint needs one seat to decide at a time, and the seats of {spec.name} "
            "decide at once; leave q_trace out."
        )


def _refuse_unfit(settings: Learning, networks: Sequence[Network], device: torch.device) -> None:
    """Refuse networks that do not say the same of a view each time, and columns on a GPU."""
    if settings.neurd_step is not None and device.type != "cpu":
        raise LanistaError(
            "neurd_step sets goals for equal views together, which is done on the CPU alone; give "
            "--cpu or device: cpu."
        )
    if settings.fits and any(one.recurrent or one.dropout or one.id_dropout for one in networks):
        raise LanistaError(
            "neurd_step and critic_steps fit networks to single views, and these remember or drop "
            "units; choose a network without memory and dropout, or leave them out."
        )
