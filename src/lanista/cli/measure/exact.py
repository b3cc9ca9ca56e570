"""`lanista exact POLICY`: how far a policy is from equilibrium, where that can be computed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lanista.cli.common.flags import GAMES, SETTINGS, optional
from lanista.cli.common.outputs import KeptValues, Writes


@dataclass(frozen=True)
class ExactCommand:
    """Compute a policy's NashConv: what the seats could gain by best responses to it, summed.

    For games of up to a million histories: kuhn, leduc, liars_dice, card_rps, games in Python that
    draw with below(), choice() or shuffle(), and openspiel: games, simultaneous ones among them;
    and for phantom_ttt and openspiel:dark_hex of up to nine cells, classical and abrupt, in seconds
    to minutes. Elsewhere `lanista exploit` learns a best response, which is a lower bound.
    """

    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")]
    """A policy file or champion:GAME; with --game also a bot that tells its probabilities."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """The game, where POLICY does not tell."""
    settings: Annotated[tuple[tuple[str, ...], ...], SETTINGS, tyro.conf.UseAppendAction] = ()
    """Settings of the game; a policy file's own unless given."""
    keep: Annotated[Path | None, optional("FILE"), Writes(KeptValues())] = None
    """Boards with hidden marks: keep what was found so far in this file, and go on from it."""

    def run(self) -> int:
        """Compute, print, and return 0."""
        from lanista.cli.common.progress import counting
        from lanista.evaluation.lineup import game_played_by
        from lanista.exploiters.instruments import Exact

        words = [text for group in self.settings for text in group]
        with counting() as count:
            played = game_played_by(self.policy, self.game, words)
            instrument = Exact(*played, progress=count, kept=self.keep)
            reading = instrument.read(self.policy)
            uniform = reading if self.policy == "random" else instrument.read("random")
        print(
            f"{instrument.game}: {self.policy} ({reading.digest[:12]})\n"
            f"NashConv {reading.value:.6g}; 0 is an equilibrium, uniform play has "
            f"{uniform.value:.6g}"
        )
        return 0
