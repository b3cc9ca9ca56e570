"""Plays recorded matches again, and refuses whatever does not go as recorded.

What a player saw is taken from this second play, so it is right by construction. Knows nothing
of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanista.data.lines import ReplayError
from lanista.data.records import Header, Record
from lanista.errors import LanistaError
from lanista.games import Decisions, Game, Spec, registry
from lanista.games.contract import GameError
from lanista.games.trusted_names import installed_name, refuse_settings
from lanista.text import printable, quoted

if TYPE_CHECKING:
    from lanista.data.replays import Replays

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """What the players saw and did, a row per decision: by match, then turn, then seat."""

    match: Indices
    """The index of the decision's match among the records."""
    seat: NDArray[np.int32]
    turn: NDArray[np.int32]
    observation: NDArray[Any]
    mask: NDArray[np.bool_]
    actions: NDArray[np.int32]
    reward: NDArray[np.float32]
    """What came to the seat from this action on, until its next decision or the match's end."""
    returns: NDArray[np.float32]
    """What the seat had at the match's end."""

    def __len__(self) -> int:
        return len(self.match)


class Witness(Protocol):
    """Somebody who looks on while matches are played again."""

    def decided(
        self, game: Game, row: Indices, match: Indices, decisions: Decisions, actions: Any
    ) -> None:
        """See decisions and their answers before the game does.

        `row` is each one's place among all decisions of the records, `match` its record.
        """

    def ended(self, game: Game, slots: Indices, matches: Indices) -> None:
        """See matches, by slot and by record, that have just ended as recorded."""


def resimulate(replays: Replays, *, slots: int = 256, game: str | None = None) -> NDArray[np.int32]:
    """Play every match again; return how many turns each took, or refuse the first difference.

    `game` names the game where the header cannot: a Python file is never loaded on a replay's
    word.
    """
    with refereeing(replays.header, slots=slots, game=game) as referee:
        return referee.play(replays.records)


def expand(replays: Replays, *, slots: int = 256, game: str | None = None) -> Columns:
    """Play every match again; return what was seen and done as columns of their own memory."""
    with refereeing(replays.header, slots=slots, game=game) as referee:
        return referee.expand(replays.records)


@contextmanager
def refereeing(header: Header, *, slots: int = 256, game: str | None = None) -> Iterator[Referee]:
    """Give a referee for the matches of `header`, and close its game afterwards."""
    referee = Referee(header, slots=slots, game=game)
    try:
        yield referee
    finally:
        referee.game.close()


class Referee:
    """A game set up as a header says, on which its matches are played again."""

    def __init__(self, header: Header, *, slots: int = 256, game: str | None = None) -> None:
        self.game = set_up(header.game, header.settings, header.seed, slots, game)
        self.spec: Spec = self.game.spec
        try:
            _refuse_other(header, self.spec)
        except ReplayError:
            self.game.close()
            raise

    def play(self, records: Sequence[Record], witness: Witness | None = None) -> NDArray[np.int32]:
        """Play `records` to their ends; return the turns of each. Differences are refused."""
        for record in records:
            _refuse_misfit(record, self.spec)
        return _Play(self.game, records, witness).run()

    def expand(self, records: Sequence[Record]) -> Columns:
        """Play `records` and return what was seen and done as columns of their own memory."""
        recorder = _Recorder(self.spec, records, self.game.slots)
        self.play(records, recorder)
        return recorder.columns


@contextmanager
def _blaming(spec: Spec) -> Iterator[None]:
    """Refuse a replay over which a game's rules stumble: it must not stop the rest of a folder."""
    try:
        yield
    except Exception as problem:
        name, message = spec.name, printable(problem, 200)
        raise ReplayError(f"{name} stopped with {type(problem).__name__}: {message}") from problem


