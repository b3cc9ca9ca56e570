"""Plays a game at random for the checks, and keeps everything that was seen.

The answers come from a stream keyed by match, seat and turn, so two plays of the same matches can
be laid side by side, whatever the slots and the order of answers. Judges nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.blame import place_of
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Columns, Seen, first_difference, joined
from lanista.games.compiled import CompiledGame
from lanista.games.contract import Decisions, Game, Spec
from lanista.games.random_bot import RandomBot
from lanista.games.streams import Stream

Make = Callable[[int, int], Game]
Rows = NDArray[np.int64]


def sentence(error: Exception) -> str:
    """Return what a game raised, and where in its file, or what a check found, as evidence."""
    if isinstance(error, Fault):
        return str(error)
    place = place_of(error)
    return f"{f'{place}: ' if place else ''}{type(error).__name__}: {error}"


def copied(decisions: Decisions) -> Decisions:
    """Return decisions that stay as they are, in the contract's dtypes."""
    return Decisions(
        slot=np.array(decisions.slot, np.int32),
        seat=np.array(decisions.seat, np.int32),
        match=np.array(decisions.match, np.int64),
        turn=np.array(decisions.turn, np.int32),
        observation=np.array(decisions.observation),
        mask=np.array(decisions.mask, np.bool_, order="C"),
    )


class Answers:
    """Answers at random, the same for the same (key of the match, seat, turn, mask)."""

    def __init__(self, spec: Spec) -> None:
        self._bot = RandomBot(spec, 0)

    def __call__(self, decisions: Decisions, rows: Rows, keys: NDArray[np.int64]) -> Any:
        """Return actions `[rows, heads]`; `keys` holds a match's key for every decision."""
        return self._bot.act(replace(decisions, match=keys), rows)


def same(key: int) -> int:
    """Tell the game a match's own key."""
    return key


def whole(rows: Rows) -> list[Rows]:
    """Answer all that is ready at once."""
    return [rows]


def begin(
    game: Game,
    slots: Sequence[int],
    keys: Sequence[int],
    id_of: Callable[[int], int] = same,
    deal_of: Callable[[int], int] | None = None,
) -> None:
    """Begin matches, every second one with options drawn from what the game allows."""
    if not game.spec.options and deal_of is None:
        game.start(list(slots), [id_of(key) for key in keys])
        return
    for slot, key in zip(slots, keys, strict=True):
        deal = {} if deal_of is None else {"deal": deal_of(key)}
        game.start([slot], [id_of(key)], {**_options(game.spec, key), **deal})


def _options(spec: Spec, match: int) -> dict[str, int]:
    if not match % 2:
        return {}
    stream = Stream.keyed(0, match, 0, "think")
    return {
        option.name: option.low + stream.below(min(option.high - option.low + 1, 2**31))
        for option in spec.options
    }


