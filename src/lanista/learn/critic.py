"""The critic that settings ask for, and the scale of its values. Knows nothing of losses."""

from __future__ import annotations

import math

from lanista.errors import LanistaError
from lanista.games.contract import Spec
from lanista.learn.settings import Learning
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network

_REMEMBERED = 100
"""Updates over which the size of value targets is averaged."""
_SMALLEST = 0.01
"""Of a scale: where nothing was paid yet, noise is not blown up."""


def critic_network(network: Network, settings: Learning) -> Network:
    """Return the network of a critic that has its own."""
    return settings.critic_network or network


def make_critic(spec: Spec, network: Network, settings: Learning, policy: Policy) -> Critic:
    """Return the critic of a learner of `policy`."""
    network, scaled = critic_network(network, settings), settings.value_scale is not None
    output = settings.critic_output
    if settings.critic_sees == "features":
        return Critic(spec, network, output, features=policy.torso.width, scaled=scaled)
    if settings.critic_sees == "privileged" and spec.privileged is None:
        raise LanistaError(f"{spec.name} has no privileged view; set critic_sees to seat.")
    view = spec.privileged if settings.critic_sees == "privileged" else spec.observation
    return Critic(spec, network, output, observation=view, scaled=scaled)


def follow_targets(critic: Critic, mean_square: float, update: int) -> None:
    """Move a critic's scale to the root of the running mean square of its targets.

    The first `_REMEMBERED` updates count alike, so the first one sets the scale.
    """
    assert critic.scale is not None
    share = 1 / min(max(1, update), _REMEMBERED)
    before = float(critic.scale) ** 2
    critic.rescale(max(_SMALLEST, math.sqrt(before + share * (mean_square - before))))