class _Play:
    """One pass over records: which slot plays which, and how far it is."""

    def __init__(self, game: Game, records: Sequence[Record], witness: Witness | None) -> None:
        self.game, self.spec, self.witness = game, game.spec, witness
        self.ids = np.array([record.match for record in records], np.int64)
        self.deals = np.array([record.deal for record in records], np.int64)
        self.options = {
            option.name: np.array(
                [record.options.get(option.name, option.default) for record in records], np.int64
            )
            for option in self.spec.options
        }
        shape = (len(records), self.spec.seats)
        self.returns = np.array([r.returns for r in records], np.float32).reshape(shape)
        self.place = np.array([record.place for record in records], np.int32).reshape(shape)
        self.cut_off = np.array([record.cut_off for record in records], np.bool_)
        none = np.empty((0, len(self.spec.heads)), np.int32)
        self.actions = np.concatenate([none, *(record.actions for record in records)])
        self.end = _ends(records)
        self.turns = np.zeros(len(records), np.int32)
        self.next = 0
        self.match = np.full(game.slots, -1, np.int64)
        self.cursor = np.zeros(game.slots, np.int64)

    def run(self) -> NDArray[np.int32]:
        self._begin(np.arange(min(self.game.slots, len(self.ids))))
        finished = 0
        while finished < len(self.ids):
            with _blaming(self.spec):
                decisions = self.game.decisions()
            match = self.match[decisions.slot]
            row = self.cursor[decisions.slot] + _rank(decisions.slot)
            self._refuse_many(match, row, decisions)
            actions = self.actions[row]
            self._refuse_illegal(match, actions, decisions)
            if self.witness:
                self.witness.decided(self.game, row, match, decisions, actions)
            self.cursor += np.bincount(decisions.slot, minlength=len(self.cursor))
            self.turns[match] = decisions.turn + 1
            with _blaming(self.spec):
                over = self.game.act(np.arange(len(decisions)), actions).astype(np.int64)
            if len(over):
                finished += len(over)
                self._finish(over)
        return self.turns

    def _begin(self, slots: Indices) -> None:
        matches = np.arange(self.next, min(self.next + len(slots), len(self.ids)))
        slots = slots[: len(matches)]
        if not len(slots):
            return
        self.next += len(matches)
        self.match[slots] = matches
        self.cursor[slots] = np.where(matches > 0, self.end[matches - 1], 0)
        options = {name: values[matches] for name, values in self.options.items()}
        with _blaming(self.spec):
            self.game.start(slots, self.ids[matches], {**options, "deal": self.deals[matches]})

    def _finish(self, slots: Indices) -> None:
        matches = self.match[slots]
        game = self.game
        unplayed = self.cursor[slots] != self.end[matches]
        self._refuse(unplayed, matches, "is over before its last action.")
        cut_off = game.cut_off[slots].any(axis=1)
        self._refuse(cut_off != self.cut_off[matches], matches, "was cut off, or was not.")
        differs = (game.returns[slots] != self.returns[matches]) | (
            game.place[slots] != self.place[matches]
        )
        self._refuse(differs.any(axis=1), matches, "ends with another outcome than recorded.")
        if self.witness:
            self.witness.ended(game, slots, matches)
        self._begin(slots)

    def _refuse_many(self, match: Indices, row: Indices, decisions: Decisions) -> None:
        if not len(decisions):
            raise ReplayError(f"{self.spec.name} waits for nobody, and a match is not over.")
        self._refuse(row >= self.end[match], match, "has no action left, and is not over.")
        longest = self.spec.facts.longest
        self._refuse(
            decisions.turn >= longest, match, f"is longer than the {longest} turns of the rules."
        )

    def _refuse_illegal(self, match: Indices, actions: Any, decisions: Decisions) -> None:
        start = 0
        for number, head in enumerate(self.spec.heads):
            choice = actions[:, number]
            bad = (choice < 0) | (choice >= head.size)
            safe = np.where(bad, 0, choice) + start
            bad |= ~decisions.mask[np.arange(len(choice)), safe]
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                raise ReplayError(
                    f"match {self.ids[match[at]]} has choice {choice[at]} of head {head.name} at "
                    f"turn {decisions.turn[at]} for seat {decisions.seat[at]}, which is not legal."
                )
            start += head.size

    def _refuse(self, wrong: NDArray[np.bool_], match: Indices, fault: str) -> None:
        if wrong.any():
            raise ReplayError(f"match {self.ids[match[np.flatnonzero(wrong)[0]]]} {fault}")


