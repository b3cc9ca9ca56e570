"""Carries games to the server of a learner elsewhere, and its policies here, in its own thread.

The bot plays from its own copy of the policy folder and writes into its own spool, so it never
waits for the network. A game leaves the spool when the server has confirmed that it is on its disk;
until then it is sent again, however often either side is killed. Knows nothing of playing.
"""

from __future__ import annotations

import hashlib
import logging
import random
import stat
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from lanista.errors import LanistaError, RefusedError
from lanista.files import remove_leftovers, replacing
from lanista.live.agent.server_connection import AwayError, RefusedFileError, ServerConnection
from lanista.live.files.game_file import MOST_BYTES
from lanista.live.files.policy_folder import POINTER, Pointer, PolicyFolder, pointer_in
from lanista.live.files.spool import Spool
from lanista.lock import holding
from lanista.text import printable

_log = logging.getLogger("lanista.live")
POLL_SECONDS = 5.0
"""How often to ask which policy plays, and to look for games."""
LONGEST_PAUSE = 60.0
"""Seconds between two tries while the server is away, at most."""
_FIRST_PAUSE = 0.5


@dataclass(frozen=True)
class Sent:
    """What went between a bot and its server so far."""

    sent: int = 0
    """Games that the server confirmed."""
    repeated: int = 0
    """Of those, games that it had already."""
    refused: int = 0
    """Files that it will never take; they are in `bad/` of the spool, the reasons beside them."""
    waiting: int = 0
    """Games in the spool that are still to be sent, at the last look."""
    policies: int = 0
    """Policies that were fetched."""
    failures: int = 0
    """Tries in a row that failed; 0: the server is there."""
    problem: str = ""
    """The last thing that went wrong, as a sentence."""


