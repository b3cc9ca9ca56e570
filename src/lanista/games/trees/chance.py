"""A random stream whose every outcome is listed: code that draws from it is run once for each.

Only draws with finitely many outcomes can be listed. Knows nothing of games.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSequence, Sequence
from typing import Any, NoReturn, TypeVar

from lanista.games.contract import GameError

T = TypeVar("T")


class UnlistedChanceError(GameError):
    """A draw has more outcomes than can be listed."""


class ListedStream:
    """Stands in for a `Stream`, and draws what a script says, then the first of all outcomes."""

    def __init__(self, script: Sequence[int] = ()) -> None:
        self.script = script
        self.drawn: list[tuple[int, int]] = []
        """What was drawn, and of how many."""
        self.probability = 1.0

    def below(self, n: int) -> int:
        """Return a whole number in [0, n)."""
        if not 0 < n < 2**32:
            raise ValueError(f"below() needs 0 < n < 2**32, got {n}.")
        at = len(self.drawn)
        number = self.script[at] if at < len(self.script) else 0
        self.drawn.append((number, n))
        self.probability /= n
        return number

    def choice(self, items: Sequence[T]) -> T:
        """Return one of `items`."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle a list in place (Fisher-Yates from the end)."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]

    def uniform(self) -> NoReturn:
        """Refuse: such a number has no finite list of outcomes."""
        raise UnlistedChanceError("it draws with uniform(), normal() or whole words")

    normal = next_word = uniform

    @property
    def state(self) -> NoReturn:
        """Refuse likewise."""
        self.uniform()


def outcomes(play: Callable[[ListedStream], T]) -> Iterator[tuple[float, T]]:
    """Yield what `play` gives for every outcome of its draws, with its probability.

    `play` is called once for each, and has to begin from the same state every time.
    """
    script: list[int] = []
    while True:
        stream = ListedStream(script)
        result = play(stream)
        yield stream.probability, result
        drawn = stream.drawn
        while drawn and drawn[-1][0] + 1 == drawn[-1][1]:
            drawn.pop()
        if not drawn:
            return
        script = [number for number, _ in drawn]
        script[-1] += 1
