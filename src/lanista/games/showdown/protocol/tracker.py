"""Follows one battle for one player: protocol lines and requests in, observations out.

The same in a worker's battles and on a server, since both hand over the same two things. Knows
nothing of the other player's requests, of policies, or of how the battle came to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from lanista.games.contract import GameError
from lanista.games.showdown.formats import Format
from lanista.games.showdown.observation.encoding import Writer, writer_of
from lanista.games.showdown.observation.token_encoding import TokenWriter, token_writer_of
from lanista.games.showdown.observation.token_fields import VERSION
from lanista.games.showdown.protocol.battle_state import Known
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.major_lines import LINES, QUIET
from lanista.games.showdown.protocol.minor_lines import MINOR_LINES, QUIET_MINOR
from lanista.games.showdown.protocol.naming import credit
from lanista.games.showdown.protocol.requests import Own, read_request
from lanista.games.showdown.sim.views import Request

HANDLERS = {**LINES, **MINOR_LINES}
IGNORED = QUIET | QUIET_MINOR


class Tracker:
    """What one seat knows of one battle.

    Hear the lines, then the request (`ask`), then `encode`; after every update, in that order.
    """

    def __init__(
        self, format: Format, seat: int, belief: Belief | None = None, observation: int = 1
    ) -> None:
        """Begin before the first line.

        `belief` is what the seat knows of others' teams, `observation` the version to write.
        """
        places = 2 if format.doubles else 1
        self.format = format
        self.seat = seat
        self.battle = Known(seat, places)
        self.own = Own()
        self._belief = belief
        self._writer: Writer | TokenWriter = (
            token_writer_of(places) if observation == VERSION else writer_of(places)
        )

    @property
    def strange(self) -> Counter[str]:
        """Kinds of line and effects that were ignored because nobody here knows them."""
        return self.battle.strange

    def hear(self, lines: Iterable[str]) -> None:
        """Take in protocol lines, as this player sees them."""
        battle = self.battle
        for line in lines:
            fields = line.split("|")
            if len(fields) < 2:
                continue
            handler = HANDLERS.get(fields[1])
            if handler is None:
                if fields[1] not in IGNORED:
                    battle.strange[fields[1]] += 1
                continue
            try:
                if "[from] " in line:
                    credit(battle, fields)
                handler(battle, fields)
            except (IndexError, ValueError, KeyError) as error:
                raise GameError(
                    f"The line {line!r} of a Showdown battle cannot be read: {error}."
                ) from error

    def ask(self, request: Request) -> None:
        """Take in what the player is asked now, and with it all of its own team."""
        try:
            read_request(self.own, self.battle, request)
        except (IndexError, ValueError, KeyError, TypeError) as error:
            raise GameError(f"A request of a Showdown battle cannot be read: {error!r}.") from error

    def encode(self, out_row: NDArray[Any]) -> None:
        """Write the observation into `out_row`, every entry of it."""
        self._writer.write(self.battle, self.own, self._belief, out_row)
