"""Refuses answers of a network that are no probabilities.

Weights can be finite one by one and overflow together. What comes out then is not a number, and
whatever is drawn from it means nothing and may be illegal. A choice whose probability is 0 is none
of that: its log-probability is −∞, and it is not drawn. Knows nothing of torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.text import printable


class NotFiniteError(LanistaError):
    """A policy's answer is no probability."""


def refuse_not_finite(numbers: NDArray[np.floating[Any]], who: str) -> None:
    """Refuse numbers a row, `[N]` or `[N, …]`, of which one is not finite.

    Fit for it are logits of legal choices, the log-probability of what was chosen, and the largest
    log-probability of a row: each is NaN where a logit is, and −∞ where nothing is possible.
    """
    sound = np.isfinite(numbers)
    if sound.all():
        return
    rows = len(sound)
    wrong = int((~sound.reshape(rows, -1).all(1)).sum())
    raise NotFiniteError(
        f"{who} gave no probabilities at {wrong:,} of {rows:,} decisions: its weights, or what it "
        "was shown, are so large that its numbers overflow; take an earlier policy, or train it "
        "again."
    )


def named(digest: str, name: str = "") -> str:
    """Return what a policy is called in a sentence."""
    shown = f" ({printable(name, 60)})" if name else ""
    return f"The policy {printable(digest[:12])}{shown}"
