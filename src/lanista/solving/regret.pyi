import numpy as np
from numpy.typing import NDArray

from lanista.games.trees.tree import SeatTree

_Doubles = NDArray[np.float64]

class Seat:
    def __init__(
        self,
        tree: SeatTree,
        ends: NDArray[np.int32],
        utility: _Doubles,
        regret: _Doubles,
        average: _Doubles,
    ) -> None: ...

def iterate(one: Seat, two: Seat, done: int, count: int, plus: bool) -> None: ...
