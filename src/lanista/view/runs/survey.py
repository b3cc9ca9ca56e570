"""Finds what lies below a folder: runs, pipelines and live bots.

Follows no link and goes only so deep. Knows nothing of what is in the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lanista.live.files.policy_folder import POINTER
from lanista.pipeline.recipe import DATA, RECIPE
from lanista.runs.layout import CHECKPOINTS, DATABASE, POLICIES

Kind = Literal["run", "pipeline", "live"]
DEEPEST = 6
MOST = 2_000
"""Things that are shown."""
_PASSED_OVER = {CHECKPOINTS, POLICIES, DATA, "history", "stages", "aside", "node_modules"}


@dataclass(frozen=True)
class Place:
    """Something that has a page."""

    kind: Kind
    path: Path


def survey(folder: Path) -> list[Place]:
    """Return everything below a folder that has a page, by path."""
    places: list[Place] = []
    for place in _below(folder, 0):
        places.append(place)
        if len(places) == MOST:
            break
    return places


def place_at(path: Path) -> Place | None:
    """Return what a folder is; None: nothing that has a page."""
    kind = _kind({entry.name for entry in _entries(path)})
    return None if kind is None else Place(kind, path)


def _kind(names: set[str]) -> Kind | None:
    if POINTER in names:
        return "live"
    if RECIPE in names:
        return "pipeline"
    return "run" if DATABASE in names else None


def _below(folder: Path, depth: int) -> Iterator[Place]:
    entries = sorted(_entries(folder), key=lambda entry: entry.name)
    kind = _kind({entry.name for entry in entries})
    if kind is not None:
        yield Place(kind, folder)
    if kind in ("run", "live") or depth == DEEPEST:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") or entry.name in _PASSED_OVER
        if not hidden and entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path), depth + 1)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # Removed meanwhile, or not ours to read.
        return []
