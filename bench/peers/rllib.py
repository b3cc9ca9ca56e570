"""RLlib's PPO on the Gymnasium view of Beasty Bar, with the network that ours has.

Environments and learner are in this process, which is RLlib's leanest arrangement; Ray starts its
daemons all the same. They listen on the loopback only and end with this process.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from typing import Any

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env
from torch import Tensor, nn

from bench.peers import subject

STORE = 100 * 2**20
"""Bytes of Ray's object store; nothing of weight goes through it here."""


class SharedTorso(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]
    """Our encoder and our two layers with linear heads, computed once for both."""

    def setup(self) -> None:
        self.torso = subject.torso()
        self.policy = nn.Linear(subject.WIDTH, int(self.action_space.n))
        self.value = nn.Linear(subject.WIDTH, 1)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        features = self.torso(batch[Columns.OBS])
        return {Columns.ACTION_DIST_INPUTS: self.policy(features)}

    def _forward_train(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        features = self.torso(batch[Columns.OBS])
        logits = self.policy(features)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: features}

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        if embeddings is None:
            embeddings = self.torso(batch[Columns.OBS])
        values: Tensor = self.value(embeddings).squeeze(-1)
        return values


def settings(environments: int, steps: int, batch: int) -> PPOConfig:
    """Return a PPO that goes over its data once, as ours does."""
    seeds = itertools.count()
    register_env("seat", lambda _: subject.WatchedSeat(next(seeds)))
    return (
        PPOConfig()
        .environment("seat")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=environments)
        .learners(num_learners=0)
        .training(
            lr=subject.LEARNING_RATE,
            # The others' defaults: with RLlib's own, 1, 1 and true, a short run shows no learning.
            lambda_=0.95,
            vf_loss_coeff=0.5,
            use_kl_loss=False,
            train_batch_size_per_learner=environments * steps,
            minibatch_size=batch,
            num_epochs=1,
        )
        .rl_module(rl_module_spec=RLModuleSpec(module_class=SharedTorso))
        .debugging(seed=0, log_level="ERROR")
    )


def main() -> None:
    out = subject.voice()
    torch.set_num_threads(1)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    sizes = subject.sizes()
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:
        ray.init(
            num_cpus=1,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=STORE,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
            log_to_driver=False,
        )
        agent = settings(**sizes).build_algo()
        decisions_an_update = sizes["environments"] * sizes["steps"]

        def learn(decisions: int) -> int:
            learned = 0
            while learned < decisions:
                agent.train()
                learned += decisions_an_update
            return learned

        try:
            subject.serve(out, learn, subject.about("ray"))
        finally:
            agent.stop()
            ray.shutdown()


if __name__ == "__main__":
    main()
