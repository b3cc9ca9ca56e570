"""Values of pieces of a walk in a file, so that a long measurement goes on after it was killed.

One file holds several policies, each known by a digest of how it plays. JSON keeps a float to its
last bit. Knows nothing of what a piece is.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanista.errors import RefusedError
from lanista.files import Kind, write_text

KEPT = Kind("what `lanista exact` keeps", rb'^\{"lanista_exact": 1')
_SAVE_EVERY = 30.0


class KeptValues:
    """Values by policy, seat and piece; nan for those that are not there yet."""

    def __init__(self, path: Path | None = None) -> None:
        """Read what a file has; None: nothing is kept."""
        self.path, self.saved = path, time.monotonic()
        self.values: dict[str, NDArray[np.float64]] = {}
        if path is not None and path.exists():
            self.values = _read(path)

    def of(self, key: str, pieces: int) -> NDArray[np.float64]:
        """Return the values of a walk, to be filled in."""
        values = self.values.get(key)
        if values is None or len(values) != pieces:
            values = self.values[key] = np.full(pieces, np.nan)
        return values

    def save(self, now: bool = False) -> None:
        """Write the file, where there is one: now, or if that was long ago."""
        if self.path is None or not (now or time.monotonic() - self.saved > _SAVE_EVERY):
            return
        table = {
            key: [None if math.isnan(value) else value for value in values.tolist()]
            for key, values in self.values.items()
        }
        write_text(self.path, json.dumps({"lanista_exact": 1, "values": table}) + "\n", KEPT)
        self.saved = time.monotonic()


def _read(path: Path) -> dict[str, NDArray[np.float64]]:
    try:
        content = json.loads(path.read_bytes())
        if content["lanista_exact"] != 1:
            raise ValueError("It is of another version.")
        table: dict[str, list[float | None]] = content["values"]
        return {str(key): _column(values) for key, values in table.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RefusedError(
            f"{str(path)!r} is not what `lanista exact` keeps, or is damaged; name another file."
        ) from error


def _column(values: list[float | None]) -> NDArray[np.float64]:
    column = np.array(values, np.float64)
    if column.ndim != 1 or np.isinf(column).any():
        raise ValueError("It holds something else than values.")
    return column
