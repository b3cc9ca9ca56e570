from typing import Any

import numpy as np
from numpy.typing import NDArray

class Counter:
    """Sums over matches, a row for each seating, in the order in which seatings first came."""

    @property
    def seats(self) -> int: ...
    @property
    def kinds(self) -> int: ...
    def __init__(self, seats: int) -> None: ...
    def add(
        self,
        seated: NDArray[Any],
        place: NDArray[Any],
        returns: NDArray[Any],
        match: NDArray[Any],
        update: NDArray[Any],
    ) -> None: ...
    def table(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...
