"""Bots that another program answers for, in a process and an environment of its own.

Lines of JSON go over its standard input and output: first the game, then a line of decisions for
each line of actions. The program ends when its input does. Knows nothing of what it runs.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import PythonBot, legal_choices, place_of
from lanista.games.contract import Decisions, GameError, Ints, Spec

_PATIENCE = 10.0
"""Seconds that a program has to end by itself once its input is closed."""


class ProcessBot(PythonBot):
    """A bot that asks another program. `command` is all there is to write."""

    name = "process"
    command: ClassVar[Sequence[str]] = ()
    """The program and its arguments, such as another environment's Python and a file."""

    def __init__(self, spec: Spec, seed: int) -> None:
        super().__init__(spec, seed)
        self._process: subprocess.Popen[str] | None = None

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        heads = len(self.spec.heads)
        if not len(rows):
            return np.zeros((0, heads), np.int32)
        answer = self._answer({"decisions": [self._asked(decisions, int(row)) for row in rows]})
        try:
            actions = np.array(answer["actions"])
            if actions.dtype.kind != "i" or actions.size != len(rows) * heads:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise GameError(
                f"The program of the bot {self.name!r} answered {json.dumps(answer)[:200]}; it is "
                f"asked for `actions`, {heads} whole number(s) for each of {len(rows)} decisions."
            ) from None
        return actions.reshape(len(rows), heads).astype(np.int32)

    def _asked(self, decisions: Decisions, row: int) -> dict[str, Any]:
        _, seat, match = place_of(decisions, row)
        return {
            "match": match,
            "seat": seat,
            "turn": int(decisions.turn[row]),
            "observation": decisions.observation[row].tolist(),
            "legal": legal_choices(self.spec, decisions.mask[row]),
        }

    def _answer(self, request: dict[str, Any]) -> Any:
        process = self._process or self._started()
        try:
            line = _exchanged(process, request)
        except OSError:
            line = ""
        if not line:
            raise GameError(
                f"The program of the bot {self.name!r} has ended (exit code {process.wait()}) and "
                f"answers no more: {' '.join(self.command)}. What it said is above."
            )
        try:
            return json.loads(line)
        except ValueError:
            raise GameError(
                f"The program of the bot {self.name!r} answered {line[:200]!r}, which is no JSON; "
                "its standard output is for answers alone."
            ) from None

    def _started(self) -> subprocess.Popen[str]:
        if not self.command:
            raise GameError(f"The bot {self.name!r} names no program; set its `command`.")
        try:
            process = subprocess.Popen(
                list(self.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise GameError(
                f"The program of the bot {self.name!r} cannot be started: {error}."
            ) from error
        weakref.finalize(self, _end, process)
        self._process = process
        self._answer(
            {
                "game": self.spec.name,
                "settings": dict(self.spec.settings),
                "fields": [[field.name, field.size] for field in self.spec.observation.fields],
                "heads": [[head.name, head.size] for head in self.spec.heads],
                "seed": self.seed,
            }
        )
        return process


def _exchanged(process: subprocess.Popen[str], request: dict[str, Any]) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    return process.stdout.readline()


def _end(process: subprocess.Popen[str]) -> None:
    """Close the program's input, which ends it, and kill it if it does not mind that."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