class Play:
    """Matches played to their end in one game object.

    `keys` name the matches; `id_of` and `deal_of` say what the game is told instead, `answer_as`
    whose answers are given. `batches` cuts the rows that are ready into the calls of `act`; rows
    it leaves out wait. `probe` is called before every such call. `fully` keeps the privileged view
    and our own count of each match's steps as well.
    """

    def __init__(
        self,
        game: Game,
        keys: Sequence[int],
        *,
        id_of: Callable[[int], int] = same,
        deal_of: Callable[[int], int] | None = None,
        answer_as: Callable[[int], int] = same,
        batches: Callable[[Rows], list[Rows]] = whole,
        probe: Callable[[Play, Decisions, Rows, Any], None] | None = None,
        fully: bool = False,
    ) -> None:
        self.game, self.spec = game, game.spec
        self.answers = Answers(game.spec)
        self.live: dict[int, int] = {}
        self.abandoned: set[int] = set()
        self.too_long: list[int] = []
        self.rows: list[Columns] = []
        self.ends: list[Columns] = []
        self._waiting = deque(keys)
        self._id_of, self._deal_of = id_of, deal_of
        self._answer_as, self._batches, self._probe = answer_as, batches, probe
        self._fully = fully
        self._answer_counts = np.zeros(game.slots, np.int64)
        self._turn = np.zeros(game.slots, np.int64)
        self._steps = np.zeros(game.slots, np.int64)
        self._answered_at = np.full((game.slots, game.spec.seats), -1, np.int64)

    def run(self) -> Seen:
        """Play all matches to their end, or until the game fails."""
        trouble = ""
        try:
            self._fill(list(range(self.game.slots)))
            while self.live:
                self.step()
        except Exception as error:  # Whatever a game under test raises is a finding.
            trouble = sentence(error)
        return self.seen(trouble)

    def carry_on(self, live: dict[int, int]) -> Seen:
        """Play matches that stand in their slots already to their end."""
        self.live = dict(live)
        self.abandoned = set(range(self.game.slots)) - set(live)
        return self.run()

    def seen(self, trouble: str = "") -> Seen:
        """Return what was seen so far."""
        return Seen(joined(self.rows), joined(self.ends), self.too_long, trouble)

    def unanswered(self, slot: int, rows: Columns) -> Columns:
        """Return those of a live match's decisions that are yet to be answered."""
        now = self._turn[slot]
        answered = self._answered_at[slot][rows["seat"]] == now
        rest = (rows["turn"] > now) | ((rows["turn"] == now) & ~answered)
        return {name: column[rest] for name, column in rows.items()}

    def step(self) -> None:
        """Ask for decisions once and answer those that `batches` chooses."""
        decisions = copied(self.game.decisions())
        rows = self._ready(decisions)
        keys = np.array([self.live.get(int(slot), 0) for slot in decisions.slot], np.int64)
        names = np.array([self._answer_as(key) for key in keys.tolist()], np.int64)
        columns = self._columns(decisions, keys)
        freed: list[int] = []
        # None is ready where every match that was left went on for too long.
        for batch in self._batches(rows) if len(rows) else []:
            actions = self.answers(decisions, batch, names)
            if self._probe is not None:
                self._probe(self, decisions, batch, actions)
            self.rows.append({**{n: c[batch] for n, c in columns.items()}, "action": actions})
            ended = [int(slot) for slot in self.game.act(batch, actions)]
            slot, seat = decisions.slot[batch], decisions.seat[batch]
            self._answered_at[slot, seat] = decisions.turn[batch]
            np.add.at(self._answer_counts, slot, 1)
            freed += self._finish(ended)
        self._fill(freed)

    def _columns(self, decisions: Decisions, keys: Any) -> Columns:
        slot, seat = decisions.slot, decisions.seat
        columns = {
            "match": keys,
            "turn": decisions.turn,
            "seat": seat,
            "observation": decisions.observation,
            "mask": decisions.mask,
            "reward": np.array(self.game.reward[slot, seat]),
            "shaping": np.array(self.game.shaping[slot, seat]),
            "done": np.array(self.game.done[slot]),
            "cut_off": np.array(self.game.cut_off[slot]),
        }
        if self._fully:
            columns["steps"] = self._steps[slot]
            self._steps[np.unique(slot)] += 1
            if self.spec.privileged is not None:
                columns["privileged"] = np.array(self.game.privileged())
        return columns

    def _ready(self, decisions: Decisions) -> Rows:
        """Return the rows of live matches, having left those that go on for too long."""
        longest = self.spec.facts.longest
        self._turn[decisions.slot] = decisions.turn
        asking = set(decisions.slot.tolist())
        for slot, key in list(self.live.items()):
            if slot not in asking:
                raise Fault(f"match {key} asks nobody, but act() did not say that it had ended")
            # The second bound holds a game whose turns do not count up.
            if (
                self._turn[slot] >= longest
                or self._answer_counts[slot] >= longest * self.spec.seats
            ):
                self.too_long.append(key)
                self.abandoned.add(slot)
                del self.live[slot]
        if asking - set(self.live) - self.abandoned:
            raise Fault("a slot asks for a decision though act() said that its match had ended")
        live = np.isin(decisions.slot, list(self.live))
        if not live.any() and self.live:
            raise Fault("no decision is ready though matches are unfinished")
        for row in np.flatnonzero(live):
            match_id = self._id_of(self.live[int(decisions.slot[row])])
            if decisions.match[row] != match_id:
                raise Fault(f"decisions() shows match {decisions.match[row]} in {match_id}'s slot")
        return np.flatnonzero(live)

    def _finish(self, ended: list[int]) -> list[int]:
        freed = []
        for slot in ended:
            if slot not in self.live:
                raise Fault(f"act() says that slot {slot} ended, which was not playing")
            names = ("reward", "shaping", "returns", "score", "place", "done", "cut_off")
            self.ends.append(
                {
                    "match": np.array([self.live.pop(slot)], np.int64),
                    "turn": np.array([self._turn[slot] + 1], np.int64),
                    **{name: np.array(getattr(self.game, name)[[slot]]) for name in names},
                }
            )
            freed.append(slot)
        return freed

    def _fill(self, slots: list[int]) -> None:
        chosen = [(slot, self._waiting.popleft()) for slot in slots[: len(self._waiting)]]
        for slot, key in chosen:
            self.live[slot] = key
            self._answer_counts[slot] = self._steps[slot] = 0
            self._answered_at[slot] = -1
        if chosen:
            slots, keys = [slot for slot, _ in chosen], [key for _, key in chosen]
            begin(self.game, slots, keys, self._id_of, self._deal_of)


