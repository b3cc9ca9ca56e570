"""Says where in a game's or a bot's own file an exception came from.

A user's file is whatever is neither this package nor installed with Python.
"""

from __future__ import annotations

import site
import sys
import sysconfig
import traceback
from functools import cache
from pathlib import Path
from types import TracebackType


def place_of(error: BaseException) -> str:
    """Return `my_game.py, line 12, in view`, or nothing where no user's file took part.

    The file is that of the first frame of the user's, which is the hook; the line is the last one
    in that file.
    """
    frames = _own_frames(error.__traceback__)
    if not frames:
        return ""
    first = frames[0]
    last = [frame for frame in frames if frame.filename == first.filename][-1]
    return f"{Path(first.filename).name}, line {last.lineno}, in {first.name}"


def _own_frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """Return the frames of the user's that one of ours called, from the outermost on."""
    frames = traceback.extract_tb(trace)
    ours = [at for at, frame in enumerate(frames) if _is_ours(frame.filename)]
    called = frames[ours[0] + 1 :] if ours else []
    return [frame for frame in called if not _is_installed(frame.filename)]


def _is_ours(file: str) -> bool:
    return Path(file).is_relative_to(_package())


@cache
def _package() -> Path:
    return Path(__file__).resolve().parents[1]


@cache
def _is_installed(file: str) -> bool:
    path = Path(file)
    return not path.is_absolute() or any(path.is_relative_to(place) for place in _installed())


@cache
def _installed() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    places = [sysconfig.get_path(name) for name in names]
    places += [*site.getsitepackages(), site.getusersitepackages(), sys.base_prefix + "/lib"]
    return (_package(), *(Path(place) for place in places if place))
