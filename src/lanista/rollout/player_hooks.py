"""Tells players with state when their matches start and end, and gives planners their copies.

Only players that have the methods are told, so nothing gets slower for the others. Knows nothing
of how matches are scheduled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import Plans, Player, SeatsMatches
from lanista.games.contract import Decisions, Game
from lanista.games.planning import Planner


class PlayerHooks:
    """The players at one game that keep state or plan, by their number in a seating."""

    def __init__(self, game: Game, players: Sequence[Player], first: int = 0) -> None:
        """Look after `players`, the first of whom has the number `first`."""
        numbered = list(enumerate(players, start=first))
        self._stateful = {n: player for n, player in numbered if isinstance(player, SeatsMatches)}
        planners = [(n, player) for n, player in numbered if isinstance(player, Plans)]
        self._planners: dict[int, Planner] = {}
        planner_by_player: dict[int, Planner] = {}
        for number, player in planners:
            if id(player) not in planner_by_player:  # Somebody may be there under several numbers.
                planner_by_player[id(player)] = Planner(game)
                player.plan_with(planner_by_player[id(player)])
            self._planners[number] = planner_by_player[id(player)]
        self.stateful, self.planning = bool(self._stateful), bool(self._planners)

    def started(self, slots: Any, seated: NDArray[np.int32], matches: NDArray[np.int64]) -> None:
        """Tell whoever keeps state that matches begin; `seated` and `matches` go with `slots`."""
        for player, place in self._places(slots, seated, matches):
            player.match_started(*place)

    def ended(self, slots: Any, seated: NDArray[np.int32], matches: NDArray[np.int64]) -> None:
        """Tell whoever keeps state that matches are over."""
        for player, place in self._places(slots, seated, matches):
            player.match_ended(*place)

    def _places(self, slots: Any, seated: NDArray[np.int32], matches: NDArray[np.int64]) -> Any:
        for slot, numbers, match in zip(slots, seated.tolist(), matches.tolist(), strict=True):
            for seat, number in enumerate(numbers):
                if number in self._stateful:
                    yield self._stateful[number], (int(slot), seat, match)

    def asked(self, decisions: Decisions, who: NDArray[Any]) -> None:
        """Let planners answer for the rows that are their player's; `who` is a number a row."""
        by_planner: dict[int, list[int]] = {}
        for number, planner in self._planners.items():
            by_planner.setdefault(id(planner), []).append(number)
        for planner in {id(planner): planner for planner in self._planners.values()}.values():
            rows = np.isin(who, by_planner[id(planner)])
            planner.ask(decisions.slot[rows], decisions.seat[rows])

    def close(self) -> None:
        """End whatever planners started outside this process."""
        for planner in self._planners.values():
            planner.close()
