"""A small game to be played live, its policies as bytes, and a folder in which one plays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lanista.games.contract import Facts, Field, Head, Observation, Spec
from lanista.live import Agent
from lanista.live.files.game_file import GameFile, read
from lanista.live.files.game_header import GameHeader, Layout
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.nets.files.policy_format import PolicyHeader, encode
from lanista.nets.settings import Network

HERE = Path(__file__).parent
LENGTH, CHOICES = 6, 5
STARTS = np.array([0, 3])
"""Where the choices of each head begin."""


def spec_of(name: str = "toy", version: int = 1, heads: tuple[int, ...] = (3, 2)) -> Spec:
    fields = (Field("phase", 1, classes=4), Field("numbers", LENGTH - 1, scale=2.0))
    parts = tuple(Head(f"part{number}", size) for number, size in enumerate(heads))
    facts = Facts(seats=2, longest=1000, observation_version=version)
    return Spec(name, facts, Observation(fields), parts)


SPEC = spec_of()
NETWORK = Network("mlp", width=8, layers=2)


def header_of(spec: Spec = SPEC, **about: Any) -> PolicyHeader:
    return PolicyHeader.of(spec, NETWORK, **about)


LAYOUT = Layout.of(header_of())


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


def game_of(steps: int = 4, **header: Any) -> GameFile:
    """Return a game in which step 1, if there is one, was overruled."""
    legal = np.ones((steps, CHOICES), np.bool_)
    overruled = np.arange(steps) == 1
    told = GameHeader("a game", "0" * 16, "ab" * 32, LAYOUT, 3, 7, False, steps, 0.5)
    return GameFile(
        header=replace(told, **header),
        observations=np.array([view(step) for step in range(steps)], "<f4").reshape(steps, LENGTH),
        masks=np.packbits(legal, axis=1),
        actions=np.where(overruled[:, None], -1, np.array([2, 1])).astype("<i4"),
        log_probs=np.where(overruled, 0, -1.5).astype("<f4"),
        rewards=np.where(overruled, 0, np.arange(steps)).astype("<f4"),
        overruled=overruled,
        outcome=np.zeros(0 if header.get("cut_off") else 1, "<f4"),
    )


def files_of(spool: Path) -> dict[str, GameFile]:
    """Return the games in a spool's `new/`, by id."""
    games = [read(path, header_of()) for path in Spool(spool).waiting()]
    return {game.header.game_id: game for game in games}


def files_all(path: Path) -> list[GameFile]:
    """Return the games in `new/` of the spool below `path`, whatever their ids."""
    return [read(one, header_of()) for one in Spool(path / "spool").waiting()]


def only(path: Path) -> GameFile:
    """Return the one game in the spool below `path`."""
    (game,) = files_all(path)
    return game


def agent_of(path: Path, **given: Any) -> Agent:
    """Return an agent on the folders `policy` and `spool` below `path`."""
    return Agent(path / "policy", path / "spool", **given)
