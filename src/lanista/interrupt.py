"""What Ctrl-C does: put off while something must not be left half done, or asked about by a run.

Being told to end (SIGTERM) can be had as an interrupt too. Signals reach the main thread only;
elsewhere nothing is changed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

ONE_INTERRUPT = 1.0
"""Seconds in which interrupts count as one: `timeout` sends its signal twice, and wrappers may pass
on what the process has received itself."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def left_by_interrupt(played: int, planned: int, complete: int) -> str:
    """Return the sentence about matches of which some were played and some of those are kept."""
    why = (
        " (whole blocks alone, or short matches would count for more)" if complete < played else ""
    )
    return f"Interrupted: {played:,} of {planned:,} matches played, {complete:,} kept{why}."


def say_in_handler(say: Callable[[str], None], sentence: str) -> None:
    """Say something where a signal is handled, though it came in the middle of another sentence."""
    try:
        say(sentence)
    except RuntimeError:  # Python's "reentrant call": the stream's buffer is being written.
        with suppress(OSError):
            os.write(2, f"{sentence}\n".encode())


@contextmanager
def finishing() -> Iterator[None]:
    """Let the block finish before an interrupt that comes meanwhile takes effect."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Interrupts reach the main thread only.
        return
    caught = []
    before = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        raise KeyboardInterrupt


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM too, and once for signals that come together."""
    caught: list[float] = []

    def caught_one(number: int, frame: object) -> None:
        now = time.monotonic()
        if not caught or now - caught[0] > ONE_INTERRUPT:
            caught.append(now)
            raise KeyboardInterrupt

    before = [signal.signal(number, caught_one) for number in SIGNALS]
    try:
        yield
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def stopping(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Let an interrupt end the run after its iteration; a second one ends it at once."""
    caught: list[float] = []

    def caught_one(number: int, frame: object) -> None:
        now = time.monotonic()
        if caught:
            if now - caught[0] > ONE_INTERRUPT:
                raise KeyboardInterrupt
            return
        caught.append(now)
        sentence = "Stopping after this iteration, and saving; interrupt again to stop at once."
        say_in_handler(say, sentence)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = [signal.signal(number, caught_one) for number in SIGNALS]
    try:
        yield lambda: bool(caught)
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)
