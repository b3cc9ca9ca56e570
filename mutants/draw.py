"""Which faults are planted: so many for each package, drawn by a seed.

A fault's number depends on the text around it and not on what else is in the tree, so that an edit
elsewhere does not draw others. Runs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mutants import compiled_operators, operators
from mutants.operators import Mutation

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "learn": ("learn/*.py", "learn/imitation/*.py", "runs/checkpoints.py"),
    "rollout": ("rollout/*.py", "rollout/inference/*.py", "rollout/launchers/*.py"),
    "league": (
        "league/payoff.py", "league/matchmaking.py", "league/roles.py",
        "league/exploiter_timing.py", "runs/league_settings.py",
        "evaluation/score.py", "evaluation/standings.py", "evaluation/ratings.py",
        "evaluation/meter.py", "evaluation/differences.py", "evaluation/roundrobin.py",
    ),
    "files": ("files.py", "lock.py"),
    "live": (
        "live/*.py", "live/agent/*.py", "live/files/*.py", "live/learner/*.py",
        "live/promotion/*.py", "live/diagnosis/*.py",
    ),
    "games": ("games/*.py", "games/compiled.pyx", "games/streams.pyx", "games/check/*.py"),
    "training": (
        "league/population.py", "league/roster.py", "training/loop.py", "training/learner_loop.py",
        "training/training_stats.py", "evaluation/evaluator.py", "evaluation/promotion.py",
        "exploiters/best_response.py", "exploiters/league_exploiters.py", "runs/database.py",
        "runs/schema.py", "runs/reader.py", "runs/folder.py", "evaluation/clone_strength.py",
    ),
}  # fmt: skip
"""The parts in which faults are planted, below `src/lanista`."""
SHARES = {"learn": 70, "rollout": 70, "league": 50, "files": 40, "live": 70, "games": 60,
          "training": 60}  # fmt: skip
"""How many faults are drawn for each."""


@dataclass(frozen=True)
class Fault:
    """A mutation, its package, and the name that the record knows it by."""

    name: str
    package: str
    mutation: Mutation
    before: str
    """The lines it changes, as they were."""
    after: str


def all_faults(root: Path, package: str) -> list[Fault]:
    """Return every fault that can be planted in a package."""
    faults: list[Fault] = []
    base = root / "src" / "lanista"
    for pattern in PACKAGES[package]:
        for path in sorted(base.glob(pattern)):
            name = path.relative_to(root).as_posix()
            text = path.read_text("utf-8")
            kind = compiled_operators if path.suffix == ".pyx" else operators
            faults += _named(package, text, kind.mutations(name, text))
    return faults


def _named(package: str, text: str, mutations: Iterable[Mutation]) -> list[Fault]:
    result, occurrences = [], dict[str, int]()
    for mutation in mutations:
        before, after = _lines(text, mutation)
        key = "\n".join((mutation.path, mutation.scope, mutation.operator, before, after))
        occurrences[key] = occurrences.get(key, 0) + 1
        digest = hashlib.sha256(f"{key}\n{occurrences[key]}".encode()).hexdigest()[:10]
        result.append(Fault(digest, package, mutation, before, after))
    return result


def _lines(text: str, mutation: Mutation) -> tuple[str, str]:
    """Return the changed lines before and after, without their indentation."""
    start = text.rfind("\n", 0, mutation.start) + 1
    end = text.find("\n", mutation.end)
    end = len(text) if end < 0 else end
    after = text[start : mutation.start] + mutation.text + text[mutation.end : end]
    return _one_line(text[start:end]), _one_line(after)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def drawn(root: Path, seed: int, shares: Mapping[str, int]) -> list[Fault]:
    """Return the faults that `seed` draws: operators in turn, so that rare ones occur too."""
    result = []
    for package, share in shares.items():
        piles: dict[str, list[Fault]] = {}
        for fault in sorted(all_faults(root, package), key=lambda fault: _lot(seed, fault.name)):
            piles.setdefault(fault.mutation.operator, []).append(fault)
        order = sorted(piles.values(), key=lambda pile: _lot(seed, pile[0].mutation.operator))
        turns = [pile[turn] for turn in range(share) for pile in order if turn < len(pile)]
        result += turns[:share]
    return result


def _lot(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()
