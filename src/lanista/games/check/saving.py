"""Checks that a saved match goes on as if it had never been away."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.check.determinism import ELSEWHERE, in_parts
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Seen, first_difference
from lanista.games.check.trial import Play, Rows, Trial, begin, sentence
from lanista.games.contract import Decisions, Game, Saved
from lanista.games.streams import Stream

SLOTS = 3
ELSEWHERE_SLOTS = 240
"""Copies that are loaded into one other game object before they are played to their end."""


def save(trial: Trial) -> str:
    """Matches saved at any step go on the same in other slots of another game object."""
    if not trial.spec.abilities.restorable:
        raise NotApplicable("the game does not claim to be restorable")
    trial.sound()
    with trial.game(SLOTS) as game, trial.game(ELSEWHERE_SLOTS) as second:
        # The other slots are in the middle of something else, and must not be disturbed by it.
        begin(second, range(second.slots), [ELSEWHERE + i for i in range(second.slots)])
        saver = Saver(trial, second)
        # In parts, so that matches are saved with some seats' answers given and others not.
        play = Play(game, trial.keys, probe=saver, batches=in_parts(trial.seed, 2)).run()
        saver.flush()
    trial.hold_against_base(play, "in a game whose matches were saved meanwhile")
    return f"{saver.saved} matches, saved at {saver.steps} steps, went on the same elsewhere"


class Saver:
    """Before an answer is given, saves the live matches and takes copies up elsewhere."""

    def __init__(self, trial: Trial, second: Game) -> None:
        self.trial, self.second = trial, second
        self.saved, self.steps, self.fault = 0, 0, ""
        self._stream = Stream.keyed(trial.seed, 3, 0, "think")
        self._free = list(range(second.slots))
        self._stream.shuffle(self._free)
        self._saved_arrays: list[tuple[NDArray[Any], bytes]] = []
        self._expected: dict[int, Seen] = {}
        self._matches: dict[int, int] = {}
        decisions = len(trial.base.rows["match"])
        self._share = trial.replayed / max(SLOTS * decisions * decisions / trial.matches, 1)

    def __call__(self, play: Play, decisions: Decisions, rows: Rows, actions: Any) -> None:
        if self.fault or (self.steps and self._stream.uniform() > self._share):
            return
        self.steps += 1
        try:
            if len(self._free) < SLOTS:
                self._compare()
            self._take_up(play)
        except Exception as error:  # Whatever a game under test raises is a finding.
            self.fault = sentence(error)

    def flush(self) -> None:
        """Compare what is still open, and raise what was found."""
        if not self.fault:
            self._compare()
        if self.fault:
            raise Fault(self.fault)

    def _take_up(self, play: Play) -> None:
        slots = list(play.live)
        self._stream.shuffle(slots)
        elsewhere = [self._free.pop() for _ in slots]
        if any(array.tobytes() != then for array, then in self._saved_arrays):
            raise Fault("what save() returned changed when the matches went on")
        saved = play.game.save(slots)
        self._saved_arrays = [(array, array.tobytes()) for array in saved.values()]
        self.second.load(elsewhere, _through_a_file(saved))
        self.saved += len(slots)
        for new, old in zip(elsewhere, slots, strict=True):
            match = play.live[old]
            rest = self.trial.base.only([match])
            self._matches[new] = match
            self._expected[new] = Seen(play.unanswered(old, rest.rows), rest.ends)

    def _compare(self) -> None:
        """Play the copies to their end, each named by its slot, and hold them against the base."""
        live = {slot: slot for slot in self._matches}
        went_on = Play(
            self.second, [], id_of=self._name_or_none, answer_as=self._name_or_none
        ).carry_on(live)
        if went_on.trouble:
            raise Fault(f"matches could not go on after load(): {went_on.trouble}")
        for slot, expected in self._expected.items():
            play = went_on.only([slot])
            for table in (play.rows, play.ends):
                table["match"] = np.full(len(table["match"]), self._matches[slot], np.int64)
            difference = first_difference(expected, play)
            if difference:
                raise Fault(f"a restored match went on otherwise: {difference}")
        self._free += list(self._matches)
        self._matches, self._expected = {}, {}

    def _name_or_none(self, slot: int) -> int:
        """Rows of matches that only play beside are never answered; any name will do."""
        return self._matches.get(slot, 0)


def _through_a_file(saved: Saved) -> Saved:
    """Return what comes back from an npz file without objects."""
    for name, array in saved.items():
        if array.dtype.hasobject:
            raise Fault(f"save() gives {name!r} as Python objects, which no file may hold")
    file = io.BytesIO()
    np.savez(file, **saved)  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}
