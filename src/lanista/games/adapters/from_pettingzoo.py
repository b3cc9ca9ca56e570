"""Plays a PettingZoo environment as a game: AEC or parallel, with numbered actions.

PettingZoo does not tell whether something is hidden, whether the returns sum to zero or how long
a match can be; whoever makes the game says it. How spaces become our layout is in spaces.py.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from lanista.errors import nearest
from lanista.games.adapters import ENVIRONMENTS, missing_extra
from lanista.games.adapters.spaces import Actions, Layout
from lanista.games.contract import Abilities, Facts, GameError, Saved, Spec
from lanista.games.python_game import PythonGame, Step, View
from lanista.games.registry import Entry, Setting
from lanista.games.streams import Stream

MakeEnvironment = Callable[[], Any]
GROUP = "lanista.pettingzoo"
"""The entry-point group in which a package declares modules with an environment."""
_NAME = r"[a-z0-9_]{1,60}_v[0-9]{1,3}"
_OWN = re.compile(rf"pettingzoo\.[a-z]{{1,30}}\.{_NAME}")
FACTORIES = ("env", "parallel_env", "raw_env")
"""What a PettingZoo module calls the functions that make its environment, the best first."""


@dataclass
class _Table:
    """One match at one environment: who sits where, and what each was paid."""

    env: Any
    agents: tuple[str, ...]
    paid: list[float]
    turns: int = 0
    cut_off: bool = False
    observations: Mapping[str, Any] | None = None
    """Of a parallel environment: what its live agents saw last."""
    infos: Mapping[str, Any] | None = None

    def pay(self, rewards: list[float], agent: str, amount: float) -> None:
        seat = self.agents.index(agent)
        rewards[seat] += float(amount)
        self.paid[seat] += float(amount)

    def __str__(self) -> str:
        if getattr(self.env, "render_mode", None) == "ansi":
            return str(self.env.render())
        raise GameError("A PettingZoo environment is drawn only if made with render_mode='ansi'.")


class FromPettingZoo(PythonGame):
    """A PettingZoo environment as a game; `make_env` makes one, and is called once a slot.

    `longest` cuts a match off. `hidden` and `chance` are true unless it is said otherwise, since
    an algorithm that needs them to be false must not be fooled; `zero_sum` and `symmetric` are
    false for the same reason. `seedable` says that `reset(seed=...)` settles all chance.
    """

    def __init__(
        self,
        make_env: MakeEnvironment,
        slots: int = 1,
        seed: int = 0,
        *,
        name: str = "",
        longest: int = 1000,
        hidden: bool = True,
        chance: bool = True,
        zero_sum: bool = False,
        symmetric: bool = False,
        seedable: bool = True,
    ) -> None:
        self._make_env = make_env
        self._environments: dict[int, Any] = {}
        self._slot = 0
        env = self._environment(0)
        self._parallel = _is_parallel(env)
        self._title = name or f"pettingzoo:{env.unwrapped}"
        self._agents = _agents(env, self._title)
        self._layout, self._actions = _spaces(env, self._agents, self._title)
        self.observation, self.dtype = self._layout.fields, self._layout.dtype
        self.moves = self._actions.heads
        self.facts = Facts(
            seats=len(self._agents),
            longest=longest,
            hidden=hidden,
            chance=chance,
            zero_sum=zero_sum,
            simultaneous=self._parallel,
            symmetric=symmetric,
        )
        self.abilities = _abilities(seedable)
        claims = {"hidden": hidden, "chance": chance, "zero_sum": zero_sum, "symmetric": symmetric}
        super().__init__(slots, seed, longest=longest, seedable=seedable, **claims)

    def _describe(self, settings: Mapping[str, Any]) -> Spec:
        return replace(super()._describe(settings), name=self._title)

    def _begin(self, slot: int, match_id: int, deal: int) -> None:
        self._slot = slot  # Each slot keeps its environment from match to match.
        super()._begin(slot, match_id, deal)

    def _environment(self, slot: int) -> Any:
        if slot not in self._environments:
            self._environments[slot] = self._make_env()
        return self._environments[slot]

    def deal(self, rng: Stream) -> _Table:
        """Reset the slot's environment with a seed from the stream."""
        env = self._environment(self._slot)
        table = _Table(env, self._agents, [0.0] * len(self._agents))
        first = env.reset(seed=rng.below(2**31 - 1))
        if self._parallel:
            table.observations, table.infos = first
        else:
            self._skip_the_dead(table, [0.0] * len(self._agents))
        return table

    def apply(self, state: _Table, moves: dict[int, Any], rng: Stream) -> Step:
        """Step the environment with the moves of the seats it waits for."""
        actions = {state.agents[seat]: self._actions.outside(move) for seat, move in moves.items()}
        rewards = [0.0] * len(state.agents)
        state.turns += 1
        if self._parallel:
            self._step_parallel(state, actions, rewards)
        else:
            state.env.step(actions[state.env.agent_selection])
            self._skip_the_dead(state, rewards)
        live = set(state.env.agents)
        out = [seat for seat, agent in enumerate(state.agents) if agent not in live]
        if not live:
            return Step(rewards, out, returns=state.paid, cut_off=state.cut_off)
        if state.turns >= self.facts.longest:
            self._pay_the_waiting(state, rewards)
            return Step(rewards, out, cut_off=True)
        return Step(rewards, out)

    def view(self, state: _Table, seat: int) -> View | None:
        """Return what a seat sees and may choose, or None when it is not asked."""
        agent, env = state.agents[seat], state.env
        if agent not in env.agents:
            return None
        if self._parallel:
            assert state.observations is not None
            assert state.infos is not None
            observation, info = state.observations[agent], state.infos.get(agent, {})
        elif env.agent_selection == agent:
            observation, info = env.observe(agent), env.infos[agent]
        else:
            return None
        return View(
            self._layout.flat(observation), self._actions.legal(observation, info, self._title)
        )

    def resample(self, state: _Table, seat: int, rng: Stream) -> None:
        """Redraw nothing where nothing is hidden; PettingZoo has no means to redraw."""
        if self.facts.hidden:
            raise GameError(
                f"{self.spec.name} cannot redraw what a seat cannot see; if every seat sees "
                "everything, make it with hidden=False."
            )

    def save(self, slots: Any) -> Saved:
        """Put matches away by their seed and answers, where a seed settles the environment."""
        if not self.abilities.restorable:
            raise GameError(f"{self.spec.name} takes no seed, so its matches cannot be saved.")
        return super().save(slots)

    def copy_matches(self, sources: Any, slots: Any) -> None:
        """Play matches again for their copies: an environment may hold what cannot be copied."""
        self.load(slots, self.save(sources))

    def close(self) -> None:
        """Close every environment that was made."""
        for env in self._environments.values():
            env.close()
        self._environments = {}

    def _step_parallel(self, state: _Table, actions: Any, rewards: list[float]) -> None:
        observations, paid, ended, cut, infos = state.env.step(actions)
        state.observations, state.infos = observations, infos
        for agent, amount in paid.items():
            state.pay(rewards, agent, amount)
        state.cut_off |= any(cut[agent] and not ended[agent] for agent in cut)

    def _skip_the_dead(self, state: _Table, rewards: list[float]) -> None:
        """Pay whoever is next, and let those who are out take their leave."""
        env = state.env
        while env.agents:
            agent = env.agent_selection
            _, amount, ended, cut, _ = env.last(observe=False)
            state.pay(rewards, agent, amount)
            if not (ended or cut):
                return
            state.cut_off |= bool(cut and not ended)
            env.step(None)
            if agent in env.agents:
                raise GameError(f"{self._title} keeps {agent} although its match is over.")

    def _pay_the_waiting(self, state: _Table, rewards: list[float]) -> None:
        """Pay the live agents whose turn will not come any more."""
        if self._parallel:
            return
        for agent in state.env.agents:
            if agent != state.env.agent_selection:
                # The next in turn was paid already. `last()` reads the same table for it.
                state.pay(rewards, agent, state.env._cumulative_rewards[agent])


