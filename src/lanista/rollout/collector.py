"""Plays matches for a learner and keeps what its seats saw, did and got.

Either whole matches, all under one set of weights, or a stream of unrolls from matches that go on
across updates. What is kept lies on a `TrajectoryBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.games.bots import Player, reads_observation
from lanista.games.contract import Decisions, Game, Overlooks, Saved
from lanista.games.python_game import PythonGame
from lanista.rollout.bot_threads import BotThreads
from lanista.rollout.garbage import seldom_collected
from lanista.rollout.inference.actor import Actor, Choice
from lanista.rollout.inference.client import RemoteActor
from lanista.rollout.inference.device_transfer import Lanes
from lanista.rollout.inference.opponent_batch import Answer, Others
from lanista.rollout.lost_deals import LostDeals
from lanista.rollout.outcome_counts import Tally
from lanista.rollout.player_hooks import PlayerHooks
from lanista.rollout.rows import by_player
from lanista.rollout.teacher import Teacher
from lanista.rollout.timing import BATCH, OBSERVE, OPPONENTS, SIMULATE
from lanista.rollout.trajectory_builder import TrajectoryBuilder, refuse_draw

if TYPE_CHECKING:
    from lanista.rollout.experience_source import Opponent

LEARNER = 0
"""The number of the learner in a seating; other numbers are its opponents, from 1."""

_MOST_BROKEN = 20
"""Truncated matches a slot may play, on average, before a stream is given up."""

_digest = attrgetter("digest")

Seating = Callable[[NDArray[np.int64]], NDArray[np.int32]]
"""Match ids to players, `[matches, seats]`: a pure function, so nothing of it needs saving."""


Begun = tuple[Callable[[], Choice], NDArray[Any] | None]
"""What gives the learner's choice, and what its critic may see there."""


