"""What all player processes have in common: two folders, a seed, and when to end.

A player ends when it is told to, and with the process that it was started for, however that ended.
Knows nothing of games.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from lanista.errors import LanistaError
from lanista.text import without_controls

Over = Callable[[], bool]
"""Whether it is time to end."""
_BETWEEN_LOOKS = 0.2


def parser_of(description: str) -> argparse.ArgumentParser:
    """Return a parser with what every player is given."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--policy", required=True)
    parser.add_argument("--spool", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parent", type=int, help="the process with which this one ends")
    return parser


def play_until_over(options: argparse.Namespace, play: Callable[[Any, Over], None]) -> int:
    """Play until told to stop, or until the process that wants it is gone; return the exit code."""
    signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: signals.append(number))

    def over() -> bool:
        # A process whose parent ends gets another one.
        return bool(signals) or (options.parent is not None and os.getppid() != options.parent)

    try:
        play(options, over)
    except LanistaError as error:
        print(without_controls(str(error)), file=sys.stderr)
        return error.exit_code
    return 0


async def cancelled_when(over: Over, work: Coroutine[Any, Any, None]) -> None:
    """Do `work`, and cancel it as soon as it is over."""
    task = asyncio.create_task(work)
    while not task.done() and not over():
        await asyncio.wait({task}, timeout=_BETWEEN_LOOKS)
    if task.done():
        task.result()
        return
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
