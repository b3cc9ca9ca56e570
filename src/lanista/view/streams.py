"""Live changes to open pages: one look at a thing for all pages that show it.

A single thread looks at what is watched, and never works more than a small share of the time: a
look that costs much is repeated seldom. A slow page misses changes in between, and holds up nobody.
Knows nothing of what is looked at.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from lanista.errors import LanistaError

SHARE = 0.005
"""Of one core, that all looks together may take."""
SOONEST = 1.0
"""Seconds between two looks at the same thing."""
LEASE = 8.0
"""Seconds that a thing is looked at for a page that asks now and then."""
HEARTBEAT = 15.0
"""Seconds after which a silent stream says that it is alive."""
TOO_MANY = "Too many live pages are open; close some, or reload this page to see what is new."

Look = Callable[[], Any]
"""Returns what a page is told, as JSON has it; called in one thread, again and again."""


@dataclass
class _Topic:
    look: Look
    message: str = ""
    mark: int = 0
    due: float = 0.0
    wanted_until: float = 0.0
    listeners: set[asyncio.Event] = field(default_factory=set)


class Hub:
    """Everything that open pages watch."""

    def __init__(self, streams: int) -> None:
        self.most, self.open = streams, 0
        self._topics: dict[Hashable, _Topic] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closed = False

    def close(self) -> None:
        """End all streams; called where they run, when the server ends."""
        self.closed = True
        with self._changed:
            listeners = [event for topic in self._topics.values() for event in topic.listeners]
        for event in listeners:
            event.set()

    async def stream(self, key: Hashable, look: Look) -> Response:
        """Return a stream of server-sent events; each is what `look` returned when it changed."""
        if self.open >= self.most:
            return JSONResponse({"error": TOO_MANY}, 503, {"retry-after": "5"})
        self.open += 1
        messages = self._messages(key, look)
        return _Counted(self, messages)

    async def latest(self, key: Hashable, look: Look, seen: str) -> Response:
        """Return the newest message and its mark, for a page that has no stream."""
        event = asyncio.Event()
        topic = self._join(key, look, event)
        try:
            if not topic.mark:
                await event.wait()
        finally:
            self._leave(key, event, LEASE)
        if seen == str(topic.mark):
            return JSONResponse({"mark": seen})
        head = f'{{"mark":"{topic.mark}","data":{topic.message}}}'
        return Response(head, media_type="application/json")

    async def _messages(self, key: Hashable, look: Look) -> AsyncIterator[str]:
        event = asyncio.Event()
        topic = self._join(key, look, event)
        sent = 0
        try:
            while not self.closed:
                if topic.mark > sent:
                    sent = topic.mark
                    yield f"data: {topic.message}\n\n"
                event.clear()
                if topic.mark > sent:
                    continue
                try:
                    await asyncio.wait_for(event.wait(), HEARTBEAT)
                except TimeoutError:
                    yield ": alive\n\n"
        finally:
            self._leave(key, event, 0.0)

    def _join(self, key: Hashable, look: Look, event: asyncio.Event) -> _Topic:
        self._loop = asyncio.get_running_loop()
        with self._changed:
            topic = self._topics.setdefault(key, _Topic(look))
            topic.listeners.add(event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="view-looks", daemon=True)
                self._thread.start()
            self._changed.notify()
        return topic

    def _leave(self, key: Hashable, event: asyncio.Event, lease: float) -> None:
        with self._changed:
            topic = self._topics.get(key)
            if topic is not None:
                topic.listeners.discard(event)
                topic.wanted_until = max(topic.wanted_until, time.monotonic() + lease)

    def _work(self) -> None:
        """Look at what is due, as long as anybody listens."""
        while True:
            with self._changed:
                now = time.monotonic()
                for key in [k for k, topic in self._topics.items() if _unwanted(topic, now)]:
                    del self._topics[key]
                if not self._topics:
                    self._thread = None
                    return
                topic = min(self._topics.values(), key=lambda one: one.due)
                if topic.due > now:
                    self._changed.wait(min(topic.due - now, SOONEST))
                    continue
                number = len(self._topics)
            self._renew(topic, number)

    def _renew(self, topic: _Topic, number: int) -> None:
        began = time.thread_time()
        try:
            message = json.dumps(topic.look(), allow_nan=False, separators=(",", ":"))
        except LanistaError as error:
            message = json.dumps({"error": str(error)})
        except OSError as error:
            message = json.dumps({"error": f"It cannot be read: {error.strerror or error}."})
        cost = time.thread_time() - began
        topic.due = time.monotonic() + max(SOONEST, cost * number / SHARE)
        if message != topic.message:
            topic.message, topic.mark = message, topic.mark + 1
            self._tell(topic)

    def _tell(self, topic: _Topic) -> None:
        with self._changed:
            listeners = list(topic.listeners)
        assert self._loop is not None
        for event in listeners:
            try:
                self._loop.call_soon_threadsafe(event.set)
            except RuntimeError:
                return  # The server is ending.


def _unwanted(topic: _Topic, now: float) -> bool:
    return not topic.listeners and topic.wanted_until < now


class _Counted(StreamingResponse):
    """A stream that gives its place back when it ends, however it ends."""

    def __init__(self, hub: Hub, messages: AsyncIterator[str]) -> None:
        super().__init__(messages, media_type="text/event-stream")
        self.hub, self.messages = hub, messages

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.hub.open -= 1
            await self.messages.aclose()  # type: ignore[attr-defined]
