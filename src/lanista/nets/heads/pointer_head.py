"""A head that points: each choice is scored by the tokens that it is about.

With t_e the normalised token e, p the features, and for a choice c its kind k and the entries e_r
of its roles r:

    h(c) = relu( W p + b + kind_k + Σ_r (R_r t_{e_r}, or absent_r where it has none) )
    s(c) = w · h(c)

A head without parts has the logits s(c). One with parts, whose choice is (c_1, c_2, …), has

    Σ_i s(c_i) + Σ_{i<j} ( u(c_i) · v(c_j) + v(c_i) · u(c_j) )        u, v linear in h

so that each part is scored once, and choices of two parts can want or shun each other. Nothing
depends on where an entry stands, so exchanging entries of one place exchanges the choices that are
about them and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor, nn

from lanista.games.contract import Head, Observation
from lanista.nets.heads.choices import Choices
from lanista.nets.heads.pointers import RANK, part_sizes, pointers_of, undescribed

_AT_ONCE = 1 << 20
"""Numbers of the hidden layer that are made at once on a CPU: what stays in its cache."""
_LEARNED_AT_ONCE = 1 << 23
"""The same where somebody learns: what the allocator keeps from step to step."""


class PointerChoices(nn.Module):
    """Features and tokens `[N, width + tokens · width]` to a logit for every choice."""

    index: Tensor
    counts: Tensor | None

    def __init__(self, width: int, observation: Observation, heads: Sequence[Head]) -> None:
        super().__init__()
        pointers = pointers_of(observation, heads)
        sizes, self.width = pointers.sizes, width
        self.token_kinds, self.role_kinds = list(pointers.token_kinds), pointers.role_kinds
        self.norm = nn.LayerNorm(width)
        self.roles = nn.Parameter(torch.empty(sizes.roles, width, width))
        self.absent = nn.Parameter(torch.empty(sizes.absent, width)) if sizes.absent else None
        self.kinds = nn.Parameter(torch.empty(sizes.kinds, width))
        self.whole = nn.Linear(width, width)
        self.score = nn.Parameter(torch.empty(1, width))
        self.pairs = nn.Linear(width, 2 * RANK) if sizes.has_pairs else None
        by_number = undescribed(heads)
        self.by_number = Choices(width, by_number) if by_number else None
        self.heads = [(head.size, bool(head.references), part_sizes(head)) for head in heads]
        self._part_sizes = [
            size for _, described, sizes in self.heads if described for size in sizes
        ]
        # Given by the layout, so not in files; on the CPU as those of the encoders are.
        counts = None if pointers.counts is None else torch.from_numpy(pointers.counts).to("cpu")
        self.register_buffer("counts", counts, False)
        self.register_buffer("index", torch.from_numpy(pointers.index).to("cpu"), False)

    def start(self) -> None:
        """Draw first weights with which every choice has about the same probability."""
        for role in self.roles.unbind():
            nn.init.orthogonal_(role)
        nn.init.normal_(self.kinds)
        if self.absent is not None:
            nn.init.normal_(self.absent)
        nn.init.orthogonal_(self.score, 0.01)
        if self.pairs is not None:
            nn.init.orthogonal_(self.pairs.weight[:RANK], 0.001)
        if self.by_number is not None:
            self.by_number.start()

    def forward(self, features: Tensor) -> Tensor:
        if torch.compiler.is_compiling() or features.is_cuda:
            return self._logits(features)
        at_once = _LEARNED_AT_ONCE if torch.is_grad_enabled() else _AT_ONCE
        rows = max(1, at_once // (len(self.index) * self.width))
        pieces = [self._logits(piece) for piece in torch.split(features, rows)]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)

    def _logits(self, features: Tensor) -> Tensor:
        # Split once and whole, here and below: a slice's gradient is filled up with zeros.
        whole, tokens = torch.split(features, [self.width, features.shape[1] - self.width], 1)
        hidden = self._hidden(whole, tokens)
        if self.pairs is None and self.by_number is None:
            return self._scored(hidden)
        parts = list(torch.split(hidden, self._part_sizes, 1))
        numbered = self._numbered(whole)
        logits = []
        for _, described, sizes in self.heads:
            if not described:
                logits.append(numbered.pop(0))
                continue
            own, parts = parts[: len(sizes)], parts[len(sizes) :]
            logits.append(self._joint(own) if len(own) > 1 else self._scored(own[0]))
        return torch.cat([piece.to(hidden.dtype) for piece in logits], -1)

    def _scored(self, hidden: Tensor) -> Tensor:
        return (hidden @ self.score.mT).squeeze(-1)

    def _hidden(self, whole: Tensor, tokens: Tensor) -> Tensor:
        """Return h of every choice of every part of the described heads, `[N, choices, width]`."""
        tokens = self.norm(tokens.reshape(-1, sum(self.token_kinds), self.width))
        kinds = torch.split(tokens, self.token_kinds, 1)
        rows = [
            kinds[kind] @ role.mT for role, kind in zip(self.roles, self.role_kinds, strict=True)
        ]
        row = self.whole(whole).unsqueeze(1)
        constant = self.kinds if self.absent is None else torch.cat([self.absent, self.kinds])
        constant = constant.expand(row.shape[0], -1, -1).to(row.dtype)
        # In place: its gradient is read from what it returns.
        return self._sums(torch.cat([*rows, constant, row], 1)).relu_()

    def _sums(self, table: Tensor) -> Tensor:
        """Add up, for each choice, its rows of the table `[N, rows, width]`."""
        if self.counts is not None:
            return self.counts.to(table.dtype) @ table
        table = torch.cat([table, torch.zeros_like(table[:, :1])], 1)
        columns = self.index.unbind(1)
        sums = table.index_select(1, columns[0])
        for column in columns[1:]:
            sums = sums + table.index_select(1, column)
        return sums

    def _joint(self, parts: Sequence[Tensor]) -> Tensor:
        """Return the logits of choices that are made of parts, from h of each part's choices."""
        assert self.pairs is not None
        count = len(parts)
        # u, v and s at once: each part's numbers are read once, and its gradient is made once.
        weight = torch.cat([self.pairs.weight, self.score])
        spoken = [torch.split(part @ weight.mT, [2 * RANK, 1], -1) for part in parts]
        answers = [answer + self.pairs.bias for answer, _ in spoken]
        joint = _along(spoken[0][1].squeeze(-1), (0,), count)
        for axis, (_, score) in enumerate(spoken[1:], 1):
            joint = joint + _along(score.squeeze(-1), (axis,), count)
        for first, second in combinations(range(count), 2):
            # u and v of one part beside v and u of the other.
            turned = answers[second].roll(RANK, -1)
            joint = joint + _along(answers[first] @ turned.mT, (first, second), count)
        return joint.flatten(1)

    def _numbered(self, whole: Tensor) -> list[Tensor]:
        """Return the logits of the heads that are read by number."""
        if self.by_number is None:
            return []
        sizes = [size for size, described, _ in self.heads if not described]
        return list(torch.split(self.by_number(whole), sizes, -1))


def _along(values: Tensor, axes: tuple[int, ...], count: int) -> Tensor:
    """Return `[N, …]` with its dimensions at `axes` of `count`, to be broadcast along others."""
    sizes = iter(values.shape[1:])
    shape = [next(sizes) if axis in axes else 1 for axis in range(count)]
    return values.view(-1, *shape)
