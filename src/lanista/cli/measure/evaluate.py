"""`lanista evaluate POLICY`: one player meets many, and a table says how strong it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import CLUSTER, GAMES, SETTINGS, number, optional, switch
from lanista.cli.common.outputs import Writes, numbers_of, tables_of
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.evaluation.gauntlet import Gauntlet
    from lanista.evaluation.lineup import Lineup
    from lanista.evaluation.roundrobin import CrossTable
    from lanista.exploiters.ceilings import Ceiling
    from lanista.rollout import Results

ALL = "all"


@dataclass(frozen=True)
class Evaluate:
    """Let one player meet others, in every seat on the same deals, and say how strong it is."""

    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")]
    """A policy file or champion:GAME (several with + between decide together), a bot's name, or
    file.py:Bot."""
    opponents: Annotated[str, tyro.conf.arg(metavar="A,B,...")] = ALL
    """Opponents, with commas between: all (every bot of the game), names of bots, file.py:Bot,
    or policy files. In games of more than two seats the opponent has all the others."""
    games: Annotated[int, number(1000)] = 1000
    """Matches against each; rounded up so that every deal is played in all seats."""
    greedy: Annotated[bool, switch()] = False
    """Let POLICY play its likeliest choice; otherwise it samples. Opponents sample."""
    temperature: Annotated[float | None, optional("T")] = None
    """What POLICY divides its logits by before it samples; 1 unless given."""
    search: Annotated[int | None, optional("N")] = None
    """Let POLICY search with N simulations before it moves, in games of two seats in
    turn in which everything is seen; also written POLICY:search=N."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """The game, where POLICY does not tell."""
    settings: Annotated[tuple[tuple[str, ...], ...], SETTINGS, tyro.conf.UseAppendAction] = ()
    """Settings of the game; a policy file's own unless given."""
    seed: Annotated[int, number(0)] = 0
    """Random seed of the deals, none of which a run has trained on, and of the players."""
    output: Annotated[Path | None, optional("FILE"), Writes(numbers_of("evaluate"))] = None
    """Write the numbers to this file, as JSON."""
    markdown: Annotated[Path | None, optional("FILE"), Writes(tables_of("evaluate"))] = None
    """Write the tables to this file, as Markdown."""
    ceilings: Annotated[Path | None, optional("FOLDER")] = None
    """Say how far POLICY stays below the best responses to its opponents, which `lanista exploit`
    with several victims left in this folder."""
    least_decisions: Annotated[int, number(0)] = 0
    """Best responses that practised for fewer decisions are called lower bounds."""
    cross_table: Annotated[bool, switch()] = False
    """Let the opponents meet each other too, in as many games; for two seats."""
    slots: Annotated[int | None, optional("N")] = None
    """How many matches are played side by side; 1024, or fewer where that suits the game, unless
    given. Changes no result."""
    threads: Annotated[int, number(1)] = 1
    """How many threads share the matches; changes no result."""
    cluster: Annotated[str | None, CLUSTER] = None
    """Work in tasks: in processes of this machine (local), or on the machines of a Ray cluster
    (auto is that of this machine); see docs/guides/cluster.md. Changes no number."""

    def run(self) -> int:
        """Play, print, and return 0, or 130 when interrupted."""
        from lanista.cluster.session import using

        with using(self.cluster):
            return self._run()

    def _run(self) -> int:
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.main import INTERRUPTED
        from lanista.evaluation.gauntlet import gauntlet_of, matches_of_deal
        from lanista.evaluation.lineup import manner_of
        from lanista.interrupt import left_by_interrupt
        from lanista.rollout import join

        mine, others = self._lineups()
        for flag in ("output", "markdown"):
            if path := getattr(self, flag):
                refuse_unwritable(f"--{flag}", path)
        if self.cross_table and len(others.players) < 2:
            raise LanistaError(
                f"--cross-table lets the opponents meet each other, and {others.labels[0]} is the "
                "only one; name two or more with --opponents, or leave --cross-table out."
            )
        ceilings = self._ceilings(others)
        spec = mine.spec
        deals = self._deals(matches_of_deal(spec), len(others.players))
        results, ended = self._play(mine, others, deals)
        planned = deals * matches_of_deal(spec) * len(others.players)
        complete = sum(len(block) for block in results)
        if complete < planned:
            print(left_by_interrupt(ended, planned, complete))
        if results:
            gauntlet = gauntlet_of(join(results), (self.policy, *others.players))
            say(gauntlet, mine, manner_of(mine))
            if ceilings:
                say_ceilings(gauntlet, ceilings)
            cross = self._crossed(others) if self.cross_table and complete == planned else None
            self._write(gauntlet, mine, complete == planned, ceilings, cross)
        return INTERRUPTED if complete < planned else 0

    def _ceilings(self, others: Lineup) -> dict[str, Ceiling]:
        """Return the best responses to the opponents, where they are known."""
        from lanista.exploiters.ceilings import ceiling_of, ceilings_in

        if self.ceilings is None:
            if self.least_decisions:
                raise LanistaError(
                    f"--least-decisions is {self.least_decisions} and there are no best responses "
                    "to go by; give their folder with --ceilings."
                )
            return {}
        ceilings = ceilings_in(self.ceilings, self.least_decisions)
        for player in others.seated():
            ceiling_of(ceilings, player.name, player.digest)
        return ceilings

    def _crossed(self, others: Lineup) -> CrossTable:
        """Let the opponents meet each other, print the cross table and return it."""
        from lanista.cli.common.progress import progress_of
        from lanista.cli.common.summary import say_cross_table
        from lanista.evaluation.lineup_matches import SLOTS
        from lanista.evaluation.roundrobin import cross_table, meetings

        count, matches_a_pair = len(others.players), self.games + self.games % 2
        total = count * (count - 1) // 2 * matches_a_pair
        slots = others.slots(self.slots, SLOTS)
        with (
            others.tables(self.threads, slots, matches_a_pair) as tables,
            progress_of(total, "matches among opponents") as progress,
        ):
            played = dict(meetings(tables, matches_a_pair, progress=progress))
        result = cross_table(played, others.labels)
        say_cross_table(others, result, matches_a_pair)
        return result

    def _deals(self, seatings: int, opponents: int) -> int:
        from lanista.evaluation.lineup import deals_of

        deals = deals_of(self.games, seatings, opponents)
        if deals * seatings != self.games:
            print(
                f"{self.games:,} games cannot give every deal all {seatings} seatings; "
                f"{deals * seatings:,} are played."
            )
        return deals

    def _play(self, mine: Lineup, others: Lineup, deals: int) -> tuple[list[Results], int]:
        """Return the parts that were complete when all was played or the user interrupted.

        And how many matches have ended in all.
        """
        from lanista.cli.common.progress import progress_of
        from lanista.evaluation.gauntlet import matches_of_deal
        from lanista.evaluation.lineup_matches import play_against

        total = deals * matches_of_deal(mine.spec) * len(others.players)
        with progress_of(total, "matches") as progress:
            complete = play_against(
                mine, others, deals, slots=self.slots, threads=self.threads, progress=progress
            )
        return complete, progress.done

    def _lineups(self) -> tuple[Lineup, Lineup]:
        """Return the player's line-up and that of its opponents, in the same game."""
        from lanista.evaluation.lineup import gauntlet_lineups, split_names

        return gauntlet_lineups(
            self.policy,
            split_names(self.opponents, "--opponents"),
            [value for group in self.settings for value in group],
            game=self.game,
            seed=self.seed,
            greedy=self.greedy,
            temperature=self.temperature,
            search=self.search,
        )

    def _write(
        self,
        gauntlet: Gauntlet,
        mine: Lineup,
        complete: bool,
        ceilings: Mapping[str, Ceiling],
        cross: CrossTable | None,
    ) -> None:
        from dataclasses import asdict

        from lanista.cli.common import markdown
        from lanista.cli.common.outputs import write_json, write_markdown
        from lanista.evaluation.gauntlet import described
        from lanista.evaluation.lineup import manner_of

        if self.output is not None:
            values = described(gauntlet, mine.spec, self.seed, manner_of(mine))
            values |= {"games": self.games, "complete": complete}
            if ceilings:
                values["ceilings"] = {name: asdict(ceiling) for name, ceiling in ceilings.items()}
            if cross is not None:
                values["cross_table"] = asdict(cross)
            write_json(self.output, "evaluate", values)
            print(f"numbers: {self.output}")
        if self.markdown is not None:
            sections = [f"{headline(gauntlet, mine, manner_of(mine))}.\n"]
            sections += [markdown.bouts(gauntlet, ceilings)]
            sections += [] if cross is None else [markdown.crossed(cross)]
            write_markdown(self.markdown, "evaluate", "\n".join(sections))
            print(f"tables: {self.markdown}")


