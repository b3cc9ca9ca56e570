"""`lanista imitate`: a policy that plays as recorded players did, and how near it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import CLUSTER, GAMES, SETTINGS, number, optional, switch
from lanista.cli.common.outputs import RunFile, Writes
from lanista.cli.train.tracker_flags import TensorBoardFolder, WandbProject
from lanista.errors import LanistaError
from lanista.learn.imitation.settings import Dagger, Imitation
from lanista.nets.settings import Network, Size
from lanista.text import printable

if TYPE_CHECKING:
    from lanista.data.demonstrations import Demonstrations, Indices
    from lanista.runs.settings import RunSettings
    from lanista.training.imitate import Task


@dataclass(frozen=True)
class ImitationFlags(Imitation):
    """The same settings, without the rounds of DAgger: their flags are named here."""

    dagger: Annotated[Dagger, tyro.conf.Suppress] = field(default_factory=Dagger)


@dataclass(frozen=True)
class Imitate:
    """Learn from replays, live feedback or a bot that teaches to play as they do, and say how near
    it comes."""

    output: Annotated[Path, tyro.conf.arg(metavar="FILE"), Writes(RunFile(numbers=True))]
    """Where the policy goes; its numbers are FILE.json, its run folder FILE.run."""
    data_dir: Annotated[Path | None, optional("FOLDER")] = None
    """Replays, as `lanista play --record` writes them."""
    feedback_dir: Annotated[Path | None, optional("FOLDER")] = None
    """Live feedback: folders with feedback_stream.jsonl."""
    reports_live_dir: Annotated[Path | None, optional("FOLDER")] = None
    """Outcomes of live matches: folders with manifest.jsonl."""
    player: Annotated[str | None, optional("A,B")] = None
    """Imitate only these players, with commas between; all unless given."""
    irrelevant: Annotated[str | None, optional("HEAD:OTHER=CHOICE,...")] = None
    """Leave HEAD out of decisions in which head OTHER took CHOICE: aim_x:fire=hold, say."""
    imitation: tyro.conf.OmitArgPrefixes[ImitationFlags] = field(default_factory=ImitationFlags)
    teacher: Annotated[str | None, optional("BOT")] = None
    """A bot to imitate by asking it. It labels what the clone meets (--dagger-rounds); without
    recorded matches it plays the first ones itself."""
    dagger_rounds: Annotated[int, number(0)] = 0
    """DAgger: rounds in which the clone plays, the teacher says what it would have done at each of
    its decisions, and all decisions so far are learned from."""
    dagger_matches: Annotated[int, number(256)] = 256
    """DAgger: matches of a round."""
    dagger_beta: float = 0.5
    """DAgger: chance that the teacher decides in the clone's place in the first round; beta² in the
    second, and so on."""
    dagger_opponents: Annotated[str | None, optional("A,B")] = None
    """DAgger: bots that the clone plays against, with commas between, `self` for itself; the
    teacher unless given."""
    dagger_epochs: Annotated[int, number(2)] = 2
    """DAgger: how often a round goes over all decisions so far."""
    size: Annotated[Size | None, optional("{s,m,l,xl}")] = None
    """The network's size; the same as --network.size."""
    network: Network = field(default_factory=Network)
    opponents: Annotated[str | None, optional("A,B")] = None
    """Bots to meet beside those imitated, with commas between, or `all`."""
    evaluation_matches: Annotated[int, number(2000)] = 2000
    """Matches against each bot, half in either seat; 0: none."""
    temperature: Annotated[float | None, optional("T")] = None
    """Play at this temperature too, beside sampled and greedy: below 1 the clone is surer."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """The game that a teacher plays where nothing is recorded, or that of replays which were
    recorded from a Python file, as `examples/my_game.py`."""
    settings: Annotated[tuple[tuple[str, ...], ...], SETTINGS, tyro.conf.UseAppendAction] = ()
    """Settings of the game that a teacher plays. See `lanista games`."""
    threads: Annotated[int, number(0)] = 0
    """Threads of the networks' arithmetic; 0: as many as torch takes."""
    cpu: Annotated[bool, switch()] = False
    """Do not use a GPU."""
    cluster: Annotated[str | None, CLUSTER] = None
    """Play recorded matches again in tasks, a file each: in processes of this machine (local), or
    on the machines of a Ray cluster (auto is that of this machine); see docs/guides/cluster.md.
    Changes no number."""
    tensorboard: TensorBoardFolder = None
    """Mirror the numbers there for TensorBoard."""
    wandb: WandbProject = None
    """Mirror the numbers to a project of Weights & Biases (WANDB_MODE=offline works too)."""
    resume: Annotated[bool, switch()] = False
    """Go on after the last epoch that was saved; give the same flags as before."""

    def run(self) -> int:
        """Imitate, print, and return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.main import INTERRUPTED
        from lanista.cli.train.imitate_report import say
        from lanista.cluster.session import using
        from lanista.runs.folder import folder_of
        from lanista.training.imitate import imitate
        from lanista.training.imitation_numbers import json_path
        from lanista.training.trackers import Trackers

        task = self._task()
        for file in (self.output, json_path(self.output)):
            refuse_unwritable("--output", file)
        with using(self.cluster), _screen(self.resume) as screen, self._naming():
            trackers = Trackers(self.tensorboard, self.wandb)
            observers = [screen, *trackers.of(folder_of(self.output), screen.message)]
            done = imitate(task, resume=self.resume, observers=observers)
        if done.report is not None:
            say(done)
        print(f"policy: {self.output} ({done.digest[:12]}, epoch {done.best_epoch})")
        print(f"numbers: {json_path(self.output)}")
        if done.interrupted:
            print("Interrupted, and saved; go on with --resume.")
        return INTERRUPTED if done.interrupted else 0

    def _naming(self) -> AbstractContextManager[None]:
        """Name flags where a resumed run refuses its settings."""
        from lanista.cli.common.resumed import naming_flags

        flags = {"players": "--player", "irrelevant": "--irrelevant", "game_settings": "--set"}
        for section, prefix in (("imitation", ""), ("network", "network.")):
            for name in (one.name for one in fields(getattr(self, section))):
                flags[f"{section}.{name}"] = f"--{prefix}{name.replace('_', '-')}"
        flags |= {f"imitation.dagger.{one.name}": f"--dagger-{one.name}" for one in fields(Dagger)}
        flags["imitation.dagger.teacher"] = "--teacher"
        if self.size is not None:
            flags["network.size"] = "--size"
        return naming_flags(flags)

    def _task(self) -> Task:
        from lanista.evaluation.lineup import split_names
        from lanista.training.imitate import Task

        if self.reports_live_dir is not None and self.feedback_dir is None:
            raise LanistaError(
                "--reports-live-dir tells outcomes of live feedback; give --feedback-dir too."
            )
        for name in ("evaluation_matches", "threads"):
            if getattr(self, name) < 0:
                flag = name.replace("_", "-")
                raise LanistaError(f"--{flag} is {getattr(self, name)}; give at least 0.")
        network = self.network if self.size is None else replace(self.network, size=self.size)
        return Task(
            output=self.output,
            data_dir=self.data_dir,
            feedback_dir=self.feedback_dir,
            reports_live_dir=self.reports_live_dir,
            players=tuple(split_names(self.player, "--player")) if self.player else (),
            irrelevant=tuple(split_names(self.irrelevant, "--irrelevant"))
            if self.irrelevant
            else (),
            network=network,
            imitation=replace(self.imitation, dagger=self._dagger()),
            game=self.game,
            game_settings=self._game_settings(),
            opponents=tuple(split_names(self.opponents, "--opponents")) if self.opponents else (),
            evaluation_matches=self.evaluation_matches,
            temperature=self.temperature,
            threads=self.threads,
            device="cpu" if self.cpu else "auto",
        )

    def _dagger(self) -> Dagger:
        from lanista.evaluation.lineup import split_names

        opponents = self.dagger_opponents
        return Dagger(
            rounds=self.dagger_rounds,
            matches=self.dagger_matches,
            teacher=self.teacher,
            beta=self.dagger_beta,
            opponents=tuple(split_names(opponents, "--dagger-opponents")) if opponents else (),
            epochs=self.dagger_epochs,
        )

    def _game_settings(self) -> dict[str, Any]:
        from lanista.evaluation.lineup import game_settings

        words = [word for group in self.settings for word in group]
        if not words:
            return {}
        if self.game is None:
            raise LanistaError(f"--set {words[0]} is a setting of a game; name it with --game.")
        return game_settings(self.game, words)


def _screen(resume: bool) -> Any:
    """Return an observer that shows bars and one line an epoch."""
    from lanista.cli.common.progress import progress_of
    from lanista.training.imitate import DECISIONS
    from lanista.training.observers import Observer

    class Screen(Observer):
        def __init__(self) -> None:
            self._bars = ExitStack()
            self._bar: Callable[[int], None] | None = None
            self._began = time.monotonic()
            self._epoch, self._decisions = 0, 0

        def __enter__(self) -> Screen:
            return self

        def __exit__(self, *_: object) -> None:
            self._close()

        def _open(self, total: int, label: str) -> None:
            self._close()
            self._bar = self._bars.enter_context(progress_of(total, label))

        def _close(self) -> None:
            self._bars.close()
            self._bar = None

        def gathered(self, data: Demonstrations, learned: Indices, held_out: Indices) -> None:
            self._close()
            self._decisions = len(data.rows(learned))
            teachers = dict.fromkeys(teacher.name for teacher in data.teachers)
            names = ", ".join(printable(name, 40) for name in teachers)
            print(
                f"{data.spec.name}: {len(data):,} decisions of {names} in {data.matches:,} "
                f"matches; {len(data.rows(held_out)):,} of them, whole deals, are held out",
                flush=True,
            )

        def message(self, sentence: str) -> None:
            print(sentence)

        def started(self, settings: RunSettings | Task, update: int) -> None:
            if resume:
                print(f"resumed after epoch {update}", flush=True)
            self._epoch, self._began = update, time.monotonic()

        def updated(self, update: int, values: Mapping[str, float]) -> None:
            self._close()
            critic = ""
            if "held_out_value" in values:
                critic = f", critic {values['held_out_value']:.4f}"
            best = " (best)" if values["best_epoch"] == update else ""
            print(
                f"epoch {update}: nll {values['learned_nll']:.4f}, held out "
                f"{values['held_out_nll']:.4f}{critic}{best}, "
                f"{time.monotonic() - self._began:.1f} s",
                flush=True,
            )
            self._epoch, self._began = update, time.monotonic()

        def work_started(self, total: int, unit: str, upto: float = 1.0) -> None:
            if unit != DECISIONS:  # Those have a bar for each epoch, from its first batch on.
                self._open(total, unit)

        def work_advanced(self, more: int) -> None:
            if self._bar is None:
                self._open(self._decisions, f"epoch {self._epoch + 1}")
            assert self._bar is not None
            self._bar(more)

    return Screen()
