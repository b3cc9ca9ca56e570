"""Drives a match that does not wait: at each decision the person does what is held just now.

The clock is the server's. A key that comes late is the input of the next decision; a page that is
away stops the clock. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator
from typing import Any

import numpy as np

from lanista.errors import LanistaError
from lanista.games.arena.scene import held_action
from lanista.view.play.sessions import Session

COUNTDOWN = 1.5
"""Seconds between the page's coming and the first decision."""
PATIENCE = 5.0
"""Seconds without a page after which the thread ends; the match waits."""
TICKS_A_SECOND = 30


class Clock:
    """The clock of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        settings = session.match.spec.settings
        self.step = settings["ticks_per_decision"] / TICKS_A_SECOND
        self.keys: dict[str, Any] = {}
        self.late = 0
        """Decisions that came after their time."""
        self._listeners: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._message = self._frame()
        self._mark = 1

    def hold(self, keys: Any) -> None:
        """Take what the person holds from now on."""
        if not isinstance(keys, dict) or len(keys) > 8:
            raise LanistaError("keys must be an object with what is held.")
        self._action(keys)  # Refused here rather than in the clock's thread.
        self.keys = dict(keys)

    async def frames(self) -> AsyncGenerator[str]:
        """Yield every moment of the match as a server-sent event, until it is over."""
        event = asyncio.Event()
        with self._lock:
            self._listeners[event] = asyncio.get_running_loop()
        self._run()
        sent = 0
        try:
            while True:
                event.clear()
                if self._mark > sent:
                    sent = self._mark
                    yield f"data: {self._message}\n\n"
                    if self.session.match.over:
                        return
                    continue
                await event.wait()
        finally:
            with self._lock:
                self._listeners.pop(event, None)

    def _run(self) -> None:
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = threading.Thread(target=self._work, name="view-clock", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        due = time.monotonic() + COUNTDOWN
        alone_since = None
        while not self.session.match.over and not self.session.closed:
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            elif wait < -self.step:
                self.late += 1
                due = time.monotonic()
            due += self.step
            with self._lock:
                alone = not self._listeners
            if alone:
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > PATIENCE:
                    return
                continue
            alone_since = None
            self._decide()

    def _decide(self) -> None:
        session = self.session
        with session.lock:
            if session.closed or session.match.over:
                return
            try:
                session.match.play(self._action(self.keys))
            except LanistaError as problem:
                session.problem = str(problem)
            session.finish()
            self._message = self._frame()
            self._mark += 1
        with self._lock:
            listeners = dict(self._listeners)
        for event, loop in listeners.items():
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:
                return  # The server is ending.

    def _action(self, keys: dict[str, Any]) -> list[int]:
        with self.session.lock:
            match = self.session.match
            own = match.scene()["fighters"][match.seat]
            row = match.row
            mask = match.decisions.mask[row] if row is not None else None
            if mask is None:
                mask = np.ones(match.spec.choices, np.bool_)
            return held_action(keys, mask, (own.get("x", 0.0), own.get("y", 0.0)))

    def _frame(self) -> str:
        plain = self.session.plain()
        kept = ("scene", "turn", "over", "result", "saved", "given", "problem")
        return json.dumps({name: plain[name] for name in kept}, separators=(",", ":"))
