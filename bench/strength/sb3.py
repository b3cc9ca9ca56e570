"""The peers' arm: PPO of Stable-Baselines3 and MaskablePPO of sb3-contrib, their own settings.

Everything but the environment is their constructors' default, with the four environments of the
example in PPO's documentation. Their opponent mix is that of our learner: bots, and in place of
itself snapshots of their own, one an update.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv

from bench.strength import arm
from bench.strength.seat_env import LearningSeat
from bench.strength.snapshots import Layer, Mixture, Snapshot
from lanista.games import registry
from lanista.games.contract import Spec

ENVIRONMENTS = 4
KEPT = 50
"""Snapshots to draw opponents from."""
SELF = "self"


class PeerPolicy:
    """A peer's weights of one moment, as they are judged."""

    def __init__(self, spec: Spec, layers: Sequence[Layer]) -> None:
        self.probabilities = Snapshot(spec, layers).probabilities
        self.player = partial(Snapshot, spec, layers)


def learner(kind: str, environments: DummyVecEnv, seed: int) -> Any:
    """Return the peer with the settings that its documentation gives it."""
    if kind == "maskable_ppo":
        from sb3_contrib import MaskablePPO

        agent: Any = MaskablePPO("MlpPolicy", environments, seed=seed, device="cpu")
    else:
        agent = PPO("MlpPolicy", environments, seed=seed, device="cpu")
    agent.set_logger(Logger(folder=None, output_formats=[]))  # Its own leaves a folder behind.
    return agent


def layers_of(agent: Any) -> list[Layer]:
    """Return the layers that lead from an observation to the logits."""
    state = {name: value.numpy().copy() for name, value in agent.policy.state_dict().items()}
    names = [name for name in state if name.startswith("mlp_extractor.policy_net")]
    parts = [*dict.fromkeys(name.rpartition(".")[0] for name in names), "action_net"]
    return [(state[f"{part}.weight"].T.copy(), state[f"{part}.bias"]) for part in parts]


def learn(curve: arm.Curve) -> None:
    """Train an update at a time until the budget is spent, and be looked at on the way."""
    row, seed = curve.row, curve.arm.seed
    about = curve.arm.peer
    spec = registry.spec_of(row.game, seed=seed, **row.game_settings)
    snapshots: list[Snapshot] = []

    def environment(number: int) -> LearningSeat:
        own = 1000 * seed + number
        members = [
            (None if name == SELF else registry.make_bot(row.game, name, spec, own), weight)
            for name, weight in about["opponents"]
        ]
        opponent = Mixture(members, snapshots, np.random.default_rng(own))
        return LearningSeat(
            row.game,
            opponent,
            own,
            row.game_settings,
            about["shaping"],
            "random" if curve.arm.learner == "ppo" else "refuse",
        )

    environments = DummyVecEnv([lambda n=n: environment(n) for n in range(ENVIRONMENTS)])
    agent = learner(curve.arm.learner, environments, seed)
    while not curve.over:
        snapshots.append(Snapshot(spec, layers_of(agent), seed=len(snapshots)))
        del snapshots[:-KEPT]
        agent.learn(agent.n_steps * ENVIRONMENTS, reset_num_timesteps=False)
        curve.at(
            agent.num_timesteps,
            lambda: PeerPolicy(spec, layers_of(agent)),
        )


if __name__ == "__main__":
    arm.main(learn)
