"""Settings as a script gives them: the names of the YAML files, as keywords and nested dicts.

Turns them into settings of a run and into overrides of a recipe. Knows nothing of training.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from lanista.pipeline.defaults import default_settings
from lanista.pipeline.recipes import settings_of
from lanista.pipeline.regret_rule import leaves_regrets
from lanista.runs import start
from lanista.runs.folder import folder_of, saved_settings
from lanista.runs.serialise import SettingsError, plain
from lanista.runs.settings import RunSettings, apply_overrides, load_settings

Recipe = str | Path | Mapping[str, Any] | RunSettings
"""A recipe's name, a settings file, a run folder, settings as a dict, or settings."""
_VTRACE_GROUPS = {"supervised_checkpoint", "replay", "learner_updates"}
"""Settings that V-trace alone is made for."""
_WHOLE = "terms"
"""The key whose dict is one value: the terms of a loss are given all together."""


def run_settings(
    recipe: Recipe | None, changes: Mapping[str, Any], output: Path, *, resume: bool = False
) -> RunSettings:
    """Return a run's settings: the recipe's, or those it was begun with, with `changes` put in."""
    if recipe is not None:
        settings = _settings(recipe)
    elif resume:
        settings = saved_settings(folder_of(output))
    else:
        game, game_settings = _game(changes)
        settings = default_settings(
            game,
            game_settings,
            vtrace=_VTRACE_GROUPS & changes.keys() != set(),
            anchored=changes.get("supervised_checkpoint") is not None,
            iterations=changes.get("iterations"),
            seed=changes.get("seed", 0),
            regrets=leaves_regrets(_words(changes)),
        )
    changes = plain(changes)
    if changes.get("game", settings.game) != settings.game:
        changes = {"game_settings": {}, **changes}
    return apply_overrides(settings, overrides(changes, settings))


def _game(changes: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the game and its settings, what is not said as the policy to begin from has it."""
    policy, values = changes.get("supervised_checkpoint"), plain(changes.get("game_settings", {}))
    if policy is None:
        return changes.get("game", "arena"), values
    game = start.game_of(policy, changes.get("game"))
    return game, start.settings_of(policy, game, values)


def _settings(recipe: Recipe) -> RunSettings:
    if isinstance(recipe, RunSettings):
        return recipe
    if isinstance(recipe, Mapping):
        return load_settings(recipe)
    return settings_of(str(recipe))


def overrides(changes: Mapping[str, Any], settings: object = None) -> tuple[str, ...]:
    """Return `key=value` for each change, as `--set` takes them.

    A dict changes the keys that it names and leaves the others; a schedule, the terms of a loss,
    and whatever is no group of settings is set whole. With `settings`, groups are what is one
    there; without, every dict is.
    """
    return tuple(f"{key}={_text(key, value)}" for key, value in _leaves(changes, settings, ""))


def _leaves(changes: Mapping[str, Any], settings: object, where: str) -> Iterator[tuple[str, Any]]:
    for name, value in changes.items():
        inside = None if settings is None else getattr(settings, name, None)
        group = is_dataclass(inside) if settings is not None else name != _WHOLE
        if isinstance(value, Mapping) and group and "kind" not in value:
            yield from _leaves(value, inside, f"{where}{name}.")
        else:
            yield f"{where}{name}", value


def _words(changes: Mapping[str, Any]) -> list[str]:
    """Return the changes as words, where some have no value that could be written."""
    return [f"{key}={value}" for key, value in _leaves(plain(changes), None, "")]


def _text(key: str, value: Any) -> str:
    """Return a value as JSON, which is YAML too."""
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"{key} is {value!r}; give a number, a text, a list or a dict."
        ) from error


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if callable(number := getattr(value, "item", None)):  # A number of NumPy's.
        return number()
    raise TypeError(f"{type(value).__name__} has no plain value")
