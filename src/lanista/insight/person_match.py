"""A match in which a person sits: asks the others, takes the person's moves, takes them back.

Chance and opponents are functions of seed and turn, so a move is taken back by playing the match
again up to it. Knows nothing of terminals, pages and clocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lanista.data.records import HUMAN as HUMAN_SOURCE
from lanista.errors import LanistaError
from lanista.games.bots import Player
from lanista.games.contract import Decisions, Game, GameError, Spec
from lanista.games.scenes import Board, Choice, Scene, action_words, board_of, legal_words
from lanista.insight.opponents import Person
from lanista.rollout.match_runner import Results
from lanista.rollout.player_hooks import PlayerHooks
from lanista.rollout.replay_recorder import Recorder
from lanista.rollout.schedule import Schedule

if TYPE_CHECKING:
    from lanista.insight.opinions import Adviser, Opinion

MATCH = 0
"""The id of the one match of its seed."""
_MATCH_IDS = np.array([MATCH])


class PersonMatch:
    """One match in slot 0 of a game, with one person in it."""

    def __init__(
        self,
        game: Game,
        players: Sequence[Player],
        options: Mapping[str, int] | None = None,
        deal: int = MATCH,
    ) -> None:
        """Seat `players`, one of whom is a `Person`, and play on until the person is asked."""
        persons = [seat for seat, one in enumerate(players) if isinstance(one, Person)]
        if len(persons) != 1:
            raise LanistaError(f"{len(persons)} persons sit in this match; seat one.")
        self.game, self.players = game, tuple(players)
        self.seat = persons[0]
        self.options, self.deal = dict(options or {}), deal
        self.board: Board = board_of(game.spec)
        self.hooks = PlayerHooks(game, self.players)
        self._seated = np.arange(len(self.players), dtype=np.int32)[None]
        self.turns: list[NDArray[np.int32]] = []
        """What was done in each turn, `[decisions, heads]`."""
        self.own_turns: list[int] = []
        """The turns in which the person had to choose."""
        self.log: list[tuple[int, str | None]] = []
        """Seat and words of each decision; None: the person does not see what it was."""
        self._log_length: list[int] = []
        self.decisions: Decisions
        self._begin()
        self._play_on()

    @property
    def spec(self) -> Spec:
        """What is played."""
        return self.game.spec

    @property
    def over(self) -> bool:
        """Whether the match has ended."""
        return bool(self.game.done[0].all())

    @property
    def row(self) -> int | None:
        """The person's row among the open decisions; None: nobody waits for the person."""
        rows = np.flatnonzero(self.decisions.seat == self.seat)
        return int(rows[0]) if len(rows) and not self.over else None

    def legal(self) -> list[list[Choice]]:
        """Return the person's legal choices, head by head."""
        return legal_words(self.board, self.game, 0, self.seat, self.decisions.mask[self._row()])

    def scene(self) -> Scene:
        """Return the position as the person sees it."""
        return self.board.scene(self.game, 0, frozenset({self.seat}))

    def hint(self, adviser: Adviser) -> Opinion:
        """Return what a policy thinks of the person's own view."""
        return adviser.opinion(self.board, self.game, self.decisions, self._row())

    def play(self, action: Sequence[int]) -> None:
        """Make the person's move and let everybody else answer; an illegal move is refused."""
        row = self._row()
        self._refuse_illegal(row, action)
        self.own_turns.append(len(self.turns))
        self._turn({row: list(action)})
        self._play_on()

    def undo(self) -> None:
        """Take back the person's last move and all that followed it."""
        if not self.own_turns:
            raise LanistaError("There is no move to take back.")
        turns = self.turns[: self.own_turns.pop()]
        del self.log[self._log_length[len(turns)] :]
        self.turns, self._log_length = [], []
        self._begin()
        for actions in turns:
            # Whoever remembers must see it all again; what it would do now does not count.
            self._answers({})
            self._act(actions, logged=False)
        self.decisions = self.game.decisions()

    def _begin(self) -> None:
        self.game.start([0], _MATCH_IDS, {**self.options, "deal": np.array([self.deal])})
        self.hooks.started([0], self._seated, _MATCH_IDS)
        self.decisions = self.game.decisions()

    def _play_on(self) -> None:
        """Let the others play until the person is asked or the match is over."""
        while not self.over and self.row is None:
            self._turn({})
        if self.over:
            self.hooks.ended([0], self._seated, _MATCH_IDS)
            self.hooks.close()

    def _turn(self, chosen: Mapping[int, list[int]]) -> None:
        self._act(self._answers(chosen))
        self.decisions = self.game.decisions()

    def _answers(self, chosen: Mapping[int, list[int]]) -> NDArray[np.int32]:
        """Return everybody's actions in this turn; `chosen` has the person's by row."""
        decisions = self.decisions = self.game.decisions()
        if not len(decisions):
            raise GameError(f"{self.spec.name} waits for nobody and is not over; check the game.")
        if self.hooks.planning:
            self.hooks.asked(decisions, decisions.seat)
        actions = np.zeros((len(decisions), len(self.spec.heads)), np.int32)
        for row in range(len(decisions)):
            seat = int(decisions.seat[row])
            if row in chosen:
                actions[row] = chosen[row]
            elif seat != self.seat:
                actions[row] = self.players[seat].act(decisions, np.array([row]))[0]
        return actions

    def _act(self, actions: NDArray[np.int32], *, logged: bool = True) -> None:
        self._log_length.append(len(self.log) if logged else self._log_length_before())
        if logged:
            self._put_down(actions)
        self.turns.append(np.array(actions))
        self.game.act(np.arange(len(actions)), actions)

    def _log_length_before(self) -> int:
        """Return where the log of a turn begins that is played again."""
        return sum(len(actions) for actions in self.turns)

    def _put_down(self, actions: NDArray[np.int32]) -> None:
        shown = self.board.open_moves or not self.spec.facts.hidden
        for row, action in enumerate(actions.tolist()):
            seat = int(self.decisions.seat[row])
            visible = shown or seat == self.seat
            mask = self.decisions.mask[row]
            words = action_words(self.board, self.game, 0, seat, mask, action) if visible else None
            self.log.append((seat, words))

    def _row(self) -> int:
        row = self.row
        if row is None:
            raise LanistaError("The match is over; begin another." if self.over else "Wait.")
        return row

    def _refuse_illegal(self, row: int, action: Sequence[int]) -> None:
        heads, start = self.spec.heads, 0
        if len(action) != len(heads):
            raise LanistaError(f"A move of {self.spec.name} has {len(heads)} parts; give each.")
        for head, choice in zip(heads, action, strict=True):
            inside = type(choice) is int and 0 <= choice < head.size
            if not inside or not self.decisions.mask[row, start + choice]:
                raise LanistaError(f"{choice!r} is no legal {head.name} now; choose another.")
            start += head.size

    def results(self) -> Results:
        """Return what came of the match, with its actions."""
        if not self.over:
            raise LanistaError("The match is not over, so there is nothing to record yet.")
        none = np.empty((0, len(self.spec.heads)), np.int32)
        actions = np.concatenate([none, *self.turns])
        return Results(
            schedule=Schedule(_MATCH_IDS, np.array([self.deal]), self._seated),
            returns=self.game.returns[:1].copy(),
            place=self.game.place[:1].copy(),
            score=self.game.score[:1].copy(),
            decisions=np.array([len(actions)], np.int32),
            cut_off=np.array([self.game.cut_off[0].any()]),
            digests=tuple(player.digest for player in self.players),
            actions=actions,
        )

    def record(self, folder: Path) -> Path:
        """Write the match as a replay of a human, and return the file."""
        recorder = Recorder(folder, self.game, self.players, self.options, HUMAN_SOURCE)
        return recorder.write(self.results())

    def close(self) -> None:
        """End whatever the match started outside this process."""
        self.hooks.close()
        self.game.close()
