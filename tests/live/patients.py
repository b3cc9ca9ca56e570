"""Folders of a live bot as agent and learner leave them, healthy, with games enough to judge.

Everything is made by the real Agent, Spool, PolicyFolder and Ledger; only the learning itself is
left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from toy import LENGTH, agent_of, folder_of, header_of, policy_bytes

from lanista.findings import Finding
from lanista.live.diagnosis.doctor import examine
from lanista.live.files.game_file import read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.learner.ledger import NAME, BatchRow, GameRow, Ledger

STEPS = 12
OPPONENTS = ("kiter", "rusher", "")
View = Callable[[int, int], Any]


def sight(game: int, step: int) -> Any:
    """Return an observation as the toy's fields describe it."""
    drawn = np.random.default_rng([5, game, step])
    numbers = drawn.normal(size=LENGTH - 1)
    return np.concatenate([[step % 4], numbers]).astype(np.float32)


def play(
    path: Path,
    games: int,
    *,
    prefix: str = "game",
    outcome: Callable[[int], float | None] = lambda i: 1.0 if i % 3 else -1.0,
    opponent: Callable[[int], str] = lambda i: OPPONENTS[i % 3],
    seen: View = sight,
    overrule: bool = False,
) -> None:
    """Let an agent play games on the folders `policy` and `spool` below `path`."""
    with agent_of(path) as agent:
        for i in range(games):
            game = agent.game(f"{prefix}-{i}", opponent(i))
            for step in range(STEPS):
                game.act(seen(i, step))
                if overrule:
                    game.overrule()
            game.end(outcome(i))


def learn(path: Path, *, update: int = 1, **changed: Any) -> list[GameRow]:
    """Archive all that waits and write it down, as a learner does."""
    spool, folder = Spool(path / "spool"), PolicyFolder(path / "policy")
    taken = spool.take(spool.waiting())
    rows = []
    for place in reversed(taken):
        game = read(place, header_of())
        told = game.header
        result = float(game.outcome[0]) if len(game.outcome) else None
        row = {
            "update_number": update,
            "content": game.content,
            "game_id": told.game_id,
            "policy": told.policy,
            "serial": told.serial,
            "candidate": told.candidate,
            "outcome": result,
            "crashed": told.crashed,
            "steps": told.steps,
            "overruled": int(game.overruled.sum()),
            "reward": float(game.rewards.sum()),
            "log_prob": float(game.log_probs.sum()),
            "staleness": 0,
            "use": "learned",
            "predicted": None if result is None else 1 / 3,
            "came": result,
            "at": float(len(rows)),
            "opponent": told.opponent,
        }
        rows.append(GameRow(**(row | changed)))
        spool.put_away(place, game.content)
    with book_of(path) as ledger, ledger.writing():
        if not ledger.events():
            ledger.add_event(0, "started", spool=str(spool.folder))
            ledger.add_policy(0, folder.history()[0].pointer.stable, None)
        ledger.add_games(rows)
        ledger.add_batch(
            BatchRow(update, len(rows), len(rows), STEPS * len(rows), 1, 0.1, 0, 0.1, 0.1, 0, 0.0)
        )
        ledger.add_metrics(update, {"policy/entropy/0": 0.6, "policy/entropy/1": 0.4})
    return rows


def book_of(path: Path) -> Any:
    """Return the open ledger of the learner below `path`."""
    folder = path / "policy" / "learner"
    folder.mkdir(parents=True, exist_ok=True)
    return closing(Ledger(folder / NAME, write=True))


def healthy(path: Path) -> PolicyFolder:
    """Make folders in which everything is as it should be; 60 games were learned from."""
    folder = folder_of(path / "policy")
    for update in (1, 2):
        play(path, 30, prefix=f"update {update}")
        learn(path, update=update)
    with book_of(path) as ledger:
        offered(ledger, 2, "published", "better")
    return folder


def offered(ledger: Ledger, update: int, kind: str, reason: str) -> None:
    """Write down a candidate and what became of it."""
    digest = hashlib.sha256(f"{update}/{kind}/{reason}".encode()).hexdigest()
    ledger.add_event(update, "candidate", digest=digest, stable="ab" * 32, serial=1, share=0.5)
    ledger.add_event(
        update, kind, digest=digest, reason=reason, games=300, difference=0.0, low=-0.1, high=0.1
    )


def certain_policy() -> bytes:
    """Return a policy that plays one action nearly always."""
    from lanista.nets.files.policy_format import encode

    shapes = {
        "torso.layers.0.weight": (8, 4 + LENGTH - 1),
        "torso.layers.0.bias": (8,),
        "torso.layers.1.weight": (8, 8),
        "torso.layers.1.bias": (8,),
        "head.weight": (5, 8),
        "head.bias": (5,),
    }
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    arrays["head.bias"] = np.array([12, 0, 0, 12, 0], np.float32)
    return encode(header_of(), arrays)


def other_policy(seed: int = 9) -> bytes:
    """Return another policy for the same game."""
    return policy_bytes(seed)


def found(path: Path, **given: Any) -> list[Finding]:
    return list(examine(path / "spool", path / "policy", **given).findings)


def only(path: Path, name: str, **given: Any) -> Finding:
    """Return the one finding there is, which must be this one."""
    findings = found(path, **given)
    assert [finding.name for finding in findings] == [name]
    return findings[0]
