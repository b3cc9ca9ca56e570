"""`lanista learn`: makes the policy of a live bot better from the games it leaves in a spool."""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import number, optional, switch
from lanista.cli.common.outputs import POLICIES, SPOOL, Writes
from lanista.errors import LanistaError
from lanista.interrupt import say_in_handler

if TYPE_CHECKING:
    from lanista.live.learner.background_learner import BackgroundLearner
    from lanista.live.learner.settings import LiveSettings

SET = tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="(repeatable)")


@dataclass(frozen=True)
class Learn:
    """Learn in the background from the games of live bots, and publish what is better.

    Every game takes effect exactly once, whenever the learner is stopped or killed. Its book is
    POLICY/learner/learn.db, which `lanista policy list` and `lanista doctor` read."""

    spool: Annotated[Path, tyro.conf.arg(metavar="DIR"), Writes(SPOOL)]
    """The folder in which bots leave their games."""
    policy: Annotated[Path, tyro.conf.arg(metavar="DIR"), Writes(POLICIES)]
    """The folder that says which policy plays; see `lanista policy`."""
    once: Annotated[bool, switch()] = False
    """Learn from the games that are there, and end."""
    drain: Annotated[bool, switch()] = False
    """When stopped, learn from the games that wait before ending."""
    config: Annotated[Path | None, optional("FILE")] = None
    """A settings file; without it the settings of the last start, or the usual ones."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting, such as learning.lr=1e-3 or gate.every=500."""
    max_batch_files: Annotated[int | None, optional("N")] = None
    """Most games of one update; the same as batch_games (10 unless set)."""
    poll: Annotated[float, tyro.conf.arg(metavar="SECONDS")] = 5.0
    """How often to look for games where the system does not tell of new files."""
    report_every: Annotated[int | None, optional("N")] = None
    """Games between two reports on the terminal, 0 for one at the end; the same as report_every
    (5 for StarCraft II, 100 otherwise, unless set)."""
    cpu_share: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 1.0
    """Share of the time that may be spent learning, so that a game beside it is not disturbed."""
    nice: Annotated[int, number(5)] = 5
    """How far the learner's priority is lowered."""
    threads: Annotated[int, number(1)] = 1
    """Threads for the networks."""
    show_settings: Annotated[bool, switch()] = False
    """Print the settings with a sentence on each, and end."""

    def run(self) -> int:
        """Learn until stopped."""
        self._refuse_nonsense()
        settings = self._settings()
        if self.show_settings:
            from lanista.runs.serialise import commented

            print(commented(settings), end="")
            return 0
        from lanista.live.learner.service import Service, begin, left_over, serve, step_back

        step_back(self.nice, self.threads)
        spool_exists = self.spool.exists()
        with stopping(self.drain) as stop:
            learner = begin(lambda: self._begin(settings, stop), say_on_error, stop, self.poll)
            if learner is None:
                return 0
            with learner:
                # A first try on a full disk may have made it, or this one.
                self._greet(learner, spool_exists and not learner.made_spool)
                how = Service(
                    self.once, self.poll, self.cpu_share, settings.report_every, self.drain
                )
                statistics = serve(learner, how, stop)
                for sentence in left_over(learner):
                    say_on_error(sentence)
        for line in statistics.lines():
            print(line)
        return 0

    def _begin(self, settings: LiveSettings, stop: threading.Event) -> BackgroundLearner:
        from lanista.live.learner.background_learner import BackgroundLearner

        learner = BackgroundLearner(
            self.spool, self.policy, settings, say=say_on_error, stop=stop.is_set
        )
        try:
            self._keep(settings, learner.home)
        except BaseException:
            learner.close()
            raise
        return learner

    def _greet(self, learner: BackgroundLearner, spool_exists: bool) -> None:
        """Say what is read, and where that is surprising."""
        say_on_error(f"learning from {self.spool} for {self.policy}; stop with Ctrl-C.")
        if not spool_exists:
            say_on_error(f"The spool {self.spool} is new and empty; bots must be given it too.")
        starts = learner.ledger.events("started")
        if len(starts) > 1 and starts[-2].body["spool"] != starts[-1].body["spool"]:
            say_on_error(f"The learner before read another spool: {starts[-2].body['spool']}.")

    def _refuse_nonsense(self) -> None:
        if not 0 < self.cpu_share <= 1:
            raise LanistaError(f"--cpu-share is {self.cpu_share}; give a share above 0, at most 1.")
        if not 0 < self.poll < math.inf:
            raise LanistaError(f"--poll is {self.poll}; give seconds above 0.")
        if self.threads < 1:
            raise LanistaError(f"--threads is {self.threads}; give 1 or more.")
        if self.report_every is not None and self.report_every < 0:
            raise LanistaError(f"--report-every is {self.report_every}; give 0 or more games.")
        if not 0 <= self.nice <= 19:
            raise LanistaError(f"--nice is {self.nice}; give 0 to 19.")
        if self.max_batch_files is not None and self.max_batch_files < 1:
            raise LanistaError(f"--max-batch-files is {self.max_batch_files}; give 1 or more.")

    def _settings(self) -> LiveSettings:
        """Return the settings asked for, or those of the last start."""
        from lanista.live.learner.background_learner import FOLDER, SETTINGS
        from lanista.live.learner.settings import LiveSettings
        from lanista.runs.serialise import load, overridden

        saved = self.policy / FOLDER / SETTINGS
        source = self.config or (saved if saved.is_file() else None)
        settings = self._usual() if source is None else load(LiveSettings, source)
        overrides = [text for group in self.settings for text in group]
        if self.max_batch_files is not None:
            overrides.append(f"batch_games={self.max_batch_files}")
        if self.report_every is not None:
            overrides.append(f"report_every={self.report_every}")
        return overridden(settings, overrides)

    def _usual(self) -> LiveSettings:
        """Return the usual settings for what the folder's policy plays."""
        from lanista.live.files.policy_folder import PolicyFolder
        from lanista.live.learner.settings import settings_for
        from lanista.nets.files.policy_format import read_header

        folder = PolicyFolder(self.policy)
        pointer = folder.found()
        game = "" if pointer is None else read_header(folder.path_of(pointer.stable)).game
        return settings_for(game)

    def _keep(self, settings: LiveSettings, home: Path) -> None:
        from lanista.files import write_text
        from lanista.live.learner.background_learner import SETTINGS
        from lanista.runs.serialise import commented

        write_text(home / SETTINGS, commented(settings))


def say_on_error(sentence: str) -> None:
    with suppress(OSError):  # A log on a full disk, or that nobody reads, must not end a service.
        print(sentence, file=sys.stderr, flush=True)


@contextmanager
def stopping(drain: bool = False) -> Iterator[threading.Event]:
    """Let a first interrupt finish and save the batch; a second one ends it at once.

    With `drain` somebody goes on with what waits after the first, and is told so.
    """
    stop = threading.Event()

    def caught(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        first = "Learning from the games that wait" if drain else "Stopping after this batch"
        say_in_handler(say_on_error, f"{first}, and saving; interrupt again to stop at once.")

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, caught) for number in signals]
    try:
        yield stop
    finally:
        for name, handler in zip(signals, before, strict=True):
            signal.signal(name, handler)