class Courier:
    """The thread between one spool, one copy of a policy folder, and one server."""

    def __init__(self, connection: ServerConnection, folder: PolicyFolder, spool: Spool) -> None:
        """Fetch the policy if there is no copy of it yet; all else goes on in the thread."""
        refuse_own_folder(folder)
        remove_leftovers(folder.policies)
        self._connection, self._folder, self._spool = connection, folder, spool
        self._counts = Sent()
        self._wake = threading.Event()
        self._closing = False
        self._until = float("inf")
        self._held = ExitStack()
        self._holds_spool = False
        self._thread = threading.Thread(target=self._serve, name="lanista-courier", daemon=True)
        if not _is_whole(folder):
            try:
                self._fetch_policies(again=True)
            finally:
                connection.close()

    def start(self) -> None:
        """Begin to send and to fetch."""
        self._thread.start()

    def notify(self) -> None:
        """Say that a game was written; returns at once."""
        self._wake.set()

    def counts(self) -> Sent:
        """Return what was sent and fetched so far."""
        return self._counts

    def close(self, seconds: float) -> None:
        """Send what waits, for at most `seconds`; the rest stays for the next start."""
        self._until = time.monotonic() + seconds
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _serve(self) -> None:
        try:
            while True:
                last = self._closing
                after = self._guarded_round()
                if last:
                    return
                self._rest(after)
        finally:
            self._held.close()

    def _guarded_round(self) -> float:
        """Do a round; return how many seconds the server wants to be left alone."""
        after = 0.0
        try:
            self._round()
            self._counts = replace(self._counts, failures=0)
        except (LanistaError, OSError) as error:
            self._failed(str(error))
            after = error.after if isinstance(error, AwayError) else 0.0
        except Exception as error:  # The thread must go on, whatever happened.
            self._failed(f"Games cannot be sent: {printable(repr(error), 200)}.")
        finally:
            self._connection.close()
        return after

    def _rest(self, after: float) -> None:
        """Wait for a game or the next look; after failures only for the time, ever longer."""
        failures = self._counts.failures
        if not failures:
            self._wake.wait(POLL_SECONDS * random.uniform(0.75, 1.25))
            self._wake.clear()
            return
        pause = max(after, min(LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures - 1, 20)))
        until = time.monotonic() + pause * random.uniform(0.5, 1.0)
        while not self._closing and (left := until - time.monotonic()) > 0:
            self._wake.wait(min(left, POLL_SECONDS))
            self._wake.clear()

    def _round(self) -> None:
        """Fetch what plays now, then send what waits."""
        if not self._closing:
            self._fetch_policies()
        if not self._holds_spool and not self._hold_spool():
            return
        waiting = self._spool.waiting()
        for number, path in enumerate(waiting):
            self._counts = replace(self._counts, waiting=len(waiting) - number)
            if time.monotonic() > self._until:
                return
            self._send(path)
        self._counts = replace(self._counts, waiting=0)

    def _hold_spool(self) -> bool:
        """Whether this one may send from the spool: two would send everything twice."""
        try:
            self._held.enter_context(holding(self._spool.folder, "spool"))
        except RefusedError as error:
            self._note(f"{error} Its games are left to that one.")
            return False
        self._holds_spool = True
        return True

    def _send(self, path: Path) -> None:
        try:
            data = _bytes_of(path)
            repeated = self._connection.send(data)
        except FileNotFoundError:
            return
        except RefusedFileError as error:
            self._spool.reject(path, str(error))
            self._count(refused=1)
            self._note(f"A game was refused by the server: {error}")
            return
        path.unlink(missing_ok=True)
        self._count(sent=1, repeated=int(repeated))

    def _fetch_policies(self, *, again: bool = False) -> None:
        """Make the copy what the server's folder is; `again`: whatever the copy says."""
        data = self._connection.pointer("" if again else self._tag())
        if data is None:
            return
        path = self._folder.folder / POINTER
        pointer = pointer_in(data, path)
        before = _found(self._folder)
        self._fetch(pointer.stable)
        for digest in pointer.candidates:
            try:
                self._fetch(digest)
            except AwayError as error:
                if error.status != 404:
                    raise
                self._note(str(error))  # Then the stable policy plays its games.
        self._folder.adopt(data)
        spared = () if before is None else (before.stable, *before.candidates)
        self._folder.prune(0, spared)

    def _fetch(self, digest: str) -> None:
        path = self._folder.path_of(digest)
        if _digest_of(path) == digest:
            return
        with replacing(path) as file:
            for chunk in self._connection.policy(digest):
                file.write(chunk)
        self._count(policies=1)

    def _tag(self) -> str:
        try:
            return hashlib.sha256((self._folder.folder / POINTER).read_bytes()).hexdigest()
        except FileNotFoundError:
            return ""

    def _count(self, **more: int) -> None:
        totals = {name: getattr(self._counts, name) + count for name, count in more.items()}
        self._counts = replace(self._counts, **totals)

    def _failed(self, sentence: str) -> None:
        self._count(failures=1)
        self._note(sentence)

    def _note(self, sentence: str) -> None:
        # The first of its kind, then ever more seldom.
        failures = self._counts.failures
        if sentence != self._counts.problem or failures & (failures - 1) == 0:
            _log.warning("%s The bot plays on; its games are kept.", sentence)
        self._counts = replace(self._counts, problem=sentence)


def refuse_own_folder(folder: PolicyFolder) -> None:
    """Refuse a policy folder that is no copy: somebody published into it, or learns for it."""
    for name in ("history", "learner"):
        if (folder.folder / name).exists():
            raise RefusedError(
                f"{printable(folder.folder)} is no copy of a server's policies, but a policy "
                "folder of its own; name another folder."
            )


def _is_whole(folder: PolicyFolder) -> bool:
    """Whether a copy can be played from."""
    pointer = _found(folder)
    return pointer is not None and _digest_of(folder.path_of(pointer.stable)) == pointer.stable


def _found(folder: PolicyFolder) -> Pointer | None:
    try:
        return folder.found()
    except LanistaError:
        return None  # A damaged copy is fetched again.


def _digest_of(path: Path) -> str | None:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _bytes_of(path: Path) -> bytes:
    """Return what is to be sent; refuse what cannot be a game without reading it."""
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode):
        raise RefusedFileError("The game file is refused: it is not a file.")
    if about.st_size > MOST_BYTES:
        raise RefusedFileError(f"The game file is refused: it has {about.st_size:,} bytes.")
    return path.read_bytes()
