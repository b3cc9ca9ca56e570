"""The meter's three instruments behind one call, `read(subject)`.

A subject is a bot's name, a policy file or a bot's Python file. Owns how each is set up to be
measured. Knows nothing of what a reading is used for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.league.meter import Reading, exact_reading, pool_reading
from lanista.league.standings import summarise
from lanista.pipeline.best_response import ResponseSettings, best_response
from lanista.pipeline.exploit import TEST, probabilities_of
from lanista.pipeline.players import player_of
from lanista.rollout.blocks import one_thread
from lanista.rollout.play import Table, play
from lanista.rollout.seating import rotations

_SLOTS = 1024


@dataclass(frozen=True)
class Exact:
    """What OpenSpiel's solver says: NashConv, for small games."""

    game: str
    game_settings: Mapping[str, Any] = field(default_factory=dict)

    def read(self, subject: str | Path) -> Reading:
        """Measure a player that can tell how it chooses."""
        spec = registry.spec_of(self.game, **self.game_settings)
        player = player_of(self.game, str(subject), spec, 0)
        policy = probabilities_of(player)
        if policy is None:
            raise LanistaError(
                f"{subject} cannot tell how it chooses, so it has no exact reading; use the "
                "learned instrument."
            )
        return exact_reading(spec.name, policy, str(subject), player.digest)


@dataclass(frozen=True)
class Learned:
    """What learned best responses earn; a folder keeps them, so that a reading can be resumed."""

    settings: ResponseSettings
    folder: Path

    def read(self, subject: str | Path) -> Reading:
        """Train against the subject, or go on where that was left, and measure."""
        spec = registry.spec_of(self.settings.game, **self.settings.game_settings)
        player = player_of(self.settings.game, str(subject), spec, self.settings.seed)
        output = self.folder / f"{player.digest[:16]}.safetensors"
        found = best_response(subject, self.settings, output, resume=True)
        assert found is not None  # Nothing stops it.
        return found.reading


@dataclass(frozen=True)
class Pool:
    """The lowest score over others."""

    game: str
    pool: Sequence[str]
    """Bots, policy files, bots' Python files."""
    game_settings: Mapping[str, Any] = field(default_factory=dict)
    matches: int = 1000
    """Against each, every deal in all seatings."""
    seed: int = 0

    def read(self, subject: str | Path) -> Reading:
        """Play the subject against everybody of the pool."""
        game = registry.make(
            self.game, slots=min(self.matches, _SLOTS), seed=self.seed, **self.game_settings
        )
        try:
            mine = player_of(self.game, str(subject), game.spec, self.seed)
            seats = [0, *[1] * (game.spec.seats - 1)]
            schedule = rotations(seats, self.matches, first_match=TEST, first_deal=TEST)
            scores = {}
            for word in self.pool:
                other = player_of(self.game, word, game.spec, self.seed)
                with one_thread():
                    results = play([Table(game, (mine, other))], schedule)
                scores[word] = summarise(results, (str(subject), word)).standings[0].score
        finally:
            game.close()
        return pool_reading(str(subject), mine.digest, scores)
