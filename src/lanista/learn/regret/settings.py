"""What regret learning can be told. Knows nothing of torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lanista.errors import LanistaError

Sampling = Literal["external", "rollout", "outcome"]


@dataclass(frozen=True)
class Regret:
    """How regrets are sampled and learned, with `policy: regret`."""

    sampling: Sampling = "external"
    """external: a traversal tries every choice of one seat wherever that seat decides, and draws
    those of the others and of chance. rollout: it follows one match, tries every choice at some of
    the seat's decisions, and plays each on to the end: for games in which trying everything would
    never end. outcome: it follows one match and tries nothing; a baseline that is learned beside
    (a Q critic, on the privileged view where there is one) guesses what other choices would have
    earned: for long games, and those that cannot be saved in mid-match."""
    branch_share: float = 0.25
    """rollout: the share of the seat's decisions at which every choice is tried."""
    explore: float = 0.5
    """rollout, outcome: how often the seat that looks takes any legal choice on its way, not its
    own strategy's."""
    importance_clip: float | None = None
    """outcome: the most by which what came of a choice corrects the baseline's guess of it. None: 1
    divided by the choice's chance, which is right in the mean and in long matches nothing but
    noise; 1 there."""
    baseline_steps: int = 20
    """outcome: optimiser steps on the baseline after the traversals of each seat."""
    weight_power: float = 1.0
    """Iteration t counts t to this power: 0 all alike, 1 linear CFR."""
    steps: int = 30
    """Optimiser steps on the regrets after the traversals of each seat."""
    average_steps: int = 10
    """Optimiser steps on the average strategy in each iteration."""
    batch: int = 1024
    """Rows of an optimiser step; as many as are kept, where those are fewer."""
    recall: float | None = 30.0
    """What the network says of a row counts as much as so many samples of that row in the memory,
    which count too. Rows that come often, as in small games, are then played by what was sampled
    there, and all others by what the network makes of rows like them. None: the network alone."""
    memory: int = 500_000
    """Different rows kept of regrets, and as many of strategies. Equal rows are added up in one.
    Beyond it, rows are kept by chance, all with the same one."""

    def __post_init__(self) -> None:
        for name in ("steps", "average_steps", "baseline_steps", "batch", "memory"):
            if getattr(self, name) < 1:
                raise LanistaError(
                    f"learning.regret.{name} is {getattr(self, name)}; give at least 1."
                )
        if self.recall is not None and not 0 <= self.recall < float("inf"):
            raise LanistaError(
                f"learning.regret.recall is {self.recall}; give 0 or more, or leave it out."
            )
        if not 0 < self.branch_share <= 1:
            raise LanistaError(
                f"learning.regret.branch_share is {self.branch_share}; give a number above 0 and "
                "at most 1."
            )
        if self.sampling == "outcome" and not self.explore:
            raise LanistaError(
                "learning.regret.explore is 0, and sampling outcome learns nothing of choices that "
                "are never taken; give a number above 0."
            )
        if not 0 <= self.explore <= 1:
            raise LanistaError(
                f"learning.regret.explore is {self.explore}; give a number from 0 to 1."
            )
        if self.importance_clip is not None and not 1 <= self.importance_clip < float("inf"):
            raise LanistaError(
                f"learning.regret.importance_clip is {self.importance_clip}; give at least 1, or "
                "leave it out."
            )
        if not 0 <= self.weight_power <= 5:
            raise LanistaError(
                f"learning.regret.weight_power is {self.weight_power}; give a number from 0 to 5."
            )
