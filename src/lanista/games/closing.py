"""What is used in a `with` block and closed at its end, such as what holds processes of its own."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Base of whatever has a `close` that may be called twice."""

    def close(self) -> None:
        """End what was begun."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()
