"""Unrolls as a learner meets them: matches that end inside, at the border, or go on; padding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from hypothesis import strategies as st
from torch import Tensor

from lanista.nets.distribution import Heads


@dataclass(frozen=True)
class Unroll:
    """One batch of unrolls, float64, `[T, B]`, `last_value` `[B]`."""

    value: Tensor
    reward: Tensor
    discount: Tensor
    last_value: Tensor
    log_ratio: Tensor
    valid: Tensor

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.value, self.reward, self.discount, self.last_value

    def with_other_padding(self, seed: int) -> Unroll:
        """Return the same unroll with other values and ratios at padding."""
        noise = torch.Generator().manual_seed(seed)

        def other(values: Tensor) -> Tensor:
            drawn = torch.randn(values.shape, generator=noise, dtype=values.dtype) * 50
            return torch.where(self.valid, values, drawn)

        return replace(self, value=other(self.value), log_ratio=other(self.log_ratio))


@st.composite
def unrolls(draw: st.DrawFn) -> Unroll:
    steps, columns = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(1, steps), min_size=columns, max_size=columns))
    source = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    def chance(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=source, dtype=torch.float64)

    valid = torch.arange(steps)[:, None] < torch.tensor(lengths)
    discount = chance(steps, columns)
    discount[chance(steps, columns) < draw(st.sampled_from([0.0, 0.3]))] = 0.0
    for column, length in enumerate(lengths):
        if length < steps:
            discount[length - 1 :, column] = 0.0
    reward = torch.where(valid, normal(steps, columns), 0.0)
    last_value = torch.where(discount[-1] > 0, normal(columns), 0.0)
    log_ratio = normal(steps, columns)
    return Unroll(normal(steps, columns), reward, discount, last_value, log_ratio, valid)


@dataclass(frozen=True)
class Choices:
    """Distributions at the steps of an unroll, float64, `[T, B, choices]`."""

    heads: Heads
    mask: Tensor
    logits: Tensor
    others: Tensor
    """Logits of another policy."""
    numbers: Tensor
    """Any number for each choice."""
    action: Tensor
    """A legal choice of each head, `[T, B, heads]`."""
    valid: Tensor

    @property
    def log_probs(self) -> Tensor:
        return self.heads.log_probs(self.logits, self.mask)

    @property
    def other_log_probs(self) -> Tensor:
        return self.heads.log_probs(self.others, self.mask)


def choices_for(
    valid: Tensor, sizes: tuple[int, ...], seed: int, *, open_share: float = 0.6
) -> Choices:
    """Draw masks with at least one legal choice a head, logits and legal actions."""
    heads = Heads(sizes)
    source = torch.Generator().manual_seed(seed)
    shape = (*valid.shape, heads.choices)

    def normal() -> Tensor:
        return torch.randn(shape, generator=source, dtype=torch.float64)

    mask = torch.rand(shape, generator=source) < open_share
    always = torch.rand(*valid.shape, len(sizes), generator=source)
    for head, (start, size) in enumerate(zip(heads.offsets, sizes, strict=True)):
        index = start + (always[..., head] * size).long()
        mask = mask.scatter(-1, index[..., None], True)
    logits = normal() * 2
    uniforms = torch.rand(*valid.shape, len(sizes), generator=source, dtype=torch.float64)
    action = heads.sample(heads.uniform_log_probs(mask, torch.float64), uniforms)
    return Choices(heads, mask, logits, normal() * 2, normal(), action, valid)


SIZES = st.sampled_from([(1,), (4,), (3, 2), (2, 2, 2), (4, 1, 3, 3)])
SEEDS = st.integers(0, 2**31)


@st.composite
def choices(draw: st.DrawFn) -> Choices:
    unroll = draw(unrolls())
    return choices_for(unroll.valid, draw(SIZES), draw(SEEDS))
