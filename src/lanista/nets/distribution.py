"""Factored, masked categorical distributions over the heads of an action.

Tensors in, tensors out; all heads lie one after another on the last axis, as in a game's legal
mask. The formulas here hold everywhere; float32 on the CPU goes the quicker way of `judging`.
Knows nothing of networks, games or where uniforms come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.nets import fused_ops
from lanista.nets.finish import GRID, Finish

LOG2_E = 1.4426950408889634
ILLEGAL = -1e9
"""The log-probability of an illegal choice: finite, and `exp` of it is exactly 0."""


class Judged(NamedTuple):
    """What a policy says of decisions that were made."""

    log_probs: Tensor
    """`[N, choices]`."""
    chosen: Tensor
    """`[N]`: of what was done."""
    entropy: Tensor
    """`[N, heads]`, in nats."""


@dataclass(frozen=True)
class Heads:
    """A distribution for each head of an action, independent given the observation.

    `choices` is the sum of `sizes`. Logits, log-probabilities and masks are `[..., choices]`,
    actions and what belongs to a head are `[..., heads]`. A head with one legal choice adds
    nothing to any log-probability, entropy or KL, and gets no gradient. A head without a legal
    choice, as padding may have, counts as adding nothing too.
    """

    sizes: tuple[int, ...]
    finish: Finish | None = None
    """What a finished policy does to its probabilities; those it drops are `ILLEGAL` too."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        if not self.sizes or min(self.sizes) < 1:
            raise ValueError(f"Heads need sizes of at least 1, got {self.sizes}.")

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def choices(self) -> int:
        return sum(self.sizes)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each head starts on the last axis."""
        return tuple(accumulate(self.sizes[:-1], initial=0))

    @cached_property
    def runs(self) -> tuple[tuple[int, int, int, int], ...]:
        """Neighbouring heads of one size as (first head, heads, offset, size).

        Each run is one pass over the tensor, so a single head and equal heads need no loop.
        """
        runs: list[tuple[int, int, int, int]] = []
        for head, (size, offset) in enumerate(zip(self.sizes, self.offsets, strict=True)):
            if runs and runs[-1][3] == size:
                first, heads, start, _ = runs[-1]
                runs[-1] = (first, heads + 1, start, size)
            else:
                runs.append((head, 1, offset, size))
        return tuple(runs)

    @cached_property
    def _head_of(self) -> tuple[int, ...]:
        """The head that each choice belongs to."""
        return tuple(head for head, size in enumerate(self.sizes) for _ in range(size))

    @cached_property
    def _sizes(self) -> NDArray[np.int32]:
        return np.array(self.sizes, np.int32)

    def log_probs(
        self, logits: Tensor, mask: Tensor, temperature: float | Tensor | None = None
    ) -> Tensor:
        """Return the log-softmax over the legal choices of each head, `[..., choices]`.

        Illegal entries are `ILLEGAL`. Half precision is widened to float32. `temperature`
        divides the logits and broadcasts against them.
        """
        self._check(logits, mask)
        logits = _wide(logits)
        if temperature is not None and not (isinstance(temperature, float) and temperature == 1.0):
            logits = logits / temperature
        if self.finish is not None:
            return self._finished(replace(self, finish=None).log_probs(logits, mask))
        if fused_ops.by_row(logits):
            return fused_ops.log_softmax(logits, mask, self._sizes)
        # Sums and products, since filling by a mask branches at every entry: half the time.
        legal = mask.to(logits.dtype)
        barred = legal - 1
        # Not -inf: a head without a legal choice would be NaN.
        logits = torch.add(logits * legal, barred, alpha=torch.finfo(logits.dtype).max)
        log_probs = [run.log_softmax(-1).flatten(-2) for run in self._split(logits)]
        return _join(log_probs) * legal - barred * ILLEGAL

    def _finished(self, log_probs: Tensor) -> Tensor:
        """Return the log-probabilities of a finished policy."""
        assert self.finish is not None
        probs = [finished(run, self.finish).flatten(-2) for run in self._split(_exp(log_probs))]
        prob = _join(probs)
        return torch.where(prob > 0, prob.clamp(min=torch.finfo(prob.dtype).tiny).log(), ILLEGAL)

    def judge(self, logits: Tensor, mask: Tensor, actions: Tensor) -> Judged:
        """Return what `logits` `[N, choices]` say of `actions` `[N, heads]`, with gradients."""
        self._check(logits, mask)
        if fused_ops.by_row(logits) and self.finish is None:
            return Judged(*fused_ops.judge(logits, mask, actions.long(), self._sizes))
        log_probs = self.log_probs(logits, mask)
        return Judged(log_probs, self.joint(log_probs, actions), self.entropy(log_probs, mask))

    def choose(
        self,
        logits: Tensor,
        mask: Tensor,
        uniforms: Tensor | None,
        temperature: float | Tensor = 1.0,
    ) -> tuple[Tensor, Tensor]:
        """Return actions `[N, heads]` int32 and their log-probabilities `[N]`, without gradient.

        Sampled as `sample` does, or, where `uniforms` are None, the likeliest. On the device of the
        logits, without waiting for it.
        """
        self._check(logits, mask)
        fused = self.finish is None and fused_ops.by_row(logits)
        if fused and not isinstance(temperature, Tensor):
            drawn = None if uniforms is None else uniforms.float().numpy()
            chosen = fused_ops.choose(logits, mask, self._sizes, drawn, temperature)
            return torch.from_numpy(chosen[0]), torch.from_numpy(chosen[1])
        log_probs = self.log_probs(logits, mask, temperature)
        if uniforms is None:
            actions = self.mode(log_probs, mask)
        else:
            actions = self.sample(log_probs, uniforms)
        return actions.int(), self.joint(log_probs, actions)

    def uniform_log_probs(self, mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the log-probabilities of equal chances for all legal choices of each head."""
        return self.log_probs(torch.zeros(mask.shape, dtype=dtype, device=mask.device), mask)

    def select(self, values: Tensor, actions: Tensor) -> Tensor:
        """Return the entries of `values` `[..., choices]` at `actions`, `[..., heads]`."""
        self._check(values)
        if actions.shape[-1] != len(self):
            raise ValueError(f"Actions need {len(self)} heads, got shape {list(actions.shape)}.")
        index = actions.long()
        if len(self) > 1:
            index = index + _constant(self.offsets, index.device)
        return values.gather(-1, index)

    def joint(self, log_probs: Tensor, actions: Tensor) -> Tensor:
        """Return the log-probability of whole actions, `[...]`."""
        chosen = self.select(log_probs, actions)
        return chosen.squeeze(-1) if len(self) == 1 else chosen.sum(-1)

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of `values` `[..., choices]` over each head's choices, `[..., heads]`."""
        self._check(values)
        return _join([run_values.sum(-1) for run_values in self._split(values)])

    def spread(self, values: Tensor) -> Tensor:
        """Return `values` `[..., heads]` repeated over each head's choices, `[..., choices]`."""
        if len(self) == 1:
            return values.expand(*values.shape[:-1], self.choices)
        return values.index_select(-1, _constant(self._head_of, values.device))

    def legal(self, mask: Tensor) -> Tensor:
        """Return how many choices each head has, `[..., heads]`."""
        return self.sum(mask)

    def entropy(self, log_probs: Tensor, mask: Tensor) -> Tensor:
        """Return the entropy of each head in nats, `[..., heads]`."""
        self._check(log_probs, mask)
        return -self.sum(_exp(log_probs) * log_probs.masked_fill(~mask, 0.0))

    def kl(self, log_p: Tensor, log_q: Tensor, mask: Tensor) -> Tensor:
        """Return KL(p‖q) of each head in nats, `[..., heads]`, finite under every mask."""
        self._check(log_p, mask)
        self._check(log_q, mask)
        # The difference is masked, not the product: 0 · ∞ would be NaN in the gradient.
        gap = (log_p - log_q).masked_fill(~mask, 0.0)
        return self.sum(_exp(log_p) * gap)

    def sample(self, log_probs: Tensor, uniforms: Tensor) -> Tensor:
        """Return actions `[..., heads]` by inverse CDF from `uniforms` `[..., heads]` in [0, 1).

        A choice whose probability rounds to 0 is never returned, whatever the rounding of the
        uniforms or of the running sum.
        """
        self._check(log_probs)
        if uniforms.shape[-1] != len(self):
            raise ValueError(f"Uniforms need {len(self)} heads, got {list(uniforms.shape)}.")
        probs = _exp(_wide(log_probs))
        uniforms = uniforms.to(probs.dtype)
        drawn = [
            _inverse_cdf(run_probs, uniforms[..., first : first + heads, None])
            for run_probs, (first, heads, _, _) in zip(self._split(probs), self.runs, strict=True)
        ]
        return _join(drawn)

    def mode(self, log_probs: Tensor, mask: Tensor) -> Tensor:
        """Return the likeliest legal choice of each head, the first of equals, `[..., heads]`."""
        self._check(log_probs, mask)
        legal = log_probs.masked_fill(~mask, -torch.inf)
        return _join([run_legal.argmax(-1) for run_legal in self._split(legal)])

    def _split(self, values: Tensor) -> Sequence[Tensor]:
        """Return each run as a view `[..., heads, size]`."""
        if len(self.runs) == 1:
            _, heads, _, size = self.runs[0]
            return (values.view(*values.shape[:-1], heads, size),)
        return [
            values[..., offset : offset + heads * size].view(*values.shape[:-1], heads, size)
            for _, heads, offset, size in self.runs
        ]

    def _check(self, values: Tensor, mask: Tensor | None = None) -> None:
        if values.shape[-1] != self.choices:
            raise ValueError(
                f"The last axis must hold the {self.choices} choices of heads {self.sizes}, "
                f"got shape {list(values.shape)}."
            )
        if mask is not None and mask.dtype is not torch.bool:
            raise ValueError(f"A mask must be bool, got {mask.dtype}.")
        if mask is not None and mask.shape[-1] != self.choices:
            raise ValueError(f"A mask must hold {self.choices} choices, got {list(mask.shape)}.")


