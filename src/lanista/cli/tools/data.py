"""`lanista data`: checks replays and live feedback, and says what is in them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import GAMES, number, optional
from lanista.cli.common.outputs import Writes, numbers_of, write_json
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from rich.console import Console

    from lanista.data.datasets import Summary
    from lanista.data.feedback import FeedbackSummary
    from lanista.data.tallies import GameTally, Outcomes

_MOST_PLAYERS = 50
_MOST_CHOICES = 12


@dataclass(frozen=True)
class Data:
    """Check recorded play: counts, outcomes, lengths, choices, duplicates, broken files.

    Every replay is played again, every step of live feedback is held against its game's layout.
    Ends with 0 when all is well and with 1 when files are broken.
    """

    folder: Annotated[tyro.conf.Positional[Path | None], optional("[FOLDER]")] = None
    """A folder of replays; those in folders inside it count too."""
    data_dir: Annotated[Path | None, optional("FOLDER")] = None
    """The same folder, given by name."""
    feedback_dir: Annotated[Path | None, optional("FOLDER")] = None
    """A folder of live feedback, with feedback_stream.jsonl in it or in folders inside it."""
    reports_live_dir: Annotated[Path | None, optional("FOLDER")] = None
    """A folder of reports on live matches, with manifest.jsonl likewise."""
    json_file: Annotated[Path | None, optional("FILE", name="json"), Writes(numbers_of("data"))] = (
        None
    )
    """Also write the whole summary to this file."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """The game of replays that were recorded from a Python file, as `examples/my_game.py`."""
    slots: Annotated[int, number(256)] = 256
    """How many matches are played again side by side."""

    def run(self) -> int:
        """Check, print, and return the exit code."""
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.common.table import console
        from lanista.cli.tools.data_feedback import show_feedback

        folder = self._folder()
        self._refuse_slips()
        if self.json_file is not None:
            refuse_unwritable("--json", self.json_file)
        replays, feedback = self._replays(folder), self._feedback()
        if self.json_file is not None:
            value = {} if replays is None else replays.as_json()
            if feedback is not None:
                value["feedback"] = feedback.as_json()
            write_json(self.json_file, "data", value)
        out = console()
        if replays is not None:
            _show(out, replays)
        if feedback is not None:
            show_feedback(out, feedback, replays)
        broken = [*(replays.broken if replays else ()), *(feedback.broken if feedback else ())]
        return 1 if broken else 0

    def _refuse_slips(self) -> None:
        from lanista.games import registry

        if self.slots < 1:
            raise LanistaError(f"--slots is {self.slots}; give a number of at least 1.")
        if self.game is not None:
            registry.entry(self.game)  # A slip here must not make sound files look broken.

    def _replays(self, folder: Path | None) -> Summary | None:
        from lanista.data.datasets import check_dataset

        if folder is None:
            return None
        with _Progress("replay files") as progress:
            return check_dataset(folder, game=self.game, slots=self.slots, progress=progress.report)

    def _feedback(self) -> FeedbackSummary | None:
        from lanista.data.feedback import read_feedback

        if self.feedback_dir is None and self.reports_live_dir is None:
            return None
        with _Progress("feedback files") as progress:
            return read_feedback(
                self.feedback_dir, self.reports_live_dir, game=self.game, progress=progress.report
            )

    def _folder(self) -> Path | None:
        if self.folder is not None and self.data_dir not in (None, self.folder):
            raise LanistaError("Two folders were given; name the one to check.")
        folder = self.folder if self.folder is not None else self.data_dir
        if folder is None and self.feedback_dir is None and self.reports_live_dir is None:
            raise LanistaError("No folder was given; write `lanista data FOLDER`.")
        return folder


class _Progress:
    """A bar over files on a terminal, nothing elsewhere."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __enter__(self) -> _Progress:
        from rich.progress import Progress

        from lanista.terminal import console as console_on

        console = console_on(sys.stderr)
        self._bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task(self._label, total=None)
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)


def _show(console: Console, summary: Summary) -> None:
    from lanista.cli.tools.data_feedback import show_broken
    from lanista.text import printable

    console.print(
        f"{printable(summary.folder, 300)}: {summary.files} files, {summary.matches} matches, "
        f"{summary.decisions} decisions",
        soft_wrap=True,
    )
    for tally in summary.games.values():
        _show_game(console, tally)
    console.print()
    console.print(f"duplicates: {summary.repeats} matches repeat an earlier one")
    for one in summary.repeat_examples:
        console.print(
            f"  {printable(one.file)} match {one.match} repeats "
            f"{printable(one.first_file)} match {one.first_match}",
            soft_wrap=True,
        )
    show_broken(console, summary.broken)


def _show_game(console: Console, tally: GameTally) -> None:
    from lanista.text import printable

    settings = ", ".join(f"{name}={value}" for name, value in tally.settings.items())
    console.print()
    console.print(
        f"{printable(tally.game)}{f' ({printable(settings, 300)})' if settings else ''}: "
        f"{tally.files} files, {tally.matches} matches, {tally.decisions} decisions",
        soft_wrap=True,
    )
    if not tally.matches:
        return
    _show_lengths(console, tally)
    _show_outcomes(console, tally)
    for head in range(len(tally.heads)):
        _show_choices(console, tally, head)


def _show_lengths(console: Console, tally: GameTally) -> None:
    table = _table("length of a match", "min", "median", "mean", "max")
    for unit, lengths in (("turns", tally.turns), ("decisions", tally.lengths)):
        table.add_row(
            unit,
            str(lengths.least),
            f"{lengths.median:g}",
            f"{lengths.mean:.1f}",
            str(lengths.most),
        )
    console.print(table)


def _show_outcomes(console: Console, tally: GameTally) -> None:
    from lanista.text import printable

    table = _table("outcomes", "wins", "draws", "losses", "cut off")
    for seat, outcomes in enumerate(tally.seats):
        table.add_row(f"seat {seat}", *_counts(outcomes))
    table.add_section()
    ranked = sorted(tally.players.items(), key=lambda one: -one[1].wins)
    for player, outcomes in ranked[:_MOST_PLAYERS]:
        name = f"{printable(player.name, 40)} {printable(player.digest[:12])}"
        table.add_row(name, *_counts(outcomes))
    console.print(table)
    if len(ranked) > _MOST_PLAYERS:
        console.print(f"  and {len(ranked) - _MOST_PLAYERS} more players")


def _show_choices(console: Console, tally: GameTally, number: int) -> None:
    from lanista.data.tallies import label

    head, counts = tally.heads[number], tally.chosen[number]
    total = int(counts.sum())
    table = _table(f"head {head.name}: {total} free choices", "chosen", "share")
    order = sorted(range(head.size), key=lambda choice: -counts[choice])
    shown = order[:_MOST_CHOICES]
    for choice in shown:
        share = f"{counts[choice] / total:.1%}" if total else "—"
        table.add_row(label(head, choice), str(counts[choice]), share)
    rest = int(counts[order[_MOST_CHOICES:]].sum()) if len(order) > len(shown) else 0
    if len(order) > len(shown):
        share = f"{rest / total:.1%}" if total else "—"
        table.add_row(f"{len(order) - len(shown)} others", str(rest), share)
    console.print(table)
    if tally.forced[number]:
        console.print(f"  beside {tally.forced[number]} decisions with one choice only")


def _counts(outcomes: Outcomes) -> tuple[str, str, str, str]:
    numbers = (outcomes.wins, outcomes.draws, outcomes.losses, outcomes.cut_off)
    return tuple(str(number) for number in numbers)  # type: ignore[return-value]


def _table(first: str, *columns: str) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
