"""One look for all pages, never more than a share of the time, and no page waits for another."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lanista.errors import LanistaError
from lanista.view import streams
from lanista.view.streams import SHARE, Hub, _Topic


def in_own_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """Run in a thread: a browser of another test may have left a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


async def first(messages: AsyncIterator[str]) -> Any:
    text = await anext(messages)
    return json.loads(text.removeprefix("data: "))


def test_eight_pages_of_one_thing_are_one_look() -> None:
    looks = []

    async def watched() -> list[Any]:
        hub = Hub(64)
        pages = [hub._messages("run", lambda: looks.append(1) or {"update": 7}) for _ in range(8)]
        told = [await first(page) for page in pages]
        for page in pages:
            await page.aclose()  # type: ignore[attr-defined]
        return told

    assert in_own_loop(watched()) == [{"update": 7}] * 8
    assert len(looks) == 1


def test_what_did_not_change_is_not_sent_again_and_what_did_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "SOONEST", 0.01)
    values = iter([1, 1, 1, 2, 2, 3])
    last = [0]

    def look() -> int:
        last[0] = next(values, last[0])
        return last[0]

    async def watched() -> list[Any]:
        page = Hub(64)._messages("run", look)
        return [await first(page) for _ in range(3)]

    assert in_own_loop(watched()) == [1, 2, 3]


def test_looks_never_take_more_than_their_share_however_dear_they_are() -> None:
    def dear() -> int:
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
        return 1

    hub, topic = Hub(64), _Topic(dear)
    hub._loop = asyncio.new_event_loop()
    began = time.monotonic()
    hub._renew(topic, number=3)
    hub._loop.close()
    # Three things are watched, so each has a third of the share.
    assert topic.due - began >= 3 * 0.05 / SHARE


def test_what_cannot_be_read_is_told_as_a_sentence_and_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "SOONEST", 0.01)
    answers = iter([LanistaError("It is damaged."), FileNotFoundError(2, "No such file"), None])

    def look() -> int:
        error = next(answers, None)
        if error is not None:
            raise error
        return 5

    async def watched() -> list[Any]:
        page = Hub(64)._messages("run", look)
        return [await first(page) for _ in range(3)]

    damaged, gone, good = in_own_loop(watched())
    assert damaged == {"error": "It is damaged."}
    assert "No such file" in gone["error"]
    assert good == 5


def test_a_page_without_a_stream_hears_the_same_and_only_what_is_new() -> None:
    async def asked() -> tuple[Any, Any]:
        hub = Hub(0)  # No stream is left.
        refused = await hub.stream("run", lambda: 1)
        assert refused.status_code == 503
        one = json.loads((await hub.latest("run", lambda: 1, "")).body)
        two = json.loads((await hub.latest("run", lambda: 1, one["mark"])).body)
        return one, two

    one, two = in_own_loop(asked())
    assert one["data"] == 1
    assert two == {"mark": one["mark"]}


def test_nothing_is_looked_at_when_nobody_listens_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "SOONEST", 0.01)

    async def watched() -> Hub:
        hub = Hub(64)
        page = hub._messages("run", lambda: 1)
        await first(page)
        await page.aclose()  # type: ignore[attr-defined]
        while hub._thread is not None:
            await asyncio.sleep(0.01)
        return hub

    assert in_own_loop(watched())._topics == {}


def test_the_server_needs_no_torch() -> None:
    """It would take 200 MB and seconds to start."""
    code = "import sys, lanista.view.app; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
