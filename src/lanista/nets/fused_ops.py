"""The heads' formulas for float32 on the CPU, with their gradients: `rowwise` for tensors.

`distribution` asks `by_row` whether it may; anything else it computes by its own formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from lanista.nets import rowwise


def by_row(values: Tensor) -> bool:
    """Whether `values` can be computed with row by row; what is traced for later cannot."""
    return (
        values.dtype == torch.float32
        and values.device.type == "cpu"
        and not torch.compiler.is_compiling()
    )


def log_softmax(logits: Tensor, mask: Tensor, sizes: NDArray[np.int32]) -> Tensor:
    """Return the log-softmax over the legal choices of heads of `sizes`, `[..., choices]`."""
    if not (logits.requires_grad and torch.is_grad_enabled()):
        return _log_softmax(logits, mask, sizes)
    return _LogSoftmax.apply(logits, mask, sizes)  # type: ignore[no-any-return,no-untyped-call]


def judge(
    logits: Tensor, mask: Tensor, action: Tensor, sizes: NDArray[np.int32]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-probabilities `[N, choices]`, those of `action` `[N]`, entropies `[N, heads]`."""
    return _Judge.apply(logits, mask, action, sizes)  # type: ignore[no-any-return,no-untyped-call]


def choose(
    logits: Tensor,
    mask: Tensor,
    sizes: NDArray[np.int32],
    uniforms: NDArray[np.float32] | None,
    temperature: float,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return actions `[N, heads]` and their log-probabilities `[N]`; see `rowwise.choose`."""
    action = np.empty((len(logits), len(sizes)), np.int32)
    log_prob = np.empty(len(logits), np.float32)
    inputs = _rows(logits), _bytes(mask), sizes, uniforms
    rowwise.choose(*inputs, temperature, action, log_prob)
    return action, log_prob


class _LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, mask: Tensor, sizes: NDArray[np.int32]) -> Tensor:
        log_probs = _log_softmax(logits, mask, sizes)
        ctx.sizes = sizes
        ctx.save_for_backward(log_probs, mask)
        return log_probs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_log_probs: Tensor) -> tuple[Tensor, None, None]:
        log_probs, mask = ctx.saved_tensors
        out = torch.empty_like(log_probs)
        inputs = _rows(log_probs), _bytes(mask), ctx.sizes, None, None
        rowwise.judge_gradient(*inputs, _rows(of_log_probs), None, None, _rows(out))
        return out, None, None


class _Judge(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, mask: Tensor, action: Tensor, sizes: NDArray[np.int32]
    ) -> tuple[Tensor, Tensor, Tensor]:
        log_probs = torch.empty_like(logits, memory_format=torch.contiguous_format)
        chosen, entropy = log_probs.new_empty(len(logits)), torch.empty(action.shape)
        out = log_probs.numpy(), chosen.numpy(), entropy.numpy()
        rowwise.judge(_rows(logits), _bytes(mask), _rows(action), sizes, *out)
        ctx.sizes = sizes
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(log_probs, mask, action, entropy)
        return log_probs, chosen, entropy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor, None, None, None]:
        log_probs, mask, action, entropy = ctx.saved_tensors
        out = torch.empty_like(log_probs)
        inputs = _rows(log_probs), _bytes(mask), ctx.sizes, _rows(action), _rows(entropy)
        of_log_probs, of_chosen, of_entropy = (
            None if gradient is None else gradient.contiguous().numpy() for gradient in gradients
        )
        rowwise.judge_gradient(*inputs, of_log_probs, of_chosen, of_entropy, out.numpy())
        return out, None, None, None


def _log_softmax(logits: Tensor, mask: Tensor, sizes: NDArray[np.int32]) -> Tensor:
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    rowwise.log_softmax(_rows(logits), _bytes(mask.expand_as(logits)), sizes, _rows(out))
    return out


def _rows(values: Tensor) -> NDArray[Any]:
    """Return `[..., n]` as rows `[N, n]`."""
    values = values.detach()
    if values.dim() != 2:
        values = values.reshape(-1, values.shape[-1])
    return values.contiguous().numpy()


def _bytes(mask: Tensor) -> NDArray[np.uint8]:
    return _rows(mask).view(np.uint8)
