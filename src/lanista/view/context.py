"""What every page of the server knows: the folder that is looked at, the token, where it is bound.

Owns the one way from an id in an address to a path: nothing outside the folder, nothing behind a
link. Knows nothing of HTTP and of what lies in the folder.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lanista.errors import LanistaError
from lanista.text import printable
from lanista.view.streams import Hub
from lanista.web.hosts import is_loopback
from lanista.web.listening import PATIENCE

_LONGEST = 1024
"""Characters of an id."""


class NotHereError(LanistaError):
    """An address names something that the folder does not hold."""


@dataclass(frozen=True)
class Limits:
    """What a client may ask of the server."""

    body_bytes: int = 1 << 20
    """Of a request."""
    streams: int = 64
    """Live pages at once, over all clients."""
    patience: float = PATIENCE
    """Seconds in which a client must send its request or take the next part of an answer."""


@dataclass(frozen=True)
class ViewContext:
    """A server's own facts."""

    folder: Path
    token: str = field(repr=False)
    host: str = "127.0.0.1"
    """The address it is bound to."""
    limits: Limits = field(default_factory=Limits)
    hub: Hub = field(init=False, compare=False, repr=False)
    """What open pages watch."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hub", Hub(self.limits.streams))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server; elsewhere everything needs the token."""
        return is_loopback(self.host)

    def path_of(self, place: str) -> Path:
        """Return the path that an id names; refuse one that is not in the folder.

        An id is a path relative to the folder, with slashes; `.` is the folder itself.
        """
        pure = PurePosixPath(place)
        odd = "\\" in place or "\0" in place or len(place) > _LONGEST
        if not place or odd or pure.is_absolute() or ".." in pure.parts:
            raise _missing(place)
        path = self.folder
        for name in pure.parts:
            path = path / name
            try:
                mode = path.lstat().st_mode
            except (OSError, ValueError):
                raise _missing(place) from None
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise _missing(place)
        return path

    def place_of(self, path: Path) -> str:
        """Return the id of a path in the folder."""
        return path.relative_to(self.folder).as_posix()


def _missing(place: str) -> NotHereError:
    return NotHereError(f"There is no {printable(place)} in this folder; see the list of runs.")
