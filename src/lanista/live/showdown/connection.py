"""A connection to a Showdown server that comes back after it was lost.

Logs in and speaks with poke-env's client; hands rooms' messages and what the server says to its
owner. Knows nothing of battles and policies.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol
from urllib.parse import urlsplit

import websockets
from poke_env import AccountConfiguration, ServerConfiguration, ShowdownServerConfiguration
from poke_env.ps_client import PSClient
from websockets.frames import CloseCode

from lanista.errors import LanistaError
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.live.showdown.limits import (
    LONGEST_MESSAGE,
    LONGEST_NAME,
    MOST_MESSAGES,
    FloodError,
)
from lanista.text import printable

_log = logging.getLogger("lanista.live")
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds before a lost connection is tried again; twice as many after each failure."""
MOST_FAILURES = 20
PATH = "/showdown/websocket"
REMARKS = ("/log", "/text", "/nonotify")
"""How private messages begin in which a server tells what became of a challenge."""
SILENT = logging.CRITICAL + 1
"""Above every level: what poke-env would print is told to the owner instead."""


class ServerError(LanistaError):
    """A Showdown server cannot be used as it was asked to be."""

    exit_code = 1


class Owner(Protocol):
    """Whoever hears what a connection brings."""

    def room(self, tag: str, lines: list[str]) -> None:
        """Take a room's message."""

    def challenged(self, user: str, format: str) -> None:
        """Hear that somebody challenges us."""

    def withdrawn(self, user: str) -> None:
        """Hear that somebody's challenge no longer stands: taken back, refused or accepted."""

    def said(self, words: str) -> None:
        """Hear what the server told this account: a popup, or that a challenge came to nothing."""

    def found(self) -> None:
        """Hear that the account is logged in, for the first time or again."""

    def lost(self, why: str, pause: float) -> None:
        """Hear that the connection is gone and is tried again in `pause` seconds."""

    def failed(self, why: str) -> None:
        """Hear that it will not come back."""


def websocket_url(text: str) -> str:
    """Return a server's address as a websocket takes it; refuse what is none."""
    url = text if "://" in text else f"ws://{text}"
    address = urlsplit(url)
    schemes = {"ws": "ws", "http": "ws", "wss": "wss", "https": "wss"}
    try:
        port = f":{address.port}" if address.port else ""
    except ValueError:
        port = None
    # A number alone would be a host of that name, and somebody means the port.
    if address.scheme not in schemes or not address.hostname or port is None or text.isdigit():
        example = text if text.isdigit() else "8000"
        raise LanistaError(f"--server is {text!r}; write it as ws://127.0.0.1:{example}.")
    host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
    path = address.path if address.path not in ("", "/") else PATH
    return f"{schemes[address.scheme]}://{host}{port}{path}"


def is_for(url: str, meant: str | None) -> bool:
    """Return whether a password may be used on a server.

    `meant` is the server it is for; None: Showdown's own. It never goes along a connection that
    others can read, unless that does not leave this machine: what the login server gives for it
    is as good as the password until it is used.
    """
    own = ShowdownServerConfiguration.websocket_url if meant is None else websocket_url(meant)
    return url == own and (url.startswith("wss:") or is_loopback(url))


