"""What a policy thinks of a decision: probabilities in words of the game, and its value.

One code for hints, for a match that is looked into, and for the terminal. Knows nothing of files of
matches and of pages.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.games.bots import legal_choices
from lanista.games.contract import Decisions, Game, Spec
from lanista.games.scenes import Board, choice_words, heads_that_count
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import load_policy
from lanista.nets.files.value_file import VALUE, load_value
from lanista.nets.policy import Critic
from lanista.rollout.inference.actor import Actor
from lanista.runs.folder import folder_of

MOST_CHOICES = 8
"""Choices that an opinion names, of one head."""
MOST_LINES = 14
"""Choices that it names in all."""


@dataclass(frozen=True)
class Likely:
    """One choice, and how likely the policy is to make it."""

    words: str
    probability: float
    choice: int
    head: str = ""
    """The head's name, where there are several."""


@dataclass(frozen=True)
class Opinion:
    """What a policy thinks of one decision of one seat."""

    choices: tuple[Likely, ...]
    """The likeliest first, head by head."""
    value: float | None
    """What it expects the seat to get; None: it has no value file."""
    log_probs: NDArray[np.float32]
    """Of all choices of all heads."""

    def probability(self, spec: Spec, action: Any) -> float:
        """Return the probability of an action, all heads together that change something."""
        starts = np.cumsum([0, *(head.size for head in spec.heads)])
        counted = heads_that_count(spec, action)
        return float(np.exp(sum(self.log_probs[starts[at] + int(action[at])] for at in counted)))

    def better(self, spec: Spec, action: Any) -> str | None:
        """Return the choice that the policy likes better than what was done; None: there is none.

        With several heads it is that of the head where the difference is largest.
        """
        done = {
            (spec.heads[at].name if len(spec.heads) > 1 else ""): int(action[at])
            for at in heads_that_count(spec, action)
        }
        gaps: dict[str, float] = {}
        likely = [one for one in self.choices if one.choice != done.get(one.head, one.choice)]
        for one in likely:
            made = [other for other in self.choices if other.head == one.head]
            chance = next((x.probability for x in made if x.choice == done[one.head]), 0.0)
            gaps[one.words] = one.probability - chance
        words = max(gaps, key=lambda word: gaps[word], default=None)
        return words if words is not None and gaps[words] > 0 else None

    def plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"choices": [asdict(one) for one in self.choices], "value": self.value}


class Adviser:
    """A policy that is asked what it thinks, in the order of a match's turns."""

    def __init__(self, word: str | Path, spec: Spec, name: str = "") -> None:
        """Load the policy file or champion `word` for a game; readers know it by `name`."""
        torch.set_num_threads(1)
        path = policy_file(word)
        loaded = load_policy(path, spec)
        self.name, self.path, self.spec = name or str(word), path, spec
        self.digest, self.policy = loaded.digest, loaded.policy
        self.actor = Actor(loaded.policy, 0)
        self.critic = _critic(path, spec, loaded.digest)

    @property
    def values_outcomes(self) -> bool:
        """Whether its value is that of a win less that of a loss, whatever a match pays."""
        return self.critic is not None and self.critic.output == "outcome"

    def opinion(self, board: Board, game: Game, decisions: Decisions, row: int) -> Opinion:
        """Return what it thinks of a decision that `game` waits for."""
        rows = np.array([row])
        log_probs = self.actor.log_probs(decisions, rows).numpy()[0]
        slot, seat = int(decisions.slot[row]), int(decisions.seat[row])
        likely = _likely(board, game, slot, seat, decisions.mask[row], log_probs)
        return Opinion(likely, self._value(decisions.observation[rows], log_probs), log_probs)

    @torch.no_grad()
    def _value(self, observation: NDArray[Any], log_probs: NDArray[Any]) -> float | None:
        if self.critic is None:
            return None
        out = self.critic(torch.from_numpy(np.array(observation))).float()
        return float(self.critic.value_of(out, torch.from_numpy(np.exp(log_probs))[None])[0])


def _critic(path: Path, spec: Spec, digest: str) -> Critic | None:
    file = folder_of(path) / VALUE
    return load_value(file, spec, digest).critic if file.is_file() else None


def _likely(
    board: Board, game: Game, slot: int, seat: int, mask: NDArray[Any], log_probs: NDArray[Any]
) -> tuple[Likely, ...]:
    """Return the likeliest choices of each head that has several; the least sure heads first."""
    spec = game.spec
    lines: list[list[Likely]] = []
    start = 0
    for number, (head, legal) in enumerate(zip(spec.heads, legal_choices(spec, mask), strict=True)):
        chances = np.exp(log_probs[start : start + head.size])
        start += head.size
        if len(legal) < 2 and len(spec.heads) > 1:
            continue
        order = sorted(legal, key=lambda choice: -chances[choice])
        name = head.name if len(spec.heads) > 1 else ""
        many = MOST_CHOICES if len(spec.heads) == 1 else 2
        lines.append(
            [
                Likely(
                    choice_words(board, game, slot, seat, number, choice),
                    float(chances[choice]),
                    choice,
                    name,
                )
                for choice in order[:many]
            ]
        )
    if len(lines) * 2 > MOST_LINES:
        lines = sorted(lines, key=lambda head: head[0].probability)[: MOST_LINES // 2]
    return tuple(line for head in lines for line in head)
