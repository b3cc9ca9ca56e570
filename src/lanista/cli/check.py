"""`lanista check GAME`: proves that a game obeys the contract, or says where it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Check:
    """Check that a game obeys the contract; exits with 1 if it does not."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """A game's name, family:NAME, or a Python file."""

    def run(self) -> int:
        """Print each check with its evidence."""
        from lanista.cli.table import console, table
        from lanista.games import check_game

        report = check_game(self.game, raise_on_failure=False)
        rows = [(check.name, check.outcome, check.evidence) for check in report.checks]
        out = console()
        out.print(table(("check", "outcome", "evidence"), rows, left=3))
        failed = len(report.failures)
        end = f"{failed} of {len(rows)} checks failed." if failed else "obeys the contract."
        out.print(f"{self.game}: {end}")
        return 1 if failed else 0
