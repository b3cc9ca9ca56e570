"""A number of battles on a server with one account: ladder, challenges, or whoever challenges.

Keeps as many going as are allowed at once, and stops in order. Knows nothing of terminals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from lanista.live.showdown.player import ServerPlayer, StoppedError
from lanista.live.showdown.table import Result

Kind = Literal["ladder", "challenge", "accept"]


@dataclass(frozen=True)
class Aim:
    """Which battles are wanted."""

    kind: Kind
    battles: int
    user: str | None = None
    """Whom to challenge."""


class Session:
    """Battles of one player until there are enough, or somebody stops it."""

    def __init__(
        self,
        player: ServerPlayer,
        aim: Aim,
        team: str | None,
        report: Callable[[Result], None],
        concurrency: int = 1,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare; `report` is called with every battle as it ends, `begun` after logging in."""
        self.player, self.aim, self.team = player, aim, team
        self.interrupts = 0
        self._report, self._begun = report, begun
        self._concurrency = concurrency
        self._left = aim.battles

    async def run(self) -> None:
        """Connect and play; return once all battles are over.

        Where no more battles can be had, those in progress are played to their end first.
        """
        try:
            await self.player.connect()
            self._begun()
            lanes = min(self._concurrency, self.aim.battles)
            ends = await asyncio.gather(
                *(self._lane() for _ in range(lanes)), return_exceptions=True
            )
            for end in ends:
                if isinstance(end, BaseException):
                    raise end
        except StoppedError:
            pass
        finally:
            await self.player.close()

    def interrupt(self) -> None:
        """Begin no more battles; the second time give up those in progress, then leave them."""
        self.interrupts += 1
        self.player.stop()
        if self.interrupts == 2:
            self.player.give_up()
        elif self.interrupts > 2:
            self.player.cut_off()

    async def _lane(self) -> None:
        """Play one battle after another."""
        while self._left > 0:
            self._left -= 1
            try:
                self._report(await self._battle())
            except StoppedError:
                return
            except BaseException:
                self.player.stop()
                raise

    def _battle(self) -> Awaitable[Result]:
        if self.aim.kind == "ladder":
            return self.player.search(self.team)
        if self.aim.user is not None:
            return self.player.challenge(self.aim.user, self.team)
        return self.player.accept(self.team)
