"""What a scripted player is, and the base of one written in Python.

A bot sees decisions, that is a seat's view, and nothing else of the game. It keeps nothing
between calls: what is random in it comes from the stream of (seed, match, seat, turn).
"""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Decisions, GameError, Ints, Spec
from lanista.games.streams import Stream


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
            stream = Stream.keyed(
                self.seed,
                int(decisions.match[row]),
                int(decisions.seat[row]),
                "act",
                int(decisions.turn[row]),
            )
            legal = legal_choices(self.spec, decisions.mask[row])
            actions[i] = self.choose(decisions.observation[row], legal, stream)
        return actions


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
