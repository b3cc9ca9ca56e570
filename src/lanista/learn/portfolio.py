"""Which references a learner keeps: a few earlier policies, named by their digests.

Pure book-keeping: adding gives a new portfolio. Knows nothing of networks; scores and distances
are given by whoever can measure them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanista.errors import LanistaError, nearest

Distance = Callable[[str, str], float]
"""How differently two references play, given their digests; symmetric, 0 for equals."""


@dataclass(frozen=True)
class Reference:
    """One policy kept to be compared with."""

    digest: str
    step: int
    """The learner step at which it was added."""
    score: float | None = None
    """How strong it is, higher is better; the strategy `best` needs it."""


def keep_recent(
    references: Sequence[Reference], size: int, distance: Distance | None
) -> tuple[Reference, ...]:
    """Return the newest `size` references."""
    return tuple(_by_age(references)[-size:])


def keep_best(
    references: Sequence[Reference], size: int, distance: Distance | None
) -> tuple[Reference, ...]:
    """Return the `size` references with the highest score, of equals the newer."""
    for reference in references:
        if reference.score is None:
            raise LanistaError(
                f"Reference {reference.digest} has no score; the portfolio strategy 'best' needs "
                "one for each, so give a score when adding or choose 'recent'."
            )
    ranked = sorted(_by_age(references), key=lambda r: (r.score, r.step), reverse=True)
    return tuple(_by_age(ranked[:size]))


def keep_diverse(
    references: Sequence[Reference], size: int, distance: Distance | None
) -> tuple[Reference, ...]:
    """Return the newest reference and then, one by one, the one farthest from all those kept.

    Of equals the newer is taken.
    """
    if distance is None:
        raise LanistaError(
            "The portfolio strategy 'diverse' needs distances between references; give a "
            "distance when adding or choose 'recent'."
        )
    rest = _by_age(references)[::-1]
    chosen = [rest.pop(0)] if rest else []
    while rest and len(chosen) < size:
        gaps = [
            min(distance(candidate.digest, other.digest) for other in chosen) for candidate in rest
        ]
        chosen.append(rest.pop(gaps.index(max(gaps))))
    return tuple(_by_age(chosen))


Strategy = Callable[[Sequence[Reference], int, Distance | None], tuple[Reference, ...]]

STRATEGIES: Mapping[str, Strategy] = {
    "recent": keep_recent,
    "best": keep_best,
    "diverse": keep_diverse,
}


@dataclass(frozen=True)
class Portfolio:
    """At most `size` references, the oldest first, with a candidate every `add_every` steps."""

    size: int = 5
    strategy: str = "recent"
    add_every: int = 5000
    references: tuple[Reference, ...] = ()
    last_added: int | None = None
    """The step of the last candidate, kept or not; None before the first."""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise LanistaError(
                f"No portfolio strategy is called {self.strategy!r}: "
                f"{nearest(self.strategy, STRATEGIES)}"
            )
        if self.size < 1 or self.add_every < 1:
            raise LanistaError(
                f"A portfolio needs a size and an add interval of at least 1, got {self.size} "
                f"and {self.add_every}."
            )

    def due(self, step: int) -> bool:
        """Return whether a new reference should be added at `step`."""
        return self.last_added is None or step - self.last_added >= self.add_every

    def add(self, reference: Reference, distance: Distance | None = None) -> Portfolio:
        """Return the portfolio with `reference` as a candidate, cut to its size.

        A digest that is kept already is replaced by its new entry.
        """
        others = [member for member in self.references if member.digest != reference.digest]
        references = STRATEGIES[self.strategy]([*others, reference], self.size, distance)
        return replace(self, references=references, last_added=reference.step)

    def state(self) -> dict[str, Any]:
        """Return what changes while training, as plain values for a checkpoint."""
        entries = [[member.digest, member.step, member.score] for member in self.references]
        return {"references": entries, "last_added": self.last_added}

    def restored(self, state: Mapping[str, Any]) -> Portfolio:
        """Return this portfolio with what `state` holds."""
        references = tuple(Reference(*entry) for entry in state["references"])
        return replace(self, references=references, last_added=state["last_added"])


def _by_age(references: Sequence[Reference]) -> list[Reference]:
    return sorted(references, key=lambda reference: reference.step)
