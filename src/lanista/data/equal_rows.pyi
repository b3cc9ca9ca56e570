from typing import Any

import numpy as np
from numpy.typing import NDArray

def equal_rows(
    rows: NDArray[Any], beside: NDArray[Any] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def kinds(
    rows: NDArray[Any], beside: NDArray[Any] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None: ...
