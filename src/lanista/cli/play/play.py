"""`lanista play GAME`: a fixed schedule of matches is played, recorded if asked, and summed up.

With `human` in a seat it is one match instead, in this terminal (person.py).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import CLUSTER, GAMES, SETTINGS, number, optional, switch
from lanista.cli.common.outputs import REPLAYS as REPLAYS_FOLDER
from lanista.cli.common.outputs import Writes, numbers_of
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.evaluation.lineup import Lineup
    from lanista.rollout import Results, Schedule

REPLAYS = Path("data/processed")
"""Where --record-replay writes."""
HUMAN = "human"
"""The word for whoever sits at the terminal."""
IDLE = ("random", "still")
"""Bots that --num-scripted-bots does not seat while there are others."""


@dataclass(frozen=True)
class Play:
    """Play bots and policies against each other and say who is stronger, and how surely."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME"), GAMES]
    """A game's name, family:NAME, or a Python file."""
    seats: Annotated[str | None, optional("A,B")] = None
    """Who plays, one for each seat, with commas between: names of bots, file.py:Bot, policy
    files or champion:GAME (several with + between decide together); human is you, in this
    terminal."""
    matches: Annotated[int | None, optional("N")] = None
    """How many matches; 1000 unless given. Rounded up so that every deal is played in all seats."""
    seed: Annotated[int | None, optional("N")] = None
    """Random seed of the deals and the bots; 0, or with human a new one, unless given."""
    record: Annotated[Path | None, optional("FOLDER"), Writes(REPLAYS_FOLDER)] = None
    """Write replays into this folder; what is there is never overwritten."""
    json: Annotated[Path | None, optional("FILE"), Writes(numbers_of("play"))] = None
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
    greedy: Annotated[bool, switch()] = False
    """Let policies play their likeliest choice; otherwise they sample."""
    temperature: Annotated[float | None, optional("T")] = None
    """What policies divide their logits by before they sample; 1 unless given."""
    search: Annotated[int | None, optional("N")] = None
    """Let policies search with N simulations before they move, in games of two seats in
    turn in which everything is seen; also written POLICY:search=N."""
    handicap: Annotated[float | None, optional("SHARE")] = None
    """With human: the share of the others' moves, from 0 to 1, that is drawn evenly from the
    legal ones instead."""
    hints: Annotated[str | None, optional("POLICY")] = None
    """With human: the policy that gives hints; an opponent's, or the game's champion unless
    given."""
    num_scripted_bots: Annotated[int | None, optional("N")] = None
    """Instead of --seats: seat this many of the game's bots, and play one deal in all seatings
    unless --matches is given."""
    episode_duration: Annotated[float | None, optional("SECONDS")] = None
    """For games with a time limit: how many seconds a match lasts at most."""
    record_replay: Annotated[bool, switch()] = False
    """Write replays into data/processed."""

    def run(self) -> int:
        """Play, print, and return 0, or 130 when interrupted."""
        from lanista.cluster.session import using

        with using(self.cluster):
            return self._run()

    def _run(self) -> int:
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.common.summary import say, write_json
        from lanista.cli.main import INTERRUPTED
        from lanista.evaluation import summarise
        from lanista.interrupt import left_by_interrupt
        from lanista.rollout import join, rotations

        lineup = self._lineup()
        if HUMAN in lineup.players:
            return self._play_person(lineup)
        for flag, value in (("--handicap", self.handicap), ("--hints", self.hints)):
            if value is not None:
                raise LanistaError(f"{flag} is for a match with a human in it; seat one.")
        if self.json:
            refuse_unwritable("--json", self.json)
        schedule = rotations(len(lineup.players), self._count(len(lineup.players)))
        if self.matches is not None and len(schedule) != self.matches:
            print(
                f"{self.matches:,} matches cannot give every deal all {schedule.seats} seatings; "
                f"{len(schedule):,} are played."
            )
        blocks, folder, ended = self._play(lineup, schedule)
        complete = sum(len(block) for block in blocks)
        if complete < len(schedule):
            print(left_by_interrupt(ended, len(schedule), complete))
        if blocks:
            summary = summarise(join(blocks), lineup.labels)
            say(lineup, summary)
            if self.json:
                write_json(self.json, "play", lineup, summary)
                print(f"numbers: {self.json}")
        if folder and blocks:
            print(f"replays: {folder}")
        return INTERRUPTED if complete < len(schedule) else 0

    def _play_person(self, lineup: Lineup) -> int:
        from lanista.cli.play.person import play_person

        flags = {"--matches": self.matches, "--json": self.json, "--slots": self.slots}
        for flag, value in flags.items():
            if value is not None:
                raise LanistaError(f"{flag} is for matches without a human; leave it out.")
        folder = self.record or (REPLAYS if self.record_replay else None)
        return play_person(lineup, self.handicap or 0.0, folder, self.hints)

    def _play(self, lineup: Lineup, schedule: Schedule) -> tuple[list[Results], Path | None, int]:
        """Return the blocks that were complete when all was played or the user interrupted.

        And where they are recorded, and how many matches have ended in all.
        """
        from lanista.cli.common.progress import progress_of
        from lanista.evaluation.lineup_matches import play_schedule

        folder = self.record or (REPLAYS if self.record_replay else None)
        with progress_of(len(schedule), "matches") as progress:
            complete = play_schedule(
                lineup,
                schedule,
                slots=self.slots,
                threads=self.threads,
                folder=folder,
                progress=progress,
            )
        return complete, folder, progress.done

    def _lineup(self) -> Lineup:
        from lanista.evaluation.lineup import lineup
        from lanista.games import registry

        values = [value for group in self.settings for value in group]
        if self.episode_duration is not None:
            if "duration" not in registry.entry(self.game).settings:
                raise LanistaError(f"{self.game} has no time limit; leave out --episode-duration.")
            values.append(f"duration={self.episode_duration}")
        players = self._players()
        return lineup(
            self.game,
            players,
            values,
            seats=len(players),
            seed=self._seed(players),
            greedy=self.greedy,
            temperature=self.temperature,
            search=self.search,
        )

    def _seed(self, players: list[str]) -> int:
        if self.seed is not None:
            return self.seed
        return secrets.randbelow(1 << 31) if HUMAN in players else 0

    def _players(self) -> list[str]:
        from lanista.evaluation.lineup import split_names
        from lanista.games import registry

        bots = registry.bot_names(registry.entry(self.game))
        if self.seats is not None and self.num_scripted_bots is not None:
            raise LanistaError("--seats and --num-scripted-bots both say who plays; give one.")
        if self.seats is not None:
            return split_names(self.seats, "--seats")
        if self.num_scripted_bots is None:
            raise LanistaError(
                f"--seats is missing; name a bot for each seat, with commas between. {self.game} "
                f"has {', '.join(bots)}."
            )
        if self.num_scripted_bots < 2:
            raise LanistaError(f"--num-scripted-bots is {self.num_scripted_bots}; give at least 2.")
        # Those that only fill a chair are a last resort: the point is play worth recording.
        scripted = [bot for bot in bots if bot not in IDLE] or bots
        return [scripted[i % len(scripted)] for i in range(self.num_scripted_bots)]

    def _count(self, seats: int) -> int:
        from lanista.evaluation.lineup import refuse_count

        if self.matches is None:
            return seats if self.num_scripted_bots is not None else 1000
        refuse_count(self.matches)
        return self.matches
