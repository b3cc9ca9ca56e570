"""`lanista roundrobin GAME`: every two bots of a game meet, and one cross table says the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import CLUSTER, GAMES, SETTINGS, number, optional, switch
from lanista.cli.common.outputs import Writes, numbers_of
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.evaluation import Differences
    from lanista.evaluation.lineup import Lineup
    from lanista.evaluation.roundrobin import Pair
    from lanista.rollout import Results


@dataclass(frozen=True)
class RoundRobin:
    """Let every two bots of a game meet and print the cross table of scores."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME"), GAMES]
    """A game's name, family:NAME, or a Python file."""
    bots: Annotated[str | None, optional("A,B,...")] = None
    """Which bots, with commas between: names, policies, or file.py:Bot. All bots of the
    game unless given."""
    matches: Annotated[int, number(1000)] = 1000
    """How many matches each two play, half of them in either seat on the same deals."""
    seed: Annotated[int, number(0)] = 0
    """Random seed of the deals and the bots."""
    differences: Annotated[bool, switch()] = False
    """Also print how often each two bots choose differently on the same decisions."""
    json: Annotated[Path | None, optional("FILE"), Writes(numbers_of("roundrobin"))] = None
    """Write the numbers to this file."""
    slots: Annotated[int | None, optional("N")] = None
    """How many matches are played side by side; 4096, or fewer where that suits the game, unless
    given. Changes no result."""
    threads: Annotated[int, number(1)] = 1
    """How many threads share the matches; changes no result."""
    cluster: Annotated[str | None, CLUSTER] = None
    """Work in tasks: in processes of this machine (local), or on the machines of a Ray cluster
    (auto is that of this machine); see docs/guides/cluster.md. Changes no number."""
    settings: Annotated[
        tuple[tuple[str, ...], ...],
        SETTINGS,
        tyro.conf.UseAppendAction,
    ] = ()
    """Settings of the game, and options of its matches. See `lanista games`."""

    def run(self) -> int:
        """Play, print, and return 0, or 130 when interrupted."""
        from lanista.cluster.session import using

        with using(self.cluster):
            return self._run()

    def _run(self) -> int:
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.common.summary import say_cross_table, say_differences, write_json
        from lanista.cli.main import INTERRUPTED
        from lanista.evaluation import cross_table

        lineup = self._lineup()
        if self.json:
            refuse_unwritable("--json", self.json)
        played = self._play(lineup)
        result = cross_table(played, lineup.labels)
        whole = result.pairs_played == result.pairs
        if not whole:
            print(f"Interrupted: {result.pairs_played} of {result.pairs} pairs are complete.")
        if played:
            say_cross_table(lineup, result, self._each())
            if self.json:
                write_json(self.json, "roundrobin", lineup, result)
                print(f"numbers: {self.json}")
        if whole and self.differences:
            say_differences(self._differences(lineup))
        return 0 if whole else INTERRUPTED

    def _lineup(self) -> Lineup:
        from lanista.evaluation.lineup import every_bot, lineup, refuse_count, split_names

        refuse_count(self.matches)
        bots = split_names(self.bots, "--bots") if self.bots else every_bot(self.game)
        if len(bots) < 2:
            raise LanistaError(
                f"A round robin needs two bots, and {self.game} has {', '.join(bots)}; name others "
                "with --bots, as random,my_bot.py."
            )
        values = [value for group in self.settings for value in group]
        for value in values:
            if value.startswith("seats=") and value != "seats=2":
                raise LanistaError(
                    f"A round robin's matches have two seats, and {value} was set; use `lanista "
                    "evaluate BOT --opponents A,B`, in which an opponent fills the other seats."
                )
        return lineup(self.game, bots, values, seats=2, seed=self.seed)

    def _each(self) -> int:
        return self.matches + self.matches % 2

    def _play(self, lineup: Lineup) -> dict[Pair, Results]:
        from lanista.cli.common.progress import progress_of
        from lanista.evaluation.lineup_matches import play_pairs

        count, matches_a_pair = len(lineup.players), self._each()
        with progress_of(count * (count - 1) // 2 * matches_a_pair, "matches") as progress:
            return play_pairs(
                lineup, matches_a_pair, slots=self.slots, threads=self.threads, progress=progress
            )

    def _differences(self, lineup: Lineup) -> Differences:
        from lanista.cli.common.progress import progress_of
        from lanista.evaluation import disagreement

        count = len(lineup.players)
        # Every bot answers every decision, so fewer matches say as much and cost as much.
        matches = min(100, self._each())
        total = count * (count - 1) // 2 * matches
        with (
            lineup.table(min(lineup.slots(self.slots, 4096), matches)) as table,
            progress_of(total, "differences") as progress,
        ):
            return disagreement(table.game, table.players, matches=matches, progress=progress)
