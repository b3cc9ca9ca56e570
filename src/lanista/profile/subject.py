"""What is to be profiled: the settings of a run, or of the stage of a pipeline that learns.

Policies that an earlier stage would make and that are not there yet are stood in for by fresh
networks of the same shape, which takes as long. Knows nothing of measuring.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from lanista.errors import LanistaError
from lanista.files import write_bytes
from lanista.games import registry
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.pipeline.recipe import (
    POLICIES,
    RECIPE,
    WORDS,
    PipelineRecipe,
    is_pipeline,
    load_recipe,
    read_recipe,
    with_overrides,
)
from lanista.pipeline.recipes import find, settings_of
from lanista.runs.layout import POLICIES as FOLDER
from lanista.runs.resolve import resolve
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import RunSettings, apply_overrides

RUNS = ("rl", "league")
_ENDLESS = 10**6
"""Iterations while measuring: schedules stay where a run begins, however long it is measured."""


@dataclass(frozen=True)
class Subject:
    """A recipe as it is profiled."""

    recipe: str
    """The user's word for it."""
    settings: RunSettings
    stage: str = ""
    """Of a pipeline: the stage whose settings these are."""
    network: Network | None = None
    """What policies have that an earlier stage makes; None: what the settings say."""
    home: Path | None = None
    """Where a pipeline has the policies it made, if it has a folder."""
    notices: tuple[str, ...] = field(default=())
    """What the user should know about it."""


def subject_of(word: str, overrides: Iterable[str] = (), stage: str | None = None) -> Subject:
    """Return what a recipe's name or file asks to be profiled.

    In a pipeline `stages.…` is set as for `lanista run`, and anything else in the stage's run.
    """
    path, overrides = find(word), list(overrides)
    values = read_recipe(path)
    if not is_pipeline(values):
        if stage is not None:
            raise LanistaError(f"{word} is a single run without stages; leave out --stage.")
        return Subject(word, apply_overrides(settings_of(word), overrides))
    whole = [text for text in overrides if text.startswith("stages.")]
    own = [text for text in overrides if not text.startswith("stages.")]
    try:
        recipe = load_recipe(with_overrides(values, whole))
        chosen = _stage(recipe, stage)
        settings = apply_overrides(recipe.run_settings(chosen), own)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error
    notice = f"Profiled is the stage {chosen} of the pipeline {word}."
    home = path.parent if path.name == RECIPE else None
    return Subject(word, settings, chosen, _network_before(recipe, chosen), home, (notice,))


def _stage(recipe: PipelineRecipe, stage: str | None) -> str:
    there = [name for name in RUNS if name in recipe.stages.names]
    if not there:
        names = ", ".join(recipe.stages.names)
        raise SettingsError(f"a pipeline of {names} has no stage that learns by playing.")
    if stage is not None and stage not in there:
        raise SettingsError(f"there is no stage {stage!r}; name one of {', '.join(there)}.")
    return stage or there[0]


def _network_before(recipe: PipelineRecipe, stage: str) -> Network | None:
    """Return the network of the policies that the stages before `stage` make."""
    if recipe.stages.imitate is not None:
        return recipe.stages.imitate.network
    if stage == "league" and recipe.stages.rl is not None:
        return recipe.run_settings("rl").network
    return None


def prepared(subject: Subject, settings: RunSettings, folder: Path) -> tuple[RunSettings, str]:
    """Return settings ready to be run in `folder`, with its policies there, and what was done."""
    settings, sentence = with_stand_ins(subject, settings, folder)
    settings, files = resolve(settings)
    for name, data in files.items():
        write_bytes(folder / FOLDER / name, data)
    return replace(settings, iterations=_ENDLESS), sentence


def with_stand_ins(
    subject: Subject, settings: RunSettings, folder: Path
) -> tuple[RunSettings, str]:
    """Return settings in which every policy has a file, and which were made up in `folder`."""
    start, configured = settings.supervised_checkpoint, settings.rollouts.opponents
    stand_ins = _Made(subject, settings, folder)
    opponents = tuple(
        opponent
        if (file := stand_ins.file(opponent.player)) == opponent.player
        else replace(opponent, player=file)
        for opponent in configured
    )
    bots = tuple(stand_ins.file(word) for word in settings.evaluation.bots)
    checkpoint = stand_ins.file(start, always=True) if start else None
    changed = replace(
        settings,
        supervised_checkpoint=checkpoint,
        supervised_digest=settings.supervised_digest if checkpoint == start else "",
        rollouts=replace(settings.rollouts, opponents=opponents),
        evaluation=replace(settings.evaluation, bots=bots),
    )
    if not stand_ins.fresh:
        return changed, ""
    names = ", ".join(stand_ins.fresh)
    return changed, f"Not there yet, so a fresh network of the same shape plays for it: {names}."


class _Made:
    """Finds policies that stages make, or makes fresh ones."""

    def __init__(self, subject: Subject, settings: RunSettings, folder: Path) -> None:
        self.subject, self.settings, self.folder = subject, settings, folder
        self.fresh: dict[str, str] = {}

    def file(self, word: str, *, always: bool = False) -> str:
        """Return the file for a word; `always`: also for one that no stage makes."""
        name = WORDS.get(word, word) if self.subject.stage else word
        if not always and name not in POLICIES.values():
            return word
        home = self.subject.home
        for place in (Path(name), *([home / name] if home is not None else [])):
            if place.is_file():
                return str(place)
        return self.fresh.get(word) or self._made(word, Path(name).name)

    def _made(self, word: str, name: str) -> str:
        settings = self.settings
        arguments = {"seed": settings.seed, **settings.game_settings}
        spec = registry.spec_of(settings.game, **arguments)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed + len(self.fresh))
            policy = Policy(spec, self.subject.network or settings.network)
        file = self.folder / "fresh" / name
        save_policy(file, policy, spec, name=Path(name).stem)
        self.fresh[word] = str(file)
        return str(file)
