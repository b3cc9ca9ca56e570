"""Games for a learner to learn from, written down by hand, and learners with small settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from toy import CHOICES, LAYOUT, LENGTH, SPEC, view

from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.live.files.game_file import GameFile
from lanista.live.files.game_header import GameHeader
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.learner.settings import Gate, LiveSettings
from lanista.live.learner.weights import Weights
from lanista.live.promotion.sequential_test import Rule
from lanista.nets.files.policy_file import load_policy, policy_bytes
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

NETWORK = Network("mlp", width=8, layers=1)
NEVER = Gate(every=1_000_000)
"""No candidate is ever offered."""


def settings_of(gate: Gate = NEVER, learning: dict[str, Any] | None = None, **given: Any) -> Any:
    """Return settings for a learner that learns by V-trace."""
    told = {"policy": "vtrace", "critic_sees": "seat", "lr": 0.01, **(learning or {})}
    given = {"warm_up": 0, "distance": 1e9} | given
    return LiveSettings(learning=Learning(**told), gate=gate, **given)


def quick(**given: Any) -> Gate:
    """Return a gate that offers a candidate after every game learned from."""
    return Gate(**({"every": 1, "share": 0.5, "watch_share": 0.0, "rule": Rule(limit=40)} | given))


def policy_of(seed: int = 0, network: Network = NETWORK, step: int = 0) -> bytes:
    """Return the file of a policy that has opinions."""
    torch.manual_seed(seed)
    policy = Policy(SPEC, network)
    torch.nn.init.orthogonal_(policy.head.weight, 2.0)
    return policy_bytes(policy, SPEC, step=step)


def published(path: Path, seed: int = 0, network: Network = NETWORK) -> PolicyFolder:
    """Return a folder in which a policy plays."""
    folder = PolicyFolder(path)
    folder.publish(folder.add(policy_of(seed, network)))
    return folder


def learner_of(path: Path, settings: LiveSettings, network: Network = NETWORK) -> Learner:
    """Return a learner of a fresh policy whose critic has opinions too."""
    folder = published(path / "policy", network=network)
    learner = Weights(folder, settings, folder.pointer().stable).learner
    torch.manual_seed(5)
    torch.nn.init.normal_(learner.critic.head.weight)
    torch.nn.init.normal_(learner.critic.head.bias)
    return learner


def written(
    actions: Sequence[Any],
    rewards: Sequence[float],
    outcome: float | None,
    *,
    overruled: Sequence[int] = (),
    log_prob: float = -1.5,
    seed: int = 0,
    **header: Any,
) -> GameFile:
    """Return a game of some steps; `outcome` None: it was cut off."""
    steps = len(actions)
    told = GameHeader("a game", "0" * 16, "ab" * 32, LAYOUT, 3, 1, False, steps)
    flags = np.isin(np.arange(steps), list(overruled))
    seen = np.array([view(step, seed) for step in range(steps)], "<f4").reshape(steps, LENGTH)
    return GameFile(
        header=replace(told, cut_off=outcome is None, **header),
        observations=seen,
        masks=np.packbits(np.ones((steps, CHOICES), np.bool_), axis=1),
        actions=np.where(flags[:, None], -1, np.array(actions).reshape(steps, 2)).astype("<i4"),
        log_probs=np.where(flags, 0, log_prob).astype("<f4"),
        rewards=np.where(flags, 0, np.array(rewards)).astype("<f4"),
        overruled=flags,
        outcome=np.array([] if outcome is None else [outcome], "<f4"),
    )


def numbered(number: int, policy: str, outcome: float | None = 1.0, **header: Any) -> GameFile:
    """Return a game of three steps that differs from others by its number."""
    drawn = np.random.default_rng(number)
    actions = drawn.integers(0, [3, 2], (3, 2))
    return written(
        actions,
        drawn.normal(size=3),
        outcome,
        seed=number,
        game_id=f"game {number}",
        play=f"{number:016x}",
        policy=policy,
        **header,
    )


class Bench:
    """A policy folder, a spool and the learners that come and go."""

    def __init__(self, path: Path, settings: LiveSettings | None = None) -> None:
        self.path, self.settings = path, settings or settings_of()
        self.folder = published(path / "policy") if not (path / "policy").exists() else None
        self.folder = self.folder or PolicyFolder(path / "policy")
        self.spool = Spool(path / "spool")
        self.spool.create()
        self.said: list[str] = []
        self.count = 0

    @property
    def stable(self) -> str:
        return self.folder.pointer().stable

    def start(self, settings: LiveSettings | None = None, **given: Any) -> BackgroundLearner:
        """Begin a learner."""
        return BackgroundLearner(
            self.spool.folder,
            self.folder.folder,
            settings or self.settings,
            say=self.said.append,
            **given,
        )

    def play(self, *outcomes: float | None, policy: str | None = None, **header: Any) -> list[Path]:
        """Leave games of the policy in service, with these outcomes, in the spool."""
        pointer = self.folder.pointer()
        told = {"serial": pointer.serial, "policy": policy or pointer.stable} | header
        paths = []
        for outcome in outcomes:
            self.count += 1
            game = numbered(self.count, told.pop("policy"), outcome, **told)
            told["policy"] = game.header.policy
            paths.append(self.spool.write(game))
        return paths

    def duel(self, games: int, new: float, old: float) -> None:
        """Leave games of the pointer's two policies, in turn, with an outcome for each."""
        pointer = self.folder.pointer()
        for number in range(games):
            candidate = number % 2 == 0
            policy = pointer.candidate if candidate else pointer.stable
            self.play(new if candidate else old, policy=policy, candidate=candidate)

    def learn(self, learner: BackgroundLearner | None = None) -> BackgroundLearner:
        """Let a learner learn from all that is there."""
        learner = learner or self.start()
        while learner.step() is not None:
            pass
        return learner


def kinds_of(learner: BackgroundLearner) -> list[str]:
    """Return what happened to policies, in order."""
    events = learner.ledger.events()
    return [event.kind for event in events if event.kind not in ("started", "stopped")]


def same_weights(one: Any, other: Any) -> bool:
    """Whether two modules hold the same numbers to the last bit."""
    mine, theirs = one.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[k], theirs[k]) for k in mine)


def contents(folder: Path) -> list[str]:
    """Return the names of all files below a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def offered(bench: Bench, learner: BackgroundLearner) -> str:
    """Let a candidate be offered; return its digest."""
    bench.play(1, -1)
    bench.learn(learner)
    candidate = bench.folder.pointer().candidate
    assert candidate is not None
    return candidate


def is_policy(learner: BackgroundLearner, digest: str) -> bool:
    """Whether the weights are a policy's, and the optimiser remembers nothing."""
    held = load_policy(learner.folder.path_of(digest)).policy
    same = same_weights(learner.weights.learner.policy, held)
    return same and not learner.weights.learner.optimiser.state
