"""Puts off Ctrl-C while something must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
