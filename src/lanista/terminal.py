"""The exits to a terminal: the standard streams and rich's consoles, which pass no control codes.

Names and messages of others are made fit for a reader where they are printed (text.py). This is
the last door: what was forgotten there does no harm here. Knows nothing of what is printed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from lanista.text import without_controls

if TYPE_CHECKING:
    from rich.console import Console


class FitStream:
    """A text stream through which no control character passes but tab and line feed."""

    def __init__(self, stream: TextIO) -> None:
        self.behind = stream
        """What is written to; rich, which makes its own control codes, goes there itself."""

    def write(self, text: str) -> int:
        """Write text, its control characters written out; return how much of it was taken."""
        self.behind.write(without_controls(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


@contextmanager
def fit_streams() -> Iterator[None]:
    """Let nothing but text reach standard output and standard error meanwhile."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, FitStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def plain_notices() -> Iterator[None]:
    """Show what a user should know of future versions as one sentence, without a place in code."""
    usual = warnings.formatwarning

    def formatted(message: Any, category: type[Warning], *place: Any, **more: Any) -> str:
        if issubclass(category, FutureWarning):
            return f"{message}\n"
        return usual(message, category, *place, **more)

    warnings.formatwarning = formatted
    try:
        yield
    finally:
        warnings.formatwarning = usual


def console(stream: TextIO | None = None, **settings: Any) -> Console:
    """Return rich's console on a stream (standard output, unless given).

    Text is printed as it is, since names from files and users are no markup, and without the
    control codes it may hold.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Fit(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield (
                    segment
                    if segment.control
                    else Segment(without_controls(segment.text), segment.style)
                )

        def on_broken_pipe(self) -> None:
            """Leave a closed pipe to the command line, which has an exit code for it."""
            raise  # It is called while the error is being handled.

    behind: Any = sys.stdout if stream is None else stream
    while isinstance(behind, FitStream):
        behind = behind.behind
    settings = {"highlight": False, "markup": False, "emoji": False} | settings
    return Fit(file=behind, **settings)