@dataclass
class Trial:
    """A game on trial: how to make it, and how much to play."""

    make: Make
    seed: int
    matches: int
    effort: int
    cut_off_allowed: bool

    @contextmanager
    def game(self, slots: int, seed: int | None = None) -> Iterator[Game]:
        """Make the game, and close it afterwards."""
        game = self.make(slots, self.seed if seed is None else seed)
        try:
            yield game
        finally:
            game.close()

    @cached_property
    def spec(self) -> Spec:
        with self.game(1) as game:
            return game.spec

    @property
    def keys(self) -> list[int]:
        return list(range(self.matches))

    @cached_property
    def base(self) -> Seen:
        """All matches one after another in a single slot: what the other plays are held against."""
        with self.game(1) as game:
            return Play(game, self.keys, fully=True).run()

    def sound(self) -> Seen:
        """Return the base play, if every match could be played; others are held against it."""
        if not self.spec.abilities.seedable:
            raise NotApplicable("the game takes no seed, so no match can be played twice")
        if self.base.trouble:
            raise NotApplicable("the matches could not be played to their end; see `plays`")
        if not len(self.base.rows["match"]):
            raise NotApplicable("there was no decision; see `length`")
        return self.base

    @property
    def ended(self) -> Seen:
        """The matches of the base play that ended."""
        if not len(self.base.ends["match"]):
            raise NotApplicable("no match could be played to its end; see `plays`")
        return self.base.only(self.base.ends["match"].tolist())

    @property
    def results(self) -> Seen:
        """The matches of the base play that ended with a result."""
        ended = self.ended
        whole = ~ended.ends["cut_off"].any(1)
        if not whole.any():
            raise NotApplicable("every match was cut off, so there is no result")
        return ended.only(ended.ends["match"][whole].tolist())

    def hold_against_base(self, play: Seen, how: str) -> None:
        """Raise a fault unless `play` shows exactly what the base play did."""
        if play.trouble:
            raise Fault(f"{how}, the matches could not be played: {play.trouble}")
        difference = first_difference(self.sound(), play)
        if difference:
            raise Fault(f"{how}, {difference}")

    @cached_property
    def replayed(self) -> int:
        """The most decisions one check plays again to reach positions."""
        with self.game(1) as game:
            return self.effort * (20 if isinstance(game, CompiledGame) else 1)
