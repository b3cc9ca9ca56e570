"""What `lanista live run` needs of a game: a first policy, settings, players, a place to play.

Knows nothing of processes and of learning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lanista.live.learner.settings import LiveSettings

Say = Callable[[str], None]
Facts = dict[str, str | int | None]
"""What must stay the same when a folder is gone on with, by the names of the flags."""


@dataclass(frozen=True)
class Setup:
    """A folder in which live bots play and learn."""

    folder: Path
    players: int
    """How many processes play."""
    facts: Facts
    first: str | None = None
    """The policy to begin from; None: the game's own."""

    @property
    def policy(self) -> Path:
        return self.folder / "policy"

    @property
    def spool(self) -> Path:
        return self.folder / "spool"

    @property
    def opponent(self) -> str:
        return str(self.facts["opponent"])

    @property
    def seed(self) -> int:
        return int(self.facts["seed"] or 0)


@dataclass(frozen=True)
class Ground:
    """What the players play on, while it runs."""

    words: tuple[str, ...] = ()
    """That each player is given."""
    look: Callable[[], None] = field(default=lambda: None)
    """Called now and then; mends what has ended."""


class Venue(Protocol):
    """A game that is played live, and how."""

    policy_game: str
    """What its policy files call it."""
    module: str
    """Of the player's process."""
    defaults: Mapping[str, str | int | None]
    """All facts, as they are unless given."""

    def refuse(self, setup: Setup) -> None:
        """Refuse what cannot be played, before anything is made."""
        ...

    def settings(self, seed: int) -> LiveSettings:
        """Return the learner's settings."""
        ...

    def first_policy(self, setup: Setup, say: Say) -> tuple[bytes, str]:
        """Make the policy to begin from; return its file's bytes and what it is."""
        ...

    def words(self, setup: Setup, number: int) -> list[str]:
        """Return what player `number` is given besides folders, seed and ground."""
        ...

    def ground(self, setup: Setup, say: Say) -> Iterator[Ground]:
        """Start what is played on; a generator that ends it after one step."""
        ...


def nothing_to_start(setup: Setup, say: Say) -> Iterator[Ground]:
    """The ground of players that bring their own."""
    yield Ground()


@contextmanager
def started(venue: Venue, setup: Setup, say: Say) -> Iterator[Ground]:
    """Hold what the players play on while the block runs."""
    yield from venue.ground(setup, say)
