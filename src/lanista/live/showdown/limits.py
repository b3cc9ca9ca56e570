"""How much a Showdown server may send, and what is kept of it.

A server that goes beyond what any battle brings is given up: its `FloodError` ends the connection
with one sentence. What nobody needs (talk, words, challenges beyond counting) is dropped instead,
since others than the server can send it. Knows nothing of what messages mean.
"""

from __future__ import annotations

import sys

from lanista.errors import LanistaError
from lanista.games.contract import GameError

LONGEST_MESSAGE = 2 << 20
"""Bytes of a message; a battle that is told again from its first line is one message."""
MOST_MESSAGES = 16
"""Messages that wait to be read; then the server waits."""
LONGEST_LINE = 4 << 10
LONGEST_REQUEST = 64 << 10
"""Letters of a line and of a request; they have some 100 and some 6,000."""
LONGEST_NAME = 100
"""Letters of a room's or a user's name."""
LONGEST_WORDS = 1_000
MOST_WORDS = 100
"""How many times the server's words are shown."""
MOST_TALK = 256 << 10
"""Bytes of what is said in a battle that are kept."""
MOST_KEPT = 64 << 20
"""Bytes that one battle may take; one of 1,000 turns, the longest allowed, takes about 40 MiB."""
MOST_HELD = 256 << 20
"""Bytes that all battles in progress may take."""
MOST_BATTLES = 256
"""Battles in progress; a player asks for 128 at most."""
MOST_NEWS = 1_000
"""Answers, challenges and battles that wait for somebody to ask for them."""
MOST_UNSENT = 5_000
"""Messages that the server does not take."""
TALK = frozenset(
    (
        *("j", "J", "join", "l", "L", "leave", "n", "N", "name", "c", "c:", "chat"),
        *("raw", "html", "uhtml", "uhtmlchange", "inactive", "inactiveoff", "debug", "title"),
    )
)
"""Lines of a battle that say nothing of the battle."""
_CONTAINER, _VALUE, _SLOT = 200, 60, 16
"""Bytes that a JSON container, a value, and a place in a list take at most."""


class FloodError(LanistaError):
    """A server sends more than any battle brings; the message is what, as a sentence's end."""

    exit_code = 1


def size_of_line(line: str) -> int:
    """Return how many bytes a line takes once it is kept."""
    return sys.getsizeof(line) + _SLOT


def size_of_request(text: str) -> int:
    """Return how many bytes a request takes at most once it has been read."""
    containers = text.count("{") + text.count("[")
    return sys.getsizeof(text) + _CONTAINER * containers + _VALUE * text.count(",")


def refuse_long(kind: str, line: str) -> None:
    """Refuse a line of a battle that is longer than any."""
    most = LONGEST_REQUEST if kind == "request" else LONGEST_LINE
    if len(line) > most:
        name = "request" if kind == "request" else "line"
        raise GameError(f"A {name} of a Showdown battle is longer than {most:,} letters.")