def _is_parallel(env: Any) -> bool:
    try:
        from pettingzoo import AECEnv, ParallelEnv
    except ModuleNotFoundError as error:
        raise missing_extra("PettingZoo", ENVIRONMENTS) from error
    if isinstance(env, ParallelEnv):
        return True
    if isinstance(env, AECEnv):
        return False
    raise GameError(f"{env!r} is neither a PettingZoo AECEnv nor a ParallelEnv.")


def _agents(env: Any, title: str) -> tuple[str, ...]:
    agents = tuple(getattr(env, "possible_agents", ()))
    if not agents:
        raise GameError(f"{title} does not list its possible_agents, so seats cannot be told.")
    return agents


def _spaces(env: Any, agents: tuple[str, ...], title: str) -> tuple[Layout, Actions]:
    """Return the layout and actions of all agents, who must share them."""
    layouts = [Layout.of(env.observation_space(agent), title) for agent in agents]
    actions = [Actions.of(env.action_space(agent), title) for agent in agents]
    for agent, layout, action in zip(agents, layouts, actions, strict=True):
        if layout.shape != layouts[0].shape or action.heads != actions[0].heads:
            raise GameError(
                f"{title} gives {agent} other spaces than {agents[0]}; all seats of a game see "
                "and choose in one layout."
            )
    return layouts[0], actions[0]


