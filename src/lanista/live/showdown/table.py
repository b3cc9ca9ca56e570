"""One battle being played on a server: asks who decides, and answers the server's requests.

A message that cannot be understood gives up this battle and no other. Knows nothing of accounts
and connections: it is handed lines and a way to send some.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from lanista.games.showdown.sim.views import Request
from lanista.live.showdown.batching import Batcher
from lanista.live.showdown.battle import Battle
from lanista.live.showdown.limits import FloodError
from lanista.live.showdown.players import Hand, Source
from lanista.text import printable

_log = logging.getLogger("lanista.live")
MOST_REFUSALS = 3
"""Refused choices after which the simulator chooses."""
DEFAULT = "default"
"""What lets the simulator choose."""

Send = Callable[[str, str, Any], None]
"""Sends a message to a room, with a request's number or None."""


@dataclass(frozen=True)
class Result:
    """A battle that is over."""

    tag: str
    opponent: str
    seat: int
    """0 for p1, 1 for p2; -1 where it ended before that was known."""
    outcome: float | None
    """1 won, 0 tied, -1 lost; None: cut off, which says nothing."""
    decisions: int
    policy: str
    """Digest of who decided; empty where nobody did."""
    given_up: str = ""
    """Why the player gave it up, where it did."""
    unavailable: int = 0
    """Choices that could not be taken because a request had said "maybe"."""
    invalid: int = 0
    """Choices that the server refused although the request allowed them."""
    defaults: int = 0
    """Requests that the simulator answered for the player."""
    strange: int = 0
    """Lines and effects that were ignored because nobody here knows them."""
    turns: int = 0
    log: tuple[str, ...] = ()
    """The battle's lines as the player saw them."""


class Table:
    """A battle and who plays it."""

    def __init__(
        self,
        battle: Battle,
        source: Source,
        batcher: Batcher,
        send: Send,
        leave: Callable[[Table], None],
        match: int | None = None,
    ) -> None:
        """Begin; `leave` is called once, when the battle is over."""
        self.battle = battle
        self.over: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.adrift = False
        """The connection was lost and the server has not told of the battle since."""
        self._source, self._batcher = source, batcher
        self._send, self._leave = send, leave
        self._match = match
        self._slot = batcher.sit()
        self._hand: Hand | None = None
        self._seating = asyncio.Lock()
        """Held while somebody is fetched to decide."""
        self._decisions = self._defaults = 0
        self._request: Request | None = None
        """What is asked now, or was asked last."""
        self._last_choice: tuple[Any, str] = (None, "")
        """The number of the request answered last, and the answer."""
        self._chosen = -1
        self._barred: set[int] = set()
        """Answers to the request that the server refused."""
        self._tasks: set[asyncio.Task[None]] = set()

    def begin_again(self) -> None:
        """Take the battle up again: the server tells it from its first line."""
        self.adrift = False
        self.battle.begin_again()

    def hear(self, lines: Sequence[str]) -> None:
        """Take a message of the battle's room."""
        try:
            message = self.battle.take(lines)
        except FloodError:
            raise
        except Exception as error:  # Whatever it is, it concerns this battle alone.
            self.forfeit(_why(error), lines)
            return
        if message.ended:
            self.finish()
        elif message.request is not None:
            self._asked(message.request)
        elif message.refused and not self.battle.broken:
            self._refused(message.refused)

    def forfeit(self, why: str, lines: Sequence[str] = ()) -> None:
        """Give the battle up; the server ends it."""
        battle = self.battle
        if battle.broken or battle.ended:
            return
        battle.broken = printable(why, 500)
        message = f" The message was: {printable(list(lines), 1000)}" if lines else ""
        _log.warning("%s is given up: %s%s", battle.tag, battle.broken, message)
        self._send("/forfeit", battle.tag, None)

    def finish(self, cut_off: bool = False) -> None:
        """End the battle: it has a result, or is cut off."""
        if self.over.done():
            return
        battle, hand = self.battle, self._hand
        battle.ended = True
        self._batcher.leave(self._slot)
        for task in self._tasks:
            task.cancel()
        outcome = None if cut_off else battle.outcome
        if hand is not None:
            # A battle given up says nothing of the policy.
            hand.end(None if battle.broken else outcome)
        self.over.set_result(self._result(outcome))
        self._leave(self)

    def _result(self, outcome: float | None) -> Result:
        battle, tracker = self.battle, self.battle.tracker
        return Result(
            tag=battle.tag,
            opponent=battle.opponent,
            seat=battle.seat,
            outcome=outcome,
            decisions=self._decisions,
            policy=self._hand.player.digest if self._hand is not None else "",
            given_up=battle.broken,
            unavailable=battle.unavailable,
            invalid=battle.invalid,
            defaults=self._defaults,
            strange=tracker.strange.total() if tracker is not None else 0,
            turns=tracker.battle.turn if tracker is not None else 0,
            log=tuple(battle.log),
        )

    def _asked(self, request: Request) -> None:
        number = request.get("rqid")
        if number is not None and self._last_choice[0] == number:
            # Told again after the connection was lost: the answer may not have arrived.
            self._send(f"/choose {self._last_choice[1]}", self.battle.tag, number)
            return
        self._request = request
        self._barred.clear()
        self._begin(self._answer(request))

    def _refused(self, words: str) -> None:
        """Answer again, with something else; the simulator chooses where that fails too often."""
        request, answer = self._request, self._last_choice[1]
        if request is None:
            return
        tag = printable(self.battle.tag, 60)
        _log.warning("%s: %r was refused: %s", tag, answer, printable(words, 200))
        if answer == DEFAULT:
            self.forfeit(f"The server takes no choice: {words}")
            return
        if self._hand is not None:
            self._hand.overrule()
        self._barred.add(self._chosen)
        if len(self._barred) >= MOST_REFUSALS:
            self._default(request)
        else:
            self._begin(self._answer(request))

    async def _answer(self, request: Request) -> None:
        battle, hand = self.battle, await self._decider()
        if self._request is not request:
            return  # The battle was told again meanwhile.
        question = battle.question(request, self._barred)
        if question is None:
            self._default(request)
            return
        answer = await self._batcher.ask(
            hand.player, self._slot, hand.match, self._decisions, question
        )
        if battle.broken or self._request is not request:
            return
        self._chosen, words = battle.words(request, answer.action)
        hand.took(answer, question)
        self._decisions += 1
        self._say(request, words)

    async def _decider(self) -> Hand:
        """Return who decides, the same for every request."""
        async with self._seating:
            if self._hand is None:
                battle = self.battle
                self._hand = await self._source.begin(battle.tag, battle.opponent, self._match)
        return self._hand

    def _default(self, request: Request) -> None:
        self._defaults += 1
        self._say(request, DEFAULT)

    def _say(self, request: Request, words: str) -> None:
        self._last_choice = (request.get("rqid"), words)
        self._send(f"/choose {words}", self.battle.tag, request.get("rqid"))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.forfeit(_why(error))


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
