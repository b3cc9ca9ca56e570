"""A small game to be played live, its policies as bytes, and a folder in which one plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lanista.games.contract import Facts, Field, Head, Observation, Spec
from lanista.live.folder import PolicyFolder
from lanista.live.game_files import GameFile, read
from lanista.live.spool import Spool
from lanista.nets.policy_format import PolicyHeader, encode
from lanista.nets.settings import Network

LENGTH, CHOICES = 6, 5


def spec_of(name: str = "toy", version: int = 1, heads: tuple[int, ...] = (3, 2)) -> Spec:
    fields = (Field("phase", 1, classes=4), Field("numbers", LENGTH - 1, scale=2.0))
    parts = tuple(Head(f"part{number}", size) for number, size in enumerate(heads))
    facts = Facts(seats=2, longest=1000, observation_version=version)
    return Spec(name, facts, Observation(fields), parts)


SPEC = spec_of()
NETWORK = Network("mlp", width=8, layers=2)


def header_of(spec: Spec = SPEC, **about: Any) -> PolicyHeader:
    return PolicyHeader.of(spec, NETWORK, **about)


def policy_bytes(seed: int = 0, spec: Spec = SPEC, **about: Any) -> bytes:
    """Return the file of a small MLP; no torch."""
    drawn = np.random.default_rng(seed)
    inputs = 4 + LENGTH - 1
    shapes = {
        "torso.layers.0.weight": (8, inputs),
        "torso.layers.0.bias": (8,),
        "torso.layers.1.weight": (8, 8),
        "torso.layers.1.bias": (8,),
        "head.weight": (spec.choices, 8),
        "head.bias": (spec.choices,),
    }
    arrays = {name: drawn.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return encode(header_of(spec, **about), arrays)


def folder_of(path: Path, seed: int = 0, spec: Spec = SPEC) -> PolicyFolder:
    """Return a policy folder in which one policy plays."""
    folder = PolicyFolder(path)
    folder.publish(folder.add(policy_bytes(seed, spec)))
    return folder


def view(step: int = 0, seed: int = 0) -> Any:
    """Return an observation."""
    drawn = np.random.default_rng([seed, step])
    numbers = drawn.normal(size=LENGTH - 1)
    return np.concatenate([[step % 4], numbers]).astype(np.float32)


def files_of(spool: Path) -> dict[str, GameFile]:
    """Return the games in a spool's `new/`, by id."""
    games = [read(path, header_of()) for path in Spool(spool).waiting()]
    return {game.header.game_id: game for game in games}
