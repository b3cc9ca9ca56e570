"""Runs an ONNX export of a policy with ONNX Runtime. Knows nothing of torch and of exporting."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.nets.finite import named, refuse_not_finite

Runner = Callable[[NDArray[Any], NDArray[np.bool_], NDArray[np.float32]], tuple[Any, Any]]
"""Observation, mask and state of some rows to log-probabilities and the new state."""
_ONLY_FATAL = 4


class OnnxError(LanistaError):
    """Something that ONNX needs is missing, or an export cannot be used."""


def onnx_runner(data: bytes, *, threads: int = 0) -> Runner:
    """Return what runs an ONNX model of ours; 0 threads leaves their number to ONNX Runtime.

    What is no model raises whatever ONNX Runtime raises, which has many errors of its own.
    """
    runtime = needed("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = _ONLY_FATAL
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    label = named(session.get_modelmeta().custom_metadata_map.get("lanista_policy", "of this file"))

    def run(
        observation: NDArray[Any], mask: NDArray[np.bool_], state: NDArray[np.float32]
    ) -> tuple[Any, Any]:
        inputs = {"observation": observation, "mask": mask, "state": state}
        out = session.run(None, {name: inputs[name] for name in names})
        refuse_not_finite(out[0].max(-1), label)
        return out[0], out[1] if len(out) > 1 else state

    return run


def needed(module: str) -> Any:
    """Return a module of the extra `onnx`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise OnnxError(
            f"ONNX needs {module}, which is not installed; run `pip install '.[onnx]'` in a "
            "checkout."
        ) from error
