"""Puts off Ctrl-C while something must not be left half done, and says what it left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def left_by_interrupt(played: int, asked: int, kept: int) -> str:
    """Return the sentence about matches of which some were played and some of those are kept."""
    why = " (whole blocks alone, or short matches would count for more)" if kept < played else ""
    return f"Interrupted: {played:,} of {asked:,} matches played, {kept:,} kept{why}."


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
