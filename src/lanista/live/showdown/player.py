"""An account on a Showdown server that plays battles: a player of poke-env's kind.

Challenges, accepts and searches, and takes battles up again after the connection was lost. poke-env
connects and logs in; its battle objects decide nothing, for every battle has a tracker of ours.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from poke_env.player import Player
from websockets import ConnectionClosed

from lanista.games.showdown.formats import Format
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.live.showdown.answers import is_answer, is_missing, pause_after, refusal
from lanista.live.showdown.batching import Batcher
from lanista.live.showdown.battle import Battle
from lanista.live.showdown.connection import SILENT, Connection, ServerError
from lanista.live.showdown.limits import (
    LONGEST_NAME,
    LONGEST_WORDS,
    MOST_BATTLES,
    MOST_HELD,
    MOST_NEWS,
    MOST_UNSENT,
    MOST_WORDS,
    FloodError,
)
from lanista.live.showdown.players import Source
from lanista.live.showdown.table import Result, Table
from lanista.live.showdown.unclear import PATIENCE, UnclearAnswer, UnclearWords
from lanista.text import printable

_log = logging.getLogger("lanista.live")
RETURNING = 180.0
"""Seconds after a lost connection in which others may not have found back to the server yet."""
BETWEEN_ASKS = 2.0


class StoppedError(Exception):
    """The player was told to begin no more battles."""


Ask = Callable[[], Awaitable[None]]
"""Asks the server for a battle."""


class ServerPlayer(Player):  # type: ignore[misc]
    """An account on a server, in any number of battles at once."""

    def __init__(
        self,
        source: Source,
        format: Format,
        url: str,
        name: str,
        *,
        password: str | None = None,
        spare_names: Iterable[str] = (),
        belief: Belief | None = None,
        observation: int = 1,
        batcher: Batcher | None = None,
        timer: bool = False,
        patience: float = PATIENCE,
        tell: Callable[[str], None] = _log.info,
    ) -> None:
        """Prepare to play, inside the loop that is to run it; `connect` begins.

        `spare_names` are tried in turn where the name is taken; `username` is the one it has.
        `timer` has the server watch both players' time. Words that are not known are a refusal
        when no battle begins in `patience` seconds. `observation` is the version that the source
        reads. `tell` hears sentences for the user.
        """
        super().__init__(
            battle_format=format.name,
            log_level=SILENT,
            max_concurrent_battles=0,
            start_listening=False,
            loop=asyncio.get_running_loop(),
        )
        self.ps_client = self.connection = Connection(self, url, name, password, spare_names)
        self.source, self.kind, self.belief = source, format, belief
        self.observation = observation
        self.batcher = batcher or Batcher()
        self.timer, self.tell = timer, tell
        self.reconnections = 0
        self._gone = False
        """The user was told that the connection is lost."""
        self._tables: dict[str, Table] = {}
        self._challengers: set[str] = set()
        """Whose challenges stand; poke-env's queue may name others too."""
        self._found_again = float("-inf")
        """When the account was logged in again after a lost connection, on the loop's clock."""
        self._match: int | None = None
        self._starting = asyncio.Lock()
        self._words = 0
        """How often the server's words were shown."""
        self._news: asyncio.Queue[Table | str | None] = asyncio.Queue()
        """What may come of asking for a battle: one, words of the server, a lost connection."""
        self._unclear = UnclearAnswer(patience, self._news.put_nowait)
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def connect(self) -> None:
        """Connect and log in; raise `ServerError` where that cannot be."""
        self.connection.start()
        await self._or_failure(self.connection.logged_in.wait())

    async def close(self) -> None:
        """Leave the server; battles in progress are cut off."""
        self.cut_off()
        await self.connection.close()
        for task in list(self._tasks):
            task.cancel()
        for future in (self._failure, self._stopped):
            if future.done():
                future.exception()  # Or asyncio complains that nobody asked for it.

    async def challenge(self, user: str, team: str | None, match: int | None = None) -> Result:
        """Challenge somebody and play the battle to its end."""
        ask = self.connection.challenge
        return await self._play(lambda: ask(user, self.kind.name, team), match)

    async def search(self, team: str | None, match: int | None = None) -> Result:
        """Search the ladder for an opponent and play the battle to its end."""
        ask = self.connection.search_ladder_game
        return await self._play(lambda: ask(self.kind.name, team), match)

    async def accept(
        self, team: str | None, user: str | None = None, match: int | None = None
    ) -> Result:
        """Accept the next challenge, of `user` if named, and play the battle to its end."""

        async def ask() -> None:
            while True:
                challenger = await self._or_failure(self._challenge_queue.get())
                if to_id(challenger) not in self._challengers:
                    continue
                self._challengers.discard(to_id(challenger))
                if user is None or to_id(challenger) == to_id(user):
                    self._forget_words()
                    await self.connection.accept_challenge(challenger, team)
                    return

        return await self._play(ask, match, accepts=True)

    def stop(self) -> None:
        """Begin no more battles; whoever waits for one gets a `StoppedError`.

        Those in progress are cut off where the server is away.
        """
        if self.away:
            self.cut_off()
        if not self._stopped.done():
            self._stopped.set_exception(StoppedError())
            for message in ("/cancelsearch", "/cancelchallenge"):
                self._send(message)

    def give_up(self) -> None:
        """Forfeit every battle in progress."""
        for table in list(self._tables.values()):
            table.forfeit("the player was stopped")

    def cut_off(self) -> None:
        """Leave every battle in progress without a result."""
        for table in list(self._tables.values()):
            table.finish(cut_off=True)

    @property
    def playing(self) -> int:
        """How many battles are in progress."""
        return len(self._tables)

    @property
    def away(self) -> bool:
        """Whether there is no server to play on now."""
        return not self.connection.logged_in.is_set()

    def choose_move(self, battle: Any) -> Any:
        """Refuse: requests are answered without poke-env's battle objects."""
        raise NotImplementedError("A ServerPlayer answers requests itself.")

    # Beginning.

    async def _play(self, ask: Ask, match: int | None, accepts: bool = False) -> Result:
        async with self._starting:
            table = await self._begun(ask, match, accepts)
        # Shielded: whoever stops waiting for a battle does not end it.
        result: Result = await self._unless(asyncio.shield(table.over), self._failure)
        return result

    async def _begun(self, ask: Ask, match: int | None, accepts: bool) -> Table:
        """Ask for a battle until one begins; a lost connection asks again."""
        self._match = match
        while True:
            await self._or_failure(self.connection.logged_in.wait())
            if self._stopped.done():
                self._stopped.result()
            news = self._table_at_hand()
            if news is None:
                try:
                    if not accepts:  # Whoever accepts waits for a challenge first.
                        self._unclear.asked()
                    await ask()
                    if accepts:
                        self._unclear.asked()
                    news = await self._or_failure(self._news.get())
                except (ConnectionClosed, AssertionError):  # The latter: lost in the last moment.
                    await asyncio.sleep(0)
                    continue
                finally:
                    self._unclear.settled()
            if isinstance(news, Table):
                return news
            if news is not None:
                await self._or_failure(asyncio.sleep(self._pause(news, accepts)))

    def _pause(self, words: str, accepts: bool) -> float:
        """Return how long to wait before asking again; raise where that is of no use."""
        pause = pause_after(words)
        returning = self._clock() - self._found_again < RETURNING
        if pause is None and is_missing(words) and returning:
            pause = BETWEEN_ASKS
        if pause is None and not accepts:
            url = self.connection.websocket_url
            unclear = isinstance(words, UnclearWords)
            waited = f" in {self._unclear.patience:g} s after it said" if unclear else ""
            raise ServerError(f"{url} gave no battle{waited}: {refusal(words)}")
        self.tell(f"The server says: {printable(words, 300)}")
        return pause or 0.0

    def _clock(self) -> float:
        return asyncio.get_running_loop().time()

    def _forget_words(self) -> None:
        """Forget what was said before a challenge is accepted; keep battles."""
        for _ in range(self._news.qsize()):
            news = self._news.get_nowait()
            if isinstance(news, Table):
                self._news.put_nowait(news)

    def _table_at_hand(self) -> Table | None:
        """Return a battle that began while the connection was lost; forget other news."""
        while not self._news.empty():
            news = self._news.get_nowait()
            if isinstance(news, Table):
                return news
        return None

    async def _or_failure(self, awaited: Awaitable[Any]) -> Any:
        """Wait for something, or raise what ended the connection or the wish for battles."""
        return await self._unless(awaited, self._failure, self._stopped)

    async def _unless(self, awaited: Awaitable[Any], *ends: asyncio.Future[None]) -> Any:
        """Wait for something; raise what one of `ends` says if that comes first."""
        task = asyncio.ensure_future(awaited)
        try:
            await asyncio.wait({task, *ends}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            task.cancel()
            next(end for end in ends if end.done()).result()
        return task.result()

    # What the connection tells.

    def room(self, tag: str, lines: list[str]) -> None:
        """Take a battle's message."""
        table, first = self._tables.get(tag), lines[0] if lines else ""
        if first.startswith("|init|battle"):
            if table is None:
                self._refuse_more()
                table = self._open(tag)
            else:
                table.begin_again()
        if table is None:
            return
        if first.startswith(("|noinit|", "|deinit")):  # Not there, or closed before its end.
            table.finish(cut_off=True)
        else:
            table.hear(lines)
            if (
                sum(open_table.battle.bytes_kept for open_table in self._tables.values())
                > MOST_HELD
            ):
                raise FloodError(f"its battles take more than {MOST_HELD >> 20} MiB")

    def _refuse_more(self) -> None:
        """Refuse battles beyond counting, and a server that begins some and takes no answer."""
        if len(self._tables) >= MOST_BATTLES or self._news.qsize() >= MOST_NEWS:
            raise FloodError(f"it began more than {MOST_BATTLES} battles that nobody asked for")
        if len(self._tasks) >= MOST_UNSENT:
            raise FloodError(f"it takes no answers, and {MOST_UNSENT:,} wait")

    def challenged(self, user: str, format: str) -> None:
        """Remember a challenge for whoever accepts."""
        # A server tells of a challenge again, for instance when a connection was lost.
        if format != self.kind.name or len(user) > LONGEST_NAME:
            return
        full = max(len(self._challengers), self._challenge_queue.qsize()) >= MOST_NEWS
        if not full and to_id(user) not in self._challengers:
            self._challengers.add(to_id(user))
            self._challenge_queue.put_nowait(user)

    def withdrawn(self, user: str) -> None:
        """Forget a challenge."""
        self._challengers.discard(to_id(user))

    def said(self, words: str) -> None:
        """Hear what the server says to this account."""
        words = words[:LONGEST_WORDS]
        if is_answer(words):
            if self._news.qsize() < MOST_NEWS:
                self._news.put_nowait(words)
            return
        self._unclear.heard(words)
        self._words += 1
        if self._words <= MOST_WORDS:
            self.tell(f"The server says: {printable(words, 300)}")
        if self._words == MOST_WORDS:
            self.tell("What else the server says is not shown.")

    def found(self) -> None:
        """Ask for the battles in which the connection was lost."""
        self._gone = False
        if self.reconnections:
            self._found_again = self._clock()
        for tag, table in self._tables.items():
            if table.adrift:
                self._send(f"/join {tag}")

    def lost(self, why: str, pause: float) -> None:
        """Note that battles are adrift, and say so."""
        self.reconnections += 1
        self._challengers.clear()
        for table in self._tables.values():
            table.adrift = True
        if self._stopped.done():
            self.cut_off()
            return
        url = self.connection.websocket_url
        event = f"{url} does not answer" if self._gone else f"The connection to {url} is lost"
        self._gone = True
        self.tell(f"{event} ({why}); trying again in {pause:g} s.")
        self._news.put_nowait(None)

    def failed(self, why: str) -> None:
        """End: there is nothing more to wait for."""
        if not self._failure.done():
            self._failure.set_exception(ServerError(f"{why.rstrip('.')}."))

    # Battles.

    def _open(self, tag: str) -> Table:
        battle = Battle(tag, self.kind, self.username, self.belief, self.observation)
        match, self._match = self._match, None
        table = Table(battle, self.source, self.batcher, self._send, self._leave, match)
        self._tables[tag] = table
        self._battle_count_queue.put_nowait(None)
        if self._starting.locked():
            self._news.put_nowait(table)
        else:
            self._battle_semaphore.release()  # poke-env's own ways to begin battles wait for it.
        if self.timer:
            self._send("/timer on", tag)
        if self.kind.brings_team:
            # Policies learn without open team sheets.
            self._send("/rejectopenteamsheets", tag)
        return table

    def _leave(self, table: Table) -> None:
        tag = table.battle.tag
        del self._tables[tag]
        self._battle_count_queue.get_nowait()
        self._battle_count_queue.task_done()
        if not table.adrift:
            self._send(f"/leave {tag}")

    def _send(self, message: str, room: str = "", more: Any = None) -> None:
        """Send without waiting; a lost connection is noticed where it is kept."""
        extra = None if more is None else str(more)
        self._work(self.connection.say(message, room, extra))

    def _work(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
