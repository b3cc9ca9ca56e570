"""Which policies of a folder play, what each of them scored, and how it came about.

Reads the policy folder and the learner's book beside it. Changes nothing, and knows nothing of how
it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lanista.evaluation.score import Estimate, mean_score
from lanista.live.files.policy_folder import Change, PolicyFolder
from lanista.live.learner.ledger import NAME, GameRow, reading
from lanista.nets.files.policy_format import PolicyFileError, read, read_header


@dataclass(frozen=True)
class PolicyLine:
    """One policy of a folder."""

    digest: str
    role: str
    """stable, on trial, compared with (the one before, while the stable one is watched), or
    nothing."""
    step: int | None
    """Updates that made it; None where its file is gone or damaged."""
    size: int | None
    """Bytes of its file."""
    trouble: str
    """What is wrong with its file, if anything."""
    games: int | None
    """Games of it that the learner took in; None without a learner."""
    wins: int
    draws: int
    losses: int
    cut_off: int
    score: Estimate | None
    """Of games with a result: (wins + ½ draws) / n."""


@dataclass(frozen=True)
class ChangeLine:
    """One change of the pointer."""

    serial: int
    at: float | None
    """In seconds since 1970."""
    stable: str
    candidate: str | None
    share: float
    before: str | None
    reason: str
    others: tuple[str, ...] = ()
    """Further candidates."""


@dataclass(frozen=True)
class FolderView:
    """All that is shown of a policy folder."""

    folder: str
    serial: int
    stable: str
    candidate: str | None
    share: float
    """Of games that the candidate plays."""
    watched: bool
    """Whether the stable policy is new and compared with the one before, in the candidate's
    place."""
    policies: tuple[PolicyLine, ...]
    history: tuple[ChangeLine, ...]
    others: tuple[str, ...] = ()
    """Further candidates, which share the games with the first."""


def look(path: Path) -> FolderView:
    """Return what a policy folder holds now."""
    folder = PolicyFolder(path)
    pointer, history = folder.pointer(), folder.history()
    watched = any(one.pointer.serial == pointer.serial and one.watched for one in history)
    roles = {pointer.stable: "stable"}
    for digest in pointer.candidates:
        roles.setdefault(digest, "compared with" if watched else "on trial")
    played = _played(path / "learner" / NAME)
    return FolderView(
        folder=str(path),
        serial=pointer.serial,
        stable=pointer.stable,
        candidate=pointer.candidate,
        others=pointer.others,
        share=pointer.share,
        watched=watched,
        policies=tuple(
            _policy(folder, digest, roles.get(digest, ""), played)
            for digest in _order(folder, roles, history, played or {})
        ),
        history=tuple(
            ChangeLine(
                serial=one.pointer.serial,
                at=one.at,
                stable=one.pointer.stable,
                candidate=one.pointer.candidate,
                others=one.pointer.others,
                share=one.pointer.share,
                before=one.before,
                reason=one.reason,
            )
            for one in history
        ),
    )


def _played(path: Path) -> dict[str, list[GameRow]] | None:
    """Return the games of each policy; None where no learner ever ran."""
    if not path.exists():
        return None
    played: dict[str, list[GameRow]] = {}
    with reading(path) as ledger:
        for game in ledger.games():
            played.setdefault(game.policy, []).append(game)
    return played


def _order(
    folder: PolicyFolder,
    roles: dict[str, str],
    history: Sequence[Change],
    played: dict[str, list[GameRow]],
) -> list[str]:
    """Return all policies there are: what plays, then by their last change, then the rest."""
    named = [
        digest
        for change in reversed(history)
        for digest in (change.pointer.stable, *change.pointer.candidates, change.before)
        if digest is not None
    ]
    files = sorted(path.stem for path in folder.policies.glob("*.safetensors"))
    return list(dict.fromkeys([*roles, *named, *played, *files]))


def _policy(
    folder: PolicyFolder, digest: str, role: str, played: dict[str, list[GameRow]] | None
) -> PolicyLine:
    step, size, trouble = _file(folder.path_of(digest), digest, whole=bool(role))
    games = [] if played is None else played.get(digest, [])
    results = np.array([np.sign(one.outcome) for one in games if one.outcome is not None])
    return PolicyLine(
        digest=digest,
        role=role,
        step=step,
        size=size,
        trouble=trouble,
        games=None if played is None else len(games),
        wins=int((results > 0).sum()),
        draws=int((results == 0).sum()),
        losses=int((results < 0).sum()),
        cut_off=len(games) - len(results),
        score=mean_score((results + 1) / 2),
    )


def _file(path: Path, digest: str, *, whole: bool) -> tuple[int | None, int | None, str]:
    """Return a policy file's step and size, and what is wrong with it; `whole` reads it all."""
    if not path.is_file():
        return None, None, "no file"
    size = path.stat().st_size
    try:
        if whole and read(path).digest != digest:
            return None, size, "damaged"
        return read_header(path).step, size, ""
    except PolicyFileError:
        return None, size, "damaged"
