"""Nested plain values and tensors as one message of bytes, and back, to the last bit.

What a message says of itself is JSON; nothing in it can run. Knows nothing of who sends it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

_ALIGNED = 64
"""Every tensor of a message begins at a multiple of so many bytes."""
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
        torch.int16, torch.int8, torch.uint8, torch.bool,
    )
}  # fmt: skip


def packed(value: Any, device: torch.device) -> tuple[bytes, Tensor]:
    """Return what describes a value, and the bytes of its tensors, `[n]` uint8 on a device."""
    tensors: list[Tensor] = []
    plain = _plain(value, tensors)
    layouts = [_layout(tensor) for tensor in tensors]
    described = json.dumps({"value": plain, "tensors": layouts}).encode()
    return described, _joined(tensors, device)


def unpacked(described: bytes, data: Tensor) -> Any:
    """Return the value of a message; its tensors are copies, laid out in memory as they were."""
    message = json.loads(bytes(described))
    tensors, at = [], 0
    for name, shape, stride in message["tensors"]:
        dtype = _DTYPES[name]
        tensor = torch.empty_strided(shape, stride, dtype=dtype, device=data.device)
        size = tensor.numel() * tensor.element_size()
        tensor.copy_(data[at : at + size].view(dtype).view(shape))
        tensors.append(tensor)
        at += -(-size // _ALIGNED) * _ALIGNED
    return _value(message["value"], tensors)


def _layout(tensor: Tensor) -> list[Any]:
    # Sums over a tensor go by how it lies in memory, so its strides belong to it.
    stride = tensor.stride() if tensor.is_contiguous() else _dense_stride(tensor)
    return [str(tensor.dtype).removeprefix("torch."), list(tensor.shape), list(stride)]


def _dense_stride(tensor: Tensor) -> tuple[int, ...]:
    return torch.empty_like(tensor, device="meta").stride()


def _joined(tensors: Sequence[Tensor], device: torch.device) -> Tensor:
    parts = []
    for tensor in tensors:
        flat = tensor.detach().to(device).contiguous().reshape(-1).view(torch.uint8)
        parts += [flat, flat.new_zeros(-len(flat) % _ALIGNED)]
    return torch.cat(parts) if parts else torch.empty(0, dtype=torch.uint8, device=device)


def _plain(value: Any, tensors: list[Tensor]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        tensors.append(torch.from_numpy(np.ascontiguousarray(value)))
        return {"array": len(tensors) - 1}
    if isinstance(value, Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, dict):
        return {"dict": [[_plain(k, tensors), _plain(v, tensors)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_plain(entry, tensors) for entry in value]}
    raise TypeError(f"{type(value).__name__} cannot be sent to another rank")


def _value(plain: Any, tensors: Sequence[Tensor]) -> Any:
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "array":
        return tensors[content].numpy()
    if kind == "dict":
        return {_value(key, tensors): _value(entry, tensors) for key, entry in content}
    entries = [_value(entry, tensors) for entry in content]
    return entries if kind == "list" else tuple(entries)
