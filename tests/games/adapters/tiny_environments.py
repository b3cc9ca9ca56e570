"""Small PettingZoo environments whose every reward and end is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv


@dataclass(frozen=True)
class Beat:
    """One step of a script: who moves, what comes to whom, and who is out by it."""

    mover: int
    rewards: Sequence[float]
    ended: Sequence[int] = ()
    cut: Sequence[int] = ()


class Scripted(AECEnv):
    """Plays a script. Sees its step and itself; only the step's parity is a legal action."""

    metadata = {"name": "scripted_v0", "render_modes": []}  # noqa: RUF012

    def __init__(self, script: Sequence[Beat], mask_in_info: bool = False) -> None:
        super().__init__()
        self.script, self.mask_in_info = script, mask_in_info
        self.possible_agents = [f"agent_{i}" for i in range(len(script[0].rewards))]
        seen = spaces.Box(-1, 100, (1, 2), np.int8)
        mask = spaces.Box(0, 1, (2,), np.int8)
        both = spaces.Dict({"observation": seen, "action_mask": mask})
        self.space = seen if mask_in_info else both
        self.choice = spaces.Discrete(2)

    def observation_space(self, agent: str) -> Any:
        return self.space

    def action_space(self, agent: str) -> Any:
        return self.choice

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.at = 0
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._ask()

    def _ask(self) -> None:
        self.infos = {agent: {} for agent in self.agents}
        if self.at < len(self.script):
            self.agent_selection = self.possible_agents[self.script[self.at].mover]
        if self.mask_in_info:
            self.infos = {agent: {"action_mask": self._mask()} for agent in self.agents}

    def _mask(self) -> Any:
        return np.eye(2, dtype=np.int8)[self.at % 2]

    def observe(self, agent: str) -> Any:
        seen = np.array([[self.at, self.possible_agents.index(agent)]], np.int8)
        return seen if self.mask_in_info else {"observation": seen, "action_mask": self._mask()}

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert action == self.at % 2
        beat = self.script[self.at]
        self.at += 1
        self._cumulative_rewards[agent] = 0.0
        for seat, one in enumerate(self.possible_agents):
            if one in self.agents:
                self.rewards[one] = beat.rewards[seat]
                self.terminations[one] = seat in beat.ended
                self.truncations[one] = seat in beat.cut
        self._accumulate_rewards()
        self._ask()
        self._deads_step_first()


class Pennies(ParallelEnv):
    """Three rounds of matching pennies with two coins a round and a hidden, seeded bonus.

    Actions are MultiDiscrete and count from 1; agent_0 wins what matches. The second coin may not
    show 2 in the first round. The observation mixes a Discrete and a Box.
    """

    metadata = {"name": "pennies_v0", "render_modes": []}  # noqa: RUF012

    def __init__(self, rounds: int = 3, cut: bool = False) -> None:
        self.rounds, self.cut = rounds, cut
        self.possible_agents = ["agent_0", "agent_1"]
        self.space = spaces.Dict(
            {
                "round": spaces.Discrete(5, start=1),
                "bonus": spaces.Box(0.0, 1.0, (2,), np.float64),
            }
        )
        self.choice = spaces.MultiDiscrete([2, 2], start=[1, 1])

    def observation_space(self, agent: str) -> Any:
        return self.space

    def action_space(self, agent: str) -> Any:
        return self.choice

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.rng = np.random.default_rng(seed)
        self.round = 0
        self.agents = list(self.possible_agents)
        return self._seen()

    def _seen(self) -> Any:
        bonus = self.rng.random(2)
        seen = {"round": np.int64(self.round + 1), "bonus": bonus}
        second = np.array([1, 0 if self.round == 0 else 1], np.int8)
        info = {"action_mask": (np.ones(2, np.int8), second)}
        return dict.fromkeys(self.agents, seen), dict.fromkeys(self.agents, info)

    def step(self, actions: Any) -> Any:
        mine, other = actions["agent_0"], actions["agent_1"]
        assert mine.shape == (2,)
        assert mine.min() >= 1
        won = float((mine == other).sum() - 1)
        self.round += 1
        over = self.round == self.rounds
        seen, infos = self._seen()
        rewards = {"agent_0": won, "agent_1": -won}
        ended = dict.fromkeys(self.agents, over and not self.cut)
        cut = dict.fromkeys(self.agents, over and self.cut)
        self.agents = [] if over else self.agents
        return seen, rewards, ended, cut, infos


def parallel_env(rounds: int = 3, cut: bool = False) -> Pennies:
    return Pennies(rounds, cut)


def misfits(what: str) -> Scripted:
    """Return an environment with a space that cannot be played."""
    env = Scripted([Beat(0, (0, 0), ended=(0, 1))])
    if what == "continuous action":
        env.choice = spaces.Box(0.0, 1.0, (2,), np.float32)
    if what == "text":
        env.space = spaces.Text(5)
    if what == "uneven":
        wide = spaces.Box(0, 1, (7,), np.int8)
        env.observation_space = lambda agent: wide if agent == "agent_1" else env.space
    return env
