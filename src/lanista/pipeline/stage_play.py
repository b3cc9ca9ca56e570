"""The stages that only play: recording matches to learn from, and judging the last policy.

Results depend on nothing but settings and files, whatever the threads. Knows nothing of learning.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lanista.cluster.tasks import wanted
from lanista.evaluation.evaluator import probabilities
from lanista.evaluation.gauntlet import described, gauntlet_of, matches_of_deal, play_gauntlet
from lanista.evaluation.meter import exact_reading
from lanista.files import write_text
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import GameError, Spec
from lanista.games.trees.exact import FAMILY, SMALL_GAMES, unasked_histories
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import load_policy
from lanista.pipeline.recipe import DATA, EVALUATION, Evaluating, PipelineRecipe, Recording
from lanista.pipeline.stage import (
    Stage,
    Stop,
    common_inputs,
    game_file,
    policy_files,
)
from lanista.rollout.inference.policy_players import policy_player
from lanista.rollout.match_runner import Table, join, play
from lanista.rollout.replay_recorder import Recorder, block_size
from lanista.rollout.schedule import Schedule, rotations
from lanista.rollout.task_tables import spread_out
from lanista.runs.players import is_bot
from lanista.runs.serialise import SettingsError, plain
from lanista.training.observers import Observer

_SLOTS = 4096


def record_stage(recipe: PipelineRecipe) -> Stage:
    """Return the stage that plays matches to learn from."""
    stage = recipe.stages.record
    assert stage is not None
    settings = plain(stage)
    del settings["threads"]
    words = policy_files(word for lineup in stage.lineups() for word in lineup)

    def work(observer: Observer, stop: Stop) -> bool:
        return _play_all(recipe, stage, observer, stop)

    reads = (*game_file(recipe), *words)
    return Stage("record", common_inputs(recipe) | settings, reads, (DATA,), (), work)


def _play_all(recipe: PipelineRecipe, stage: Recording, observer: Observer, stop: Stop) -> bool:
    """Record every line-up on deals of its own; blocks that are there are not played again."""
    first, plans = 0, []
    for players in stage.lineups():
        schedule = rotations(len(players), stage.matches, first_match=first, first_deal=first)
        plans.append((players, schedule))
        first += len(schedule)
    observer.work_started(first, "matches")
    for players, schedule in plans:
        if not _play_lineup(recipe, stage, players, schedule, observer, stop):
            return False
    return True


def _play_lineup(
    recipe: PipelineRecipe,
    stage: Recording,
    players: tuple[str, ...],
    schedule: Schedule,
    observer: Observer,
    stop: Stop,
) -> bool:
    def ended(matches: int) -> None:
        observer.work_advanced(matches)
        if stop():
            raise KeyboardInterrupt

    seated = partial(_recorded, recipe, players)
    try:
        with _tables(recipe, stage.threads, min(len(schedule), _SLOTS), seated) as tables:
            recorder = Recorder(DATA, tables[0].game, tables[0].players)
            for block in schedule.blocks(block_size(tables[0].game.spec)):
                if recorder.path_of(block).exists():
                    observer.work_advanced(len(block))
                    continue
                shared = tables[: max(1, min(len(tables), len(block)))]
                recorder.write(play(shared, block, record=True, progress=ended))
    except KeyboardInterrupt:
        if stop():
            return False
        raise
    return not stop()


def _recorded(recipe: PipelineRecipe, players: tuple[str, ...], spec: Spec) -> tuple[Player, ...]:
    """Return the players of a line-up that is recorded."""
    if spec.seats != len(players):
        raise SettingsError(
            f"stages.record.seats names {','.join(players)}, and {recipe.game} has "
            f"{spec.seats} seats; name one for each."
        )
    return tuple(_player(recipe, spec, word) for word in players)


@contextmanager
def _tables(
    recipe: PipelineRecipe, threads: int, slots: int, seated: Callable[[Spec], tuple[Player, ...]]
) -> Iterator[list[Table]]:
    """Give a table with players of its own for each thread, or one that is played at in tasks.

    The games are closed afterwards.
    """
    make = partial(_table, recipe, seated)
    with ExitStack() as opened:
        count = 1 if wanted() else threads or os.cpu_count() or 1
        here = [opened.enter_context(make(slots)) for _ in range(count)]
        yield opened.enter_context(spread_out(here, make))


@contextmanager
def _table(
    recipe: PipelineRecipe, seated: Callable[[Spec], tuple[Player, ...]], slots: int
) -> Iterator[Table]:
    game = registry.make(recipe.game, slots=slots, seed=recipe.seed, **recipe.game_settings)
    with closing(game):
        yield Table(game, seated(game.spec))


def _player(recipe: PipelineRecipe, spec: Spec, word: str) -> Player:
    if not is_bot(recipe.game, word) and policy_file(word).is_file():
        return policy_player(word, spec, recipe.seed, name=Path(word).stem)
    return registry.make_bot(recipe.game, word, spec, recipe.seed)


def evaluate_stage(recipe: PipelineRecipe) -> Stage:
    """Return the stage that says how strong the last policy is."""
    stage, policy = recipe.stages.evaluate, recipe.policy
    assert stage is not None
    assert policy is not None

    def work(observer: Observer, stop: Stop) -> bool:
        evaluation = _judge(recipe, stage, policy, observer, stop)
        if evaluation is None:
            return False
        write_text(EVALUATION, json.dumps(evaluation, indent=2, sort_keys=True) + "\n")
        return True

    settings = common_inputs(recipe) | plain(stage)
    del settings["threads"]
    reads = (*game_file(recipe), *policy_files([policy, *stage.opponents]))
    return Stage("evaluate", settings, reads, (EVALUATION,), (), work)


def _judge(
    recipe: PipelineRecipe, stage: Evaluating, policy: str, observer: Observer, stop: Stop
) -> dict[str, Any] | None:
    """Return what the policy's matches say, without clocks; None: stopped."""
    words, name = opponents_of(recipe), Path(policy).stem

    def ended(matches: int) -> None:
        observer.work_advanced(matches)
        if stop():
            raise KeyboardInterrupt

    seated = partial(_judged, recipe, stage, policy, words)
    slots = min(stage.games * len(words), _SLOTS)
    try:
        with _tables(recipe, stage.threads, slots, seated) as tables:
            spec = tables[0].game.spec
            seatings = matches_of_deal(spec)
            deals = -(-stage.games // seatings)
            observer.work_started(deals * seatings * len(words), "matches")
            blocks = list(play_gauntlet(tables, deals, progress=ended))
    except KeyboardInterrupt:
        if stop():
            return None
        raise
    manner = "greedy" if stage.greedy else f"temperature {stage.temperature or 1:g}"
    evaluation = described(gauntlet_of(join(blocks), [name, *words]), spec, recipe.seed, manner)
    for clock in ("wall_seconds", "cpu_seconds"):  # What is evaluated again is the same again.
        del evaluation[clock]
    return evaluation | {"exact": _exact(policy)}


def _judged(
    recipe: PipelineRecipe, stage: Evaluating, policy: str, words: Sequence[str], spec: Spec
) -> tuple[Player, ...]:
    """Return the policy that is evaluated and its opponents."""
    greedy, temperature = stage.greedy, stage.temperature or 1.0
    manner: dict[str, Any] = {"greedy": greedy, "temperature": temperature}
    mine = policy_player(policy, spec, recipe.seed, name=Path(policy).stem, **manner)
    return (mine, *(_player(recipe, spec, word) for word in words))


def _exact(policy: str) -> dict[str, Any] | None:
    """Return the exact reading of the policy as it is, where that takes about a second."""
    loaded = load_policy(policy)
    game = loaded.header.game
    if loaded.policy.network.recurrent or not (game in SMALL_GAMES or game.startswith(FAMILY)):
        return None
    try:
        function, most = probabilities(loaded.policy), unasked_histories(game)
        return exact_reading(
            game, function, Path(policy).stem, loaded.digest, most, boards=False
        ).to_json()
    except GameError:
        return None  # Too large, or OpenSpiel is not installed; the run's notices tell.


def opponents_of(recipe: PipelineRecipe) -> list[str]:
    """Return the opponents that the last policy is evaluated against, each once."""
    stage = recipe.stages.evaluate
    assert stage is not None
    bots = registry.bot_names(registry.entry(recipe.game))
    words = [name for word in stage.opponents for name in (bots if word == "all" else [word])]
    return list(dict.fromkeys(words))
