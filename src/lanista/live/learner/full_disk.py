"""Lets work wait while a disk has no room, and go on when it has.

A disk is full for a while: somebody clears it, and a service that ended meanwhile would have to be
started by hand. Knows nothing of the work, but how to take back what was half done.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from typing import TypeVar

from lanista.errors import LanistaError
from lanista.text import printable

LONGEST_PAUSE = 60.0
"""Seconds between two tries, at most."""
_FULL = {errno.ENOSPC, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])}
Done = TypeVar("Done")


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, says that a disk or a quota is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__
    return False


def when_there_is_room(
    work: Callable[[], Done],
    undo: Callable[[], None],
    say: Callable[[str], None],
    stop: threading.Event,
    pause: float,
) -> Done | None:
    """Return what `work` returns; try again after a while as long as there is no room for it.

    `undo` takes back what a try that failed left half done, before the next one. None if `stop` is
    set while it waits. Whatever else goes wrong is raised.
    """
    tries = 0
    while True:
        try:
            if tries:
                undo()
            done = work()
        except (OSError, LanistaError) as error:
            if not is_full(error):
                raise
            if not tries:
                say(f"There is no room: {_place(error)}; waiting until there is. Nothing is lost.")
        else:
            if tries:
                say("There is room again, and the learner goes on.")
            return done
        tries += 1
        if stop.wait(min(LONGEST_PAUSE, pause * 2 ** min(tries - 1, 10))):
            return None


def _place(error: BaseException) -> str:
    """Return what the system said, and of which file where that is known."""
    while not (isinstance(error, OSError) and error.errno in _FULL):
        assert error.__cause__ is not None
        error = error.__cause__
    why = (error.strerror or str(error)).lower()
    return why if error.filename is None else f"{why} at {printable(error.filename)}"
