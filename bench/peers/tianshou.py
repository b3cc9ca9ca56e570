"""Tianshou's PPO on the Gymnasium view of Beasty Bar, with the network that ours has.

Policy and value share the two layers, but its losses ask each for its output, so the layers are
computed twice: so it is with every shared network in Tianshou.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import ModuleWithVectorOutput
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic
from tianshou.utils.torch_utils import policy_within_training_step, torch_train_mode
from torch import Tensor

from bench.peers import subject


class SharedTorso(ModuleWithVectorOutput):  # type: ignore[misc]
    """Our encoder and our two layers, called as Tianshou calls a network."""

    def __init__(self) -> None:
        super().__init__(subject.WIDTH)
        self.torso = subject.torso()

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        return self.torso(torch.as_tensor(np.asarray(obs))), state


def algorithm(table: DummyVectorEnv, batch: int) -> PPO:
    """Return a PPO whose actor and critic share their layers."""
    shared = SharedTorso()
    space = table.action_space[0]
    actor = DiscreteActor(preprocess_net=shared, action_shape=space.n, softmax_output=False)
    return PPO(
        policy=DiscreteActorPolicy(actor=actor, action_space=space),
        critic=DiscreteCritic(preprocess_net=shared),
        optim=AdamOptimizerFactory(lr=subject.LEARNING_RATE),
        max_batchsize=max(batch, 256),
    )


def main() -> None:
    out = subject.voice()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    sizes = subject.sizes()
    environments, steps, batch = (sizes[name] for name in ("environments", "steps", "batch"))
    table = DummyVectorEnv(
        [lambda seed=seed: subject.WatchedSeat(seed) for seed in range(environments)]
    )
    agent = algorithm(table, batch)
    buffer = VectorReplayBuffer(environments * steps, environments)
    collector = Collector(agent, table, buffer)
    collector.reset()

    def learn(decisions: int) -> int:
        learned = 0
        while learned < decisions:
            with policy_within_training_step(agent.policy):
                learned += collector.collect(n_step=environments * steps).n_collected_steps
                with torch_train_mode(agent):
                    agent.update(buffer=buffer, batch_size=batch, repeat=1)
            collector.reset_buffer(keep_statistics=True)
        return learned

    subject.serve(out, learn, subject.about("tianshou"))


if __name__ == "__main__":
    main()
