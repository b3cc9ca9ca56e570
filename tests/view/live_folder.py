"""A live bot's policy folder with two policies and games in its learner's book."""

from __future__ import annotations

from pathlib import Path

import torch

from lanista.games import registry
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.ledger import NAME, GameRow, Ledger
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network


def live_folder(folder: Path, games: int = 40) -> Path:
    """Publish two policies; the first wins one game of four, the second three."""
    policies = PolicyFolder(folder)
    folder.mkdir(parents=True)
    for seed in range(2):
        policies.publish(policies.add(policy_bytes(folder, seed)), f"policy {seed}")
    (folder / "learner").mkdir()
    ledger = Ledger(folder / "learner" / NAME, write=True)
    with ledger.writing():
        ledger.add_games(
            game_row(number, digest, serial, won=number % 4 < (1 if serial == 1 else 3))
            for serial, digest in enumerate(published(folder), 1)
            for number in range(1000 * serial, 1000 * serial + games)
        )
    ledger.close()
    return folder


def policy_bytes(folder: Path, seed: int) -> bytes:
    """Return the file of a small policy for Kuhn poker."""
    spec = registry.make("kuhn").spec
    torch.manual_seed(seed)
    path = folder / f"{seed}.part"
    save_policy(path, Policy(spec, Network(width=8, layers=1)), spec, step=seed)
    data = path.read_bytes()
    path.unlink()
    return data


def published(folder: Path) -> list[str]:
    """Return the policies in the order they were published in."""
    return [change.pointer.stable for change in PolicyFolder(folder).history()][:2]


def game_row(
    number: int, digest: str, serial: int, *, won: bool, candidate: bool = False
) -> GameRow:
    return GameRow(
        update_number=1, content=f"{number:064d}", game_id=f"game {number}", policy=digest,
        serial=serial, candidate=candidate, outcome=1.0 if won else -1.0, crashed=False, steps=5,
        overruled=0, reward=0.0, log_prob=-1.0, staleness=0, use="learned", predicted=None,
        came=None, at=float(number),
    )  # fmt: skip
