"""`lanista profile`: where a recipe's time goes, and with --sweep, settings that are faster."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from lanista.cli.common.flags import RECIPES, number, optional, switch
from lanista.cli.common.outputs import Writes, numbers_of, write_json
from lanista.errors import LanistaError
from lanista.interrupt import interrupted_once
from lanista.nets.export_kinds import NEW

if TYPE_CHECKING:
    from lanista.profile.measure import Profile
    from lanista.profile.subject import Subject
    from lanista.profile.sweep import Meter, Sweep, Trial

SET = tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="(repeatable)")
SECONDS = tyro.conf.arg(metavar="N", help_behavior_hint="(default: 2)")
REPEATS = 5


@dataclass(frozen=True)
class ProfileCommand:
    """Say where a recipe's time goes, and what can be done about it.

    Runs it in a temporary folder, for some seconds at a time: nothing of yours is touched. With
    --sweep it tries changes one at a time, each against the settings before in turns, and keeps
    those that are faster outside the noise: by decisions a second, and where the recipe names a
    mark, by the time to it for changes with which something else is learned."""

    recipe: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECIPE"), RECIPES]
    """A recipe's name, a settings file or a folder; of a pipeline, its stage that learns."""
    sweep: Annotated[bool, switch()] = False
    """Look for settings that are faster."""
    keep_learning: Annotated[bool, switch()] = False
    """Try only what leaves the learning the same: no other batches, precision or lag."""
    output: Annotated[Path | None, optional("FILE"), Writes(numbers_of("profile"))] = None
    """Write all that was measured there, as JSON."""
    write_config: Annotated[Path | None, optional("FILE"), Writes(NEW)] = None
    """Write the settings found there, then measure them again from that file."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting, such as rollouts.matches=512; of a pipeline also stages.rl.rollouts.matches."""
    stage: Annotated[Literal["rl", "league"] | None, optional("{rl,league}")] = None
    """Which stage of a pipeline; rl if it has one, unless given."""
    seconds: Annotated[float, SECONDS] = 2.0
    """How long a repeat takes, about."""
    repeats: Annotated[int, number(REPEATS)] = REPEATS
    """How often it is measured, and how many pairs decide about a change."""

    def run(self) -> int:
        """Measure, print and write what was found; return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.main import INTERRUPTED
        from lanista.profile.subject import subject_of

        self._refuse()
        for flag, file in (("--output", self.output), ("--write-config", self.write_config)):
            if file is not None:
                refuse_unwritable(flag, file)
        overrides = [text for group in self.settings for text in group]
        work = _Work(self, subject_of(self.recipe, overrides, self.stage))
        code = 0
        with interrupted_once():
            try:
                with work.screen:
                    work.go()
            except KeyboardInterrupt:
                code = INTERRUPTED
            work.tell(interrupted=bool(code))
        return code

    def _refuse(self) -> None:
        from lanista.profile.noise import FEWEST_PAIRS

        if not 0 < self.seconds <= 3600:
            raise LanistaError(
                f"--seconds is {self.seconds:g}; give a number above 0, at most 3600."
            )
        if self.repeats < 1:
            raise LanistaError(f"--repeats is {self.repeats}; give at least 1.")
        if self.sweep and self.repeats < FEWEST_PAIRS:
            raise LanistaError(
                f"--repeats is {self.repeats}, and a sweep decides by {FEWEST_PAIRS} pairs or "
                "more; give at least that, and fewer --seconds if it takes too long."
            )
        if self.keep_learning and not self.sweep:
            raise LanistaError("--keep-learning says what a sweep tries; give --sweep too.")
        if self.write_config is not None and not self.sweep:
            raise LanistaError("--write-config writes what a sweep finds; give --sweep too.")


class _Work:
    """A profile on its way."""

    def __init__(self, command: ProfileCommand, subject: Subject) -> None:
        from lanista.profile.machine import machine

        self.command, self.subject = command, subject
        self.machine = machine()
        self.screen = _Screen()
        self.notices = list(subject.notices)
        self.profile: Profile | None = None
        self.sweep: Sweep | None = None
        self.written = False

    def go(self) -> None:
        from lanista.profile.measure import profile

        command, subject, screen = self.command, self.subject, self.screen
        for sentence in self.notices:
            screen.say(sentence)
        screen.begin("profile", command.repeats)
        into: list[Profile] = []
        try:
            profile(
                subject, command.seconds, command.repeats, say=self._say, lap=screen.measured,
                into=into,
            )  # fmt: skip
        finally:
            self.profile = into[0] if into and into[0].laps else None
        assert self.profile is not None
        if command.sweep:
            self._search(self.profile.wall.phase)

    def _say(self, sentence: str) -> None:
        self.notices.append(sentence)
        self.screen.say(sentence)

    def _search(self, wall: str) -> None:
        from lanista.games import registry
        from lanista.profile.changes import Place, order_of
        from lanista.profile.machine import has_bf16
        from lanista.profile.sweep import RigMeter, Sweep, Watcher

        command, settings, screen = self.command, self.subject.settings, self.screen

        class Watching(Watcher):
            def trying(self, trial_name: str) -> None:
                screen.begin(trial_name, 2 * command.repeats)

            def tried(self, trial: Trial) -> None:
                screen.tried(trial)

        assert self.profile is not None
        spec = registry.spec_of(settings.game, seed=settings.seed, **settings.game_settings)
        device = self.profile.device
        place = Place(self.machine["cores"], spec.seats, device, has_bf16(device))
        meter = RigMeter(self.subject, command.seconds, command.repeats, screen.measured)
        to_mark = self._to_mark(device)
        sweep = Sweep(settings, meter, place, to_mark, command.keep_learning, Watching())
        self.sweep = sweep
        sweep.search(order_of(wall))
        sweep.confirm()
        if command.write_config is not None:
            self._write(sweep, command.write_config)

    def _to_mark(self, device: str) -> Meter | None:
        """Return what times the way to the recipe's mark, if it names one that is asked for."""
        from lanista.profile.time_to_mark import MarkMeter

        command, settings, screen = self.command, self.subject.settings, self.screen
        if settings.mark is None or command.keep_learning:
            return None
        meter = MarkMeter(self.subject, device, command.repeats, screen.measured)
        screen.begin(f"the way to {meter.goal.mark}", 1)
        seconds = meter.first_way()
        self._say(
            f"The recipe takes {seconds:.3g} {meter.unit}; changes with which something else is "
            "learned are judged by that."
        )
        return meter

    def _write(self, sweep: Sweep, file: Path) -> None:
        from lanista.files import write_text
        from lanista.profile.advice import config_text
        from lanista.runs.settings import load_settings

        write_text(file, config_text(self.subject, sweep, self.machine), NEW)
        self.written = True
        sweep.check(load_settings(file))

    def tell(self, *, interrupted: bool) -> None:
        """Print what was found, and write it where that was asked for."""
        from lanista.profile.advice import as_json

        if self.profile is not None:
            self._tell_profile(self.profile)
        if self.sweep is not None:
            self._tell_sweep(self.sweep)
        if interrupted:
            print("Interrupted; this is what was measured until then.", file=sys.stderr)
        command = self.command
        if command.output is not None:
            report = as_json(
                self.subject, self.machine, self.profile, self.sweep, self.notices,
                interrupted=interrupted,
            )  # fmt: skip
            write_json(command.output, "profile", report, ensure_ascii=False)
            print(f"numbers: {command.output}")
        if command.write_config is not None and not self.written:
            print(f"{command.write_config} was not written.", file=sys.stderr)

    def _tell_profile(self, profile: Profile) -> None:
        from lanista.cli.common.table import console, table
        from lanista.profile.advice import (
            phase_rows,
            profile_lines,
            remedy,
            wall_sentence,
        )
        from lanista.profile.machine import idle
        from lanista.profile.sweep import loaded

        settings, out = self.subject.settings, console()
        columns = ("phase", "what", "of the time", "of the CPU")
        out.print(table(columns, phase_rows(profile, settings.game), left=2))
        for line in profile_lines(profile, self.machine["cores"], self.command.seconds):
            out.print(line)
        if doubt := loaded(settings, idle(profile.others)):
            out.print(f"The machine is busy with something else ({doubt}): the rate is doubtful.")
        out.print(wall_sentence(profile.wall, settings.game))
        out.print(remedy(profile.wall, profile.gpu))

    def _tell_sweep(self, sweep: Sweep) -> None:
        from lanista.cli.common.table import console, table
        from lanista.profile.advice import (
            as_flags,
            changed_lines,
            outcome_sentence,
            promised,
            trial_row,
        )

        out = console()
        columns = ("change", "verdict", "other learning", "remark", "times as fast", "pairs")
        out.print(table(columns, [trial_row(trial) for trial in sweep.trials], left=4))
        if any(trial.faster and trial.why for trial in sweep.trials):
            out.print("Where cores were missing, others used them: what is not faster may yet be.")
        if sweep.taken_back:
            out.print(
                "All changes together are not significantly faster than the recipe: none is kept."
            )
        if changed := changed_lines(sweep.first, sweep.now):
            out.print("\n".join(["Found:", *(f"  {line}" for line in changed)]))
            out.print(f"On the command line: --set {as_flags(self.subject, sweep)}")
        if sweep.promise is not None:
            out.print(f"Expected: {promised(sweep.promise)}.")
        if self.written:
            out.print(f"settings: {self.command.write_config}")
        if sweep.outcome is not None:
            out.print(f"Measured again from that file: {outcome_sentence(sweep.outcome)}.")
        if sweep.doubt:
            out.print(f"The machine was busy with something else ({sweep.doubt}); do it again.")


class _Screen:
    """Shows on standard error how far it is."""

    def __init__(self) -> None:
        self._bar = ExitStack()

    def __enter__(self) -> _Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def begin(self, label: str, laps: int) -> None:
        from lanista.cli.common.progress import progress_of

        self._bar.close()
        self._paced = self._bar.enter_context(progress_of(laps, label))

    def measured(self) -> None:
        self._paced(1)

    def tried(self, trial: Trial) -> None:
        from lanista.profile.advice import times

        faster = f"{times(trial.faster)} times as fast, " if trial.faster else ""
        self.say(f"{', '.join(trial.change.overrides)}: {faster}{trial.verdict}")

    def say(self, sentence: str) -> None:
        self._bar.close()
        print(sentence, file=sys.stderr, flush=True)