def is_loopback(url: str) -> bool:
    """Return whether a server runs on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Connection(PSClient):  # type: ignore[misc]
    """poke-env's client, kept alive."""

    def __init__(
        self,
        owner: Owner,
        url: str,
        name: str,
        password: str | None = None,
        spare_names: Iterable[str] = (),
    ) -> None:
        """Prepare a connection; it must be made inside the loop that is to run it.

        `spare_names` are tried where a name is taken when the account first logs in.
        """
        super().__init__(
            AccountConfiguration(name, password),
            log_level=SILENT,
            server_configuration=ServerConfiguration(
                url, ShowdownServerConfiguration.authentication_url
            ),
            start_listening=False,
            loop=asyncio.get_running_loop(),
        )
        self.owner = owner
        self._spare_names = iter(spare_names)
        self._closing = False
        self._kept: asyncio.Task[None] | None = None
        self._failures = 0
        self._stood = False
        """Whether there ever was a connection; one that never was is not tried again."""
        self._spoke = False
        """Whether somebody answered who would not have a websocket."""
        self._challenged = False
        """Whether the server asked who we are; it is answered once for each connection."""

    def start(self) -> None:
        """Connect, and come back whenever the connection is lost."""
        self._kept = asyncio.get_running_loop().create_task(self._keep())
        self._kept.add_done_callback(self._kept_no_more)

    async def close(self) -> None:
        """Let go of the server."""
        self._closing = True
        if self._kept is not None:
            self._kept.cancel()
            await asyncio.gather(self._kept, return_exceptions=True)
        for task in list(self._active_tasks):
            task.cancel()

    async def say(self, message: str, room: str = "", more: str | None = None) -> bool:
        """Send a message; return whether there was a connection to send it on."""
        try:
            await self.send_message(message, room, more)
        except (websockets.ConnectionClosed, AttributeError):
            return False  # Lost, or not there yet; whoever keeps it alive finds out as well.
        return True

    async def wait_for_login(self, checking_interval: float = 0.0, wait_for: int = 60) -> None:
        """Wait until the server knows the account; a busy one takes its time."""
        try:
            await asyncio.wait_for(self.logged_in.wait(), wait_for)
        except TimeoutError as error:
            raise ServerError(f"there was no answer within {wait_for} seconds") from error

    async def _keep(self) -> None:
        while not self._closing:
            try:
                why = await self._connected()
            except FloodError as flood:
                self.logged_in.clear()
                self.owner.failed(f"{self.websocket_url} is given up: {flood}")
                return
            self.logged_in.clear()
            if self._closing:
                return
            if not self._stood:
                self.owner.failed(self._never_stood(why))
                return
            self._failures += 1
            if self._failures > MOST_FAILURES:
                self.owner.failed(f"{self.websocket_url} does not answer: {why}")
                return
            pause = min(FIRST_PAUSE * 2 ** (self._failures - 1), LONGEST_PAUSE)
            self.owner.lost(why, pause)
            await asyncio.sleep(pause)

    def _never_stood(self, why: str) -> str:
        if self._spoke or not is_loopback(self.websocket_url):
            fault = "is no Showdown server" if self._spoke else "cannot be reached"
            return f"{self.websocket_url} {fault}: {why}"
        return (
            f"Nothing answers at {self.websocket_url}; start a server with `lanista showdown serve`"
        )

    def _kept_no_more(self, task: asyncio.Task[None]) -> None:
        """Tell of a fault of our own: whoever waits would wait for ever."""
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the connection broke from within", exc_info=error)
            why = f"{type(error).__name__}: {printable(error, 200)}"
            self.owner.failed(f"The connection to {self.websocket_url} is given up: {why}")

    async def _connected(self) -> str:
        """Stay connected as long as it lasts; return why it ended."""
        try:
            async with websockets.connect(
                self.websocket_url,
                max_queue=MOST_MESSAGES,
                max_size=LONGEST_MESSAGE,
                open_timeout=10.0,
            ) as websocket:
                self.websocket = websocket
                self._stood, self._challenged = True, False
                async for message in websocket:
                    self._receive(str(message))
            return "the server closed it"
        except (OSError, TimeoutError, websockets.WebSocketException) as error:
            if _is_too_big(error):
                raise FloodError(
                    f"it sent a message of more than {LONGEST_MESSAGE >> 20} MiB"
                ) from error
            self._spoke = isinstance(error, websockets.WebSocketException)
            return printable(getattr(error, "strerror", None) or error, 200).rstrip(".")

    def _receive(self, message: str) -> None:
        first, *rest = message.split("\n")
        if first.startswith(">"):
            if first.startswith(">battle-") and len(first) <= LONGEST_NAME:
                self.owner.room(first[1:], rest)
            return
        for line in (first, *rest):
            self._hear(line)

    def _hear(self, line: str) -> None:
        """Act on a line that belongs to no room."""
        fields = line.split("|")
        kind = fields[1] if len(fields) > 1 else ""
        if kind == "challstr" and len(fields) > 3 and not self._challenged:
            # Each answer shows the password to the login server; nobody else says how often.
            self._challenged = True
            self._background(self.log_in(fields))
        elif kind == "updateuser" and len(fields) > 2:
            # Behind the rank; away from the keyboard, a name has "@!" at its end.
            if to_id(fields[2][1:]) == to_id(self.username):
                self._failures = 0
                self._spare_names = iter(())  # Battles belong to this name from now on.
                self.logged_in.set()
                self.owner.found()
        elif kind == "nametaken":
            self._taken(fields[3] if len(fields) > 3 else "the name is taken")
        elif kind == "popup":
            self.owner.said(line.removeprefix("|popup|").replace("||", " ").strip())
        elif kind == "pm" and len(fields) > 4:
            self._private(fields)

    def _taken(self, why: str) -> None:
        """Try another name, or give up."""
        name = next(self._spare_names, None)
        if name is None:
            self.owner.failed(
                f"{self.websocket_url} does not give the name {self.username!r} away "
                f"({printable(why, 200).rstrip('.')}); set LANISTA_SHOWDOWN_NAME to another name"
            )
            return
        self._account_configuration = AccountConfiguration(name, None)
        self._background(self.send_message(f"/trn {name},0,"))

    def _private(self, fields: list[str]) -> None:
        words = "|".join(fields[4:])
        command, _, rest = words.partition(" ")
        mine = to_id(fields[2]) == to_id(self.username)
        if command == "/challenge" and rest and not mine:
            self.owner.challenged(fields[2][1:], rest.partition("|")[0])
        elif command == "/challenge" and not rest:
            self.owner.withdrawn(fields[3 if mine else 2][1:])
        elif command == "/error" or (command in REMARKS and _ends_challenge(rest)):
            self.owner.said(rest)

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._active_tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._active_tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        # While the connection is down logging in cannot work; it is tried again then.
        if error is None or isinstance(error, websockets.ConnectionClosed):
            return
        named = "" if isinstance(error, ServerError) else f"{type(error).__name__}: "
        why = named + printable(error, 200)
        self.owner.failed(f"{self.username!r} cannot log in at {self.websocket_url}: {why}")


def _is_too_big(error: BaseException) -> bool:
    """Return whether we closed a connection because a message was too long to be read."""
    sent = error.sent if isinstance(error, websockets.ConnectionClosed) else None
    return sent is not None and sent.code == CloseCode.MESSAGE_TOO_BIG


def _ends_challenge(words: str) -> bool:
    return "rejected" in words or "cancelled" in words
