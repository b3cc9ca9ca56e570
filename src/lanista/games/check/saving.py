"""Checks that a saved match goes on as if it had never been away."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from lanista.games.check.determinism import ELSEWHERE, in_parts
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Seen, first_difference, joined
from lanista.games.check.trial import Play, Rows, Trial, begin, sentence
from lanista.games.contract import Decisions, Game, Saved
from lanista.games.streams import Stream

SLOTS = 3


def save(trial: Trial) -> str:
    """Matches saved at any step go on the same in other slots of another game object."""
    if not trial.spec.abilities.restorable:
        raise NotApplicable("the game does not claim to be restorable")
    trial.sound()
    with trial.game(SLOTS) as game, trial.game(SLOTS + 2) as second:
        begin(second, range(SLOTS + 2), [ELSEWHERE + i for i in range(SLOTS + 2)])
        saver = Saver(trial, second)
        # In parts, so that matches are saved with some seats' answers given and others not.
        play = Play(game, trial.keys, probe=saver, batches=in_parts(trial.seed, 2)).run()
    if saver.found:
        raise Fault(saver.found)
    trial.hold_against_base(play, "in a game whose matches were saved meanwhile")
    return f"{saver.saved} matches, saved at {saver.steps} steps, went on the same elsewhere"


class Saver:
    """Before an answer is given, saves the live matches and plays copies of them to their end."""

    def __init__(self, trial: Trial, second: Game) -> None:
        self.trial, self.second = trial, second
        self.saved, self.steps, self.found = 0, 0, ""
        self._stream = Stream.keyed(trial.seed, 3, 0, "think")
        decisions = max(len(trial.base.rows["match"]), 1)
        # A saved match costs about its whole length again; matches of a Python game twice that.
        each = 2 * SLOTS * decisions / max(trial.matches, 1)
        self._share = min(1.0, trial.replayed / (each * decisions))

    def __call__(self, play: Play, decisions: Decisions, rows: Rows, actions: Any) -> None:
        if self.steps and self._stream.uniform() > self._share:
            return
        self.steps += 1
        try:
            self._save_and_compare(play)
        except Exception as error:  # Whatever a game under test raises is a finding.
            self.found = sentence(error)
            raise Fault(self.found) from error

    def _save_and_compare(self, play: Play) -> None:
        slots = list(play.live)
        self._stream.shuffle(slots)
        self.saved += len(slots)
        saved = play.game.save(slots)
        elsewhere = list(range(self.second.slots))
        self._stream.shuffle(elsewhere)
        elsewhere = elsewhere[: len(slots)]
        self.second.load(elsewhere, _through_a_file(saved))
        live = {new: play.live[old] for new, old in zip(elsewhere, slots, strict=True)}
        went_on = Play(self.second, []).carry_on(live)
        matches = sorted(live.values())
        if went_on.trouble:
            raise Fault(f"matches {matches} could not go on after load(): {went_on.trouble}")
        before = play.seen().only(matches)
        both = Seen(joined(_filled(before, went_on)), went_on.ends)
        difference = first_difference(self.trial.base.only(matches), both)
        if difference:
            raise Fault(f"a restored match went on otherwise: {difference}")


def _filled(before: Seen, after: Seen) -> list[dict[str, Any]]:
    """Return the tables of both that hold something."""
    return [table for table in (before.rows, after.rows) if len(table["match"])]


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
