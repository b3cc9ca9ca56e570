"""`lanista showdown import-logs`: public battle logs become something to imitate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import number, optional, switch
from lanista.cli.common.outputs import EMPTY, Writes
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from collections import Counter

    from lanista.data.battle_logs import Imported

_MOST_REASONS = 20


@dataclass(frozen=True)
class ImportLogs:
    """Import battle logs (replay JSON, saved HTML, text) as a spectator's feedback.

    What a log does not show is left out and counted; a log that cannot be read is left alone.
    """

    logs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="LOG ...")]
    """Files, folders of them, or .jsonl files of many."""
    output: Annotated[Path, tyro.conf.arg(metavar="FOLDER"), Writes(EMPTY)]
    """Where the feedback goes; the folder must not be there yet."""
    format: Annotated[str | None, optional("FORMAT")] = None
    """Import battles of this format; that of the first log unless given."""
    team_pool_path: Annotated[str, optional("FOLDER")] = ""
    """The team pool of the game that the policy will play, as in the game's settings."""
    winners_only: Annotated[bool, switch()] = False
    """Import only the decisions of who won."""
    min_rating: Annotated[int | None, optional("N")] = None
    """Import only the decisions of players with at least this rating."""
    observation: Annotated[int, number(1)] = 1
    """What the policy will see: version 1 or 2, as in the game's settings."""

    def run(self) -> int:
        """Import, say what came of it, and return 0."""
        from lanista.cli.common.progress import progress_of
        from lanista.data.battle_logs import Wanted, import_logs
        from lanista.games.showdown.spectating.logs import find_logs

        if not self.logs:
            raise LanistaError("No battle log was given; name files or folders of them.")
        selection = Wanted(
            self.format,
            self.team_pool_path,
            self.winners_only,
            self.min_rating,
            self.observation,
        )
        files = find_logs(self.logs)
        with progress_of(len(files), "log files") as progress:
            done = import_logs(files, self.output, selection, lambda *_: progress(1))
        _say(done)
        if not done.known:
            raise LanistaError("No decision could be read, and nothing was written.")
        folder = self.output
        print(f"imitate: lanista imitate --feedback-dir {folder} --reports-live-dir {folder} ...")
        return 0


def _say(done: Imported) -> None:
    from lanista.text import printable

    total = sum(done.left_out.values())
    print(f"logs: {done.logs} read, {done.battles} used, {total} left out")
    for reason, count in done.left_out.most_common(_MOST_REASONS):
        print(f"  {count} {reason}")
        for example in done.examples[reason]:
            print(f"    {printable(example, 200)}")
    if not done.decisions:
        return
    print(f"format: {done.format}")
    if done.open_sheets:
        print(f"open team sheets: in {done.open_sheets} of the battles used")
    print(
        f"decisions: {done.known} known ({done.known / done.decisions:.1%}), {done.partly} known "
        f"in part, {done.unknown} unknown; only those known in full are written"
    )
    _say_reasons(done.reasons)
    print(f"{done.output}: {done.known} decisions seen by a spectator")


def _say_reasons(reasons: Counter[str]) -> None:
    for reason, count in reasons.most_common(_MOST_REASONS):
        print(f"  {count} orders: {reason}")
