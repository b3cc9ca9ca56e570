from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Decisions

def link(
    decisions: Decisions,
    rows: NDArray[Any],
    came: NDArray[Any],
    last: NDArray[np.int64],
    columns: dict[str, NDArray[Any]],
    first: int,
    lanes: int,
    length: int,
    update: int,
) -> tuple[int, int]: ...
