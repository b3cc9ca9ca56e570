"""A StarCraft II bot whose strategy is chosen by a policy: features, strategies and a mix-in.

Owns what the policy sees of a game and what its choices mean; how a strategy is carried out is
the bot's business. It takes any object shaped like burnysc2's BotAI and imports no burnysc2.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.contract import Abilities, Facts, Field, Head, Observation, Spec
from lanista.games.streams import Stream
from lanista.live.agent.agent import Agent, Report
from lanista.live.files.game_header import LONGEST_ID
from lanista.live.files.policy_folder import Pointer, PolicyFolder
from lanista.nets.files.policy_format import PolicyHeader, encode, read_header
from lanista.nets.settings import Network
from lanista.text import printable

Floats = NDArray[np.float32]
INTERVAL = 5.0
"""Seconds of game time from one question to the policy to the next, unless the bot says so."""
TOWNHALLS = frozenset(
    {
        "NEXUS", "HATCHERY", "LAIR", "HIVE", "COMMANDCENTER", "COMMANDCENTERFLYING",
        "ORBITALCOMMAND", "ORBITALCOMMANDFLYING", "PLANETARYFORTRESS",
    }
)  # fmt: skip
TECH_LEVELS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "LAIR", "ROACHWARREN", "BANELINGNEST", "EVOLUTIONCHAMBER", "FACTORY", "FACTORYFLYING",
            "ENGINEERINGBAY", "CYBERNETICSCORE", "FORGE",
        }
    ),
    frozenset(
        {
            "HYDRALISKDENMP", "HYDRALISKDEN", "LURKERDENMP", "SPIRE", "INFESTATIONPIT",
            "NYDUSNETWORK", "STARPORT", "STARPORTFLYING", "ARMORY", "TWILIGHTCOUNCIL", "STARGATE",
            "ROBOTICSFACILITY",
        }
    ),
    frozenset(
        {
            "HIVE", "GREATERSPIRE", "ULTRALISKCAVERN", "FUSIONCORE", "GHOSTACADEMY",
            "TEMPLARARCHIVE", "DARKSHRINE", "FLEETBEACON", "ROBOTICSBAY",
        }
    ),
)  # fmt: skip
"""Structures by what they make possible: the second, third and last step of each race's tree."""
WORKERS = frozenset({"DRONE", "DRONEBURROWED", "PROBE", "SCV"})


class MacroError(LanistaError):
    """A bot and its policy do not fit together."""


class Strategy(IntEnum):
    """What the policy chooses among."""

    ECONOMY = 0
    AGGRESSIVE = 1
    DEFENSIVE = 2
    TECH = 3
    ALL_IN = 4


@dataclass(frozen=True)
class Situation:
    """A moment of a game as one side sees it, in the game's own units."""

    minerals: float
    gas: float
    supply_used: float
    supply_cap: float
    workers: float
    units: float
    """All own units that are no structures, workers and larvae among them."""
    visible_enemies: float
    """Enemy units in sight, structures not counted."""
    townhalls: float
    seconds: float
    enemy_bases: float
    """Enemy townhalls that were seen and, as far as is known, stand."""
    upgrades: float
    larvae: float
    map_control: float
    """The share of the playable map that is in sight."""
    army_hp: float
    """Health and shields of own units that can attack, workers not counted."""
    enemy_army_hp: float
    """The same of the enemies in sight."""
    enemy_tech: float = 0.0
    """How far the enemy's structures that were seen go: 0 to 3; since version 2."""


SCALES: dict[str, float] = {
    "minerals": 2000.0,
    "gas": 1000.0,
    "supply_used": 200.0,
    "supply_cap": 200.0,
    "workers": 100.0,
    "units": 100.0,
    "visible_enemies": 100.0,
    "townhalls": 10.0,
    "seconds": 1000.0,
    "enemy_bases": 5.0,
    "upgrades": 10.0,
    "larvae": 20.0,
    "map_control": 1.0,
    "army_hp": 5000.0,
    "enemy_army_hp": 5000.0,
    "enemy_tech": 3.0,
}
"""What each number of a situation is divided by, in the order in which the policy sees them."""
_DIVISORS = np.array(list(SCALES.values()), np.float64)
_NUMBERS = {1: 15, 2: len(SCALES)}
"""How many of them each version of the observation has."""


def spec_of(version: int) -> Spec:
    """Return what a policy must have been made for to play with a version of the observation."""
    facts = Facts(
        seats=2, longest=1 << 16, hidden=True, chance=True, zero_sum=True,
        observation_version=version,
    )  # fmt: skip
    return Spec(
        name="starcraft2-macro",
        facts=facts,
        # Divided already, so a network has nothing left to scale.
        observation=Observation(tuple(Field(name) for name in list(SCALES)[: _NUMBERS[version]])),
        heads=(Head("strategy", len(Strategy), tuple(s.name.lower() for s in Strategy)),),
        abilities=Abilities(False, False, False, "starcraft2", "any"),
    )


