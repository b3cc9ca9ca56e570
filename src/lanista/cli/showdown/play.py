"""`lanista showdown play POLICY`: a policy plays on a Showdown server."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import number, optional, switch
from lanista.cli.common.outputs import BATTLES, SPOOL, Writes
from lanista.errors import LanistaError, RefusedError

if TYPE_CHECKING:
    from lanista.live.showdown.casting import Teams, Who
    from lanista.live.showdown.session import Aim, Session
    from lanista.live.showdown.table import Result

NAME, PASSWORD = "LANISTA_SHOWDOWN_NAME", "LANISTA_SHOWDOWN_PASSWORD"
MEANT = "LANISTA_SHOWDOWN_PASSWORD_SERVER"
"""The server that the password is for; Showdown's own unless given."""
DEFAULT_NAME = "lanista"
LONGEST_NAME = 18
MOST_BATTLES = 1_000_000
MOST_AT_ONCE = 128
MOST_NAMES = 100
"""How many players of one machine find a name by themselves."""


@dataclass(frozen=True)
class Play:
    """Let a policy play on a Showdown server: on the ladder, against somebody, or whoever comes.

    The account is named in the environment: LANISTA_SHOWDOWN_NAME and LANISTA_SHOWDOWN_PASSWORD.
    On this machine it is lanista unless given, or lanista-2 and so on where that name is taken. The
    password is for Showdown's own server, or for the one that LANISTA_SHOWDOWN_PASSWORD_SERVER
    names, and is used on no other. For a server that is not on this machine, what is missing is
    asked for at the terminal. Ctrl-C begins no more battles and plays those in progress to their
    end; the second gives them up; the third leaves them as they are.
    """

    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")]
    """A policy file, a policy folder (each battle is played by what it names then), the name of a
    bot of Showdown, or file.py:Bot."""
    server: Annotated[str, tyro.conf.arg(metavar="URL", help_behavior_hint="(required)")]
    """The server, such as ws://127.0.0.1:8000."""
    ladder: Annotated[int | None, optional("N")] = None
    """Play so many battles on the ladder."""
    challenge: Annotated[str | None, optional("USER")] = None
    """Challenge this user, --battles times."""
    accept: Annotated[int | None, optional("N")] = None
    """Accept so many challenges, whoever sends them."""
    battles: Annotated[int | None, optional("N")] = None
    """How many battles with --challenge; 1 unless given."""
    team: Annotated[Path | None, optional("FILE")] = None
    """The team, a PokePaste file; for formats that bring one."""
    format: Annotated[str | None, optional("F")] = None
    """The format; the policy's own unless given."""
    belief_pool: Annotated[str | None, optional("DIR")] = None
    """The teams that the player takes others' to come from; unless given, those that the policy
    learnt with."""
    usage: Annotated[Path | None, optional("FILE")] = None
    """Usage statistics to take others' teams from instead: a chaos JSON file, or what `lanista
    showdown usage` wrote."""
    concurrency: Annotated[int, number(8)] = 8
    """How many battles are played side by side at most."""
    greedy: Annotated[bool, switch()] = False
    """Play the likeliest choice; otherwise choices are sampled."""
    temperature: Annotated[float | None, optional("T")] = None
    """What logits are divided by before a choice is sampled; 1 unless given."""
    seed: Annotated[int, number(0)] = 0
    """Random seed of the policy's choices."""
    spool: Annotated[Path | None, optional("DIR"), Writes(SPOOL)] = None
    """Leave every battle here for `lanista learn`; POLICY is a policy folder then."""
    save_replays: Annotated[Path | None, optional("DIR"), Writes(BATTLES)] = None
    """Write every battle into this folder, as the HTML replay that Showdown's pages play."""
    no_timer: Annotated[bool, switch()] = False
    """Do not ask the server to watch the players' time: an opponent who leaves is waited for."""
    answer_timeout: Annotated[float, tyro.conf.arg(metavar="SECONDS")] = 120.0
    """When a battle was asked for and the server says something unknown: how long a battle may
    still begin, before that is taken for a refusal."""
    this_server_allows_bots: Annotated[bool, switch()] = False
    """Say that you have read the rules of a server that is not on this machine, and that they allow
    bots."""

    def run(self) -> int:
        """Play, print every battle and the sum, and return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.cli.main import INTERRUPTED
        from lanista.cli.showdown.manner import manner_of
        from lanista.live.showdown.casting import read_teams, who_is
        from lanista.live.showdown.extra import refuse_without_poke_env

        refuse_without_poke_env()
        if not 0 < self.answer_timeout < math.inf:
            raise LanistaError(f"--answer-timeout is {self.answer_timeout}; give seconds above 0.")
        aim = self._aim()
        url = self._url()
        who = who_is(self.policy, self.format)
        manner = manner_of(who, self.greedy, self.temperature)
        self._refuse_spool(who)
        if who.format.brings_team and self.team is None:
            raise LanistaError(_no_team(who.format.name))
        if self.save_replays is not None:
            refuse_unwritable_folder("--save-replays", self.save_replays)
        who.refuse_usage(self.usage, self.belief_pool)
        belief_pool = "" if self.usage else who.belief_pool(self.belief_pool)
        teams = read_teams(who.format, file=self.team, belief_pool=belief_pool, usage=self.usage)
        name, password = self._account(url)
        spec = who.spec(teams.version)
        source = self._source(who, spec, manner.temperature)
        runner = _Runner(self, url, name, password, who, teams, source, str(manner))
        try:
            runner.run(aim)
        finally:
            written = source.close() if hasattr(source, "close") else None
            if runner.results:
                print(summary(runner.results))
            if written is not None:
                print(f"{written.written} games written; {written.problem or 'no problem'}")
        return INTERRUPTED if runner.interrupted else 0

    def _aim(self) -> Aim:
        from lanista.live.showdown.session import Aim

        aims = [self.ladder is not None, self.challenge is not None, self.accept is not None]
        if sum(aims) != 1:
            raise LanistaError(
                "Which battles are wanted? Give one of --ladder N, --challenge USER and --accept N."
            )
        if self.battles is not None and self.challenge is None:
            raise LanistaError("--battles goes with --challenge; leave it out.")
        if not 1 <= self.concurrency <= MOST_AT_ONCE:
            raise LanistaError(
                f"--concurrency is {self.concurrency}; give a number from 1 to {MOST_AT_ONCE}."
            )
        if self.challenge is not None:
            count = 1 if self.battles is None else self.battles
            _refuse_count("--battles", count)
            return Aim("challenge", count, self.challenge)
        if self.ladder is not None:
            _refuse_count("--ladder", self.ladder)
            return Aim("ladder", self.ladder)
        assert self.accept is not None
        _refuse_count("--accept", self.accept)
        return Aim("accept", self.accept)

    def _url(self) -> str:
        from lanista.live.showdown.connection import is_loopback, websocket_url

        url = websocket_url(self.server)
        if not is_loopback(url) and not self.this_server_allows_bots:
            raise RefusedError(
                f"--server is {self.server!r}, which is not on this machine; read its rules, and "
                "add --this-server-allows-bots if they allow bots."
            )
        return url

    def _refuse_spool(self, who: Who) -> None:
        if self.spool is None:
            return
        if who.kind != "folder":
            raise LanistaError(
                f"--spool is for a learner, which shares a policy folder with the bot, and "
                f"{self.policy} is none; make one with `lanista policy publish`."
            )
        if self.greedy or self.temperature is not None:
            raise LanistaError(
                "Games for a learner are sampled as the policy says; leave out "
                f"{'--greedy' if self.greedy else '--temperature'} or --spool."
            )

    def _account(self, url: str) -> tuple[str, str | None]:
        """Return the account: from the environment, or asked for where a server is a public one."""
        import os
        from getpass import getpass

        from lanista.live.showdown.connection import is_for, is_loopback

        name, password = os.environ.get(NAME), os.environ.get(PASSWORD)
        if password and not is_for(url, os.environ.get(MEANT) or None):
            _tell(f"{PASSWORD} is not used: it is for another server; {MEANT} can name this one.")
            password = None
        if not is_loopback(url):
            try:
                name = name or input("Account on that server: ").strip()
                if password is None:
                    password = getpass("Its password, for Showdown's login server: ")
            except EOFError as error:
                raise LanistaError(
                    f"The account is missing; set {NAME} and {PASSWORD} in the environment, and "
                    f"{MEANT} to {url} if the password is for that server."
                ) from error
        name = name or DEFAULT_NAME
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
            raise LanistaError(f"{NAME} is {name!r}; give a name of 1 to {LONGEST_NAME} letters.")
        return name, password or None

    def _source(self, who: Who, spec: Any, temperature: float) -> Any:
        from lanista.live.showdown.casting import load_player
        from lanista.live.showdown.players import Fixed, Folder

        if who.kind == "folder":
            return Folder(
                self.policy,
                self.spool,
                spec,
                self.seed,
                greedy=self.greedy,
                temperature=temperature,
            )
        return Fixed(load_player(who, spec, self.seed, greedy=self.greedy, temperature=temperature))


@dataclass
class _Runner:
    """A session at the terminal."""

    command: Play
    url: str
    name: str
    password: str | None
    who: Who
    teams: Teams
    source: Any
    manner: str

    def __post_init__(self) -> None:
        self.results: list[Result] = []
        self.interrupted = False

    def run(self, aim: Aim) -> None:
        import asyncio

        asyncio.run(self._run(aim))

    async def _run(self, aim: Aim) -> None:
        import torch

        from lanista.live.showdown.player import ServerPlayer
        from lanista.live.showdown.session import Session

        torch.set_num_threads(1)
        player = ServerPlayer(
            self.source,
            self.who.format,
            self.url,
            self.name,
            password=self.password,
            spare_names=self._spare_names(),
            belief=self.teams.belief,
            observation=self.who.observation,
            timer=not self.command.no_timer,
            patience=self.command.answer_timeout,
            tell=_tell,
        )
        team = self.teams.brought[0].packed if self.teams.brought else None
        session = Session(
            player,
            aim,
            team,
            lambda result: self._report(result, aim),
            self.command.concurrency,
            lambda: self._greet(player.username, aim),
        )
        self._heed_signals(session)
        await session.run()

    def _spare_names(self) -> Iterable[str]:
        """Return what else the account may be called: nothing where the user named it."""
        import os

        from lanista.live.showdown.connection import is_loopback

        if os.environ.get(NAME) or not is_loopback(self.url):
            return ()
        return (f"{self.name}-{at}" for at in range(2, MOST_NAMES + 1))

    def _greet(self, name: str, aim: Aim) -> None:
        self.name = name
        print(f"{name} plays {self.who.format.name} on {self.url}, {self.manner}", flush=True)
        if aim.kind == "accept":
            _tell(f"Waiting for challenges to {name}.")

    def _heed_signals(self, session: Session) -> None:
        import asyncio
        import signal

        def interrupt() -> None:
            self.interrupted = True
            away = session.player.away
            session.interrupt()
            sentences = {
                1: "The server is away; battles in progress are cut off."
                if away
                else f"No more battles; {session.player.playing} in progress are played to their "
                "end. Again: give them up.",
                2: "Giving up. Again: leave at once.",
            }
            _tell(sentences.get(session.interrupts, "Leaving."))

        loop = asyncio.get_running_loop()
        for sign in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sign, interrupt)

    def _report(self, result: Result, aim: Aim) -> None:
        from lanista.live.showdown.replays import save_replay
        from lanista.text import printable

        self.results.append(replace(result, log=()))
        words = {1.0: "won", 0.0: "tied", -1.0: "lost", None: "cut off"}[result.outcome]
        given_up = f", given up: {printable(result.given_up, 200)}" if result.given_up else ""
        print(
            f"{len(self.results)} of {aim.battles}: {words} against "
            f"{printable(result.opponent or '?', 40)} (p{result.seat + 1}, {result.turns} turns, "
            f"{printable(result.tag, 60)}{given_up})",
            flush=True,
        )
        if self.command.save_replays is not None and result.log:
            save_replay(self.command.save_replays, self.name, result)


def summary(results: list[Result]) -> str:
    """Return what battles came to, with an interval."""
    import numpy as np

    from lanista.cli.common.table import interval
    from lanista.evaluation.score import mean_score

    outcomes = [result.outcome for result in results if result.outcome is not None]
    score = mean_score(np.array(outcomes, np.float64) / 2 + 0.5)
    given_up = sum(bool(result.given_up) for result in results)
    remark = f" ({given_up} given up)" if given_up else ""
    return (
        f"{len(results)} battles: {outcomes.count(1.0)} won, {outcomes.count(0.0)} tied, "
        f"{outcomes.count(-1.0)} lost{remark}, {len(results) - len(outcomes)} cut off; score "
        f"{interval(score)}"
    )


def _no_team(format: str) -> str:
    from lanista.games.showdown.teams.pool import EXAMPLES

    return (
        f"--team is missing; {format} is played with one: name a PokePaste file, such as "
        f"{EXAMPLES / 'goodstuff.txt'}, or make some with `lanista showdown teams`."
    )


def _refuse_count(flag: str, count: int) -> None:
    if not 1 <= count <= MOST_BATTLES:
        raise LanistaError(f"{flag} is {count:,}; give a number from 1 to {MOST_BATTLES:,}.")


def _tell(sentence: str) -> None:
    import sys

    print(sentence, file=sys.stderr, flush=True)
