"""Offers our games as PettingZoo environments: `aec_env` for all, `parallel_env` for simultaneous.

An observation is a dict of `observation` and `action_mask`; with several heads actions are
MultiDiscrete and the mask is a tuple, an array a head. The mask is in the infos too. An agent that
has nothing to choose keeps its last observation under an empty mask. Illegal actions are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.adapters import ENVIRONMENTS, missing_extra, spaces
from lanista.games.contract import GameError

try:
    from pettingzoo import AECEnv, ParallelEnv
except ModuleNotFoundError as error:
    raise missing_extra("PettingZoo", ENVIRONMENTS) from error


def aec_env(
    game: str, *, seed: int = 0, render_mode: str | None = None, **settings: Any
) -> TurnsEnv:
    """Return a game as an environment whose agents choose one after another.

    `reset(seed=...)` makes a new game with that seed, `reset()` plays its next match and
    `reset(options={"match": 7})` a certain one. An agent stays until its match is over, since a
    game can pay a seat that is out.
    """
    return TurnsEnv(_Table(game, seed, settings), render_mode)


def parallel_env(
    game: str, *, seed: int = 0, render_mode: str | None = None, **settings: Any
) -> TogetherEnv:
    """Return a simultaneous game as an environment whose agents choose at once.

    Resets as `aec_env` does. An agent leaves when its seat is out. What an agent without a choice
    answers is ignored.
    """
    return TogetherEnv(_Table(game, seed, settings), render_mode)


class _Table:
    """One slot of a game, and what each agent at it sees, may choose and is paid."""

    def __init__(self, name: str, seed: int, settings: dict[str, Any]) -> None:
        self.name, self.settings = name, settings
        self.game = registry.make(name, slots=1, seed=seed, **settings)
        self.spec = self.game.spec
        self.agents = [f"seat_{seat}" for seat in range(self.spec.seats)]
        self.observation_spaces = {agent: self._observation_space() for agent in self.agents}
        self.action_spaces = {agent: spaces.action_space(self.spec.heads) for agent in self.agents}
        self.match, self.over = -1, True
        self.open_seats: set[int] = set()
        """The seats that the present turn waits, or has waited, for."""
        self.pending: dict[int, int] = {}
        """The seats that have not answered yet, each with its row."""
        self.observations: list[NDArray[Any]] = []
        self.masks: list[NDArray[Any]] = []

    def _observation_space(self) -> Any:
        subspaces = {
            "observation": spaces.observation_space(self.spec.observation),
            spaces.MASK: spaces.mask_space(self.spec.heads),
        }
        return spaces.gymnasium_spaces().Dict(subspaces)

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start a match: of a new seed the first, else the next, or the one that is asked for."""
        if seed is not None:
            self.game.close()
            self.game = registry.make(self.name, slots=1, seed=seed, **self.settings)
            self.match = -1
        self.match = int((options or {}).get("match", self.match + 1))
        self.game.start([0], [self.match])
        self.over = False
        blank = np.zeros(self.spec.observation.length, self.spec.observation.dtype)
        self.observations = [blank for _ in self.agents]
        self._look()
        self.open_seats = set(self.pending)

    def answer(self, actions: dict[int, Any]) -> list[float]:
        """Answer for the seats in `actions`; return what comes to each seat by it."""
        before = self.game.reward[0].astype(float)
        rows = [self.pending[seat] for seat in actions]
        answers = np.array([np.asarray(action).reshape(-1) for action in actions.values()])
        advances = set(actions) == set(self.pending)
        self.over = len(self.game.act(rows, answers)) > 0
        self._look()
        if not advances:
            return [0.0] * len(self.agents)
        # A seat that has chosen is paid from nought, another beside what it had.
        before[list(self.open_seats)] = 0
        self.open_seats = set(self.pending)
        return (self.game.reward[0].astype(float) - before).tolist()  # type: ignore[no-any-return]

    def _look(self) -> None:
        decisions = self.game.decisions()
        self.pending = {int(seat): row for row, seat in enumerate(decisions.seat)}
        self.masks = [np.zeros(self.spec.choices, np.bool_) for _ in self.agents]
        for seat, row in self.pending.items():
            self.observations[seat] = decisions.observation[row].copy()
            self.masks[seat] = decisions.mask[row].copy()

    def observe(self, seat: int) -> dict[str, Any]:
        """Return what a seat sees, free to be kept or changed."""
        mask = spaces.mask_value(self.spec.heads, self.masks[seat])
        return {"observation": self.observations[seat].copy(), spaces.MASK: mask}

    def info(self, seat: int) -> dict[str, Any]:
        """Return the mask alone, where some libraries look for it."""
        return {spaces.MASK: spaces.mask_value(self.spec.heads, self.masks[seat])}

    def metadata(self) -> dict[str, Any]:
        """Return what PettingZoo wants to know of an environment."""
        simultaneous = self.spec.facts.simultaneous
        name = f"{self.spec.name}_v{self.spec.facts.rules_version}"
        return {"name": name, "render_modes": ["ansi"], "is_parallelizable": simultaneous}


