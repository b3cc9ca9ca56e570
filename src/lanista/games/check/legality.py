"""Checks that a mask is the legal set: what it allows is taken, all else is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import legal_choices
from lanista.games.check.positions import Position, chosen_positions, in_batches, stand
from lanista.games.check.report import Fault
from lanista.games.check.trial import Answers, Play, Rows, Trial, begin, copied, sentence
from lanista.games.contract import Decisions, Game, GameError, Spec
from lanista.games.streams import Stream

ACTIONS = 16
"""The most actions tried in one position."""
WRONG_STEPS = 300
"""The most steps of a play in which wrong answers are tried."""


def legal(trial: Trial) -> str:
    """Every action that a mask allows is accepted, each tried on a copy of the match."""
    tried = 0
    positions = chosen_positions(trial, ACTIONS)
    for batch in in_batches(positions):
        tasks = []
        for position in batch:
            mask = trial.base.rows["mask"][position.row]
            tasks += [(position, action) for action in _allowed(trial.spec, mask, position)]
        with trial.game(len(tasks)) as game:
            stand(game, [position for position, _ in tasks])
            _try_all(game, tasks)
        tried += len(tasks)
    return f"{tried} actions in {len(positions)} positions were accepted"


def _allowed(spec: Spec, mask: NDArray[Any], position: Position) -> list[list[int]]:
    """Return allowed actions: every choice of every head if there are few, else a sample."""
    legal = legal_choices(spec, mask)
    stream = Stream.keyed(0, position.match, position.seat, "think", position.turn)
    for choices in legal:
        stream.shuffle(choices)
    count = min(ACTIONS, max(len(choices) for choices in legal))
    return [[choices[i % len(choices)] for choices in legal] for i in range(count)]


def _try_all(game: Game, tasks: list[tuple[Position, list[int]]]) -> None:
    decisions = copied(game.decisions())
    keys = np.array([tasks[slot][0].match for slot in decisions.slot], np.int64)
    everyone = np.arange(len(decisions), dtype=np.int64)
    actions = Answers(game.spec)(decisions, everyone, keys)
    for row in everyone:
        position, action = tasks[decisions.slot[row]]
        if decisions.seat[row] == position.seat:
            actions[row] = action
    for slot, (position, action) in enumerate(tasks):
        rows = np.flatnonzero(decisions.slot == slot)
        try:
            game.act(rows, actions[rows])
        except Exception as error:  # Whatever a game under test raises is a finding.
            raise Fault(
                f"the mask allows {action} at {position}, but it was not accepted: "
                f"{sentence(error)}"
            ) from error
    try:
        game.decisions()
    except Exception as error:  # The same.
        raise Fault(f"after an allowed action decisions() fails: {sentence(error)}") from error


def illegal(trial: Trial) -> str:
    """Every other answer is refused with a GameError and changes nothing."""
    wrong = WrongAnswers(trial.seed)
    with trial.game(5) as game:
        play = Play(game, trial.keys, probe=wrong).run()
    with trial.game(2) as game:
        wrong.answer_again(game)
    if wrong.fault:
        raise Fault(wrong.fault)
    if trial.spec.abilities.seedable:
        trial.hold_against_base(play, "after wrong answers had been refused")
    return f"{wrong.tried} wrong answers were refused and changed nothing"


class WrongAnswers:
    """Tries answers that must be refused before the right ones are given."""

    def __init__(self, seed: int) -> None:
        self.tried, self.steps, self.fault = 0, 0, ""
        self._stream = Stream.keyed(seed, 0, 0, "think")

    def __call__(self, play: Play, decisions: Decisions, rows: Rows, actions: Any) -> None:
        self.steps += 1
        if self.steps > WRONG_STEPS:
            return
        at = self._stream.below(len(rows))
        row = int(rows[at])
        for bad in self._bad_actions(play.spec, decisions.mask[row], actions[at]):
            label = f"action {bad} of match {decisions.match[row]}, turn {decisions.turn[row]}"
            self._expect_refusal(play.game, [row], [bad], label)
            if len(rows) > 1:
                other = at - 1
                both = [actions[other].tolist(), bad]
                self._expect_refusal(play.game, [int(rows[other]), row], both, label)
        good = actions[at].tolist()
        self._expect_refusal(play.game, [len(decisions)], [good], "a row that does not exist")
        self._expect_refusal(play.game, [row, row], [good, good], "the same row twice")

    def answer_again(self, game: Game) -> None:
        """Answer rows that were answered in an earlier call: they are not open any more."""
        answers = Answers(game.spec)
        for match in range(8):
            begin(game, [0, 1], [match, match + 1])
            decisions = copied(game.decisions())
            row = np.zeros(1, np.int64)
            action = answers(decisions, row, decisions.match)
            game.act(row, action)
            self._expect_refusal(game, [0], action.tolist(), "a row answered before")

    def _bad_actions(self, spec: Spec, mask: NDArray[Any], good: Any) -> list[list[int]]:
        bad, first = [], 0
        for head, choice in enumerate(spec.heads):
            refused = np.flatnonzero(~mask[first : first + choice.size]).tolist()
            first += choice.size
            self._stream.shuffle(refused)
            for wrong in [*refused[:4], -1, choice.size]:
                bad.append([wrong if i == head else int(value) for i, value in enumerate(good)])
        return bad

    def _expect_refusal(self, game: Game, rows: list[int], actions: Any, label: str) -> None:
        self.tried += 1
        try:
            game.act(np.array(rows, np.int64), np.array(actions, np.int32))
        except GameError:
            return
        except Exception as error:
            self.fault = f"{label} was refused with {sentence(error)}; raise a GameError"
            raise Fault(self.fault) from error
        self.fault = f"{label} was accepted, though it must be refused"
        raise Fault(self.fault)
