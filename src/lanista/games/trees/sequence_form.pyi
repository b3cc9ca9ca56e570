import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int32]
_Doubles = NDArray[np.float64]

def realise(parent: _Ints, first: _Ints, behaviour: _Doubles) -> _Doubles: ...
def gains(
    own: _Ints, other: _Ints, utility: _Doubles, plan: _Doubles, sequences: int
) -> _Doubles: ...
def best_value(parent: _Ints, first: _Ints, gain: _Doubles) -> float: ...