def finished(prob: Tensor, finish: Finish) -> Tensor:
    """Return probabilities `[..., choices]` of heads as `finish` leaves them; see there."""
    floor = prob.amax(-1, keepdim=True).clamp(max=finish.drop_below)
    left = torch.where(prob < floor, 0.0, prob)
    total = left.sum(-1, keepdim=True)
    left = left / torch.where(total > 0, total, 1.0)
    if not finish.parts:
        return left
    units = (left.double() * (finish.parts * GRID) + 0.5).floor().long()
    whole, rest = units // GRID, units % GRID
    rest = torch.where(left > 0, rest, -1)
    rank = (-rest).argsort(dim=-1, stable=True).argsort(dim=-1, stable=True)
    missing = finish.parts - whole.sum(-1, keepdim=True)
    shared = torch.where(total > 0, whole + (rank < missing), 0)
    return (shared / finish.parts).to(prob.dtype)


def _constant(numbers: tuple[int, ...], device: torch.device) -> Tensor:
    # Sent to a GPU once: each time would wait for it, and could not be recorded.
    return torch.tensor(numbers, device=device) if device.type == "cpu" else _sent(numbers, device)


@cache  # For good: recorded work reads them where they lie.
def _sent(numbers: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(numbers, device=device)


def _wide(values: Tensor) -> Tensor:
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


def _exp(log_probs: Tensor) -> Tensor:
    # On the CPU `exp` takes ten times as long where it underflows, as at every illegal choice.
    return torch.exp2(log_probs * LOG2_E)


def _join(tensors: Sequence[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors), -1)


def _inverse_cdf(probs: Tensor, uniforms: Tensor) -> Tensor:
    """Return the first choice whose running sum exceeds `uniforms` · total, on the last axis."""
    possible = probs > 0
    running = probs.cumsum(-1)
    # A parallel running sum need not rise monotonically, so the total is taken over what can be
    # returned, and the point is kept below it: then there always is a first choice beyond it.
    total = running.masked_fill(~possible, 0.0).amax(-1, keepdim=True)
    point = torch.minimum(uniforms * total, torch.nextafter(total, -torch.ones_like(total)))
    return ((running > point) & possible).to(torch.uint8).argmax(-1)
