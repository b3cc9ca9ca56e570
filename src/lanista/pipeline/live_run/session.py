"""One live session: a first policy, players in processes of their own, and the learner beside them.

Starts the players, learns in this process until it is over, ends the players by their process ids,
and learns from what they wrote last. Knows nothing of how is learned or decided, nor of the game.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lanista.errors import LanistaError
from lanista.files import write_bytes, write_text
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.background_learner import FOLDER, SETTINGS, BackgroundLearner, Batch
from lanista.live.learner.service import Service, Statistics, serve
from lanista.live.learner.settings import LiveSettings
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_format import read_header
from lanista.pipeline.live_run.venue import Facts, Ground, Say, Setup, Venue, started
from lanista.runs.serialise import commented, load
from lanista.text import quoted

FACTS, OLD_FACTS = "live.json", "demo.json"
"""What a folder was begun with; the second was written by `lanista live-demo` once."""
FIRST = "first.safetensors"
_LOG = "player-{number}.log"
_ENDING = 30.0
"""Seconds that a player has to finish writing after it is told to stop."""


def facts_of(venue: Venue, folder: Path, given: Mapping[str, str | int | None]) -> Facts:
    """Return what is played: as given, as the folder was begun with, or as is usual.

    Two scores would not be comparable if that changed on the way, so nothing else is taken.
    """
    saved = _saved(folder)
    facts = dict(venue.defaults)
    for name, usual in venue.defaults.items():
        value, before = given.get(name), saved.get(name, usual)
        if type(before) not in ((int,) if isinstance(usual, int) else (str, type(None))):
            raise LanistaError(
                f"{folder} says that {name} is {quoted(before)}; name another --output."
            )
        if value is not None and saved and value != before:
            raise LanistaError(
                f"--{name} is {value}, and {folder} was begun with {before}; give that, or another "
                "--output."
            )
        facts[name] = before if value is None else value
    return facts


def _saved(folder: Path) -> Facts:
    for name in (FACTS, OLD_FACTS):
        if (folder / name).is_file():
            try:
                values = json.loads((folder / name).read_text(encoding="utf-8"))
            except ValueError:
                values = None
            if not isinstance(values, dict):
                raise LanistaError(f"{folder / name} cannot be read; name another --output.")
            return values
    return {}


def refuse(venue: Venue, setup: Setup) -> None:
    """Refuse what cannot be played, and a folder of another game, before anything is made."""
    folder = PolicyFolder(setup.policy)
    pointer = folder.found()
    if pointer is not None:
        _refuse_game(venue, folder.path_of(pointer.stable), str(setup.policy), "folder")
        if setup.first is not None:
            raise LanistaError(
                f"--policy is {setup.first}, and {setup.folder} holds policies already; leave it "
                "out to go on, or give another --output."
            )
    elif setup.first is not None:
        _refuse_game(venue, policy_file(setup.first), setup.first, "policy")
    venue.refuse(setup)


def prepare(venue: Venue, setup: Setup, say: Say) -> None:
    """Publish the first policy, unless there is one."""
    folder = PolicyFolder(setup.policy)
    if folder.found() is not None:
        return
    setup.folder.mkdir(parents=True, exist_ok=True)
    write_text(setup.folder / FACTS, json.dumps(setup.facts) + "\n")
    path, about = setup.folder / FIRST, "the first policy"
    if setup.first is not None:
        # Published before it is kept: what a killed start leaves there is the game's own.
        path.unlink(missing_ok=True)
        data = policy_file(setup.first).read_bytes()
        folder.publish(folder.add(data), setup.first)
        write_bytes(path, data)
        return
    if not path.exists():
        data, about = venue.first_policy(setup, say)
        write_bytes(path, data)
    folder.publish(folder.add(path.read_bytes()), about)


def _refuse_game(venue: Venue, path: Path, word: str, what: str) -> None:
    played = read_header(path).game
    if played != venue.policy_game:
        raise LanistaError(
            f"{word} holds a policy for {played}, and this plays {venue.policy_game}; name another "
            f"{what}."
        )


def kept_settings(setup: Setup) -> LiveSettings | None:
    """Return the settings of the last start; None before the first."""
    path = setup.policy / FOLDER / SETTINGS
    return load(LiveSettings, path) if path.exists() else None


@dataclass(frozen=True)
class Until:
    """When a session is over, if nobody stops it."""

    seconds: float = float("inf")
    games: float = float("inf")
    """That took effect since it began."""


def run(
    venue: Venue,
    setup: Setup,
    settings: LiveSettings,
    until: Until,
    stop: threading.Event,
    say: Say,
    on_batch: Callable[[BackgroundLearner, Batch], None],
) -> Statistics:
    """Play and learn until it is over or `stop` is set; a player that is gone ends it too, and a
    failure of what is played on.

    All games that the players wrote are learned from then; after that the failure is raised, if
    there was one. A failure of the learner itself is raised at once.
    """
    failure = _play_and_learn(venue, setup, settings, until, stop, say, on_batch)
    # What the players wrote while they were told to stop.
    with BackgroundLearner(setup.spool, setup.policy, settings, say=say) as learner:
        statistics = serve(learner, Service(once=True, report_every=0), threading.Event())
    if failure is not None:
        raise failure
    return statistics


def _play_and_learn(
    venue: Venue,
    setup: Setup,
    settings: LiveSettings,
    until: Until,
    stop: threading.Event,
    say: Say,
    on_batch: Callable[[BackgroundLearner, Batch], None],
) -> Exception | None:
    """Return what ended it early, if anything did."""
    with (
        BackgroundLearner(
            setup.spool, setup.policy, settings, say=say, stop=stop.is_set
        ) as learner,
        started(venue, setup, say) as ground,
        playing(venue, setup, ground) as alive,
    ):
        write_text(learner.home / SETTINGS, commented(settings))
        ends, last_game = time.monotonic() + until.seconds, learner.ledger.count() + until.games
        watch = _Watch(alive, ground, ends, stop)
        threading.Thread(target=watch.run, daemon=True).start()

        def after(batch: Batch) -> None:
            on_batch(learner, batch)
            if learner.ledger.count() >= last_game:
                stop.set()

        serve(learner, Service(poll=1.0, report_every=settings.report_every), stop, after)
        watch.look()
        return watch.failure


class EndedEarlyError(LanistaError):
    """Something that a session needs has failed, and with it the session."""

    exit_code = 1


class PlayerGoneError(EndedEarlyError):
    """A player's process has ended."""