def _abilities(seedable: bool) -> Abilities:
    from importlib.metadata import version

    return Abilities(
        seedable=seedable,
        restorable=seedable,
        replayable=seedable,
        simulator="pettingzoo",
        simulator_version=version("pettingzoo"),
    )


def _named(name: str, slots: int, seed: int, **settings: Any) -> FromPettingZoo:
    """Make a game of `game_v1`, `pettingzoo.family.game_v1` or a declared name, with arguments.

    `:function` after it chooses among the factories. Nothing else is ever imported or called: the
    word may come out of a file.
    """
    try:
        import pettingzoo  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_extra("PettingZoo", ENVIRONMENTS) from error
    path, arguments = _call(name)
    word, _, function = path.partition(":")
    if function and function not in FACTORIES:
        raise GameError(
            f"{word} has no environment {function!r}; write one of {', '.join(FACTORIES)}."
        )
    module = _module(word)
    function_names = (function,) if function else FACTORIES
    factory = module
    if isinstance(module, ModuleType):
        factory = next(
            (getattr(module, one) for one in function_names if hasattr(module, one)), None
        )
    if not callable(factory):
        raise GameError(f"{word} has no function {' or '.join(function_names)}.")
    title = f"pettingzoo:{name}"
    return FromPettingZoo(lambda: factory(**arguments), slots, seed, name=title, **settings)


def _module(word: str) -> Any:
    """Return a module of PettingZoo's own games, or what an installed package declares.

    That is a module with a factory, or the factory itself.
    """
    declared = {point.name: point for point in entry_points(group=GROUP)}
    own = _own_modules()
    module = own.get(word, word)
    if word not in declared and not _OWN.fullmatch(module):
        raise GameError(
            f"pettingzoo:{word:.120} is neither a game of PettingZoo, as "
            "pettingzoo:connect_four_v3, nor one that an installed package declares in the "
            f"entry-point group {GROUP}; {nearest(word, [*declared, *own])}"
        )
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # It prints when it is imported.
    try:
        return declared[word].load() if word in declared else importlib.import_module(module)
    except (ImportError, AttributeError) as error:
        family = "" if word in declared else module.split(".")[1]
        remedy = f"; try pip install 'pettingzoo[{family}]'." if family else "."
        raise GameError(f"{word!r} cannot be imported: {error}{remedy}") from error


def _own_modules() -> dict[str, str]:
    """Return PettingZoo's own modules by their last name, without importing any."""
    import pettingzoo

    files = (file for place in pettingzoo.__path__ for file in Path(place).glob("[a-z]*/*_v*.py"))
    modules = {file.stem: f"pettingzoo.{file.parent.name}.{file.stem}" for file in files}
    return {name: module for name, module in modules.items() if _OWN.fullmatch(module)}


def _call(name: str) -> tuple[str, dict[str, Any]]:
    """Split `path(size=3)` into the path and its arguments."""
    path, bracket, rest = name.partition("(")
    if not bracket:
        return path, {}
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
        assert isinstance(call, ast.Call)
        assert not call.args
        return path, {word.arg or "": ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, AssertionError) as error:
        raise GameError(
            f"The arguments in {name!r} cannot be read; write them as (size=3, wide=True)."
        ) from error


ENTRY = Entry(
    "pettingzoo",
    _named,
    about="PettingZoo environments with numbered actions: pettingzoo:connect_four_v3, and so on.",
    settings={
        "longest": Setting(1000, "The most turns of a match; a longer one is cut off."),
        "hidden": Setting(True, "Whether seats see less than everything."),
        "chance": Setting(True, "Whether the environment draws anything at random."),
        "zero_sum": Setting(False, "Whether the returns of a match sum to zero."),
        "symmetric": Setting(False, "Whether no seat has an advantage."),
        "seedable": Setting(True, "Whether reset(seed=...) settles all chance."),
    },
    takes_name=True,
    extra=ENVIRONMENTS,
)
