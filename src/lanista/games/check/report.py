"""What a checkup says: each check's name, how it went, and one sentence of evidence.

Knows nothing of how a check is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lanista.games.contract import GameError

Outcome = Literal["passed", "failed", "not applicable"]


class GameCheckError(GameError):
    """A game does not obey the contract."""


class Fault(Exception):  # noqa: N818 - a finding about a game, not an error of ours.
    """What a check found wrong, in one sentence. Never leaves the checker."""


class NotApplicable(Exception):  # noqa: N818 - not an error: the game does not claim this.
    """Why a check has nothing to say about a game. Never leaves the checker."""


@dataclass(frozen=True)
class Check:
    """One check of one game."""

    name: str
    about: str
    """What the check proves."""
    outcome: Outcome
    evidence: str

    def __str__(self) -> str:
        return f"{self.outcome:<14} {self.name:<12} {self.evidence}"


@dataclass(frozen=True)
class Checkup:
    """Every check of one game."""

    game: str
    checks: tuple[Check, ...]

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome == "failed")

    @property
    def passed(self) -> bool:
        return not self.failures

    def __getitem__(self, name: str) -> Check:
        """Return the check called `name`."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def __str__(self) -> str:
        return "\n".join(str(check) for check in self.checks)

    def raise_failures(self) -> None:
        """Raise a `GameCheckError` with a sentence for each failure, if there is one."""
        if self.failures:
            sentences = [f"{check.name}: {check.evidence}" for check in self.failures]
            raise GameCheckError("\n".join([f"{self.game} breaks its contract.", *sentences]))
