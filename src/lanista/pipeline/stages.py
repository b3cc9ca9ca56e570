"""What each stage of a pipeline reads, makes and does; it runs inside the pipeline's folder.

A stage that was killed goes on where it was when it is done again. Knows nothing of which stages
are due, and of how progress looks.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanista.data.demonstrations import Demonstrations, Indices
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Game
from lanista.pipeline.checkpoint import Checkpoints
from lanista.pipeline.display import chosen, number
from lanista.pipeline.imitate import CHECKPOINTS, Task, Watcher, imitate, json_path
from lanista.pipeline.plain import SettingsError, plain
from lanista.pipeline.players import is_bot
from lanista.pipeline.run import folder_of
from lanista.pipeline.settings import RunSettings
from lanista.pipeline.story import DATA, POLICIES, Recording, Story
from lanista.pipeline.training import train
from lanista.rollout.play import Table, play
from lanista.rollout.players import policy_player
from lanista.rollout.record import Recorder, block_size
from lanista.rollout.seating import Schedule, rotations

_SLOTS = 4096
FREE = ("device", "threads", "checkpoints")
"""Settings that may change without making a stage's results other ones."""


class Onlooker:
    """Is told how far a stage is; this one looks away."""

    def begins(self, total: int, unit: str) -> None:
        """So many of something are to be done."""

    def done(self, more: int) -> None:
        """So many more of them are done."""

    def at(self, count: int, about: str = "") -> None:
        """So many of them are done in all; `about` has numbers worth a look."""

    def said(self, sentence: str) -> None:
        """Something the user should know."""


Stop = Callable[[], bool]
"""Says whether the user wants to stop."""


@dataclass(frozen=True)
class Stage:
    """One stage of a certain pipeline."""

    name: str
    settings: Mapping[str, Any]
    """What its results depend on besides files."""
    reads: tuple[str, ...]
    """Files and folders that its results depend on."""
    makes: tuple[str, ...]
    """Files and folders whose bytes are what came of it."""
    keeps: tuple[str, ...]
    """Others that belong to it, such as run folders."""
    work: Callable[[Onlooker, Stop], bool]
    """Does it, or goes on with it; False: it was stopped, with all that is complete saved."""
    grows: str = ""
    """A setting of which more means that the stage goes on from what it made."""


def stages_of(story: Story) -> list[Stage]:
    """Return the stages of a settled pipeline, in order."""
    makers = {"record": _record, "imitate": _imitate, "rl": _rl}
    return [makers[name](story) for name in story.stages.names if name in makers]


def _common(story: Story) -> dict[str, Any]:
    return {
        "game": story.game,
        "game_settings": dict(story.game_settings),
        "seed": story.seed,
    }


def _game_file(story: Story) -> tuple[str, ...]:
    return (story.game,) if story.game.endswith(".py") else ()


def _record(story: Story) -> Stage:
    asked = story.stages.record
    assert asked is not None
    settings = plain(asked)
    del settings["threads"]
    words = {word for each in asked.lineups() for word in each if Path(word).is_file()}

    def work(onlooker: Onlooker, stop: Stop) -> bool:
        return _play_all(story, asked, onlooker, stop)

    reads = (*_game_file(story), *sorted(words))
    return Stage("record", _common(story) | settings, reads, (DATA,), (), work)


def _play_all(story: Story, asked: Recording, onlooker: Onlooker, stop: Stop) -> bool:
    """Record every line-up on deals of its own; blocks that are there are not played again."""
    first, plans = 0, []
    for players in asked.lineups():
        schedule = rotations(len(players), asked.matches, first_match=first, first_deal=first)
        plans.append((players, schedule))
        first += len(schedule)
    onlooker.begins(first, "matches")
    for players, schedule in plans:
        if not _play_lineup(story, asked, players, schedule, onlooker, stop):
            return False
    return True


def _play_lineup(
    story: Story,
    asked: Recording,
    players: tuple[str, ...],
    schedule: Schedule,
    onlooker: Onlooker,
    stop: Stop,
) -> bool:
    def ended(matches: int) -> None:
        onlooker.done(matches)
        if stop():
            raise KeyboardInterrupt

    threads = asked.threads or os.cpu_count() or 1
    tables = [_table(story, players, min(len(schedule), _SLOTS)) for _ in range(threads)]
    try:
        recorder = Recorder(DATA, tables[0].game, tables[0].players)
        for block in schedule.blocks(block_size(tables[0].game.spec)):
            if recorder.path_of(block).exists():
                onlooker.done(len(block))
                continue
            shared = tables[: max(1, min(threads, len(block)))]
            recorder.write(play(shared, block, record=True, progress=ended))
    except KeyboardInterrupt:
        if stop():
            return False
        raise
    finally:
        for table in tables:
            table.game.close()
    return not stop()


def _table(story: Story, players: tuple[str, ...], slots: int) -> Table:
    game = registry.make(story.game, slots=slots, seed=story.seed, **story.game_settings)
    if game.spec.seats != len(players):
        raise SettingsError(
            f"stages.record.seats names {','.join(players)}, and {story.game} has "
            f"{game.spec.seats} seats; name one for each."
        )
    return Table(game, tuple(_player(story, game, word) for word in players))