class _Environment:
    """What both kinds of environment have."""

    def __init__(self, table: _Table, render_mode: str | None) -> None:
        super().__init__()
        self.table, self.render_mode = table, render_mode
        self.metadata = table.metadata()
        self.possible_agents = list(table.agents)
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        """Return the space of what an agent sees."""
        return self.table.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return the space of what an agent chooses."""
        return self.table.action_spaces[agent]

    def render(self) -> str | None:
        """Return a picture of the match, if made with render_mode="ansi"."""
        return self.table.game.draw(0) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """End whatever the game started outside this process."""
        self.table.game.close()


class TurnsEnv(_Environment, AECEnv):  # type: ignore[misc]
    """A game whose agents are asked one after another, by seat where several choose at once."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a match."""
        self.table.begin(seed, options)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._next()

    def observe(self, agent: str) -> dict[str, Any]:
        """Return what an agent sees at its decision, or saw at its last."""
        return self.table.observe(self.table.agents.index(agent))

    def step(self, action: Any) -> None:
        """Answer for the agent whose turn it is; None for one whose match is over."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise GameError(f"{agent} answered with None; its match is not over.")
        paid = self.table.answer({self.table.agents.index(agent): action})
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(self.table.agents, paid, strict=True))
        self._accumulate_rewards()
        self._next()

    def _next(self) -> None:
        table = self.table
        self.infos = {agent: table.info(seat) for seat, agent in enumerate(table.agents)}
        if not table.over:
            self.agent_selection = table.agents[min(table.pending)]
            return
        cut = bool(table.game.cut_off[0].any())
        self.terminations = dict.fromkeys(self.agents, not cut)
        self.truncations = dict.fromkeys(self.agents, cut)
        self._deads_step_first()


class TogetherEnv(_Environment, ParallelEnv):  # type: ignore[misc]
    """A simultaneous game whose agents choose at once."""

    def __init__(self, table: _Table, render_mode: str | None) -> None:
        if not table.spec.facts.simultaneous:
            raise GameError(f"{table.spec.name} is played in turns; use aec_env for it.")
        super().__init__(table, render_mode)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin a match; return what every agent sees."""
        self.table.begin(seed, options)
        self.agents = list(self.possible_agents)
        return self._seen(self.agents)

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Answer for all agents; return observations, rewards, ends, cuts and infos."""
        table, live = self.table, self.agents
        missing = [
            table.agents[seat] for seat in table.pending if table.agents[seat] not in actions
        ]
        if missing or not live:
            raise GameError(
                f"{table.spec.name} waits for {missing[0]}, which has no action."
                if missing
                else f"The match of {table.spec.name} is over; reset the environment."
            )
        paid = table.answer({seat: actions[table.agents[seat]] for seat in table.pending})
        rewards = dict(zip(table.agents, paid, strict=True))
        self._refuse_late_pay(rewards)
        game = table.game
        cut = {agent: table.over and bool(game.cut_off[0, self._seat(agent)]) for agent in live}
        ended = {
            agent: (table.over or bool(game.done[0, self._seat(agent)])) and not cut[agent]
            for agent in live
        }
        self.agents = [agent for agent in live if not (ended[agent] or cut[agent])]
        observations, infos = self._seen(live)
        return observations, {agent: rewards[agent] for agent in live}, ended, cut, infos

    def _refuse_late_pay(self, rewards: dict[str, float]) -> None:
        for agent, amount in rewards.items():
            if agent not in self.agents and amount != 0:
                raise GameError(
                    f"{self.table.spec.name} pays {agent} {amount} after it is out, which "
                    "parallel environments cannot pass on; use aec_env."
                )

    def _seat(self, agent: str) -> int:
        return self.table.agents.index(agent)

    def _seen(self, agents: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        seats = {agent: self._seat(agent) for agent in agents}
        observations = {agent: self.table.observe(seat) for agent, seat in seats.items()}
        return observations, {agent: self.table.info(seat) for agent, seat in seats.items()}
