"""What a learner asks of whoever collects its experience: one collector, or many workers.

`Collector` and `ParallelCollector` are both of this kind; a learner does not ask which it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lanista.data.trajectory import Unrolls
from lanista.games.bots import Player
from lanista.rollout.collector import Seating
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.client import RemoteActor
from lanista.rollout.outcome_counts import Tally
from lanista.rollout.timing import Phases


@dataclass(frozen=True)
class Opponent:
    """Somebody to meet: as a player here, and as what makes the player in another process."""

    player: Player
    make: Callable[..., Player]


class ExperienceSource(Protocol):
    """Plays for a learner and gives unrolls."""

    update: int
    """The learner's update count, for what is played from now on."""
    shaping_scale: float
    """Weight of the game's reward shaping, from now on."""
    tally: Tally
    phases: Phases
    """Where the time of the learner's thread goes."""
    seating: Seating
    plays_here: bool
    """Opponents answer in the learner's thread, so they belong on its device."""
    cpu_seconds: float
    """What other processes have spent."""
    next_match: Any
    """The id of the next match, or of each worker's."""

    @property
    def actor(self) -> Actor | RemoteActor:
        """Whoever chooses for the learner."""

    @property
    def streaming(self) -> bool:
        """Matches are in flight between two calls."""

    def seat(self, opponents: Sequence[Opponent], seating: Seating) -> None:
        """Let `seating` decide who plays where from now on."""

    def in_flight(self) -> set[int]:
        """Return the numbers of those who sit in matches that go on."""

    def whole_matches(self, matches: int) -> Unrolls:
        """Play fresh matches to their end; return all unrolls of the learner."""

    def unrolls(self, count: int) -> Unrolls:
        """Play on until at least `count` unrolls are complete, and return those."""

    def measured(self) -> dict[str, float]:
        """Return metrics of how experience was made since the last call."""

    def worker_times(self) -> list[tuple[dict[str, float], dict[str, float]]]:
        """Return wall-clock and CPU seconds by phase of each worker that is not here."""

    def server_times(self) -> tuple[dict[str, float], dict[str, float]] | None:
        """Return the same of central inference since the last call; None where there is none."""

    def take_notices(self) -> list[str]:
        """Return what the user should know, each sentence once."""

    def save(self) -> dict[str, Any]:
        """Return everything needed to go on exactly so."""

    def rested(self) -> dict[str, Any]:
        """Return what it takes to go on behind the last complete call, asking nobody."""

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` or `rested` gave."""

    def close(self) -> None:
        """End whatever was started outside this process."""