VERSION = 2
SPEC = spec_of(VERSION)
"""What new policies are made for."""


def features(situation: Situation, version: int = VERSION) -> Floats:
    """Return the numbers that a policy sees: 16 of them, 15 in version 1."""
    values = np.array(astuple(situation), np.float64) / _DIVISORS
    if not np.isfinite(values).all():
        raise MacroError(f"A situation holds a number that is not finite: {situation}.")
    return values[: _NUMBERS[version]].astype(np.float32)


def version_in(folder: str | Path) -> int:
    """Return the version that the policy in service sees; the newest where it is no such policy."""
    place = PolicyFolder(folder)
    header = read_header(place.path_of(place.pointer().stable))
    same_game = header.game == SPEC.name and header.observation_version in _NUMBERS
    return header.observation_version if same_game else VERSION


def tech_level(structures: Iterable[Any]) -> float:
    """Return the highest step of the tree that a structure belongs to; 0 for the first."""
    names = {unit.type_id.name for unit in structures}
    return float(max((n for n, level in enumerate(TECH_LEVELS, 1) if level & names), default=0))


def army_hp(units: Iterable[Any]) -> float:
    """Return the health and shields of the units that can attack and are no workers."""
    army = (unit for unit in units if unit.can_attack and unit.type_id.name not in WORKERS)
    return float(sum(unit.health + unit.shield for unit in army))


def share_in_sight(visibility: NDArray[Any], area: Any) -> float:
    """Return how much of `area` (x, y, width, height) is in sight, which a map marks with 2."""
    area_visibility = visibility[area.y : area.y + area.height, area.x : area.x + area.width]
    return float(np.mean(area_visibility == 2)) if area_visibility.size else 0.0


def situation_of(bot: Any) -> Situation:
    """Return the moment that a BotAI is in."""
    bases = sum(unit.type_id.name in TOWNHALLS for unit in bot.enemy_structures)
    return Situation(
        minerals=bot.minerals,
        gas=bot.vespene,
        supply_used=bot.supply_used,
        supply_cap=bot.supply_cap,
        workers=len(bot.workers),
        units=len(bot.units),
        visible_enemies=len(bot.enemy_units),
        townhalls=len(bot.townhalls),
        seconds=bot.time,
        enemy_bases=bases,
        upgrades=len(bot.state.upgrades),
        larvae=len(bot.larva),
        map_control=share_in_sight(bot.state.visibility.data_numpy, bot.game_info.playable_area),
        army_hp=army_hp(bot.units),
        enemy_army_hp=army_hp(bot.enemy_units),
        enemy_tech=tech_level(bot.enemy_structures),
    )


def outcome_of(bot: Any, result: Any) -> float | None:
    """Return what a game came to: 1, 0 or -1; None where the program named no result.

    burnysc2 tells a bot of a defeat when its start failed, and of a tie when its own time limit
    has passed. Neither was the game's result, so neither is learnt as one.
    """
    if getattr(bot.client, "_game_result", None) is None:
        return None
    return {"Victory": 1.0, "Tie": 0.0, "Defeat": -1.0}.get(result.name)


class Handle(Protocol):
    """What is asked of a game of `lanista.live.Agent`."""

    def act(self, observation: Floats, mask: None = None) -> Any: ...
    def overrule(self, action: Any = None) -> None: ...
    def reward(self, reward: float) -> None: ...
    def end(self, outcome: float | None) -> None: ...


class MacroGame:
    """One game: asks the policy when its interval is over, and keeps what it said till then."""

    def __init__(self, handle: Handle, interval: float) -> None:
        if not interval > 0:
            raise MacroError(f"The interval is {interval!r} seconds; give a number above 0.")
        self.handle = handle
        self.interval = interval
        self._decided_at: float | None = None
        self._strategy = Strategy.ECONOMY
        self._ruled = False

    def strategy(self, seconds: float, observe: Callable[[], Floats]) -> Strategy:
        """Return the strategy of this moment of game time."""
        if self._due(seconds):
            self._ask(seconds, observe)
        return self._strategy

    def overrule(
        self, seconds: float, observe: Callable[[], Floats], strategy: Strategy
    ) -> Strategy:
        """Let a rule of the bot decide, for one interval at least."""
        if self._ruled and self._strategy is strategy and not self._due(seconds):
            return strategy
        if self._decided_at != seconds or self._ruled:
            # The policy's choice was followed for a while and stands: the rule has its own step.
            self._ask(seconds, observe)
        self.handle.overrule(int(strategy))
        self._strategy, self._ruled = strategy, True
        return strategy

    def _due(self, seconds: float) -> bool:
        return self._decided_at is None or seconds - self._decided_at >= self.interval

    def _ask(self, seconds: float, observe: Callable[[], Floats]) -> None:
        self._strategy = Strategy(self.handle.act(observe()))
        self._decided_at, self._ruled = seconds, False


