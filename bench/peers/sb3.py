"""Stable-Baselines3's PPO on the Gymnasium view of Beasty Bar, with the network that ours has."""

from __future__ import annotations

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor

from bench.peers import subject


class SharedTorso(BaseFeaturesExtractor):  # type: ignore[misc]
    """Our encoder and our two layers; its policy and value are then linear heads, as ours are."""

    def __init__(self, space: object) -> None:
        super().__init__(space, features_dim=subject.WIDTH)
        self.torso = subject.torso()

    def forward(self, observation: Tensor) -> Tensor:
        features: Tensor = self.torso(observation)
        return features


def learner(environments: int, steps: int, batch: int) -> PPO:
    """Return a PPO that goes over its data once, as ours does."""
    table = DummyVecEnv(
        [lambda seed=seed: subject.WatchedSeat(seed) for seed in range(environments)]
    )
    agent = PPO(
        "MlpPolicy",
        table,
        learning_rate=subject.LEARNING_RATE,
        n_steps=steps,
        batch_size=batch,
        n_epochs=1,
        policy_kwargs={
            "features_extractor_class": SharedTorso,
            "net_arch": {"pi": [], "vf": []},
        },
        seed=0,
        device="cpu",
    )
    agent.set_logger(Logger(folder=None, output_formats=[]))  # Its own leaves a folder behind.
    return agent


def main() -> None:
    out = subject.voice()
    torch.set_num_threads(1)
    agent = learner(**subject.sizes())

    def learn(decisions: int) -> int:
        before = agent.num_timesteps
        agent.learn(decisions, reset_num_timesteps=False)
        return int(agent.num_timesteps - before)

    subject.serve(out, learn, subject.about("stable-baselines3"))


if __name__ == "__main__":
    main()
