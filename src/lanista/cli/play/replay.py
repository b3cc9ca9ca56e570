"""`lanista replay RUN MATCH_ID`: plays a recorded match again and compares what comes of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import switch

if TYPE_CHECKING:
    from lanista.evaluation.match_replay import Outcome, Recorded, Rerun
    from lanista.rollout import Results


@dataclass(frozen=True)
class Replay:
    """Play a match of fixed players again, from its row, and say whether it comes out the same.

    Policies are taken from the run's folder by digest. Exits with 1 where the result differs.
    """

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run's folder, a policy file with its .run folder beside it, or a pipeline's folder."""
    match: Annotated[tyro.conf.Positional[int], tyro.conf.arg(metavar="MATCH_ID")]
    """The match's id, as `matches` in run.db and matches.jsonl have it."""
    watch: Annotated[bool, switch()] = False
    """Also show it turn by turn, as `lanista watch` does."""
    delay: Annotated[float, tyro.conf.arg(metavar="SECONDS")] = 0.5
    """With --watch: seconds between turns, on a terminal."""

    def run(self) -> int:
        """Play the match, print both results, and return 0 where they are equal."""
        from lanista.evaluation.match_replay import Rerun, outcome_of
        from lanista.report.reading import find_run
        from lanista.text import printable

        rerun = Rerun(find_run(self.run_folder), self.match)
        try:
            results = rerun.play()
            if self.watch:
                self._show(rerun, results)
        finally:
            rerun.close()
        again = outcome_of(results)
        say(rerun.recorded, again, rerun.game.spec.name)
        if again == rerun.recorded.outcome:
            print("the same result")
            return 0
        sentence = difference(rerun.recorded, again)
        print(f"lanista: {printable(sentence, 600)}", file=sys.stderr)
        return 1

    def _show(self, rerun: Rerun, results: Results) -> None:
        import tempfile

        from lanista.cli.play.watch import Watch
        from lanista.rollout.replay_recorder import Recorder

        with tempfile.TemporaryDirectory() as folder:
            file = Recorder(folder, rerun.game, rerun.players).write(results)
            Watch(file, delay=self.delay, game=rerun.settings.game).run()


def say(recorded: Recorded, again: Outcome, game: str) -> None:
    """Print who played and both results."""
    from lanista.cli.common.table import console, table
    from lanista.text import printable

    out = console()
    out.print(
        f"{game}, match {recorded.match}, deal {recorded.deal}, seed {recorded.seed}; "
        f"{recorded.reason} at update {recorded.update}"
    )
    then = recorded.outcome
    rows = [
        (
            str(seat),
            printable(name, 40),
            _digest(recorded.digests[seat]),
            f"{then.places[seat]}",
            f"{then.returns[seat]:+g}",
            f"{again.places[seat]}",
            f"{again.returns[seat]:+g}",
        )
        for seat, name in enumerate(recorded.names)
    ]
    columns = ("seat", "player", "digest", "place", "return", "place again", "return again")
    out.print(table(columns, rows, left=3))
    if then.cut_off or again.cut_off:
        broken = {True: "broken off", False: "played to its end"}
        out.print(f"recorded: {broken[then.cut_off]}; again: {broken[again.cut_off]}")


def difference(recorded: Recorded, again: Outcome) -> str:
    """Return one sentence on the first thing that is not as recorded."""
    then = recorded.outcome
    for quantity, was, now in (
        ("places", then.places, again.places),
        ("returns", then.returns, again.returns),
    ):
        if was != now:
            return (
                f"Match {recorded.match} does not come out as recorded: its {quantity} are "
                f"{list(now)} instead of {list(was)}."
            )
    broken = "breaks off" if again.cut_off else "does not break off"
    return f"Match {recorded.match} does not come out as recorded: it {broken} this time."


def _digest(digest: str) -> str:
    own, colon, manner = digest.partition(":")
    return f"{own[:12]}{colon}{manner}"