def say_ceilings(gauntlet: Gauntlet, ceilings: Mapping[str, Ceiling]) -> None:
    """Print how far the player stays below the best responses to its opponents."""
    from lanista.cli.common.markdown import below
    from lanista.cli.common.table import console, table

    rows = [(bout.opponent, *below(ceilings.get(bout.opponent), bout.standing))
            for bout in gauntlet.bouts]  # fmt: skip
    out = console()
    out.print("best responses: their score, what it is (how many × decisions of each), distance")
    out.print(table(("opponent", "best response", "what it is", "distance"), rows))


def headline(gauntlet: Gauntlet, mine: Lineup, manner: str) -> str:
    """Return who was measured and how, in two lines."""
    spec = mine.spec
    where = "both seats" if spec.seats == 2 else f"all {spec.seats} seats"
    return (
        f"{mine.game}: {gauntlet.name} ({gauntlet.digest[:12]}) plays {manner}\n"
        f"{gauntlet.bouts[0].standing.matches:,} matches against each, every deal in {where}, seed "
        f"{mine.seed}"
    )


def say(gauntlet: Gauntlet, mine: Lineup, manner: str) -> None:
    """Print how the player did against each, on the whole and at worst."""
    from lanista.cli.common.summary import first_seat, speed
    from lanista.cli.common.table import console, interval, table
    from lanista.evaluation.gauntlet import apart
    from lanista.evaluation.meter import pool_reading

    out = console()
    out.print(
        f"{headline(gauntlet, mine, manner)}\n"
        "[95 % intervals]: score and margin over deals, wins/n Wilson's; smallest: the smallest "
        "difference of score this could show (power 80 %)"
    )
    many = mine.spec.seats > 2
    columns = ["opponent", "n", "wins", "draws", "losses", "score", "wins/n", "margin", "smallest"]
    out.print(table([*columns, *["first place"] * many], _rows(gauntlet, first_place=many)))
    if many:
        par = f"{1 / mine.spec.seats:.3g}"
        out.print(f"first place: one that k share counts 1/k; among equals everybody has {par}")
    if gauntlet.left_out:
        out.print(f"left out: {gauntlet.left_out:,} matches of deals with one broken off")
    if len(gauntlet.scores) > 1:
        lowest = pool_reading(gauntlet.name, gauntlet.digest, gauntlet.scores)
        bounds = "" if lowest.low is None else f" [{lowest.low:.3f}, {lowest.high:.3f}]"
        out.print(
            f"mean over {len(gauntlet.bouts)} opponents: score {interval(gauntlet.mean)}\n"
            f"lowest: score {lowest.value:.3f}{bounds} against {lowest.against}; the interval "
            "holds for all opponents at once"
        )
    if apart(mine.spec):
        out.print("Each has all seats of matches of its own; who is paid more on a deal wins it.")
    else:
        out.print(first_seat(gauntlet.first_seat))
    out.print(speed(gauntlet.decisions, gauntlet.wall_seconds, gauntlet.cpu_seconds))


def _rows(gauntlet: Gauntlet, *, first_place: bool) -> Sequence[Sequence[str]]:
    from lanista.cli.common.table import interval
    from lanista.cli.common.table import number as shown

    return [
        (
            bout.opponent,
            f"{bout.standing.matches:,}",
            f"{bout.standing.wins:,}",
            f"{bout.standing.draws:,}",
            f"{bout.standing.losses:,}",
            interval(bout.standing.score),
            interval(bout.standing.win_rate),
            interval(bout.standing.margin, 2, signed=True),
            shown(bout.standing.smallest_difference),
            *[interval(bout.standing.first_place)] * first_place,
        )
        for bout in gauntlet.bouts
    ]