def _player(story: Story, game: Game, word: str) -> Player:
    if not is_bot(story.game, word) and Path(word).is_file():
        return policy_player(word, game.spec, story.seed, name=Path(word).stem)
    return registry.make_bot(story.game, word, game.spec, story.seed)


def _imitate(story: Story) -> Stage:
    asked = story.stages.imitate
    assert asked is not None
    output = Path(POLICIES["imitate"])
    task = Task(
        output=output,
        data_dir=None if asked.data_dir is None else Path(asked.data_dir),
        feedback_dir=None if asked.feedback_dir is None else Path(asked.feedback_dir),
        reports_live_dir=None if asked.reports_live_dir is None else Path(asked.reports_live_dir),
        players=asked.players,
        irrelevant=asked.irrelevant,
        network=asked.network,
        imitation=asked.imitation,
        game=story.game,
        opponents=asked.opponents,
        evaluation_matches=asked.evaluation_matches,
        temperature=asked.temperature,
        threads=1,
        device=story.device,
    )

    def work(onlooker: Onlooker, stop: Stop) -> bool:
        run = folder_of(output)
        if run.exists() and not Checkpoints(run / CHECKPOINTS).numbers():
            shutil.rmtree(run)  # Killed before anything was learned.
        watcher = _Watched(task, onlooker, stop)
        try:
            return not imitate(task, resume=run.exists(), watcher=watcher).interrupted
        except KeyboardInterrupt:
            if stop():
                return False
            raise

    folders = (asked.data_dir, asked.feedback_dir, asked.reports_live_dir)
    reads = (*_game_file(story), *(folder for folder in folders if folder))
    makes = (str(output), str(json_path(output)))
    return Stage(
        "imitate", _common(story) | plain(asked), reads, makes, (str(folder_of(output)),), work
    )


class _Watched(Watcher):
    """Tells an onlooker about imitation, and stops it when the user wants to."""

    def __init__(self, task: Task, onlooker: Onlooker, stop: Stop) -> None:
        self.task, self.onlooker, self.stop = task, onlooker, stop

    def _look(self) -> None:
        if self.stop():
            raise KeyboardInterrupt

    def files(self, done: int, total: int) -> None:
        self._look()

    def gathered(self, data: Demonstrations, learned: Indices, held: Indices) -> None:
        self.decisions = len(data.rows(learned))
        self.onlooker.begins(self.task.imitation.epochs * self.decisions, "decisions learned")

    def resumed(self, epoch: int, said: list[str]) -> None:
        for sentence in said:
            self.onlooker.said(sentence)
        self.onlooker.at(epoch * self.decisions)

    def learned(self, decisions: int) -> None:
        self.onlooker.done(decisions)
        self._look()

    def epoch_ends(self, entry: Mapping[str, float], best: bool) -> None:
        epoch, loss = int(entry["epoch"]), entry["held_out_nll"]
        about = f"epoch {epoch}, nll held out {loss:.4f}{' (best)' if best else ''}"
        self.onlooker.at(epoch * self.decisions, about)
        self._look()

    def playing(self, matches: int) -> None:
        self.onlooker.begins(matches, "matches")

    def played(self, matches: int) -> None:
        self.onlooker.done(matches)
        self._look()


def _rl(story: Story) -> Stage:
    settings, output = story.run_settings("rl"), Path(POLICIES["rl"])

    def work(onlooker: Onlooker, stop: Stop) -> bool:
        watched = _Observed(onlooker)
        resume = folder_of(output).exists()
        return train(settings, output, resume=resume, stop=stop, observers=[watched]) == 0

    return Stage(
        "rl",
        _run_inputs(settings),
        (*_game_file(story), *_files(settings)),
        (str(output),),
        (str(folder_of(output)),),
        work,
        grows="iterations",
    )


def _run_inputs(settings: RunSettings) -> dict[str, Any]:
    return {name: value for name, value in plain(settings).items() if name not in FREE}


def _files(settings: RunSettings) -> list[str]:
    """Return the policy files that a run begins from or meets."""
    start = settings.supervised_checkpoint
    words = [*([start] if start else []), *settings.opponents, *settings.evaluation.bots]
    policies = set(POLICIES.values())
    return list(dict.fromkeys(w for w in words if w in policies or Path(w).is_file()))


class _Observed:
    """Tells an onlooker about a run."""

    def __init__(self, onlooker: Onlooker) -> None:
        self.onlooker = onlooker

    def started(self, settings: RunSettings, update: int) -> None:
        self.onlooker.begins(settings.updates, "updates")
        self.onlooker.at(update)

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        about = ", ".join(f"{name} {number(values[name])}" for name in chosen(values))
        self.onlooker.at(update, about)

    def said(self, sentence: str) -> None:
        self.onlooker.said(sentence)

    def ended(self) -> None: ...
