"""What a worker must be asked first that takes a lost one's place, gathered from what passes by.

The state of a shard lies in few messages: how it is built, where its match ids go on, who it
meets, and the matches in flight it was given. Knows nothing of Ray and of machines.
"""

from __future__ import annotations

from typing import Any

from lanista.rollout.launchers.plan import Message


class ShardState:
    """What a shard of the play was asked and has answered so far."""

    def __init__(self) -> None:
        self._build: Any = None
        self._built = False
        self._next: int | None = None
        self._company: Any = None
        self._saved: Any = None
        """What it was loaded with, as long as nothing was played since."""

    def answered(self, method: str, argument: Any, value: Any) -> None:
        """Note that `method` was answered with `value`."""
        if method == "build":
            self._build, self._built = argument, True
        elif method == "go_on_from":
            self._next = int(argument)
        elif method == "meet":
            self._company = argument
        elif method == "load":
            self._saved = argument
        elif method == "collect":
            self._next, self._saved = int(value.next_match), None

    def messages(self, saved: Any = None) -> list[Message]:
        """Return what brings a fresh worker to where this shard is; `saved`: with these matches.

        Without, matches that were in flight are restarted.
        """
        if not self._built:
            return []
        messages: list[Message] = [("build", self._build)]
        if self._next is not None:
            messages.append(("go_on_from", self._next))
        if self._company is not None:
            messages.append(("meet", self._company))
        if (state := saved if saved is not None else self._saved) is not None:
            messages.append(("load", state))
        return messages
