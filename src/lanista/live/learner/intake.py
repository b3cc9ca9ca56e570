"""Takes games from the spool for a learner: validates, tells copies, sets bad files aside.

Owns what may take effect and in which order. A file is in `work/` from here until the checkpoint
that holds it is on the disk. Knows nothing of learning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lanista.live.files.game_file import GameFile, read
from lanista.live.files.game_header import GameFileError
from lanista.live.files.spool import Spool
from lanista.live.learner.ledger import Ledger
from lanista.nets.files.policy_format import PolicyHeader
from lanista.text import printable


@dataclass(frozen=True)
class Taken:
    """Games in `work/`, in the order they were written."""

    games: tuple[tuple[Path, GameFile], ...] = ()
    repeated: int = 0
    """Files that were copies of games known before."""
    refused: int = 0
    """Files that went to `bad/`."""
    waiting: int = 0
    """Files that were in `new/` when these were taken."""


class Intake:
    """The learner's side of a spool."""

    def __init__(self, spool: Spool, ledger: Ledger, say: Callable[[str], None]) -> None:
        self.spool, self.ledger, self.say = spool, ledger, say
        self._passed_over: set[str] = set()

    def take(self, most: int, header: PolicyHeader, least: int = 1) -> Taken:
        """Take the newest games of a policy's layout, if there are `least`; the rest waits."""
        waiting = self.spool.waiting()
        if len(waiting) < least:
            return Taken(waiting=len(waiting))
        chosen = self.spool.take(waiting[:most])
        for sentence in self.spool.newly_stuck():
            self.say(sentence)
        games: dict[str, tuple[Path, GameFile]] = {}
        repeated = refused = 0
        # The newest were chosen; they take effect in the order they were written.
        for path in reversed(chosen):
            game = self._read(path, header)
            if game is None:
                refused += 1
            elif game.content in games or self.ledger.knows(game.content):
                self.spool.put_away(path, game.content)
                repeated += 1
            else:
                games[game.content] = path, game
        return Taken(tuple(games.values()), repeated, refused, len(waiting))

    def _read(self, path: Path, header: PolicyHeader | None = None) -> GameFile | None:
        try:
            return read(path, header)
        except GameFileError as error:
            self.reject(path, str(error))
            return None

    def reject(self, path: Path, reason: str) -> None:
        """Set a file aside, the reason beside it."""
        place = self.spool.reject(path, reason)
        self.say(f"{reason} It is in {printable(place, 300)} now.")

    def recover(self, update: int) -> None:
        """Undo what a checkpoint of `update` does not hold; finish what it does hold.

        Games that took effect after it go back to `new/`, and their rows are deleted. What lies in
        `work/` is archived if the checkpoint holds it, and waits again otherwise.
        """
        newer = self.ledger.newer_than(update)
        for content in newer:
            if self.spool.is_archived(content):
                self.spool.bring_back(content)
        # What a start that was killed here brought back has kept that name.
        present = {path.stem for path in self.spool.waiting()}
        self.ledger.forget_after(update)
        for path in self.spool.taken():
            game = self._read(path)
            if game is None:
                continue
            present.add(game.content)
            if self.ledger.knows(game.content):
                self.spool.put_away(path, game.content)
            else:
                self.spool.give_back(path)
        self._tell_lost([content for content in newer if content not in present], update)
        self._recover_journals()

    def _tell_lost(self, contents: list[str], update: int) -> None:
        if contents:
            self.ledger.add_event(update, "lost", games=len(contents), contents=contents[:100])
            self.say(
                f"{len(contents)} games took effect after update {update}, whose checkpoint is the "
                f"newest that is whole, and are no longer in {self.spool.folder}: what was learned "
                "from them is lost."
            )

    def _recover_journals(self) -> None:
        recovery = self.spool.recover()
        for sentence in recovery.passed_over:
            if sentence not in self._passed_over:
                self._passed_over.add(sentence)
                self.say(sentence)
        if recovery.games or recovery.refused:
            self.say(
                f"{recovery.games} games of bots that were killed are taken as cut off; "
                f"{recovery.refused} of their journals were damaged."
            )
