"""What each move of one decision is worth: by search where everything is seen, else by play-outs.

A search goes by the policy and its value file. Play-outs let the policy play all seats to the end
from copies of the position as the seat knows it, the same copies for every move. Knows nothing of
files and pages.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lanista.data.resimulation import refereeing
from lanista.errors import LanistaError
from lanista.games.bots import legal_choices
from lanista.games.contract import Decisions, Game, GameError, Spec
from lanista.games.open_positions import OpenPosition, reason_against_search
from lanista.games.planning import Planner
from lanista.games.python_game import PythonGame
from lanista.games.scenes import Board, board_of, choice_words
from lanista.games.streams import Stream
from lanista.insight.films import Take
from lanista.insight.opinions import Adviser, Opinion
from lanista.rollout.inference.policy_players import PolicyPlayer
from lanista.rollout.inference.search_player import Judge
from lanista.rollout.tree_search import Node, Tree

SIMULATIONS = 200
COPIES = 64
MOST_MOVES = 8
"""Moves that are played out: the likeliest, and the one that was made."""


@dataclass(frozen=True)
class Judged:
    """What one move is worth to its seat."""

    words: str
    choice: int
    value: float
    error: float | None
    """Standard error of a mean of play-outs; None: a search has none."""
    weight: int
    """Simulations or play-outs that went by it."""
    played: bool


@dataclass(frozen=True)
class Judgement:
    """What the moves of a decision are worth."""

    method: str
    moves: tuple[Judged, ...]
    """Best first."""

    @property
    def cost(self) -> float | None:
        """What the move that was made is worth less than the best; None: it was not looked at."""
        made = [move.value for move in self.moves if move.played]
        return max(move.value for move in self.moves) - made[0] if made else None

    def plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        moves = [asdict(move) for move in self.moves]
        return {"method": self.method, "moves": moves, "cost": self.cost}


def reason_against(spec: Spec, adviser: Adviser | None) -> str:
    """Return why the moves of a game cannot be judged by a policy, or nothing."""
    if adviser is None:
        return "no policy is named"
    if adviser.policy.state_size:
        return "the policy remembers earlier positions, which copies of one have not had"
    if len(spec.heads) != 1:
        return f"a move has {len(spec.heads)} parts"
    if reason_against_search(spec) and not spec.abilities.restorable:
        return "the game cannot be copied"
    if reason_against_search(spec) and spec.facts.chance and not spec.facts.hidden:
        return "the game has chance and hides nothing, so a copy would show what is to come"
    return ""


class _ReachedError(Exception):
    """The decision was judged; the rest of the match is not needed."""


def judge(take: Take, step: int, seat: int, adviser: Adviser) -> Judgement:
    """Return what the moves of a seat were worth at a step of a match."""
    with refereeing(take.header, slots=1, game=take.game) as referee:
        if reason := reason_against(referee.spec, adviser):
            raise LanistaError(f"Moves of {referee.spec.name} cannot be judged: {reason}.")
        look = _Look(step, seat, adviser, referee.spec)
        try:
            referee.play([take.record], look)
        except _ReachedError:
            pass
        finally:
            look.close()
    if look.judgement is None:
        raise LanistaError(f"Seat {seat} has no decision at step {step} of this match.")
    return look.judgement


class _Look:
    """Looks on until one decision comes, and judges it."""

    def __init__(self, step: int, seat: int, adviser: Adviser, spec: Spec) -> None:
        self.left, self.seat, self.adviser = step, seat, adviser
        self.board: Board = board_of(spec)
        self.judgement: Judgement | None = None
        self.planner: Planner | None = None

    def decided(self, game: Game, row: Any, match: Any, decisions: Decisions, actions: Any) -> None:
        """Judge the decision that is looked for."""
        if self.left == 0:
            rows = np.flatnonzero(decisions.seat == self.seat)
            if len(rows):
                at = int(rows[0])
                self.judgement = self._judge(game, decisions, at, int(actions[at][0]))
            raise _ReachedError
        self.left -= 1

    def ended(self, game: Game, slots: Any, matches: Any) -> None:
        """See the end: no decision was found."""

    def _judge(self, game: Game, decisions: Decisions, row: int, made: int) -> Judgement:
        planner = self.planner = Planner(game, COPIES)
        planner.ask(decisions.slot, decisions.seat)
        if isinstance(game, PythonGame) and not reason_against_search(game.spec):
            return self._searched(game, planner, decisions, row, made)
        return self._played_out(game, planner, decisions, row, made)

    def _searched(
        self, game: Game, planner: Planner, decisions: Decisions, row: int, made: int
    ) -> Judgement:
        position = planner.open_position(decisions, row)
        root = self._tree(game, position)
        moves = [
            self._move(game, choice, value, None, count, made)
            for choice, value, count in zip(
                root.moves, root.values().tolist(), root.visits.tolist(), strict=True
            )
            if count and choice != made
        ]
        moves.append(self._move(game, made, *self._after(game, position, root, made), made))
        return _best_first(f"search, {SIMULATIONS} simulations", moves)

    def _tree(self, game: Game, position: OpenPosition) -> Node:
        """Return the root of a search of a position, without noise."""
        stream = Stream.keyed(0, 0, self.seat, "act", position.turn)
        judging = Judge(self.adviser.policy, self.adviser.critic, game.spec, self.adviser.name)
        tree = Tree(position, SIMULATIONS)
        while (leaf := tree.leaf()) is not None:
            tree.judged(*judging([leaf], [stream])[0])
        assert tree.root is not None
        return tree.root

    def _after(
        self, game: Game, position: OpenPosition, root: Node, made: int
    ) -> tuple[float, None, int]:
        """Return what the move that was made is worth, from a search of its own if need be."""
        at = root.moves.index(made)
        if root.visits[at] >= SIMULATIONS // 8:
            return float(root.values()[at]), None, int(root.visits[at])
        after = position.after(made)
        if after.view is None:
            return after.value if position.seat == 0 else -after.value, None, 1
        reply = self._tree(game, after)
        value = float(reply.values().max())
        return value if after.seat == position.seat else -value, None, int(reply.count)

    def _played_out(
        self, game: Game, planner: Planner, decisions: Decisions, row: int, made: int
    ) -> Judgement:
        legal = legal_choices(game.spec, decisions.mask[row])[0]
        opinion: Opinion = self.adviser.opinion(self.board, game, decisions, row)
        likeliest = sorted(legal, key=lambda choice: -float(opinion.log_probs[choice]))
        chosen = dict.fromkeys([*likeliest[:MOST_MOVES], made])
        player = PolicyPlayer(self.adviser.name, self.adviser.digest, self.adviser.actor)
        moves = []
        for choice in chosen:
            # The same stream for every move: they are compared on the same hidden cards.
            stream = Stream.keyed(0, int(decisions.match[row]), self.seat, "act", 0)
            copies = planner.copies(decisions, row, stream, COPIES)
            copies.choose(np.full((COPIES, 1), choice))
            returns = copies.play_out(player)[:, self.seat]
            error = float(returns.std(ddof=1) / np.sqrt(COPIES))
            moves.append(self._move(game, choice, float(returns.mean()), error, COPIES, made))
        return _best_first(f"{COPIES} play-outs of each move by the policy", moves)

    def _move(
        self, game: Game, choice: int, value: float, error: float | None, weight: int, made: int
    ) -> Judged:
        words = choice_words(self.board, game, 0, self.seat, 0, choice)
        return Judged(words, int(choice), value, error, int(weight), choice == made)

    def close(self) -> None:
        """End whatever the planner started."""
        if self.planner is not None:
            self.planner.close()


def _best_first(method: str, moves: list[Judged]) -> Judgement:
    if not moves:
        raise GameError("A decision without a legal move cannot be judged.")
    return Judgement(method, tuple(sorted(moves, key=lambda move: -move.value)))
