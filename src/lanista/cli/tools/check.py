"""`lanista check GAME`: proves that a game obeys the contract, or says where it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from lanista.cli.common.flags import GAMES, SETTINGS, number


@dataclass(frozen=True)
class Check:
    """Check that a game obeys the contract; exits with 1 if it does not."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME"), GAMES]
    """A game's name, family:NAME, or a Python file."""
    matches: Annotated[int, number(32)] = 32
    """How many matches each check plays; with more of them all checks look further, and the search
    for leaks in rare positions and for redraws that contradict what was seen does too."""
    seed: Annotated[int, number(0)] = 0
    """Random seed; another looks at other matches."""
    settings: Annotated[tuple[tuple[str, ...], ...], SETTINGS, tyro.conf.UseAppendAction] = ()
    """Settings of the game. See `lanista games`. Options of matches are drawn by the check."""

    def run(self) -> int:
        """Print each check with its evidence."""
        from lanista.cli.common.progress import progress_of
        from lanista.cli.common.table import console, table
        from lanista.evaluation.lineup import game_settings, refuse_count
        from lanista.games import check_game
        from lanista.games.check import CHECKS

        refuse_count(self.matches)
        settings = game_settings(self.game, [text for group in self.settings for text in group])
        with progress_of(len(CHECKS), "checks") as progress:
            report = check_game(
                self.game,
                matches=self.matches,
                seed=self.seed,
                settings=settings,
                raise_on_failure=False,
                progress=lambda name: progress(1),
            )
        rows = [(check.name, check.outcome, check.evidence) for check in report.checks]
        out = console()
        out.print(table(("check", "outcome", "evidence"), rows, left=3))
        failed = len(report.failures)
        end = f"{failed} of {len(rows)} checks failed." if failed else "obeys the contract."
        out.print(f"{self.game}: {end}")
        return 1 if failed else 0
