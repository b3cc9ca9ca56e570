"""Imitation from folders to a policy file: gather, learn, judge, play.

After every epoch the run folder holds all that the next one depends on, so it can be killed
anywhere and resumed. Knows nothing of how its progress looks on a screen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import yaml

from lanista.data.demonstrations import FULL_VIEW, OUTCOMES, UNKNOWN, Demonstrations, Indices
from lanista.data.gathering import gather
from lanista.errors import ChangedSettingError, LanistaError, RefusedError
from lanista.evaluation.clone_strength import Strength, measure, meetings_of
from lanista.files import remove_leftovers, write_text
from lanista.games import registry
from lanista.learn.imitation.cloner import Cloner, judged
from lanista.learn.imitation.report import ImitationReport, report
from lanista.learn.imitation.settings import Imitation
from lanista.nets.policy_file import policy_bytes, save_policy
from lanista.nets.settings import Network
from lanista.rollout.inference.actor import refuse_temperature
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.folder import folder_of
from lanista.text import printable
from lanista.training.critic_file import write_critic
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
        return self.imitation.epochs

    def learned_from(self) -> dict[str, Any]:
        """Return what the weights depend on; it must be the same when a run is resumed."""
        imitation = asdict(self.imitation)
        del imitation["mix_sources"]  # The data's digest says what was learned from.
        return {
            "imitation": imitation,
            "network": asdict(self.network),
            "players": list(self.players),
            "irrelevant": list(self.irrelevant),
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


def imitate(
    task: Task,
    *,
    resume: bool = False,
    stop: Callable[[], bool] | None = None,
    observers: Sequence[Observer] = (),
) -> Imitated:
    """Do the whole task; an interrupt or `stop()` ends it early with what the best epoch gave."""
    progress = _Progress(Observers(observers), stop or (lambda: False))
    _refuse_unfit(task, resume)
    if task.threads:
        torch.set_num_threads(task.threads)
    data, feedback = gather(
        task.data_dir,
        task.feedback_dir,
        task.reports_live_dir,
        players=task.players,
        game=task.game,
        mix_sources=task.imitation.mix_sources,
        progress=progress.files,
    )
    for condition in task.irrelevant:
        data.leave_out(condition)
    opponents = _opponents(task, data)
    learned, held_out = data.split(task.imitation.hold_out, task.imitation.seed)
    observed = progress.observers
    observed.gathered(data, learned, held_out)
    decisions = len(data.rows(learned))
    share = _LEARNING if task.evaluation_matches else 1.0
    observed.work_started(task.updates * decisions, DECISIONS, share)
    cloner, checkpoints = _begin(task, data, resume, observed)
    with observed.during(task, cloner.epoch):
        if resume:
            observed.work_at(cloner.epoch * decisions)
        interrupted = _learn(cloner, data, learned, held_out, checkpoints, task, progress)
        digest = _save(task, cloner, data)
        judgement = strength = None
        if not interrupted:
            try:
                policy, critic = cloner.best()
                shown = judged(policy, critic, data, held_out)
                judgement = report(data, learned, shown, value=critic is not None)
                if task.evaluation_matches:
                    strength = _play(task, data, opponents, progress)
            except KeyboardInterrupt:
                interrupted = True
    done = Imitated(
        digest, cloner.epoch, cloner.best_epoch, cloner.history, judgement, strength, interrupted
    )
    write_text(json_path(task.output), _as_json(task, data, feedback, learned, held_out, done))
    return done


def json_path(output: Path) -> Path:
    """Return where the numbers go: beside the policy file."""
    return output.with_name(f"{output.name}.json")


def _refuse_unfit(task: Task, resume: bool) -> None:
    if task.temperature is not None:
        refuse_temperature(task.temperature)
    folder = folder_of(task.output)
    if resume:
        if not folder.is_dir():
            raise LanistaError(
                f"There is no run {folder} to resume; leave out --resume to begin it."
            )
        return
    if folder.exists():
        raise RefusedError(
            f"There is a run at {folder} already; resume it with --resume, or choose another "
            "--output."
        )
    if task.output.exists():
        raise RefusedError(f"{task.output} exists; choose another --output or move it away.")


def _opponents(task: Task, data: Demonstrations) -> tuple[str, ...]:
    """Return the opponents, refusing unknown ones before any work is done."""
    game = task.game or data.spec.name
    if task.opponents == ("all",):
        return tuple(registry.bot_names(registry.entry(game)))
    for name in task.opponents:
        registry.make_bot(game, name, data.spec)
    return task.opponents


def _begin(
    task: Task, data: Demonstrations, resume: bool, observers: Observers
) -> tuple[Cloner, Checkpoints]:
    """Return the cloner, fresh or as the newest checkpoint has it."""
    folder = folder_of(task.output)
    checkpoints = Checkpoints(folder / CHECKPOINTS)
    device = task.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    cloner = Cloner(data.spec, task.network, task.imitation, device=device)
    # What could not be saved at the end is refused now.
    policy_bytes(cloner.policy, data.spec, **_about(task, data))
    if resume:
        checkpoints.remove_leftovers()
        remove_leftovers(folder)
        _, state, notices = checkpoints.newest_good()
        _refuse_other(task, data, state)
        cloner.load_state(state["cloner"])
        for sentence in notices:
            observers.message(sentence)
        return cloner, checkpoints
    write_text(folder / CONFIG, yaml.safe_dump(_config(task), sort_keys=False))
    _save_checkpoint(checkpoints, cloner, task, data.digest())
    return cloner, checkpoints


def _refuse_other(task: Task, data: Demonstrations, state: Mapping[str, Any]) -> None:
    for section, now in task.learned_from().items():
        was = state["learned_from"].get(section)  # Absent in runs of an older version.
        if isinstance(now, dict) and isinstance(was, dict):
            for name, value in now.items():
                if was.get(name) != value:
                    key = f"{section}.{name}"
                    raise ChangedSettingError("the run", key, was.get(name), value)
        elif was != now:
            raise ChangedSettingError("the run", section, was, now)
    if state["data"] != data.digest():
        raise RefusedError(
            "The demonstrations are not those that the run was begun with; give the same folders, "
            "or choose another --output."
        )


def _learn(
    cloner: Cloner,
    data: Demonstrations,
    learned: Indices,
    held_out: Indices,
    checkpoints: Checkpoints,
    task: Task,
    progress: _Progress,
) -> bool:
    """Learn to the end; return whether that was interrupted, with at least an epoch learned."""
    decisions, digest = len(data.rows(learned)), data.digest()
    try:
        while not cloner.finished:
            entry = cloner.train_epoch(data, learned, held_out, progress.advance)
            _save_checkpoint(checkpoints, cloner, task, digest)
            values = {**entry, "best_epoch": cloner.best_epoch}
            progress.observers.updated(cloner.epoch, values)
            progress.observers.work_at(cloner.epoch * decisions)
            progress.look()
    except KeyboardInterrupt:
        if not cloner.best_epoch:
            raise  # Nothing was learned; the run folder is there to be resumed.
        return True
    return False


def _save_checkpoint(checkpoints: Checkpoints, cloner: Cloner, task: Task, digest: str) -> None:
    state = {"cloner": cloner.state(), "learned_from": task.learned_from(), "data": digest}
    checkpoints.save(cloner.epoch, state)
    checkpoints.keep(_KEPT, 0)


def _save(task: Task, cloner: Cloner, data: Demonstrations) -> str:
    """Write the best policy to the output and its critic beside it; return the digest."""
    policy, critic = cloner.best()
    about = _about(task, data)
    digest = save_policy(task.output, policy, data.spec, step=cloner.best_epoch, **about)
    if critic is not None:
        write_critic(folder_of(task.output), critic, "features", digest)
    return digest


def _about(task: Task, data: Demonstrations) -> dict[str, Any]:
    """Return what the policy file says of its origin; names of players can hold anything."""
    names = dict.fromkeys(printable(teacher.name) for teacher in data.teachers)
    # What the players themselves saw is the rule and needs no word.
    seen_by = {} if data.sources == (FULL_VIEW,) else {"sources": ",".join(data.sources)}
    extra = {"imitates": ",".join(names)[:200], "data": data.digest()} | seen_by
    return {"name": task.output.stem, "extra": extra}


def _play(
    task: Task, data: Demonstrations, opponents: tuple[str, ...], progress: _Progress
) -> Strength:
    game = task.game or data.spec.name
    meetings = meetings_of(data, game, opponents, task.temperature)
    progress.observers.work_started(meetings * task.evaluation_matches, "matches")
    return measure(
        task.output,
        data,
        game=game,
        matches=task.evaluation_matches,
        opponents=opponents,
        temperature=task.temperature,
        progress=progress.advance,
    )


def _config(task: Task) -> dict[str, Any]:
    plain = asdict(task)
    for name, value in plain.items():
        if isinstance(value, Path):
            plain[name] = str(value)
        elif isinstance(value, tuple):
            plain[name] = list(value)
    return plain


def _as_json(
    task: Task,
    data: Demonstrations,
    feedback: FeedbackSummary | None,
    learned: Indices,
    held_out: Indices,
    done: Imitated,
) -> str:
    outcomes = {
        name: int((data.outcome == number).sum()) for number, name in enumerate(OUTCOMES)
    } | {"unknown": int((data.outcome == UNKNOWN).sum())}
    value = {
        "policy": {"file": str(task.output), "digest": done.digest},
        "interrupted": done.interrupted,
        "settings": _config(task),
        "game": {
            "name": data.spec.name,
            "settings": dict(data.spec.settings),
            "rules_version": data.spec.facts.rules_version,
            "observation_version": data.spec.facts.observation_version,
        },
        "data": {
            "digest": data.digest(),
            "decisions": len(data),
            "matches": data.matches,
            "trajectories": data.trajectories,
            "learned_decisions": len(data.rows(learned)),
            "held_out_decisions": len(data.rows(held_out)),
            "outcomes": outcomes,
            "sources": list(data.sources),
            "teachers": [asdict(teacher) for teacher in data.teachers],
            "extras": sorted(data.extras),
            "feedback": None if feedback is None else feedback.as_json(),
        },
        "epochs": done.epochs,
        "best_epoch": done.best_epoch,
        "history": done.history,
        "held_out": None if done.report is None else _judgement(done.report),
        "strength": None if done.strength is None else asdict(done.strength),
    }
    return json.dumps(value, indent=2, default=str) + "\n"


def _judgement(judgement: ImitationReport) -> dict[str, Any]:
    plain = asdict(judgement)
    for entry, head in zip(plain["heads"], judgement.heads, strict=True):
        entry["gain"] = head.gain
    return plain
