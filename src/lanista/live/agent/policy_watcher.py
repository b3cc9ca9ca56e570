"""Keeps the policies that the pointer names, loaded and ready.

Looks at the policy folder when asked, in a thread of its own, so that a disk that does not answer
holds up nobody longer than they care to wait. What is damaged, foreign or made for something else
is refused with a sentence, and what played before goes on. Knows nothing of games.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lanista.errors import LanistaError
from lanista.live.agent.inference import Decider, load
from lanista.live.files.game_header import Layout
from lanista.live.files.policy_folder import Pointer, PolicyFolder
from lanista.text import printable

_log = logging.getLogger("lanista.live")
_LAST_REFUSALS = 20
_TRIES = 5


@dataclass(frozen=True)
class Lineup:
    """The policies of one pointer."""

    pointer: Pointer
    stable: Decider
    candidates: Mapping[str, Decider]
    """By digest. One that was refused is missing: then the stable policy plays its games."""

    def choose(self, game_id: str) -> tuple[Decider, bool]:
        """Return who plays a game, and whether that is a candidate."""
        decider = self.candidates.get(self.pointer.chosen(game_id) or "")
        return (self.stable, False) if decider is None else (decider, True)


class Current:
    """What plays now."""

    def __init__(self, folder: PolicyFolder, layout: Layout | None = None) -> None:
        self.refusals: deque[str] = deque(maxlen=_LAST_REFUSALS)
        self.refused = 0
        self.late = 0
        """How often the folder did not answer in time."""
        self._folder = folder
        self._layout = layout
        self._known_bad: dict[str, tuple[object, str]] = {}
        pointer = folder.pointer()
        stable = self._load(pointer.stable)
        self._layout = stable.layout
        self._lineup = Lineup(pointer, stable, self._candidates(pointer, None))
        self._turn = threading.Condition()
        self._requested = self._answered = 0
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="lanista-policy", daemon=True)
        self._thread.start()

    def lineup(self, patience: float) -> Lineup:
        """Return what plays now; if the folder does not answer in `patience` seconds, before."""
        with self._turn:
            self._requested += 1
            request_number = self._requested
            self._turn.notify_all()
            if not self._turn.wait_for(lambda: self._answered >= request_number, patience):
                self.late += 1
        return self._lineup

    def seen(self) -> Lineup:
        """Return what played when the folder was last looked at."""
        return self._lineup

    def close(self) -> None:
        with self._turn:
            self._closing = True
            self._turn.notify_all()

    def _serve(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._closing or self._requested > self._answered)
                if self._closing:
                    return
                request_number = self._requested
            try:
                self._look()
            except (LanistaError, OSError) as error:
                self._refuse(str(error))
            except Exception as error:  # The thread must answer, whatever happened.
                self._refuse(f"The policy folder cannot be used: {printable(repr(error), 200)}.")
            with self._turn:
                self._answered = request_number
                self._turn.notify_all()

    def _look(self) -> None:
        for _ in range(_TRIES):
            pointer = self._folder.pointer()
            before = self._lineup
            if pointer == before.pointer and len(before.candidates) == len(pointer.candidates):
                return
            try:
                stable = self._ready(pointer.stable, before)
            except (LanistaError, OSError):
                # Pruned while the pointer moved on: then the new one is worth a look.
                if self._folder.pointer() == pointer:
                    raise
                continue
            self._lineup = Lineup(pointer, stable, self._candidates(pointer, before))
            return

    def _candidates(self, pointer: Pointer, before: Lineup | None) -> dict[str, Decider]:
        ready = {}
        for digest in pointer.candidates:
            try:
                ready[digest] = self._ready(digest, before)
            except (LanistaError, OSError) as error:
                self._refuse(str(error))
        return ready

    def _ready(self, digest: str, before: Lineup | None) -> Decider:
        for decider in (before.stable, *before.candidates.values()) if before is not None else ():
            if decider.digest == digest:
                return decider
        return self._load(digest)

    def _load(self, digest: str) -> Decider:
        path = self._folder.path_of(digest)
        sign = _sign(path)
        bad = self._known_bad.get(digest)
        if bad is not None and bad[0] == sign:
            raise LanistaError(bad[1])
        try:
            decider = load(path, digest)
            self._refuse_other(decider)
        except LanistaError as error:
            # Not read again for every game, but as soon as the file is another one.
            self._known_bad = dict([*self._known_bad.items()][-8:]) | {digest: (sign, str(error))}
            raise
        if decider.remark:
            _log.warning("%s", decider.remark)
        return decider

    def _refuse_other(self, decider: Decider) -> None:
        apart = None if self._layout is None else decider.layout.difference(self._layout)
        if apart is not None:
            about, mine, theirs = apart
            raise LanistaError(
                f"The policy {decider.digest[:12]} is refused: its {about} is {mine}, and this "
                f"bot's is {theirs}."
            )

    def _refuse(self, sentence: str) -> None:
        if sentence not in self.refusals:
            self.refused += 1
            self.refusals.append(sentence)
            _log.warning("%s The policy that played before goes on.", sentence)


def _sign(path: Path) -> tuple[int, int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino
