"""What the commands' flags have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tyro

SETTINGS = tyro.conf.arg(name="set", metavar="NAME=VALUE ...", help_behavior_hint="(repeatable)")
"""`--set`, for games' settings and matches' options."""


@dataclass(frozen=True)
class Suggests:
    """Stands in the annotation of a flag whose values shell completion can list."""

    listing: str
    """What values name: `games`, `recipes` or `launchers`."""


GAMES = Suggests("games")
RECIPES = Suggests("recipes")
LAUNCHER_NAMES = Suggests("launchers")


def optional(metavar: str, name: str | None = None) -> Any:
    """Return what a flag without a default shows in `--help`: the word for its value."""
    return tyro.conf.arg(name=name, metavar=metavar, help_behavior_hint="")


CLUSTER = optional("local|auto|HOST:PORT")
"""`--cluster`, for commands whose work can go to several machines."""


def switch() -> Any:
    """Return what a flag that takes no value shows in `--help`: no default, since it is off."""
    return tyro.conf.arg(help_behavior_hint="")


def number(default: int) -> Any:
    """Return what a flag for a whole number shows in `--help`."""
    return tyro.conf.arg(metavar="N", help_behavior_hint=f"(default: {default:,})")
