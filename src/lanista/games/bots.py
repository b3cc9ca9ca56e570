"""What a scripted player is, and the base of one written in Python.

A bot sees decisions, that is a seat's view, and nothing else of the game. What is random in it
comes from the stream of (seed, match, seat, turn). A bot may keep state for each seat it sits in,
and may plan on copies of a position as its seat knows it; whoever plays matches asks a player for
that by its methods, see `SeatsMatches` and `Plans`. One that never looks at `observation` has
`reads_observation = False`, which spares a game the work.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Decisions, GameError, Ints, Spec
from lanista.games.streams import Stream

if TYPE_CHECKING:
    from lanista.games.planning import Copies, Planner


class Player(Protocol):
    """Whoever answers decisions: a bot, later a policy."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str:
        """Names the exact behaviour; two players that can differ have different digests."""
        ...

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        ...


@runtime_checkable
class SeatsMatches(Protocol):
    """A player that is told when a match starts and ends in a seat of its own."""

    def match_started(self, slot: int, seat: int, match: int) -> None: ...
    def match_ended(self, slot: int, seat: int, match: int) -> None: ...


@runtime_checkable
class Plans(Protocol):
    """A player that is given copies of positions as its seat knows them."""

    def plan_with(self, planner: Planner) -> None: ...


def reads_observation(player: Player) -> bool:
    """Return whether a player looks at its observations; one that does not says so itself."""
    return bool(getattr(player, "reads_observation", True))


def bot_digest(game: str, name: str, version: int) -> str:
    """Return a bot's digest; `version` moves exactly when its choices can."""
    return hashlib.sha256(f"bot {game}/{name} version {version}".encode()).hexdigest()


class PythonBot:
    """A bot with one method to write: `choose`."""

    name = "python"
    version = 1

    def __init__(self, spec: Spec, seed: int) -> None:
        self.spec, self.seed = spec, seed

    @property
    def digest(self) -> str:
        return bot_digest(self.spec.name, self.name, self.version)

    def choose(
        self, observation: NDArray[Any], legal: list[list[int]], stream: Stream
    ) -> int | list[int]:
        """Return a choice for each head (a plain number where there is one head).

        `legal` lists, for each head, the choices allowed.
        """
        raise NotImplementedError

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        actions = np.empty((len(rows), len(self.spec.heads)), np.int32)
        for i, row in enumerate(rows):
            stream = stream_of(self.seed, decisions, row)
            legal = legal_choices(self.spec, decisions.mask[row])
            actions[i] = self.choose(decisions.observation[row], legal, stream)
        return actions


class StatefulBot(PythonBot):
    """A bot that remembers: `begin` makes a seat's state, `choose_with` reads and changes it."""

    def __init__(self, spec: Spec, seed: int) -> None:
        super().__init__(spec, seed)
        self._states: dict[tuple[int, int], tuple[int, Any]] = {}
        """By slot and seat: the match and the state."""

    def begin(self, seat: int) -> Any:
        """Return the state of a seat whose match begins."""
        raise NotImplementedError

    def choose_with(
        self, state: Any, observation: NDArray[Any], legal: list[list[int]], stream: Stream
    ) -> int | list[int]:
        """Return a choice for each head, as `choose` does."""
        raise NotImplementedError

    def match_started(self, slot: int, seat: int, match: int) -> None:
        """Begin afresh in a slot."""
        self._states[slot, seat] = (match, self.begin(seat))

    def match_ended(self, slot: int, seat: int, match: int) -> None:
        """Forget the match of a slot."""
        self._states.pop((slot, seat), None)

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        actions = np.empty((len(rows), len(self.spec.heads)), np.int32)
        for i, row in enumerate(rows):
            slot, seat, match = place_of(decisions, row)
            # Where nobody says that matches begin, the match's id does.
            if self._states.get((slot, seat), (None,))[0] != match:
                self.match_started(slot, seat, match)
            state = self._states[slot, seat][1]
            legal = legal_choices(self.spec, decisions.mask[row])
            stream = stream_of(self.seed, decisions, row)
            actions[i] = self.choose_with(state, decisions.observation[row], legal, stream)
        return actions


class PlanningBot(PythonBot):
    """A bot that looks ahead: `plan` is given copies of the position as its seat knows it."""

    copies = 64
    """How many copies `plan` is given."""

    def __init__(self, spec: Spec, seed: int) -> None:
        super().__init__(spec, seed)
        self._planner: Planner | None = None

    def plan(
        self, copies: Copies, observation: NDArray[Any], legal: list[list[int]], stream: Stream
    ) -> int | list[int]:
        """Return a choice for each head, as `choose` does."""
        raise NotImplementedError

    def plan_with(self, planner: Planner) -> None:
        """Take what gives copies of the positions it is asked about."""
        self._planner = planner

    @property
    def planner(self) -> Planner:
        """What gives copies; refused where whoever plays gave none."""
        if self._planner is None:
            raise GameError(
                f"The bot {self.name!r} looks ahead, and whoever plays here gives no copies of a "
                "position; play it with lanista play, evaluate or in training."
            )
        return self._planner

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        planner = self.planner
        actions = np.empty((len(rows), len(self.spec.heads)), np.int32)
        for i, row in enumerate(rows):
            stream = stream_of(self.seed, decisions, row)
            copies = planner.copies(decisions, row, stream, self.copies)
            legal = legal_choices(self.spec, decisions.mask[row])
            actions[i] = self.plan(copies, decisions.observation[row], legal, stream)
        return actions


class StateBot(PlanningBot):
    """A bot that reads the rules' own objects: `choose_in` is given the state of the match.

    What its seat cannot see is redrawn in it, and so is the chance still to come: it is one of the
    positions that the seat may be in.
    """

    copies = 1

    def choose_in(
        self, state: Any, seat: int, legal: list[list[int]], stream: Stream
    ) -> int | list[int]:
        """Return a choice for each head, as `choose` does."""
        raise NotImplementedError

    def plan(
        self, copies: Copies, observation: NDArray[Any], legal: list[list[int]], stream: Stream
    ) -> int | list[int]:
        return self.choose_in(copies.state(), copies.seat, legal, stream)


def place_of(decisions: Decisions, row: int) -> tuple[int, int, int]:
    """Return slot, seat and match of a decision."""
    return int(decisions.slot[row]), int(decisions.seat[row]), int(decisions.match[row])


def stream_of(seed: int, decisions: Decisions, row: int) -> Stream:
    """Return what is random in the answer to a decision."""
    _, seat, match = place_of(decisions, row)
    return Stream.keyed(seed, match, seat, "act", int(decisions.turn[row]))


def foreign_decisions(bot: Player, decisions: Decisions) -> GameError:
    """Return the error of a bot that is asked for rows that are not there or not of its game."""
    return GameError(
        f"The bot {bot.name!r} was asked for rows beyond the {len(decisions)} decisions, or for "
        "decisions of another game; give it rows of its own game's decisions()."
    )


def legal_choices(spec: Spec, mask: NDArray[Any]) -> list[list[int]]:
    """Return, for each head, the choices that a mask allows."""
    choices, start = [], 0
    for head in spec.heads:
        choices.append(np.flatnonzero(mask[start : start + head.size]).tolist())
        start += head.size
    return choices
