"""Stable-Baselines3's PPO on the Gymnasium view of Beasty Bar, with the network that ours has.

Prints a JSON line for each of its sizes. Runs in the environment that `make peers` makes. Its
agent sits in both seats by turns and the random bot, whose moves cost next to nothing, in the
other; a decision is one of the agent's, made and learned from once.
"""

from __future__ import annotations

import json
from importlib.metadata import version

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor

from bench.timing import REPEATS, Rate, per_cpu_second
from lanista.games.adapters.to_gymnasium import SeatEnv
from lanista.nets.settings import Network
from lanista.nets.torsos import MLP

GAME, WIDTH = "beastybar", 256
LEAST = 12_288
"""Decisions of one repeat, at least."""
SIZES = {
    "usual sizes": (8, 256, 256),
    "its fastest sizes": (512, 24, 12_288),
}
"""Environments, steps between updates, batch. The first are of the order that its documentation
uses; the second were the fastest of eight from 8 to 1,024 environments."""


class SharedTorso(BaseFeaturesExtractor):  # type: ignore[misc]
    """Our encoder and our two layers; its policy and value are then linear heads, as ours are."""

    def __init__(self, space: object, width: int = WIDTH) -> None:
        super().__init__(space, features_dim=width)
        observation = SeatEnv(GAME).game.spec.observation
        self.torso = MLP(observation, Network(width=width, layers=2))

    def forward(self, observation: Tensor) -> Tensor:
        features: Tensor = self.torso(observation)
        return features


def learner(environments: int, steps: int, batch: int) -> PPO:
    """Return a PPO that goes over its data once, as ours does."""
    table = DummyVecEnv(
        [lambda seed=seed: SeatEnv(GAME, "random", None, seed=seed) for seed in range(environments)]
    )
    return PPO(
        "MlpPolicy",
        table,
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


def measured(environments: int, steps: int, batch: int, repeats: int = REPEATS) -> Rate:
    """Return the decisions per CPU second, after one update to warm up."""
    agent = learner(environments, steps, batch)

    def work() -> int:
        before = agent.num_timesteps
        agent.learn(max(environments * steps, LEAST), reset_num_timesteps=False)
        return int(agent.num_timesteps - before)

    work()
    return per_cpu_second(work, repeats)


def main() -> None:
    torch.set_num_threads(1)
    for label, (environments, steps, batch) in SIZES.items():
        found = {
            "sizes": label,
            **measured(environments, steps, batch).fields(),
            "environments": environments,
            "steps": steps,
            "batch": batch,
            "stable_baselines3": version("stable-baselines3"),
            "torch": torch.__version__,
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
