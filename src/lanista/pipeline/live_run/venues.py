"""The games of `lanista live run`, by name; each is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lanista.pipeline.live_run.venue import Venue

GameName = Literal["arena", "starcraft2", "showdown"]


def venue_named(name: GameName) -> Venue:
    """Return how a game is played live."""
    if name == "arena":
        from lanista.pipeline.live_run.arena import Arena

        return Arena()
    if name == "starcraft2":
        from lanista.pipeline.live_run.starcraft import Starcraft

        return Starcraft()
    from lanista.pipeline.live_run.showdown import Showdown

    return Showdown()
