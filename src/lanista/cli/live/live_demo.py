"""`lanista live-demo`: bots that play live and a learner beside them, in one command."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import number, optional
from lanista.cli.common.outputs import DEMONSTRATION, Writes
from lanista.cli.live.learn import SET, say_on_error, stopping
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.live.learner.background_learner import BackgroundLearner, Batch

_EVERY = 15.0
"""Seconds between two lines on the terminal."""


@dataclass(frozen=True)
class LiveDemo:
    """Show live learning on the arena: two processes play `kiter` on and on, and a learner beside
    them publishes what is better.

    The first policy is a clone of the bot `scavenger`. Start it again with the same --output to go
    on. Its folders are those of `lanista learn`, so `lanista policy list`, `lanista doctor` and
    `lanista report` work on them."""

    output: Annotated[Path, tyro.conf.arg(metavar="FOLDER"), Writes(DEMONSTRATION)] = Path(
        "live-demo"
    )
    """Where everything goes."""
    minutes: Annotated[float, tyro.conf.arg(metavar="N")] = 10.0
    """How long to play."""
    players: Annotated[int, number(2)] = 2
    """How many processes play."""
    opponent: Annotated[str, optional("BOT")] = "kiter"
    """The arena's bot that they meet; kiter unless given."""
    seed: Annotated[int, number(0)] = 0
    """Random seed of the first policy and the learner."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting of the learner, as for `lanista learn`."""

    def run(self) -> int:
        """Play, learn, report."""
        if not 0 < self.minutes < math.inf:
            raise LanistaError(f"--minutes is {self.minutes}; give a number above 0.")
        if self.players < 1:
            raise LanistaError(f"--players is {self.players}; give 1 or more.")
        import torch

        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.pipeline.live_demo import (
            Demo,
            PlayerGoneError,
            kept_settings,
            prepare,
            run,
            settings_of,
        )
        from lanista.report.live_record import read_live
        from lanista.report.pages.live_page import headline, write_live_report
        from lanista.runs.serialise import overridden

        torch.set_num_threads(1)
        overrides = [text for group in self.settings for text in group]
        demo = Demo(self.output, self.opponent, self.players, self.seed, hints=1.0)
        settings = overridden(kept_settings(demo) or settings_of(self.seed), overrides)
        refuse_unwritable_folder("--output", self.output)
        prepare(demo, say_on_error)
        plan = f"{self.players} players against {self.opponent} for {self.minutes:g} minutes"
        say_on_error(f"{plan}; Ctrl-C stops early, and nothing is lost.")
        gone = None
        try:
            with stopping() as stop:
                run(demo, settings, self.minutes * 60, stop, say_on_error, Ticker())
        except PlayerGoneError as error:
            gone = error  # What was played until then is reported too.
        record = read_live(demo.policy)
        for sentence in headline(record):
            print(sentence)
        for path in write_live_report(record, self.output / "report"):
            print(path)
        if gone is not None:
            raise gone
        return 0


class Ticker:
    """Prints a line now and then: how many games, and how they went lately."""

    def __init__(self) -> None:
        self.began = self.last_line_at = time.monotonic()

    def __call__(self, learner: BackgroundLearner, batch: Batch) -> None:
        now = time.monotonic()
        if now - self.last_line_at < _EVERY:
            return
        self.last_line_at = now
        from lanista.report.live_record import score_of

        scores = [score_of(row) for row in learner.ledger.games(last=500)]
        known_scores = [score for score in scores if score is not None]
        mean = sum(known_scores) / len(known_scores) if known_scores else float("nan")
        stable = learner.gatekeeper.deployment.stable
        say_on_error(
            f"{now - self.began:5.0f} s  {learner.ledger.count():6,} games  score of the last "
            f"{len(known_scores)}: {mean:.3f}  stable {stable[:12]}  waiting {batch.waiting}"
        )
