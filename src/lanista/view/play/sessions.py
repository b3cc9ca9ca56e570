"""Matches that persons play now: bounded in number and in age, each with a lock of its own.

A session outlives the page that began it, so that a reload goes on with it. Knows nothing of HTTP.
"""

from __future__ import annotations

import atexit
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from lanista.errors import LanistaError
from lanista.insight.person_match import PersonMatch
from lanista.view.context import NotHereError, ViewContext
from lanista.view.play.setup import Seated, Wish, seat

MOST_SESSIONS = 32
MOST_OF_GAME = {"showdown": 4}
"""Sessions of games that run a process of their own for each."""
MOST_IDLE = 6 * 3600.0
"""Seconds after which a session that nobody asks for ends."""
FOLDER = "played"
"""Where matches are saved, in the folder that is served."""


@dataclass
class Session:
    """One match that a person plays."""

    id: str
    seated: Seated
    context: ViewContext
    touched: float
    lock: threading.RLock = field(default_factory=threading.RLock)
    saved: str = ""
    """The place of its replay, once it is over."""
    given: bool = False
    """It was written into a live learner's spool."""
    problem: str = ""
    hints: int = 0
    undone: int = 0
    closed: bool = False

    @property
    def match(self) -> PersonMatch:
        """The match itself."""
        return self.seated.match

    @property
    def game(self) -> str:
        """The game's name, without what follows a family's."""
        return self.seated.wish.game.partition(":")[0]

    def move(self, action: list[int], turn: int) -> None:
        """Make the person's move at a turn; one for another turn came twice or too late."""
        with self.lock:
            if turn != len(self.match.turns):
                raise LanistaError("The match has gone on since; look at the board again.")
            self.match.play(action)
            self.finish()

    def undo(self) -> None:
        """Take back the person's last move."""
        with self.lock:
            if not self.seated.wish.undo:
                raise LanistaError("This match is played without moves taken back.")
            if self.match.over:
                raise LanistaError("The match is over and saved; begin a rematch.")
            self.match.undo()
            self.undone += 1

    def hint(self) -> dict[str, Any]:
        """Return what a policy thinks of the person's view."""
        with self.lock:
            if not self.seated.wish.hints:
                raise LanistaError("This match is played without hints.")
            adviser = self.seated.adviser()
            self.hints += 1
            name = adviser.path.stem if adviser.name == str(adviser.path) else adviser.name
            return {"by": name, **self.match.hint(adviser).plain()}

    def finish(self) -> None:
        """Save a match that has ended, and give it to the learner where that was asked for."""
        if not self.match.over or self.saved or self.problem:
            return
        try:
            path = self.match.record(self.context.folder / FOLDER)
            self.saved = self.context.place_of(path)
            if self.seated.live is not None:
                at = self.match.players.index(self.seated.live)
                cut_off = bool(self.match.game.cut_off[0].any())
                outcome = None if cut_off else float(self.match.game.returns[0, at])
                self.given = self.seated.live.end(outcome) > 0
        except (LanistaError, OSError) as problem:
            self.problem = f"The match could not be saved: {problem}"

    def plain(self) -> dict[str, Any]:
        """Return what the page shows."""
        with self.lock:
            match = self.match
            waiting = match.row is not None
            return {
                "id": self.id,
                "wish": self.seated.wish.plain(),
                "seat": match.seat,
                "names": ["you" if at == match.seat else self.seated.wish.seats[at]
                          for at in range(match.spec.seats)],
                "turn": len(match.turns),
                "scene": match.scene(),
                "legal": _legal(match) if waiting and not match.board.live else [],
                "log": [[seat, words] for seat, words in match.log[-200:]],
                "logged": len(match.log),
                "over": match.over,
                "result": _result(match) if match.over else None,
                "saved": self.saved,
                "given": self.given,
                "problem": self.problem,
                "hints": self.hints,
                "undone": self.undone,
                "can_undo": bool(match.own_turns) and self.seated.wish.undo and not match.over,
                "clocked": match.board.live,
            }  # fmt: skip

    def close(self) -> None:
        """End the session; what it started outside this process ends with it."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
            if self.seated.live is not None:
                self.seated.live.end(None)
            self.match.close()


def _legal(match: PersonMatch) -> list[dict[str, Any]]:
    return [
        {"head": head.name, "choices": [vars(choice) for choice in choices]}
        for head, choices in zip(match.spec.heads, match.legal(), strict=True)
    ]


def _result(match: PersonMatch) -> dict[str, Any]:
    game = match.game
    return {
        "places": game.place[0].tolist(),
        "returns": [float(amount) for amount in game.returns[0]],
        "score": [float(amount) for amount in game.score[0]],
        "cut_off": bool(game.cut_off[0].any()),
    }


class Sessions:
    """All sessions of a server."""

    def __init__(self, context: ViewContext, most: int = MOST_SESSIONS) -> None:
        self.context, self.most = context, most
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()
        atexit.register(self.close)

    def begin(self, wish: Wish) -> Session:
        """Begin a match; the one that was asked for longest ago makes room where it must."""
        seated = seat(self.context, wish)
        session = Session(secrets.token_urlsafe(12), seated, self.context, time.monotonic())
        session.finish()
        with self._lock:
            self._sessions[session.id] = session
            gone = self._old()
        for old in gone:
            old.close()
        return session

    def get(self, number: str) -> Session:
        """Return a session that goes on."""
        with self._lock:
            session = self._sessions.get(number)
            if session is None:
                raise NotHereError("This match is not on the server any more; begin another.")
            session.touched = time.monotonic()
            self._sessions.move_to_end(number)
            return session

    def _old(self) -> list[Session]:
        """Take out what is idle for too long or too much, those asked for longest ago first."""
        now = time.monotonic()
        ids = [number for number, one in self._sessions.items() if now - one.touched > MOST_IDLE]
        for game, most in MOST_OF_GAME.items():
            ids += [number for number, one in self._sessions.items() if one.game == game][:-most]
        kept = [number for number in self._sessions if number not in ids]
        ids += kept[: max(0, len(kept) - self.most)]
        return [self._sessions.pop(number) for number in dict.fromkeys(ids)]

    def close(self) -> None:
        """End all sessions."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), OrderedDict()
        for session in sessions:
            session.close()
