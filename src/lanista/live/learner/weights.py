"""The weights that learn from live games: where they began, what they are, what they were.

Owns the way from a policy file to a learner and back. Knows nothing of games and of publishing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from lanista.data.replay_buffer import ReplayBuffer
from lanista.data.trajectory import Unrolls, join
from lanista.learn.learner import Learner
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.experience import with_values
from lanista.live.learner.settings import WARM_UP, LiveSettings
from lanista.nets.files.policy_file import load_policy, policy_bytes, spec_of
from lanista.nets.files.policy_format import PolicyFileError


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
        self.replay = self._replay()
        self.scores: list[float] = []
        """Of games since the learning rate was last told how it goes."""

    def _replay(self) -> ReplayBuffer | None:
        settings = self.settings
        if not settings.replay.size:
            return None
        return settings.replay.buffer(settings.learning.gamma, settings.seed)

    def learn(self, unrolls: Unrolls) -> dict[str, float]:
        """Learn from new unrolls, and again from some that were kept; return the log."""
        learner, settings = self.learner, self.settings
        new = learner.update_count < settings.warm_up and learner.critic.torso is not None
        only = WARM_UP if new else None
        if self.replay is None:
            return learner.update(unrolls, only)
        pieces = [unrolls]
        if self.replay.ready(learner.update_count):
            drawn = self.replay.sample(settings.replay.batch, learner.update_count)
            # Its critic's values were for its priority; learning asks the critic of now.
            memory = drawn.next_value if learner.policy.state_size else None
            pieces.append(replace(drawn, value=None, next_value=memory))
        self.replay.add(with_values(unrolls, learner))
        log = learner.update(join(pieces), only)
        return log | {"replayed": float(sum(piece.decisions for piece in pieces[1:]))}

    def played(self, scores: Sequence[float]) -> None:
        """Tell schedules on a plateau how games went: the mean of every `gate.every` of them."""
        self.scores += scores
        every = self.settings.gate.every
        while len(self.scores) >= every:
            self.learner.evaluated(sum(self.scores[:every]) / every)
            del self.scores[:every]

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
        kept = {} if self.replay is None else self.replay.save()
        learner = self.learner.state()
        return {"base": self.base, "learner": learner, "replay": kept, "scores": self.scores}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` gave."""
        self.begin(state["base"])
        self.learner.load_state(state["learner"])
        # Checkpoints of before there was a replay have neither.
        self.scores = [float(score) for score in state.get("scores", ())]
        if self.replay is not None:
            self.replay.load(state.get("replay", {}))