class Collector:
    """A game with the learner and its opponents at it."""

    def __init__(
        self,
        game: Game,
        actor: Actor | RemoteActor,
        opponents: Sequence[Player] = (),
        seating: Seating | None = None,
        *,
        unroll_length: int,
        shaping_scale: float = 0.0,
        draw: float | None = None,
        keep_log_probs: bool = False,
        keep_privileged: bool = False,
        teacher: Teacher | None = None,
        first_match: int = 0,
        stagger: int = 0,
        keep_opponents: bool = False,
        keep_frozen: bool = False,
        lost_again: float = 0.0,
        bot_threads: BotThreads | None = None,
    ) -> None:
        """`stagger`: over so many steps the first matches of a stream begin.

        `keep_opponents`: rows say who sat in the other seats. `keep_frozen`: what opponents decide
        whose probabilities are known is kept too. `lost_again`: the share of matches that
        repeat a deal that was lost. `bot_threads`: where slow bots think.
        """
        self.game, self.actor = game, actor
        self._bot_threads = bot_threads
        self.phases = actor.phases
        if isinstance(game, PythonGame):
            game.observing = partial(self.phases, OBSERVE)
        self._lanes = Lanes(actor.lane) if isinstance(actor, Actor) else Lanes()
        self._distinct: list[Player] = []
        self._others = Others((), self._lanes)
        self._hooks = PlayerHooks(game, ())
        self.meet(opponents, seating or self._alone)
        self.next_match = first_match
        self.update = 0
        self.keep_privileged = keep_privileged
        self.keep_opponents, self.keep_frozen = keep_opponents, keep_frozen
        self.left_out = 0
        """Decisions of opponents since the last `measured` whose probabilities nobody knows."""
        self.teacher = teacher
        refuse_draw(draw, game.spec)
        self.tape = TrajectoryBuilder(
            game, unroll_length, shaping_scale, draw, keep_log_probs, keep_privileged
        )
        self.seated = np.zeros((game.slots, game.spec.seats), np.int32)
        self.match = np.zeros(game.slots, np.int64)
        self.deal = np.zeros(game.slots, np.int64)
        self.lost = LostDeals(lost_again, LEARNER) if lost_again else None
        self.began = np.zeros(game.slots, np.int64)
        """By slot: the learner's update count when its match began."""
        self._every = np.arange(game.slots * game.spec.seats)
        self.tally = Tally(game.spec.seats)
        self.streaming = False
        """Matches are in flight between two calls."""
        self.stagger = stagger
        self._begun, self._steps = 0, 0
        """Slots that a stream has begun with so far, and its steps until all had."""
        self.cpu_seconds = 0.0

    plays_here = True

    @property
    def shaping_scale(self) -> float:
        """Weight of the game's reward shaping."""
        return self.tape.shaping_scale

    @shaping_scale.setter
    def shaping_scale(self, scale: float) -> None:
        self.tape.shaping_scale = scale

    def seat(self, opponents: Sequence[Opponent], seating: Seating) -> None:
        """Meet these opponents as players of this process."""
        self.meet([opponent.player for opponent in opponents], seating)

    def in_flight(self) -> set[int]:
        """Return the numbers of those who sit in the slots."""
        return set(self.seated.ravel().tolist())

    def measured(self) -> dict[str, float]:
        """Return how many decisions of opponents could not be kept; none where none were to be."""
        left_out, self.left_out = self.left_out, 0
        return {"frozen/left_out": float(left_out)} if self.keep_frozen else {}

    def worker_times(self) -> list[tuple[dict[str, float], dict[str, float]]]:
        """Return nothing: there is no other worker."""
        return []

    def server_times(self) -> tuple[dict[str, float], dict[str, float]] | None:
        """Return nothing: the networks are here."""
        return None

    def take_notices(self) -> list[str]:
        """Return nothing: there is no worker that could die."""
        return []

    def meet(self, opponents: Sequence[Player], seating: Seating) -> None:
        """Let `seating` decide from now on; matches in flight keep their opponents.

        Somebody may be there under several numbers, and answers all of them at once.
        """
        self.opponents, self.seating = tuple(opponents), seating
        self.digests = tuple(player.digest for player in self.opponents)
        distinct = list({id(player): player for player in self.opponents}.values())
        if list(map(id, distinct)) != list(map(id, self._distinct)):
            record = isinstance(self.actor, Actor) and self.actor.records
            self._distinct = distinct
            self._others = Others(distinct, self._lanes, record=record, threads=self._bot_threads)
        place = {id(player): at for at, player in enumerate(self._others.players, start=1)}
        # By number: which of the distinct players it is; 0 is the learner.
        self._player_of = np.array([0, *(place[id(player)] for player in self.opponents)])
        # By number: whose observations nobody reads; after the last, somebody who has gone since.
        unread = [not reads_observation(player) for player in self.opponents]
        self._unread = np.array([False, *unread, False])
        self._hooks.close()
        self._hooks = PlayerHooks(self.game, self.opponents, first=1)

    @seldom_collected()
    def whole_matches(self, matches: int) -> Unrolls:
        """Play `matches` fresh matches to their end and return all unrolls of the learner.

        Should the learner not have had a single decision in them, as many more are played.
        """
        self._play_out(matches)
        while not self.tape.rows:
            self._play_out(matches)
        with self.phases(BATCH):
            unrolls = self.tape.harvest()
        if not len(unrolls):
            self._refuse_endless(matches)
        return unrolls

    def _play_out(self, matches: int) -> None:
        remaining = matches
        started = min(remaining, self.game.slots)
        self._start(np.arange(started))
        remaining -= started
        ended = 0
        while ended < matches:
            over = self._step()
            ended += len(over)
            again = over[:remaining]
            if len(again):
                self._start(again)
                remaining -= len(again)

    @seldom_collected()
    def unrolls(self, count: int) -> Unrolls:
        """Play on until at least `count` unrolls are complete, and return those."""
        self.streaming = True
        ended, most = 0, _MOST_BROKEN * self.game.slots
        while self.tape.complete < count:
            if self._begun < self.game.slots:
                self._begin()
            over = self._step()
            if len(over):
                self._start(over)
            ended += len(over)
            if ended > most and not self.tape.complete:
                self._refuse_endless(ended)
        with self.phases(BATCH):
            return self.tape.harvest()

    def _begin(self) -> None:
        """Begin with the slots of a stream that are due: all, or evenly over `stagger` steps."""
        share = min(1.0, self._steps / self.stagger) if self.stagger else 1.0
        due = max(1, int(self.game.slots * share))
        if due > self._begun:
            self._start(np.arange(self._begun, due))
        self._begun, self._steps = due, self._steps + 1

    def _refuse_endless(self, matches: int) -> NoReturn:
        raise LanistaError(
            f"All of {matches} matches of {self.game.spec.name} were cut off before their end, so "
            "there is nothing to learn from; let its matches be longer, or its unrolls shorter."
        )

    def save(self) -> dict[str, Any]:
        """Return everything needed to go on exactly so: arrays and plain numbers.

        Between whole matches nothing is in flight, and the next match's id says it all. Matches of
        a game that cannot be saved are left where they are, and fresh ones begun when loading.
        """
        if not self.streaming or not self.game.spec.abilities.restorable:
            return {"next_match": self.next_match}
        memory = [actor.memory() for actor in self._actors()]
        return {
            "next_match": self.next_match,
            "seated": self.seated.copy(),
            "match": self.match.copy(),
            "began": self.began.copy(),
            **({"deal": self.deal.copy(), "lost": self.lost.save()} if self.lost else {}),
            "game": self.game.save(np.arange(self._begun)),
            "tape": self.tape.save(),
            **({"memory": memory} if any(memory) else {}),
            **({"begun": [self._begun, self._steps]} if self._begun < self.game.slots else {}),
        }

    def rested(self) -> dict[str, Any]:
        """Return what `load` takes to go on with the next match; matches in flight are left out."""
        return {"next_match": self.next_match}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` gave, here or in a lone worker."""
        (saved,) = saved.get("workers", [saved])
        self.next_match = int(saved["next_match"])
        self.streaming = "game" in saved
        self._begun = self._steps = 0
        if not self.streaming:
            return
        self._begun, self._steps = map(int, saved.get("begun", (self.game.slots, 0)))
        for name in ("seated", "match", "began"):
            getattr(self, name)[:] = saved[name]
        if self.lost is not None:
            self.deal[:] = saved["deal"]
            self.lost.load(saved["lost"])
        self.tape.load(saved["tape"])
        game: Saved = saved["game"]
        self._overlook(np.arange(self._begun))
        self.game.load(np.arange(self._begun), game)
        if "memory" in saved:
            for actor, memory in zip(self._actors(), saved["memory"], strict=True):
                actor.restore(memory)

    def close(self) -> None:
        """End whatever the game started outside this process."""
        self._hooks.close()
        self.game.close()

    def _actors(self) -> list[Actor | RemoteActor]:
        """Return those at the table that may carry a recurrent state through a match."""
        others = [actor for player in self._distinct for actor in getattr(player, "actors", ())]
        return [self.actor, *others]

    def _alone(self, matches: NDArray[np.int64]) -> NDArray[np.int32]:
        return np.full((len(matches), self.game.spec.seats), LEARNER, np.int32)

    def _start(self, slots: NDArray[Any]) -> None:
        ids = np.arange(self.next_match, self.next_match + len(slots), dtype=np.int64)
        self.next_match += len(slots)
        seated, options = self.seating(ids), None
        if self.lost is not None:
            self.deal[slots], seated = self.lost.draw(ids, seated)
            options = {"deal": self.deal[slots]}
        self.seated[slots] = seated
        self.match[slots], self.began[slots] = ids, self.update
        self._overlook(slots)
        with self.phases(SIMULATE):
            self.game.start(slots, ids, options)
        if self._hooks.stateful:
            self._hooks.started(slots, self.seated[slots], ids)

    def _overlook(self, slots: NDArray[Any]) -> None:
        if isinstance(self.game, Overlooks):
            numbers = np.minimum(self.seated[slots], len(self._unread) - 1)
            self.game.overlook(slots, self._unread[numbers])

    def _step(self) -> NDArray[np.int32]:
        """Let everybody answer what is ready; return the slots whose match ended."""
        phases, game = self.phases, self.game
        self._refuse_swapped()
        with phases(OBSERVE):
            decisions = game.decisions()
            phases.switch(BATCH)
            players = 1 + len(self._distinct)
            order, start = by_player(decisions, self.seated, self._player_of, players)
            mine = order[: start[1]]
            own = self._begin_own(decisions, mine) if len(mine) else None
            phases.switch(OPPONENTS)
            if self._hooks.planning:
                self._hooks.asked(decisions, self.seated[decisions.slot, decisions.seat])
            keep = self.keep_frozen
            answered = self._others.answer(decisions, order, start, phases, log_probs=keep)
            phases.switch(BATCH)
            answers = [answer.action for answer in answered]
            if own is not None:
                answers.insert(0, self._own(decisions, mine, *own))
            if keep:
                self._keep_frozen(decisions, answered)
            actions = np.empty((len(order), len(game.spec.heads)), np.int32)
            if answers:
                actions[order] = np.concatenate(answers)
            phases.switch(SIMULATE)
            over = game.act(self._every[: len(order)], actions)
            if len(over):
                phases.switch(BATCH)
                self.tape.close(over)
                self._count(over)
                if self._hooks.stateful:
                    self._hooks.ended(over, self.seated[over], self.match[over])
        return over

    def _begin_own(self, decisions: Decisions, rows: NDArray[Any]) -> Begun:
        """Let the learner's networks begin with `rows`, while others answer."""
        privileged = self._privileged(rows)
        return self.actor.begin(decisions, rows, privileged), privileged

    def _own(
        self,
        decisions: Decisions,
        rows: NDArray[Any],
        choose: Callable[[], Choice],
        privileged: NDArray[Any] | None,
    ) -> NDArray[np.int32]:
        """Return what the learner answers at `rows`, which are put on the tape."""
        choice = choose()
        action, more = choice.action, self._about(decisions, rows, frozen=False)
        if self.teacher is not None:
            with self.phases(OPPONENTS):
                more["teacher"] = self.teacher.labels(decisions, rows)
                action = self.teacher.mixed(decisions, rows, action, more["teacher"])
        self.tape.write(decisions, rows, choice, privileged, self.update, more)
        return action

    def _privileged(self, rows: NDArray[Any]) -> NDArray[Any] | None:
        if not self.keep_privileged:
            return None
        with self.phases(OBSERVE):
            return self.game.privileged().take(rows, 0)

    def _keep_frozen(self, decisions: Decisions, answers: Sequence[Answer]) -> None:
        """Put on the tape what opponents decided whose probabilities are known."""
        kept = []
        for answer in answers:
            if answer.log_prob is None:
                self.left_out += len(answer.rows)
            else:
                kept.append((answer.rows, answer.action, answer.log_prob))
        if not kept:
            return
        rows, action, log_prob = map(np.concatenate, zip(*kept, strict=True))
        more = self._about(decisions, rows, frozen=True)
        if self.teacher is not None:
            more["teacher"] = np.full_like(action, -1)
        choice = Choice(action, log_prob, log_prob, None, None)
        self.tape.write(decisions, rows, choice, self._privileged(rows), self.update, more)

    def _about(
        self, decisions: Decisions, rows: NDArray[Any], *, frozen: bool
    ) -> dict[str, NDArray[Any]]:
        """Return what the rows say of who decided and against whom, where it is to be kept."""
        more: dict[str, NDArray[Any]] = {}
        if self.keep_frozen:
            more["frozen"] = np.full(len(rows), frozen)
        if self.keep_opponents:
            slot, seat = decisions.slot.take(rows)[:, None], decisions.seat.take(rows)[:, None]
            seats = self.game.spec.seats
            met = self.seated[slot, (seat + np.arange(1, seats)) % seats]
            # A matchup is as even from either side: it is named after who is not the learner.
            more["opponents"] = np.where(met == LEARNER, self.seated[slot, seat], met)
        return more

    def _refuse_swapped(self) -> None:
        if tuple(map(_digest, self.opponents)) == self.digests:
            return
        for player, digest in zip(self.opponents, self.digests, strict=True):
            if player.digest != digest:
                raise LanistaError(
                    f"Player {player.name} changed in the middle of a match, from {digest[:12]} to "
                    f"{player.digest[:12]}; give the changed one matches of its own."
                )

    def _count(self, over: NDArray[np.int32]) -> None:
        """Add the ended matches that have a result to the tally."""
        # By columns: a reduction over the few seats of every match takes ten times as long.
        broken = reduce(np.logical_or, self.game.cut_off.take(over, 0).T)
        slots = over[~broken]
        if len(slots):
            seated, returns = self.seated.take(slots, 0), self.game.returns.take(slots, 0)
            if self.lost is not None:
                self.lost.note(self.deal.take(slots), seated, returns)
            self.tally.add(
                seated,
                self.game.place.take(slots, 0).astype(np.int32),
                returns.astype(np.float32),
                self.match.take(slots),
                self.began.take(slots),
            )