class MacroAgent:
    """A mix-in: `class MyBot(MacroAgent, BotAI)`. Its names all begin with `macro_`.

    Call `macro_strategy()` in `on_step`. A bot with an `on_end` of its own calls
    `await super().on_end(game_result)` there; without that its games count as cut off.
    """

    macro_policies: str | Path = "policies"
    """The policy folder."""
    macro_spool: str | Path = "spool"
    """Where the games go."""
    macro_interval: float = INTERVAL
    """Seconds of game time between two questions to the policy."""
    macro_game_id: str | None = None
    """What the next game is called; a name of its own unless given."""
    macro_opponent: str | None = None
    """Whom this bot plays against; what a ladder told burnysc2 (`opponent_id`) unless given."""
    _macro_agent: Agent | None = None
    _macro_game: MacroGame | None = None
    _macro_client: Any = None
    _macro_version: int = VERSION

    def macro_strategy(self) -> Strategy:
        """Return the strategy to follow now; asks the policy when the interval is over."""
        return self._macro().strategy(self._seconds, self._observe)

    def macro_overrule(self, strategy: Strategy) -> Strategy:
        """Follow a rule of the bot instead, for an interval at least; return its strategy."""
        return self._macro().overrule(self._seconds, self._observe, strategy)

    def macro_reward(self, reward: float) -> None:
        """Reward what was chosen last, beside the game's result."""
        self._macro().handle.reward(reward)

    def macro_close(self) -> Report | None:
        """Cut off a game being played, write what waits, and report; None if there was no game."""
        agent, self._macro_agent, self._macro_game = self._macro_agent, None, None
        return None if agent is None else agent.close()

    async def on_end(self, game_result: Any) -> None:
        """Save the game, then let the bot end it too."""
        if self._macro_game is not None and self._macro_client is self._bot.client:
            self._macro_end(outcome_of(self, game_result))
        await super().on_end(game_result)  # type: ignore[misc]

    @property
    def _bot(self) -> Any:
        return self

    @property
    def _seconds(self) -> float:
        return float(self._bot.time)

    @property
    def _macro_opponent(self) -> str:
        opponent = self.macro_opponent or getattr(self, "opponent_id", None)
        # A ladder may call it anything, and a game is not given up for a name.
        return printable(opponent or "", LONGEST_ID)

    def _observe(self) -> Floats:
        return features(situation_of(self), self._macro_version)

    def _macro(self) -> MacroGame:
        """Return the game being played; a new connection to the program means a new one."""
        client = self._bot.client
        if self._macro_game is not None and self._macro_client is client:
            return self._macro_game
        if self._macro_game is not None:
            # The last one broke off without an end.
            self._macro_end(None)
        if self._macro_agent is None:
            self._macro_version = version_in(self.macro_policies)
            spec = spec_of(self._macro_version)
            self._macro_agent = Agent(self.macro_policies, self.macro_spool, spec=spec)
        name = self.macro_game_id or secrets.token_hex(16)
        game = self._macro_agent.game(name, opponent=self._macro_opponent)
        self._macro_game = MacroGame(game, self.macro_interval)
        self._macro_client, self.macro_game_id = client, None
        return self._macro_game

    def _macro_end(self, outcome: float | None) -> None:
        game, self._macro_game = self._macro_game, None
        if game is not None:
            game.handle.end(outcome)


def first_policy(
    folder: str | Path, seed: int = 0, width: int = 64, version: int = VERSION
) -> Pointer:
    """Publish a policy that has learnt nothing into an empty folder: all strategies alike."""
    place = PolicyFolder(folder)
    pointer = place.found()
    if pointer is not None:
        return pointer
    network = Network("mlp", width=width, layers=2)
    stream = Stream.keyed(seed, 0, 0, "act")
    arrays: dict[str, Floats] = {}
    for number, inputs in enumerate((_NUMBERS[version], width)):
        drawn = [stream.normal() for _ in range(width * inputs)]
        weight = np.array(drawn, np.float32).reshape(width, inputs) * np.sqrt(2 / inputs)
        arrays[f"torso.layers.{number}.weight"] = weight.astype(np.float32)
        arrays[f"torso.layers.{number}.bias"] = np.zeros(width, np.float32)
    arrays["head.weight"] = np.zeros((len(Strategy), width), np.float32)
    arrays["head.bias"] = np.zeros(len(Strategy), np.float32)
    header = PolicyHeader.of(spec_of(version), network, name="first")
    return place.publish(place.add(encode(header, arrays)), "the first policy")
