"""Copies of a position as one seat knows it, to be played on: the door for players that plan.

A planner holds a private game object. What the seat cannot see is redrawn in every copy before
anybody may look at it, and so is the chance that is still to come. It answers only for seats that
are asked for a decision just now. Knows nothing of how a player chooses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Decisions, Floats, Game, GameError, Ints, Saved
from lanista.games.open_positions import OpenPosition, open_position
from lanista.games.python_game import PythonGame
from lanista.games.streams import Stream


class Copies:
    """Positions that look the same to `seat`, numbered from 0; played on by whoever holds them."""

    def __init__(self, game: Game, seat: int, count: int, match_ids: NDArray[np.int64]) -> None:
        self._game, self._match_ids = game, match_ids
        self.seat, self.count = seat, count
        self.spec = game.spec

    def __len__(self) -> int:
        return self.count

    def decisions(self) -> Decisions:
        """Return every decision that is ready; `slot` is the copy's number."""
        rows = self._game.decisions()
        # Ids of their own: a player that draws by match id draws otherwise in every copy, and
        # otherwise than in the match that is being played.
        return replace(rows, match=self._match_ids[rows.slot])

    def act(self, rows: Any, actions: Any) -> Ints:
        """Answer `rows` of the last `decisions()`; return the copies that ended."""
        return self._game.act(rows, actions)

    def choose(self, actions: Any) -> None:
        """Answer the seat's own decision in every copy, `[copies, heads]`."""
        own = np.flatnonzero(self.decisions().seat == self.seat)
        self.act(own, np.asarray(actions).reshape(len(own), -1))

    def play_out(self, player: Player) -> Floats:
        """Let `player` play every seat to the end; return what the seats got, `[copies, seats]`."""
        while len(decisions := self.decisions()):
            every = np.arange(len(decisions))
            self.act(every, player.act(decisions, every))
        return self.returns()

    def state(self, copy: int = 0) -> Any:
        """Return a copy as the rules' own objects: what a game's hooks and rules work on.

        It is the position that the copies hold: what is changed in it may change the copy.
        """
        if isinstance(self._game, PythonGame):
            return self._game.rules_state(copy)
        if not hasattr(self._game, "state"):
            raise GameError(
                f"{self.spec.name} shows no state of its rules; choose by the observation, or plan "
                "with copies."
            )
        values, made = self._game.state(copy), registry.entry(self.spec.name).state
        return values if made is None else made(self.spec, values)

    def over(self) -> NDArray[np.bool_]:
        """Return which copies have ended."""
        return np.asarray(self._game.done.all(axis=1))

    def returns(self) -> Floats:
        """Return what the seats got, `[copies, seats]`; of copies that go on it is NaN."""
        returns = self._game.returns.copy()
        returns[~self.over()] = np.nan
        return returns


class Planner:
    """Gives copies of the positions of one game, as the seats that are asked know them."""

    def __init__(self, game: Game, slots: int = 1024) -> None:
        """Copy positions of `game`, up to `slots` times; a game that cannot be is refused."""
        facts, name = game.spec.facts, game.spec.name
        if not game.spec.abilities.restorable:
            raise GameError(f"{name} cannot be saved, so its positions cannot be copied to plan.")
        if facts.chance and not facts.hidden:
            raise GameError(
                f"{name} has chance and hides nothing, so nothing redraws what is still to come "
                "and a copy would show it; it cannot be planned in."
            )
        self.slots = slots
        self._game = game
        self._spare: Game | None = None
        self._open_decisions: set[tuple[int, int]] = set()

    def ask(self, slots: NDArray[Any], seats: NDArray[Any]) -> None:
        """Answer for these seats from now on, and for no others; whoever runs the match says."""
        self._open_decisions = set(zip(slots.tolist(), seats.tolist(), strict=True))

    def copies(self, decisions: Decisions, row: int, stream: Stream, count: int = 0) -> Copies:
        """Return `count` copies of the position of a decision, as its seat knows it.

        They are good until the next call. `count` 0 is all the planner's slots.
        """
        slot, seat = self._open_decision(decisions, row)
        count = count or self.slots
        if not 0 < count <= self.slots:
            raise GameError(f"{count} copies were asked for; give a number from 1 to {self.slots}.")
        saved = self._game.save([slot] * count)
        _refuse_answers(saved)
        spare = self._spare_game(count)
        spare.load(np.arange(count), saved)
        for copy in range(count):
            self._redraw(spare, copy, seat, stream)
        ids = np.array([stream.next_word() >> 1 for _ in range(count)], np.int64)
        return Copies(spare, seat, count, ids)

    def position(self, decisions: Decisions, row: int) -> Any:
        """Return a copy of the state that a game in Python has at a decision, as `deal` gives it.

        For games that hide nothing: whoever searches them with means of its own.
        """
        slot, _ = self._open_decision(decisions, row)
        game = self._game
        if game.spec.facts.hidden or not isinstance(game, PythonGame):
            raise GameError(
                f"{game.spec.name} hides something or is compiled, so nobody is given its state; "
                "plan on copies()."
            )
        return game.copy(game.rules_state(slot))

    def open_position(self, decisions: Decisions, row: int) -> OpenPosition:
        """Return the position of a decision, to be searched: for games in which all is seen."""
        state = self.position(decisions, row)
        assert isinstance(self._game, PythonGame)
        return open_position(self._game, state, int(decisions.turn[row]))

    def _open_decision(self, decisions: Decisions, row: int) -> tuple[int, int]:
        """Return slot and seat of a row, which must be one that is asked for just now."""
        slot, seat = int(decisions.slot[row]), int(decisions.seat[row])
        if (slot, seat) not in self._open_decisions:
            raise GameError(
                f"Seat {seat} of slot {slot} is not asked for a decision now; plan for a row that "
                "act() was given."
            )
        return slot, seat

    def close(self) -> None:
        """End whatever the private game started outside this process."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def _redraw(self, spare: Game, copy: int, seat: int, stream: Stream) -> None:
        if not spare.spec.facts.hidden:
            return  # No chance either: the position is all there is.
        try:
            spare.resample_hidden(copy, seat, stream)
        except (GameError, NotImplementedError) as error:
            raise GameError(
                f"{spare.spec.name} cannot redraw what a seat does not see ({error}), so it cannot "
                "be planned in; write its resample."
            ) from error

    def _spare_game(self, slots: int) -> Game:
        """Return the private game, with exactly so many slots that none is left from before."""
        if self._spare is not None and self._spare.slots == slots:
            return self._spare
        self.close()
        game, settings = self._game, dict(self._game.spec.settings)
        try:
            spare: Game = type(game)(slots=slots, seed=game.seed, **settings)  # type: ignore[call-arg]
        except TypeError as error:
            raise GameError(
                f"{game.spec.name} cannot be made a second time from its settings ({error}), so it "
                "cannot be planned in."
            ) from error
        self._spare = spare
        return spare


def _refuse_answers(saved: Saved) -> None:
    """Refuse a position in which somebody has answered already: a copy would hold the answer."""
    answered = saved["answered"] > 0 if "answered" in saved else saved["answers"] >= 0
    if answered.any():
        raise GameError("Another seat has answered in this turn already; plan before answers come.")
