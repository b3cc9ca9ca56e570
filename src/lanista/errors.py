"""The one family of errors that reach a user.

Each is one sentence that names the thing, the value and the remedy; the command line prints it
and ends with `exit_code`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LanistaError(Exception):
    """Something the user gave cannot be used as it is."""

    exit_code = 2


class RefusedError(LanistaError):
    """Doing it would lose or endanger something, so nothing was done."""

    exit_code = 3


class UnfitMachineError(LanistaError):
    """A machine lacks what the work that it is given needs, or has another version of it."""


class ChangedSettingError(RefusedError):
    """A run is resumed with another setting than it was begun with."""

    def __init__(
        self, run: str, key: str, before: object, now: object, flag: str = "", output: str = ""
    ) -> None:
        self.run, self.key, self.before, self.now = run, key, before, now
        subject = f"{flag} differs: {run}" if flag else run.replace("the run", "The run")
        super().__init__(
            f"{subject} was begun with {key} {before!r}, and now it is {now!r}; leave it as it "
            f"was, or begin another run with another {output or '--output'}."
        )

    def named(self, flag: str, output: str) -> ChangedSettingError:
        """Return the same, told by the flags of a command."""
        return type(self)(self.run, self.key, self.before, self.now, flag, output)


class FewerIterationsError(RefusedError):
    """A run is resumed to an end that lies before what it has done."""

    def __init__(
        self,
        run: str,
        done: int,
        target: int,
        flag: str = "iterations",
        remedy: str = "name an earlier checkpoint",
    ) -> None:
        self.run, self.done, self.target = run, done, target
        super().__init__(
            f"{run} has done {done} iterations, and {flag} asks for {target}; ask for at least "
            f"{done}, or {remedy}."
        )

    def named(self, flag: str, remedy: str) -> FewerIterationsError:
        """Return the same, told by the flags of a command."""
        return type(self)(self.run, self.done, self.target, flag, remedy)


def nearest(word: str, known_words: Iterable[str], inside: str = "") -> str:
    """Return a remedy for an unknown `word`: the nearest known one, or all of them.

    `inside` is what the nearest one must be written with, such as `gate.`
    """
    names = sorted(known_words)
    close = difflib.get_close_matches(word, names, n=1)
    if close:
        return f"did you mean {inside + close[0]!r}?"
    return f"known: {', '.join(names)}." if names else "none is known."
