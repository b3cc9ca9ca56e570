"""One battle on a Showdown server as one player follows it: messages in, requests out.

Sorts a room's lines into what the tracker hears, what is asked and how it ended. Knows nothing of
connections, of who decides, or of poke-env.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError
from lanista.games.showdown.actions.orders import orders_of, preview_text
from lanista.games.showdown.formats import Format
from lanista.games.showdown.observation.description import (
    observation_of,
    previews_of,
    write_mask,
)
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.sim.match import Told
from lanista.games.showdown.sim.views import Request, View
from lanista.live.showdown.limits import (
    LONGEST_LINE,
    MOST_KEPT,
    MOST_TALK,
    TALK,
    FloodError,
    refuse_long,
    size_of_line,
    size_of_request,
)

WON, TIED, LOST = 1.0, 0.0, -1.0
SEATS = {"p1": 0, "p2": 1}
LATE = ("too late", "nothing to choose", "game is over", "nothing to cancel")
"""What a server says of a choice that came after the battle had moved on."""


@dataclass(frozen=True)
class Question:
    """What a battle asks its player now, as a policy sees it."""

    request: Request
    observation: NDArray[np.int16]
    mask: NDArray[np.bool_]
    tracker: Tracker
    transcript: Told


@dataclass(frozen=True)
class Heard:
    """What a message came to."""

    request: Request | None = None
    """The last request that waits for an answer."""
    refused: str = ""
    """Why the server did not take the last choice, and asked nothing new."""
    ended: bool = False


@dataclass(eq=False)
class Battle:
    """A battle from its first line to its last."""

    tag: str
    """The room's name on the server."""
    format: Format
    name: str
    """The player's own account."""
    belief: Belief | None = None
    observation: int = 1
    """The version of the observation that its player reads."""
    opponent: str = ""
    tracker: Tracker | None = None
    transcript: Told = field(default_factory=Told)
    """All that the player was told, for those who keep track in their own way."""
    outcome: float | None = None
    """`WON`, `TIED` or `LOST`; None as long as it goes on and where it was cut off."""
    ended: bool = False
    log: list[str] = field(default_factory=list)
    """Every line so far, but requests, for the replay."""
    unavailable: int = 0
    """Choices that the simulator could not take because a request had said "maybe"."""
    invalid: int = 0
    """Choices that the server refused although the request allowed them."""
    broken: str = ""
    """Why the player gave it up: a message that it could not understand."""
    bytes_kept: int = 0
    """Bytes that the lines and requests so far take."""
    talked: int = 0
    """Bytes of talk among them."""
    _waiting: list[str] = field(default_factory=list)

    @property
    def seat(self) -> int:
        """0 for p1, 1 for p2, -1 while unknown."""
        return -1 if self.tracker is None else self.tracker.seat

    def begin_again(self) -> None:
        """Forget what was heard: the server is about to tell all of it again."""
        self.tracker, self.transcript = None, Told()
        self.log.clear()
        self._waiting.clear()
        self.bytes_kept = self.talked = 0

    def take(self, lines: Sequence[str]) -> Heard:
        """Take in the lines of one message.

        Raise `GameError` where one cannot be read, and `FloodError` where there are too many.
        """
        request: Request | None = None
        refused = ""
        for line in lines:
            if not line.startswith("|"):
                continue
            kind = line[1 : LONGEST_LINE + 1].split("|", 1)[0]
            if not self._keeps(kind, line):
                continue
            if kind == "request":
                request = self._asked(line)
                continue
            fields = line.split("|")
            self.log.append(line)
            if kind == "player":
                self._meet(fields)
            elif kind in ("win", "tie"):
                self._end(fields)
            elif kind == "error":
                refused = self._refused(fields) or refused
            elif not self.broken:
                self._waiting.append(line)
        return Heard(request, refused, self.ended)

    def _keeps(self, kind: str, line: str) -> bool:
        """Return whether a line is needed; refuse one that is too long or too many."""
        if kind in TALK:
            size = size_of_line(line)
            if len(line) > LONGEST_LINE or self.talked + size > MOST_TALK:
                return False
            self.talked += size
        elif self.broken and (kind == "request" or len(line) > LONGEST_LINE):
            return False
        else:
            refuse_long(kind, line)
            size = size_of_request(line) if kind == "request" else size_of_line(line)
        self.bytes_kept += size
        if self.bytes_kept > MOST_KEPT:
            raise FloodError(f"it sent more than {MOST_KEPT >> 20} MiB in the battle {self.tag}")
        return True

    def question(self, request: Request, barred: Collection[int] = ()) -> Question | None:
        """Return a request as a policy sees it; None where it allows nothing but what is barred."""
        assert self.tracker is not None
        orders, previews = orders_of(self.format), previews_of(self.format)
        mask = np.zeros(previews + orders.size, np.bool_)
        try:
            write_mask(request, orders, previews, mask)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise GameError(f"A request of a Showdown battle cannot be read: {error!r}.") from error
        choices = mask[:previews] if request.get("teamPreview") else mask[previews:]
        choices[list(barred)] = False
        if not choices.any():
            return None
        observation = np.zeros(observation_of(self.format, self.observation).length, np.int16)
        self.tracker.encode(observation)
        return Question(request, observation, mask, self.tracker, self.transcript)

    def words(self, request: Request, action: Sequence[int]) -> tuple[int, str]:
        """Return the choice of the head that was asked, and how the server reads it."""
        if request.get("teamPreview"):
            return action[0], preview_text(action[0])
        return action[-1], orders_of(self.format).text(request, action[-1])

    def _asked(self, line: str) -> Request | None:
        """Read a request; return it if it waits for an answer."""
        text = line.split("|", 2)[2]
        if not text:
            return None
        request = _json(text)
        if self.tracker is None:
            self._sit(request.get("side", {}).get("id"))
        assert self.tracker is not None
        lines, self._waiting = self._waiting, []
        self.tracker.hear(lines)
        self.tracker.ask(request)
        self.transcript.views.append(View(tuple(lines), request))
        return None if request.get("wait") else request

    def _meet(self, fields: list[str]) -> None:
        if len(fields) < 4 or not fields[3]:
            return
        if to_id(fields[3]) != to_id(self.name):
            self.opponent = fields[3]
        elif self.tracker is None:
            self._sit(fields[2])

    def _sit(self, place: Any) -> None:
        if place not in SEATS:
            raise GameError(f"A Showdown battle seats its player at {place!r:.40}.")
        self.tracker = Tracker(self.format, SEATS[place], self.belief, self.observation)

    def _end(self, fields: list[str]) -> None:
        self.ended = True
        if fields[1] == "tie":
            self.outcome = TIED
        else:
            winner = fields[2] if len(fields) > 2 else ""
            self.outcome = WON if to_id(winner) == to_id(self.name) else LOST

    def _refused(self, fields: list[str]) -> str:
        """Count a refusal; return its words where nothing else will ask again."""
        words = "|".join(fields[2:])
        if words.startswith("[Unavailable choice]"):
            self.unavailable += 1
            return ""
        if not words.startswith("[Invalid choice]") or any(late in words for late in LATE):
            return ""
        self.invalid += 1
        return words


def _json(text: str) -> dict[str, Any]:
    try:
        request = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GameError(f"A request of a Showdown battle is no JSON: {error}.") from error
    if not isinstance(request, dict) or not isinstance(request.get("side"), dict):
        raise GameError("A request of a Showdown battle names no side.")
    return request
