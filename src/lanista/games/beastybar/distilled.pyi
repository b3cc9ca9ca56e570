from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Spec

GROUPS: dict[str, tuple[int, ...]]

def features_of(
    spec: Spec, observation: NDArray[Any], mask: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
