"""Writes games to the spool in a thread of its own, so that no game ever waits for a disk.

What a game's thread does here is to append to a list. What cannot be kept is dropped, counted and
said. Knows nothing of policies.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from lanista.errors import LanistaError
from lanista.live.agent.journal import Journal, Recording
from lanista.live.files.spool import Spool, plain_name
from lanista.text import printable

_log = logging.getLogger("lanista.live")
JOURNAL_SECONDS = 0.2
"""How much of a game a kill can cost, in seconds."""
RETRY_SECONDS = 1.0
MOST_WAITING_BYTES = 1 << 28
MOST_WAITING = 1024


@dataclass(frozen=True)
class Written:
    """What became of games so far."""

    written: int = 0
    waiting: int = 0
    """Ended, and not on the disk yet."""
    dropped: int = 0
    """Ended, and lost: the disk was full or too slow, or the file would have been refused."""
    left: int = 0
    """Not on the disk when the agent was closed, but whole in their journals."""
    journals_lost: int = 0
    """Games that a kill would lose, because their journal could not be written."""
    recovered: int = 0
    """Games of earlier processes that were killed, made from their journals."""
    problem: str = ""
    """The last thing that went wrong, as a sentence."""


class Writer:
    """The thread that writes, and what waits for it."""

    def __init__(self, spool: Spool, written: Callable[[], None] | None = None) -> None:
        """Write into a spool; call `written` after every game, in the thread that writes."""
        self._spool = spool
        self._written = written
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._playing: list[Recording] = []
        self._ended: deque[Recording] = deque()
        self._discarded: deque[Recording] = deque()
        self._bytes = 0
        self._counts = Written()
        self._times_noted: dict[str, int] = {}
        self._closing = False
        self._retry_at = 0.0
        self._thread = threading.Thread(target=self._serve, name="lanista-spool", daemon=True)
        self._thread.start()

    def begin(self, recording: Recording) -> None:
        """Keep a journal of a game from now on."""
        with self._lock:
            self._playing.append(recording)
        self._wake.set()

    def end(self, recording: Recording) -> None:
        """Write a game's file as soon as may be; drop it where too much is waiting already."""
        recording.ended = True
        with self._lock:
            full = self._bytes + recording.size > MOST_WAITING_BYTES
            if full or len(self._ended) >= MOST_WAITING:
                self._discarded.append(recording)
            else:
                self._bytes += recording.size
                self._ended.append(recording)
        self._wake.set()

    def counts(self) -> Written:
        """Return what became of games so far."""
        with self._lock:
            return replace(self._counts, waiting=len(self._ended))

    def close(self, seconds: float) -> None:
        """Write what waits, for at most `seconds`; what is left then is lost or in its journal."""
        self._closing = True
        self._wake.set()
        self._thread.join(seconds)

    def _serve(self) -> None:
        self._guarded(self._recover)
        while True:
            last = self._closing  # Asked first: what ended before is then among what is written.
            self._guarded(self._keep_journals)
            self._guarded(self._write_ended)
            self._guarded(self._discard)
            if last:
                self._guarded(self._leave)
                return
            self._wake.wait(self._pause())
            self._wake.clear()

    def _pause(self) -> float | None:
        with self._lock:
            if self._playing:
                return JOURNAL_SECONDS
            return RETRY_SECONDS if self._ended else None

    def _guarded(self, work: Callable[[], None]) -> None:
        """Run a part of the thread's work; it must go on, whatever happened."""
        try:
            work()
        except Exception as error:
            self._note(f"Games cannot be written: {printable(repr(error), 200)}.")

    def _recover(self) -> None:
        try:
            recovery = self._spool.recover()
        except (LanistaError, OSError) as error:
            self._note(str(error))
            return
        for sentence in recovery.passed_over:
            self._note(sentence)
        self._count(recovered=recovery.games)

    def _keep_journals(self) -> None:
        with self._lock:
            playing = list(self._playing)
            self._playing = [one for one in self._playing if not one.ended]
        for recording in playing:
            self._keep_journal(recording)

    def _keep_journal(self, recording: Recording) -> None:
        header = recording.header
        if not recording.journaled or (recording.ended and recording.journal is None):
            return  # Its own file is as quick to write.
        try:
            if recording.journal is None:
                name = f"{plain_name(header.game_id)}-{header.play}"
                recording.journal = Journal(self._spool.open, name, header)
            rows = []
            while recording.unsaved:
                rows.append(recording.unsaved.popleft())
            if rows:
                recording.journal.append(b"".join(rows))
        except OSError as error:
            self._note(f"The journal of game {header.game_id!r} is lost: {_why(error)}.", "lost")
            self._count(journals_lost=1)
            self._end_journal(recording)

    def _write_ended(self) -> None:
        if time.monotonic() < self._retry_at and not self._closing:
            return
        for _ in range(len(self._ended)):
            recording = self._ended[0]
            # The end first: a journal that outlives this must tell the same game, not a cut one.
            self._keep_journal(recording)
            try:
                self._spool.write(recording.game())
            except OSError as error:
                # Perhaps there is room later; meanwhile others may be small enough.
                self._note(f"Game {recording.header.game_id!r} waits: {_why(error)}.", "wait")
                self._retry_at = time.monotonic() + RETRY_SECONDS
                self._ended.rotate(-1)
                if not self._closing:
                    return
                continue
            except LanistaError as error:
                self._drop(recording, str(error))
                self._done(recording)
                continue
            self._count(written=1)
            self._done(recording)
            if self._written is not None:
                self._written()

    def _done(self, recording: Recording) -> None:
        with self._lock:
            self._ended.popleft()
            self._bytes -= recording.size
        self._end_journal(recording)

    def _discard(self) -> None:
        while self._discarded:
            recording = self._discarded.popleft()
            self._drop(recording, "too many games wait for the disk")
            self._end_journal(recording)

    def _drop(self, recording: Recording, reason: str) -> None:
        self._count(dropped=1)
        self._note(f"Game {recording.header.game_id!r} is dropped: {reason.rstrip('.')}.", "drop")

    def _leave(self) -> None:
        """Let go of what could not be written: a journal that is whole still tells it."""
        for recording in list(self._ended):
            if recording.journal is None:
                self._drop(recording, "it could not be written before the agent was closed")
            else:
                recording.journal.leave()
                self._count(left=1)
        with self._lock:
            self._ended.clear()
        for recording in self._playing:
            if recording.journal is not None:
                recording.journal.leave()

    def _end_journal(self, recording: Recording) -> None:
        recording.journaled = False
        recording.unsaved.clear()
        if recording.journal is not None:
            journal, recording.journal = recording.journal, None
            try:
                journal.remove()
            except OSError as error:
                self._note(f"{journal.path} cannot be removed: {_why(error)}.", "remove")

    def _count(self, **more: int) -> None:
        with self._lock:
            totals = {name: getattr(self._counts, name) + count for name, count in more.items()}
            self._counts = replace(self._counts, **totals)

    def _note(self, sentence: str, kind: str = "") -> None:
        # The first of a kind, then ever more seldom: a log must not fill the disk that is full.
        kind = kind or sentence
        times = self._times_noted[kind] = self._times_noted.get(kind, 0) + 1
        if times & (times - 1) == 0:
            _log.warning("%s%s", sentence, f" ({times} times so far)" if times > 1 else "")
        with self._lock:
            self._counts = replace(self._counts, problem=sentence)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
