"""Where regret learning is what a run does that nobody chose an algorithm for, and how.

Goes by a game's facts and by how large a traversal of it is. Knows no game, and no command.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lanista.games.contract import Spec
from lanista.learn.regret.settings import Regret
from lanista.learn.settings import Learning
from lanista.nets.settings import Network
from lanista.pipeline.game_sample import Sample
from lanista.runs.settings import Rollouts, RunSettings

LARGEST_TRAVERSAL = 4000.0
"""Moves of one seat's traversal of a match, beyond which trying every choice is too dear."""
_MOVES, _COMPILED_MOVES = 1024, 16_384
"""Of an iteration, all its traversals together: as long, about, as learning from them takes."""
_FEWEST_MATCHES, _MOST_MATCHES = 4, 500
_LR: dict[str, Any] = {"kind": "exponential", "start": 2e-3, "end": 3e-4}
_STEPS = 10
_GRAD_NORM = 10.0
_SHARED = (
    "game", "game_settings", "game_digest", "seed", "iterations", "device", "threads",
    "evaluation", "checkpoints", "mark", "network.size", "network.width", "network.layers",
    "rollouts.matches", "learning.regret", "learning.lr", "learning.adam_betas",
    "learning.max_grad_norm", "learning.policy=regret",
)  # fmt: skip
"""Settings that regret learning has a use for, or that all runs have."""


def fits_regrets(spec: Spec) -> bool:
    """Whether regrets mean something: two seats play for each other's loss, and not all is seen.

    Copies of a position must be possible, and every choice of a decision one number.
    """
    facts = spec.facts
    opposed = facts.seats == 2 and facts.zero_sum
    mixed = facts.hidden or facts.simultaneous
    return opposed and mixed and spec.abilities.restorable and len(spec.heads) == 1


def learns_regrets(spec: Spec, sample: Sample) -> bool:
    """Whether a game is learned by regrets: they fit, and every choice can be tried."""
    return fits_regrets(spec) and sample.traversal <= LARGEST_TRAVERSAL


def leaves_regrets(words: Iterable[str]) -> bool:
    """Whether settings, `key=value` or keys, are all such as regret learning has a use for."""
    return all(any(_within(word, shared) for shared in _SHARED) for word in words)


def _within(word: str, shared: str) -> bool:
    return word == shared or word.startswith((f"{shared}.", f"{shared}="))


def regret_settings(spec: Spec, sample: Sample, iterations: int, network: Network) -> RunSettings:
    """Return how a game is learned by regrets; the same facts give the same settings."""
    moves = _COMPILED_MOVES if sample.compiled else _MOVES
    matches = round(moves / (spec.seats * sample.traversal))
    return RunSettings(
        iterations=iterations,
        network=network,
        learning=Learning(
            policy="regret",
            lr=_LR,
            max_grad_norm=_GRAD_NORM,
            regret=Regret(steps=_STEPS, average_steps=_STEPS),
        ),
        rollouts=Rollouts(matches=min(max(matches, _FEWEST_MATCHES), _MOST_MATCHES)),
    )
