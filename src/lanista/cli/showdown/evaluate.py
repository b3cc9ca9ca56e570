"""`lanista showdown evaluate POLICY`: how strong a player is on a real server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import number, optional, switch
from lanista.cli.common.outputs import Writes, numbers_of, write_json
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.cli.showdown.score import Score
    from lanista.live.showdown.casting import Teams, Who
    from lanista.live.showdown.gauntlet import Bout, Played

MOST_LANES = 128
MOST_SERVERS = 16
MOST_BATTLES = 1_000_000


@dataclass(frozen=True)
class Evaluate:
    """Let a player meet poke-env's own players on a real server, and say how strong it is.

    Both bring the same team, the teams of the pool in turn, and every pair of battles has the sides
    swapped; with --different-teams each side has its own. The server runs on this machine and ends
    with the command. Battles on a server cannot be played again: their dice are the server's own.
    """

    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")]
    """A policy file, a policy folder (its stable policy), the name of a bot of Showdown, or
    file.py:Bot."""
    opponents: Annotated[str, tyro.conf.arg(metavar="A,B,...")] = (
        "simple_heuristics,max_base_power,random"
    )
    """Which of poke-env's players it meets."""
    battles: Annotated[int, number(1000)] = 1000
    """Against each; rounded up to pairs."""
    team: Annotated[Path | None, optional("FILE")] = None
    """The team that both bring, a PokePaste file."""
    team_pool: Annotated[str | None, optional("DIR")] = None
    """A folder of teams instead, or a pool that comes along (two, held-out, final); two unless
    given."""
    different_teams: Annotated[bool, switch()] = False
    """Give the two sides different teams of the pool; in every pair of battles both players have
    either once."""
    by_pokemon: Annotated[bool, switch()] = False
    """Show how often battles are won in which each of POLICY's Pokémon takes the field; --output
    has it always."""
    belief_pool: Annotated[str | None, optional("DIR")] = None
    """The teams that the player takes others' to come from; unless given, those that the policy
    learnt with."""
    usage: Annotated[Path | None, optional("FILE")] = None
    """Usage statistics to take others' teams from instead: a chaos JSON file, or what `lanista
    showdown usage` wrote."""
    format: Annotated[str | None, optional("F")] = None
    """The format; the policy's own unless given."""
    greedy: Annotated[bool, switch()] = False
    """Let POLICY play its likeliest choice; otherwise it samples."""
    temperature: Annotated[float | None, optional("T")] = None
    """What POLICY divides its logits by before it samples; 1 unless given."""
    concurrency: Annotated[int, number(16)] = 16
    """How many battles are played side by side."""
    servers: Annotated[int, number(1)] = 1
    """How many servers share them."""
    seed: Annotated[int, number(0)] = 0
    """Random seed of POLICY's choices."""
    output: Annotated[Path | None, optional("FILE"), Writes(numbers_of("showdown evaluate"))] = None
    """Write the numbers to this file, as JSON."""

    def run(self) -> int:
        """Play, print, and return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.main import INTERRUPTED

        self._refuse_nonsense()
        if self.output is not None:
            refuse_unwritable("--output", self.output)
        evaluation = self._prepared()
        complete = False
        try:
            complete = evaluation.play()
        finally:  # What was played counts, also where a server is lost.
            if evaluation.played:
                evaluation.say()
                if self.output is not None:
                    evaluation.write(self.output, complete)
        return 0 if complete else INTERRUPTED

    def _refuse_nonsense(self) -> None:
        from lanista.live.showdown.extra import refuse_without_poke_env

        limits = (
            ("battles", self.battles, MOST_BATTLES),
            ("concurrency", self.concurrency, MOST_LANES),
            ("servers", self.servers, MOST_SERVERS),
        )
        for name, value, most in limits:
            if not 1 <= value <= most:
                raise LanistaError(f"--{name} is {value:,}; give a number from 1 to {most:,}.")
        if self.team is not None and self.team_pool is not None:
            raise LanistaError("--team and --team-pool both say what is brought; give one.")
        refuse_without_poke_env()

    def _prepared(self) -> Evaluation:
        from lanista.cli.showdown.manner import manner_of
        from lanista.evaluation.lineup import split_names
        from lanista.live.showdown.casting import load_player, read_teams, who_is
        from lanista.live.showdown.gauntlet import fixed_bouts

        who = who_is(self.policy, self.format)
        manner = manner_of(who, self.greedy, self.temperature)
        names = list(dict.fromkeys(split_names(self.opponents, "--opponents")))
        fixed_bouts(names, (), 1)  # A wrong name is told before anything is started.
        who.refuse_usage(self.usage, self.belief_pool)
        belief_pool = "" if self.usage else who.belief_pool(self.belief_pool)
        teams = read_teams(
            who.format,
            file=self.team,
            pool=self.team_pool,
            belief_pool=belief_pool,
            usage=self.usage,
        )
        for name, why in teams.left_out.items():
            print(f"{name} is left out: {why}")
        spec = who.spec(teams.version)
        player = load_player(
            who, spec, self.seed, greedy=self.greedy, temperature=manner.temperature
        )
        pairs = -(-self.battles // 2)
        if 2 * pairs != self.battles:
            print(f"{self.battles:,} battles are no pairs; {2 * pairs:,} are played against each.")
        bouts = fixed_bouts(names, teams.brought, pairs, different=self.different_teams)
        return Evaluation(self, who, teams, player, str(manner), names, bouts)


@dataclass
class Evaluation:
    """What is played, and what came of it so far."""

    command: Evaluate
    who: Who
    teams: Teams
    player: Any
    manner: str
    names: list[str]
    bouts: list[Bout]
    played: list[Played] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0

    def play(self) -> bool:
        """Play the bouts on servers of our own; return whether all were played."""
        import asyncio
        import time
        from contextlib import ExitStack

        from lanista.cli.common.progress import progress_of
        from lanista.games.showdown.local_servers.server import Server

        with ExitStack() as stack, progress_of(len(self.bouts), "battles") as progress:
            servers = [stack.enter_context(Server(wait=False)) for _ in range(self.command.servers)]
            for server in servers:
                server.wait()
            urls = [server.url for server in servers]
            began = time.monotonic(), time.process_time()

            def report(battle: Played) -> None:
                self.played.append(battle)
                progress(1)

            try:
                asyncio.run(self._bouts(urls, report))
            except KeyboardInterrupt:
                done, total = len(self.played), len(self.bouts)
                print(f"Interrupted: {done:,} of {total:,} battles are complete.")
            finally:
                self.wall_seconds = time.monotonic() - began[0]
                self.cpu_seconds = time.process_time() - began[1]
        return len(self.played) == len(self.bouts)

    async def _bouts(self, urls: Sequence[str], report: Any) -> None:
        import torch

        from lanista.live.showdown.batching import Batcher
        from lanista.live.showdown.gauntlet import Setting, play_bouts
        from lanista.live.showdown.players import Fixed

        torch.set_num_threads(1)
        setting = Setting(
            urls=urls,
            source=Fixed(self.player),
            format=self.who.format,
            belief=self.teams.belief,
            batcher=Batcher(),
            report=report,
            troubles=self.troubles,
            observation=self.who.observation,
        )
        await play_bouts(setting, self.bouts, self.command.concurrency)

    def against(self, opponent: str, team: str | None = None) -> list[Played]:
        """Return the battles against an opponent, with one team or with all."""
        return [
            battle
            for battle in self.played
            if battle.bout.opponent == opponent
            and (team is None or (battle.bout.team is not None and battle.bout.team.name == team))
        ]

    def score(self, opponent: str, team: str | None = None) -> Score:
        """Return how the player did against an opponent, with one team or with all."""
        from lanista.cli.showdown.score import score_of

        return score_of(self.against(opponent, team))

    def say(self) -> None:
        """Print how the player did against each, with each team."""
        from lanista.cli.common.table import console, table
        from lanista.cli.showdown.score import COLUMNS, POKEMON_COLUMNS, first_seat, row

        out = console()
        names = [team.name for team in self.teams.brought]
        out.print(
            f"{self.who.format.name}: {self.command.policy} ({self.player.digest[:12]}) plays "
            f"{self.manner}\non {self.command.servers} real server"
            f"{'s' if self.command.servers > 1 else ''} against poke-env's players; "
            f"{self._teams_in_words()}, sides swapped, seed {self.command.seed}\n"
            "[95 % intervals]: score over pairs of battles, wins/n Wilson's"
        )
        rows = [row(name, "all", self.score(name)) for name in self.names]
        if len(names) > 1:
            # Few battles do not reach every team.
            bouts = [battle.bout for battle in self.played]
            met = {(bout.opponent, bout.team.name) for bout in bouts if bout.team is not None}
            rows += [
                row(name, team, self.score(name, team))
                for name in self.names
                for team in names
                if (name, team) in met
            ]
        out.print(table(COLUMNS, rows, left=2))
        if self.command.by_pokemon:
            out.print(table(POKEMON_COLUMNS, self._pokemon_rows(), left=2))
        out.print(first_seat(self.played))
        out.print(self._remarks())

    def _teams_in_words(self) -> str:
        if not self.teams.brought:
            return "the server deals the teams"
        different = self.command.different_teams
        return "the sides bring different teams" if different else "both bring the same team"

    def _pokemon_rows(self) -> list[tuple[str, ...]]:
        from lanista.cli.showdown.score import pokemon_row, pokemon_scores

        return [
            pokemon_row(opponent, name, score)
            for opponent in self.names
            for name, score in pokemon_scores(self.against(opponent)).items()
        ]

    def _remarks(self) -> str:
        results = [battle.result for battle in self.played]
        decisions = sum(result.decisions for result in results)
        counts = {
            "given up": sum(bool(result.given_up) for result in results),
            "unavailable choices": sum(result.unavailable for result in results),
            "invalid choices": sum(result.invalid for result in results),
            "left to the simulator": sum(result.defaults for result in results),
            "strange lines": sum(result.strange for result in results),
            "troubles of poke-env": len(self.troubles),
        }
        remarks = ", ".join(f"{name} {count}" for name, count in counts.items())
        return (
            f"{decisions:,} decisions; {remarks}\n"
            f"{len(results) / self.wall_seconds:.1f} battles a second, "
            f"{len(results) / self.cpu_seconds:.1f} a CPU second without the servers"
        )

    def write(self, file: Path, complete: bool) -> None:
        """Write the numbers, and all that is needed to do it again."""
        from lanista.cli.showdown.score import described

        write_json(file, "showdown evaluate", described(self, complete))
        print(f"numbers: {file}")
