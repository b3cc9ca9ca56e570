"""Policies in a script: load one, ask it for actions, write it for others.

Acts with NumPy alone. Knows nothing of training and of matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.files import Kind
from lanista.live.agent.inference import Decider, DecisionError
from lanista.nets.export_kinds import NEW, ONNX
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_format import PolicyHeader, read
from lanista.nets.portable.runtime import PortablePolicy
from lanista.output_paths import refuse_unwritable

Action = int | tuple[int, ...]
"""A number for a policy with one head, a number for each head otherwise."""


class Policy:
    """A trained policy: observation and legal mask in, action out.

    It can also be named as a player wherever `lanista` takes one. A policy with a recurrent
    network remembers what it saw between calls; `reset()` begins another match.
    """

    def __init__(self, word: str | Path, *, seed: int = 0) -> None:
        """Load the policy file `word`, or `champion:GAME`; `seed` is that of its samples."""
        self.word = str(word)
        self.path = policy_file(word)
        portable = PortablePolicy(read(self.path))
        self._decider = Decider(portable, portable.log_probs, "numpy")
        self._log_probs = portable.log_probs
        self._random = np.random.default_rng(seed)
        self._state = self._decider.start

    @property
    def header(self) -> PolicyHeader:
        """What the file says of itself: game, settings, layout, network, parents."""
        return self._decider.header

    @property
    def name(self) -> str:
        """The name that the file gives it."""
        return self.header.name

    @property
    def game(self) -> str:
        """The game that it plays."""
        return self.header.game

    @property
    def digest(self) -> str:
        """SHA-256 of the file: the name that results know it by."""
        return self._decider.digest

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the action heads."""
        return tuple(head.name for head in self.header.heads)

    def reset(self) -> None:
        """Forget what was seen: another match begins. Changes nothing without a recurrent net."""
        self._state = self._decider.start

    def probabilities(self, observation: Any, mask: Any = None) -> tuple[NDArray[np.float64], ...]:
        """Return the probability of every choice, an array for each head.

        `observation` is one seat's view, `mask` says which choices are legal (all heads one after
        another; without it all are). What a recurrent policy remembers does not change.
        """
        return self._split(self._looked(observation, mask)[0])

    def act(
        self,
        observation: Any,
        mask: Any = None,
        *,
        greedy: bool = False,
        temperature: float = 1.0,
    ) -> Action:
        """Return the action for one seat's view: a number, or a tuple with one for each head.

        It samples from `probabilities`, with logits divided by `temperature`; `greedy` takes the
        likeliest choice of each head. An observation or mask that does not fit raises a
        `LanistaError` that says why.
        """
        if not 0 < temperature < float("inf"):
            raise LanistaError(f"temperature is {temperature}; give a number above 0, or greedy.")
        log_probs, self._state = self._looked(observation, mask)
        action = [
            int(values.argmax()) if greedy else int(self._random.choice(len(values), p=values))
            for values in self._split(log_probs, temperature)
        ]
        return tuple(action) if len(action) > 1 else action[0]

    def _looked(self, observation: Any, mask: Any) -> tuple[NDArray[Any], NDArray[np.float32]]:
        decider = self._decider
        legal = decider.all_legal if mask is None else decider.legal(mask)
        log_probs, state = self._log_probs(
            decider.seen(observation)[None], legal[None], self._state
        )
        if np.isnan(log_probs).any():
            raise DecisionError("The policy's answer to this observation is no probability.")
        return log_probs[0], state

    def _split(
        self, log_probs: NDArray[Any], temperature: float = 1.0
    ) -> tuple[NDArray[np.float64], ...]:
        ends = np.cumsum([head.size for head in self.header.heads])
        logits_by_head = np.split(log_probs.astype(np.float64) / temperature, ends[:-1])
        weights = [np.exp(logits - logits.max()) for logits in logits_by_head]
        return tuple(weight / weight.sum() for weight in weights)

    def __repr__(self) -> str:
        return f"Policy({self.word!r}: {self.game}, {self.digest[:12]})"


def load_policy(policy: str | Path, *, seed: int = 0) -> Policy:
    """Return the `policy` in a file, or the one called `champion:GAME`.

    `seed` is that of the actions it samples. A file that is damaged or no policy raises a
    `LanistaError` that says so.
    """
    return Policy(policy, seed=seed)


@dataclass(frozen=True)
class ExportResult:
    """A policy that was written for others."""

    path: Path
    game: str
    size: int
    """In bytes."""
    positions: int
    """Positions from play on which it was compared with torch."""
    difference: float
    """The largest that was seen, relative where numbers are above 1."""


def export(
    policy: str | Path | Policy,
    output: str | Path,
    *,
    to: Literal["onnx", "numpy"] = "onnx",
    game: str | None = None,
) -> ExportResult:
    """Write a `policy` to the file `output`: `to` ONNX Runtime (`onnx`) or NumPy alone (`numpy`).

    It is first compared with torch on positions from play of its game, and refused if it says
    anything else. `game` is for a policy whose file does not tell. Returns what was written and
    how far apart the two are.
    """
    import torch

    from lanista.evaluation.lineup import game_played_by
    from lanista.games import registry
    from lanista.nets.files.policy_file import load_policy
    from lanista.nets.portable.export import SLOTS, export_policy

    torch.set_num_threads(1)
    output = Path(output)
    refuse_unwritable("--output", output)
    file = policy.path if isinstance(policy, Policy) else policy_file(policy)
    name, settings = game_played_by(str(file), game, {})
    instance = registry.make(name, slots=SLOTS, **settings)
    try:
        loaded = load_policy(file, instance.spec)
        exported = export_policy(output, loaded, instance, to, kind_of(to))
    finally:
        instance.close()
    return ExportResult(
        output, loaded.header.game, len(exported.data), exported.positions, exported.difference
    )


def kind_of(target: Literal["onnx", "numpy"]) -> Kind:
    """Return what an export becomes; for NumPy it is a policy file, which is never replaced."""
    return ONNX if target == "onnx" else NEW