@contextmanager
def playing(venue: Venue, setup: Setup, ground: Ground) -> Iterator[Callable[[], None]]:
    """Start the players; give a function that complains if one has ended; end them at the end."""
    processes: list[subprocess.Popen[bytes]] = []
    logs = [setup.folder / _LOG.format(number=number) for number in range(setup.players)]

    def alive() -> None:
        for log, process in zip(logs, processes, strict=True):
            if process.poll() is not None:
                last = log.read_text(errors="replace").strip().splitlines()[-1:]
                raise PlayerGoneError(
                    f"A player ended with code {process.returncode}: "
                    f"{(last or ['it said nothing'])[0].rstrip('.')} (see {log})."
                )

    try:
        for number, log in enumerate(logs):
            processes.append(_start(venue, setup, ground, number, log))
        yield alive
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(
    venue: Venue, setup: Setup, ground: Ground, number: int, log: Path
) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", venue.module, "--policy", str(setup.policy),
        "--spool", str(setup.spool), "--seed", str(setup.seed + number),
        "--parent", str(os.getpid()), *venue.words(setup, number), *ground.words,
    ]  # fmt: skip
    # Networks this small are slower with several threads, and the learner needs a core too.
    one = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as file:
        # A group of its own: Ctrl-C is for the learner, which ends the players when it is done.
        return subprocess.Popen(
            command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, env=one,
            start_new_session=True,
        )  # fmt: skip


class _Watch:
    """Looks after players and ground while the learner learns."""

    def __init__(
        self, alive: Callable[[], None], ground: Ground, ends: float, stop: threading.Event
    ) -> None:
        self.alive, self.ground, self.ends, self.stop = alive, ground, ends, stop
        self.failure: Exception | None = None
        """The first that was seen."""

    def run(self) -> None:
        """Set `stop` when the time is up, or when something has failed."""
        while not self.stop.wait(0.5):
            if time.monotonic() >= self.ends:
                self.stop.set()
            self.look(self.ground.look)

    def look(self, further: Callable[[], None] = lambda: None) -> None:
        """Keep the failure, if a player or what is looked at further has failed."""
        try:
            self.alive()
            further()
        except Exception as error:  # It is raised by who waits for the session.
            self.failure = self.failure or _ended_by(error)
            self.stop.set()


def _ended_by(error: Exception) -> Exception:
    if isinstance(error, EndedEarlyError) or not isinstance(error, LanistaError | OSError):
        return error
    ours = isinstance(error, LanistaError)
    sentence = str(error) if ours else f"What the players play on has failed: {error}."
    ended = EndedEarlyError(sentence)
    ended.__cause__ = error
    return ended
