"""Lets Python look for garbage seldom while matches are played.

What a game that is not compiled keeps of its matches is so many objects that looking through them
after every 700 new ones, as Python does, can take a quarter of its time. Nothing of ours waits for
that: objects go when nobody holds them any more. Knows nothing of games.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

SELDOM = (50_000, 20, 20)
"""New objects before the youngest are looked through, and how often before older ones are."""
_lock = Lock()
_usual: list[tuple[int, int, int]] = []
"""The process's own numbers, once for each thread that plays."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for garbage seldom until the last of all threads in here has left."""
    with _lock:
        _usual.append(_usual[0] if _usual else gc.get_threshold())
        if _usual[0][0]:  # Whoever has switched it off keeps it so.
            gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        with _lock:
            before = _usual.pop()
            if not _usual:
                gc.set_threshold(*before)
