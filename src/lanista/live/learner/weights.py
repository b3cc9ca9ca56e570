"""The weights that learn from live games: where they began, what they are, what they were.

Owns the way from a policy file to a learner and back. Knows nothing of games and of publishing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from lanista.learn.learner import Learner
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.settings import LiveSettings
from lanista.nets.policy_file import load_policy, policy_bytes, spec_of
from lanista.nets.policy_format import PolicyFileError


class Weights:
    """A learner that began with a policy of the folder."""

    def __init__(self, folder: PolicyFolder, settings: LiveSettings, base: str) -> None:
        self.folder, self.settings = folder, settings
        self.begin(base)

    def begin(self, digest: str) -> None:
        """Begin with a policy, and with a critic that knows nothing."""
        loaded = load_policy(self.folder.path_of(digest))
        self.base, self.header = digest, loaded.header
        self.learner = Learner(
            spec_of(loaded.header),
            loaded.header.network,
            self.settings.learning,
            updates=1,
            seed=self.settings.seed,
            start=loaded.policy,
        )

    def return_to(self, digest: str) -> None:
        """Go on from a policy with the optimiser as new; the critic keeps what it knows."""
        loaded = load_policy(self.folder.path_of(digest))
        if loaded.header.network != self.learner.network:
            self.begin(digest)
            return
        self.learner.return_to(loaded.policy)
        self.base, self.header = digest, loaded.header

    def are(self, digest: str) -> bool:
        """Whether they are those of a policy in the folder, to the last bit."""
        try:
            theirs = load_policy(self.folder.path_of(digest)).policy.state_dict()
        except PolicyFileError:
            return False  # It is lost or damaged.
        mine = self.learner.best.state_dict()
        return mine.keys() == theirs.keys() and all(
            torch.equal(value.cpu(), theirs[name]) for name, value in mine.items()
        )

    def candidate(self, number: int) -> bytes:
        """Return the weights of update `number` as a policy file."""
        spec = spec_of(self.header)
        return policy_bytes(self.learner.best, spec, parents=[self.base], step=number)

    def state(self) -> dict[str, Any]:
        """Return all that learning depends on."""
        return {"base": self.base, "learner": self.learner.state()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` gave."""
        self.begin(state["base"])
        self.learner.load_state(state["learner"])
