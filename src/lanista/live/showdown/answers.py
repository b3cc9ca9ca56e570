"""What a Showdown server's words mean to somebody who asked it for a battle.

The words are those of the server's own source. Knows nothing of connections and battles.
"""

from __future__ import annotations

from lanista.text import printable

MISSING = "was not found"
WAITS = {
    "less than 10 seconds": 10.0,
    "server is restarting": 30.0,
    "server is under attack": 60.0,
    "you are limited to": 30.0,
    "went offline before your battle could start": 2.0,
}
"""What means "not now", and after how many seconds to ask again."""
REFUSALS = (
    MISSING,
    "not accepting challenges",
    "rejected",
    "cancelled",
    "is not challenging you",
    "banned from battling",
    "barred from starting",
    "locked and cannot challenge",
    "must choose a username",
    "requires you to be rank",
    "must register",
    "can't battle yourself",
    "pending challenges",
    "already a challenge",
    "format is invalid",
    "not ladderable",
)
"""What means "no". That we are asking already is none: what was asked before is waited for."""
NO_LADDER = "not ladderable"


def is_answer(words: str) -> bool:
    """Return whether words are about a challenge or a search, and not about something else."""
    return any(phrase in words for phrase in (*WAITS, *REFUSALS))


def is_missing(words: str) -> bool:
    """Return whether the one who was challenged is not on the server."""
    return MISSING in words


def pause_after(words: str) -> float | None:
    """Return after how many seconds to ask again; None where the answer is no."""
    return next((pause for phrase, pause in WAITS.items() if phrase in words), None)


def refusal(words: str) -> str:
    """Return a refusal as the end of a sentence, with a remedy where one is known."""
    sentence = printable(words, 300).rstrip(".")
    if NO_LADDER in words:
        return f"{sentence}; play with --challenge USER or --accept N instead."
    return f"{sentence}."
