"""What a stage of a pipeline is. Knows no stage in particular."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lanista.nets.files.champions import policy_file
from lanista.pipeline.recipe import POLICIES, PipelineRecipe
from lanista.training.observers import Observer

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
    work: Callable[[Observer, Stop], bool]
    """Does it, or goes on with it; False: it was stopped, with all that is complete saved."""
    grows: str = ""
    """A setting of which more means that the stage goes on from what it made."""
    free: Callable[[str], bool] = lambda key: False
    """Says of a setting, by its dotted key, whether it may change without another result."""


def common_inputs(recipe: PipelineRecipe) -> dict[str, Any]:
    """Return the settings that every stage depends on."""
    return {
        "game": recipe.game,
        "game_settings": dict(recipe.game_settings),
        "seed": recipe.seed,
    }


def game_file(recipe: PipelineRecipe) -> tuple[str, ...]:
    """Return the file that the game comes from, where it is a Python file."""
    return (recipe.game,) if recipe.game.endswith(".py") else ()


def policy_files(words: Iterable[str]) -> list[str]:
    """Return those of `words` that are files of the user's, or a stage's, there or not yet."""
    stage_policies = set(POLICIES.values())
    return list(dict.fromkeys(w for w in words if w in stage_policies or policy_file(w).is_file()))
