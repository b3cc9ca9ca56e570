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
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from bench.strength import arm
from bench.strength.rows import row_of
from bench.strength.seat_env import LearningSeat
from bench.strength.snapshots import Layer, Mixture, Snapshot
from lanista.games import registry
from lanista.games.contract import Spec

COUNT = 4
"""Environments."""
KEPT = 50
"""Snapshots to draw opponents from."""
SELF = "self"


class PeerPolicy:
    """A peer's weights of one moment, as they are judged."""

    def __init__(self, spec: Spec, layers: Sequence[Layer]) -> None:
        self.probabilities = Snapshot(spec, layers).probabilities
        self.player = partial(Snapshot, spec, layers)


def learner(kind: str, environments: VecEnv, seed: int, device: str = "cpu") -> Any:
    """Return the peer with the settings that its documentation gives it."""
    if kind == "maskable_ppo":
        from sb3_contrib import MaskablePPO

        agent: Any = MaskablePPO("MlpPolicy", environments, seed=seed, device=device)
    else:
        agent = PPO("MlpPolicy", environments, seed=seed, device=device)
    agent.set_logger(Logger(folder=None, output_formats=[]))  # Its own leaves a folder behind.
    return agent


def layers_of(agent: Any) -> list[Layer]:
    """Return the layers that lead from an observation to the logits."""
    state = {name: value.cpu().numpy().copy() for name, value in agent.policy.state_dict().items()}
    names = [name for name in state if name.startswith("mlp_extractor.policy_net")]
    parts = [*dict.fromkeys(name.rpartition(".")[0] for name in names), "action_net"]
    return [(state[f"{part}.weight"].T.copy(), state[f"{part}.bias"]) for part in parts]


class Environments:
    """The peer's environments: four in this process, or one in each of four processes.

    In processes each has a copy of the snapshots, which is renewed with every update.
    """

    def __init__(self, curve: arm.Curve, spec: Spec) -> None:
        own_processes = curve.arm.unit == "wall_seconds"
        self.spec, self.count = spec, 0
        self.shared: list[Snapshot] | None = None if own_processes else []
        makes = [partial(_environment, curve.arm, number, self.shared) for number in range(COUNT)]
        self.vectorised: VecEnv = (
            SubprocVecEnv(makes, start_method="spawn") if own_processes else DummyVecEnv(makes)
        )

    def meet(self, layers: Sequence[Layer]) -> None:
        """Add a snapshot to those who are drawn as opponents."""
        if self.shared is None:
            self.vectorised.env_method("meet", layers, self.count, KEPT)
        else:
            self.shared.append(Snapshot(self.spec, layers, seed=self.count))
            del self.shared[:-KEPT]
        self.count = min(self.count + 1, KEPT)


def _environment(made: arm.Arm, number: int, shared: list[Snapshot] | None) -> LearningSeat:
    row, own = row_of(made.row), 1000 * made.seed + number
    spec = registry.spec_of(row.game, seed=made.seed, **row.game_settings)
    members = [
        (None if name == SELF else registry.make_bot(row.game, name, spec, own), weight)
        for name, weight in made.peer["opponents"]
    ]
    opponent = Mixture(members, [] if shared is None else shared, np.random.default_rng(own))
    return LearningSeat(
        row.game,
        opponent,
        own,
        row.game_settings,
        made.peer["shaping"],
        "random" if made.learner == "ppo" else "refuse",
    )


def learn(curve: arm.Curve) -> None:
    """Train an update at a time until the budget is spent, and be looked at on the way."""
    row, seed = curve.row, curve.arm.seed
    spec = registry.spec_of(row.game, seed=seed, **row.game_settings)
    environments = Environments(curve, spec)
    if environments.shared is None:
        curve.begin()
    device = "cuda" if curve.arm.gpu else "cpu"
    agent = learner(curve.arm.learner, environments.vectorised, seed, device)
    while not curve.over:
        environments.meet(layers_of(agent))
        agent.learn(agent.n_steps * COUNT, reset_num_timesteps=False)
        curve.at(
            agent.num_timesteps,
            lambda: PeerPolicy(spec, layers_of(agent)),
        )
    environments.vectorised.close()


if __name__ == "__main__":
    arm.main(learn)
