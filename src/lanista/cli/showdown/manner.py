"""How a player chooses on a server: sampled, greedy or at a temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.live.showdown.casting import Who


@dataclass(frozen=True)
class Manner:
    """How choices are made."""

    is_policy: bool
    greedy: bool
    temperature: float

    def __str__(self) -> str:
        if not self.is_policy:
            return "as its program says"
        return "greedy" if self.greedy else f"sampled at temperature {self.temperature:g}"


def manner_of(who: Who, greedy: bool, temperature: float | None) -> Manner:
    """Return how `who` chooses; refuse what has no meaning for it."""
    if greedy and temperature is not None:
        raise LanistaError("--greedy leaves nothing to chance, so --temperature has no meaning.")
    if who.kind == "bot" and (greedy or temperature is not None):
        flag = "--greedy" if greedy else "--temperature"
        raise LanistaError(f"{flag} is for policies, and {who.word} is a bot; leave it out.")
    if temperature is not None and not 0 < temperature < float("inf"):
        raise LanistaError(f"--temperature is {temperature}; give a number above 0, or --greedy.")
    return Manner(who.kind != "bot", greedy, 1.0 if temperature is None else temperature)
