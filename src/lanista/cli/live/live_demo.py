"""`lanista live-demo`: the arena's form of `lanista live run`, for ten minutes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lanista.cli.common.flags import number, optional
from lanista.cli.common.outputs import LIVE_FOLDER, Writes
from lanista.cli.live.learn import SET


@dataclass(frozen=True)
class LiveDemo:
    """Show live learning on the arena: `lanista live run arena` for ten minutes.

    Two processes play `kiter` on and on, and a learner beside them publishes what is better. The
    first policy is a clone of the bot `scavenger`. Start it again with the same --output to go
    on. Its folders are those of `lanista learn`, so `lanista policy list`, `lanista doctor` and
    `lanista report` work on them."""

    output: Annotated[Path, tyro.conf.arg(metavar="FOLDER"), Writes(LIVE_FOLDER)] = Path(
        "live-demo"
    )
    """Where everything goes."""
    minutes: Annotated[float, tyro.conf.arg(metavar="N")] = 10.0
    """How long to play."""
    players: Annotated[int, number(2)] = 2
    """How many processes play."""
    opponent: Annotated[str | None, optional("BOT")] = None
    """The arena's bot that they meet; kiter unless given."""
    seed: Annotated[int | None, optional("N")] = None
    """Random seed of the first policy and the learner; 0 unless given."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting of the learner, as for `lanista learn`."""

    def run(self) -> int:
        """Play, learn, report."""
        from lanista.cli.live.live_run import LiveRun

        return LiveRun(
            "arena",
            output=self.output,
            minutes=self.minutes,
            players=self.players,
            opponent=self.opponent,
            seed=self.seed,
            settings=self.settings,
        ).run()
