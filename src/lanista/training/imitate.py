"""Imitation from folders, or from a bot at play, to a policy file: gather, learn, judge, play.

After every epoch the run folder holds all that the next one depends on, so it can be killed
anywhere and resumed; a round of DAgger that was not learned from is played again. Knows nothing of
how its progress looks on a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import yaml

from lanista.data.demonstrations import FULL_VIEW, Demonstrations, Indices, joined
from lanista.data.gathering import gather
from lanista.errors import LanistaError, RefusedError
from lanista.evaluation.clone_strength import Strength, measure, meetings_of
from lanista.files import remove_leftovers, write_text
from lanista.games import registry
from lanista.games.contract import Spec
from lanista.learn.imitation.cloner import Cloner, judged
from lanista.learn.imitation.report import ImitationReport, report
from lanista.learn.imitation.settings import Imitation
from lanista.nets.files.policy_file import policy_bytes, save_policy
from lanista.nets.files.policy_format import IMITATES
from lanista.nets.settings import Network
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.folder import folder_of
from lanista.runs.serialise import flat
from lanista.text import printable
from lanista.training.critic_file import write_critic
from lanista.training.dagger import Rounds, rounds_of, score_of
from lanista.training.imitation_checks import checked_opponents, refuse_other, refuse_unfit
from lanista.training.imitation_numbers import as_json, config_of, json_path
from lanista.training.observers import Observer, Observers

if TYPE_CHECKING:
    from lanista.data.feedback import FeedbackSummary

CONFIG, CHECKPOINTS = "config.yaml", "checkpoints"
_KEPT = 2
FILES, DECISIONS = "files", "decisions learned"
"""What imitation counts before its matches, as its observers hear of it."""
_LEARNING = 0.8
"""The share that learning has of imitation; matches have the rest."""


@dataclass(frozen=True)
class Task:
    """All that was asked for."""

    output: Path
    data_dir: Path | None = None
    feedback_dir: Path | None = None
    reports_live_dir: Path | None = None
    players: tuple[str, ...] = ()
    """Only these players' decisions are imitated; none: all."""
    irrelevant: tuple[str, ...] = ()
    """HEAD:OTHER=CHOICE each: where OTHER took CHOICE, what HEAD took is not learned."""
    network: Network = field(default_factory=Network)
    imitation: Imitation = field(default_factory=Imitation)
    game: str | None = None
    game_settings: Mapping[str, Any] = field(default_factory=dict)
    """What the game is made with where nothing is recorded."""
    opponents: tuple[str, ...] = ()
    """Bots that the clone meets beside those it imitates; `all`: every bot of the game."""
    evaluation_matches: int = 2000
    temperature: float | None = None
    """Play also at this temperature, beside sampled and greedy."""
    threads: int = 0
    device: str = "auto"
    """cpu, cuda, or auto: a GPU where there is one."""

    @property
    def updates(self) -> int:
        """How many epochs there are at most."""
        return self.imitation.all_epochs

    def learned_from(self) -> dict[str, Any]:
        """Return what the weights depend on; it must be the same when a run is resumed."""
        imitation = dict(flat(self.imitation))
        del imitation["mix_sources"]  # The data's digest says what was learned from.
        return {
            "imitation": imitation,
            "network": asdict(self.network),
            "players": list(self.players),
            "irrelevant": list(self.irrelevant),
            "game_settings": dict(self.game_settings),
        }


@dataclass(frozen=True)
class Imitated:
    """What came of it."""

    digest: str
    """Of the policy file."""
    epochs: int
    best_epoch: int
    history: list[dict[str, float]]
    report: ImitationReport | None
    strength: Strength | None
    interrupted: bool = False


class _Progress:
    """Counts for the observers, and interrupts the work when the user wants to stop."""

    def __init__(self, observers: Observers, stop: Callable[[], bool]) -> None:
        self.observers, self.stop = observers, stop

    def files(self, done: int, total: int) -> None:
        if done == 1:
            self.observers.work_started(total, FILES, 0.0)
        self.advance(1)

    def advance(self, more: int) -> None:
        self.observers.work_advanced(more)
        self.look()

    def look(self) -> None:
        if self.stop():
            raise KeyboardInterrupt


@dataclass(frozen=True)
class Lesson:
    """What is learned from, and what is held out."""

    data: Demonstrations
    learned: Indices
    """Trajectories."""
    held_out: Indices

    @classmethod
    def of(cls, data: Demonstrations, settings: Imitation) -> Lesson:
        return cls(data, *data.split(settings.hold_out, settings.seed))

    @property
    def decisions(self) -> int:
        return len(self.data.rows(self.learned))


