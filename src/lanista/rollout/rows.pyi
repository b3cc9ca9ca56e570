from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Decisions

def by_player(
    decisions: Decisions, seated: NDArray[np.int32], player_of: NDArray[Any], players: int
) -> tuple[NDArray[np.int64], list[int]]: ...
def copy_rows(
    pairs: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    rows: NDArray[Any] | None = None,
    first: int = 0,
) -> None: ...
def draws(
    seed: int, decisions: Decisions, rows: NDArray[Any], out: NDArray[np.float32]
) -> None: ...
