"""`lanista solve GAME`: a policy near equilibrium, where the game's tree can be walked."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from lanista.cli.common.flags import GAMES, SETTINGS, number, optional, switch
from lanista.cli.common.outputs import SolvedFile, Writes
from lanista.errors import RefusedError

if TYPE_CHECKING:
    from lanista.solving.solver import Solution

MOST_HISTORIES = 5_000_000
"""The solver's, which is imported when it is used."""


@dataclass(frozen=True)
class Solve:
    """Compute an equilibrium of a small game by regret minimisation, as a policy file.

    For games of two seats that play for each other's loss: kuhn, leduc, liars_dice, card_rps, games
    in Python that draw with below(), choice() or shuffle(), and openspiel: games. The file plays,
    evaluates and exploits like any other; nothing in it is learned, so training does not begin from
    it.
    """

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME"), GAMES]
    """A game's name, openspiel:NAME, or a Python file."""
    output: Annotated[Path, tyro.conf.arg(metavar="FILE"), Writes(SolvedFile())]
    """Where the policy goes; the state to go on from is FILE.state."""
    method: Annotated[Literal["cfr+", "dcfr"], tyro.conf.arg(metavar="{cfr+,dcfr}")] = "cfr+"
    """cfr+: regrets never below zero, iteration t counts t times; dcfr: old regrets are discounted,
    iteration t counts t² times."""
    target: Annotated[float, tyro.conf.arg(metavar="NASHCONV")] = 0.001
    """Stop when the seats could gain no more than this by best responses, summed."""
    iterations: Annotated[int | None, optional("N")] = None
    """Stop after so many iterations."""
    minutes: Annotated[float | None, optional("M")] = None
    """Stop after so much time."""
    settings: Annotated[tuple[tuple[str, ...], ...], SETTINGS, tyro.conf.UseAppendAction] = ()
    """Settings of the game."""
    most_histories: Annotated[int, number(MOST_HISTORIES)] = MOST_HISTORIES
    """Refuse a game with more histories; each takes about 24 bytes."""
    resume: Annotated[bool, switch()] = False
    """Go on from FILE.state; give the same game and method as before."""

    def run(self) -> int:
        """Solve, print, and return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.common.progress import counting
        from lanista.cli.main import INTERRUPTED
        from lanista.evaluation.lineup import game_settings
        from lanista.interrupt import stopping
        from lanista.solving.solver import SolveSettings, solve
        from lanista.solving.state import state_path

        refuse_unwritable("--output", self.output)
        if state_path(self.output).is_file() and not self.resume:
            raise RefusedError(
                f"{str(self.output)!r} was solved before; add --resume to go on, or name another "
                "output."
            )
        words = [text for group in self.settings for text in group]
        settings = SolveSettings(
            self.game,
            game_settings(self.game, words),
            self.method,
            self.target,
            self.iterations,
            self.minutes,
            self.most_histories,
        )
        with counting() as count, stopping(_say) as stop:
            solution = solve(
                settings,
                self.output,
                resume=self.resume,
                stop=stop,
                looked=lambda look: count(
                    f"NashConv {look.nash_conv:.6g}, iteration", look.iterations, 0
                ),
                walked=lambda histories: count("histories walked", histories, 0),
            )
        self._print(solution)
        return INTERRUPTED if solution.interrupted else 0

    def _print(self, solution: Solution) -> None:
        tree = solution.tree
        print(
            f"{self.game}: {tree.states:,} information states, {tree.histories:,} histories\n"
            f"NashConv {solution.nash_conv:.6g} after {solution.iterations:,} iterations; seat 0 "
            f"earns {solution.value:.6g}\n"
            f"policy: {self.output} ({solution.digest[:12]})"
        )
        if solution.interrupted:
            print("Interrupted, and saved; go on with --resume.")


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