def imitate(
    task: Task,
    *,
    resume: bool = False,
    stop: Callable[[], bool] | None = None,
    observers: Sequence[Observer] = (),
) -> Imitated:
    """Do the whole task; an interrupt or `stop()` ends it early with what the best epoch gave."""
    progress = _Progress(Observers(observers), stop or (lambda: False))
    refuse_unfit(task, resume)
    if task.threads:
        torch.set_num_threads(task.threads)
    work = _Work(task, progress, resume)
    cloner = work.cloner
    with progress.observers.during(task, cloner.epoch):
        interrupted = work.learn()
        digest = work.save()
        judgement = strength = None
        if not interrupted:
            try:
                judgement, strength = work.judge(), work.play()
            except KeyboardInterrupt:
                interrupted = True
    done = Imitated(
        digest, cloner.epoch, cloner.best_epoch, cloner.history, judgement, strength, interrupted
    )
    write_text(json_path(task.output), as_json(task, work.lesson, work.feedback, done))
    return done


class _Work:
    """A task under way: what is learned from, who learns, and what is kept of it."""

    def __init__(self, task: Task, progress: _Progress, resume: bool) -> None:
        self.task, self.progress = task, progress
        self.folder = folder_of(task.output)
        self.checkpoints = Checkpoints(self.folder / CHECKPOINTS)
        recorded, self.feedback = _recorded(task, progress)
        for notice in self.feedback.notices if self.feedback else ():
            progress.observers.message(notice)
        if recorded is None:
            assert task.game is not None
            spec = registry.spec_of(task.game, **task.game_settings)
        else:
            spec = recorded.spec
        self.game = task.game or spec.name
        self.opponents = checked_opponents(task, self.game, spec)
        self.rounds: Rounds | None = None
        if recorded is None or task.imitation.dagger.rounds:
            self.rounds = rounds_of(task.imitation, self.game, spec, self.folder, recorded)
        self.cloner = self._cloner(spec)
        data = recorded or self._played_by_teacher(resume)
        self._leave_out(data)
        self.digests = [data.digest()]
        """Of the demonstrations there were at first, and of each round since."""
        self.lesson = Lesson.of(data, task.imitation)
        # What could not be saved at the end is refused now.
        policy_bytes(self.cloner.policy, spec, **self._about())
        if resume:
            self._resume()
        else:
            write_text(self.folder / CONFIG, yaml.safe_dump(config_of(task), sort_keys=False))
            if recorded is None:
                self._rounds.save(0, data)
            self._save_checkpoint()
        self._say_lesson()

    def learn(self) -> bool:
        """Learn to the end; return whether that was interrupted, with at least an epoch learned."""
        cloner = self.cloner
        try:
            while not cloner.finished:
                if cloner.round_finished:
                    self._next_round()
                self._epoch()
                self.progress.look()
        except KeyboardInterrupt:
            if not cloner.best_epoch:
                raise  # Nothing was learned; the run folder is there to be resumed.
            return True
        return False

    def save(self) -> str:
        """Write the best policy to the output and its critic beside it; return the digest."""
        policy, critic = self.cloner.best()
        output, spec, step = self.task.output, self.lesson.data.spec, self.cloner.best_epoch
        digest = save_policy(output, policy, spec, step=step, **self._about())
        if critic is not None:
            gamma = self.task.imitation.gamma
            write_critic(self.folder, critic, "features", digest, gamma)
        return digest

    def judge(self) -> ImitationReport:
        """Return how near the clone comes on what was held out."""
        lesson, settings = self.lesson, self.task.imitation
        policy, critic = self.cloner.best()
        shown = judged(policy, critic, lesson.data, lesson.held_out, settings.gamma)
        kind = None if critic is None else settings.critic
        return report(lesson.data, lesson.learned, shown, critic=kind, gamma=settings.gamma)

    def play(self) -> Strength | None:
        """Return how strong the clone plays; None: no matches were asked for."""
        task, data = self.task, self.lesson.data
        if not task.evaluation_matches:
            return None
        meetings = meetings_of(data, self.game, self.opponents, task.temperature)
        self.progress.observers.work_started(meetings * task.evaluation_matches, "matches")
        return measure(
            task.output,
            data,
            game=self.game,
            matches=task.evaluation_matches,
            opponents=self.opponents,
            temperature=task.temperature,
            progress=self.progress.advance,
        )

    def _cloner(self, spec: Spec) -> Cloner:
        device = self.task.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        return Cloner(spec, self.task.network, self.task.imitation, device=device)

    @property
    def _rounds(self) -> Rounds:
        assert self.rounds is not None
        return self.rounds

    def _played_by_teacher(self, resume: bool) -> Demonstrations:
        return self._rounds.load(0) if resume else self._rounds.play(0, self.cloner.policy)

    def _leave_out(self, data: Demonstrations) -> None:
        data.leave_out_idle()
        for condition in self.task.irrelevant:
            data.leave_out(condition)

    def _epoch(self) -> None:
        """Learn from all demonstrations once."""
        cloner, lesson, observers = self.cloner, self.lesson, self.progress.observers
        entry = cloner.train_epoch(
            lesson.data, lesson.learned, lesson.held_out, self.progress.advance
        )
        self._save_checkpoint()
        observers.updated(cloner.epoch, {**entry, "best_epoch": cloner.best_epoch})
        observers.work_at((cloner.epoch - cloner.round_began) * lesson.decisions)

    def _next_round(self) -> None:
        """Let the clone play, and learn from what its teacher says of that too."""
        number, rounds = self.cloner.round + 1, self._rounds
        data = rounds.play(number, self.cloner.best()[0])
        rounds.save(number, data)
        self.progress.observers.message(
            f"round {number} of {rounds.settings.rounds}: {rounds.teacher} labelled {len(data):,} "
            f"decisions of {data.matches:,} matches, in which the clone, {rounds.teacher} in its "
            f"place with chance {rounds.settings.beta**number:.2g}, scored {score_of(data):.3f}"
        )
        self._add(data)
        self.cloner.begin_round()
        self._say_lesson()

    def _add(self, data: Demonstrations) -> None:
        self.digests.append(data.digest())
        self._leave_out(data)
        self.lesson = Lesson.of(joined(self.lesson.data, data), self.task.imitation)

    def _say_lesson(self) -> None:
        """Tell the observers what the round learns from, and how much work that is."""
        observers, lesson, cloner = self.progress.observers, self.lesson, self.cloner
        settings = self.task.imitation
        observers.gathered(lesson.data, lesson.learned, lesson.held_out)
        upto = settings.epochs_before(cloner.round + 1) / settings.all_epochs
        planned = settings.epochs_before(cloner.round + 1) - settings.epochs_before(cloner.round)
        share = _LEARNING if self.task.evaluation_matches else 1.0
        observers.work_started(planned * lesson.decisions, DECISIONS, upto * share)
        if cloner.epoch > cloner.round_began:
            observers.work_at((cloner.epoch - cloner.round_began) * lesson.decisions)

    def _resume(self) -> None:
        """Go on from the newest good checkpoint."""
        self.checkpoints.remove_leftovers()
        remove_leftovers(self.folder)
        _, state, notices = self.checkpoints.newest_good()
        first, *digests = state["data"] if isinstance(state["data"], list) else [state["data"]]
        refuse_other(self.task, self.digests[0], first, state["learned_from"])
        self.cloner.load_state(state["cloner"])
        for number, digest in enumerate(digests, start=1):
            data = self._rounds.load(number)
            if data.digest() != digest:
                raise RefusedError(
                    f"Round {number} in {self.folder} is not the one that the clone learned from; "
                    "begin again with another --output."
                )
            self._add(data)
        for sentence in notices:
            self.progress.observers.message(sentence)

    def _save_checkpoint(self) -> None:
        learned_from = self.task.learned_from()
        state = {"cloner": self.cloner.state(), "learned_from": learned_from, "data": self.digests}
        self.checkpoints.save(self.cloner.epoch, state)
        self.checkpoints.keep(_KEPT, 0)

    def _about(self) -> dict[str, Any]:
        """Return what the policy file says of its origin; names of players can hold anything."""
        data = self.lesson.data
        names = dict.fromkeys(printable(teacher.name) for teacher in data.teachers)
        # What the players themselves saw is the rule and needs no word.
        seen_by = {} if data.sources == (FULL_VIEW,) else {"sources": ",".join(data.sources)}
        extra = {IMITATES: ",".join(names)[:200], "data": self.digests[0]} | seen_by
        return {"name": self.task.output.stem, "extra": extra}


def _recorded(
    task: Task, progress: _Progress
) -> tuple[Demonstrations | None, FeedbackSummary | None]:
    """Return the recorded decisions, and what the feedback was; None: the teacher is to play."""
    if task.data_dir is None and task.feedback_dir is None:
        if task.imitation.dagger.teacher is None or task.game is None:
            raise LanistaError(
                "There is nothing to imitate; give --data-dir or --feedback-dir, or --game and "
                "--teacher for a bot that plays."
            )
        return None, None
    if task.game_settings:
        raise LanistaError(
            "--set is for a game that the teacher plays, and recorded matches bring their "
            "settings along; leave one of them out."
        )
    return gather(
        task.data_dir,
        task.feedback_dir,
        task.reports_live_dir,
        players=task.players,
        game=task.game,
        mix_sources=task.imitation.mix_sources,
        progress=progress.files,
    )
