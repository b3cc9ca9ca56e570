"""`lanista live run GAME`: bots, what they play on, and the learner beside them, in one command."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import optional
from lanista.cli.common.outputs import LIVE_FOLDER, Writes
from lanista.cli.live.learn import SET, say_on_error, stopping
from lanista.errors import LanistaError
from lanista.pipeline.live_run.venues import GameName

if TYPE_CHECKING:
    from lanista.live.learner.background_learner import BackgroundLearner, Batch
    from lanista.live.learner.settings import LiveSettings
    from lanista.pipeline.live_run.venue import Setup, Venue

_EVERY = 15.0
"""Seconds between two lines on the terminal."""
_PLAYERS = {"arena": 2, "starcraft2": 1, "showdown": 1}


@dataclass(frozen=True)
class LiveRun:
    """Run live bots and the learner that makes their policy better, together, until Ctrl-C.

    arena: a clone of a weak bot plays one of ours. starcraft2: a burnysc2 bot plays the stand-in
    that comes along, or StarCraft II itself with --map. showdown: a policy battles a bot on a real
    server, which the command starts on this machine.

    Start it again with the same --output to go on, also after a kill. Its folders are those of
    `lanista learn`: `lanista policy list`, `lanista doctor` and `lanista report` work on them."""

    game: Annotated[tyro.conf.Positional[GameName], tyro.conf.arg(metavar="GAME")]
    """What is played: arena, starcraft2 or showdown."""
    output: Annotated[Path | None, optional("FOLDER"), Writes(LIVE_FOLDER)] = None
    """Where everything goes; live-GAME unless given."""
    minutes: Annotated[float | None, optional("N")] = None
    """How long to play; until Ctrl-C unless given."""
    games: Annotated[int | None, optional("N")] = None
    """End after so many games were learned from."""
    players: Annotated[int | None, optional("N")] = None
    """How many processes play; 2 in the arena, 1 otherwise, unless given."""
    opponent: Annotated[str | None, optional("NAME")] = None
    """Who is played against: a bot of the arena (kiter unless given); a bot, Python file or policy
    of Showdown (heuristic); builds of the stand-in or of StarCraft II, by turns
    (Timing,Macro,Air)."""
    policy: Annotated[str | None, optional("FILE")] = None
    """The policy to begin from; unless given, a clone of a weak bot (arena), one that holds all
    strategies alike (starcraft2), champion:showdown."""
    seed: Annotated[int | None, optional("N")] = None
    """Random seed of the first policy, of what players sample (arena, showdown) and of the learner;
    0 unless given. Games differ at every start."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting of the learner, as for `lanista learn`."""
    bot: Annotated[str | None, optional("FILE.py:CLASS")] = None
    """starcraft2: your bot, a class of MacroAgent and BotAI; that of examples/my_sc2_bot.py unless
    given."""
    map: Annotated[str | None, optional("NAME")] = None
    """starcraft2: play StarCraft II itself, on this map, not the stand-in."""
    difficulty: Annotated[str | None, optional("NAME")] = None
    """starcraft2: of the computer; Medium unless given."""
    race: Annotated[str | None, optional("NAME")] = None
    """starcraft2: of the bot; Zerg unless given."""
    team_pool: Annotated[str | None, optional("DIR")] = None
    """showdown: a folder of teams, or a pool that comes along; both bring the same team. Unless
    given, the teams that the policy learnt with."""

    def run(self) -> int:
        """Play, learn, report."""
        self._refuse_nonsense()
        import torch

        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.pipeline.live_run.session import facts_of, kept_settings, prepare, refuse
        from lanista.pipeline.live_run.venue import Setup
        from lanista.pipeline.live_run.venues import venue_named
        from lanista.runs.serialise import overridden

        torch.set_num_threads(1)
        venue, folder = venue_named(self.game), self._folder()
        LIVE_FOLDER.refuse("--output", folder)
        facts = facts_of(venue, folder, self._facts(venue))
        setup = Setup(folder, self.players or _PLAYERS[self.game], facts, self.policy)
        overrides = [text for group in self.settings for text in group]
        settings = overridden(kept_settings(setup) or venue.settings(setup.seed), overrides)
        refuse(venue, setup)
        refuse_unwritable_folder("--output", folder)
        prepare(venue, setup, say_on_error)
        say_on_error(f"{self._plan(setup)}; Ctrl-C stops it, and nothing is lost.")
        return self._session(venue, setup, settings)

    def _session(self, venue: Venue, setup: Setup, settings: LiveSettings) -> int:
        from lanista.pipeline.live_run.session import EndedEarlyError, Until, run
        from lanista.report.live_record import read_live
        from lanista.report.pages.live_page import headline, write_live_report

        seconds = math.inf if self.minutes is None else self.minutes * 60
        until = Until(seconds, math.inf if self.games is None else self.games)
        statistics, failure = None, None
        try:
            with stopping(drain=True) as stop:
                statistics = run(venue, setup, settings, until, stop, say_on_error, Ticker())
        except EndedEarlyError as error:
            failure = error  # What was played until then is reported too.
        for line in [] if statistics is None else statistics.lines():
            print(line)
        record = read_live(setup.policy)
        for sentence in headline(record):
            print(sentence)
        for path in write_live_report(record, setup.folder / "report"):
            print(path)
        if failure is not None:
            raise failure
        return 0

    def _folder(self) -> Path:
        return Path(f"live-{self.game}") if self.output is None else self.output

    def _facts(self, venue: Venue) -> dict[str, str | int | None]:
        """Return the flags of this game; refuse those of another."""
        flags: dict[str, str | int | None] = {
            "opponent": self.opponent,
            "seed": self.seed,
            "bot": self.bot,
            "map": self.map,
            "difficulty": self.difficulty,
            "race": self.race,
            "team-pool": self.team_pool,
        }
        for name, value in flags.items():
            if value is not None and name not in venue.defaults:
                raise LanistaError(f"--{name} is {value}, and {self.game} has none; leave it out.")
        return flags

    def _plan(self, setup: Setup) -> str:
        players = f"{setup.players} player{'s' if setup.players > 1 else ''}"
        ends = "" if self.minutes is None else f" for {self.minutes:g} minutes"
        ends += "" if self.games is None else f" until {self.games:,} games are learned from"
        real = setup.facts.get("map")
        where = f" on {real}" if real else " on the stand-in" if self.game == "starcraft2" else ""
        return f"{players} against {setup.opponent}{where}{ends}"

    def _refuse_nonsense(self) -> None:
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise LanistaError(f"--minutes is {self.minutes}; give a number above 0.")
        for name, value in (("players", self.players), ("games", self.games)):
            if value is not None and value < 1:
                raise LanistaError(f"--{name} is {value}; give 1 or more.")


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