class _Recorder:
    """Keeps copies of what is seen, each at its decision's row."""

    def __init__(self, spec: Spec, records: Sequence[Record], slots: int) -> None:
        lengths = [len(record.actions) for record in records]
        rows = sum(lengths)
        self.columns = Columns(
            match=np.repeat(np.arange(len(records)), lengths),
            seat=np.zeros(rows, np.int32),
            turn=np.zeros(rows, np.int32),
            observation=np.zeros((rows, spec.observation.length), spec.observation.dtype),
            mask=np.zeros((rows, spec.choices), np.bool_),
            actions=np.zeros((rows, len(spec.heads)), np.int32),
            reward=np.zeros(rows, np.float32),
            returns=np.zeros(rows, np.float32),
        )
        self.last = np.full((slots, spec.seats), -1, np.int64)
        self.ends = _ends(records)

    def decided(
        self, game: Game, row: Indices, match: Indices, decisions: Decisions, actions: Any
    ) -> None:
        columns, slot, seat = self.columns, decisions.slot, decisions.seat
        self._pay(game, slot, seat)
        self.last[slot, seat] = row
        columns.seat[row], columns.turn[row] = seat, decisions.turn
        columns.observation[row], columns.mask[row] = decisions.observation, decisions.mask
        columns.actions[row] = actions

    def ended(self, game: Game, slots: Indices, matches: Indices) -> None:
        seats = self.last.shape[1]
        self._pay(game, np.repeat(slots, seats), np.tile(np.arange(seats), len(slots)))
        self.last[slots] = -1
        for slot, match in zip(slots.tolist(), matches.tolist(), strict=True):
            rows = slice(self.ends[match - 1] if match else 0, self.ends[match])
            self.columns.returns[rows] = game.returns[slot][self.columns.seat[rows]]

    def _pay(self, game: Game, slot: Any, seat: Any) -> None:
        """Put what seats have got since their last decisions on those decisions."""
        row = self.last[slot, seat]
        recorded = row >= 0
        self.columns.reward[row[recorded]] = game.reward[slot[recorded], seat[recorded]]


def _ends(records: Sequence[Record]) -> Indices:
    return np.cumsum([len(record.actions) for record in records], dtype=np.int64)


def _rank(slot: NDArray[np.int32]) -> Indices:
    """Return each row's place among the rows of its slot; rows come by slot."""
    rows = np.arange(len(slot))
    first = np.ones(len(slot), np.bool_)
    first[1:] = slot[1:] != slot[:-1]
    return rows - np.maximum.accumulate(np.where(first, rows, 0))


def set_up(
    game: str, settings: Mapping[str, Any], seed: int = 0, slots: int = 1, name: str | None = None
) -> Game:
    """Return the game that a file names, without ever running code on the file's word.

    `name` is the game as the user gave it, where the file's own word is not enough.
    """
    own = name is None
    try:
        name = installed_name(game, "a replay") if name is None else name
    except GameError as problem:
        raise ReplayError(str(problem)) from problem
    try:
        if own:
            refuse_settings(name, settings, remedy="--game and")
        allowed = registry.entry(name).settings
        unknown = sorted(set(settings) - set(allowed))
        if unknown:
            raise ReplayError(f"{name} has no setting {quoted(unknown[0])}.")
        return registry.make(name, slots=slots, seed=seed, **dict(settings))
    except Exception as problem:
        message = printable(problem, 300)
        if not isinstance(problem, LanistaError):
            message = f"{type(problem).__name__}: {message}"
        raise ReplayError(f"its game cannot be set up: {message}") from problem


def _refuse_other(header: Header, spec: Spec) -> None:
    """Refuse a game that is not exactly the one a header was written for."""
    facts, abilities = spec.facts, spec.abilities
    if not abilities.replayable:
        raise ReplayError(f"{spec.name} cannot be played again from its actions.")
    for label, recorded, now in (
        ("game", header.game, spec.name),
        ("rules version", header.rules_version, facts.rules_version),
        ("observation version", header.observation_version, facts.observation_version),
        ("simulator", header.simulator, abilities.simulator),
        ("simulator version", header.simulator_version, abilities.simulator_version),
        *_settings(header, spec),
    ):
        if recorded != now:
            raise ReplayError(
                f"it was recorded with {label} {quoted(recorded)}, and here it is {quoted(now)}."
            )


def _settings(header: Header, spec: Spec) -> Iterator[tuple[str, Any, Any]]:
    """Yield each setting as it was and as it is; one that is only on one side is None there."""
    for name in sorted({*header.settings, *spec.settings}):
        yield f"setting {quoted(name)}", header.settings.get(name), spec.settings.get(name)


def _refuse_misfit(record: Record, spec: Spec) -> None:
    """Refuse a match that cannot be one of this game, before it is played."""
    name = f"match {record.match}"
    if len(record.seating) != spec.seats:
        raise ReplayError(f"{name} has {len(record.seating)} seats; {spec.name} has {spec.seats}.")
    if record.actions.shape[1] != len(spec.heads):
        raise ReplayError(
            f"{name} has {record.actions.shape[1]} heads; {spec.name} has {len(spec.heads)}."
        )
    if len(record.actions) > spec.facts.longest * spec.seats:
        raise ReplayError(
            f"{name} has {len(record.actions)} decisions, "
            f"more than {spec.facts.longest} turns of {spec.seats} seats can take."
        )
    options = {option.name: option for option in spec.options}
    for option, value in record.options.items():
        if option not in options or not options[option].low <= value <= options[option].high:
            raise ReplayError(f"{name} has option {quoted(option)} as {value}, which is unknown.")
