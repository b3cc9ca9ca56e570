from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float32]
_Mask = NDArray[np.uint8]
_Sizes = NDArray[np.int32]

def encode(
    seen: NDArray[Any],
    categories: NDArray[np.int32],
    numbers: NDArray[np.int32],
    scale: _Floats,
    columns: NDArray[Any],
) -> None: ...
def log_softmax(logits: _Floats, mask: _Mask, sizes: _Sizes, log_probs: _Floats) -> None: ...
def choose(
    logits: _Floats,
    mask: _Mask,
    sizes: _Sizes,
    uniforms: _Floats | None,
    temperature: float,
    action: NDArray[np.int32],
    log_prob: _Floats,
) -> None: ...
def judge(
    logits: _Floats,
    mask: _Mask,
    action: NDArray[np.int64],
    sizes: _Sizes,
    log_probs: _Floats,
    chosen: _Floats,
    entropy: _Floats,
) -> None: ...
def judge_gradient(
    log_probs: _Floats,
    mask: _Mask,
    sizes: _Sizes,
    action: NDArray[np.int64] | None,
    entropy: _Floats | None,
    of_log_probs: _Floats | None,
    of_chosen: _Floats | None,
    of_entropy: _Floats | None,
    of_logits: _Floats,
) -> None: ...
