"""Checks that a seat sees nothing of what is hidden from it.

What is hidden is redrawn; the seat's view must stay as it was, and something else must change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lanista.games.check.leaks import search
from lanista.games.check.positions import Position, chosen_positions, in_batches, stand
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.trial import Answers, Play, Trial, copied, sentence
from lanista.games.contract import Decisions, Game, GameError
from lanista.games.streams import Stream

REDRAWS = 4
COPIES = 1 + REDRAWS
"""The first copy of each position stays as it is."""


@dataclass
class View:
    """What is to be seen of every slot of a game."""

    rows: dict[tuple[int, int], bytes]
    """Observation and mask by (slot, seat)."""
    beyond: dict[tuple[int, int], bytes]
    """The privileged view by (slot, seat), where there is one."""


def hidden(trial: Trial) -> str:
    """Redrawing what a seat cannot see leaves its observation and mask as they were."""
    if not trial.spec.facts.hidden:
        return _nothing_hidden(trial)
    positions = chosen_positions(trial, 3 * COPIES)
    changed = 0
    for batch in in_batches(positions):
        copies = [position for position in batch for _ in range(COPIES)]
        with trial.game(len(copies)) as game:
            stand(game, copies)
            changed += _redraw_and_look(trial, game, copies)
            _play_on(game, copies)
    if not changed:
        where = "privileged view" if trial.spec.privileged else "other seats' observations"
        raise Fault(
            f"resample_hidden changed nothing in the {where} over {len(positions)} positions, so "
            "it does not redraw what is hidden"
        )
    looked = search(trial)
    return (
        f"{REDRAWS} redraws at each of {len(positions)} decisions left the seat's view as it was "
        f"and changed what it cannot see at {changed}; a search for rare positions redrew "
        f"{looked.redraws:,} times in {looked.matches:,} matches"
    )


def _redraw_and_look(trial: Trial, game: Game, copies: Sequence[Position]) -> int:
    before = _view(game, copied(game.decisions()))
    for slot, position in enumerate(copies):
        if slot % COPIES:
            _redraw(trial, game, slot, position)
    decisions = copied(game.decisions())
    after = _view(game, decisions)
    for slot, position in enumerate(copies):
        own = (slot, position.seat)
        if own not in before.rows:
            raise Fault(f"{position} could not be brought about again")
        if after.rows.get(own) != before.rows[own]:
            raise Fault(
                f"the observation or mask shows something hidden: it changed when that was "
                f"redrawn, at {position}"
            )
    if trial.spec.privileged is not None:
        return _changed(copies, after.beyond)
    return _changed(copies, _others_next(game, decisions, copies, after))


def _redraw(trial: Trial, game: Game, slot: int, position: Position) -> None:
    turn = position.turn * COPIES + slot % COPIES
    stream = Stream.keyed(trial.seed, position.match, position.seat, "resample", turn)
    try:
        game.resample_hidden(slot, position.seat, stream)
    except Exception as error:  # Whatever a game under test raises is a finding.
        raise Fault(
            f"a game with hidden information needs resample_hidden, which failed at {position}: "
            f"{sentence(error)}"
        ) from error


def _view(game: Game, decisions: Decisions) -> View:
    beyond = game.privileged() if game.spec.privileged is not None else None
    view = View({}, {})
    for row, at in enumerate(zip(decisions.slot.tolist(), decisions.seat.tolist(), strict=True)):
        view.rows[at] = decisions.observation[row].tobytes() + decisions.mask[row].tobytes()
        if beyond is not None:
            view.beyond[at] = beyond[row].tobytes()
    return view


def _others_next(
    game: Game, decisions: Decisions, copies: Sequence[Position], now: View
) -> dict[tuple[int, int], bytes]:
    """Return what the other seats see now or, where none has to choose, after one turn more."""
    shown = {at: view for at, view in now.rows.items() if at[1] != copies[at[0]].seat}
    alone = np.array(
        [not any((slot, s) in shown for s in range(game.spec.seats)) for slot in range(len(copies))]
    )
    rows = np.flatnonzero(alone[decisions.slot])
    keys = np.array([copies[slot].match for slot in decisions.slot], np.int64)
    if len(rows):
        game.act(rows, Answers(game.spec)(decisions, rows, keys))
    for at, view in _view(game, copied(game.decisions())).rows.items():
        if alone[at[0]] and at[1] != copies[at[0]].seat:
            shown[at] = view
    return shown


def _changed(copies: Sequence[Position], shown: dict[tuple[int, int], bytes]) -> int:
    """Return at how many positions the copies do not all show the same."""
    positions = 0
    for first in range(0, len(copies), COPIES):
        sights: dict[int, set[bytes]] = {}
        for (slot, seat), view in shown.items():
            if first <= slot < first + COPIES:
                sights.setdefault(seat, set()).add(view)
        positions += any(len(different) > 1 for different in sights.values())
    return positions


def _play_on(game: Game, copies: Sequence[Position]) -> None:
    """A redrawn match must be one that can be played: bots look ahead on it."""
    open_slots = {int(slot) for slot in game.decisions().slot}
    live = {slot: copies[slot].match for slot in sorted(open_slots)}
    trouble = Play(game, []).carry_on(live).trouble
    if trouble:
        raise Fault(f"a match cannot be played on after resample_hidden: {trouble}")


def _nothing_hidden(trial: Trial) -> str:
    """Where nothing is hidden, a redraw is refused or changes nothing that is seen now."""
    positions = chosen_positions(trial, 2)[:64]
    with trial.game(len(positions)) as game:
        stand(game, positions)
        before = _view(game, copied(game.decisions()))
        for slot, position in enumerate(positions):
            stream = Stream.keyed(trial.seed, position.match, position.seat, "resample")
            try:
                game.resample_hidden(slot, position.seat, stream)
            except GameError as error:
                raise NotApplicable("facts say that nothing is hidden") from error
        if _view(game, copied(game.decisions())) != before:
            raise Fault("facts say that nothing is hidden, but resample_hidden changed a view")
    return "facts say that nothing is hidden, and resample_hidden changed no view"
