"""Whether a worker that died is started again, and after which pause: by what its starts achieved.

A start that delivered something is no sign of a fault in the work, however soon it ended, so it
costs no pause and brings nobody nearer to giving up. Looks at no clock. Knows nothing of processes.
"""

from __future__ import annotations

MOST_BARREN = 5
"""Starts in a row that may deliver nothing before a worker is given up with the next."""
FIRST_PAUSE = 0.25
"""Seconds before another start after one that delivered nothing; twice as long each time."""


class Restarts:
    """The starts of one worker since it last delivered something."""

    def __init__(self) -> None:
        self.codes: list[int | None] = []
        """How the starts ended that delivered nothing, since one did."""
        self._delivered = False

    def delivered(self) -> None:
        """Note that the start under way achieved something."""
        self.codes, self._delivered = [], True

    def ended(self, code: int | None) -> None:
        """Note the end of the start under way."""
        if not self._delivered:
            self.codes.append(code)
        self._delivered = False

    @property
    def hopeless(self) -> bool:
        """Whether another start would end as the last ones did, as far as one can tell."""
        return len(self.codes) > MOST_BARREN

    @property
    def pause(self) -> float:
        """Seconds to wait before the next start."""
        return FIRST_PAUSE * 2 ** (len(self.codes) - 1) if self.codes else 0.0
